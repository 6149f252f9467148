/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeats: elements call each other through entries with [channel], in bursts and with few different sizes, so that most
 * calls are of patterns that repeat. Calls of one element to one element, of one entry and size, come in the order in which
 * they were made, as long as the caller has not moved between them. Receivers keep some messages, look at them later, and
 * move with them.
 *
 * Then waves run round a ring: each element waits for both neighbours' sides of a step, in a `when`.
 *
 *	ckrun -n 4 repeats [seed [phases]]
 *
 * In each phase each element makes its calls in several steps, and may move once. Quiescence and a
 * sync end a phase, so a call that is lost, doubled or counted wrong is found.
 *
 * Prints what came, and whether calls were put (`standing`):
 * yes if they were more than a hundredth of those that were kept. On a quiet machine they are
 * a sixth, and on one with ten times as many threads as cores a fortieth.
 */
#include "check.h"
#include "csd.h"
#include "repeats.decl.h"

enum { NX = 4, NY = 3, N = NX * NY, SIZES = 3, STEPS = 8, KEPT = 3, PHASES = 16, RING = 6, WAVES = 200, SIDE = 40 };

static const int size_of[SIZES] = { 1, 9, 300 };

/* CMI_ORIGIN_STANDING: the message lies where its caller has written it. */
enum { STANDING = 4 };

struct Main {
	CProxy_Cell cells;
	uint64_t seed;
	int phase;
	bool counting;
};

/* What an element has sent to another, or expects from it: by size, the last one for `twice`; before and after the
 * sender's move. */
struct numbers {
	long no[SIZES + 1][2];
};

struct kept {
	void *msg;
	int32_t at, n, from;       /* at: offset of the array */
	long no;
};

struct Cell {
	uint64_t random;
	long n_sent, n_got, n_seen, n_standing;
	int32_t phase, home, moves_at, n_kept, unused;
	struct numbers sent[N], got[N];
	struct kept kept[KEPT];
};

/* ---- main ---------------------------------------------------------------------------------------------- */

static void next_phase(Main *self)
{
	Cell_go_all(self->cells, self->phase, check_mix(self->seed + (uint64_t)self->phase));
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	self->seed = check_run_seed(m);
	phases = m->argc > 2 ? atoi(m->argv[2]) : PHASES;
	mainProxy = Main_thisProxy(self);
	CkPrintf("repeats: seed %llu\n", (unsigned long long)self->seed);
	self->cells = Cell_ckNew(CkDims(NX, NY));
	next_phase(self);
}

void Main_on_quiet(Main *self)
{
	if (++self->phase < phases)
		Cell_sync_all(self->cells);
	else
		Cell_count_all(self->cells);
}

void Main_on_resumed(Main *self) { next_phase(self); }

void Main_on_counted(Main *self, int k, const long *n)
{
	(void)self;
	CHECK_EQ(k, 4);
	CHECK_EQ(n[0], n[1]);
	CHECK(n[0] > phases * N * STEPS);
	CkPrintf("repeats: %ld calls\nstanding: %s\n", n[0],
		 n[3] > n[2] / 100 ? "yes" : n[3] ? "few" : "no");
	Wave_run_all(Wave_ckNew(CkDims1(RING)), WAVES);
}

void Main_on_waved(Main *self)
{
	(void)self;
	CkExit(0);
}

/* ---- an element ------------------------------------------------------------------------------------------ */

static int number_of(const Cell *self)
{
	const CkIndex2D i = Cell_thisIndex(self);

	return i.x * NY + i.y;
}

static uint64_t draw(Cell *self, uint64_t n) { return (self->random = check_mix(self->random)) % n; }

static double value(int from, long no, int i) { return from * 1e6 + (double)no * 1000 + i; }

static void check_values(int from, long no, int n, const double *v)
{
	for (int i = 0; i < n; i++)
		CHECK(v[i] == value(from, no, i));
}

void Cell_on_new(Cell *self) { self->phase = -1; }

static void let_go(Cell *self, int i)
{
	struct kept *k = &self->kept[i];

	check_values(k->from, k->no, k->n, (const double *)(const void *)((const char *)k->msg + k->at));
	CkFreeMsg(k->msg);
	*k = self->kept[--self->n_kept];
}

/* Counts begin anew in each phase. */
static void begin_phase(Cell *self, int phase)
{
	if (self->phase == phase)
		return;
	CHECK_EQ(phase, self->phase + 1);
	self->phase = phase;
	memset(self->sent, 0, sizeof self->sent);
	memset(self->got, 0, sizeof self->got);
}

