/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mains: three main chares in two modules, which run one after the other on PE 0, each with the
 * arguments. The initnode and initproc functions run before them, those of the named module first.
 */
#include "part.h"

#include "../check.h"
#include "mains.decl.h"

struct First { int got; };
struct Second { int n, sum; };
struct Looker { int unused; };

void mains_node(void)
{
	CHECK_EQ(atomic_fetch_add(&n_initnode, 1), 1);
}

void mains_proc(void)
{
	CHECK_EQ(n_initproc++, 1);
}

static void started(CkArgMsg *m, int before)
{
	CHECK_EQ(CkMyPe(), 0);
	CHECK_EQ(n_main++, before);
	CHECK_EQ(m->argc, 3);
	CHECK(strcmp(m->argv[1], "one") == 0 && strcmp(m->argv[2], "two") == 0);
	CHECK(partMain.ck.id != 0); /* set by the main chare of the other module */
}

void First_on_new(First *self, CkArgMsg *m)
{
	started(m, 1);
	first = First_thisProxy(self);
	m->argv[1][0] = 'o'; /* theirs to write, as in main() */
}

void Second_on_new(Second *self, CkArgMsg *m)
{
	started(m, 2);
	second = Second_thisProxy(self);
	Looker_ckNew(); /* which calls `second` at once on this PE */
	CHECK(first.ck.id != second.ck.id && first.ck.id != partMain.ck.id);
}

void Looker_on_new(Looker *self)
{
	(void)self;
	CHECK_EQ(part_number, 7);
	CHECK_EQ(atomic_load(&n_initnode), 2);
	CHECK_EQ(n_initproc, 2);
	Second_add(second, CkMyPe());
}

void Second_on_add(Second *self, int x)
{
	self->sum += x;
	if (++self->n == CkNumPes())
		First_hello(first, self->sum);
}

void First_on_hello(First *self, int sum)
{
	CHECK_EQ(self->got++, 0);
	CHECK_EQ(sum, CkNumPes() * (CkNumPes() - 1) / 2);
	CkStartQD(First_cb_quiet(first));
}

void First_on_quiet(First *self)
{
	(void)self;
	CHECK_EQ(n_main, 3);
	CHECK_EQ(n_guests, CkNumPes());
	CkPrintf("mains: three on %d PEs\n", CkNumPes());
	CkExit(0);
}

#include "mains.def.h"
