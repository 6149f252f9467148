/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance: all elements sync in every step; with CK_LB they move then. Meanwhile there are calls with a condition,
 * reductions, broadcasts and multicasts; bodies of Structured Dagger that sync in a loop; and elements that are
 * inserted and destroyed between two syncs. Each result is known beforehand. `balance [steps]`.
 *
 * With CK_LB=rotate every element of several PEs must have moved in every step.
 */
#include "check.h"

#include <malloc.h>
#include <stdlib.h>

struct Main {
	int n_sums, n_over, n_leaves;
	size_t in_use;           /* bytes of this process after so many steps that everything has been needed */
	long leaf_syncs, moves;
};

struct Cell {
	int step, n_got, n_shouts, n_odd, n_moves;
	long sum;
	bool waits;
	CkSection odd;
	long *more;
	int n_more;
};

struct Grid {
	long sum;
	int n_moves;
	bool waits;
};

struct Leaf {
	int step, last;
	bool waits;
};

enum { N = 24, NX = 5, NY = 4, SUM_EVERY = 3, SHOUT_EVERY = 4, ODD_EVERY = 5, LIVES = 2, FIRST_LEAVES = 4 };
enum { WARM = 60, GROWTH_BYTES = 64 * 1024 };

static void send_all(struct Grid *self, int step);
static void sync_grid(struct Grid *self);
static void resumed_grid(struct Grid *self);
static void end_of_grid(struct Grid *self);

#include "balance.decl.h"

static int times(int every)
{
	return (steps + every - 1) / every;
}

static bool always_moves(void)
{
	const char *lb = getenv("CK_LB");

	return lb && strcmp(lb, "rotate") == 0 && CkNumPes() > 1;
}

/* ---- strategies of the program's own ------------------------------------------------------------------ */

/* Elements keep their order, so an array with extents is cut anew: PEs get more and fewer elements in turn, and some
 * none. */
static int strategies_arg;

static int32_t slide_to(const CkLBStats *s, size_t i, uint64_t step)
{
	const size_t shift = (size_t)(step * 5 % (s->n + 1));

	return (int32_t)((i + shift) * (size_t)s->n_pes / (2 * s->n + 1));
}

/* The elements of arrays in which none comes or goes are where the step before has put them. */
static int slide(const CkLBStats *s, int32_t *to, void *arg)
{
	const bool same = s->step && (s->n == N || s->n == NX * NY);

	CHECK(arg == &strategies_arg);
	for (size_t i = 0; i < s->n; i++) {
		if (same)
			CHECK_EQ(s->element[i].pe, slide_to(s, i, s->step - 1));
		to[i] = slide_to(s, i, s->step);
	}
	return 0;
}

static bool nearly(double a, double b)
{
	return a > b * (1 - 1e-6) && a < b * (1 + 1e-6);
}

/* Measures are what the program says, on a PE that has its core for itself: 1 ms and more for every third cell in every other sync. Everything is in order. */
static int looks(const CkLBStats *s, int32_t *to, void *arg)
{
	float before = -1;

	(void)to;
	(void)arg;
	for (int p = 0; p < s->n_pes; p++)
		CHECK(s->background[p] >= 0 && s->speed[p] > 0 && s->speed[p] <= 1);
	for (size_t i = 0; i < s->n; i++) {
		const CkLBElement *e = &s->element[i];
		const float at = (float)e->index[0] * 100 + (float)e->index[1];

		CHECK(e->pe >= 0 && e->pe < s->n_pes && e->seconds >= 0 && at > before);
		before = at;
		if (s->n == N && e->index[0] % 3 == 0) /* every other sync */
			CHECK(nearly(e->seconds * s->speed[e->pe], 0.001 * (1 + e->index[0] % 5)) == (s->step % 2 == 0));
		CHECK(s->n != N || (e->position[0] == (float)e->index[0] && e->position[1] == 1));
	}
	return -7;
}

/* Each cell has called its two neighbours once since the last sync, wherever they were; then all move. */
static int edges(const CkLBStats *s, int32_t *to, void *arg)
{
	if (s->n == N) {
		CHECK_EQ(s->n_edges, 2 * N);
		for (size_t i = 0; i < s->n_edges; i++) {
			const CkLBEdge *e = &s->edge[i];
			const uint32_t apart = (e->to + N - e->from) % N;

			CHECK_EQ(e->messages, 1);
			CHECK(apart == 1 || apart == N - 1);
			CHECK(e->bytes > 0 && (i == 0 || e[-1].from < e->from || (e[-1].from == e->from && e[-1].to < e->to)));
		}
	}
	if (s->n == NX * NY)
		CHECK_EQ(s->n_edges, 4 * NX * NY);
	return slide(s, to, arg);
}

