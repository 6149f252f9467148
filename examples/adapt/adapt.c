/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adapt: a line that is fine where something happens. Two fronts travel along it; a block that a front comes near splits
 * into two finer ones, and when the front has gone they merge again.
 *
 *	ckrun -n 4 ./adapt --phases 100 --levels 9
 *	CK_LB=greedy ckrun -n 4 ./adapt --phases 100 --levels 9
 *
 * Shows   insertion, destruction and load balancing together. Blocks are inserted where the block is that splits, so
 *         without CK_LB all of them stay on one PE. With it they are spread at the end of each phase (CkAtSync), also
 *         those that have just been born. Nobody but the balancer knows where a block is.
 * Checks  every cell of the last phase, bit for bit, against a serial run, and the number of blocks after each phase.
 *
 * Blocks that have halves stay in the array; they have no cells and nothing to compute. In a phase each leaf computes, and
 * then splits, or reports to the block above that no front is near it. A block that hears so from both halves lets them
 * yield: they send it their cells and end. Quiescence tells when all this is over.
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "../random.h"
#include "adapt.decl.h"

struct Main {
	double started, took;
	int phase;
	long *leaves;           /* after each phase */
	struct line *serial;
	long parts, wrong, made, destroyed;
	uint64_t hash;
};

struct Block {
	int since;              /* the phase in which it became a leaf */
	int phase, n_reports, n_taken; /* of a block with halves: whom it has heard in this phase */
	int n;
	double *u;              /* [n] cells of a leaf */
};

static double *new_cells(Block *b)
{
	b->n = CELLS;
	b->u = malloc(CELLS * sizeof *b->u);
	if (!b->u)
		CkAbort("adapt: no memory for %d cells", CELLS);
	return b->u;
}

static void drop_cells(Block *b)
{
	free(b->u);
	b->u = NULL;
	b->n = 0;
}

static CProxyElement_Block above(CkIndex2D me) { return Block_at(line, me.x - 1, me.y / 2); }

static CProxyElement_Block half_of(CkIndex2D me, int half) { return Block_at(line, me.x + 1, 2 * me.y + half); }

/* ---- a block ----------------------------------------------------------------------------- */

void Block_on_new(Block *b, int since, int n, const double *u)
{
	b->since = since;
	memcpy(new_cells(b), u, (size_t)n * sizeof *u);
}

static void split(Block *b, int phase)
{
	double part[CELLS];

	for (int half = 0; half < 2; half++) {
		cells_split(b->u, half, part);
		Block_insert(half_of(Block_thisIndex(b), half), CkMyPe(), phase, CELLS, part);
	}
	drop_cells(b);
}

/* The call may reach blocks that were born in this phase, too; they have nothing to do. */
void Block_on_step(Block *b, int phase)
{
	const struct problem p = { .levels = levels, .work = work };
	CkIndex2D me = Block_thisIndex(b);

	if (!b->u || b->since >= phase || b->n_taken)
		return;
	cells_step(&p, me.x, me.y, phase, b->u);
	if (!cells_near(me.x, me.y, phase)) {
		if (me.x > 0)
			Block_report(above(me), phase);
	} else if (me.x < levels) {
		split(b, phase);
	}
}

/* A half is a leaf, and no front is near it. It may say so before this block hears that the phase has begun. */
void Block_on_report(Block *b, int phase)
{
	if (b->phase != phase)
		b->n_reports = 0;
	b->phase = phase;
	if (++b->n_reports == 2)
		for (int half = 0; half < 2; half++)
			Block_yield(half_of(Block_thisIndex(b), half));
}

void Block_on_yield(Block *b)
{
	CkIndex2D me = Block_thisIndex(b);

	Block_take(above(me), me.y % 2, b->n, b->u);
	drop_cells(b);
	CkDestroy(b);
}

void Block_on_take(Block *b, int half, int n, const double *u)
{
	(void)n;
	cells_merge(u, half, b->u ? b->u : new_cells(b));
	if (++b->n_taken < 2)
		return;
	b->n_taken = 0;
	b->since = b->phase;
}

