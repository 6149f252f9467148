/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan [SEED]: prefix scans against a serial answer, inclusive and exclusive, of sums of several
 * types, products, maxima and minima, logical values, statistics and a reducer of the program's own that does
 * not commute, over arrays smaller and larger than the number of PEs, of one, three and four dimensions,
 * with the default map and two others, and over a group. The elements start all scans of a collection
 * without waiting, some elements much later than others; results come in the order of the scans.
 * The program prints the bits of all results, which must agree between equal runs.
 */
#include "check.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan.decl.h"

enum { VALUES = 3, ROUNDS = 4, N_KINDS = 8, N_SCANS = ROUNDS * N_KINDS };
enum kind { LONGS, LEAST, FACTORS, MOST, DOUBLES, TRUTH, STATISTICS, AFFINE };
enum whom { LINE, CUBE, HYPER, MEMBERS };

static const struct { enum whom whom; int x, y, z, w; const char *map; } phases[] = {
	{ LINE, 1, 1, 1, 1, NULL }, { LINE, 2, 1, 1, 1, NULL }, { LINE, 3, 1, 1, 1, NULL },
	{ LINE, 29, 1, 1, 1, NULL }, { LINE, 1, 1, 1, 1, "cyclic" }, { LINE, 29, 1, 1, 1, "cyclic" },
	{ LINE, 29, 1, 1, 1, "crowd" }, { CUBE, 3, 2, 4, 1, NULL }, { CUBE, 3, 2, 4, 1, "cyclic" },
	{ HYPER, 3, 1, 2, 4, NULL }, { HYPER, 3, 1, 2, 4, "cyclic4" }, { MEMBERS, 0, 0, 0, 0, NULL },
};
enum { N_PHASES = sizeof phases / sizeof *phases };

struct Main {
	int phase;
	uint64_t bits;
};
struct party { int n, at, next; uint64_t bits; };
struct Line { struct party party; };
struct Cube { struct party party; };
struct Hyper { struct party party; };
struct Member { struct party party; };

static int cyclic(CkIndex i, CkArrayDims d, int n_pes)
{
	return ((i.v[0] * d.n[1] + i.v[1]) * d.n[2] + i.v[2]) % n_pes;
}

/* The same in four dimensions, where an index has numbers of 16 bits. */
static int cyclic4(CkIndex i, CkArrayDims d, int n_pes)
{
	CkIndex4D at;

	memcpy(&at, &i, sizeof at);
	return (((at.w * d.n[1] + at.x) * d.n[2] + at.y) * d.n[3] + at.z) % n_pes;
}

/* Runs of several lengths, and none on the first PE if there are others. */
static int crowd(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return n_pes == 1 ? 0 : 1 + i.v[0] * i.v[0] / 20 % (n_pes - 1);
}

/* x -> a x + b, one after the other; whole numbers that wrap. */
struct affine { unsigned a, b; };

static void compose(void *acc_, const void *in_, size_t n)
{
	struct affine *acc = acc_;
	const struct affine *in = in_;

	for (size_t i = 0; i < n; i++)
		acc[i] = (struct affine){ in[i].a * acc[i].a, in[i].a * acc[i].b + in[i].b };
}

void register_all(void)
{
	static const struct affine same = { 1, 0 };

	CkRegisterMap("cyclic", cyclic);
	CkRegisterMap("cyclic4", cyclic4);
	CkRegisterMap("crowd", crowd);
	CkRegisterValueReducer("affine", sizeof(struct affine), compose, &same, false);
}

/* ---- what element e contributes to the k-th scan ---------------------------------------------- */

static uint64_t bits_of(int e, int k, int j)
{
	return check_mix(seed + (uint64_t)(k * 1000003 + e * 101 + j));
}

static long whole(int e, int k, int j) { return (int)bits_of(e, k, j); }

static double real(int e, int k, int j)
{
	return (double)(int64_t)bits_of(e, k, j) / (double)INT64_MAX;
}

static struct affine affine(int e, int k, int j)
{
	return (struct affine){ (unsigned)bits_of(e, k, j) | 1, (unsigned)(bits_of(e, k, j) >> 32) };
}

static enum kind kind_of(int k) { return (enum kind)(k % N_KINDS); }

static int exclusive(int k) { return k / N_KINDS % 2 ? CK_SCAN_EXCLUSIVE : CK_SCAN_INCLUSIVE; }

