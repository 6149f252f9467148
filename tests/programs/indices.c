/* SPDX-License-Identifier: Apache-2.0 */
/*
 * indices: arrays of one to six dimensions and of the program's own index type; made from extents, or
 * from start, end and step; with the default map and a map of the program's own; the ready callback;
 * constructors that take a message; local elements.
 */
#include "check.h"

#include <stdlib.h>

#include "indices.h"

#include "indices.decl.h"

struct Main { int step; long expected; };
struct One { int map; };
struct Two { int map; };
struct Three { int map; };
struct Four { int map; };
struct Five { int map; };
struct Six { int map; };
struct Cell { Cell_id me; };
struct Grown { Seed *kept; };
struct Sown { int n; };

enum { N_SEED = 9 };

/* ---- maps --------------------------------------------------------------------------------------- */

static int mixed(CkIndex i, int n_pes)
{
	uint64_t h = check_mix((uint64_t)(uint32_t)i.v[0] << 32 | (uint32_t)i.v[1]);

	return (int)(check_mix(h ^ (uint32_t)i.v[2]) % (uint64_t)n_pes);
}

static int mixed_map(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return mixed(i, n_pes);
}

void register_maps(void) { CkRegisterMap("mixed", mixed_map); }

/* ---- elements: they know their place, and count themselves ------------------------------------------- */

