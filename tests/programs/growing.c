/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growing: one reduction follows the other, while elements of the array are inserted on random PEs,
 * destroy themselves and are inserted again. Every sum arrives, and when the changes are over, each sum
 * has every element once. Before that, arrays that are made at once say so when all their elements are
 * there. `growing [seed]`.
 */
#include "check.h"

#include <stdlib.h>

#include "growing.decl.h"

enum { GROWN = 7, FIXED = 11, CHANGES = 60, MOST_ROUNDS = 100000, ARRAYS = 4 };

struct Main { int array, rounds, right; bool fixed_done; CProxy_Plain plain; };
struct Free { uint64_t random; int life; };
struct Fixed { uint64_t random; int right; };
struct Plain { int unused; };
struct Hand { uint64_t random; int n_grown, n_made; bool still; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)(*random >> 33) % n;
}

static int corner_map(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return (i.v[0] * 5 + i.v[1] * 3 + i.v[2] + 100) % n_pes;
}

void register_maps(void) { CkRegisterMap("corner", corner_map); }

static Hand *hand(void) { return Hand_ckLocalBranch(hands); }

/* ---- elements that live anywhere --------------------------------------------------------------------- */

static void give(Free *self)
{
	CkIndex2D i = Free_thisIndex(self);
	double v[2] = { 1, i.x * 100 + i.y };

	CkContribute(self, v, 2, CkReduction_sum_double, Main_cb_total(mainProxy));
}

void Free_on_new(Free *self, int life)
{
	CkIndex2D i = Free_thisIndex(self);

	self->life = life;
	self->random = check_mix(seed + (uint64_t)(life * 10007 + i.x * 100 + i.y));
	give(self);
}

void Free_on_next(Free *self)
{
	CProxyElement_Free me = Free_thisElement(self);
	bool late = below(&self->random, 2);

	if (hand()->still || below(&self->random, 6)) {
		give(self);
		return;
	}
	/* Its contribution counts, or the reduction does not wait for it. */
	if (late)
		give(self);
	CkDestroy(self);
	Free_insert(me, below(&self->random, CkNumPes() + 1) - 1, self->life + 1);
}

/* ---- elements that live at home ------------------------------------------------------------------------- */

static void give_fixed(Fixed *self)
{
	double v[2] = { 1, 0.5 };

	CkContribute(self, v, 2, CkReduction_sum_double, Fixed_cb_sum_all(Fixed_thisProxy(self)));
}

void Fixed_on_new(Fixed *self)
{
	self->random = check_mix(seed + (uint64_t)(Fixed_thisIndex(self) + 1000 * hand()->n_made++));
	give_fixed(self);
}

void Fixed_on_next(Fixed *self)
{
	bool late = below(&self->random, 2);

	if (hand()->still || below(&self->random, 6)) {
		give_fixed(self);
		return;
	}
	if (late)
		give_fixed(self);
	Fixed_insert(Fixed_thisElement(self), CK_PE_ANY);
	CkDestroy(self);
}

/* A sum tells nobody to go on: a new element gets some sums that it has no part in. */
void Fixed_on_sum(Fixed *self, double n, double same)
{
	CHECK_EQ(n, 2 * same);
	self->right = n == FIXED && hand()->still ? self->right + 1 : 0;
	if (self->right == 3 && Fixed_thisIndex(self) == 0)
		CkCallbackSendTyped(Main_cb_fixed_total(mainProxy), CK_DOUBLE, &n, 1);
}

/* ---- every PE --------------------------------------------------------------------------------------------- */

void Plain_on_new(Plain *self, int far) { (void)self; (void)far; }
void Hand_on_new(Hand *self) { self->random = check_mix(seed + (uint64_t)CkMyPe()); }
void Hand_on_still(Hand *self) { self->still = true; }

void Hand_on_grow(Hand *self, int n)
{
	Free_insert(Free_at(frees, CkMyPe(), self->n_grown++), below(&self->random, CkNumPes()), 0);
	if (n > 1)
		Hand_grow(Hand_thisElement(self), n - 1);
}

void Hand_on_count(Hand *self, CProxy_Plain a)
{
	const Plain *p = NULL;
	long n = 0;

	while ((p = Plain_nextLocal(a, p)))
		n++;
	CkContribute(self, &n, 1, CkReduction_sum_long, Main_cb_there(mainProxy));
}

/* ---- main ---------------------------------------------------------------------------------------------------- */

static void make_plain(Main *self)
{
	CkCallback cb = Main_cb_ready(mainProxy);
	CkArrayOptions o = { .ready = &cb };

	if (self->array % 2)
		o = (CkArrayOptions){ .ready = &cb, .start = { -1, 0, 2 }, .end = { 4, 3, 9 },
				      .step = { 2, 1, 3 } };
	else
		o.dims = CkDims(3, 3, 3);
	if (self->array / 2)
		o.map = "corner";
	self->plain = Plain_ckNew_opt(&o, 7);
}

/* No PE has to wait before it counts. */
void Main_on_ready(Main *self) { Hand_count_all(hands, self->plain); }

void Main_on_there(Main *self, long n)
{
	CHECK_EQ(n, 27);
	if (++self->array < ARRAYS) {
		make_plain(self);
		return;
	}
	Hand_grow_all(hands, GROWN);
}

void Main_on_fixed_total(Main *self, double n)
{
	CHECK_EQ(n, FIXED);
	self->fixed_done = true;
}

void Main_on_total(Main *self, double n, double sum)
{
	int pes = CkNumPes(), all = GROWN * pes;
	double right = GROWN * 100.0 * pes * (pes - 1) / 2 + pes * (GROWN * (GROWN - 1) / 2);

	if (++self->rounds == CHANGES)
		Hand_still_all(hands);
	CHECK(self->rounds < MOST_ROUNDS);
	/* One that has moved may be in a sum twice, or not at all. */
	self->right = n == all && sum == right ? self->right + 1 : 0;
	if (self->right >= 3 && self->rounds > CHANGES && self->fixed_done) {
		CkExit(0);
		return;
	}
	Free_next_all(frees);
	Fixed_next_all(fixeds);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("growing %llu\n", (unsigned long long)seed);
	hands = Hand_ckNew();
	frees = Free_ckNewEmpty();
	fixeds = Fixed_ckNew(CkDims(FIXED));
	make_plain(self);
}

#include "growing.def.h"
