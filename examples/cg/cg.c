/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cg: solves a sparse system of equations, A x = b, by conjugate gradients.
 *
 *	ckrun -n 2 ./cg --nx 100 --ny 100 --nz 100 --pieces 2
 *	CK_CHECKPOINT=saved,1s CK_LB=greedy ckrun -n 2 ./cg --nx 64 --ny 64 --nz 64 --lb 10 --repeat 20
 *
 * Each piece, an element of an array, has some rows of the matrix and their part of each vector. In
 * an iteration it puts its part of p to the pieces whose rows touch it, multiplies when theirs have
 * come, and takes part in two reductions, whose results go to all pieces.
 *
 * Shows   named channels between elements that move and can be saved: a put writes the neighbour's
 *         part of the vector to where the matrix reads it, one handler runs when all have come
 *         (`count`), and nothing is packed. A reduction to the elements that contribute to it
 *         (X_cb_f_all), MPI's allreduce. `pup Piece { ... }` with tables of channels.
 * Checks  the residual b - A x, by one processor; x and the number of iterations against a serial
 *         run.
 *
 * A put needs a receiver that is ready. A piece says so when it has multiplied, before it
 * contributes to the reduction that follows; its neighbours put again only when they have that
 * reduction's result.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "../memory.h"
#include "rows.h"
#include "cg.decl.h"

/* A NaN; vectors have numbers. */
#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de)

struct Main {
	double began, took;
	long solves, iterations;        /* systems solved, and all of their iterations */
	double *x;                      /* the last solution, */
	long parts;                     /* of which so many pieces have come */
};

struct Piece {
	struct rows rows;
	int n, *other;                  /* pieces whose rows touch ours, and the other way round */
	double *p;                      /* the direction, in all columns that our rows touch */
	double *x, *r;                  /* the solution and the residual, */
	double *q;                      /* and A p, in our rows */
	CkChannel **from, **to;         /* of each of the others: into p, and from its own part */
	double rho, enough;             /* r r, and when to stop */
	long iteration;
	bool has_own, has_theirs;       /* parts of p that are as new as this iteration */
};

static double *vector(long n) { return get(n, sizeof(double)); }

static void make_rows(struct rows *m, struct range rows)
{
	if (!rows_init(m, grid, rows))
		CkAbort("cg: no memory for %ld rows of the matrix", range_length(rows));
}

/* The residual's product with itself at which to stop. */
static double small_enough(double first_rho)
{
	return first_rho * pow(10, (double)(-2 * digits));
}

/* ---- where the parts of a piece are -----------------------------------------------------------
 * */

static struct range rows_at(int i) { return grid_part(grid, i, n_pieces); }
static struct range columns_at(int i) { return grid_columns(grid, rows_at(i)); }
static struct range rows_of(const Piece *self) { return rows_at(Piece_thisIndex(self)); }
static struct range columns_of(const Piece *self) { return columns_at(Piece_thisIndex(self)); }
static size_t bytes_of(struct range r) { return (size_t)range_length(r) * sizeof(double); }

/* The part of p that another piece has and our rows touch. */
static struct range theirs(const Piece *self, int other)
{
	return range_both(columns_of(self), rows_at(other));
}

/* The part that is ours and that its rows touch. */
static struct range ours(const Piece *self, int other)
{
	return range_both(rows_of(self), columns_at(other));
}

/* Where both are. */
static double *received(const Piece *self, int i)
{
	return self->p + (theirs(self, self->other[i]).first - columns_of(self).first);
}

static double *sent(const Piece *self, int i)
{
	return self->p + (ours(self, self->other[i]).first - columns_of(self).first);
}

/* ---- a piece ----------------------------------------------------------------------------------
 * */

static void find_others(Piece *self)
{
	self->other = get(n_pieces, sizeof *self->other);
	self->from = get(n_pieces, sizeof(CkChannel *));
	self->to = get(n_pieces, sizeof(CkChannel *));
	for (int i = 0; i < n_pieces; i++)
		if (i != Piece_thisIndex(self) && range_length(theirs(self, i)) > 0)
			self->other[self->n++] = i;
}

