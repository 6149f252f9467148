/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wander2d: 3 x 3 elements that all move in every step, by a seeded pattern, beside 9 others that do the same and never
 * move. Each has a body that sends its value to four neighbours and waits for theirs, by the step's number, so it
 * moves with a body that waits, and with calls of the next step that are kept for it. Nothing holds the elements
 * together but their neighbours. All contribute to a sum of doubles in each step: the sums of those that move have the
 * bits of the others'. For each such sum Main calls all of them, and they get these calls in order.
 *
 *	wander2d [seed [steps [sparse]]]
 *
 * `sparse`: the elements are inserted anywhere, instead of on the PEs that the map says.
 */
#include "check.h"

#include <stdlib.h>

#include "wander2d.decl.h"

enum { N = 3 };

struct Main {
	double *sum[2];           /* [steps]: of those that stay and of those that move */
	int n_sums[2], n_in;
	uint64_t hash;
	long moves;
};

static uint64_t drawn(int step, int x, int y, int what)
{
	return check_mix(seed * 1000003 + (uint64_t)step * 64 + (uint64_t)(x * N + y) * 4 + (uint64_t)what) >> 11;
}

/* ---- an element ---------------------------------------------------------------------------------- */

/* Behind the handler that asked to move. */
static void check_place(const Tile *self)
{
	CHECK_EQ(CkMyPe(), self->pe);
}

void Tile_on_new(Tile *self, bool moves)
{
	self->moves = moves;
	self->pe = CkMyPe();
	self->v = 1.0 / (3 + Tile_thisIndex(self).x * N + Tile_thisIndex(self).y);
	self->n_sides = SIDES;
	self->sides = calloc(SIDES, sizeof *self->sides);
}

/* Direction d of one is direction d ^ 1 of the other. */
static void tile_send(Tile *self)
{
	static const int dx[SIDES] = { 1, N - 1, 0, 0 }, dy[SIDES] = { 0, 0, 1, N - 1 };
	const CkIndex2D i = Tile_thisIndex(self);

	for (int d = 0; d < SIDES; d++)
		Tile_side(Tile_at(Tile_thisProxy(self), (i.x + dx[d]) % N, (i.y + dy[d]) % N), self->step, d ^ 1, self->v);
}

static void tile_take(Tile *self, int from, double v)
{
	CHECK_EQ(self->sides[from], self->step);
	self->sides[from]++;
	self->side[from] = v;
}

/* A chaotic map: one wrong bit changes all sums that follow. */
static void tile_finish(Tile *self)
{
	const double mean = 0.5 * self->v + 0.125 * (self->side[0] + self->side[1] + (self->side[2] + self->side[3]));
	const CkIndex2D i = Tile_thisIndex(self);

	self->v = 3.9 * mean * (1 - mean);
	CkContribute(self, &self->v, 1, CkReduction_sum_double,
		     self->moves ? Main_cb_sum_moving(mainProxy) : Main_cb_sum(mainProxy));
	Tile_moved(Tile_thisElement(self), self->step);
	if (!self->moves)
		return;
	self->pe = (int)(drawn(self->step, i.x, i.y, 1) % (uint64_t)CkNumPes());
	self->n_moves++;
	CkMigrateMe(self, self->pe);
}

void Tile_on_note(Tile *self, int no)
{
	check_place(self);
	CHECK_EQ(no, self->next_note);
	self->next_note++;
}

void Tile_on_report(Tile *self)
{
	const long v[] = { self->next_note, self->n_moves };

	check_place(self);
	CHECK_EQ(self->step, steps);
	free(self->sides);
	self->sides = NULL;
	self->n_sides = 0;
	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- main ---------------------------------------------------------------------------------------- */

static void compare(Main *self, int step)
{
	uint64_t bits;

	if (memcmp(&self->sum[0][step], &self->sum[1][step], sizeof(double)))
		CkAbort("wander2d: step %d: the sum of those that move is %.17g, of the others %.17g", step,
			self->sum[1][step], self->sum[0][step]);
	memcpy(&bits, &self->sum[1][step], sizeof bits);
	self->hash = check_mix(self->hash ^ bits);
}

static void sum_in(Main *self, int which, double v)
{
	const int step = self->n_sums[which]++;

	self->sum[which][step] = v;
	if (self->n_sums[!which] > step)
		compare(self, step);
	if (which)
		Tile_note_all(tiles, step);
}

void Main_on_sum(Main *self, double v) { sum_in(self, 0, v); }
void Main_on_sum_moving(Main *self, double v) { sum_in(self, 1, v); }

void Main_on_quiet(Main *self)
{
	CHECK_EQ(self->n_sums[0], steps);
	CHECK_EQ(self->n_sums[1], steps);
	Tile_report_all(still);
	Tile_report_all(tiles);
}

void Main_on_counted(Main *self, long notes, long moves)
{
	CHECK(notes == (moves ? (long)N * N * steps : 0));
	CHECK(moves == 0 || moves == (long)N * N * steps);
	self->moves += moves;
	if (++self->n_in < 2)
		return;
	CHECK_EQ(self->moves, (long)N * N * steps);
	CkPrintf("wander2d: %d steps, hash %016llx\n", steps, (unsigned long long)self->hash);
	free(self->sum[0]);
	free(self->sum[1]);
	CkExit(0);
}

/* All elements are there. */
void Main_on_begin(Main *self)
{
	(void)self;
	Tile_run_all(still);
	Tile_run_all(tiles);
	CkStartQD(Main_cb_quiet(mainProxy));
}

static CProxy_Tile insert_all(bool moves)
{
	CProxy_Tile p = Tile_ckNewEmpty();

	for (int x = 0; x < N; x++)
		for (int y = 0; y < N; y++)
			Tile_insert(Tile_at(p, x, y), (int)(drawn(0, x, y, 2) % (uint64_t)CkNumPes()), moves);
	Tile_doneInserting(p);
	return p;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const bool sparse = m->argc > 3 && !strcmp(m->argv[3], "sparse");

	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	steps = m->argc > 2 ? atoi(m->argv[2]) : 200;
	CkPrintf("wander2d: seed %llu\n", (unsigned long long)seed);
	for (int i = 0; i < 2; i++)
		self->sum[i] = calloc((size_t)steps, sizeof *self->sum[i]);
	still = sparse ? insert_all(false) : Tile_ckNew(CkDims(N, N), false);
	tiles = sparse ? insert_all(true) : Tile_ckNew(CkDims(N, N), true);
	CkStartQD(Main_cb_begin(mainProxy));
}

#include "wander2d.def.h"
