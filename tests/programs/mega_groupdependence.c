/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_groupdependence: the tester makes a group. At once it makes a call or a creation that
 * declares its dependence on the group; some have a priority that might let them go first. On every
 * PE they must find the group's branch, constructed. The cases are creations, plain calls and
 * [inline] calls of groups, chares, arrays and nodegroups, and messages that hold the proxies of
 * two groups.
 */
#include "check.h"

#include "mega_groupdependence.decl.h"

enum { ROUNDS = 4, CASES = 14, EARLY = -1, LATE = 20, N_A = 20, N_B = 10 };

struct Main { char unused; };
struct GroupA { bool called; };
struct GroupB { bool called; };
struct ChareA { char unused; };
struct ArrayA { int size; };
struct NodeGroupA { char unused; };
struct Tester { int counter, done; };

/* ---- what depends ---------------------------------------------------------------------------- */

static void check_a(CProxy_GroupA a, const char *who)
{
	const GroupA *local = GroupA_ckLocalBranch(a);

	if (!local->called)
		CkAbort("mega_groupdependence: %s was called before group A", who);
}

/* There is one constructor only; a proxy that was not set stands for the one without a dependence. */
static bool depends(CProxy_GroupA dep)
{
	return dep.ck.id != 0;
}

void GroupA_on_new(GroupA *self) { self->called = true; }

void GroupB_on_new(GroupB *self, CProxy_GroupA dep)
{
	self->called = true;
	if (!depends(dep))
		return;
	check_a(dep, "the constructor of group B");
	Tester_completeTest(tester, CkNumPes());
}

void GroupB_on_testRegular(GroupB *self, CProxy_GroupA dep)
{
	CHECK(self->called);
	check_a(dep, "a plain entry of group B");
	Tester_completeTest(tester, CkNumPes());
}

void GroupB_on_testInline(GroupB *self, CProxy_GroupA dep)
{
	CHECK(self->called);
	check_a(dep, "an inline entry of group B");
	Tester_completeTest(tester, CkNumPes());
}

void ChareA_on_new(ChareA *self, CProxy_GroupA dep)
{
	if (!depends(dep))
		return;
	check_a(dep, "the constructor of a chare");
	Tester_completeTest(tester, 1);
	CkDestroy(self);
}

void ChareA_on_testRegular(ChareA *self, CProxy_GroupA dep)
{
	check_a(dep, "a plain entry of a chare");
	Tester_completeTest(tester, 1);
	CkDestroy(self);
}

void ChareA_on_testInline(ChareA *self, CProxy_GroupA dep)
{
	check_a(dep, "an inline entry of a chare");
	Tester_completeTest(tester, 1);
	CkDestroy(self);
}

void ArrayA_on_new(ArrayA *self, int size, CProxy_GroupA dep)
{
	self->size = size;
	if (!depends(dep))
		return;
	check_a(dep, "the constructor of an element");
	Tester_completeTest(tester, size);
}

void ArrayA_on_testRegular(ArrayA *self, CProxy_GroupA dep)
{
	check_a(dep, "a plain entry of an element");
	Tester_completeTest(tester, self->size);
}

void ArrayA_on_testInline(ArrayA *self, CProxy_GroupA dep)
{
	check_a(dep, "an inline entry of an element");
	Tester_completeTest(tester, self->size);
}

void NodeGroupA_on_new(NodeGroupA *self, CProxy_GroupA dep)
{
	(void)self;
	if (!depends(dep))
		return;
	check_a(dep, "the constructor of a nodegroup");
	Tester_completeTest(tester, CkNumNodes());
}

void NodeGroupA_on_testRegular(NodeGroupA *self, CProxy_GroupA dep)
{
	(void)self;
	check_a(dep, "a plain entry of a nodegroup");
	Tester_completeTest(tester, CkNumNodes());
}

void NodeGroupA_on_testInline(NodeGroupA *self, CProxy_GroupA dep)
{
	(void)self;
	check_a(dep, "an inline entry of a nodegroup");
	Tester_completeTest(tester, CkNumNodes());
}

/* ---- the cases ------------------------------------------------------------------------------- */

static const CProxy_GroupA nothing;

static CkEntryOptions after(CProxy_GroupA a, int prio)
{
	return (CkEntryOptions){.prio = prio, .group_dep = a.ck};
}

static void test_group(int which)
{
	CProxy_GroupA a;
	CProxy_GroupB b;
	CkEntryOptions o;

	if (which == 0) {
		GroupB_ckNew(GroupA_ckNew());
		return;
	}
	b = GroupB_ckNew(nothing);
	a = GroupA_ckNew();
	o = after(a, EARLY);
	if (which == 1)
		GroupB_testRegular_all_opt(&o, b, a);
	else
		GroupB_testInline_all_opt(&o, b, a);
}

