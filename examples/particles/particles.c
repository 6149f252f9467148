/* SPDX-License-Identifier: Apache-2.0 */
/*
 * particles: particles fly through a box that is cut into cells; the cells are chares that move from PE to PE.
 *
 *	ckrun -n 2 ./particles --columns 8 --rows 6 --particles 5000 --steps 200 --move 5
 *	CK_LB=cuts ckrun -n 2 ./particles --spread 30 --particles 50000 --steps 200 --move 0 --lb 10
 *	CK_CHECKPOINT=memory,1s ckrun --replace 1 -n 2 ./particles --particles 50000 --move 0 --lb 10
 *
 * Shows   elements that move by themselves (CkMigrateMe) or to balance PEs (CkAtSync): `pup
 *         Cell { ... }` in the .ci file lists what goes along, and the rest of the program does not
 *         know where a cell is. With --lb the job can also be saved in each sync (CK_CHECKPOINT);
 *         only `pup Main` was added for that. An array [2D], arrays of structs as parameters.
 * Checks  every particle of the last step, bit for bit, against a serial run; so with --move, with --lb or without, on
 *         any number of PEs, the hash is the same.
 *
 * In each step a cell moves its particles and sends those that have left it to its eight neighbours, to each a call,
 * even without particles. When the eight calls of its own neighbours have come, the step is over. As in wave2d a
 * neighbour can be one step ahead, not two.
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "../random.h"
#include "particle.h"
#include "particles.decl.h"

enum { NEIGHBOURS = 8 };

struct Main {
	CProxy_Cell cells;
	double started, took;
	struct particle *serial; /* by id */
	long moves, parts, wrong;
	uint64_t hash;
};

struct Cell {
	int step;
	int n, n_came, n_early;
	struct particle *p;      /* in the order of their ids */
	struct particle *came;   /* from the neighbours, in this step */
	struct particle *early;  /* and for the next */
	int arrived, arrived_early; /* calls of neighbours */
	int n_moves;
	bool syncing;            /* CkAtSync was called, and resumeFromSync has not come yet */
};

static void *get(void *old, size_t n, size_t size)
{
	void *p = realloc(old, (n ? n : 1) * size);

	if (!p)
		CkAbort("particles: no memory for %zu particles", n);
	return p;
}

static struct particle first(long id)
{
	const double unit = 0x1p-53;
	double r[4];

	for (int i = 0; i < 4; i++)
		r[i] = (double)(random_at((uint64_t)seed, 4 * (uint64_t)id + (uint64_t)i) >> 11) * unit;
	return (struct particle){ r[0] * (double)columns * (double)spread / 100, r[1] * (double)rows, 0.6 * r[2] - 0.3, 0.6 * r[3] - 0.3, id };
}

static bool is_in(const struct particle *p, CkIndex2D cell)
{
	return (int)p->x == cell.x && (int)p->y == cell.y;
}

/* ---- a cell ----------------------------------------------------------------------------- */

static void append(struct particle **list, int *n, int n_more, const struct particle *more)
{
	*list = get(*list, (size_t)(*n + n_more), sizeof **list);
	if (n_more)
		memcpy(*list + *n, more, (size_t)n_more * sizeof *more);
	*n += n_more;
}

static void move_particles(Cell *c)
{
	struct crowd crowd = { 0 };

	for (int i = 0; i < c->n; i++)
		crowd_add(&crowd, &c->p[i]);
	for (int i = 0; i < c->n; i++)
		particle_move(&c->p[i], &crowd, columns, rows);
}

/* Neighbour `k` of eight; the box is a torus. */
static CkIndex2D neighbour(CkIndex2D i, int k)
{
	const int at = k < 4 ? k : k + 1;    /* of 3 x 3, without the middle */

	i.x = (int)((i.x + at % 3 - 1 + columns) % columns);
	i.y = (int)((i.y + at / 3 - 1 + rows) % rows);
	return i;
}

/* A neighbour that is there twice, because the box is narrow, gets its particles once. */
static void send_to(Cell *c, CkIndex2D to, struct particle *out)
{
	int n = 0, n_stay = 0;

	for (int i = 0; i < c->n; i++)
		if (is_in(&c->p[i], to))
			out[n++] = c->p[i];
		else
			c->p[n_stay++] = c->p[i];
	c->n = n_stay;
	Cell_enter(Cell_at(Cell_thisProxy(c), to.x, to.y), c->step, n, out);
}

static void begin_step(Cell *c)
{
	struct particle *out = get(NULL, (size_t)c->n, sizeof *out);

	move_particles(c);
	for (int k = 0; k < NEIGHBOURS; k++)
		send_to(c, neighbour(Cell_thisIndex(c), k), out);
	free(out);
}

static int by_id(const void *a, const void *b)
{
	const struct particle *p = a, *q = b;

	return (p->id > q->id) - (p->id < q->id);
}

static void end_step(Cell *c)
{
	append(&c->p, &c->n, c->n_came, c->came);
	qsort(c->p, (size_t)c->n, sizeof *c->p, by_id);
	free(c->came);
	c->came = c->early;
	c->n_came = c->n_early;
	c->arrived = c->arrived_early;
	c->early = NULL;
	c->n_early = c->arrived_early = 0;
	c->step++;
}

