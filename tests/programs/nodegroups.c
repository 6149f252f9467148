/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodegroups: every PE calls every branch. [exclusive] calls never run at the same time and keep each
 * sender's order; plain ones may run together. A busy branch keeps no PE from its work. Broadcasts
 * reach each node once; reductions take one contribution per node. `nodegroups [n]`: how many calls.
 */
#include "check.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "nodegroups.decl.h"

struct Own {
	int *x;
};

enum { MOST_PES = 64, PRIOS = 20, LOOKS = 100000, COUNTS = 100 };

struct Main { int phase, n_immediate, n_prios, n_sums; long n_counted; };
enum { LENT = 300 };
struct Branch {
	atomic_int n_own, n_hello, n_soon, n_text, n_constructed, n_once, freed;
	atomic_bool inside;      /* an [exclusive] handler */
	int n_ordered, n_shout, n_told, n_behind, n_prio; /* of [exclusive] handlers: plain */
	int next[MOST_PES];
	int order[PRIOS];
	int square;
	atomic_long n_counted;
};
struct Child { int maker, n; };
struct Unready { bool whole; };
struct Caller { int unused; };

static void enter(Branch *self)
{
	CHECK(!atomic_exchange(&self->inside, true));
	CHECK_EQ(atomic_load(&self->n_constructed), 1);
}

static void leave(Branch *self)
{
	CHECK(atomic_exchange(&self->inside, false));
}

void Branch_on_new(Branch *self, int n, const int *squares)
{
	CHECK_EQ(n, CkNumNodes());
	CHECK_EQ(Branch_thisIndex(self), CkMyNode());
	CHECK_EQ(atomic_load(&self->n_hello) + atomic_load(&self->n_soon), 0);
	CHECK(Branch_ckLocalBranch(Branch_thisProxy(self)) == self);
	self->square = squares[CkMyNode()];
	Branch_hello(Branch_thisElement(self), CkMyPe(), -1);
	CHECK_EQ(atomic_fetch_add(&self->n_constructed, 1), 0);
}

void Branch_on_hello(Branch *self, int from, int i)
{
	CHECK_EQ(atomic_load(&self->n_constructed), 1);
	CHECK(from >= 0 && from < CkNumPes() && i < n_calls);
	CHECK(Branch_ckLocalBranch(branches) == self);
	atomic_fetch_add(&self->n_hello, 1);
}

void Branch_on_ordered(Branch *self, int from, int i)
{
	enter(self);
	CHECK_EQ(i, self->next[from]);
	self->next[from]++;
	self->n_ordered++;
	leave(self);
}

void Branch_on_shout(Branch *self, int i)
{
	enter(self);
	CHECK(i >= 0);
	self->n_shout++;
	leave(self);
}

void Branch_on_soon(Branch *self, int from)
{
	CHECK_EQ(atomic_load(&self->n_constructed), 1);
	CHECK(from >= 0);
	atomic_fetch_add(&self->n_soon, 1);
	Main_immediate(mainProxy, Branch_thisIndex(self));
}

void Branch_on_take(Branch *self, Text *t)
{
	CHECK(strcmp(t->text, "a text") == 0);
	if (t->from % 2) {
		void *kept = CkKeepMsg();

		CHECK(kept == t);
		CkFreeMsg(kept);
	}
	atomic_fetch_add(&self->n_text, 1);
}

void Branch_on_block(Branch *self)
{
	CProxyElement_Branch me = Branch_thisElement(self);

	Branch_waits(me);
	for (int i = 0; i < 2 * MOST_PES; i++)
		Branch_behind(me);
	Branch_frees(me);
}

static Own *own_new(int x)
{
	Own *o = Own_alloc(0);

	o->x = malloc(sizeof *o->x);
	*o->x = x;
	return o;
}

void *Own_pack(Own *o)
{
	int *buf = CkAllocBuffer(o, sizeof *buf);

	*buf = *o->x;
	free(o->x);
	CkFreeMsg(o);
	return buf;
}

Own *Own_unpack(void *buf)
{
	Own *o = own_new(*(int *)buf);

	CkFreeMsg(buf);
	return o;
}

void Branch_on_own(Branch *self, Own *o)
{
	CHECK_EQ(*o->x, 77);
	free(o->x);
	atomic_fetch_add(&self->n_own, 1);
}

static double lent[LENT];

void Branch_on_lent(Branch *self, int n, const double *v)
{
	CHECK_EQ(n, LENT);
	for (int i = 0; i < n; i++)
		CHECK(v[i] == i * 2);
	atomic_fetch_add(&self->n_own, 1);
}

/* Other [exclusive] calls wait for this one; the branch's other calls run. */
void Branch_on_waits(Branch *self)
{
	enter(self);
	if (CkMyNodeSize() > 1)
		while (!atomic_load(&self->freed))
			sched_yield();
	leave(self);
}

void Branch_on_behind(Branch *self)
{
	enter(self);
	CHECK(CkMyNodeSize() == 1 || atomic_load(&self->freed));
	self->n_behind++;
	leave(self);
}

