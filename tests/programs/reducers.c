/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducers [SEED]: every built-in operation that works value by value, on every type, against a
 * serial answer computed in another way: whole numbers in 64 bits, cut to their type after each step.
 * Values are random over the whole range of the type, so that sums and products wrap. Each operation
 * goes over arrays smaller and larger than the number of PEs, over one with a map that scatters its
 * elements, and over a group; once to the main chare, once to all contributors. The k-th operation
 * combines k values, so that results cannot be confused.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "reducers.decl.h"

enum verb { SUM, PRODUCT, MAX, MIN, L_AND, L_OR, L_XOR, B_AND, B_OR, B_XOR };
static const struct op {
	CkReduction op;
	enum verb verb;
	CkDataType type;
} ops[] = {
#define NUMBER(t, data)                                                                  \
	{ CkReduction_sum_##t, SUM, data }, { CkReduction_product_##t, PRODUCT, data },  \
	{ CkReduction_max_##t, MAX, data }, { CkReduction_min_##t, MIN, data },
	NUMBER(char, CK_CHAR) NUMBER(short, CK_SHORT) NUMBER(int, CK_INT) NUMBER(long, CK_LONG)
	NUMBER(long_long, CK_LONGLONG) NUMBER(uchar, CK_UCHAR) NUMBER(ushort, CK_USHORT)
	NUMBER(uint, CK_UINT) NUMBER(ulong, CK_ULONG) NUMBER(ulong_long, CK_ULONGLONG)
	NUMBER(float, CK_FLOAT) NUMBER(double, CK_DOUBLE)
#define TRUTH(t, data)                                                                           \
	{ CkReduction_logical_and_##t, L_AND, data }, { CkReduction_logical_or_##t, L_OR, data }, \
	{ CkReduction_logical_xor_##t, L_XOR, data }, { CkReduction_bitvec_and_##t, B_AND, data }, \
	{ CkReduction_bitvec_or_##t, B_OR, data }, { CkReduction_bitvec_xor_##t, B_XOR, data },
	TRUTH(int, CK_INT) TRUTH(bool, CK_BOOL)
};
enum { N_OPS = sizeof ops / sizeof *ops };

static const struct { int n; const char *map; } arrays[] = {
	{ 1, NULL }, { 3, NULL }, { 23, NULL }, { 2, "scattered" }, { 17, "scattered" },
};
enum { N_ARRAYS = sizeof arrays / sizeof *arrays };

struct Main { int n, phase, results, passed; bool came[N_OPS]; };
struct Elem { int n, next; };
struct Member { int next; };

static int scattered(CkIndex i, CkArrayDims d, int n_pes)
{
	return (i.v[0] * 7 + d.n[0]) % n_pes;
}

void register_maps(void) { CkRegisterMap("scattered", scattered); }

/* ---- values of any type, as whole numbers or doubles -------------------------------------- */

static bool is_real(CkDataType t) { return t == CK_FLOAT || t == CK_DOUBLE; }

static bool is_unsigned(CkDataType t)
{
	return t == CK_UCHAR || t == CK_USHORT || t == CK_UINT || t == CK_ULONG ||
	       t == CK_ULONGLONG;
}

/* What remains of x in a variable of that type. */
static uint64_t cut(CkDataType t, uint64_t x)
{
	switch (t) {
	case CK_CHAR: return (uint64_t)(int64_t)(char)x;
	case CK_SHORT: return (uint64_t)(int64_t)(short)x;
	case CK_INT: return (uint64_t)(int64_t)(int)x;
	case CK_UCHAR: return (unsigned char)x;
	case CK_USHORT: return (unsigned short)x;
	case CK_UINT: return (unsigned)x;
	default: return x;
	}
}

static size_t size_of(CkDataType t)
{
	switch (t) {
	case CK_CHAR: case CK_UCHAR: case CK_BOOL: return 1;
	case CK_SHORT: case CK_USHORT: return 2;
	case CK_INT: case CK_UINT: case CK_FLOAT: return 4;
	default: return 8;
	}
}

static void store(CkDataType t, void *to, int j, uint64_t x, double d)
{
	float f = (float)d;
	const void *from = t == CK_DOUBLE ? (void *)&d : t == CK_FLOAT ? (void *)&f : (void *)&x;

	memcpy((char *)to + (size_t)j * size_of(t), from, size_of(t)); /* little-endian */
}

static uint64_t load(CkDataType t, const void *from, int j)
{
	uint64_t x = 0;

	memcpy(&x, (const char *)from + (size_t)j * size_of(t), size_of(t));
	return cut(t, x);
}

static double load_real(CkDataType t, const void *from, int j)
{
	return t == CK_FLOAT ? ((const float *)from)[j] : ((const double *)from)[j];
}

/* ---- what element e contributes as value j of an operation, and the serial answer ----------- */

static uint64_t whole(const struct op *o, int e, int j)
{
	uint64_t x = check_mix(seed + (uint64_t)(o->op * 1000003 + e * 101 + j));

	if (o->type == CK_BOOL)
		return o->verb == L_AND || o->verb == B_AND ? x % 8 > 0 : x % 2;
	/* Products of even numbers would soon be 0, and logical values all true. */
	if (o->verb == PRODUCT)
		x |= 1;
	if (o->verb >= L_AND && o->verb <= L_XOR && x % 4 == 0)
		x = 0;
	return cut(o->type, x);
}

static double real(const struct op *o, int e, int j)
{
	double x = (double)(check_mix(seed + (uint64_t)(o->op * 1000003 + e * 101 + j)) >> 11) /
		   (double)(1ll << 53);

	x = o->verb == PRODUCT ? x + 0.5 : x - 0.5;
	return o->type == CK_FLOAT ? (float)x : x;
}

static uint64_t meet(const struct op *o, uint64_t a, uint64_t b)
{
	bool less = is_unsigned(o->type) ? a < b : (int64_t)a < (int64_t)b;

	switch (o->verb) {
	case SUM: return cut(o->type, a + b);
	case PRODUCT: return cut(o->type, a * b);
	case MAX: return less ? b : a;
	case MIN: return less ? a : b;
	case L_AND: return a && b;
	case L_OR: return a || b;
	case L_XOR: return !a != !b;
	case B_AND: return a & b;
	case B_OR: return a | b;
	case B_XOR: return a ^ b;
	}
	return 0;
}

static double meet_real(const struct op *o, double a, double b)
{
	return o->verb == SUM ? a + b : o->verb == PRODUCT ? a * b
	       : (o->verb == MAX) == (a > b) ? a : b;
}

static void check_value(const struct op *o, const void *data, int j, int n)
{
	uint64_t is, should = whole(o, 0, j);

	for (int e = 1; e < n && !is_real(o->type); e++)
		should = meet(o, should, whole(o, e, j));
	if (!is_real(o->type)) {
		is = load(o->type, data, j);
		if (is != should)
			CkAbort("op %d, value %d of %d elements: %#llx, not %#llx (seed %llu)",
				o->op, j, n, (unsigned long long)is, (unsigned long long)should,
				(unsigned long long)seed);
		return;
	}
	double r = load_real(o->type, data, j), s = real(o, 0, j);
	double most = o->verb >= MAX ? 0 : o->type == CK_FLOAT ? 1e-4 : 1e-12;

	for (int e = 1; e < n; e++)
		s = meet_real(o, s, real(o, e, j));
	if (fabs(r - s) > most * (1 + fabs(s)))
		CkAbort("op %d, value %d of %d elements: %.17g, not %.17g (seed %llu)", o->op, j,
			n, r, s, (unsigned long long)seed);
}

static void check_values(int k, const void *data, int n)
{
	for (int j = 0; j <= k; j++)
		check_value(&ops[k], data, j, n);
}

static void check_result(const CkReductionMsg *m, int k, int n)
{
	CHECK_EQ(m->type, ops[k].type);
	CHECK_EQ(m->count, k + 1);
	CHECK_EQ(m->bytes, (size_t)(k + 1) * size_of(ops[k].type));
	check_values(k, CkReductionMsg_data(m), n);
}

/* The entry method that takes values of a type. */
static CkCallback to_main(CkDataType type)
{
	switch (type) {
	case CK_CHAR: return Main_cb_chars(mainProxy);
	case CK_SHORT: return Main_cb_shorts(mainProxy);
	case CK_INT: return Main_cb_ints(mainProxy);
	case CK_LONG: return Main_cb_longs(mainProxy);
	case CK_LONGLONG: return Main_cb_longLongs(mainProxy);
	case CK_UCHAR: return Main_cb_uchars(mainProxy);
	case CK_USHORT: return Main_cb_ushorts(mainProxy);
	case CK_UINT: return Main_cb_uints(mainProxy);
	case CK_ULONG: return Main_cb_ulongs(mainProxy);
	case CK_ULONGLONG: return Main_cb_ulongLongs(mainProxy);
	case CK_FLOAT: return Main_cb_floats(mainProxy);
	case CK_DOUBLE: return Main_cb_doubles(mainProxy);
	case CK_BOOL: return Main_cb_bools(mainProxy);
	default: return CkCallbackIgnore();
	}
}

static void contribute(void *self, int e, CkCallback to_all)
{
	for (int k = 0; k < 2 * N_OPS; k++) {
		const struct op *o = &ops[k / 2];
		uint64_t v[N_OPS];

		for (int j = 0; j <= k / 2; j++)
			store(o->type, v, j, whole(o, e, j), real(o, e, j));
		CkContribute(self, v, (size_t)k / 2 + 1, o->op,
			     k % 2 ? to_all : to_main(o->type));
	}
}

/* ---- elements and members -------------------------------------------------------------------- */

void Elem_on_new(Elem *self, int n) { self->n = n; }

void Elem_on_go(Elem *self)
{
	contribute(self, Elem_thisIndex(self), Elem_cb_result_all(Elem_thisProxy(self)));
}

void Elem_on_result(Elem *self, const CkReductionMsg *m)
{
	check_result(m, self->next++, self->n);
	if (self->next == N_OPS)
		CkContributeBarrier(self, Main_cb_over(mainProxy));
}

void Member_on_new(Member *self) { (void)self; }

void Member_on_go(Member *self)
{
	contribute(self, CkMyPe(), Member_cb_result_all(Member_thisProxy(self)));
}

void Member_on_result(Member *self, const CkReductionMsg *m)
{
	check_result(m, self->next++, CkNumPes());
	if (self->next == N_OPS)
		CkContributeBarrier(self, Main_cb_over(mainProxy));
}

/* ---- main -------------------------------------------------------------------------------------- */

static void start(Main *self)
{
	int i = self->phase++;

	if (i == N_ARRAYS) {
		self->n = CkNumPes();
		Member_go_all(Member_ckNew());
	} else {
		CkArrayOptions o = { .dims = CkDims(arrays[i].n), .map = arrays[i].map };

		self->n = arrays[i].n;
		Elem_go_all(Elem_ckNew_opt(&o, self->n));
	}
}

static void passed(Main *self)
{
	if (self->results < N_OPS || !self->passed)
		return;
	self->results = self->passed = 0;
	memset(self->came, 0, sizeof self->came);
	if (self->phase <= N_ARRAYS) {
		start(self);
		return;
	}
	CkPrintf("reducers: %d operations, %d arrays and a group on %d PEs, seed %llu\n", N_OPS,
		 N_ARRAYS, CkNumPes(), (unsigned long long)seed);
	CkExit(0);
}

/* In any order, if the queue is randomised. */
static void came(Main *self, CkDataType type, int n, const void *v)
{
	CHECK(n > 0 && n <= N_OPS && ops[n - 1].type == type && !self->came[n - 1]);
	self->came[n - 1] = true;
	check_values(n - 1, v, self->n);
	self->results++;
	passed(self);
}

#define DEFINE_TARGET(entry, T, type) \
	void Main_on_##entry(Main *self, int n, const T *v) { came(self, type, n, v); }
DEFINE_TARGET(chars, char, CK_CHAR)
DEFINE_TARGET(shorts, short, CK_SHORT)
DEFINE_TARGET(ints, int, CK_INT)
DEFINE_TARGET(longs, long, CK_LONG)
DEFINE_TARGET(longLongs, long long, CK_LONGLONG)
DEFINE_TARGET(uchars, unsigned char, CK_UCHAR)
DEFINE_TARGET(ushorts, unsigned short, CK_USHORT)
DEFINE_TARGET(uints, unsigned, CK_UINT)
DEFINE_TARGET(ulongs, unsigned long, CK_ULONG)
DEFINE_TARGET(ulongLongs, unsigned long long, CK_ULONGLONG)
DEFINE_TARGET(floats, float, CK_FLOAT)
DEFINE_TARGET(doubles, double, CK_DOUBLE)
DEFINE_TARGET(bools, bool, CK_BOOL)

void Main_on_over(Main *self)
{
	self->passed = 1;
	passed(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("seed %llu\n", (unsigned long long)seed);
	start(self);
}

#include "reducers.def.h"
