/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delete: in every round some elements destroy themselves or are destroyed from afar, some of the
 * missing ones are inserted again, and a reduction sums up or lists those that are left: to the main
 * chare, to one element, to all elements, by each of the routes. Some elements destroy themselves
 * where the others contribute. The arrays have few elements, so that some PEs have none or lose all;
 * they have extents, start and end, or a map. `delete [seed [rounds]]`.
 */
#include "check.h"

#include <stdlib.h>

#include "delete.decl.h"

enum { MOST = 13, ARRAYS = 16, BIG = 5000 };
enum step { CHANGE, INSERT, ADD, CHECK_ADD };
enum way { TO_MAIN, REAL, LIST, TO_ALL, BIG_TO_ALL, LIST_TO_ALL, TO_ONE, WAYS };

struct Main {
	CProxy_Cell cells;
	int n, array, round, rounds, one;
	bool sparse;
	enum step step;
	enum way way;
	bool alive[MOST];
	uint64_t random;
	long want_sum, want_n, n_results, n_told;
};
struct Cell { int way; };

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

static void give(Cell *self, int target)
{
	CProxy_Cell all = Cell_thisProxy(self);
	long i = Cell_thisIndex(self), v[2] = { i + 1, 1 }, *big;
	double d = (double)i / 3;

	switch ((enum way)self->way) {
	case TO_MAIN:
		CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_result(mainProxy));
		break;
	case REAL:
		CkContribute(self, &d, 1, CkReduction_sum_double, Main_cb_real(mainProxy));
		break;
	case LIST:
		CkContribute(self, v, sizeof *v, CkReduction_concat, Main_cb_list(mainProxy));
		break;
	case TO_ALL:
		CkContribute(self, v, 2, CkReduction_sum_long, Cell_cb_result_all(all));
		break;
	case BIG_TO_ALL:
		big = calloc(BIG, sizeof *big);
		big[0] = v[0];
		big[BIG - 1] = v[1];
		CkContribute(self, big, BIG, CkReduction_sum_long, Cell_cb_values_all(all));
		free(big);
		break;
	case LIST_TO_ALL:
		CkContribute(self, v, sizeof *v, CkReduction_concat, Cell_cb_values_all(all));
		break;
	default:
		CkContribute(self, v, 2, CkReduction_sum_long,
			     Cell_cb_result(Cell_at(all, target)));
	}
}

/* Where some die, those whose turn it is destroy themselves and do not contribute. */
void Cell_on_add(Cell *self, int round, int way, bool some_die, int target)
{
	int i = Cell_thisIndex(self);

	if (some_die && dies(round, i, 2)) {
		CkDestroy(self);
		return;
	}
	self->way = way;
	give(self, target);
	/* Its contribution counts. */
	if (some_die && dies(round, i, 3))
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

/* In the order of the indices. */
static long sum_up(int n, const long *v)
{
	long sum = 0;

	for (int i = 0; i < n; i++) {
		CHECK(i == 0 || v[i] > v[i - 1]);
		sum += v[i];
	}
	return sum;
}

void Cell_on_values(Cell *self, int n, const long *v)
{
	if (self->way == BIG_TO_ALL)
		Cell_on_result(self, v[0], v[n - 1]);
	else
		Cell_on_result(self, sum_up(n, v), n);
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
	/* No call goes to an element that does not exist; but a destroyed one may be inserted. */
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

/* One that will be there when the result comes, or -1. */
static int survivor(const Main *self, int round)
{
	for (int i = self->n - 1; i >= 0; i--)
		if (self->alive[i] && (round < 0 || !(dies(round, i, 2) || dies(round, i, 3))))
			return i;
	return -1;
}

static void add(Main *self)
{
	bool some_die = below(&self->random, 2);
	int round = self->array * 1000 + self->round;

	self->way = (enum way)below(&self->random, WAYS);
	self->want_sum = self->want_n = self->n_results = self->n_told = 0;
	self->one = survivor(self, some_die ? round : -1);
	if (self->way == TO_ONE && self->one < 0)
		self->way = TO_MAIN;
	Cell_add_all(self->cells, round, self->way, some_die, self->one);
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
	if (self->way >= TO_ALL) {
		long n = self->way == TO_ONE ? 1 : living(self);

		CHECK_EQ(self->n_told, self->want_n ? n : 0);
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

void Main_on_list(Main *self, int n, const long *v) { Main_on_result(self, sum_up(n, v), n); }

void Main_on_told(Main *self, int n) { self->n_told += n; }

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	self->rounds = m->argc > 2 ? atoi(m->argv[2]) : 8;
	CkPrintf("delete %llu %d\n", (unsigned long long)seed, self->rounds);
	self->random = seed;
	new_array(self);
	CkStartQD(Main_cb_next(mainProxy));
}

#include "delete.def.h"
