/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h: signals that are faults of the program, and what UCX does with signals. */
#ifndef FAULT_H
#define FAULT_H

/** Report faults of this process from now on, except those with a handler. */
void fault_catch(void);
/** Undo fault_catch: a fault then ends the process silently. */
void fault_give_back(void);

/** Main, first of all. Hang-up, interrupt, quit and terminate do what they did before UCX was
 * loaded; by default they end the process. A handler of the program's own stays. */
void fault_let_signals_end_us(void);

/** Main, when we have loaded UCX: the signals that end a process do what they did before. */
void fault_ucx_has_come(void);

/** Give the calling thread a stack for fault handlers. NULL when it has one already or memory is
 * exhausted. */
void *fault_stack_open(void);
void fault_stack_close(void *stack);

#endif
