/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demand: all PEs call elements that do not exist. [createhere] and [createhome] make each of them
 * once, and calls without these attributes wait until somebody has made it. Every PE finds all elements
 * that live there, and nothing else, by going from one to the next. Elements that are inserted while
 * broadcasts are under way get each broadcast at most once and in order, and none is missing after the
 * first that they got. `demand [seed]`.
 */
#include "check.h"

#include <stdlib.h>

#include "demand.decl.h"

enum { N = 5, TURNS = 12, TICKS = 20, GROWN = 6 };

struct Main { int step; };
struct Here { int *next, n, n_later; };
struct Home { int *next, n, n_later; };
struct Grows { int last, n; };
struct Hand { int here[N * N], home[N * N]; uint64_t random; int n_grown; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)(*random >> 33) % n;
}

static int skew_map(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return (i.v[0] + 2 * i.v[1] + i.v[2] + 1000) % n_pes;
}

void register_maps(void) { CkRegisterMap("skew", skew_map); }

/* ---- elements ---------------------------------------------------------------------------------- */

static void hit(int **next, int *n, int from, int no)
{
	if (!*next)
		*next = calloc((size_t)CkNumPes(), sizeof **next);
	CHECK_EQ(no, (*next)[from]);
	(*next)[from]++;
	++*n;
}

static void contribute(void *self, long n, long wrong)
{
	long v[3] = { n, 1, wrong };

	CkContribute(self, v, 3, CkReduction_sum_long, Main_cb_sums(mainProxy));
}

void Here_on_new(Here *self) { CHECK_EQ(self->n, 0); }
void Here_on_hit(Here *self, int from, int no) { hit(&self->next, &self->n, from, no); }
void Here_on_later(Here *self, int from) { (void)from; self->n_later++; }
void Here_on_count(Here *self)
{
	contribute(self, self->n + self->n_later, 0);
	free(self->next);
	self->next = NULL;
}

void Home_on_new(Home *self)
{
	CkIndex3D i = Home_thisIndex(self);

	CHECK_EQ(CkMyPe(), skew_map(Home_index(i.x, i.y, i.z), CkDims(1), CkNumPes()));
}
void Home_on_hit(Home *self, int from, int no) { hit(&self->next, &self->n, from, no); }
void Home_on_later(Home *self, int from) { (void)from; self->n_later++; }
void Home_on_count(Home *self)
{
	contribute(self, self->n + self->n_later, 0);
	free(self->next);
	self->next = NULL;
}

void Grows_on_new(Grows *self) { self->last = -1; }
void Grows_on_tick(Grows *self, int no)
{
	if (self->n++)
		CHECK_EQ(no, self->last + 1);
	self->last = no;
}
void Grows_on_count(Grows *self, int last)
{
	contribute(self, 0, self->n && self->last != last);
}

/* ---- every PE ------------------------------------------------------------------------------------ */

void Hand_on_new(Hand *self) { self->random = check_mix(seed + (uint64_t)CkMyPe()); }

void Hand_on_hit(Hand *self, int turns)
{
	for (int k = 0; k < 4; k++) {
		int i = below(&self->random, N * N), x = i / N - 2, y = i % N;

		Here_hit(Here_at(here, x, y), CkMyPe(), self->here[i]++);
		i = below(&self->random, N * N);
		x = i / N;
		y = i % N;
		Home_hit(Home_at(home, x, y, 0), CkMyPe(), self->home[i]++);
		Home_later(Home_at(home, x, y, 0), CkMyPe());
		if (turns == TURNS)
			Here_later(Here_at(here, k % N - 2, k), CkMyPe());
	}
	if (turns > 1)
		Hand_hit(Hand_thisElement(self), turns - 1);
}

static void walk_here(void)
{
	const Here *h = NULL;
	int n = 0, m = 0;

	while ((h = Here_nextLocal(here, h))) {
		CHECK(Here_ckLocal(Here_thisElement(h)) == h);
		n++;
	}
	for (int i = 0; i < N * N; i++)
		m += Here_ckLocal(Here_at(here, i / N - 2, i % N)) != NULL;
	CHECK_EQ(n, m);
}

static void walk_home(void)
{
	const Home *h = NULL;
	int n = 0, m = 0;

	while ((h = Home_nextLocal(home, h)))
		n++;
	for (int i = 0; i < N * N; i++)
		m += Home_ckLocal(Home_at(home, i / N, i % N, 0)) != NULL;
	CHECK_EQ(n, m);
}

void Hand_on_walk(Hand *self)
{
	(void)self;
	walk_here();
	walk_home();
}

void Hand_on_grow(Hand *self, int n)
{
	Grows_insert(Grows_at(grows, 100 * CkMyPe() + self->n_grown++),
		     below(&self->random, CkNumPes() + 1) - 1);
	if (n > 1)
		Hand_grow(Hand_thisElement(self), n - 1);
}

/* ---- main ----------------------------------------------------------------------------------------- */

void Main_on_next(Main *self)
{
	switch (self->step++) {
	case 0: /* a call that waits for an element that nobody makes does not hold up quiescence */
		for (int k = 0; k < 4; k++)
			Here_hit(Here_at(here, k % N - 2, k), 0, Hand_ckLocalBranch(hands)->here[
					 (k % N) * N + k]++);
		Hand_walk_all(hands);
		CkStartQD(Main_cb_next(mainProxy));
		break;
	case 1:
		Here_count_all(here);
		break;
	case 2:
		Hand_grow_all(hands, GROWN);
		for (int no = 0; no < TICKS; no++)
			Grows_tick_all(grows, no);
		CkStartQD(Main_cb_next(mainProxy));
		break;
	case 3:
		Grows_count_all(grows, TICKS - 1);
	}
}

void Main_on_sums(Main *self, long n, long elements, long wrong)
{
	CHECK_EQ(wrong, 0);
	if (self->step == 2) {
		CHECK_EQ(n, 4 + (TURNS * 4 + 4) * CkNumPes());
		self->step = 10;
		Home_count_all(home);
	} else if (self->step == 10) {
		CHECK_EQ(n, TURNS * 8 * CkNumPes());
		self->step = 2;
		Main_next(mainProxy);
	} else {
		CHECK_EQ(elements, GROWN * CkNumPes());
		CkExit(0);
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("demand %llu\n", (unsigned long long)seed);
	hands = Hand_ckNew();
	here = Here_ckNewEmpty();
	home = Home_ckNewEmpty_opt(&(CkArrayOptions){ .map = "skew" });
	grows = Grows_ckNewEmpty();
	Hand_hit_all(hands, TURNS);
	CkStartQD(Main_cb_next(mainProxy));
}

#include "demand.def.h"
