/* SPDX-License-Identifier: Apache-2.0 */
/* die.h: ending a job that cannot go on; besides cmi_abort, cmi_signal_abort and cmi_signal_trace
 * of cmi.h, and cmi_no_memory of cmi_alloc.h. */
#ifndef DIE_H
#define DIE_H

#include <stdbool.h>

struct cmi;

/** Like cmi_abort, with a formatted reason and exit code 1; but it is no end that the program has
 * decided (cmi_note.h). */
_Noreturn void machine_die(struct cmi *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** End this process, and ask the launcher to end the job, silently: another node has printed
 * why. */
_Noreturn void die_quietly(struct cmi *m, int code);

/** The first half of cmi_abort: print the line. It returns on one of the threads that call it; the
 * others wait for the end. */
void die_say(struct cmi *m, int code, bool backtrace, const char *line);
/** The other half, for where no function of a host program may be called: in a signal handler, or
 * at exit, when its objects may be destroyed. */
_Noreturn void die_here(struct cmi *m, int code);
/** In a signal handler, between die_first and die_here: print the line, then the back-trace. */
void die_trace(struct cmi *m, const char *line, void *context);
/** Whether the calling thread is ending the job already. */
bool die_is_ours(const struct cmi *m);

/** Returns on one of the threads that fail at the same time; the others wait here for its _exit.
 * Async-signal-safe. */
void die_first(struct cmi *m, int code);
/** Write a line to stderr, adding a newline if it has none. Async-signal-safe. */
void die_write(const char *text);

#endif
