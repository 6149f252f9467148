/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h: threads, their stacks, and their waits for message memory. */
#ifndef CSD_THREAD_H
#define CSD_THREAD_H

#include "../route/msg_route.h"

/* thread.c */
void thread_register(struct node *node);
void threads_init(struct pe *pe);
void threads_know_job(struct pe *pe);      /* its thread */
struct csd_stack thread_stack(const struct pe *pe); /* of the running thread; its `low` is NULL:
						     * none runs */
void threads_fini(struct pe *pe);

/* overflow.c */
bool overflow_guards_are_free(void);       /* below stacks: they use only address space, which is
					    * unlimited */
void overflow_know_stack(struct pe *pe);   /* its thread */
/* In a signal handler: explain a fault at this address, the stack pointer being `sp`. */
void overflow_explain(const void *at, uintptr_t sp, char *buf, size_t len);

/* room.c */
void room_register(struct node *node);
void room_limit(struct node *node);        /* main thread, when the job is known */
void room_init(struct pe *pe);

/* report.c */
_Noreturn void report_no_room(struct pe *pe, size_t size);

#endif
