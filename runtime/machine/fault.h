/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h: ending a job that cannot go on; with cmi_abort and cmi_catch_faults of cmi.h. */
#ifndef FAULT_H
#define FAULT_H

struct cmi;

/** The machine is about to be freed: a fault from now on ends only this process. */
void fault_forget(const struct cmi *m);

/** cmi_abort with a formatted reason and exit code 1. */
_Noreturn void machine_die(struct cmi *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** End this process, and ask the launcher to end the job, without a word: another node has said why. */
_Noreturn void fault_end_quietly(struct cmi *m, int code);

/** Main, first of all. Hang-up, interrupt, quit and terminate do what they did before UCX was loaded; by
 * default they end the process. A handler of the program's own stays. */
void fault_let_signals_end_us(void);

/** Give the calling thread a stack for fault handlers. NULL when it has one already, or there is no
 * memory. */
void *fault_stack_open(void);
void fault_stack_close(void *stack);

#endif
