/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_nodering: the main chare makes a nodegroup, whose proxy is a readonly. Each run sends a
 * message ten times round the branches. Two PEs of a node may handle two messages at a time, so a
 * branch counts with an atomic.
 */
#include <stdatomic.h>

#include "mega.h"

#include "mega_nodering.decl.h"

enum { LAPS = 10 };

struct Main { struct mega runs; bool ended[MEGA_RUNS]; };
struct Ring { bool born; atomic_long visits; };

void Ring_on_new(Ring *self)
{
	CHECK_EQ(Ring_thisIndex(self), CkMyNode());
	CHECK(Ring_ckLocalBranch(Ring_thisProxy(self)) == self);
	self->born = true;
}

void Ring_on_start(Ring *self, Token *t)
{
	CHECK(self->born);
	CHECK(Ring_ckLocalBranch(ring) == self);
	CHECK_EQ(t->hops % CkNumNodes(), CkMyNode());
	CHECK_EQ(t->hops, t->lap * CkNumNodes() - (CkMyNode() ? CkNumNodes() - CkMyNode() : 0));
	/* Relaxed: only the sum counts, and a message orders the report behind all visits. */
	atomic_fetch_add_explicit(&self->visits, 1, memory_order_relaxed);
	if (CkMyNode() == 0 && t->lap == LAPS) {
		Main_finish(mainProxy, t->seq, t->hops);
		CkFreeMsg(t);
		return;
	}
	if (CkMyNode() == 0)
		t->lap++;
	t->hops++;
	Ring_start(Ring_at(ring, (CkMyNode() + 1) % CkNumNodes()), t);
}

void Ring_on_report(Ring *self)
{
	/* Relaxed: see start. */
	long v[2] = {atomic_load_explicit(&self->visits, memory_order_relaxed), 1};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_visited(mainProxy));
}

static void begin(int no)
{
	Token *t = Token_alloc();

	t->seq = no;
	t->lap = t->hops = 0;
	Ring_start(Ring_at(ring, 0), t);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	ring = Ring_ckNew();
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self, int seq, int hops)
{
	CHECK(seq >= 0 && seq < MEGA_RUNS && !self->ended[seq]);
	CHECK_EQ(hops, LAPS * CkNumNodes());
	self->ended[seq] = true;
	if (mega_ended(&self->runs, begin))
		Ring_report_all(ring);
}

/* Each message has come to node 0 once more than it has left it. */
void Main_on_visited(Main *self, long visits, long nodes)
{
	(void)self;
	CHECK_EQ(nodes, CkNumNodes());
	CHECK_EQ(visits, MEGA_RUNS * (LAPS * nodes + 1));
	CkPrintf("mega_nodering: %ld visits to %ld branches\n", visits, nodes);
	CkExit(0);
}

#include "mega_nodering.def.h"
