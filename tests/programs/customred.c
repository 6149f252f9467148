/* SPDX-License-Identifier: Apache-2.0 */
/*
 * customred: reducers that the program defines, over arrays of several sizes and over a group, with
 * results for the main chare and for all contributors:
 *
 *	largest   values of a struct: the largest number and who has it
 *	matrix    products of 2 x 2 matrices, which do not commute: PEs of neighbours (default
 *	          map, groups) exchange them and must combine them in index order
 *	merge     sorted lists of numbers of any length, merged; n messages at a time
 *	count     streamable: two messages at a time, a sum in place
 *	longest   streamable, of values
 */
#include "customred.h"
#include "check.h"

#include <stdlib.h>

#include "customred.decl.h"

enum { SEED = 4711 };
static const int sizes[] = { 1, 2, 7, 40 };
enum { N_SIZES = sizeof sizes / sizeof *sizes, PER_ARRAY = 4 + 1 };

struct Main { int phase, n, n_in; };
struct Elem { int n, n_in; };
struct Member { int unused; };

/* ---- reducers --------------------------------------------------------------------------------- */

static void largest(void *acc_, const void *in_, size_t n)
{
	struct located *acc = acc_;
	const struct located *in = in_;

	for (size_t i = 0; i < n; i++)
		if (in[i].value > acc[i].value ||
		    (in[i].value == acc[i].value && in[i].where < acc[i].where))
			acc[i] = in[i];
}

/* Upper triangular, 1 at both ends of the diagonal: whole numbers, exact. (a b; 0 c) */
struct matrix { double a, b, c; };

static void multiply(void *acc_, const void *in_, size_t n)
{
	struct matrix *acc = acc_;
	const struct matrix *in = in_;

	for (size_t i = 0; i < n; i++)
		acc[i] = (struct matrix){ acc[i].a * in[i].a,
					  acc[i].a * in[i].b + acc[i].b * in[i].c,
					  acc[i].c * in[i].c };
}

static void longest(void *acc_, const void *in_, size_t n)
{
	short *acc = acc_;
	const short *in = in_;

	for (size_t i = 0; i < n; i++)
		acc[i] = acc[i] > in[i] ? acc[i] : in[i];
}

static CkReductionMsg *merge(int n, CkReductionMsg **msgs)
{
	size_t bytes = 0;

	CHECK(n > 1);
	for (int i = 0; i < n; i++)
		bytes += msgs[i]->bytes;
	CkReductionMsg *m = CkReductionMsg_buildNew(bytes, NULL);
	int *to = (int *)(m + 1), *end = to;

	for (int i = 0; i < n; i++) {
		const int *v = CkReductionMsg_data(msgs[i]);

		for (size_t k = 0; k < msgs[i]->bytes / sizeof *v; k++) {
			int *at = end++;

			for (; at > to && at[-1] > v[k]; at--)
				*at = at[-1];
			*at = v[k];
		}
	}
	return m;
}

/* Changes one in place, and makes it shorter: the second long says how often. */
static CkReductionMsg *count(int n, CkReductionMsg **msgs)
{
	long *acc = (long *)(msgs[1] + 1);

	CHECK_EQ(n, 2);
	*acc += *(const long *)CkReductionMsg_data(msgs[0]);
	msgs[1]->bytes = sizeof *acc;
	return msgs[1];
}

void register_all(void)
{
	static const struct matrix one = { 1, 0, 1 };

	CkRegisterValueReducer("largest", sizeof(struct located), largest, NULL, false);
	CkRegisterValueReducer("matrix", sizeof(struct matrix), multiply, &one, false);
	CkRegisterReducer("merge", merge, false);
	CkRegisterReducer("count", count, true);
	CkRegisterValueReducer("longest", sizeof(short), longest, NULL, true);
}

/* ---- what is contributed, and what must come out ---------------------------------------------- */

static double value(int e, int j) { return (double)(check_mix((uint64_t)(SEED + e * 10 + j)) % 50); }

static struct matrix matrix(int e)
{
	return (struct matrix){ e % 3 ? 1 : 2, e + 1, e % 4 ? -1 : 1 };
}

static void check_largest(const CkReductionMsg *m, int n)
{
	const struct located *v = CkReductionMsg_data(m);

	CHECK(m->type == CK_BYTE && m->count == 3 && m->bytes == 3 * sizeof *v);
	for (int j = 0; j < 3; j++) {
		int best = 0;

		for (int e = 1; e < n; e++)
			if (value(e, j) > value(best, j))
				best = e;
		CHECK_EQ(v[j].where, best);
		CHECK(v[j].value == value(best, j));
	}
}

static void check_matrix(int count_, const double *v, int n)
{
	struct matrix m = matrix(0);

	CHECK_EQ(count_, 3);
	for (int e = 1; e < n; e++) {
		struct matrix next = matrix(e);

		multiply(&m, &next, 1);
	}
	CHECK(v[0] == m.a && v[1] == m.b && v[2] == m.c);
}

