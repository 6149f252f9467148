/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega.h: what the programs mega_* share. Each tests what the program of that name in Charm++'s
 * megatest tests, and is written in the way of Charm++ programs. As in megatest, a test runs once,
 * and then five times at once. Each run makes what it needs, and reports its end to the main chare.
 */
#ifndef MEGA_H
#define MEGA_H

#include "check.h"

enum { MEGA_AT_ONCE = 5, MEGA_RUNS = 1 + MEGA_AT_ONCE };

/* How many runs have begun, and how many have ended; zeroed at first. */
struct mega { int begun, ended; };

/* Begin the first run. `begin` gets the number of the run, 0 .. MEGA_RUNS - 1. */
static inline void mega_start(struct mega *m, void (*begin)(int no))
{
	begin(m->begun++);
}

/* Note the end of a run. The first one makes the others begin; true after the last. */
static inline bool mega_ended(struct mega *m, void (*begin)(int no))
{
	CHECK(m->ended < m->begun);
	if (++m->ended == 1)
		while (m->begun < MEGA_RUNS)
			begin(m->begun++);
	return m->ended == MEGA_RUNS;
}

#endif
