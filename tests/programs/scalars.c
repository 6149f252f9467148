/* SPDX-License-Identifier: Apache-2.0 */
/* scalars: the ends of the range of every scalar type arrive as they were sent. */
#include "scalars.h"

#include <float.h>
#include <limits.h>

#include "check.h"
#include "scalars.decl.h"

enum { CELLS = 5, ENTRIES = 5 };

struct Main { int unused; };
struct Cell { int n_in; };

static void in(Cell *self)
{
	if (++self->n_in == 2 * ENTRIES) /* each by itself and by a broadcast */
		CkContribute(self, &(int){ 1 }, 1, CkReduction_sum_int, Main_cb_done(mainProxy));
}

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_plain(Cell *self, char c, signed char sc, unsigned char uc, short s, unsigned short us,
		   int i, unsigned u, long l, unsigned long ul, long long ll,
		   unsigned long long ull, float f, double d, bool b, _Bool bb)
{
	CHECK(c == 'x' && sc == SCHAR_MIN && uc == UCHAR_MAX && s == SHRT_MIN && us == USHRT_MAX);
	CHECK(i == INT_MIN && u == UINT_MAX && l == LONG_MIN && ul == ULONG_MAX);
	CHECK(ll == LLONG_MIN && ull == ULLONG_MAX && f == FLT_MAX && d == DBL_MIN && b && !bb);
	in(self);
}

void Cell_on_sized(Cell *self, int8_t a, int16_t b, int32_t c, int64_t d, uint8_t e, uint16_t f,
		   uint32_t g, uint64_t h, size_t i, ptrdiff_t j, intptr_t k, uintptr_t l)
{
	CHECK(a == INT8_MIN && b == INT16_MIN && c == INT32_MIN && d == INT64_MIN);
	CHECK(e == UINT8_MAX && f == UINT16_MAX && g == UINT32_MAX && h == UINT64_MAX);
	CHECK(i == SIZE_MAX && j == PTRDIFF_MIN && k == INTPTR_MIN && l == UINTPTR_MAX);
	in(self);
}

void Cell_on_cmi(Cell *self, CmiInt1 a, CmiInt2 b, CmiInt4 c, CmiInt8 d, CmiUInt1 e, CmiUInt2 f,
		 CmiUInt4 g, CmiUInt8 h, CmiFloat4 i, CmiFloat8 j, CmiBool k)
{
	CHECK(a == INT8_MIN && b == INT16_MIN && c == INT32_MIN && d == INT64_MIN);
	CHECK(e == UINT8_MAX && f == UINT16_MAX && g == UINT32_MAX && h == UINT64_MAX);
	CHECK(i == 0.5f && j == 0.25 && k);
	in(self);
}

void Cell_on_enums(Cell *self, enum Suit s, Fruit f, int n, const enum Suit *ss, const Fruit *ff)
{
	CHECK(s == CLUBS && f == PEAR && n == 2 && ss[0] == HEARTS && ss[1] == CLUBS);
	CHECK(ff[0] == PEAR && ff[1] == APPLE && ff[2] == APPLE && ff[3] == PEAR);
	in(self);
}

void Cell_on_arrays(Cell *self, uint8_t n, const bool *b, const int64_t *v, const size_t *z,
		    const unsigned char *c, const CmiUInt2 *w)
{
	CHECK_EQ(n, 200);
	for (int i = 0; i < n; i++)
		CHECK(b[i] == (i % 3 == 0) && v[i] == -i && z[i] == SIZE_MAX - (size_t)i &&
		      w[i] == (uint16_t)(i * 300));
	CHECK(v[n] == INT64_MIN && z[2 * n - 1] == 1 && c[0] == 9 && c[(n + 3) / 2 - 1] == 8);
	in(self);
}

static void call_all(CProxyElement_Cell e)
{
	Cell_plain(e, 'x', SCHAR_MIN, UCHAR_MAX, SHRT_MIN, USHRT_MAX, INT_MIN, UINT_MAX, LONG_MIN,
		   ULONG_MAX, LLONG_MIN, ULLONG_MAX, FLT_MAX, DBL_MIN, true, false);
	Cell_sized(e, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, UINT8_MAX, UINT16_MAX, UINT32_MAX,
		   UINT64_MAX, SIZE_MAX, PTRDIFF_MIN, INTPTR_MIN, UINTPTR_MAX);
	Cell_cmi(e, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, UINT8_MAX, UINT16_MAX, UINT32_MAX,
		 UINT64_MAX, 0.5f, 0.25, true);
}

static void broadcast(void)
{
	Cell_plain_all(cells, 'x', SCHAR_MIN, UCHAR_MAX, SHRT_MIN, USHRT_MAX, INT_MIN, UINT_MAX,
		       LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX, FLT_MAX, DBL_MIN, true, false);
	Cell_sized_all(cells, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, UINT8_MAX, UINT16_MAX,
		       UINT32_MAX, UINT64_MAX, SIZE_MAX, PTRDIFF_MIN, INTPTR_MIN, UINTPTR_MAX);
	Cell_cmi_all(cells, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, UINT8_MAX, UINT16_MAX,
		     UINT32_MAX, UINT64_MAX, 0.5f, 0.25, true);
}

static void call_arrays(void)
{
	enum { N = 200 };
	enum Suit ss[2] = { HEARTS, CLUBS };
	Fruit ff[4] = { PEAR, APPLE, APPLE, PEAR };
	bool b[N];
	int64_t v[N + 1];
	size_t z[2 * N];
	unsigned char c[(N + 3) / 2] = { 9 };
	uint16_t w[N];

	for (int i = 0; i < 2 * N; i++)
		z[i] = SIZE_MAX - (size_t)i;
	for (int i = 0; i < N; i++) {
		b[i] = i % 3 == 0;
		v[i] = -i;
		w[i] = (uint16_t)(i * 300);
	}
	v[N] = INT64_MIN;
	z[2 * N - 1] = 1;
	c[(N + 3) / 2 - 1] = 8;
	for (int i = 0; i < CELLS; i++) {
		Cell_enums(Cell_at(cells, i), CLUBS, PEAR, 2, ss, ff);
		Cell_arrays(Cell_at(cells, i), N, b, v, z, c, w);
	}
	Cell_enums_all(cells, CLUBS, PEAR, 2, ss, ff);
	Cell_arrays_all(cells, N, b, v, z, c, w);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	for (int i = 0; i < CELLS; i++)
		call_all(Cell_at(cells, i));
	broadcast();
	call_arrays();
}

void Main_on_done(Main *self, int n)
{
	(void)self;
	CHECK_EQ(n, CELLS);
	CkPrintf("scalars: %d entries on %d PEs\n", ENTRIES, CkNumPes());
	CkExit(0);
}

#include "scalars.def.h"
