/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early: in every round PE 0 makes a group, a nodegroup and a section of the group, and tells every PE of
 * them at once. Each PE then calls all of them. A call that arrives before its target exists must wait; it
 * is handled after the constructor, in order.
 *
 * The program counts calls of a PE to its own branch while that branch certainly does not exist. On PE 0
 * that happens in every round; elsewhere it happens when the proxies were faster than the creation, as
 * with CK_RANDOM_DELAY.
 */
#include "check.h"

#include <stdlib.h>

#include "early.decl.h"

enum { ROUNDS = 20, CALLS = 5, MOST = 64 };
enum { GROUP_HERE, NODE_HERE, GROUP_AWAY, NODE_AWAY, COUNTS }; /* on PE 0, on others */

struct Main { int round, n_done; };
struct Caller { int n[COUNTS]; };
/** The next number from each PE, of each kind of call. */
struct Young { int round, n_in, one[MOST], all[MOST], some[MOST]; };
struct YoungNode { int round, n_in, one[MOST], all[MOST]; };

/* ---- called branches ----------------------------------------------------------------------- */

void Young_on_new(Young *self, int round) { self->round = round; }
void YoungNode_on_new(YoungNode *self, int round) { self->round = round; }

/* The first and the last PE, once if they are one. */
static int section_size(void) { return CkNumPes() > 1 ? 2 : 1; }

static void young_in(Young *self, int round, int *next, int no)
{
	bool member = CkMyPe() == 0 || CkMyPe() == CkNumPes() - 1;

	CHECK_EQ(self->round, round + 1); /* so its constructor has run */
	CHECK_EQ(no, (*next)++);
	if (++self->n_in == (2 + member) * CALLS * CkNumPes())
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

void Young_on_one(Young *self, int r, int from, int no) { young_in(self, r, &self->one[from], no); }
void Young_on_all(Young *self, int r, int from, int no) { young_in(self, r, &self->all[from], no); }
void Young_on_some(Young *self, int r, int from, int no) { young_in(self, r, &self->some[from], no); }

static void node_in(YoungNode *self, int round, int *next, int no)
{
	CHECK_EQ(self->round, round + 1);
	CHECK_EQ(no, (*next)++);
	if (++self->n_in == 2 * CALLS * CkNumPes())
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

void YoungNode_on_one(YoungNode *self, int r, int from, int no)
{
	node_in(self, r, &self->one[from], no);
}

void YoungNode_on_all(YoungNode *self, int r, int from, int no)
{
	node_in(self, r, &self->all[from], no);
}

/* ---- callers --------------------------------------------------------------------------------- */

void Caller_on_new(Caller *self) { (void)self; }

void Caller_on_told(Caller *self, int round, CProxy_Young g, CProxy_YoungNode n, CProxySection_Young s)
{
	int me = CkMyPe();

	for (int i = 0; i < CALLS; i++) {
		self->n[me ? GROUP_AWAY : GROUP_HERE] += !Young_ckLocalBranch(g);
		self->n[me ? NODE_AWAY : NODE_HERE] += !YoungNode_ckLocalBranch(n);
		for (int pe = 0; pe < CkNumPes(); pe++)
			Young_one(Young_at(g, pe), round, me, i);
		for (int node = 0; node < CkNumNodes(); node++)
			YoungNode_one(YoungNode_at(n, node), round, me, i);
		Young_all_all(g, round, me, i);
		YoungNode_all_all(n, round, me, i);
		Young_some_section(s, round, me, i);
	}
}

void Caller_on_report(Caller *self)
{
	CkContribute(self, self->n, COUNTS, CkReduction_sum_int, Main_cb_counted(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------- */

/* In one handler, so on PE 0 none of them exists when PE 0 makes its own calls. */
static void round_begins(Main *self)
{
	int round = self->round++;
	CProxy_Young g = Young_ckNew(round + 1);
	CProxy_YoungNode n = YoungNode_ckNew(round + 1);
	CkIndex list[2] = {Young_index(0), Young_index(CkNumPes() - 1)};
	CProxySection_Young s = Young_ckSection(g, list, (size_t)section_size());
	Caller *here = Caller_ckLocalBranch(callers);

	for (int pe = 1; pe < CkNumPes(); pe++)
		Caller_told(Caller_at(callers, pe), round, g, n, s);
	Caller_on_told(here, round, g, n, s);
}

/* The group's and the nodegroup's barrier. */
void Main_on_done(Main *self)
{
	if (++self->n_done % 2)
		return;
	if (self->round < ROUNDS)
		round_begins(self);
	else
		Caller_report_all(callers);
}

void Main_on_counted(Main *self, int n, const int *v)
{
	(void)self;
	CHECK_EQ(n, COUNTS);
	CHECK_EQ(v[GROUP_HERE], ROUNDS * CALLS);
	CHECK_EQ(v[NODE_HERE], ROUNDS * CALLS);
	CkPrintf("early: in order on %d PEs; before the creation: %d and %d on PE 0, %d and %d elsewhere\n",
		 CkNumPes(), v[GROUP_HERE], v[NODE_HERE], v[GROUP_AWAY], v[NODE_AWAY]);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	CHECK(CkNumPes() <= MOST);
	self->round = 0;
	self->n_done = 1;
	mainProxy = Main_thisProxy(self);
	callers = Caller_ckNew();
	CkStartQD(Main_cb_done(mainProxy));
}

#include "early.def.h"
