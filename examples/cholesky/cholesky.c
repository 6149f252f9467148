/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cholesky: the factor L of a symmetric matrix, A = L L', in tiles.
 *
 *	ckrun -n 2 ./cholesky --n 4096 --width 128
 *
 * Tile (i, j) of the lower half, an element of an array, is updated by the tiles of L to the left
 * of it in row i and in row j, from left to right. Then it is L's, after one more step with the
 * tile on the diagonal, and goes to all tiles that need it:
 *
 *	a(i, j) -= l(i, k) l(j, k)'      for k < j
 *	l(j, j)  = factor of a(j, j)
 *	l(i, j)  = a(i, j) / l(j, j)'    for i > j
 *
 * Shows   tasks that run when their inputs are there, without a barrier, so that the PEs work on
 *         many columns at a time; priorities, by which what others wait for is done first; a
 *         section for the tiles of a row and of a column, whose multicast is one message for each
 *         PE, which the tiles keep (CkKeepMsg); a map that gives the PEs rows in turn.
 * Checks  every number against LAPACK's factor by one processor.
 *
 * It has no CkAtSync: a moment at which no tile has work is what the program avoids, and the map
 * gives all PEs the same work. So it is balanced, and cannot be saved as it runs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "../memory.h"
#include "block.h"
#include "cholesky.decl.h"

struct Main {
	double began, took;
	long rounds;
	double *l;              /* by columns */
	long parts;             /* tiles that have come */
};

/* A tile of L that is kept in its message. */
struct kept {
	void *message;
	const double *v;
};

struct Tile {
	double *a;              /* by columns */
	CProxySection_Tile cross; /* row i and column i */
	struct kept *left, *right; /* tiles of rows i and j, by column; right[j] is the diagonal */
	int next;               /* the column of the next update; j: the last step */
	bool working;           /* it has called itself */
};

static int n_rows(void)
{
	return (int)((n + width - 1) / width);
}

/* Of the matrix, in row or column i of tiles: the last ones are smaller. */
static int size_of(int i)
{
	return (int)((i + 1) * width < n ? width : n - i * width);
}