static void count(void *self)
{
	const long one = 1;

	CkContribute(self, &one, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* While elements are inserted, a reduction would have those that exist already. */
static void count_alone(void)
{
	const long one = 1;

	CkCallbackSendTyped(Main_cb_counted(mainProxy), CK_LONG, &one, 1);
}

static void check_map(int map, CkIndex i)
{
	if (map)
		CHECK_EQ(CkMyPe(), mixed(i, CkNumPes()));
}

void One_on_new(One *self, int map) { check_map(map, One_index(One_thisIndex(self))); }
void One_on_visit(One *self, int sum)
{
	CHECK_EQ(One_thisIndex(self), sum);
	CHECK(One_ckLocal(One_thisElement(self)) == self);
	count(self);
}

void Two_on_new(Two *self, int map)
{
	CkIndex2D i = Two_thisIndex(self);

	check_map(map, Two_index(i.x, i.y));
}
void Two_on_visit(Two *self, int sum)
{
	CkIndex2D i = Two_thisIndex(self);

	CHECK_EQ(100 * i.x + i.y, sum);
	CHECK(Two_ckLocal(Two_thisElement(self)) == self);
	count(self);
}

void Three_on_new(Three *self, int map)
{
	CkIndex3D i = Three_thisIndex(self);

	check_map(map, Three_index(i.x, i.y, i.z));
}
void Three_on_visit(Three *self, int sum)
{
	CkIndex3D i = Three_thisIndex(self);

	CHECK_EQ(10000 * i.x + 100 * i.y + i.z, sum);
	CHECK(Three_ckLocal(Three_thisElement(self)) == self);
	count(self);
}

void Four_on_new(Four *self, int map)
{
	CkIndex4D i = Four_thisIndex(self);

	check_map(map, Four_index(i.w, i.x, i.y, i.z));
}
void Four_on_visit(Four *self, int sum)
{
	CkIndex4D i = Four_thisIndex(self);

	CHECK_EQ(1000 * i.w + 100 * i.x + 10 * i.y + i.z, sum);
	CHECK(Four_ckLocal(Four_thisElement(self)) == self);
	count(self);
}

void Five_on_new(Five *self, int map)
{
	CkIndex5D i = Five_thisIndex(self);

	check_map(map, Five_index(i.v, i.w, i.x, i.y, i.z));
}
void Five_on_visit(Five *self, int sum)
{
	CkIndex5D i = Five_thisIndex(self);

	CHECK_EQ(10000 * i.v + 1000 * i.w + 100 * i.x + 10 * i.y + i.z, sum);
	CHECK(Five_ckLocal(Five_thisElement(self)) == self);
	count(self);
}

void Six_on_new(Six *self, int map)
{
	CkIndex6D i = Six_thisIndex(self);

	check_map(map, Six_index(i.x1, i.y1, i.z1, i.x2, i.y2, i.z2));
}
void Six_on_visit(Six *self, int sum)
{
	CkIndex6D i = Six_thisIndex(self);

	CHECK_EQ(((((i.x1 * 10 + i.y1) * 10 + i.z1) * 10 + i.x2) * 10 + i.y2) * 10 + i.z2, sum);
	CHECK(Six_ckLocal(Six_thisElement(self)) == self);
	count(self);
}

void Cell_on_new(Cell *self, Cell_id me)
{
	Cell_id i = Cell_thisIndex(self);

	CHECK(i.level == me.level && i.x == me.x && i.y == me.y && i.face == me.face);
	self->me = me;
}
void Cell_on_visit(Cell *self, int sum)
{
	CHECK_EQ(self->me.level * 100 + self->me.x * 10 + self->me.y, sum);
	CHECK(Cell_ckLocal(Cell_at(Cell_thisProxy(self), self->me)) == self);
	count_alone();
}

/* Each has a message of its own: one keeps it, one changes it, one frees it. */
static void check_seed(const Seed *s)
{
	CHECK_EQ(s->n, N_SEED);
	for (int i = 0; i < N_SEED; i++)
		CHECK_EQ(s->v[i], i * i);
}

void Grown_on_new(Grown *self, Seed *s)
{
	check_seed(s);
	switch (Grown_thisIndex(self) % 3) {
	case 0:
		self->kept = CkKeepMsg();
		break;
	case 1:
		s->n = 0;
		s->v[3] = -1;
		break;
	default:
		CkFreeMsg(s);
	}
}
void Grown_on_visit(Grown *self, int sum)
{
	CHECK_EQ(Grown_thisIndex(self), sum);
	if (self->kept)
		check_seed(self->kept);
	CkFreeMsg(self->kept);
	self->kept = NULL;
	count_alone();
}

void Sown_on_new(Sown *self, Seed *s)
{
	check_seed(s);
	self->n = s->n;
	s->n = 0;
}
void Sown_on_visit(Sown *self, int sum)
{
	CHECK_EQ(self->n, sum);
	count(self);
}

static Seed *seed(void)
{
	Seed *s = Seed_alloc(N_SEED);

	s->n = N_SEED;
	for (int i = 0; i < N_SEED; i++)
		s->v[i] = i * i;
	return s;
}

/* ---- main: one array after the other ------------------------------------------------------------------ */

static const char *const maps[] = { NULL, "mixed" };

static void one_to_three(Main *self, int map)
{
	CProxy_One a = One_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(9), .map = maps[map] }, map);
	CProxy_Two b = Two_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(3, 4), .map = maps[map] },
				     map);
	CProxy_Three c = Three_ckNew_opt(
		&(CkArrayOptions){ .dims = CkDims(2, 3, 2), .map = maps[map] }, map);

	for (int i = 0; i < 9; i++)
		One_visit(One_at(a, i), i);
	for (int i = 0; i < 12; i++)
		Two_visit(Two_at(b, i / 4, i % 4), 100 * (i / 4) + i % 4);
	for (int i = 0; i < 12; i++)
		Three_visit(Three_at(c, i / 6, i / 2 % 3, i % 2),
			    10000 * (i / 6) + 100 * (i / 2 % 3) + i % 2);
	self->expected += 9 + 12 + 12;
}

static void four_to_six(Main *self, int map)
{
	CProxy_Four a = Four_ckNew_opt(
		&(CkArrayOptions){ .dims = CkDims(2, 3, 1, 4), .map = maps[map] }, map);
	CProxy_Five b = Five_ckNew_opt(
		&(CkArrayOptions){ .dims = CkDims(2, 1, 2, 3, 2), .map = maps[map] }, map);
	CProxy_Six c = Six_ckNew_opt(
		&(CkArrayOptions){ .dims = CkDims(1, 2, 2, 3, 1, 2), .map = maps[map] }, map);

	for (int i = 0; i < 24; i++)
		Four_visit(Four_at(a, i / 12, i / 4 % 3, 0, i % 4),
			   1000 * (i / 12) + 100 * (i / 4 % 3) + i % 4);
	for (int i = 0; i < 24; i++)
		Five_visit(Five_at(b, i / 12, 0, i / 6 % 2, i / 2 % 3, i % 2),
			   10000 * (i / 12) + 100 * (i / 6 % 2) + 10 * (i / 2 % 3) + i % 2);
	for (int i = 0; i < 24; i++)
		Six_visit(Six_at(c, 0, i / 12, i / 6 % 2, i / 2 % 3, 0, i % 2),
			  10000 * (i / 12) + 1000 * (i / 6 % 2) + 100 * (i / 2 % 3) + i % 2);
	self->expected += 3 * 24;
}

