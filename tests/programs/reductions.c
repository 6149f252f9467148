/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reductions: operations of four types against a serial answer (reducers has all types), on arrays
 * smaller and larger than the number of PEs. Each element contributes to all reductions of an array in
 * one go, some elements much later than others, so that many reductions are open at a time. The k-th
 * operation reduces k values, which tells the results apart. The program prints floating-point sums in
 * full; they must be equal in equal runs, and within one run.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "reductions.decl.h"

enum { ROUNDS = 3, DELAY = 100, N_OPS = CkReduction_bitvec_or_int };
static const int sizes[] = { 1, 2, 3, 5, 16, 40 };
enum { N_SIZES = sizeof sizes / sizeof *sizes };
enum { PER_ARRAY = ROUNDS * N_OPS + 6 };

struct Main {
	int phase, n, map, n_in;
	double sums[ROUNDS][32];
	int rounds_in;
	double shown;
};
struct Elem { int n, n_in; bool went; };
struct Member { int unused; };

static int last_map(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return n_pes - 1 - i.v[0] / 2 % n_pes;
}

void register_maps(void)
{
	CkRegisterMap("last", last_map);
}

/* ---- what is contributed, and what must come out --------------------------------------- */

static int int_value(int elem, int j, CkReduction op)
{
	if (op >= CkReduction_product_int && op <= CkReduction_product_double)
		return elem % 8 == j % 8 ? 2 : elem % 5 == 3 ? -1 : 1;
	if (op == CkReduction_logical_and_int)
		return j % 2 || elem % 3 ? elem + 1 : 0;
	if (op == CkReduction_logical_or_int)
		return j % 2 && elem == 0 ? -1 : 0;
	return (int)(check_mix((uint64_t)(elem * 100 + j)) % 2000) - 1000;
}

static double real_value(int elem, int j, CkReduction op)
{
	double x = int_value(elem, j, op);

	return op == CkReduction_sum_double || op == CkReduction_sum_float ? x / 7 : x;
}

static int serial_int(int n, int j, CkReduction op)
{
	int acc = int_value(0, j, op);

	for (int e = 1; e < n; e++) {
		int x = int_value(e, j, op);

		switch (op) {
		case CkReduction_sum_int: case CkReduction_sum_long: acc += x; break;
		case CkReduction_product_int: case CkReduction_product_long: acc *= x; break;
		case CkReduction_max_int: case CkReduction_max_long: acc = acc > x ? acc : x; break;
		case CkReduction_min_int: case CkReduction_min_long: acc = acc < x ? acc : x; break;
		case CkReduction_logical_and_int: acc = acc && x; break;
		case CkReduction_logical_or_int: acc = acc || x; break;
		case CkReduction_bitvec_and_int: acc &= x; break;
		case CkReduction_bitvec_or_int: acc |= x; break;
		default: CHECK(!"an operation on integers");
		}
	}
	return acc;
}

static double serial_real(int n, int j, CkReduction op)
{
	double acc = real_value(0, j, op);

	for (int e = 1; e < n; e++) {
		double x = real_value(e, j, op);

		switch (op) {
		case CkReduction_sum_float: case CkReduction_sum_double: acc += x; break;
		case CkReduction_product_float: case CkReduction_product_double: acc *= x; break;
		case CkReduction_max_float: case CkReduction_max_double:
			acc = acc > x ? acc : x;
			break;
		case CkReduction_min_float: case CkReduction_min_double:
			acc = acc < x ? acc : x;
			break;
		default: CHECK(!"an operation on reals");
		}
	}
	return acc;
}

enum type { INTS, LONGS, FLOATS, DOUBLES };

static enum type type_of(CkReduction op)
{
	return op >= CkReduction_logical_and_int ? INTS : (enum type)((op - 1) % 4);
}

/* ---- elements --------------------------------------------------------------------------- */

void Elem_on_new(Elem *self, int n)
{
	self->n = n;
}

static void contribute_op(Elem *self, CkReduction op)
{
	int e = Elem_thisIndex(self), iv[N_OPS];
	long lv[N_OPS];
	float fv[N_OPS];
	double dv[N_OPS];
	size_t n = (size_t)op;

	for (int j = 0; j < (int)n; j++) {
		lv[j] = iv[j] = int_value(e, j, op);
		dv[j] = real_value(e, j, op);
		fv[j] = (float)dv[j];
	}
	switch (type_of(op)) {
	case INTS: CkContribute(self, iv, n, op, Main_cb_ints(mainProxy)); break;
	case LONGS: CkContribute(self, lv, n, op, Main_cb_longs(mainProxy)); break;
	case FLOATS: CkContribute(self, fv, n, op, Main_cb_floats(mainProxy)); break;
	case DOUBLES: CkContribute(self, dv, n, op, Main_cb_doubles(mainProxy)); break;
	}
}