void register_strategies(void)
{
	CkLBRegister("edges", edges, CK_LB_EDGES, &strategies_arg);
	CkLBRegister("slide", slide, 0, &strategies_arg);
	CkLBRegister("looks", looks, 0, NULL);
}

/* ---- handlers --------------------------------------------------------------------------------------- */

static long value_of(int cell, int step)
{
	return cell * 1000L + step;
}

static void begin_step(Cell *self)
{
	const int me = Cell_thisIndex(self);

	Cell_value(Cell_at(cells, (me + 1) % N), self->step, value_of(me, self->step));
	Cell_value(Cell_at(cells, (me + N - 1) % N), self->step, value_of(me, self->step));
	if (me == 0 && self->step % SHOUT_EVERY == 0)
		Cell_shout_all(cells, self->step);
	if (me == 1 && self->step % ODD_EVERY == 0)
		Cell_odd_only_section((CProxySection_Cell){ self->odd }, self->step);
}

static void end_of_cells(Cell *self)
{
	const long all[] = { self->sum, self->n_moves, self->n_shouts, self->n_odd };

	if (always_moves())
		CHECK_EQ(self->n_moves, steps);
	free(self->more);
	self->more = NULL;
	self->n_more = 0;
	CkContribute(self, all, 4, CkReduction_sum_long, Main_cb_cells_done(mainProxy));
}

/* Broadcasts and multicasts may come behind the last sync. */
static void maybe_end(Cell *self)
{
	const bool odd = Cell_thisIndex(self) % 2;

	if (self->step == steps && self->n_shouts == times(SHOUT_EVERY) && self->n_odd == (odd ? times(ODD_EVERY) : 0))
		end_of_cells(self);
}

void Cell_on_new(Cell *self)
{
	self->n_more = 1 + Cell_thisIndex(self) % 7;
	self->more = calloc((size_t)self->n_more, sizeof *self->more);
	CkSetPosition(self, (const double[]){ Cell_thisIndex(self), 1 }, 2);
	CkPin(self, false);
}

void Cell_on_arrived(Cell *self)
{
	self->n_moves++;
}

void Cell_on_go(Cell *self, CProxySection_Cell odd)
{
	self->odd = odd.ck;
	begin_step(self);
}

void Cell_on_value(Cell *self, int step, long v)
{
	CHECK(!self->waits);
	CHECK_EQ(step, self->step);
	self->sum += v;
	self->more[step % self->n_more] += v;
	if (++self->n_got < 2)
		return;
	self->n_got = 0;
	if (step % SUM_EVERY == 0)
		CkContribute(self, &self->sum, 1, CkReduction_sum_long, Main_cb_step_sum(mainProxy));
	if (Cell_thisIndex(self) % 3 == 0 && step % 2 == 0)
		CkSetLoad(self, 0.001 * (1 + Cell_thisIndex(self) % 5));
	self->waits = true;
	CkAtSync(self);
}

void Cell_on_shout(Cell *self, int step)
{
	CHECK_EQ(step % SHOUT_EVERY, 0);
	self->n_shouts++;
	maybe_end(self);
}

void Cell_on_odd_only(Cell *self, int step)
{
	CHECK_EQ(Cell_thisIndex(self) % 2, 1);
	CHECK_EQ(step % ODD_EVERY, 0);
	self->n_odd++;
	maybe_end(self);
}

void Cell_on_resumeFromSync(Cell *self)
{
	long sum = 0;

	CHECK(self->waits);
	self->waits = false;
	for (int i = 0; i < self->n_more; i++)
		sum += self->more[i];
	CHECK_EQ(sum, self->sum);
	if (++self->step < steps)
		begin_step(self);
	else
		maybe_end(self);
}

/* ---- a body ------------------------------------------------------------------------------------------- */

void Grid_on_new(Grid *self)
{
	(void)self;
}

void Grid_on_arrived(Grid *self)
{
	self->n_moves++;
}

static void send_all(Grid *self, int step)
{
	const int x = Grid_thisIndex(self).x, y = Grid_thisIndex(self).y;
	const long v = x * NY + y + step;

	Grid_edge(Grid_at(grid, (x + 1) % NX, y), step, v);
	Grid_edge(Grid_at(grid, (x + NX - 1) % NX, y), step, v);
	Grid_edge(Grid_at(grid, x, (y + 1) % NY), step, v);
	Grid_edge(Grid_at(grid, x, (y + NY - 1) % NY), step, v);
}

static void sync_grid(Grid *self)
{
	CHECK(!self->waits);
	self->waits = true;
	CkAtSync(self);
}

