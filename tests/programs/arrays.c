/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrays: arrays of one to three dimensions, under the default map and maps of the program's own,
 * larger and smaller than the number of PEs; arrays that elements create; and calls that reach a PE
 * before the creation of the array that they refer to, and are handled in order all the same.
 */
#include "check.h"

#include <stdlib.h>

#include "arrays.decl.h"

enum { DEFAULT, REVERSE, ONE, N_MAPS };
enum { ARRAYS_PER_MAKER = 100, SMALL = 3, TURNS = 3, CALLS = 5 };

struct Main { long expected, seen; int stage; };
struct Line { int n; };
struct Sheet { int n; };
struct Block { int n; };
struct Small { int maker, no, sum; };
struct Maker { int unused; };
struct Late { int *next; int n_in; };
struct Relay { int unused; };

/* ---- maps --------------------------------------------------------------------------- */

static int reverse_map(CkIndex i, CkArrayDims d, int n_pes)
{
	int linear = (i.v[0] * d.n[1] + i.v[1]) * d.n[2] + i.v[2];

	return n_pes - 1 - linear % n_pes;
}

static int one_map(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)i;
	return d.n[0] % n_pes;
}

void register_maps(void)
{
	CkRegisterMap("reverse", reverse_map);
	CkRegisterMap("one", one_map);
}

static const char *const map_names[N_MAPS] = { NULL, "reverse", "one" };

static void check_home(int map, CkIndex i, CkArrayDims d)
{
	int linear = (i.v[0] * d.n[1] + i.v[1]) * d.n[2] + i.v[2];

	if (map == DEFAULT)
		CHECK_EQ(CkMyPe(), check_block_home(linear, d.n[0] * d.n[1] * d.n[2], CkNumPes()));
	else
		CHECK_EQ(CkMyPe(), (map == REVERSE ? reverse_map : one_map)(i, d, CkNumPes()));
}

