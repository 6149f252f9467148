/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h: the loop, idling, and the end of the job. */
#ifndef CSD_LOOP_H
#define CSD_LOOP_H

#include "../thread/thread.h"

/* loop.c, idle.c */
void loop_register(struct node *node);
void loop_run(struct pe *pe);
int loop_some(struct pe *pe, int n);       /* csd_step */
bool loop_until(struct pe *pe, const volatile int *flag); /* csd_until */
int loop_receive(struct pe *pe);           /* inbox and network into the queue */
void loop_dispatch(struct pe *pe, struct cmi_msg *m);
uint32_t idle_patience(const struct cmi_job *job); /* for pe->idle */
void idle_step(struct pe *pe);
void idle_look(struct pe *pe);             /* the same for a pass of a host program: it never sleeps
					    * or yields */
void idle_end_slow(struct pe *pe);
/** A PE that is never idle reads the clock in one pass of this many, a power of two. */
enum { IDLE_CORE_PASSES = 256 };
/** Check occasionally whether other programs run on this PE's core (cmi_look_at_core). */
void idle_look_at_core(struct pe *pe);
static inline void idle_end(struct pe *pe)
{
	if (CSD_UNLIKELY(pe->idle.polls != 0))
		idle_end_slow(pe);
}

/* dial.c: what others see of the PE */
/** At most every DIAL_MS: begin or end to count, if somebody has begun or ended to look. */
void dial_look(struct pe *pe, uint64_t now);
/** Around a sleep. */
void dial_sleeps(struct pe *pe, uint64_t now);
void dial_wakes(struct pe *pe);
/** It is idle, and has yielded its core. */
void dial_idles_slow(struct pe *pe);
static inline void dial_idles(struct pe *pe)
{
	if (CSD_UNLIKELY(pe->dialled.counts))
		dial_idles_slow(pe);
}

/* child.c */
void child_begins(void);                   /* in a forked child, on its only thread */

/* exit.c */
void exit_register(struct node *node);
void exit_drain(struct pe *pe);
void exit_host_done(struct pe *pe);        /* the host program of this node wants no more */

#endif
