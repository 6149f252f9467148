/* SPDX-License-Identifier: Apache-2.0 */
/* die.h: ending a job that cannot go on; with cmi_abort, cmi_signal_abort and cmi_signal_trace of
 * cmi.h, and cmi_no_memory of cmi_alloc.h. */
#ifndef DIE_H
#define DIE_H

#include <stdbool.h>

struct cmi;

/** cmi_abort with a formatted reason and exit code 1. */
_Noreturn void machine_die(struct cmi *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** End this process, and ask the launcher to end the job, without a word: another node has said
 * why. */
_Noreturn void die_quietly(struct cmi *m, int code);

/** The first half of cmi_abort: print the line. Of several threads that come here one returns; the
 * others wait for the end. */
void die_say(struct cmi *m, int code, bool backtrace, const char *line);
/** The other half, where no function of a host program may be called: in a signal handler; at exit,
 * when what it needs may be gone. */
_Noreturn void die_here(struct cmi *m, int code);
/** Whether the calling thread is ending the job already. */
bool die_is_ours(const struct cmi *m);

/** Returns on one of all the threads that fail at the same time; the others wait here for its
 * _exit. A signal handler may call it. */
void die_first(struct cmi *m, int code);
/** Write a line to stderr, with an end where it lacks one. A signal handler may call it. */
void die_write(const char *text);

#endif