void Elem_on_go(Elem *self, int delay, CkCallback function)
{
	int e = Elem_thisIndex(self), one = 1;
	long l = e;
	double d[2] = { 1, e };

	if (delay) {
		Elem_go(Elem_thisElement(self), e % 3 ? 0 : delay - 1, function);
		return;
	}
	self->went = true;
	for (int round = 0; round < ROUNDS; round++)
		for (int op = 1; op <= N_OPS; op++)
			contribute_op(self, (CkReduction)op);
	CkContribute(self, &one, 1, CkReduction_sum_int, Main_cb_one(mainProxy));
	CkContribute(self, d, 2, CkReduction_max_double, Main_cb_two(mainProxy));
	CkContribute(self, &l, 1, CkReduction_sum_long, Main_cb_message(mainProxy));
	CkContribute(self, &one, 1, CkReduction_sum_int, CkCallbackIgnore());
	CkContribute(self, &one, 1, CkReduction_sum_int, function);
	CkContributeBarrier(self, Main_cb_barrier(mainProxy));
	CkContribute(self, &l, 1, CkReduction_sum_long, Elem_cb_all_all(Elem_thisProxy(self)));
	CkContribute(self, d, 2, CkReduction_min_double,
		     Elem_cb_some(Elem_at(Elem_thisProxy(self), self->n - 1)));
}

static void next_of_array(Elem *self)
{
	int last = Elem_thisIndex(self) == self->n - 1;

	if (++self->n_in == 1 + last)
		CkContributeBarrier(self, Main_cb_over(mainProxy));
}

void Elem_on_all(Elem *self, long total)
{
	CHECK(self->went);
	CHECK_EQ(total, (long)self->n * (self->n - 1) / 2);
	next_of_array(self);
}

void Elem_on_some(Elem *self, int n, const double *v)
{
	CHECK_EQ(Elem_thisIndex(self), self->n - 1);
	CHECK(n == 2 && v[0] == 1 && v[1] == 0);
	next_of_array(self);
}

/* ---- results ----------------------------------------------------------------------------- */

static void start(Main *self);

/* `over` may overtake nothing of its own array but comes from another path: count all. */
static void got(Main *self)
{
	if (++self->n_in < PER_ARRAY)
		return;
	CHECK_EQ(self->n_in, PER_ARRAY);
	self->n_in = self->rounds_in = 0;
	self->phase++;
	start(self);
}

void Main_on_ints(Main *self, int n, const int *v)
{
	for (int j = 0; j < n; j++)
		CHECK_EQ(v[j], serial_int(self->n, j, (CkReduction)n));
	got(self);
}

void Main_on_longs(Main *self, const long *v, long n)
{
	for (int j = 0; j < n; j++)
		CHECK_EQ(v[j], serial_int(self->n, j, (CkReduction)n));
	got(self);
}

void Main_on_floats(Main *self, int n, const float *v)
{
	for (int j = 0; j < n; j++) {
		double s = serial_real(self->n, j, (CkReduction)n);

		CHECK(fabs(v[j] - s) <= (n == CkReduction_sum_float ? 1e-2 : 0));
	}
	got(self);
}

void Main_on_doubles(Main *self, int n, const double *v)
{
	for (int j = 0; j < n; j++) {
		double s = serial_real(self->n, j, (CkReduction)n);

		CHECK(fabs(v[j] - s) <= (n == CkReduction_sum_double ? 1e-10 : 0));
	}
	if (n == CkReduction_sum_double) {
		double *sums = self->sums[self->rounds_in++];

		memcpy(sums, v, (size_t)n * sizeof *v);
		CHECK(memcmp(sums, self->sums[0], (size_t)n * sizeof *v) == 0);
		self->shown += v[0] / 3;
	}
	got(self);
}

void Main_on_one(Main *self, int x)
{
	CHECK_EQ(x, self->n);
	got(self);
}

void Main_on_two(Main *self, double a, double b)
{
	CHECK(a == 1 && b == self->n - 1);
	got(self);
}

void Main_on_message(Main *self, const CkReductionMsg *m)
{
	CHECK(m->count == 1 && m->type == CK_LONG && m->bytes == sizeof(long));
	CHECK_EQ(*(const long *)CkReductionMsg_data(m), (long)self->n * (self->n - 1) / 2);
	got(self);
}

void Main_on_barrier(Main *self) { got(self); }

void Main_on_over(Main *self) { got(self); }

static void function(void *ctx, const CkReductionMsg *m)
{
	Main *self = ctx;

	CHECK_EQ(CkMyPe(), 0);
	CHECK_EQ(*(const int *)CkReductionMsg_data(m), self->n);
	got(self);
}

/* ---- groups ------------------------------------------------------------------------------- */

void Member_on_new(Member *self) { (void)self; }

void Member_on_go(Member *self)
{
	int pe = CkMyPe();
	double x = -pe;

	CkContribute(self, &pe, 1, CkReduction_sum_int, Main_cb_groupSum(mainProxy));
	CkContribute(self, &x, 1, CkReduction_min_double, Main_cb_groupMin(mainProxy));
}

void Main_on_groupSum(Main *self, int sum)
{
	(void)self;
	CHECK_EQ(sum, CkNumPes() * (CkNumPes() - 1) / 2);
}

void Main_on_groupMin(Main *self, double min)
{
	CHECK(min == 1 - CkNumPes());
	CkPrintf("reductions: %d arrays on %d PEs, sums %a\n", 2 * N_SIZES, CkNumPes(),
		 self->shown);
	CkExit(0);
}

/* ---- main --------------------------------------------------------------------------------- */

static void start(Main *self)
{
	CkArrayOptions o = { .dims = CkDims(1), .map = self->phase % 2 ? "last" : NULL };

	if (self->phase == 2 * N_SIZES) {
		Member_go_all(Member_ckNew());
		return;
	}
	self->n = sizes[self->phase / 2];
	o.dims = CkDims(self->n);
	Elem_go_all(Elem_ckNew_opt(&o, self->n), DELAY, CkCallbackFunction(function, self));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	start(self);
}

#include "reductions.def.h"