static void connect_to(Piece *self, int i)
{
	const CProxyElement_Piece other = Piece_at(pieces, self->other[i]);

	self->from[i] = Piece_halo_from_oob(self, other.ck, 0, received(self, i),
					    bytes_of(theirs(self, self->other[i])), OUT_OF_BAND);
	self->to[i] = Piece_halo_to(self, other, 0, sent(self, i), bytes_of(ours(self, self->other[i])));
}

void Piece_on_new(Piece *self)
{
	const size_t p_bytes = bytes_of(columns_of(self));

	make_rows(&self->rows, rows_of(self));
	self->p = CkDirect_alloc(p_bytes);
	memset(self->p, 0, p_bytes);
	self->x = vector(range_length(rows_of(self)));
	self->r = vector(range_length(rows_of(self)));
	self->q = vector(range_length(rows_of(self)));
	find_others(self);
	for (int i = 0; i < self->n; i++)
		connect_to(self, i);
	CkContributeBarrier(self, Main_cb_made(mainProxy));
}

static void contribute(Piece *self, double product, CkCallback target)
{
	CkContribute(self, &product, 1, CkReduction_sum_double, target);
}

void Piece_on_begin(Piece *self)
{
	self->iteration = 0;
	contribute(self, rows_begin(&self->rows, (uint64_t)seed, self->x, self->r),
		   Piece_cb_residual_all(pieces));
}

/* Goes on when p is new in all columns: in our own part and in the others', which come in any
 * order. */
static void multiply(Piece *self)
{
	double product;

	if (!self->has_own || (self->n && !self->has_theirs))
		return;
	self->has_own = self->has_theirs = false;
	product = rows_multiply(&self->rows, self->p, self->q);
	Piece_halo_ready(self);
	contribute(self, product, Piece_cb_curvature_all(pieces));
}

void Piece_on_halo(Piece *self)
{
	self->has_theirs = true;
	multiply(self);
}

static void exchange(Piece *self)
{
	CkChannelPutAll(self->to, self->n);
	self->has_own = true;
	multiply(self);
}

void Piece_on_curvature(Piece *self, double p_a_p)
{
	const double *own = self->p + rows_own(&self->rows);

	self->iteration++;
	contribute(self,
		   rows_step(range_length(self->rows.rows), self->rho / p_a_p, own, self->q,
			     self->x, self->r),
		   Piece_cb_residual_all(pieces));
}

/* The new direction; in the first iteration the residual itself. */
static void turn(Piece *self, double rho)
{
	const double beta = self->iteration ? rho / self->rho : 0;

	rows_turn(range_length(rows_of(self)), beta, self->r, self->p + rows_own(&self->rows));
	self->rho = rho;
	if (!self->iteration)
		self->enough = small_enough(rho);
}

void Piece_on_residual(Piece *self, double rho)
{
	turn(self, rho);
	if (rho <= self->enough)
		CkContribute(self, &self->iteration, 1, CkReduction_max_long, Main_cb_solved(mainProxy));
	else if (lb && self->iteration % lb == lb - 1)
		CkAtSync(self);
	else
		exchange(self);
}

void Piece_on_resumeFromSync(Piece *self)
{
	exchange(self);
}

void Piece_on_show(Piece *self)
{
	Main_part(mainProxy, Piece_thisIndex(self), (int)range_length(rows_of(self)), self->x);
	for (int i = 0; i < self->n; i++) {
		CkChannelDestroy(self->from[i]);
		CkChannelDestroy(self->to[i]);
	}
	rows_fini(&self->rows);
	CkDirect_free(self->p);
	free(self->other);
	free(self->from);
	free(self->to);
	free(self->x);
	free(self->r);
	free(self->q);
}