/* From start up to end, and nothing between the steps. */
static void lattices(Main *self, int map)
{
	CProxy_One a = One_ckNew_opt(&(CkArrayOptions){ .map = maps[map], .start = { -7 },
							.end = { 25 }, .step = { 4 } }, map);
	CProxy_Two b = Two_ckNew_opt(&(CkArrayOptions){ .map = maps[map], .start = { 5, -1 },
							.end = { 9, 2 }, .step = { 3 } }, map);
	CProxy_Six c = Six_ckNew_opt(&(CkArrayOptions){ .map = maps[map],
							.start = { 1, 0, -2, 0, 3, 0 },
							.end = { 2, 1, 3, 2, 4, 5 },
							.step = { 1, 1, 2, 0, 1, 4 } }, map);
	for (int x = -7; x < 25; x += 4) {
		One_visit(One_at(a, x), x);
		self->expected++;
	}
	for (int x = 5; x < 9; x += 3)
		for (int y = -1; y < 2; y++)
			Two_visit(Two_at(b, x, y), 100 * x + y);
	for (int z = -2; z < 3; z += 2)
		for (int x = 0; x < 2; x++)
			for (int w = 0; w < 5; w += 4)
				Six_visit(Six_at(c, 1, 0, z, x, 3, w),
					  100000 + 1000 * z + 100 * x + 30 + w);
	self->expected += 6 + 12;
}

static void cells(Main *self)
{
	CProxy_Cell a = Cell_ckNewEmpty();
	int n = 0;

	for (int l = 0; l < 3; l++) {
		for (int i = 0; i < 7; i++) {
			Cell_id id;

			memset(&id, 0, sizeof id);
			id.level = l - 1;
			id.x = (int16_t)(i - 3);
			id.y = (int16_t)(i % 2);
			id.face = (uint8_t)(200 + i);
			if (n % 2)
				Cell_insert(Cell_at(a, id), n % CkNumPes(), id);
			Cell_visit(Cell_at(a, id), id.level * 100 + id.x * 10 + id.y);
			if (n % 2 == 0)
				Cell_insert(Cell_at(a, id), CK_PE_ANY, id);
			n++;
		}
	}
	Cell_doneInserting(a);
	self->expected += n;
}

static void messages(Main *self)
{
	CProxy_Grown a = Grown_ckNew(CkDims(10), seed());
	CProxy_Grown b = Grown_ckNewEmpty();
	CProxy_Sown s = Sown_ckNew(seed());

	for (int i = 0; i < 10; i++) {
		Grown_insert(Grown_at(b, i), i % CkNumPes(), seed());
		Grown_visit(Grown_at(a, i), i);
		Grown_visit(Grown_at(b, i), i);
	}
	for (int p = 0; p < CkNumPes(); p++)
		Sown_visit(Sown_at(s, p), N_SEED);
	self->expected += 20 + CkNumPes();
}

void Main_on_counted(Main *self, long n)
{
	self->expected -= n;
	CHECK(self->expected >= 0);
	if (self->expected)
		return;
	/* The ready callback comes when the creation is over, also for an empty array. */
	CkCallback cb = Main_cb_ready(mainProxy);

	One_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(50), .ready = &cb }, 0);
	Four_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(1, 2, 1, 1), .ready = &cb }, 0);
	Two_ckNew_opt(&(CkArrayOptions){ .end = { 4, 4 }, .ready = &cb }, 0);
	Cell_ckNewEmpty_opt(&(CkArrayOptions){ .ready = &cb });
	self->step = 4;
}

void Main_on_ready(Main *self)
{
	if (--self->step == 0)
		CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	self->expected = 0;
	for (int map = 0; map < 2; map++) {
		one_to_three(self, map);
		four_to_six(self, map);
		lattices(self, map);
	}
	cells(self);
	messages(self);
}

#include "indices.def.h"
