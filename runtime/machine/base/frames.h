/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.h: the names of a back-trace's frames, for die.c.
 *
 * With libdw, which is loaded when a report needs it, a frame has the file and the line of its
 * source, functions that were inlined are frames, and what is not the program's is left out:
 *
 *	chard:   #0 Block_on_step at block.c:42
 *
 * A report may come from a signal handler, of a program whose heap is damaged. So a child process
 * finds the names, on a stack of its own: it may crash or hang, and costs the report some
 * time at most.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stdint.h>

enum { FRAMES_MAX = 48 };

/** What CK_BACKTRACE asks for. */
enum frames_wanted {
	FRAMES_OF_PROGRAM, /* program: what is not the program's is left out */
	FRAMES_ALL,        /* all */
	FRAMES_PLAIN,      /* plain: without libdw */
};

/** Where a thread is, the innermost frame first. */
struct frames {
	enum frames_wanted wanted;
	int n;
	bool by_fault;                    /* the first frame tells something, whosever it is */
	uintptr_t at[FRAMES_MAX];         /* a return address, or where a signal came, by `exact` */
	bool exact[FRAMES_MAX];
};

/** At start: end the process if CK_BACKTRACE has another word. */
void frames_check_wish(void);
/** Async-signal-safe. */
enum frames_wanted frames_wish(void);

/** Print the frames to stderr, with their names. Async-signal-safe. false: nothing was printed,
 * because there is no libdw, or the child did not come to an end. */
bool frames_print(const struct frames *f);

/** In the child: write the lines of these frames into text; their length, 0 without libdw. */
int frames_text(const struct frames *f, char *text, int room);

#endif