static size_t count_of(CkIndex2D i)
{
	return (size_t)size_of(i.x) * (size_t)size_of(i.y);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* There and back again: later rows have more work, and so each PE has as much as the others. */
static int rows_in_turn(CkIndex i, CkArrayDims dims, int n_pes)
{
	const int turn = i.v[0] % (2 * n_pes);

	(void)dims;
	return turn < n_pes ? turn : 2 * n_pes - 1 - turn;
}

void register_map(void)
{
	CkRegisterMap("rows in turn", rows_in_turn);
}

/* What is made in a row is needed in the row itself, and in the column of the same number. Its
 * tiles multicast from the PE on which the section is made. */
static void make_cross(int row)
{
	CkIndex *list = get(n_rows(), sizeof *list);
	size_t count = 0;
	CProxySection_Tile cross;

	for (int j = 0; j < row; j++)
		list[count++] = Tile_index(row, j);
	for (int i = row; i < n_rows(); i++)
		list[count++] = Tile_index(i, row);
	cross = Tile_ckSection(tiles, list, count);
	free(list);
	Tile_join_section(cross, row, cross);
}

void Tile_on_new(Tile *self)
{
	const CkIndex2D me = Tile_thisIndex(self);

	if (me.y > me.x) {
		CkContributeBarrier(self, Main_cb_joined(mainProxy));
		return;
	}
	self->a = get((long)count_of(me), sizeof *self->a);
	self->left = get(me.y + 1, sizeof *self->left);
	self->right = get(me.y + 1, sizeof *self->right);
	if (me.y == 0)
		make_cross(me.x);
}

void Tile_on_join(Tile *self, int row, CProxySection_Tile cross)
{
	if (row != Tile_thisIndex(self).x)
		return;
	self->cross = cross;
	CkContributeBarrier(self, Main_cb_joined(mainProxy));
}

void Tile_on_fill(Tile *self)
{
	const CkIndex2D me = Tile_thisIndex(self);

	self->next = 0;
	if (self->a)
		block_fill(self->a, size_of(me.x), size_of(me.y), me.x * width, me.y * width, n,
			   (uint64_t)seed);
	CkContributeBarrier(self, Main_cb_filled(mainProxy));
	if (!self->a)
		CkContributeBarrier(self, Main_cb_factored(mainProxy));
}

/* Whether the tiles of L for the next step are here. */
static bool is_ready(const Tile *self)
{
	const CkIndex2D me = Tile_thisIndex(self);
	const int k = self->next;

	if (k == me.y)
		return me.x == me.y || self->right[k].v;
	return self->left[k].v && (me.x == me.y || self->right[k].v);
}

/* Columns from left to right, and in each from the diagonal down: what most others wait for. */
static int priority(CkIndex2D i)
{
	return urgency ? i.y * n_rows() + i.x : 0;
}

/* A step is a call to itself, so that the PE takes the most urgent one of all of its tiles. */
static void advance(Tile *self)
{
	const CkEntryOptions o = { .prio = priority(Tile_thisIndex(self)) };

	if (self->working || !is_ready(self))
		return;
	self->working = true;
	Tile_work_opt(&o, Tile_thisElement(self));
}

/* Tiles of L come before work of any priority, so that the most urgent is known. The message is
 * the same for all tiles of this PE. */
void Tile_on_take(Tile *self, int row, int column, int count, const double *v)
{
	const CkIndex2D me = Tile_thisIndex(self);
	struct kept *place = NULL;

	(void)count;
	if (row == me.x && column < me.y)
		place = &self->left[column];
	else if (row == me.y && column <= me.y && me.x != me.y)
		place = &self->right[column];
	if (!place)
		return;
	*place = (struct kept){ CkKeepMsg(), v };
	advance(self);
}

static void give_back(struct kept *k)
{
	if (k->message)
		CkFreeMsg(k->message);
	*k = (struct kept){ 0 };
}

static void update(Tile *self)
{
	const CkIndex2D me = Tile_thisIndex(self);
	struct kept *left = &self->left[self->next], *right = &self->right[self->next];

	block_update(self->a, size_of(me.x), size_of(me.y), left->v, right->v, size_of(self->next),
		     me.x == me.y);
	give_back(left);
	give_back(right);
	self->next++;
}

static void complete(Tile *self)
{
	const CkIndex2D me = Tile_thisIndex(self);
	const CkEntryOptions o = { .prio = -1 };

	if (me.x != me.y)
		block_solve(self->a, size_of(me.x), size_of(me.y), self->right[me.y].v);
	else if (!block_factor(self->a, size_of(me.x)))
		CkAbort("cholesky: the matrix has no factor");
	give_back(&self->right[me.y]);
	Tile_take_section_opt(&o, self->cross, me.x, me.y, (int)count_of(me), self->a);
	CkContributeBarrier(self, Main_cb_factored(mainProxy));
}

void Tile_on_work(Tile *self)
{
	self->working = false;
	if (self->next == Tile_thisIndex(self).y) {
		complete(self);
		return;
	}
	update(self);
	advance(self);
}

void Tile_on_show(Tile *self)
{
	const CkIndex2D me = Tile_thisIndex(self);

	if (!self->a)
		return;
	Main_part(mainProxy, me.x, me.y, verify ? (int)count_of(me) : 0, self->a);
	free(self->a);
	free(self->left);
	free(self->right);
}

/* ---- the main chare -------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"n", &n, 300, 1, 20000, "rows of the matrix"},
		{"width", &width, 64, 1, 2000, "rows of a tile"},
		{"repeat", &repeat, 1, 1, 1000000, "times that it is factored, after one more"},
		{"urgency", &urgency, 1, 0, 1, "0: work in any order"},
		{"verify", &verify, 1, 0, 1, "1: compare with one processor's factor"},
		{"seed", &seed, 1, 0, 1000000000, "which matrix"},
	};
	CkArrayOptions o = { .map = "rows in turn" };

	if (!args_read("cholesky", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	o.dims = CkDims(n_rows(), n_rows());
	tiles = Tile_ckNew_opt(&o);
}

void Main_on_joined(Main *self)
{
	(void)self;
	Tile_fill_all(tiles);
}

void Main_on_filled(Main *self)
{
	self->began = CkWallTimer();
	Tile_work(Tile_at(tiles, 0, 0));
}

/* The first time does not count. */
void Main_on_factored(Main *self)
{
	if (self->rounds++)
		self->took += CkWallTimer() - self->began;
	if (self->rounds <= repeat) {
		Tile_fill_all(tiles);
		return;
	}
	self->l = get(verify ? n * n : 0, sizeof *self->l);
	Tile_show_all(tiles);
}

/* Numbers of the lower half that are farther from LAPACK's factor than rounding explains. */
static long count_wrong(const double *l)
{
	double *serial = get(n * n, sizeof *serial);
	long wrong = 0;

	block_fill(serial, (int)n, (int)n, 0, 0, n, (uint64_t)seed);
	if (!block_factor(serial, (int)n))
		CkAbort("cholesky: LAPACK finds no factor");
	for (long j = 0; j < n; j++)
		for (long i = j; i < n; i++)
			wrong += !(fabs(l[j * n + i] - serial[j * n + i]) <= 1e-12 * sqrt((double)n));
	free(serial);
	return wrong;
}

static void end(Main *self)
{
	const double took = self->took / (double)repeat;
	const long wrong = verify ? count_wrong(self->l) : 0;

	CkPrintf("cholesky: %ld rows in tiles of %ld on %d PEs, %.3f ms, %.1f GFlop/s: %s\n", n,
		 width, CkNumPes(), took * 1e3, (double)n * (double)n * (double)n / 3e9 / took,
		 wrong ? "WRONG" : verify ? "checked" : "done");
	if (wrong)
		CkError("cholesky: %ld numbers differ from LAPACK's\n", wrong);
	free(self->l);
	CkExit(wrong ? 1 : 0);
}

void Main_on_part(Main *self, int row, int column, int count, const double *v)
{
	const int rows = size_of(row);

	for (int j = 0; j < count / rows; j++)
		memcpy(self->l + (column * width + j) * n + row * width, v + j * rows,
		       (size_t)rows * sizeof *v);
	if (++self->parts == (long)n_rows() * (n_rows() + 1) / 2)
		end(self);
}

#include "cholesky.def.h"
