/* SPDX-License-Identifier: Apache-2.0 */
/*
 * insert: all PEs insert elements on random PEs while calls of them are under way. The elements destroy
 * themselves and are inserted again somewhere else, many times, taking their state along. Every element
 * gets every call once, and the calls of one sender and one priority in order, whichever life it is in
 * and wherever it lives. `insert [seed [turns]]`.
 */
#include "check.h"

#include <stdlib.h>

#include "insert.decl.h"

enum { NX = 3, NY = 5, CALLS = 10 };

struct Main { CProxy_Walker walkers; int turns, stage; };
struct Walker { int *next; int life; uint64_t random; };
struct Hand { int next[NX * NY]; uint64_t random; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)(*random >> 33) % n;
}

/* ---- elements ----------------------------------------------------------------------------------- */

void Walker_on_new(Walker *self, int life, int n, const int *next)
{
	CkIndex2D i = Walker_thisIndex(self);

	CHECK_EQ(n, CkNumPes());
	self->next = malloc((size_t)n * sizeof *self->next);
	memcpy(self->next, next, (size_t)n * sizeof *self->next);
	self->life = life;
	self->random = seed + (uint64_t)(1000 * life + 10 * i.x + i.y);
}

/* To another PE, or to the same. Its state goes along, while calls of it are under way. */
static void move(Walker *self)
{
	CProxyElement_Walker me = Walker_thisElement(self);
	int to = below(&self->random, CkNumPes() + 1) - 1; /* -1: any */

	CkDestroy(self);
	CHECK(!Walker_ckLocal(me));
	CHECK_EQ(Walker_thisIndex(self).x, me.ck.index.v[0]); /* still ours */
	Walker_insert(me, to, self->life + 1, CkNumPes(), self->next);
	free(self->next);
	self->next = NULL;
}

void Walker_on_step(Walker *self, int from, int no)
{
	CHECK_EQ(no, self->next[from]);
	self->next[from]++;
	if (below(&self->random, 4) == 0)
		move(self);
}

void Walker_on_report(Walker *self)
{
	long sum[2] = { 0, self->life };

	for (int p = 0; p < CkNumPes(); p++)
		sum[0] += self->next[p];
	CkContribute(self, sum, 2, CkReduction_sum_long, Main_cb_total(mainProxy));
	free(self->next);
	self->next = NULL;
}

/* ---- every PE ------------------------------------------------------------------------------------- */

void Hand_on_new(Hand *self) { self->random = check_mix(seed + (uint64_t)CkMyPe()); }

/* PE p makes every CkNumPes()-th. */
void Hand_on_make(Hand *self, CProxy_Walker w)
{
	int *zero = calloc((size_t)CkNumPes(), sizeof *zero);

	for (int i = CkMyPe(); i < NX * NY; i += CkNumPes())
		Walker_insert(Walker_at(w, i / NY - 1, i % NY), below(&self->random, CkNumPes()), 0,
			      CkNumPes(), zero);
	free(zero);
}

/* One priority for each sender: what is promised is an order among equals. */
void Hand_on_send(Hand *self, CProxy_Walker w, int turn)
{
	CkEntryOptions o = { .prio = CkMyPe() % 3 - 1 };

	for (int k = 0; k < CALLS; k++) {
		int i = below(&self->random, NX * NY);

		Walker_step_opt(&o, Walker_at(w, i / NY - 1, i % NY), CkMyPe(), self->next[i]++);
	}
	if (turn > 0)
		Hand_send(Hand_thisElement(self), w, turn - 1);
}

/* ---- main ------------------------------------------------------------------------------------------- */

void Main_on_quiet(Main *self)
{
	Walker_report_all(self->walkers);
}

void Main_on_total(Main *self, long n, long lives)
{
	CHECK_EQ(n, (long)CkNumPes() * CALLS * (self->turns + 1));
	CkPrintf("%ld calls in %ld lives\n", n, lives);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	self->turns = m->argc > 2 ? atoi(m->argv[2]) : 20;
	CkPrintf("insert %llu %d\n", (unsigned long long)seed, self->turns);
	hands = Hand_ckNew();
	self->walkers = Walker_ckNewEmpty();
	/* Calls may come first. Nobody but the elements themselves inserts after that; calls that
	 * find one between two lives are no mistake. */
	if (seed % 2)
		Hand_make_all(hands, self->walkers);
	Hand_send_all(hands, self->walkers, self->turns);
	if (seed % 2 == 0)
		Hand_make_all(hands, self->walkers);
	Walker_doneInserting(self->walkers);
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "insert.def.h"