/* ---- the main chare ---------------------------------------------------------------------------
 * */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"nx", &grid.nx, 16, 1, 1000, "points of the grid"},
		{"ny", &grid.ny, 16, 1, 1000, "points of the grid"},
		{"nz", &grid.nz, 16, 1, 1000, "points of the grid; 1: it is flat"},
		{"pieces", &n_pieces, 8, 1, 10000, "chares that share the rows"},
		{"digits", &digits, 8, 1, 12, "by which the residual becomes smaller"},
		{"repeat", &repeat, 1, 1, 1000000, "times that the system is solved"},
		{"lb", &lb, 0, 0, 1000000, "iterations after which CK_LB may move pieces; 0: never"},
		{"serial", &serial, 1, 0, 1, "1: compare with a serial run"},
		{"seed", &seed, 1, 0, 1000000000, "of the right side"},
	};

	if (!args_read("cg", m, args, sizeof args / sizeof *args))
		return;
	if (n_pieces > grid_points(grid) || grid_points(grid) > INT32_MAX / 7) {
		CkError("cg: %ld rows cannot be cut into %ld pieces\n", grid_points(grid), n_pieces);
		CkExit(1);
		return;
	}
	mainProxy = Main_thisProxy(self);
	self->x = vector(grid_points(grid));
	pieces = Piece_ckNew(CkDims((int)n_pieces));
}

void Main_on_made(Main *self)
{
	self->began = CkWallTimer();
	Piece_begin_all(pieces);
}

void Main_on_solved(Main *self, long iterations)
{
	self->iterations += iterations;
	self->took = CkWallTimer() - self->began;
	if (++self->solves < repeat)
		Piece_begin_all(pieces);
	else
		Piece_show_all(pieces);
}

/* The length of b - A x over that of b. */
static double error_of(const struct rows *m, const double *x)
{
	const long n = range_length(m->rows);
	double *zero = vector(n), *b = vector(n), *q = vector(n);
	const double first = rows_begin(m, (uint64_t)seed, zero, b);
	double rest;

	rows_multiply(m, x, q);
	rest = rows_step(n, 1, x, q, zero, b);
	free(zero);
	free(b);
	free(q);
	return sqrt(rest / first);
}

/* The same by one processor. Returns the number of iterations. */
static long solve_serially(const struct rows *m, double *x)
{
	const long n = range_length(m->rows);
	double *p = vector(n), *q = vector(n), *r = vector(n);
	double rho = rows_begin(m, (uint64_t)seed, x, r), beta = 0;
	const double enough = small_enough(rho);
	long iteration = 0;

	for (; rho > enough; iteration++) {
		const double last = rho;

		rows_turn(n, beta, r, p);
		rho = rows_step(n, last / rows_multiply(m, p, q), p, q, x, r);
		beta = rho / last;
	}
	free(p);
	free(q);
	free(r);
	return iteration;
}

/* Whether two solutions agree, as far as their residuals tell: sums were added in another order. */
static bool is_close(const double *x, const double *y, long n)
{
	double apart = 0, largest = 0;

	for (long i = 0; i < n; i++) {
		apart = fmax(apart, fabs(x[i] - y[i]));
		largest = fmax(largest, fabs(y[i]));
	}
	return apart <= largest * 10 * pow(10, (double)-digits);
}

static bool is_as_serially(const struct rows *m, const double *x, long iterations)
{
	double *y = vector(range_length(m->rows));
	const bool same = labs(solve_serially(m, y) - iterations) <= 1 &&
			  is_close(x, y, range_length(m->rows));

	free(y);
	return same;
}

static void end(Main *self)
{
	const long iterations = self->iterations / repeat;
	struct rows whole;
	double error;
	bool right;

	make_rows(&whole, (struct range){ 0, grid_points(grid) });
	error = error_of(&whole, self->x);
	right = error <= 2 * pow(10, (double)-digits) &&
		(!serial || is_as_serially(&whole, self->x, iterations));
	CkPrintf("cg: %ld unknowns in %ld pieces on %d PEs, %ld iterations of %.2f us, residual "
		 "%.1e: %s\n",
		 grid_points(grid), n_pieces, CkNumPes(), iterations,
		 self->took * 1e6 / (double)self->iterations, error, right ? "checked" : "WRONG");
	rows_fini(&whole);
	free(self->x);
	CkExit(right ? 0 : 1);
}

void Main_on_part(Main *self, int piece, int n, const double *x)
{
	memcpy(self->x + grid_part(grid, piece, n_pieces).first, x, (size_t)n * sizeof *x);
	if (++self->parts == n_pieces)
		end(self);
}

#include "cg.def.h"
