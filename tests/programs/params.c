/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params: every pair of PEs sends every kind of parameter. The values follow from a seed that differs for
 * each pair, and each handler derives them again to compare.
 */
#include "check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "params.decl.h"

enum { N_LENGTHS = 12, KINDS = 14 + 3 * N_LENGTHS, BIG = 20000 };
/* Around the size from which on an array begins on a cache line. */
static const int lengths[N_LENGTHS] = { 0, 1, 42, 43, 63, 64, 127, 128, 129, 1023, 1024, 5000 };

struct Main { int unused; };
struct Sink { int n_in; };

static double value(int seed, int i) { return (double)seed * 1000 + i; }

/* ---- the sender's side ---------------------------------------------------------------- */

static struct point make_point(int seed)
{
	struct point p;

	memset(&p, 0, sizeof p);
	p.x = value(seed, 1);
	p.tag = 't';
	p.n = INT64_MIN + seed;
	p.v[2] = (float)seed;
	return p;
}

static CkDirectHandle make_handle(int seed)
{
	CkDirectHandle h;

	memset(&h, seed & 0x7f, sizeof h);
	return h;
}

static void send_scalars(CProxyElement_Sink to, int seed)
{
	Sink_integers(to, seed, seed % 2, 'x', SCHAR_MIN, UCHAR_MAX, SHRT_MIN, USHRT_MAX,
		      INT_MIN + seed, UINT_MAX, LONG_MIN + seed, ULONG_MAX, LLONG_MIN, ULLONG_MAX);
	Sink_others(to, seed, INT8_MIN, UINT16_MAX, INT32_MAX - seed, UINT64_MAX - 1, SIZE_MAX,
		    0.1f, 1.0 / 3, 1.0L / 3, GREEN);
	Sink_pods(to, seed, make_point(seed), (pair){ -1, (int16_t)seed },
		  (CkIndex){ { 1, 2, seed } }, (CkIndex2D){ 7, seed });
	Sink_unnamed(to, seed, 2.5);
}

static void send_arrays(CProxyElement_Sink to, int seed, int n)
{
	double *v = malloc((size_t)n * sizeof *v);
	short *s = malloc((size_t)n * sizeof *s);
	float f[5 * 3 + 1];
	unsigned char c[8];
	pair q[2] = { { 1, 2 }, { 3, (int16_t)seed } };

	CHECK(v && s);
	for (int i = 0; i < n; i++) {
		v[i] = value(seed, i);
		s[i] = (short)(seed + i);
	}
	Sink_before(to, seed, n, v);
	Sink_after(to, seed, s, (unsigned long)n);
	for (int i = 0; i < 16; i++)
		f[i] = (float)(seed + i);
	memset(c, seed & 0xff, sizeof c);
	Sink_expressions(to, seed, f, c, 5, 3, q, (pair){ 2, 9 }, (const int[]){ seed, 1, 2 },
			 "SIX__");
	Sink_empty(to, 0, NULL, NULL, "", NULL);
	free(v);
	free(s);
}

static void send_sized(CProxyElement_Sink to, int n)
{
	char *c = malloc((size_t)n + 1);
	long *w = malloc(((size_t)n + 1) * sizeof *w);
	double *v = malloc((3 * (size_t)n + BIG_PLAIN) * sizeof *v);
	float *f = malloc((2 * (size_t)n + 1) * sizeof *f);

	CHECK(c && w && v && f);
	for (int i = 0; i < 2 * n; i++)
		f[i] = (float)(n + i);
	for (int i = 0; i < n; i++)
		c[i] = (char)(n + i);
	for (int i = 0; i <= n; i++)
		w[i] = n - i;
	for (int i = 0; i < 3 * n + BIG_PLAIN; i++)
		v[i] = value(0, i);
	Sink_sized(to, n, c, w, "between", f);
	Sink_computed(to, n, v, c);
	Sink_constant(to, v);
	free(c);
	free(w);
	free(v);
	free(f);
}

static void send_rest(CProxyElement_Sink to, int seed)
{
	char text[32], odd[3] = { 'a', 'b', 'c' };
	long w[3] = { seed, LONG_MAX, -1 };
	CkDirectHandle h[2] = { make_handle(seed + 1), make_handle(seed + 2) };

	snprintf(text, sizeof text, "seed %d", seed);
	Sink_strings(to, seed, text, "b", "", NULL, text);
	Sink_mixed(to, 'm', "odd", 3, odd, 0.5, w, seed);
	Sink_handle(to, seed, make_handle(seed), 2, h);
}

