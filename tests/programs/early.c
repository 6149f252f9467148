/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early: whoever knows a group or a nodegroup finds its local branch. In every round another PE makes two
 * groups, a nodegroup and a section, and tells of them in every way there is: in a message, in a parameter,
 * through third parties, from a constructor, and as parameters of elements and chares that are made
 * afterwards. Whoever is told uses the local branches at once, then calls all branches. Each call is
 * handled after the constructor, and those of one PE in order.
 *
 * With CK_RANDOM_DELAY some branches are constructed because somebody uses them (`on demand`): word of them
 * was faster than the last step of their creation.
 */
#include "check.h"

#include <stdlib.h>

#include "early.decl.h"

enum { ROUNDS = 20, CALLS = 5, MOST = 64 };
enum { ON_DEMAND, NODE_ON_DEMAND, N_TOLD, N_HEARD, N_LATER, N_SINGLE, COUNTS };

struct Main { int round; CProxy_Young young; CProxy_YoungNode node; };
struct Caller { int n[COUNTS]; };
struct Elder { int round; };
/** The next number from each PE, of each kind of call. */
struct Young { int round, n_count, one[MOST], all[MOST], some[MOST]; };
struct YoungNode { int round, one[MOST], all[MOST]; };
struct Later { char unused; };
struct Single { char unused; };

static _Thread_local bool looks; /* this PE looks for a branch */

static Caller *caller(void) { return Caller_ckLocalBranch(callers); }

/* Both local branches, whole. */
static void look(int round, CProxy_Young g, CProxy_YoungNode n)
{
	Young *young;

	looks = true;
	young = Young_ckLocalBranch(g);
	CHECK(young == Young_ckLocal(Young_at(g, CkMyPe())));
	CHECK_EQ(young->round, round);
	CHECK_EQ(YoungNode_ckLocalBranch(n)->round, round);
	looks = false;
}

/* ---- called branches ----------------------------------------------------------------------- */

void Elder_on_new(Elder *self, int round, CProxy_Young last)
{
	self->round = round;
	CHECK(Elder_ckLocalBranch(Elder_thisProxy(self)) == self);
	if (round > 0)
		CHECK_EQ(Young_ckLocalBranch(last)->round, round - 1);
}

void Young_on_new(Young *self, int round, CProxy_Elder elder)
{
	caller()->n[ON_DEMAND] += looks;
	CHECK_EQ(Elder_ckLocalBranch(elder)->round, round);
	CHECK(Young_ckLocalBranch(Young_thisProxy(self)) == self);
	self->round = round;
}

/* Others hear of both from here, too, while the creator still waits for some PEs. */
void YoungNode_on_new(YoungNode *self, int round, CProxy_Young g)
{
	int next = (CkMyPe() + 1) % CkNumPes();

	caller()->n[NODE_ON_DEMAND] += looks;
	CHECK_EQ(Young_ckLocalBranch(g)->round, round);
	self->round = round;
	Caller_heard(Caller_at(callers, next), g, YoungNode_thisProxy(self), round);
}

void Young_on_count(Young *self, int round)
{
	CHECK_EQ(self->round, round);
	self->n_count++;
}

void Young_on_one(Young *self, int round, int from, int no)
{
	CHECK_EQ(self->round, round);
	CHECK_EQ(no, self->one[from]++);
}

void Young_on_all(Young *self, int round, int from, int no)
{
	CHECK_EQ(self->round, round);
	CHECK_EQ(no, self->all[from]++);
}

void Young_on_some(Young *self, int round, int from, int no)
{
	CHECK_EQ(self->round, round);
	CHECK_EQ(no, self->some[from]++);
}

void YoungNode_on_one(YoungNode *self, int round, int from, int no)
{
	CHECK_EQ(self->round, round);
	CHECK_EQ(no, self->one[from]++);
}

void YoungNode_on_all(YoungNode *self, int round, int from, int no)
{
	CHECK_EQ(self->round, round);
	CHECK_EQ(no, self->all[from]++);
}

/* Every branch has had all calls of every PE; checked at the end of a round. */
void Young_on_over(Young *self)
{
	bool member = CkMyPe() == 0 || CkMyPe() == CkNumPes() - 1;

	for (int pe = 0; pe < CkNumPes(); pe++) {
		CHECK_EQ(self->one[pe], CALLS);
		CHECK_EQ(self->all[pe], CALLS);
		CHECK_EQ(self->some[pe], member ? CALLS : 0);
	}
}

void YoungNode_on_over(YoungNode *self)
{
	for (int pe = 0; pe < CkNumPes(); pe++)
		CHECK(self->one[pe] == CALLS && self->all[pe] == CALLS);
}

/* ---- those who are told ------------------------------------------------------------------------ */

