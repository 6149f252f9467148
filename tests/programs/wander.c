/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wander: 8 elements that all move in every step, by a seeded pattern, beside 8 others that do the same and never
 * move. In each step Main calls all of them; each sends its value to two neighbours ([when] keeps those of the next
 * step) and numbered calls to three others; one multicasts to a section; and all contribute to a sum of doubles. The
 * sums of those that move have the bits of the others'. At the end calls hop from element to element while these move,
 * and quiescence must wait for the last.
 *
 *	wander [seed [steps [sparse]]]
 *
 * `sparse`: the elements are inserted anywhere, instead of on the PEs that the map says.
 */
#include "check.h"

#include "wander.decl.h"

enum { N = 8, TICKS = 3, HOPS = 200, MOST_PES = 64, HALF = N / 2 };

struct Main {
	double v[N];             /* a serial run */
	int step, n_in;
	double sum[2];           /* of the step, of those that stay and of those that move */
	uint64_t hash;
	long moves;
};
struct Cell {
	bool moves, started, reported;
	int step, n_sides;
	double v, side[2];
	int next[MOST_PES];      /* the number of the next tick of each PE */
	long ticks, hops, notes, n_moves;
	int next_note, pe;
	CProxySection_Cell even, odd;
};
struct Hand { int next[2][N]; }; /* the number of its next tick to each element of both arrays */

static uint64_t drawn(int step, int i, int what)
{
	return check_mix(seed * 1000003 + (uint64_t)step * 64 + (uint64_t)i * 8 + (uint64_t)what) >> 11;
}

static double first_value(int i)
{
	return 1.0 / (i + 3);
}

/* A chaotic map: one wrong bit changes all sums that follow. */
static double next_value(double v, double left, double right)
{
	const double mean = 0.5 * v + (0.25 * left + 0.25 * right);

	return 3.9 * mean * (1 - mean);
}

/* ---- an element ---------------------------------------------------------------------------------- */

void Cell_pup(pup_er p, Cell *self)
{
	pup_bytes(p, self, sizeof *self);
}

/* Where it is, is where it asked to be. */
static void check_place(const Cell *self)
{
	CHECK_EQ(CkMyPe(), self->pe);
}

static void wander(Cell *self, int salt)
{
	if (!self->moves)
		return;
	self->pe = (int)(drawn(salt, Cell_thisIndex(self), 1) % (uint64_t)CkNumPes());
	self->n_moves++;
	CkMigrateMe(self, self->pe);
}

static CProxyElement_Cell fellow(const Cell *self, int i)
{
	return Cell_at(Cell_thisProxy(self), i);
}

void Cell_on_new(Cell *self, bool moves)
{
	self->moves = moves;
	self->v = first_value(Cell_thisIndex(self));
	self->pe = CkMyPe();
}

void Cell_on_ring(Cell *self, CProxySection_Cell even, CProxySection_Cell odd)
{
	self->even = even;
	self->odd = odd;
}

static void tick(const Cell *self, int k)
{
	const int to = (int)(drawn(self->step, Cell_thisIndex(self), 2 + k) % N);

	Cell_tick(fellow(self, to), CkMyPe(), Hand_ckLocalBranch(hands)->next[self->moves][to]++);
}

static void finish_step(Cell *self)
{
	self->v = next_value(self->v, self->side[0], self->side[1]);
	CkContribute(self, &self->v, 1, CkReduction_sum_double,
		     self->moves ? Main_cb_sum_moving(mainProxy) : Main_cb_sum(mainProxy));
	self->n_sides = 0;
	self->started = false;
	self->step++;
	wander(self, self->step);
}

static void maybe_finish(Cell *self)
{
	if (self->started && self->n_sides == 2)
		finish_step(self);
}

void Cell_on_go(Cell *self, int step)
{
	const int i = Cell_thisIndex(self);

	check_place(self);
	CHECK_EQ(step, self->step);
	self->started = true;
	Cell_side(fellow(self, (i + 1) % N), step, 0, self->v);
	Cell_side(fellow(self, (i + N - 1) % N), step, 1, self->v);
	for (int k = 0; k < TICKS; k++)
		tick(self, k);
	if (step % N == i)
		Cell_note_section(step % 2 ? self->odd : self->even, step);
	maybe_finish(self);
}

void Cell_on_side(Cell *self, int step, int from, double v)
{
	check_place(self);
	CHECK_EQ(step, self->step);
	self->side[from] = v;
	self->n_sides++;
	maybe_finish(self);
}

void Cell_on_tick(Cell *self, int pe, int no)
{
	check_place(self);
	CHECK(!self->reported);
	CHECK_EQ(no, self->next[pe]);
	self->next[pe]++;
	self->ticks++;
}

/* The multicasts of different steps have different senders, so only those of one are in order. */
void Cell_on_note(Cell *self, int step)
{
	check_place(self);
	CHECK(!self->reported);
	CHECK_EQ(step % 2, Cell_thisIndex(self) % 2);
	self->notes++;
}

