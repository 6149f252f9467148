/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups: each PE finds its member without a message. Members call each other, broadcast and reduce,
 * and each of them makes a group of its own.
 */
#include "check.h"

#include "groups.decl.h"

struct Main { int n_born, n_sums; };
struct Member { int n_hello, n_shout, n_reports, square; };
struct Child { CProxy_Member parent; int maker; };

void Member_on_new(Member *self, int n, const int *squares)
{
	CHECK_EQ(Member_thisIndex(self), CkMyPe());
	CHECK_EQ(n, CkNumPes());
	CHECK_EQ(self->n_hello + self->n_shout, 0);
	self->square = squares[CkMyPe()];
	Main_born(mainProxy, CkMyPe());
}

void Member_on_start(Member *self)
{
	int me = CkMyPe();

	CHECK(Member_ckLocalBranch(members) == self);
	CHECK(Member_ckLocal(Member_at(members, me)) == self);
	if (CkNumPes() > 1)
		CHECK(!Member_ckLocal(Member_at(members, (me + 1) % CkNumPes())));
	for (int pe = 0; pe < CkNumPes(); pe++)
		Member_hello(Member_at(members, pe), me);
	Member_shout_all(members, me, "here");
	Child_report_all(Child_ckNew(members, me), me);
}

static void done(Member *self)
{
	long v = self->square;

	if (self->n_hello == CkNumPes() && self->n_shout == CkNumPes() &&
	    self->n_reports == CkNumPes())
		CkContribute(self, &v, 1, CkReduction_sum_long, Main_cb_sum(mainProxy));
}

void Member_on_hello(Member *self, int from)
{
	CHECK(from >= 0 && from < CkNumPes());
	self->n_hello++;
	done(self);
}

void Member_on_shout(Member *self, int from, const char *text)
{
	CHECK(from >= 0 && strcmp(text, "here") == 0);
	self->n_shout++;
	done(self);
}

void Child_on_new(Child *self, CProxy_Member parent, int maker)
{
	self->parent = parent;
	self->maker = maker;
	CHECK_EQ(Child_thisIndex(self), CkMyPe());
}

/* A member and its children of the same PE share memory. */
void Child_on_report(Child *self, int maker)
{
	Member *local = Member_ckLocalBranch(self->parent);

	CHECK_EQ(self->maker, maker);
	CHECK(local && Child_ckLocalBranch(Child_thisProxy(self)) == self);
	local->n_reports++;
	done(local);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int squares[1024];

	(void)m;
	CHECK(CkNumPes() <= 1024);
	for (int i = 0; i < CkNumPes(); i++)
		squares[i] = i * i;
	mainProxy = Main_thisProxy(self);
	members = Member_ckNew(CkNumPes(), squares);
}

void Main_on_born(Main *self, int pe)
{
	CHECK(pe >= 0 && pe < CkNumPes());
	if (++self->n_born == CkNumPes())
		Member_start_all(members);
}

void Main_on_sum(Main *self, long sum)
{
	long n = CkNumPes();

	(void)self;
	CHECK_EQ(sum, (n - 1) * n * (2 * n - 1) / 6);
	CkPrintf("groups: %ld members\n", n);
	CkExit(0);
}

#include "groups.def.h"