void Caller_on_new(Caller *self) { (void)self; }

void Caller_on_told(Caller *self, Told *m)
{
	int me = CkMyPe();

	look(m->round, m->g, m->n);
	Caller_heard(Caller_at(callers, (me * 5 + m->round) % CkNumPes()), m->g, m->n, m->round);
	for (int i = 0; i < CALLS; i++) {
		for (int pe = 0; pe < CkNumPes(); pe++)
			Young_one(Young_at(m->g, pe), m->round, me, i);
		for (int node = 0; node < CkNumNodes(); node++)
			YoungNode_one(YoungNode_at(m->n, node), m->round, me, i);
		Young_all_all(m->g, m->round, me, i);
		YoungNode_all_all(m->n, m->round, me, i);
		Young_some_section(m->s, m->round, me, i);
	}
	self->n[N_TOLD]++;
}

/* From a third party. */
void Caller_on_heard(Caller *self, CProxy_Young g, CProxy_YoungNode n, int round)
{
	int before;

	look(round, g, n);
	before = Young_ckLocalBranch(g)->n_count;
	Young_count(Young_at(g, CkMyPe()), round); /* inline: at once */
	CHECK_EQ(Young_ckLocalBranch(g)->n_count, before + 1);
	self->n[N_HEARD]++;
}

void Later_on_new(Later *self, int round, CProxy_Young g, CProxy_YoungNode n)
{
	(void)self;
	look(round, g, n);
	caller()->n[N_LATER]++;
}

void Single_on_new(Single *self, int round, CProxy_Young g, CProxy_YoungNode n)
{
	(void)self;
	look(round, g, n);
	Young_count(Young_at(g, CkMyPe()), round);
	caller()->n[N_SINGLE]++;
}

/* ---- those who make them ------------------------------------------------------------------------ */

/* The first and the last PE, once if they are one. */
static int section_size(void) { return CkNumPes() > 1 ? 2 : 1; }

void Caller_on_make(Caller *self, int round, CProxy_Young last)
{
	CProxy_Elder e = Elder_ckNew(round, last);
	CProxy_Young g = Young_ckNew(round, e);
	CProxy_YoungNode n = YoungNode_ckNew(round, g);
	CkIndex list[2] = {Young_index(0), Young_index(CkNumPes() - 1)};
	CProxySection_Young s = Young_ckSection(g, list, (size_t)section_size());
	CkEntryOptions after = { .group_dep = g.ck };

	(void)self;
	look(round, g, n);
	for (int pe = 0; pe < CkNumPes(); pe++) {
		Told *m = Told_alloc();

		*m = (Told){ .g = g, .n = n, .s = s, .round = round };
		Caller_told_opt(&after, Caller_at(callers, (CkMyPe() + pe) % CkNumPes()), m);
		Single_ckNew(pe, round, g, n);
	}
	Single_ckNew(CK_PE_ANY, round, g, n);
	Later_ckNew(CkDims(CkNumPes() + 1), round, g, n);
	Main_made(mainProxy, g, n);
}

void Caller_on_report(Caller *self)
{
	CkContribute(self, self->n, COUNTS, CkReduction_sum_int, Main_cb_counted(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------- */

void Main_on_made(Main *self, CProxy_Young g, CProxy_YoungNode n)
{
	self->young = g;
	self->node = n;
	CkStartQD(Main_cb_done(mainProxy));
}

void Main_on_done(Main *self)
{
	Young_over_all(self->young);
	YoungNode_over_all(self->node);
	if (++self->round < ROUNDS)
		Caller_make(Caller_at(callers, self->round * 3 % CkNumPes()), self->round, self->young);
	else
		CkStartQD(Main_cb_over(mainProxy));
}

void Main_on_over(Main *self)
{
	(void)self;
	Caller_report_all(callers);
}

void Main_on_counted(Main *self, int n, const int *v)
{
	(void)self;
	CHECK_EQ(n, COUNTS);
	CHECK_EQ(v[N_TOLD], ROUNDS * CkNumPes());
	CHECK_EQ(v[N_HEARD], ROUNDS * (CkNumPes() + CkNumNodes()));
	CHECK_EQ(v[N_LATER], ROUNDS * (CkNumPes() + 1));
	CHECK_EQ(v[N_SINGLE], ROUNDS * (CkNumPes() + 1));
	CkPrintf("early: in order on %d PEs; on demand: %d and %d\n", CkNumPes(), v[ON_DEMAND],
		 v[NODE_ON_DEMAND]);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	CHECK(CkNumPes() <= MOST);
	mainProxy = Main_thisProxy(self);
	callers = Caller_ckNew();
	CHECK(caller() != NULL);
	Caller_make(Caller_at(callers, CkNumPes() - 1), 0, self->young);
}

#include "early.def.h"