/* Anywhere, by a pattern that each cell knows by itself. The cell leaves when the handler has ended. Calls find it. */
static void wander(Cell *c)
{
	CkIndex2D i = Cell_thisIndex(c);
	uint64_t draw = (uint64_t)(c->step * columns + i.x) * (uint64_t)rows + (uint64_t)i.y;

	c->n_moves++;
	CkMigrateMe(c, (int)random_below((uint64_t)seed + 1, draw, CkNumPes()));
}

static void next_step(Cell *c)
{
	if (c->step < steps) {
		begin_step(c);
	} else {
		const long sums[] = { c->n, c->n_moves };

		CkContribute(c, sums, 2, CkReduction_sum_long, Main_cb_ran(mainProxy));
	}
}

/* Go as far as the calls that have come allow. */
static void advance(Cell *c)
{
	while (c->step < steps && c->arrived == NEIGHBOURS && !c->syncing) {
		end_step(c);
		if (lb && c->step % lb == 0) {
			c->syncing = true;
			CkAtSync(c);
		} else {
			next_step(c);
		}
		if (move && c->step % move == 0)
			wander(c);
	}
}

/* Calls that came meanwhile have been counted. */
void Cell_on_resumeFromSync(Cell *c)
{
	c->syncing = false;
	next_step(c);
	advance(c);
}

void Cell_on_new(Cell *c)
{
	for (long id = 0; id < particles; id++) {
		struct particle p = first(id);

		if (is_in(&p, Cell_thisIndex(c)))
			append(&c->p, &c->n, 1, &p);
	}
	CkContributeBarrier(c, Main_cb_made(mainProxy));
	begin_step(c);
}

void Cell_on_enter(Cell *c, int step, int n, const struct particle *p)
{
	if (step == c->step) {
		append(&c->came, &c->n_came, n, p);
		c->arrived++;
	} else {
		append(&c->early, &c->n_early, n, p);
		c->arrived_early++;
	}
	advance(c);
}

void Cell_on_show(Cell *c)
{
	Main_part(mainProxy, c->n, c->p);
	free(c->p);
	free(c->came);
	free(c->early);
	c->p = c->came = c->early = NULL;
	c->n = c->n_came = c->n_early = 0;
}

/* ---- the main chare ------------------------------------------------------------------ */

/* The particles of a cell are added in the order of their ids here, too. */
static void serial_step(struct particle *p, struct crowd *crowds)
{
	memset(crowds, 0, (size_t)(columns * rows) * sizeof *crowds);
	for (long id = 0; id < particles; id++)
		crowd_add(&crowds[(long)p[id].x * rows + (long)p[id].y], &p[id]);
	for (long id = 0; id < particles; id++)
		particle_move(&p[id], &crowds[(long)p[id].x * rows + (long)p[id].y], columns, rows);
}

static struct particle *run_serially(void)
{
	struct particle *p = get(NULL, (size_t)particles, sizeof *p);
	struct crowd *crowds = get(NULL, (size_t)(columns * rows), sizeof *crowds);

	for (long id = 0; id < particles; id++)
		p[id] = first(id);
	for (long step = 0; step < steps; step++)
		serial_step(p, crowds);
	free(crowds);
	return p;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"columns", &columns, 6, 1, 1000, "cells from left to right"},
		{"rows", &rows, 4, 1, 1000, "cells from top to bottom"},
		{"particles", &particles, 600, 1, 10000000, "particles in all cells"},
		{"steps", &steps, 50, 1, 1000000, "steps in time"},
		{"move", &move, 3, 0, 1000000, "steps after which every cell moves to another PE; 0: never"},
		{"lb", &lb, 0, 0, 1000000, "steps after which CK_LB may move cells; 0: never"},
		{"spread", &spread, 100, 1, 100, "percent of the columns in which particles begin"},
		{"seed", &seed, 1, 0, 1000000000, "of particles and moves"},
	};

	if (!args_read("particles", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->cells = Cell_ckNew(CkDims((int)columns, (int)rows));
}

/* Each cell has looked at all particles. That is not what this program is about. */
void Main_on_made(Main *self)
{
	self->started = CkWallTimer();
}

void Main_on_ran(Main *self, long n, long moves)
{
	self->took = CkWallTimer() - self->started;
	self->moves = moves;
	if (n != particles)
		CkAbort("particles: %ld of %ld particles are left", n, particles);
	self->serial = run_serially();
	Cell_show_all(self->cells);
}

static uint64_t hash_of(const struct particle *p)
{
	uint64_t h = (uint64_t)p->id, word;
	const double v[] = { p->x, p->y, p->vx, p->vy };

	for (int i = 0; i < 4; i++) {
		memcpy(&word, &v[i], sizeof word);
		h = random_mix(h ^ word) + (uint64_t)i;
	}
	return h;
}

static void end(Main *self)
{
	bool right = !self->wrong;

	CkPrintf("particles: %ld in %ld x %ld cells on %d PEs, %ld steps and %ld moves in %.1f ms, hash %016llx: %s\n",
		 particles, columns, rows, CkNumPes(), steps, self->moves, self->took * 1e3,
		 (unsigned long long)self->hash, right ? "checked" : "WRONG");
	if (!right)
		CkError("particles: %ld particles differ from the serial run\n", self->wrong);
	free(self->serial);
	CkExit(right ? 0 : 1);
}

void Main_on_part(Main *self, int n, const struct particle *p)
{
	for (int i = 0; i < n; i++) {
		self->wrong += memcmp(&p[i], &self->serial[p[i].id], sizeof *p) != 0;
		self->hash += hash_of(&p[i]);
	}
	if (++self->parts == columns * rows)
		end(self);
}

#include "particles.def.h"
