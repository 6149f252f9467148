/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h: ending a job that cannot go on; with cmi_abort of cmi.h. */
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>

struct cmi;

/** Report faults of this process from now on; not those that somebody else handles. */
void fault_catch(void);
/** No more, if we do: a fault ends the process without a word. */
void fault_give_back(void);

/** cmi_abort with a formatted reason and exit code 1. */
_Noreturn void machine_die(struct cmi *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** End this process, and ask the launcher to end the job, without a word: another node has said why. */
_Noreturn void fault_end_quietly(struct cmi *m, int code);

/** The first half of cmi_abort: print the line. Of several threads that come here one returns; the others wait for the
 * end. */
void fault_say(struct cmi *m, int code, bool backtrace, const char *line);
/** The other half, where no function of a host program may be called: in a signal handler; at exit, when what it needs
 * may be gone. */
_Noreturn void fault_end_here(struct cmi *m, int code);
/** Whether the calling thread is ending the job already. */
bool fault_ends_job(const struct cmi *m);

/** Main, first of all. Hang-up, interrupt, quit and terminate do what they did before UCX was loaded; by
 * default they end the process. A handler of the program's own stays. */
void fault_let_signals_end_us(void);

/** Give the calling thread a stack for fault handlers. NULL when it has one already, or there is no
 * memory. */
void *fault_stack_open(void);
void fault_stack_close(void *stack);

#endif