void Cell_on_hop(Cell *self, int left)
{
	check_place(self);
	CHECK(!self->reported);
	self->hops++;
	wander(self, left);
	if (left)
		Cell_hop(fellow(self, (int)(drawn(left, Cell_thisIndex(self), 6) % N)), left - 1);
}

void Cell_on_report(Cell *self)
{
	const long v[] = { self->ticks, self->hops, self->notes, self->n_moves };

	check_place(self);
	CHECK(!self->reported);
	self->reported = true;
	CkContribute(self, v, 4, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Hand_on_new(Hand *self) { (void)self; }

/* ---- main ---------------------------------------------------------------------------------------- */

static double serial_step(Main *self)
{
	double next[N], sum = 0;

	for (int i = 0; i < N; i++)
		sum += next[i] = next_value(self->v[i], self->v[(i + N - 1) % N], self->v[(i + 1) % N]);
	memcpy(self->v, next, sizeof next);
	return sum;
}

static void both_go(const Main *self)
{
	Cell_go_all(still, self->step);
	Cell_go_all(cells, self->step);
}

/* Quiescence is asked for while everything moves. */
static void last_calls(void)
{
	for (int i = 0; i < N; i++) {
		Cell_hop(Cell_at(cells, i), HOPS - 1);
		Cell_hop(Cell_at(still, i), HOPS - 1);
	}
	CkStartQD(Main_cb_quiet(mainProxy));
}

/* The bits of a sum depend on which PE counts an element, but not on where it lives. */
static void step_over(Main *self)
{
	const double serial = serial_step(self);
	uint64_t bits;

	if (memcmp(&self->sum[0], &self->sum[1], sizeof serial))
		CkAbort("wander: step %d: the sum of those that move is %.17g, of the others %.17g", self->step,
			self->sum[1], self->sum[0]);
	CHECK(self->sum[0] - serial < 1e-12 && serial - self->sum[0] < 1e-12);
	memcpy(&bits, &self->sum[1], sizeof bits);
	self->hash = check_mix(self->hash ^ bits);
	if (++self->step < steps)
		both_go(self);
	else
		last_calls();
}

static void sum_in(Main *self, int which, double v)
{
	self->sum[which] = v;
	if (++self->n_in < 2)
		return;
	self->n_in = 0;
	step_over(self);
}

void Main_on_sum(Main *self, double v) { sum_in(self, 0, v); }
void Main_on_sum_moving(Main *self, double v) { sum_in(self, 1, v); }

void Main_on_quiet(Main *self)
{
	(void)self;
	Cell_report_all(still);
	Cell_report_all(cells);
}

void Main_on_counted(Main *self, long ticks, long hops, long notes, long moves)
{
	CHECK_EQ(ticks, (long)N * TICKS * steps);
	CHECK_EQ(hops, (long)N * HOPS);
	CHECK_EQ(notes, (long)HALF * steps);
	CHECK(moves == 0 || moves == (long)N * (steps + HOPS));
	self->moves += moves;
	if (++self->n_in < 2)
		return;
	CHECK_EQ(self->moves, (long)N * (steps + HOPS));
	CkPrintf("wander: %d steps, hash %016llx\n", steps, (unsigned long long)self->hash);
	CkExit(0);
}

static CProxySection_Cell half(CProxy_Cell of, int first)
{
	CkIndex list[HALF];

	for (int i = 0; i < HALF; i++)
		list[i] = Cell_index(2 * i + first);
	return Cell_ckSection(of, list, HALF);
}

/* All elements are there. */
void Main_on_begin(Main *self)
{
	Cell_ring_all(still, half(still, 0), half(still, 1));
	Cell_ring_all(cells, half(cells, 0), half(cells, 1));
	both_go(self);
}

static CProxy_Cell insert_all(bool moves)
{
	CProxy_Cell p = Cell_ckNewEmpty();

	for (int i = 0; i < N; i++)
		Cell_insert(Cell_at(p, i), (int)(drawn(0, i, 1) % (uint64_t)CkNumPes()), moves);
	Cell_doneInserting(p);
	return p;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const bool sparse = m->argc > 3 && !strcmp(m->argv[3], "sparse");

	CHECK(CkNumPes() <= MOST_PES);
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	steps = m->argc > 2 ? atoi(m->argv[2]) : 300;
	CkPrintf("wander: seed %llu\n", (unsigned long long)seed);
	for (int i = 0; i < N; i++)
		self->v[i] = first_value(i);
	hands = Hand_ckNew();
	still = sparse ? insert_all(false) : Cell_ckNew(CkDims(N), false);
	cells = sparse ? insert_all(true) : Cell_ckNew(CkDims(N), true);
	CkStartQD(Main_cb_begin(mainProxy));
}

#include "wander.def.h"