/* From `first` to `last`, below it if the scan is exclusive. */
static int n_before(int at, int k) { return at + (exclusive(k) == CK_SCAN_INCLUSIVE); }

static void contribute(void *self, struct party *p, int k, CkCallback longs, CkCallback cb)
{
	long l[VALUES];
	double d[VALUES];
	bool t[VALUES];
	CkReductionStatistics s[VALUES];
	struct affine a[VALUES];
	int kind = exclusive(k);

	for (int j = 0; j < VALUES; j++) {
		l[j] = whole(p->at, k, j);
		d[j] = real(p->at, k, j);
		t[j] = l[j] % 5 != 0;
		s[j] = CkStatistics(d[j]);
		a[j] = affine(p->at, k, j);
	}
	switch (kind_of(k)) {
	case LONGS: CkScan(self, l, VALUES, CkReduction_sum_long, kind, longs); break;
	case LEAST: CkScan(self, l, VALUES, CkReduction_min_long, kind, longs); break;
	case FACTORS: CkScan(self, l, VALUES, CkReduction_product_long, kind, longs); break;
	case MOST: CkScan(self, d, VALUES, CkReduction_max_double, kind, cb); break;
	case DOUBLES: CkScan(self, d, VALUES, CkReduction_sum_double, kind, cb); break;
	case TRUTH: CkScan(self, t, VALUES, CkReduction_logical_and_bool, kind, cb); break;
	case STATISTICS: CkScan(self, s, VALUES, CkReduction_statistics, kind, cb); break;
	case AFFINE: CkScan(self, a, VALUES, CkReducer("affine"), kind, cb); break;
	}
}

/* ---- what must come out -------------------------------------------------------------------------- */

static void check_longs(const struct party *p, int k, const long *v)
{
	for (int j = 0; j < VALUES; j++) {
		long x = kind_of(k) == LONGS ? 0 : kind_of(k) == LEAST ? LONG_MAX : 1;

		for (int e = 0; e < n_before(p->at, k); e++) {
			long y = whole(e, k, j);

			if (kind_of(k) == LEAST)
				x = x < y ? x : y;
			else if (kind_of(k) == LONGS)
				x += y;
			else
				x = (long)((unsigned long)x * (unsigned long)y); /* it wraps */
		}
		CHECK_EQ(v[j], x);
	}
}

static void check_reals(const struct party *p, int k, const double *v)
{
	for (int j = 0; j < VALUES; j++) {
		double x = kind_of(k) == DOUBLES ? 0 : -INFINITY;

		for (int e = 0; e < n_before(p->at, k); e++) {
			double y = real(e, k, j);

			x = kind_of(k) == DOUBLES ? x + y : x > y ? x : y;
		}
		CHECK(v[j] == x || fabs(v[j] - x) < 1e-12);
	}
}

static void check_statistics(const struct party *p, int k, const CkReductionStatistics *v)
{
	for (int j = 0; j < VALUES; j++) {
		double sum = 0, m2 = 0;
		int n = n_before(p->at, k);

		for (int e = 0; e < n; e++)
			sum += real(e, k, j);
		for (int e = 0; e < n; e++)
			m2 += (real(e, k, j) - sum / n) * (real(e, k, j) - sum / n);
		CHECK_EQ(v[j].count, n);
		CHECK(fabs(v[j].mean * n - sum) < 1e-12 && fabs(v[j].m2 - m2) < 1e-12);
	}
}

static void check_exact(const struct party *p, int k, const void *v)
{
	for (int j = 0; j < VALUES; j++) {
		struct affine a = { 1, 0 };
		bool t = true;

		for (int e = 0; e < n_before(p->at, k); e++) {
			struct affine next = affine(e, k, j);

			compose(&a, &next, 1);
			t &= whole(e, k, j) % 5 != 0;
		}
		if (kind_of(k) == TRUTH)
			CHECK_EQ(((const bool *)v)[j], t);
		else
			CHECK(memcmp((const struct affine *)v + j, &a, sizeof a) == 0);
	}
}

