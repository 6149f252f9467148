/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prio: a handler queues a batch of calls to its own PE in random order. The PE serves expedited calls
 * first, then the others by priority, and equal ones first in first out or last in first out.
 */
#include "check.h"

#include <limits.h>

#include "prio.decl.h"

enum { FIFO, LIFO, URGENT, KINDS, BATCH = 500 };
static const int prios[] = { -7, -1, 0, 0, 1, 3, 1000000, INT_MIN, INT_MAX };
enum { N_PRIOS = sizeof prios / sizeof *prios };

struct Main { int unused; };
struct Member { int kind, n_in, n_urgent, n_sent, last_no, last_prio; };

void Member_on_new(Member *self) { (void)self; }

static bool is_urgent(const Member *self, int no)
{
	return self->kind == URGENT && check_mix((uint64_t)no + 99) % 3 == 0;
}

/* The first urgent call comes after many others. */
void Member_on_batch(Member *self, int kind)
{
	CProxyElement_Member me = Member_thisElement(self);

	self->kind = kind;
	self->n_in = self->n_urgent = self->n_sent = 0;
	self->last_no = -1;
	for (int no = 0; no < BATCH; no++) {
		CkEntryOptions o = { .prio = prios[check_mix((uint64_t)no) % N_PRIOS],
				     .queueing = kind == LIFO ? CK_QUEUEING_LIFO : CK_QUEUEING_FIFO };

		if (is_urgent(self, no)) {
			Member_urgent(me, no);
			self->n_sent++;
		} else {
			Member_item_opt(&o, me, no, o.prio);
		}
	}
}

static void in(Member *self)
{
	if (++self->n_in < BATCH)
		return;
	if (self->kind == URGENT)
		CkContribute(self, &self->n_in, 1, CkReduction_sum_int, Main_cb_done(mainProxy));
	else
		Member_batch(Member_thisElement(self), self->kind + 1);
}

void Member_on_item(Member *self, int no, int prio)
{
	CHECK_EQ(self->n_urgent, self->n_sent);
	if (self->last_no >= 0) {
		CHECK(prio >= self->last_prio);
		if (prio == self->last_prio)
			CHECK(self->kind == LIFO ? no < self->last_no : no > self->last_no);
	}
	self->last_no = no;
	self->last_prio = prio;
	in(self);
}

void Member_on_urgent(Member *self, int no)
{
	CHECK(is_urgent(self, no));
	self->n_urgent++;
	in(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	Member_batch_all(members, FIFO);
}

void Main_on_done(Main *self, int n)
{
	(void)self;
	CHECK_EQ(n, BATCH * CkNumPes());
	CkPrintf("prio: %d kinds of order on %d PEs\n", KINDS, CkNumPes());
	CkExit(0);
}

#include "prio.def.h"