/* ---- the receiver's side -------------------------------------------------------------- */

static void got(Sink *self)
{
	if (++self->n_in == KINDS * CkNumPes())
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

void Sink_on_new(Sink *self, int seed, int n, const double *v, const char *name)
{
	(void)self;
	CHECK_EQ(n, 3);
	CHECK(v[2] == value(seed, 2));
	CHECK(strcmp(name, "constructor") == 0);
}

void Sink_on_integers(Sink *self, int seed, bool b, char c, signed char sc, unsigned char uc,
		      short s, unsigned short us, int i, unsigned u, long l, unsigned long ul,
		      long long ll, unsigned long long ull)
{
	CHECK_EQ(b, seed % 2);
	CHECK(c == 'x' && sc == SCHAR_MIN && uc == UCHAR_MAX);
	CHECK(s == SHRT_MIN && us == USHRT_MAX && i == INT_MIN + seed && u == UINT_MAX);
	CHECK(l == LONG_MIN + seed && ul == ULONG_MAX && ll == LLONG_MIN && ull == ULLONG_MAX);
	got(self);
}

void Sink_on_others(Sink *self, int seed, int8_t i8, uint16_t u16, int32_t i32, uint64_t u64,
		    size_t z, float f, double d, long double ld, enum colour e)
{
	CHECK(i8 == INT8_MIN && u16 == UINT16_MAX && i32 == INT32_MAX - seed);
	CHECK(u64 == UINT64_MAX - 1 && z == SIZE_MAX);
	CHECK(f == 0.1f && d == 1.0 / 3 && ld == 1.0L / 3 && e == GREEN);
	got(self);
}

void Sink_on_pods(Sink *self, int seed, struct point p, pair q, CkIndex i, CkIndex2D j)
{
	struct point should = make_point(seed);

	CHECK(p.x == should.x && p.tag == 't' && p.n == should.n && p.v[2] == should.v[2]);
	CHECK(q.a == -1 && q.b == seed && i.v[2] == seed && j.x == 7 && j.y == seed);
	got(self);
}

void Sink_on_before(Sink *self, int seed, int n, const double *v)
{
	CHECK_EQ((uintptr_t)v % 16, 0);
	for (int i = 0; i < n; i++)
		CHECK(v[i] == value(seed, i));
	got(self);
}

/* What came over a network may lie anywhere. */
static void check_place(const void *p, size_t bytes)
{
	CHECK_EQ((uintptr_t)p % 16, 0);
	if (bytes >= 1024 && CkNumNodes() == 1)
		CHECK_EQ((uintptr_t)p % 64, 0);
}

static void check_chars(const char *c, int n)
{
	check_place(c, (size_t)n);
	for (int i = 0; i < n; i++)
		CHECK_EQ(c[i], (char)(n + i));
}

static void check_values(const double *v, int n)
{
	check_place(v, (size_t)n * sizeof *v);
	for (int i = 0; i < n; i++)
		CHECK(v[i] == value(0, i));
}

void Sink_on_sized(Sink *self, int n, const char *c, const long *w, const char *s, const float *f)
{
	check_chars(c, n);
	check_place(w, ((size_t)n + 1) * sizeof *w);
	for (int i = 0; i <= n; i++)
		CHECK_EQ(w[i], n - i);
	CHECK(strcmp(s, "between") == 0);
	check_place(f, 2 * (size_t)n * sizeof *f);
	for (int i = 0; i < 2 * n; i++)
		CHECK(f[i] == (float)(n + i));
	got(self);
}

void Sink_on_computed(Sink *self, int n, const double *v, const char *c)
{
	check_values(v, 3 * n);
	check_chars(c, n);
	got(self);
}

void Sink_on_constant(Sink *self, const double *v)
{
	check_values(v, BIG_PLAIN);
	got(self);
}

void Sink_on_after(Sink *self, int seed, const short *v, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		CHECK_EQ(v[i], (short)((unsigned long)seed + i));
	got(self);
}

void Sink_on_expressions(Sink *self, int seed, const float *v, const unsigned char *c, int n,
			 int8_t m, const pair *q, pair p, const int *k, const char *s)
{
	CHECK(n == 5 && m == 3 && p.a == 2 && p.b == 9);
	for (int i = 0; i < n * m + 1; i++)
		CHECK(v[i] == (float)(seed + i));
	for (int i = 0; i < 2 * (n - 1); i++)
		CHECK_EQ(c[i], seed & 0xff);
	CHECK(q[0].b == 2 && q[1].a == 3 && q[1].b == seed);
	CHECK(k[0] == seed && k[1] == 1 && k[2] == 2);
	CHECK(memcmp(s, "SIX__", SIX) == 0);
	got(self);
}

void Sink_on_empty(Sink *self, int n, const double *v, const char *c, const char *s,
		   const long *w)
{
	(void)v, (void)c, (void)w;
	CHECK(n == 0 && !*s);
	got(self);
}

void Sink_on_strings(Sink *self, int seed, const char *a, const char *b, const char *none,
		     const char *null, const char *last)
{
	char text[32];

	snprintf(text, sizeof text, "seed %d", seed);
	CHECK(strcmp(a, text) == 0 && strcmp(b, "b") == 0 && strcmp(last, text) == 0);
	CHECK(!*none && !*null);
	got(self);
}

void Sink_on_mixed(Sink *self, char c, const char *s, int n, const char *odd, double d,
		   const long *v, int seed)
{
	CHECK(c == 'm' && strcmp(s, "odd") == 0 && n == 3 && d == 0.5);
	CHECK(memcmp(odd, "abc", 3) == 0 && v[0] == seed && v[1] == LONG_MAX && v[2] == -1);
	got(self);
}

/* The names that arrive are used: each leads back to an element. */
void Sink_on_names(Sink *self, int seed, CProxy_Sink all, CProxyElement_Sink one, CProxy_Main top,
		   CkCallback cb)
{
	CHECK(all.ck.id == sinks.ck.id && one.ck.id == sinks.ck.id);
	CHECK_EQ(one.ck.index.v[0], seed / 100);
	CHECK(top.ck.id == mainProxy.ck.id);
	Sink_called(one, seed);
	CkCallbackSendTyped(cb, CK_INT, &seed, 1);
	got(self);
}

void Sink_on_handle(Sink *self, int seed, CkDirectHandle h, int n, const CkDirectHandle *v)
{
	CkDirectHandle should = make_handle(seed);

	CHECK(memcmp(&h, &should, sizeof h) == 0 && n == 2);
	should = make_handle(seed + 2);
	CHECK(memcmp(&v[1], &should, sizeof should) == 0);
	got(self);
}

void Sink_on_unnamed(Sink *self, int seed, double d)
{
	CHECK(seed >= 0 && d == 2.5);
	got(self);
}

void Sink_on_called(Sink *self, int seed)
{
	CHECK_EQ(seed / 100, Sink_thisIndex(self));
	got(self);
}

static void answered(void *ctx, const CkReductionMsg *m)
{
	Sink *self = ctx;

	CHECK(m->count == 1 && m->type == CK_INT);
	CHECK_EQ(*(const int *)CkReductionMsg_data(m) / 100, Sink_thisIndex(self));
	got(self);
}

void Sink_on_go(Sink *self)
{
	int me = Sink_thisIndex(self);

	CHECK_EQ(CkMyPe(), me);
	for (int to = 0; to < CkNumPes(); to++) {
		CProxyElement_Sink e = Sink_at(sinks, to);
		int seed = me * 100 + to;

		send_scalars(e, seed);
		send_arrays(e, seed, to % 2 ? 10 : BIG);
		send_rest(e, seed);
		for (int i = 0; i < N_LENGTHS; i++)
			send_sized(e, lengths[i]);
		Sink_names(e, seed, Sink_thisProxy(self), Sink_thisElement(self), mainProxy,
			   CkCallbackFunction(answered, self));
	}
}

/* ---- main ------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const double v[3] = { value(5, 0), value(5, 1), value(5, 2) };

	(void)m;
	mainProxy = Main_thisProxy(self);
	readonlyLength = 3;
	sinks = Sink_ckNew(CkDims(CkNumPes()), 5, 3, v, "constructor");
	Sink_go_all(sinks);
}

void Main_on_done(Main *self)
{
	(void)self;
	CkPrintf("params: all kinds between all pairs of %d PEs\n", CkNumPes());
	CkExit(0);
}

#include "params.def.h"