static void mix(uint64_t *bits, const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		*bits = (*bits ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
}

static void check(struct party *p, int k, const CkReductionMsg *m)
{
	static const size_t bytes[] = { [MOST] = 8, [DOUBLES] = 8, [TRUTH] = 1,
		[STATISTICS] = sizeof(CkReductionStatistics), [AFFINE] = sizeof(struct affine) };
	const void *v = CkReductionMsg_data(m);

	CHECK(m->count == VALUES && m->bytes == VALUES * bytes[kind_of(k)]);
	mix(&p->bits, v, m->bytes);
	if (kind_of(k) == MOST || kind_of(k) == DOUBLES)
		check_reals(p, k, v);
	else if (kind_of(k) == STATISTICS)
		check_statistics(p, k, v);
	else
		check_exact(p, k, v);
}

/* ---- those who take part --------------------------------------------------------------------------- */

static struct party party(int n, int at) { return (struct party){ .n = n, .at = at }; }

/* False: later. */
static bool go(void *self, struct party *p, int delay, CkCallback longs, CkCallback result)
{
	if (delay && p->at % 3 == 0)
		return false;
	for (int k = 0; k < N_SCANS; k++)
		contribute(self, p, k, longs, result);
	return true;
}

/* The next result must be that of the next scan. */
static void came(void *self, struct party *p)
{
	unsigned long bits = p->bits;

	if (++p->next == N_SCANS)
		CkContribute(self, &bits, 1, CkReduction_sum_ulong, Main_cb_over(mainProxy));
}

static void result(void *self, struct party *p, const CkReductionMsg *m)
{
	CHECK(p->next < N_SCANS && kind_of(p->next) > FACTORS);
	check(p, p->next, m);
	came(self, p);
}

static void longs(void *self, struct party *p, int n, const long *v)
{
	CHECK(p->next < N_SCANS && kind_of(p->next) <= FACTORS);
	CHECK_EQ(n, VALUES);
	check_longs(p, p->next, v);
	came(self, p);
}

#define DEFINE_PARTY(X, at)                                                              \
	void X##_on_new(X *self, int n) { self->party = party(n, at); }                  \
	void X##_on_go(X *self, int delay)                                               \
	{                                                                                \
		CProxyElement_##X me = X##_thisElement(self);                            \
		if (!go(self, &self->party, delay, X##_cb_longs(me), X##_cb_result(me))) \
			X##_go(me, delay - 1);                                           \
	}                                                                                \
	void X##_on_result(X *self, const CkReductionMsg *m)                             \
	{                                                                                \
		result(self, &self->party, m);                                           \
	}                                                                                \
	void X##_on_longs(X *self, int n, const long *v) { longs(self, &self->party, n, v); }

static int cube_place(Cube *self)
{
	CkIndex3D i = Cube_thisIndex(self);

	return (i.x * 2 + i.y) * 4 + i.z; /* of 3 x 2 x 4 */
}

static int hyper_place(Hyper *self)
{
	CkIndex4D i = Hyper_thisIndex(self);

	return ((i.w + i.x) * 2 + i.y) * 4 + i.z; /* of 3 x 1 x 2 x 4 */
}

DEFINE_PARTY(Line, Line_thisIndex(self))
DEFINE_PARTY(Cube, cube_place(self))
DEFINE_PARTY(Hyper, hyper_place(self))
DEFINE_PARTY(Member, CkMyPe())

/* ---- main ------------------------------------------------------------------------------------------ */

enum { DELAY = 50 };

static void start(Main *self)
{
	int i = self->phase;
	CkArrayOptions o = { .map = phases[i].map };

	switch (phases[i].whom) {
	case LINE:
		o.dims = CkDims(phases[i].x);
		Line_go_all(Line_ckNew_opt(&o, phases[i].x), DELAY);
		break;
	case CUBE:
		o.dims = CkDims(phases[i].x, phases[i].y, phases[i].z);
		Cube_go_all(Cube_ckNew_opt(&o, phases[i].x * phases[i].y * phases[i].z), DELAY);
		break;
	case HYPER:
		o.dims = CkDims(phases[i].x, phases[i].y, phases[i].z, phases[i].w);
		Hyper_go_all(Hyper_ckNew_opt(&o, phases[i].x * phases[i].y * phases[i].z * phases[i].w), DELAY);
		break;
	case MEMBERS:
		Member_go_all(Member_ckNew(CkNumPes()), DELAY);
		break;
	}
}

void Main_on_over(Main *self, unsigned long bits)
{
	self->bits = self->bits * 31 + bits;
	if (++self->phase < N_PHASES) {
		start(self);
		return;
	}
	CkPrintf("scan: %d scans of %d collections on %d PEs, seed %llu, bits %llx\n", N_SCANS,
		 N_PHASES, CkNumPes(), (unsigned long long)seed, (unsigned long long)self->bits);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("seed %llu\n", (unsigned long long)seed);
	start(self);
}

#include "scan.def.h"