static void test_chare(int which)
{
	CProxy_ChareA c;
	CProxy_GroupA a;
	CkEntryOptions o;

	if (which == 0) {
		a = GroupA_ckNew();
		o = after(a, EARLY);
		ChareA_ckNew_opt(&o, CkNumPes() - 1, a);
		return;
	}
	c = ChareA_ckNew(CkNumPes() - 1, nothing);
	a = GroupA_ckNew();
	o = after(a, EARLY);
	if (which == 1)
		ChareA_testRegular_opt(&o, c, a);
	else
		ChareA_testInline_opt(&o, c, a);
}

static void test_array(int which)
{
	int size = CkNumPes() * 8;
	CProxy_ArrayA array;
	CProxy_GroupA a;
	CkEntryOptions o;

	if (which == 0) {
		a = GroupA_ckNew();
		ArrayA_ckNew(CkDims(size), size, a);
		return;
	}
	array = ArrayA_ckNew(CkDims(size), size, nothing);
	a = GroupA_ckNew();
	o = after(a, LATE);
	if (which == 1)
		ArrayA_testRegular_all_opt(&o, array, a);
	else
		ArrayA_testInline_all_opt(&o, array, a);
}

static void test_nodegroup(int which)
{
	CProxy_NodeGroupA n;
	CProxy_GroupA a;
	CkEntryOptions o;

	if (which == 0) {
		NodeGroupA_ckNew(GroupA_ckNew());
		return;
	}
	n = NodeGroupA_ckNew(nothing);
	a = GroupA_ckNew();
	o = after(a, LATE);
	if (which == 1)
		NodeGroupA_testRegular_all_opt(&o, n, a);
	else
		NodeGroupA_testInline_all_opt(&o, n, a);
}

static void test_fixed(void)
{
	Fixed *m = Fixed_alloc();
	CkEntryOptions o;

	m->aProxy = GroupA_ckNew();
	m->bProxy = GroupB_ckNew(nothing);
	m->a = 20;
	m->b = 12.75;
	o = after(m->aProxy, EARLY);
	Tester_recvFixed_opt(&o, tester, m);
}

static void test_variable(void)
{
	Variable *m = Variable_alloc(N_A, N_B);
	CkEntryOptions o;

	m->aProxy = GroupA_ckNew();
	m->bProxy = GroupB_ckNew(nothing);
	for (int i = 0; i < N_A; i++)
		m->a[i] = i * i;
	for (int i = 0; i < N_B; i++)
		m->b[i] = 1.25 * i;
	o = after(m->aProxy, EARLY);
	Tester_recvVariable_opt(&o, tester, m);
}

/* ---- the tester ------------------------------------------------------------------------------ */

void Tester_on_new(Tester *self)
{
	(void)self;
	CHECK_EQ(CkMyPe(), 0);
}

void Tester_on_nextTest(Tester *self)
{
	static void (*const kinds[])(int) = {test_group, test_chare, test_array, test_nodegroup};
	int n = self->done % CASES;

	if (self->done == ROUNDS * CASES)
		Main_finish(mainProxy, self->done);
	else if (n < 12)
		kinds[n / 3](n % 3);
	else if (n == 12)
		test_fixed();
	else
		test_variable();
}

/* Each case tells how many say so. */
void Tester_on_completeTest(Tester *self, int num)
{
	if (++self->counter < num)
		return;
	self->counter = 0;
	self->done++;
	Tester_on_nextTest(self);
}

static void check_both(CProxy_GroupA a, CProxy_GroupB b, const char *who)
{
	const GroupB *local = GroupB_ckLocalBranch(b);

	check_a(a, who);
	if (!local->called)
		CkAbort("mega_groupdependence: %s was called before group B", who);
}

void Tester_on_recvFixed(Tester *self, Fixed *m)
{
	check_both(m->aProxy, m->bProxy, "an entry with a fixed message");
	CHECK_EQ(m->a, 20);
	CHECK(m->b == 12.75);
	Tester_on_completeTest(self, 1);
}

void Tester_on_recvVariable(Tester *self, Variable *m)
{
	check_both(m->aProxy, m->bProxy, "an entry with a message of any size");
	for (int i = 0; i < N_A; i++)
		CHECK_EQ(m->a[i], i * i);
	for (int i = 0; i < N_B; i++)
		CHECK(m->b[i] == 1.25 * i);
	Tester_on_completeTest(self, 1);
}

/* ---- main ------------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	tester = Tester_ckNew(0);
	Tester_nextTest(tester);
}

void Main_on_finish(Main *self, int cases)
{
	(void)self;
	CHECK_EQ(cases, ROUNDS * CASES);
	CkPrintf("mega_groupdependence: %d cases\n", cases);
	CkExit(0);
}

#include "mega_groupdependence.def.h"