void Branch_on_frees(Branch *self)
{
	atomic_store(&self->freed, 1);
}

void Branch_on_sendPrios(Branch *self)
{
	enter(self);
	for (int i = 0; i < PRIOS; i++) {
		CkEntryOptions o = { .prio = i * 7 % PRIOS - PRIOS / 2 };

		Branch_prio_opt(&o, Branch_thisElement(self), o.prio);
	}
	leave(self);
}

void Branch_on_prio(Branch *self, int prio)
{
	enter(self);
	self->order[self->n_prio++] = prio;
	if (self->n_prio == PRIOS)
		Main_prios(mainProxy, CkMyNode(), PRIOS, self->order);
	leave(self);
}

/* ---- reductions ------------------------------------------------------------------------------ */

void Branch_on_report(Branch *self)
{
	long v[2] = { self->square, 1 };

	enter(self);
	CHECK_EQ(atomic_load(&self->n_hello), CkNumPes() * (n_calls + 1) + 1);
	CHECK_EQ(self->n_ordered, CkNumPes() * n_calls);
	CHECK_EQ(self->n_shout, CkNumPes());
	CHECK_EQ(atomic_load(&self->n_text), CkNumPes());
	CHECK_EQ(atomic_load(&self->n_own), 3);
	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_sums(mainProxy));
	CkContribute(self, v, 2, CkReduction_sum_long, Branch_cb_told_all(branches));
	CkContribute(self, v, 2, CkReduction_max_long,
		     Branch_cb_told(Branch_at(branches, CkNumNodes() - 1)));
	CkContributeBarrier(self, Branch_cb_once_all(branches));
	leave(self);
}

void Branch_on_told(Branch *self, long sum, long nodes)
{
	long n = CkNumNodes();

	enter(self);
	CHECK(nodes == n || nodes == 1);
	CHECK_EQ(sum, nodes == n && (n > 1 || sum == 0) ? (n - 1) * n * (2 * n - 1) / 6 : (n - 1) * (n - 1));
	self->n_told++;
	leave(self);
}

void Branch_on_once(Branch *self)
{
	double half = 0.5;

	CHECK_EQ(atomic_fetch_add(&self->n_once, 1), 0);
	CkContribute(self, &half, 1, CkReduction_sum_double, Main_cb_text(mainProxy));
}

/* One handler after the other, and not on one PE: the node's first PE, which keeps the node's part of reductions, may run
 * the second one before the contribution of the first one has come from another PE. */
