/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delete: in every round some elements destroy themselves or are destroyed from afar, some of the
 * missing are inserted again, and what is left is summed up: to main, to main as a sum of doubles,
 * to all elements, or by elements some of which destroy themselves where the others contribute.
 * Arrays of a few elements, so that PEs have none, or lose all; with extents, with start and end,
 * with a map. `delete [seed [rounds]]`.
 */
#include "check.h"

#include <stdlib.h>

#include "delete.decl.h"

enum { MOST = 13, ARRAYS = 12 };
enum step { CHANGE, INSERT, ADD, CHECK_ADD };
enum way { TO_MAIN, REAL, TO_ALL, WAYS };

struct Main {
	CProxy_Cell cells;
	int n, array, round, rounds;
	bool sparse;
	enum step step;
	enum way way;
	bool alive[MOST];
	uint64_t random;
	long want_sum, want_n, n_results, n_told;
};
struct Cell { int n_changes; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)(*random >> 33) % n;
}

static int last_map(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return n_pes - 1 - (i.v[0] + 100) / 2 % n_pes;
}

void register_maps(void) { CkRegisterMap("last", last_map); }

/* What everybody knows without asking. */
static bool dies(int round, int i, int salt)
{
	return check_mix(seed + (uint64_t)(round * 1000 + i * 10 + salt)) % 4 == 0;
}

/* ---- elements ------------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_change(Cell *self, int round)
{
	int i = Cell_thisIndex(self);

	if (dies(round, i, 0))
		CkDestroy(self);
	else if (dies(round, i, 1))
		Cell_ckDestroy(Cell_thisElement(self));
}

/* Where the first die, those whose turn it is destroy themselves and do not contribute. */
void Cell_on_add(Cell *self, int round, int way, bool some_die)
{
	long i = Cell_thisIndex(self), v[2] = { i + 1, 1 };
	double d = (double)i / 3;

	if (some_die && dies(round, (int)i, 2)) {
		CkDestroy(self);
		return;
	}
	if (way == TO_MAIN)
		CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_result(mainProxy));
	else if (way == REAL)
		CkContribute(self, &d, 1, CkReduction_sum_double, Main_cb_real(mainProxy));
	else
		CkContribute(self, v, 2, CkReduction_sum_long,
			     Cell_cb_result_all(Cell_thisProxy(self)));
	/* What it contributed counts. */
	if (some_die && dies(round, (int)i, 3))
		CkDestroy(self);
}

void Cell_on_result(Cell *self, long sum, long n)
{
	int one = 1;
	long v[2] = { sum, n };

	(void)self;
	CkCallbackSendTyped(Main_cb_told(mainProxy), CK_INT, &one, 1);
	CkCallbackSendTyped(Main_cb_result(mainProxy), CK_LONG, v, 2);
}

/* ---- main: step by step, with quiescence between ----------------------------------------------------- */

static void new_array(Main *self)
{
	CkArrayOptions o = { .map = self->array % 3 == 2 ? "last" : NULL };

	self->n = 1 + below(&self->random, MOST);
	self->sparse = self->array % 2;
	if (self->sparse)
		o.end[0] = self->n;
	else
		o.dims = CkDims(self->n);
	self->cells = Cell_ckNew_opt(&o);
	for (int i = 0; i < self->n; i++)
		self->alive[i] = true;
	self->round = 0;
	/* Nobody is called who is not there; but who was destroyed may be inserted. */
}

static void insert_some(Main *self)
{
	for (int i = 0; i < self->n; i++) {
		if (self->alive[i] || below(&self->random, 2))
			continue;
		Cell_insert(Cell_at(self->cells, i),
			    self->sparse ? below(&self->random, CkNumPes()) : CK_PE_ANY);
		self->alive[i] = true;
	}
}

static void add(Main *self)
{
	bool some_die = below(&self->random, 2);
	int round = self->array * 1000 + self->round;

	self->way = (enum way)below(&self->random, WAYS);
	self->want_sum = self->want_n = self->n_results = self->n_told = 0;
	Cell_add_all(self->cells, round, self->way, some_die);
	for (int i = 0; i < self->n; i++) {
		if (some_die && dies(round, i, 2))
			self->alive[i] = false;
		if (!self->alive[i])
			continue;
		self->want_sum += i + 1;
		self->want_n++;
		if (some_die && dies(round, i, 3))
			self->alive[i] = false;
	}
}

static long living(const Main *self)
{
	long n = 0;

	for (int i = 0; i < self->n; i++)
		n += self->alive[i];
	return n;
}

static void check_add(Main *self)
{
	if (self->way == TO_ALL) {
		CHECK_EQ(self->n_told, self->want_n ? living(self) : 0);
		CHECK_EQ(self->n_results, self->n_told);
	} else {
		CHECK_EQ(self->n_results, self->want_n > 0);
	}
}

static void change(Main *self)
{
	int round = self->array * 1000 + self->round;

	Cell_change_all(self->cells, round);
	for (int i = 0; i < self->n; i++)
		if (dies(round, i, 0) || dies(round, i, 1))
			self->alive[i] = false;
}

static bool next_round(Main *self)
{
	if (++self->round < self->rounds)
		return true;
	if (++self->array == ARRAYS)
		return false;
	new_array(self);
	return true;
}

void Main_on_next(Main *self)
{
	CkStartQD(Main_cb_next(mainProxy));
	switch (self->step) {
	case CHANGE:
		change(self);
		self->step = INSERT;
		break;
	case INSERT:
		insert_some(self);
		self->step = ADD;
		break;
	case ADD:
		add(self);
		self->step = CHECK_ADD;
		break;
	case CHECK_ADD:
		check_add(self);
		self->step = CHANGE;
		if (!next_round(self))
			CkExit(0);
	}
}

void Main_on_result(Main *self, long sum, long n)
{
	CHECK_EQ(n, self->want_n);
	CHECK_EQ(sum, self->want_sum);
	self->n_results++;
}

void Main_on_real(Main *self, double sum)
{
	double off = sum - (double)(self->want_sum - self->want_n) / 3;

	CHECK(off < 1e-9 && off > -1e-9);
	self->n_results++;
}

void Main_on_told(Main *self, int n) { self->n_told += n; }

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = m->argc > 1 ? strtoull(m->argv[1], NULL, 10) : (uint64_t)(CkWallTimer() * 1e9);
	self->rounds = m->argc > 2 ? atoi(m->argv[2]) : 8;
	CkPrintf("delete %llu %d\n", (unsigned long long)seed, self->rounds);
	self->random = seed;
	new_array(self);
	CkStartQD(Main_cb_next(mainProxy));
}

#include "delete.def.h"
