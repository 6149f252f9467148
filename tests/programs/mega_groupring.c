/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_groupring: each run makes a group and at once gives its first member a message. The members
 * send the message on, PE by PE, ten times round. It reaches each member once a lap, and never
 * before the member's constructor.
 */
#include "mega.h"

#include "mega_groupring.decl.h"

enum { LAPS = 10 };

struct Main { struct mega runs; bool ended[MEGA_RUNS]; };
struct Ring { int seq, visits; bool born; };

void Ring_on_new(Ring *self, int seq)
{
	CHECK_EQ(Ring_thisIndex(self), CkMyPe());
	CHECK_EQ(self->visits, 0);
	self->seq = seq;
	CHECK(Ring_ckLocalBranch(Ring_thisProxy(self)) == self);
	self->born = true;
}

void Ring_on_start(Ring *self, Token *t)
{
	CProxyElement_Ring next = Ring_at(Ring_thisProxy(self), (CkMyPe() + 1) % CkNumPes());

	CHECK(self->born);
	CHECK_EQ(t->seq, self->seq);
	CHECK_EQ(t->hops % CkNumPes(), CkMyPe());
	CHECK_EQ(t->hops / CkNumPes(), self->visits);
	self->visits++;
	if (CkMyPe() == 0 && t->lap == LAPS) {
		Main_finish(mainProxy, t->seq, t->hops);
		CkFreeMsg(t);
		return;
	}
	if (CkMyPe() == 0)
		t->lap++;
	t->hops++;
	Ring_start(next, t);
}

static void begin(int no)
{
	CProxy_Ring ring = Ring_ckNew(no);
	Token *t = Token_alloc();

	t->seq = no;
	t->lap = t->hops = 0;
	Ring_start(Ring_at(ring, 0), t);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self, int seq, int hops)
{
	CHECK(seq >= 0 && seq < MEGA_RUNS && !self->ended[seq]);
	CHECK_EQ(hops, LAPS * CkNumPes());
	self->ended[seq] = true;
	if (!mega_ended(&self->runs, begin))
		return;
	CkPrintf("mega_groupring: %d rings of %d members\n", MEGA_RUNS, CkNumPes());
	CkExit(0);
}

#include "mega_groupring.def.h"