void Cell_on_go(Cell *self, int phase, uint64_t seed)
{
	begin_phase(self, phase);
	self->random = check_mix(seed + (uint64_t)number_of(self));
	self->home = CkMyPe();
	self->moves_at = phase < phases / 2 ? 0 : (int32_t)draw(self, 2 * STEPS); /* at first none moves */
	Cell_more(Cell_thisElement(self), STEPS);
}

static void send_some(Cell *self, int to, int what)
{
	const int late = CkMyPe() != self->home, from = number_of(self);
	double v[300];

	for (int k = 1 + (int)draw(self, 6); k > 0; k--) {
		const long no = self->sent[to].no[what][late]++;
		const CProxyElement_Cell cell = Cell_at(Cell_thisProxy(self), to / NY, to % NY);

		self->n_sent++;
		if (what == SIZES) {
			Cell_twice(cell, self->phase, from, late, no);
			continue;
		}
		for (int i = 0; i < size_of[what]; i++)
			v[i] = value(from, no, i);
		Cell_put(cell, self->phase, from, late, no, size_of[what], v);
	}
}

void Cell_on_more(Cell *self, int left)
{
	const int me = number_of(self);

	for (int k = 0; k < 3; k++)
		send_some(self, (me + (k == 0 ? 1 : k == 1 ? NY : N - 1)) % N, (int)draw(self, SIZES + 1));
	while (self->n_kept > (int)draw(self, KEPT + 1))
		let_go(self, 0);
	if (left == self->moves_at)
		CkMigrateMe(self, (int)draw(self, (uint64_t)CkNumPes()));
	if (left > 1)
		Cell_more(Cell_thisElement(self), left - 1);
}

static void expect(Cell *self, int phase, int from, int what, int late, long no)
{
	begin_phase(self, phase);
	CHECK_EQ(no, self->got[from].no[what][late]);
	self->got[from].no[what][late]++;
	self->n_got++;
}

void Cell_on_put(Cell *self, int phase, int from, int late, long no, int n, const double *v)
{
	int what = 0;
	const char *msg;

	while (size_of[what] != n)
		CHECK(++what < SIZES);
	expect(self, phase, from, what, late, no);
	check_values(from, no, n, v);
	if (self->n_kept == KEPT)
		return;
	msg = CkKeepMsg();
	self->n_seen++;
	self->n_standing += ((const struct cmi_msg *)(const void *)msg)[-2].origin == STANDING;
	self->kept[self->n_kept++] = (struct kept){ (void *)(uintptr_t)msg, (int32_t)((const char *)v - msg), n, from, no };
	if (draw(self, 2))
		let_go(self, (int)draw(self, (uint64_t)self->n_kept));
}

void Cell_on_twice(Cell *self, int phase, int from, int late, long no)
{
	expect(self, phase, from, SIZES, late, no);
	if (no % 3 == 0)
		Cell_taken(Cell_at(Cell_thisProxy(self), from / NY, from % NY), number_of(self));
}

void Cell_on_taken(Cell *self, int from)
{
	(void)self;
	CHECK(from >= 0 && from < N);
}

/* With CK_LB elements move here, at rest. */
void Cell_on_sync(Cell *self) { CkAtSync(self); }

void Cell_on_resumeFromSync(Cell *self) { CkContributeBarrier(self, Main_cb_resumed(mainProxy)); }

void Cell_on_count(Cell *self)
{
	const long n[4] = { self->n_sent, self->n_got, self->n_seen, self->n_standing };

	while (self->n_kept)
		let_go(self, 0);
	CkContribute(self, n, 4, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Cell_pup(pup_er p, Cell *self)
{
	pup_bytes(p, self, offsetof(Cell, kept));
	for (int i = 0; i < self->n_kept; i++) {
		struct kept *k = &self->kept[i];

		pup_bytes(p, &k->at, sizeof *k - offsetof(struct kept, at));
		k->msg = pup_message(p, k->msg);
	}
	pup_skip(p, self->kept + self->n_kept, (KEPT - (size_t)self->n_kept) * sizeof *self->kept);
}

/* ---- waves --------------------------------------------------------------------------------------------------- */

struct Wave {
	int step, came;
};

void Wave_on_new(Wave *self) { (void)self; }

static void send_sides(Wave *self)
{
	const int me = Wave_thisIndex(self);
	double v[SIDE];

	for (int i = 0; i < SIDE; i++)
		v[i] = value(me, self->step, i);
	Wave_side(Wave_at(Wave_thisProxy(self), (me + 1) % RING), self->step, me, SIDE, v);
	Wave_side(Wave_at(Wave_thisProxy(self), (me + RING - 1) % RING), self->step, me, SIDE, v);
}

static void take_side(Wave *self, int step, int from, int n, const double *v)
{
	CHECK_EQ(step, self->step);
	CHECK_EQ(n, SIDE);
	check_values(from, step, n, v);
}

#include "repeats.def.h"
