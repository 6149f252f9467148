/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jacobi2d.c: heat in a plate that is cut into blocks, until the largest change is small. Named
 * channels with a set, one of them strided, an uneven load and CkAtSync. Written from the guide
 * alone (docs/decisions/0105); every step and every cell is compared with a serial run.
 */
#include <stdlib.h>
#include <string.h>

#include "jacobi2d.decl.h"

enum { UP, DOWN, LEFT, RIGHT };         /* a block's sides; s ^ 1 is the opposite one */
static const double ENOUGH = 0.01;

struct Main { double *plate; int n_steps, n_parts, n_wrong; double residual; };
struct Block {
	double *u, *next;               /* with a rim of one cell */
	double *ghost[4];               /* what the neighbours put; NULL at the plate's edge */
	CkChannel *from[4], *to[4];
	int n_sides, n_missing, n_steps;
	double change;
};

static size_t cells(void) { return ((size_t)side + 2) * ((size_t)side + 2); }

/* One sweep over n x n cells with a rim. Returns the largest change. */
static double sweep(const double *u, double *next, int n)
{
	int w = n + 2;
	double largest = 0;

	for (int y = 1; y <= n; y++) {
		for (int x = 1; x <= n; x++) {
			const double *c = &u[y * w + x];
			double now = 0.25 * (c[-w] + c[w] + c[-1] + c[1]);
			double change = now > *c ? now - *c : *c - now;

			next[y * w + x] = now;
			largest = change > largest ? change : largest;
		}
	}
	return largest;
}

static void take(double *u, const double *next, int n)
{
	for (int y = 1; y <= n; y++)
		memcpy(&u[y * (n + 2) + 1], &next[y * (n + 2) + 1], (size_t)n * sizeof *u);
}

/* The rim of the plate: only its upper edge is hot. */
static void heat(double *u, int n, int first_column)
{
	for (int x = 1; x <= n; x++)
		u[x] = 100 + (first_column + x) % 7;
}

static void solve(Main *self)
{
	int n = n_blocks * side;
	double *next = calloc((size_t)(n + 2) * (n + 2), sizeof *next);

	self->plate = calloc((size_t)(n + 2) * (n + 2), sizeof *self->plate);
	heat(self->plate, n, 0);
	do {
		self->residual = sweep(self->plate, next, n);
		take(self->plate, next, n);
		self->n_steps++;
	} while (self->residual > ENOUGH);
	free(next);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	n_blocks = m->argc > 1 ? atoi(m->argv[1]) : 4;
	side = m->argc > 2 ? atoi(m->argv[2]) : 8;
	sync_every = m->argc > 3 ? atoi(m->argv[3]) : 10;
	mainProxy = Main_thisProxy(self);
	Block_ckNew(CkDims(n_blocks, n_blocks));
	solve(self);
}

void Main_on_part(Main *self, int x, int y, int n_steps, double residual, const double *v)
{
	int w = n_blocks * side + 2;

	self->n_wrong += n_steps != self->n_steps || residual != self->residual;
	for (int r = 0; r < side; r++)
		self->n_wrong += memcmp(&self->plate[(y * side + r + 1) * w + x * side + 1],
					&v[r * side], (size_t)side * sizeof *v) != 0;
	if (++self->n_parts < n_blocks * n_blocks)
		return;
	CkPrintf("%d steps, residual %.15f, %d wrong\n", n_steps, residual, self->n_wrong);
	free(self->plate);
	CkExit(self->n_wrong ? 1 : 0);
}

static double *edge_of(const Block *self, int s)
{
	int w = side + 2;

	return self->u + (s == UP ? w + 1 : s == DOWN ? side * w + 1 : s == LEFT ? w + 1 : w + side);
}

static void join(Block *self, int s, int x, int y)
{
	CProxyElement_Block other = Block_at(Block_thisProxy(self), x, y);
	CkDirectStrides column = {.block_bytes = sizeof(double), .blocks = side,
				  .stride_bytes = (side + 2) * sizeof(double)};

	if (x < 0 || y < 0 || x == n_blocks || y == n_blocks)
		return;
	self->n_sides++;
	self->ghost[s] = CkDirect_alloc(side * sizeof(double));
	self->from[s] = Block_edges_from(self, other, s, self->ghost[s], side * sizeof(double));
	if (s == UP || s == DOWN)
		self->to[s] = Block_edges_to(self, other, s ^ 1, edge_of(self, s),
					     side * sizeof(double));
	else
		self->to[s] = Block_edges_to_strided(self, other, s ^ 1, edge_of(self, s), column);
}

static void put(Block *self)
{
	for (int s = 0; s < 4; s++)
		if (self->to[s])
			CkChannelPut(self->to[s]);
}

static void hear(Block *self);

void Block_on_new(Block *self)
{
	CkIndex2D at = Block_thisIndex(self);

	self->u = calloc(cells(), sizeof *self->u);
	self->next = calloc(cells(), sizeof *self->next);
	if (at.y == 0)
		heat(self->u, side, at.x * side);
	join(self, UP, at.x, at.y - 1);
	join(self, DOWN, at.x, at.y + 1);
	join(self, LEFT, at.x - 1, at.y);
	join(self, RIGHT, at.x + 1, at.y);
	self->n_missing = 1 + (self->n_sides > 0);
	put(self);
	hear(self);
}

static void take_ghosts(Block *self)
{
	int w = side + 2;

	for (int i = 1; i <= side; i++) {
		if (self->from[UP])
			self->u[i] = self->ghost[UP][i - 1];
		if (self->from[DOWN])
			self->u[(side + 1) * w + i] = self->ghost[DOWN][i - 1];
		if (self->from[LEFT])
			self->u[i * w] = self->ghost[LEFT][i - 1];
		if (self->from[RIGHT])
			self->u[i * w + side + 1] = self->ghost[RIGHT][i - 1];
	}
}

static void contribute(Block *self)
{
	CkContribute(self, &self->change, 1, CkReduction_max_double,
		     Block_cb_residual_all(Block_thisProxy(self)));
}

/* The last result has come, or the neighbours' edges have. With both the next sweep is possible. */
static void hear(Block *self)
{
	CkIndex2D at = Block_thisIndex(self);

	if (--self->n_missing > 0)
		return;
	self->n_missing = 1 + (self->n_sides > 0);
	take_ghosts(self);
	for (int i = at.x < n_blocks / 2 && at.y < n_blocks / 2 ? 20 : 1; i > 0; i--) /* uneven */
		self->change = sweep(self->u, self->next, side);
	Block_edges_ready(self);
	if (++self->n_steps % sync_every == 0)
		CkAtSync(self);
	else
		contribute(self);
}

void Block_on_edges(Block *self)
{
	hear(self);
}

void Block_on_resumeFromSync(Block *self)
{
	contribute(self);
}

void Block_on_residual(Block *self, double largest)
{
	CkIndex2D at = Block_thisIndex(self);

	take(self->u, self->next, side);
	if (largest > ENOUGH) {
		put(self);
		hear(self);
		return;
	}
	for (int y = 0; y < side; y++)                  /* without the rim */
		memcpy(&self->next[y * side], &self->u[(y + 1) * (side + 2) + 1],
		       (size_t)side * sizeof *self->u);
	Main_part(mainProxy, at.x, at.y, self->n_steps, largest, self->next);
	free(self->u);
	free(self->next);
	self->u = self->next = NULL;
}

#include "jacobi2d.def.h"