void Block_on_balance(Block *b)
{
	CkAtSync(b);
}

void Block_on_resumeFromSync(Block *b)
{
	const long leaf = b->u != NULL;

	CkContribute(b, &leaf, 1, CkReduction_sum_long, Main_cb_balanced(mainProxy));
}

void Block_on_show(Block *b)
{
	CkIndex2D me = Block_thisIndex(b);

	if (b->u)
		Main_part(mainProxy, me.x, me.y, b->n, b->u);
	drop_cells(b);
}

/* ---- the main chare ---------------------------------------------------------------------- */

static void begin_phase(Main *self)
{
	Block_step_all(line, self->phase);
	CkStartQD(Main_cb_settled(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"levels", &levels, 6, 0, LEVELS_MOST, "the finest blocks are one of 2 to the power of this"},
		{"work", &work, 3, 0, 1000000, "sweeps over a block in each phase"},
		{"phases", &phases, 30, 1, 1000000, "in each of which blocks split, merge and may move"},
	};
	double u[CELLS];

	if (!args_read("adapt", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->started = CkWallTimer();
	self->leaves = calloc((size_t)phases, sizeof *self->leaves);
	if (!self->leaves)
		CkAbort("adapt: no memory for %ld phases", phases);
	cells_first(0, 0, u);
	line = Block_ckNewEmpty();
	Block_insert(Block_at(line, 0, 0), CkMyPe(), -1, CELLS, u);
	CkStartQD(Main_cb_next(mainProxy));
}

/* No call is under way: all blocks of this phase exist. */
void Main_on_settled(Main *self)
{
	(void)self;
	Block_doneInserting(line);
	Block_balance_all(line);
}

/* The calls to balance have come everywhere only when nothing is under way: a block that is inserted before would get
 * them, too. */
void Main_on_balanced(Main *self, long leaves)
{
	self->leaves[self->phase++] = leaves;
	CkStartQD(Main_cb_next(mainProxy));
}

static void run_serially(Main *self)
{
	const struct problem p = { .levels = levels, .work = work };

	self->serial = line_create();
	for (int phase = 0; phase < phases; phase++) {
		line_step(&p, self->serial, phase, &self->made, &self->destroyed);
		if (line_leaves(self->serial) == self->leaves[phase])
			continue;
		CkError("adapt: %ld blocks with cells after phase %d; right are %ld\n", self->leaves[phase], phase,
			line_leaves(self->serial));
		self->wrong++;
	}
}

void Main_on_next(Main *self)
{
	if (self->phase < phases) {
		Block_beginInserting(line);
		begin_phase(self);
		return;
	}
	self->took = CkWallTimer() - self->started;
	run_serially(self);
	Block_show_all(line);
}

static void end(Main *self)
{
	CkPrintf("adapt: %ld phases, %ld blocks made and %ld destroyed, %ld left, on %d PEs in %.1f ms, hash %016llx: %s\n",
		 phases, self->made, self->destroyed, self->leaves[phases - 1], CkNumPes(), self->took * 1e3,
		 (unsigned long long)self->hash, self->wrong ? "WRONG" : "checked");
	line_free(self->serial);
	free(self->leaves);
	CkExit(self->wrong ? 1 : 0);
}

void Main_on_part(Main *self, int level, int x, int n, const double *u)
{
	const double *right = line_find(self->serial, level, x);
	uint64_t word;

	if (!right || memcmp(u, right, (size_t)n * sizeof *u)) {
		CkError("adapt: block %d of level %d %s\n", x, level, right ? "has other cells" : "should not be there");
		self->wrong++;
	}
	for (int i = 0; i < n; i++) {
		memcpy(&word, &u[i], sizeof word);
		self->hash += random_mix(word ^ random_mix((uint64_t)level << 40 | (uint64_t)x << 8 | (uint64_t)i));
	}
	if (++self->parts == self->leaves[phases - 1])
		end(self);
}

#include "adapt.def.h"