/* Every element is constructed once and called once; it counts both. */
static void count(void *self)
{
	const long one = 1;

	CkContribute(self, &one, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Line_on_new(Line *self, int n, int map)
{
	CHECK_EQ(self->n, 0);
	self->n = n;
	check_home(map, (CkIndex){ { Line_thisIndex(self), 0, 0 } }, CkDims(n));
}

void Line_on_where(Line *self, int from)
{
	CHECK_EQ(from, Line_thisIndex(self));
	CHECK(Line_ckLocal(Line_thisElement(self)) == self);
	count(self);
}

void Sheet_on_new(Sheet *self, int nx, int ny, int map)
{
	CkIndex2D i = Sheet_thisIndex(self);

	check_home(map, (CkIndex){ { i.x, i.y, 0 } }, CkDims(nx, ny));
}

void Sheet_on_where(Sheet *self, int x, int y)
{
	CkIndex2D i = Sheet_thisIndex(self);

	CHECK(i.x == x && i.y == y);
	CHECK(Sheet_ckLocal(Sheet_at(Sheet_thisProxy(self), x, y)) == self);
	count(self);
}

enum { ROWS = 8, NARROW = 2, WIDE = 5 };

/* Calls of two arrays in turn, of which most have the same index and different places. */
void Sheet_on_inTurn(Sheet *self, CProxy_Sheet wide)
{
	for (int x = 0; x < ROWS; x++)
		for (int y = 0; y < WIDE; y++) {
			if (y < NARROW)
				Sheet_where(Sheet_at(Sheet_thisProxy(self), x, y), x, y);
			Sheet_where(Sheet_at(wide, x, y), x, y);
		}
}

void Block_on_new(Block *self, CkArrayDims dims, int map)
{
	CkIndex3D i = Block_thisIndex(self);

	check_home(map, (CkIndex){ { i.x, i.y, i.z } }, dims);
}

void Block_on_where(Block *self, int x, int y, int z)
{
	CkIndex3D i = Block_thisIndex(self);

	CHECK(i.x == x && i.y == y && i.z == z);
	count(self);
}

static void line(Main *self, int n, int map)
{
	CkArrayOptions o = { .dims = CkDims(n), .map = map_names[map] };
	CProxy_Line p = Line_ckNew_opt(&o, n, map);

	for (int i = 0; i < n; i++)
		Line_where(Line_at(p, i), i);
	self->expected += n;
}

static void sheet(Main *self, int nx, int ny, int map)
{
	CkArrayOptions o = { .dims = CkDims(nx, ny), .map = map_names[map] };
	CProxy_Sheet p = Sheet_ckNew_opt(&o, nx, ny, map);

	for (int i = 0; i < nx * ny; i++)
		Sheet_where(Sheet_at(p, i / ny, i % ny), i / ny, i % ny);
	self->expected += nx * ny;
}

static void two_sheets(Main *self)
{
	CkArrayOptions o = { .dims = CkDims(ROWS, WIDE) };
	CProxy_Sheet wide = Sheet_ckNew_opt(&o, ROWS, WIDE, DEFAULT);

	o.dims = CkDims(ROWS, NARROW);
	CProxy_Sheet narrow = Sheet_ckNew_opt(&o, ROWS, NARROW, DEFAULT);

	Sheet_inTurn(Sheet_at(narrow, 0, 0), wide);
	self->expected += ROWS * (NARROW + WIDE);
}

static void block(Main *self, CkArrayDims d, int map)
{
	CkArrayOptions o = { .dims = d, .map = map_names[map] };
	CProxy_Block p = Block_ckNew_opt(&o, d, map);

	for (int x = 0; x < d.n[0]; x++)
		for (int y = 0; y < d.n[1]; y++)
			for (int z = 0; z < d.n[2]; z++)
				Block_where(Block_at(p, x, y, z), x, y, z);
	self->expected += d.n[0] * d.n[1] * d.n[2];
}

static void shapes(Main *self)
{
	for (int map = 0; map < N_MAPS; map++) {
		for (int n = 1; n <= 9; n++)
			line(self, n, map);
		line(self, 1000, map);
		sheet(self, 1, 5, map);
		sheet(self, 7, 3, map);
		sheet(self, 3, 1, map);
		block(self, CkDims(1, 1, 1), map);
		block(self, CkDims(4, 3, 5), map);
		block(self, CkDims(1, 1, 9), map);
	}
	two_sheets(self);
}

/* ---- arrays made by elements ------------------------------------------------------------ */

void Maker_on_new(Maker *self) { (void)self; }

void Maker_on_make(Maker *self, int n)
{
	for (int no = 0; no < n; no++) {
		CProxy_Small p = Small_ckNew(CkDims(SMALL), Maker_thisIndex(self), no);

		Small_add_all(p, 1);
		for (int i = 0; i < SMALL; i++)
			Small_add(Small_at(p, i), 10);
	}
}

void Small_on_new(Small *self, int maker, int no)
{
	self->maker = maker;
	self->no = no;
}

void Small_on_add(Small *self, int k)
{
	self->sum += k;
	if (self->sum == 11)
		count(self);
}

/* ---- calls before the creation --------------------------------------------------------- */

void Relay_on_new(Relay *self) { (void)self; }

/* The proxy came by a call, which may have overtaken the creation on its way to this PE. One of two
 * such calls may come before the creation and the other after it. */
void Relay_on_late(Relay *self, CProxy_Late p, int n, int first)
{
	for (int k = first; k < first + CALLS; k++)
		for (int i = 0; i < n; i++)
			Late_number(Late_at(p, i), Relay_thisIndex(self), k);
	if (first == 0)
		Late_early_all(p, Relay_thisIndex(self));
}

static void late(int n)
{
	CkArrayOptions o = { .dims = CkDims(n), .map = "reverse" };
	CProxy_Late p = Late_ckNew_opt(&o, n);

	for (int pe = CkNumPes(); pe-- > 0;)
		for (int k = 0; k < TURNS; k++)
			Relay_late(Relay_at(relays, pe), p, n, k * CALLS);
}

void Late_on_new(Late *self, int from)
{
	(void)from;
	self->next = calloc((size_t)CkNumPes(), sizeof *self->next);
	CHECK(self->next);
	/* Constructors may send, too. */
	Late_number(Late_thisElement(self), -1, 0);
}

static void late_got(Late *self)
{
	const int one = 1;

	if (++self->n_in < CkNumPes() * (TURNS * CALLS + 1) + 1)
		return;
	free(self->next);
	CkContribute(self, &one, 1, CkReduction_sum_int, Main_cb_late(mainProxy));
}

void Late_on_number(Late *self, int from, int i)
{
	if (from >= 0)
		CHECK_EQ(i, self->next[from]++);
	late_got(self);
}

void Late_on_early(Late *self, int from)
{
	(void)from;
	late_got(self);
}

/* ---- main -------------------------------------------------------------------------------- */

enum { LATE_ARRAYS = 100, LATE_ELEMENTS = 5 };

void Main_on_counted(Main *self, long n)
{
	self->seen += n;
	if (self->seen < self->expected)
		return;
	CHECK_EQ(self->seen, self->expected);
	if (self->stage++ == 0) {
		CProxy_Maker p = Maker_ckNew(CkDims(2 * CkNumPes()));

		self->expected += 2 * CkNumPes() * ARRAYS_PER_MAKER * SMALL;
		Maker_make_all(p, ARRAYS_PER_MAKER);
		return;
	}
	for (int i = 0; i < LATE_ARRAYS; i++)
		late(LATE_ELEMENTS);
}

void Main_on_late(Main *self, int n)
{
	CHECK_EQ(n, LATE_ELEMENTS);
	if (self->stage++ < LATE_ARRAYS + 1)
		return;
	CkPrintf("arrays: %ld elements on %d PEs\n", self->seen, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	relays = Relay_ckNew();
	shapes(self);
}

#include "arrays.def.h"