void Branch_on_count(Branch *self)
{
	const long n = atomic_load(&self->n_counted);

	enter(self);
	CkContribute(self, &n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
	if (n % 2 == 0 && CkMyPe() != CkNodeFirst(CkMyNode()))
		Caller_hold(Caller_at(callers, CkMyPe()), n + 2);
	else if (n % 2 == 1 && n + 1 < COUNTS)
		Caller_counts(Caller_at(callers, CkNodeFirst(CkMyNode())), n + 1);
	atomic_store(&self->n_counted, n + 1);
	leave(self);
}

static void wait_for_count(long n)
{
	while (atomic_load(&Branch_ckLocalBranch(branches)->n_counted) < n)
		sched_yield();
}

/* The second call is not for this PE. */
void Caller_on_hold(Caller *self, long n)
{
	(void)self;
	wait_for_count(n);
}

void Caller_on_counts(Caller *self, long n)
{
	CProxyElement_Branch here = Branch_at(branches, CkMyNode());

	(void)self;
	Branch_count(here);
	if (CkMyNodeSize() > 1)
		wait_for_count(n + 1);
	Branch_count(here);
}

/* ---- by every PE ----------------------------------------------------------------------------- */

void Caller_on_new(Caller *self) { (void)self; }

static void call_child(CProxy_Child c, int node)
{
	for (int i = 0; i < 3; i++)
		Child_call(Child_at(c, node), CkMyPe(), i);
}

void Caller_on_start(Caller *self)
{
	int me = CkMyPe();

	(void)self;
	for (int i = 0; i < n_calls; i++)
		for (int node = 0; node < CkNumNodes(); node++) {
			Branch_hello(Branch_at(branches, node), me, i);
			Branch_ordered(Branch_at(branches, node), me, i);
		}
	Branch_hello_all(branches, me, 0);
	Branch_shout_all(branches, me);
	for (int node = 0; node < CkNumNodes(); node++) {
		Text *t = Text_alloc(sizeof "a text");

		t->from = me;
		strcpy(t->text, "a text");
		Branch_take(Branch_at(branches, node), t);
		Branch_soon(Branch_at(branches, node), me);
		call_child(Child_ckNew(me), node);
	}
	Branch_soon_all(branches, me);
}

void Child_on_new(Child *self, int maker) { self->maker = maker; }

void Child_on_call(Child *self, int maker, int i)
{
	CHECK_EQ(self->maker, maker);
	CHECK_EQ(self->n++, i);
}

/* ---- a branch that is looked for because of what its constructor sent -------------------------- */

static atomic_bool looked; /* some PE of this node, or is about to */

/* The PE that answers finds a constructor that has not returned, and waits for it. The wait here is
 * bounded, as a message may also come late; that of the creator waits until all PEs know of it. */
void Unready_on_new(Unready *self)
{
	int node = CkMyNode(), n = CkNodeSize(node), first = CkNodeFirst(node);

	CHECK(Unready_ckLocalBranch(Unready_thisProxy(self)) == self);
	Caller_find(Caller_at(callers, first + (CkMyPe() - first + 1) % n), Unready_thisProxy(self));
	for (int i = 0; n > 1 && i < LOOKS && !atomic_load(&looked); i++)
		sched_yield();
	self->whole = true;
}

void Caller_on_find(Caller *self, CProxy_Unready u)
{
	Unready *here;

	(void)self;
	atomic_store(&looked, true);
	here = Unready_ckLocalBranch(u);
	CHECK(here && here->whole);
}

/* The branch is one and the same for all PEs of a node. */
void Caller_on_look(Caller *self, uint64_t address, int node)
{
	Branch *b = Branch_ckLocalBranch(branches);

	(void)self;
	CHECK(b && Branch_ckLocal(Branch_at(branches, CkMyNode())) == b);
	CHECK(node != CkMyNode() || (uint64_t)(uintptr_t)b == address);
	CHECK(CkNumNodes() == 1 || !Branch_ckLocal(Branch_at(branches, (CkMyNode() + 1) % CkNumNodes())));
}

/* ---- one after the other ---------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	int squares[MOST_PES];

	CHECK(CkNumPes() <= MOST_PES);
	n_calls = m->argc > 1 ? atoi(m->argv[1]) : 200;
	for (int i = 0; i < CkNumNodes(); i++)
		squares[i] = i * i;
	mainProxy = Main_thisProxy(self);
	branches = Branch_ckNew(CkNumNodes(), squares);
	CHECK_EQ(atomic_load(&Branch_ckLocalBranch(branches)->n_constructed), 1);
	callers = Caller_ckNew();
	Caller_start_all(callers);
	CkStartQD(Main_cb_next(mainProxy));
}

void Main_on_next(Main *self)
{
	Branch *b = Branch_ckLocalBranch(branches);

	switch (self->phase++) {
	case 0:
		Caller_look_all(callers, (uint64_t)(uintptr_t)b, CkMyNode());
		Branch_block_all(branches);
		Unready_ckNew();
		for (int i = 0; i < LENT; i++)
			lent[i] = i * 2;
		for (int node = 0; node < CkNumNodes(); node++) {
			Branch_own(Branch_at(branches, node), own_new(77));
			Branch_lent(Branch_at(branches, node), LENT, CkSendBuffer(lent));
		}
		Branch_own_all(branches, own_new(77));
		CkStartQD(Main_cb_next(mainProxy));
		return;
	case 1:
		CHECK_EQ(b->n_behind, 2 * MOST_PES);
		Branch_sendPrios_all(branches);
		return;
	case 2:
		CHECK_EQ(self->n_sums, 2);
		/* Nothing waits for immediate calls. */
		if (self->n_immediate == 2 * CkNumPes() * CkNumNodes()) {
			Branch_shout(Branch_thisElement(b), 0); /* calls go on after reductions */
			self->phase++;
			CkStartQD(Main_cb_next(mainProxy));
			return;
		}
		self->phase--;
		Main_next(mainProxy);
		return;
	case 4:
		CHECK_EQ(b->n_shout, CkNumPes() + 1);
		for (int node = 0; node < CkNumNodes(); node++)
			Caller_counts(Caller_at(callers, CkNodeFirst(node)), 0);
		return;
	}
	CHECK(0);
}

/* Alone on its node a branch gets its calls in order of priority. Delays hold up the node's own calls,
 * too. */
void Main_on_prios(Main *self, int node, int n, const int *order)
{
	for (int i = 1; i < n; i++)
		CHECK(CkNodeSize(node) > 1 || getenv("CK_RANDOM_DELAY") ||
		      order[i] == order[i - 1] + 1);
	if (++self->n_prios == CkNumNodes())
		Branch_report_all(branches);
}

void Main_on_sums(Main *self, long sum, long nodes)
{
	long n = CkNumNodes();

	CHECK_EQ(nodes, n);
	CHECK_EQ(sum, (n - 1) * n * (2 * n - 1) / 6);
	self->n_sums++;
}

void Main_on_counted(Main *self, long sum)
{
	CHECK_EQ(sum, self->n_counted * CkNumNodes());
	if (++self->n_counted < COUNTS)
		return;
	CkPrintf("nodegroups: right on %d nodes, %d PEs\n", CkNumNodes(), CkNumPes());
	CkExit(0);
}

void Main_on_text(Main *self, double x)
{
	CHECK(x == CkNumNodes() * 0.5);
	self->n_sums++;
	CkStartQD(Main_cb_next(mainProxy));
}

void Main_on_immediate(Main *self, int node)
{
	CHECK(node >= 0 && node < CkNumNodes());
	self->n_immediate++;
}

#include "nodegroups.def.h"
