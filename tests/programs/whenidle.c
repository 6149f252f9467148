/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whenidle: PEs call [whenidle] entry methods while they have nothing else to do: again while these
 * return true, not after they return false, once for each time that an element asks, and not after
 * the element is destroyed. The handlers know their element and may call others.
 */
#include "check.h"

#include <stdatomic.h>

#include "whenidle.decl.h"

enum { PER_PE = 3, TURNS = 5, ASKED = 2, DOOMED_MAX = 256 };

struct Main { int n_gone; };
struct Worker { int left, calls, pokes; };
struct Doomed { int calls; };
struct Keeper { long calls; };

/* Elements that are gone, by index, of this process. Relaxed: only an element's own PE uses its flag. */
static atomic_bool gone[DOOMED_MAX];

/* ---- work, until there is none ------------------------------------------------------------------ */

static void worked(Worker *self)
{
	long calls = self->calls;

	if (self->left == 0 && self->pokes == TURNS)
		CkContribute(self, &calls, 1, CkReduction_sum_long, Main_cb_worked(mainProxy));
}

void Worker_on_new(Worker *self, int turns)
{
	self->left = turns;
	Worker_work_whenIdle(self);
}

bool Worker_on_work(Worker *self)
{
	int n = PER_PE * CkNumPes();
	int next = (Worker_thisIndex(self) + 1) % n;

	CHECK(self->left > 0);
	CHECK(Worker_ckLocal(Worker_thisElement(self)) == self);
	self->calls++;
	self->left--;
	Worker_poke(Worker_at(Worker_thisProxy(self), next));
	worked(self);
	return self->left > 0;
}

void Worker_on_poke(Worker *self)
{
	self->pokes++;
	worked(self);
}

/* ---- elements that end -------------------------------------------------------------------------- */

void Doomed_on_new(Doomed *self)
{
	Doomed_wait_for_the_end_whenIdle(self);
}

bool Doomed_on_wait_for_the_end(Doomed *self)
{
	CHECK(!atomic_load_explicit(&gone[Doomed_thisIndex(self)], memory_order_relaxed));
	if (++self->calls == TURNS)
		Doomed_end(Doomed_thisElement(self));
	return true;
}

void Doomed_on_end(Doomed *self)
{
	atomic_store_explicit(&gone[Doomed_thisIndex(self)], true, memory_order_relaxed);
	CkDestroy(self);
	Main_gone(mainProxy);
}

/* ---- asking twice, and again -------------------------------------------------------------------- */

void Keeper_on_new(Keeper *self)
{
	for (int i = 0; i < ASKED; i++)
		Keeper_tidy_whenIdle(self);
}

bool Keeper_on_tidy(Keeper *self)
{
	self->calls++;
	if (self->calls == 1)
		Keeper_tidy_whenIdle(self);
	if (self->calls == ASKED + 1)
		CkContribute(self, &self->calls, 1, CkReduction_sum_long, Main_cb_kept(mainProxy));
	CHECK(self->calls <= ASKED + 1);
	return false;
}

/* ---- main --------------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	CHECK(CkNumPes() <= DOOMED_MAX);
	Worker_ckNew(CkDims(PER_PE * CkNumPes()), TURNS);
}

void Main_on_worked(Main *self, long calls)
{
	(void)self;
	CHECK_EQ(calls, (long)TURNS * PER_PE * CkNumPes());
	Doomed_ckNew(CkDims(CkNumPes()));
}

void Main_on_gone(Main *self)
{
	if (++self->n_gone == CkNumPes())
		Keeper_ckNew();
}

void Main_on_kept(Main *self, long calls)
{
	(void)self;
	CHECK_EQ(calls, (long)(ASKED + 1) * CkNumPes());
	CkPrintf("whenidle: all called\n");
	CkExit(0);
}

#include "whenidle.def.h"
