/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat: messages whose structs the program defines, Body in a header and Table here. One is readonly. The
 * others go to constructors, round, to all, and come back as answers and through futures.
 */
#include "check.h"

#include "flat.decl.h"

enum { WALKERS = 9, LAPS = 3, VALUES = 700 };

struct Table {
	int n;
	long value[VALUES];
};

struct Main { int unused; };
struct Walker { int unused; };

static void set(Body *b, int hops)
{
	memcpy(b->name, "xyz", 3);
	for (int i = 0; i < 3; i++)
		b->x[i] = hops + i * 0.5;
	b->count.hops = hops;
	b->tag.u = 0xfeedu;
}

static void check(const Body *b, int hops)
{
	CHECK(memcmp(b->name, "xyz", 3) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(b->x[i] == hops + i * 0.5);
	CHECK_EQ(b->count.hops, hops);
	CHECK_EQ(b->tag.u, 0xfeed);
}

static Body *make(int hops)
{
	Body *b = Body_alloc();

	CHECK(b->x[1] == 0 && b->count.hops == 0 && b->tag.u == 0);
	set(b, hops);
	return b;
}

static void check_table(const Table *t, int n)
{
	CHECK((uintptr_t)t % 16 == 0);
	CHECK_EQ(t->n, n);
	for (int i = 0; i < VALUES; i++)
		CHECK_EQ(t->value[i], n * i);
}

static Table *make_table(int n)
{
	Table *t = Table_alloc();

	t->n = n;
	for (int i = 0; i < VALUES; i++)
		t->value[i] = n * i;
	return t;
}

void Walker_on_new(Walker *self, Body *b)
{
	(void)self;
	check(b, -1);
	check_table(table, 3);
	set(b, 0);              /* each element's constructor has a copy of its own */
}

/* Round and round, the same message. */
void Walker_on_pass(Walker *self, Body *b)
{
	int me = Walker_thisIndex(self), hops = b->count.hops + 1;

	check(b, hops - 1);
	set(b, hops);
	if (hops == LAPS * WALKERS)
		Main_back(mainProxy, b);
	else
		Walker_pass(Walker_at(walkers, (me + 1) % WALKERS), b);
}

void Walker_on_all(Walker *self, Body *b)
{
	check(b, 5);
	set(b, 6);
	CkFreeMsg(b);
	CkContributeBarrier(self, Main_cb_all_have(mainProxy));
}

Body *Walker_on_answer(Walker *self, Table *t)
{
	check_table(t, 4);
	return make(Walker_thisIndex(self));
}

void Walker_on_later(Walker *self, CkFuture f)
{
	Body_sendToFuture(f, make(Walker_thisIndex(self)));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	table = make_table(3);
	walkers = Walker_ckNew(CkDims(WALKERS), make(-1));
	Walker_pass(Walker_at(walkers, 0), make(0));
}

void Main_on_back(Main *self, Body *b)
{
	(void)self;
	check(b, LAPS * WALKERS);
	set(b, 5);
	Walker_all_all(walkers, b);
}

void Main_on_all_have(Main *self)
{
	(void)self;
	Main_ask(mainProxy);
}

void Main_on_ask(Main *self)
{
	(void)self;
	for (int i = 0; i < WALKERS; i++) {
		CkFuture f = CkCreateFuture();
		Body *b = Walker_answer_sync(Walker_at(walkers, i), make_table(4));

		check(b, i);
		CkFreeMsg(b);
		Walker_later(Walker_at(walkers, i), f);
		b = Body_waitFuture(f);
		check(b, i);
		CkFreeMsg(b);
		CkReleaseFuture(f);
	}
	CkPrintf("flat: %d walkers on %d PEs\n", WALKERS, CkNumPes());
	CkExit(0);
}

#include "flat.def.h"
