/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_hold.h: a test decides when a message from another node arrives, to make moments that otherwise only a slow
 * network makes. A message that must wait holds up those that come behind it from the same PE, so nothing changes its
 * order. The Makefile links such a test with three functions wrapped; one file of it includes this. Nodes of one PE.
 */
#ifndef CHECK_HOLD_H
#define CHECK_HOLD_H

#include <sched.h>
#include <string.h>

#include "pe.h"

/** Whether this message for `pe` must still wait. On its thread, asked again while nothing else happens. */
static bool hold_must(const struct pe *pe, const struct cmi_msg *m);
/** It arrives now. */
static void hold_over(const struct pe *pe, const struct cmi_msg *m);

enum { HOLD_PES = 3 };

/* What waits, by receiver and sender. The receiver's. */
static struct hold_lane {
	struct cmi_msg *head, **tail;
} hold_lanes[HOLD_PES][HOLD_PES];

static inline bool hold_is(const struct pe *pe, const struct cmi_msg *m, const char *handler)
{
	return !strcmp(pe->node->handlers[m->handler].name, handler);
}

void __real_client_arrived(void *pe, struct cmi_msg *m);
void __wrap_client_arrived(void *pe, struct cmi_msg *m);
int __real_cmi_progress(struct cmi_pe *w);
int __wrap_cmi_progress(struct cmi_pe *w);
void __wrap_cmi_sleep(struct cmi_pe *w, int64_t timeout_us);

static int hold_let_go(struct pe *pe, struct hold_lane *lane)
{
	struct cmi_msg *m;
	int n = 0;

	while ((m = lane->head) && !hold_must(pe, m)) {
		lane->head = m->next;
		hold_over(pe, m);
		__real_client_arrived(pe, m);
		n++;
	}
	return n;
}

void __wrap_client_arrived(void *owner, struct cmi_msg *m)
{
	struct pe *pe = owner;
	struct hold_lane *lane = &hold_lanes[pe->id][m->src_pe];

	if (!lane->head)
		lane->tail = &lane->head;
	m->next = NULL;
	*lane->tail = m;
	lane->tail = &m->next;
	hold_let_go(pe, lane);
}

int __wrap_cmi_progress(struct cmi_pe *w)
{
	struct pe *pe = csd_self();
	int n = __real_cmi_progress(w);

	for (int i = 0; i < HOLD_PES; i++)
		n += hold_let_go(pe, &hold_lanes[pe->id][i]);
	return n;
}

/* Nothing wakes a PE when a message need not wait any longer. */
void __wrap_cmi_sleep(struct cmi_pe *w, int64_t timeout_us)
{
	(void)w;
	(void)timeout_us;
	sched_yield();
}

#endif