static void resumed_grid(Grid *self)
{
	CHECK(self->waits);
	self->waits = false;
}

static void end_of_grid(Grid *self)
{
	const long all[] = { self->sum, self->n_moves };

	if (always_moves())
		CHECK_EQ(self->n_moves, steps);
	CkContribute(self, all, 2, CkReduction_sum_long, Main_cb_grid_done(mainProxy));
}

/* ---- elements that come and go ---------------------------------------------------------------------------- */

static int index_of_leaf(int born, int parent)
{
	return born * 100 + parent % 100;
}

/* Each makes one other before it syncs for the last time. */
void Leaf_on_new(Leaf *self, int born, int lives)
{
	self->step = born;
	self->last = born + lives;
	self->waits = true;
	CkAtSync(self);
}

void Leaf_on_resumeFromSync(Leaf *self)
{
	CHECK(self->waits);
	self->waits = false;
	self->step++;
	if (self->step == self->last) {
		Main_leaf_done(mainProxy, LIVES);
		CkDestroy(self);
		return;
	}
	if (self->step + 1 == self->last && self->step < steps)
		Leaf_insert(Leaf_at(leaves, index_of_leaf(self->step, Leaf_thisIndex(self))),
			    self->step % 3 ? CK_PE_ANY : self->step % CkNumPes(), self->step, LIVES);
	self->waits = true;
	CkAtSync(self);
}

/* ---- main ------------------------------------------------------------------------------------------------- */

/* Generations follow each other by LIVES - 1 syncs. */
static int count_leaves(void)
{
	int n = 1;

	for (int born = 0; born + LIVES - 1 < steps; born += LIVES - 1)
		n++;
	return n * FIRST_LEAVES;
}

static long expected_cells(int step)
{
	long sum = 0;

	for (int s = 0; s <= step; s++)
		for (int i = 0; i < N; i++)
			sum += 2 * value_of(i, s);
	return sum;
}

static long expected_grid(void)
{
	long sum = 0;

	for (int s = 0; s < steps; s++)
		for (int i = 0; i < NX * NY; i++)
			sum += 4L * (i + s);
	return sum;
}

static void over(Main *self)
{
	if (++self->n_over < 3)
		return;
	CHECK_EQ(self->n_sums, times(SUM_EVERY));
	CkPrintf("balance: %d steps, %d leaves\n", steps, self->n_leaves);
	CkExit(0);
}

/* However many steps there are, the program needs no more memory. */
static void check_memory(Main *self, int step)
{
	const size_t in_use = mallinfo2().uordblks;

	if (step <= WARM)
		self->in_use = in_use;
	else if (in_use > self->in_use + GROWTH_BYTES)
		CkAbort("%zu bytes are in use after %d steps, and %zu were after %d", in_use, step, self->in_use, WARM);
}

void Main_on_step_sum(Main *self, long sum)
{
	CHECK_EQ(sum, expected_cells(self->n_sums * SUM_EVERY));
	check_memory(self, self->n_sums * SUM_EVERY);
	self->n_sums++;
}

void Main_on_cells_done(Main *self, int n, const long *sum)
{
	CHECK_EQ(n, 4);
	CHECK_EQ(sum[0], expected_cells(steps - 1));
	CHECK_EQ(sum[2], (long)N * times(SHOUT_EVERY));
	CHECK_EQ(sum[3], (long)(N / 2) * times(ODD_EVERY));
	over(self);
}

void Main_on_grid_done(Main *self, int n, const long *sum)
{
	CHECK_EQ(n, 2);
	CHECK_EQ(sum[0], expected_grid());
	over(self);
}

void Main_on_leaf_done(Main *self, int syncs)
{
	CHECK_EQ(syncs, LIVES);
	if (++self->n_leaves == count_leaves())
		over(self);
	CHECK(self->n_leaves <= count_leaves());
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CkIndex odd[N / 2];

	mainProxy = Main_thisProxy(self);
	steps = m->argc > 1 ? atoi(m->argv[1]) : 12;
	cells = Cell_ckNew(CkDims(N));
	grid = Grid_ckNew(CkDims(NX, NY));
	leaves = Leaf_ckNewEmpty();
	for (int i = 0; i < N / 2; i++)
		odd[i] = Cell_index(2 * i + 1);
	Cell_go_all(cells, Cell_ckSection(cells, odd, N / 2));
	Grid_run_all(grid, steps);
	for (int i = 0; i < FIRST_LEAVES; i++)
		Leaf_insert(Leaf_at(leaves, index_of_leaf(0, i)), CK_PE_ANY, 0, LIVES);
	Leaf_doneInserting(leaves);
}

#include "balance.def.h"
