/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_groupcast: a chare makes a group from a message that holds the chare's own proxy. The
 * members contribute in their constructors. The chare answers each reduction with a broadcast, and
 * the members answer each broadcast with a contribution. So each member gets each message once,
 * whole, and after its constructor.
 */
#include "mega.h"

#include "mega_groupcast.decl.h"

enum { CASTS = 6 };

struct Main { struct mega runs; };
struct Caster { CProxy_Member members; int seq, ready, heard; };
struct Member { CProxy_Caster caster; int seq, rounds; };

/* ---- the group ------------------------------------------------------------------------------- */

void Member_on_new(Member *self, Hello *h)
{
	self->caster = h->caster;
	self->seq = h->seq;
	CkContributeBarrier(self, Caster_cb_groupReady(self->caster));
}

static bool good(const Cast *c)
{
	for (int k = 0; k < 16; k++)
		if (c->squares[k] != c->round + k * k)
			return false;
	return strcmp(c->text, "Broadcasting") == 0;
}

void Member_on_doBroadcast(Member *self, Cast *c)
{
	int v[2];

	if (!good(c))
		CkAbort("mega_groupcast: a broadcast message fails its check");
	CHECK_EQ(c->round, self->seq * CASTS + self->rounds);
	CkFreeMsg(c);
	v[0] = 1;
	v[1] = ++self->rounds;
	CkContribute(self, v, 2, CkReduction_sum_int, Caster_cb_heard(self->caster));
}

/* ---- the chare ------------------------------------------------------------------------------- */

void Caster_on_new(Caster *self, int seq)
{
	Hello *h = Hello_alloc();

	self->seq = seq;
	h->caster = Caster_thisProxy(self);
	h->seq = seq;
	self->members = Member_ckNew(h);
}

static void broadcast(Caster *self)
{
	Cast *c = Cast_alloc();

	strcpy(c->text, "Broadcasting");
	c->round = self->seq * CASTS + self->heard;
	for (int k = 0; k < 16; k++)
		c->squares[k] = c->round + k * k;
	Member_doBroadcast_all(self->members, c);
}

void Caster_on_groupReady(Caster *self)
{
	CHECK_EQ(self->ready++, 0);
	broadcast(self);
}

void Caster_on_heard(Caster *self, int members, int rounds)
{
	self->heard++;
	CHECK_EQ(members, CkNumPes());
	CHECK_EQ(rounds, self->heard * CkNumPes());
	if (self->heard < CASTS) {
		broadcast(self);
		return;
	}
	Main_finish(mainProxy, self->heard);
	CkDestroy(self);
}

static void begin(int no)
{
	Caster_ckNew(no % CkNumPes(), no);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self, int rounds)
{
	CHECK_EQ(rounds, CASTS);
	if (!mega_ended(&self->runs, begin))
		return;
	CkPrintf("mega_groupcast: %d broadcasts to %d members\n", MEGA_RUNS * CASTS, CkNumPes());
	CkExit(0);
}

#include "mega_groupcast.def.h"
