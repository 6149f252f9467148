/* SPDX-License-Identifier: Apache-2.0 */
/* newborn_members.h: what an element of newborn_members has. */
#ifndef NEWBORN_MEMBERS_H
#define NEWBORN_MEMBERS_H

#include <stdint.h>

enum { PES = 8, PRIOS = 4, SECTIONS = PES, WORDS = SECTIONS * PES * PRIOS };

/** A set of multicasts: a bit for each number, and a word for each section, PE that began it, and priority. */
struct heard { uint64_t of[WORDS]; };

static inline int heard_at(int section, int root, int prio) { return (section * PES + root) * PRIOS + prio; }

struct life {
	struct heard before;      /* what its creator had seen when it inserted it */
	struct heard got;
	struct heard past;        /* what elements with its index got before it, or were not to get */
	struct heard past_got;
	uint64_t random;
};

#endif