static void check_merged(const CkReductionMsg *m, int n)
{
	const int *v = CkReductionMsg_data(m);
	int total = 0, k = 0;

	for (int e = 0; e < n; e++)
		total += e % 5;
	CHECK_EQ(m->bytes, (size_t)total * sizeof *v);
	CHECK_EQ(m->count, m->bytes);
	/* Element e gave e, e + 100, ... e % 5 of them. */
	for (int i = 0; i < 5; i++)
		for (int e = 0; e < n; e++)
			if (i < e % 5)
				CHECK_EQ(v[k++], e + 100 * i);
}

/* ---- elements ----------------------------------------------------------------------------------- */

static void contribute_matrix(void *self, int e, CkCallback cb)
{
	struct matrix m = matrix(e);

	CkContribute(self, &m, 1, CkReducer("matrix"), cb);
}

void Elem_on_new(Elem *self, int n) { self->n = n; }

void Elem_on_go(Elem *self, int delay)
{
	CProxy_Elem all = Elem_thisProxy(self);
	int e = Elem_thisIndex(self), list[5];
	struct located l[3];
	long two[2] = { 1, e };
	short s[2] = { (short)e, (short)-e };

	if (delay) {
		Elem_go(Elem_thisElement(self), e % 3 ? 0 : delay - 1);
		return;
	}
	for (int j = 0; j < 3; j++)
		l[j] = (struct located){ value(e, j), e };
	for (int i = 0; i < e % 5; i++)
		list[i] = e + 100 * i;
	CkContribute(self, l, 3, CkReducer("largest"), Main_cb_largest(mainProxy));
	CkContribute(self, l, 3, CkReducer("largest"), Elem_cb_largest_all(all));
	contribute_matrix(self, e, Elem_cb_matrix_all(all));
	CkContribute(self, list, (size_t)(e % 5) * sizeof *list, CkReducer("merge"),
		     Main_cb_merged(mainProxy));
	CkContribute(self, list, (size_t)(e % 5) * sizeof *list, CkReducer("merge"),
		     Elem_cb_merged(Elem_at(all, self->n - 1)));
	CkContribute(self, two, self->n > 1 ? sizeof two : sizeof *two, CkReducer("count"),
		     Main_cb_count(mainProxy));
	CkContribute(self, s, 2, CkReducer("longest"), Main_cb_longest(mainProxy));
}

static void next_result(Elem *self)
{
	if (++self->n_in == 2 + (Elem_thisIndex(self) == self->n - 1))
		CkContributeBarrier(self, Main_cb_over(mainProxy));
}

void Elem_on_largest(Elem *self, const CkReductionMsg *m)
{
	check_largest(m, self->n);
	next_result(self);
}

void Elem_on_matrix(Elem *self, int n, const double *v)
{
	check_matrix(n, v, self->n);
	next_result(self);
}

void Elem_on_merged(Elem *self, const CkReductionMsg *m)
{
	check_merged(m, self->n);
	next_result(self);
}

/* ---- a group ------------------------------------------------------------------------------------- */

void Member_on_new(Member *self) { (void)self; }

void Member_on_go(Member *self)
{
	contribute_matrix(self, CkMyPe(), Member_cb_matrix_all(Member_thisProxy(self)));
}

void Member_on_matrix(Member *self, int n, const double *v)
{
	check_matrix(n, v, CkNumPes());
	CkContributeBarrier(self, Main_cb_over(mainProxy));
}

/* ---- main ----------------------------------------------------------------------------------------- */

static void start(Main *self)
{
	self->n_in = 0;
	if (self->phase == N_SIZES) {
		Member_go_all(Member_ckNew());
		return;
	}
	self->n = sizes[self->phase];
	Elem_go_all(Elem_ckNew(CkDims(self->n), self->n), 100);
}

static void came(Main *self)
{
	if (++self->n_in < PER_ARRAY)
		return;
	self->phase++;
	start(self);
}

void Main_on_largest(Main *self, const CkReductionMsg *m)
{
	check_largest(m, self->n);
	came(self);
}

void Main_on_merged(Main *self, const CkReductionMsg *m)
{
	check_merged(m, self->n);
	came(self);
}

void Main_on_count(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 1);
	CHECK_EQ(v[0], self->n);
	came(self);
}

void Main_on_longest(Main *self, const CkReductionMsg *m)
{
	const short *v = CkReductionMsg_data(m);

	CHECK(m->count == 2 && v[0] == self->n - 1 && v[1] == 0);
	came(self);
}

void Main_on_over(Main *self)
{
	if (self->phase < N_SIZES) {
		came(self);
		return;
	}
	CkPrintf("customred: %d arrays and a group on %d PEs\n", N_SIZES, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	start(self);
}

#include "customred.def.h"
