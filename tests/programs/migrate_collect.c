/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_collect: reductions, broadcasts, sections, scans, results to every kind of target, fences, completion and
 * quiescence, over arrays whose elements move after nearly every handler. Each layout runs twice: first nothing moves,
 * then everything does. The bits of all results must be equal, and everything must come once and in order.
 *
 * A step is an allreduce: its result starts the next step of an element. In each step an element contributes to one
 * reduction of each kind, all open at a time. For each sum that Main gets, it sends a burst of broadcasts and multicasts.
 */
#include "check.h"

#include <stdatomic.h>

#include "migrate_collect.decl.h"

enum { CELLS = 13, STEPS = 24, SOME = 3, BURST = 3 };
enum layout { BLOCK, MAP, PLACED, LAYOUTS };
/* What a phase counts. */
enum { NOTES, SOME_NOTES, OWN_NOTES, SOME_MOST, ALL, ONE, BEFORE, HOPS, COUNTS };
/* Who gets the largest value in step t. */
enum { TO_MAIN, TO_WATCHERS, TO_FUNCTION, TO_SECTION, TARGETS };

struct Main {
	int phase;
	bool begun, over, fenced, settled;
	CProxy_Cell cells;
	CProxySection_Cell section;
	uint64_t bits[2];
	int n_sums, n_some, n_sets, n_tuples, n_seen[TARGETS];
};

struct Cell {
	bool moves, scans;
	int me, n_cells, step, hop;
	int next, next_some;
	CProxySection_Cell section, own;
	CkCompletion completion;
	CkCallback function;
	long count[COUNTS];
};

struct Watcher { int none; };

static int scattered(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return i.v[0] * 5 % n_pes;
}

void register_all(void) { CkRegisterMap("scattered", scattered); }

static bool is_some(int e) { return e % SOME == 0; }
static int n_some(int n) { return (n + SOME - 1) / SOME; }
/* Fewer cells than PEs in some layouts. */
static int cells_of(int layout) { return layout == PLACED ? CELLS - 2 : CELLS; }

/* Its sums depend on the order in their last bits. */
static double value(int e, int t) { return 1.0 / (3 + e * 7 + t) - e * 1e-3 * t; }

/* ---- cells -------------------------------------------------------------------------------------- */

static void hop(Cell *self)
{
	if (!self->moves)
		return;
	self->hop++;
	self->count[HOPS]++;
	CkMigrateMe(self, (int)(check_mix((uint64_t)(self->me * 1009 + self->hop)) % (uint64_t)CkNumPes()));
}

/* Nothing in it points anywhere. */
void Cell_pup(pup_er p, Cell *self) { pup_bytes(p, self, sizeof *self); }

void Cell_on_new(Cell *self) { self->me = Cell_thisIndex(self); }

static void give_most(Cell *self, int t)
{
	const long v = (long)self->me * 100 + t;
	const CkCallback to[TARGETS] = {
		[TO_MAIN] = Main_cb_most(mainProxy), [TO_WATCHERS] = Watcher_cb_most_all(watchers),
		[TO_FUNCTION] = self->function, [TO_SECTION] = Cell_cb_some_most_section(self->section),
	};

	CkContribute(self, &v, 1, CkReduction_max_long, to[t % TARGETS]);
}

static void give_tuple(Cell *self, int t)
{
	const long two[2] = { t, self->me };
	const double d = value(self->me, t);
	const CkTupleElement e[] = {
		{ CkReduction_max_long, 1, &two[0] }, { CkReduction_concat, sizeof two, two },
		{ CkReduction_sum_double, 1, &d }, { CkReduction_sum_long, 1, &two[1] },
	};

	CkContributeTuple(self, e, sizeof e / sizeof *e, Main_cb_tuple(mainProxy));
}

static void contribute(Cell *self, int t)
{
	const CProxy_Cell all = Cell_thisProxy(self);
	const double v[3] = { t, value(self->me, t), value(t, self->me) };
	const int two[2] = { t, self->me };

	CkCompletionProduce(self->completion, 1);
	CkContribute(self, v, 3, CkReduction_sum_double, Main_cb_sums(mainProxy));
	give_most(self, t);
	if (is_some(self->me))
		CkContributeSection(self, self->section.ck, v, 2, CkReduction_sum_double, Main_cb_some(mainProxy));
	CkContribute(self, two, 2, CkReduction_sum_int, Cell_cb_one(Cell_at(all, t * 7 % self->n_cells)));
	CkContribute(self, two, sizeof two, CkReduction_set, Main_cb_set(mainProxy));
	if (self->scans)
		CkScan(self, v, 2, CkReduction_sum_double, CK_SCAN_INCLUSIVE, Cell_cb_before(Cell_at(all, self->me)));
	give_tuple(self, t);
	hop(self);
	CkContribute(self, v, 2, CkReduction_sum_double, Cell_cb_all_all(all));
}

void Cell_on_go(Cell *self, bool moves, int n_cells, bool scans, CProxySection_Cell s, CkCompletion c,
		CkCallback function)
{
	CkIndex list[CELLS];
	size_t n = 0;

	self->moves = moves;
	self->n_cells = n_cells;
	self->scans = scans;
	self->section = s;
	self->completion = c;
	self->function = function;
	/* A section whose maker moves on. */
	for (int e = 0; e < n_cells; e += SOME)
		list[n++] = Cell_index(e);
	if (self->me == 1)
		self->own = Cell_ckSection(Cell_thisProxy(self), list, n);
	contribute(self, 0);
}

/* Once, in order, and on the element that it is for. */
static void noted(Cell *self, int no)
{
	CHECK_EQ(Cell_thisIndex(self), self->me);
	CHECK_EQ(no, self->next++);
	self->count[NOTES]++;
	hop(self);
}

void Cell_on_note(Cell *self, int no) { noted(self, no); }

void Cell_on_parcel(Cell *self, Parcel *p)
{
	for (int i = 0; i < p->n; i++)
		CHECK(p->v[i] == p->no + i);
	p->v[0] = -1;
	noted(self, p->no);
	if (self->me % 2) {
		CkKeepMsg();
		CkFreeMsg(p);
	}
}

void Cell_on_data(Cell *self, int no, int n, const double *v)
{
	for (int i = 0; i < n; i++)
		CHECK(v[i] == no - i);
	noted(self, no);
}

void Cell_on_some_note(Cell *self, int no)
{
	CHECK(is_some(self->me));
	CHECK_EQ(no, self->next_some++);
	CHECK(CkGetSectionInfo(NULL).id == self->section.ck.id);
	self->count[SOME_NOTES]++;
	hop(self);
}

void Cell_on_own_note(Cell *self, int t)
{
	CHECK(is_some(self->me) && t >= 0 && t < STEPS);
	self->count[OWN_NOTES]++;
	hop(self);
}

void Cell_on_some_most(Cell *self, long v)
{
	CHECK(is_some(self->me));
	CHECK_EQ(v / 100, self->n_cells - 1);
	self->count[SOME_MOST]++;
	hop(self);
}

void Cell_on_all(Cell *self, int n, const double *v)
{
	const int t = self->step++;

	CHECK_EQ(n, 2);
	CHECK(v[0] == (double)t * self->n_cells);
	self->count[ALL]++;
	CkCompletionConsume(self->completion, 1);
	if (self->me == 1)
		Cell_own_note_section(self->own, t);
	if (t + 1 < STEPS)
		contribute(self, t + 1);
	else
		CkCompletionDone(self->completion);
	hop(self);
}

void Cell_on_one(Cell *self, int n, const int *v)
{
	const int t = v[0] / self->n_cells;

	CHECK_EQ(n, 2);
	CHECK_EQ(v[0], t * self->n_cells);
	CHECK_EQ(self->me, t * 7 % self->n_cells);
	CHECK_EQ(v[1], self->n_cells * (self->n_cells - 1) / 2);
	self->count[ONE]++;
	hop(self);
}

void Cell_on_before(Cell *self, int n, const double *v)
{
	double sum = 0;
	const int t = (int)(v[0] / (self->me + 1));

	for (int e = 0; e <= self->me; e++)
		sum += value(e, t);
	CHECK_EQ(n, 2);
	CHECK(v[1] - sum < 1e-9 && sum - v[1] < 1e-9);
	self->count[BEFORE]++;
	hop(self);
}

void Cell_on_report(Cell *self)
{
	CkContribute(self, self->count, COUNTS, CkReduction_sum_long, Main_cb_counts(mainProxy));
	CkFence(self, Main_cb_fenced(mainProxy));
}

/* ---- others that get results ----------------------------------------------------------------------- */

void Watcher_on_new(Watcher *self) { (void)self; }

void Watcher_on_most(Watcher *self, long v)
{
	(void)self;
	Main_seen(mainProxy, TO_WATCHERS, v);
}

/* ctx: Main, on whose PE this runs. */
static void function(void *ctx, const CkReductionMsg *m)
{
	(void)ctx;
	Main_seen(mainProxy, TO_FUNCTION, *(const long *)CkReductionMsg_data(m));
}

/* ---- a phase ------------------------------------------------------------------------------------------ */

static int layout_of(const Main *self) { return self->phase / 2; }
static bool moves(const Main *self) { return self->phase % 2; }
static bool scans(const Main *self) { return layout_of(self) != PLACED; }
static int n_cells(const Main *self) { return cells_of(layout_of(self)); }

/* Results of one kind may come in any order, and so may kinds. */
static void mix(Main *self, int kind, double t, const void *data, size_t bytes)
{
	uint64_t x = check_mix((uint64_t)kind * 1000 + (uint64_t)t);

	for (size_t i = 0; i < bytes; i++)
		x = check_mix(x ^ ((const unsigned char *)data)[i]);
	self->bits[moves(self)] += x;
}

static void begin(Main *self)
{
	const int n = n_cells(self);

	self->begun = self->over = self->fenced = self->settled = false;
	self->n_sums = self->n_some = self->n_sets = self->n_tuples = 0;
	memset(self->n_seen, 0, sizeof self->n_seen);
	self->bits[moves(self)] = 0;
	if (layout_of(self) == BLOCK)
		self->cells = Cell_ckNew(CkDims(n));
	else if (layout_of(self) == MAP)
		self->cells = Cell_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(n), .map = "scattered" });
	else
		self->cells = Cell_ckNewEmpty();
	for (int e = 0; layout_of(self) == PLACED && e < n; e++)
		Cell_insert(Cell_at(self->cells, e), (e * 3 + 1) % CkNumPes());
	if (layout_of(self) == PLACED)
		Cell_doneInserting(self->cells);
	CkStartQD(Main_cb_quiet(mainProxy));
}

static void go(Main *self)
{
	CkIndex list[CELLS];
	CkCompletion c = CkCompletionCreate();
	int n = 0;

	for (int e = 0; e < n_cells(self); e += SOME)
		list[n++] = Cell_index(e);
	self->section = Cell_ckSection(self->cells, list, (size_t)n);
	CkCompletionStart(c, n_cells(self), CkCallbackIgnore(), CkCallbackIgnore(), Main_cb_finished(mainProxy), 0);
	Cell_go_all(self->cells, moves(self), n_cells(self), scans(self), self->section, c,
		    CkCallbackFunction(function, NULL));
	CkStartQD(Main_cb_quiet(mainProxy));
}

/* One broadcast of each kind in turn, and a multicast. */
static void broadcast(Main *self, int no)
{
	double v[400];
	Parcel *p;

	Cell_some_note_section(self->section, no);
	if (no % 3 == 0) {
		Cell_note_all(self->cells, no);
	} else if (no % 3 == 1) {
		p = Parcel_alloc(no + 1);
		p->no = no;
		p->n = no + 1;
		for (int i = 0; i <= no; i++)
			p->v[i] = no + i;
		Cell_parcel_all(self->cells, p);
	} else {
		for (int i = 0; i < 400; i++)
			v[i] = no - i;
		Cell_data_all(self->cells, no, 400, CkSendBuffer(v));
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	watchers = Watcher_ckNew();
	begin(self);
}

void Main_on_sums(Main *self, int n, const double *v)
{
	CHECK_EQ(n, 3);
	mix(self, 0, v[0], v, 3 * sizeof *v);
	for (int i = 0; i < BURST; i++)
		broadcast(self, BURST * self->n_sums + i);
	self->n_sums++;
}

void Main_on_some(Main *self, int n, const double *v)
{
	CHECK_EQ(n, 2);
	CHECK(v[0] == (double)self->n_some++ * n_some(n_cells(self)));
	mix(self, 1, v[0], v, 2 * sizeof *v);
}

void Main_on_set(Main *self, const CkReductionMsg *m)
{
	const CkReductionSetElement *e = NULL;
	int at = 0, t = 0;

	while ((e = CkReductionSet_next(m, e))) {
		const int *two = CkReductionSetElement_data(e);

		t = at ? t : two[0];
		CHECK_EQ(e->bytes, 2 * sizeof *two);
		CHECK_EQ(e->index.v[0], at);
		CHECK_EQ(two[0], t);
		CHECK_EQ(two[1], at++);
		CHECK(e->pe >= 0 && e->pe < CkNumPes());
	}
	CHECK_EQ(at, n_cells(self));
	self->n_sets++;
}

void Main_on_tuple(Main *self, const CkReductionMsg *m)
{
	const CkReductionMsg *part = CkReductionTuple_at(m, 0);
	const double t = (double)*(const long *)CkReductionMsg_data(part);

	for (int i = 0; i < 4; i++) {
		part = CkReductionTuple_at(m, i);
		mix(self, 2, t, CkReductionMsg_data(part), part->bytes);
	}
	self->n_tuples++;
}

void Main_on_most(Main *self, long v) { Main_on_seen(self, TO_MAIN, v); }

void Main_on_seen(Main *self, int how, long v)
{
	CHECK_EQ(v / 100, n_cells(self) - 1);
	CHECK_EQ(v % 100 % TARGETS, how);
	self->n_seen[how]++;
}

void Main_on_finished(Main *self)
{
	CHECK(!self->over);
	self->over = true;
}

void Main_on_quiet(Main *self)
{
	if (!self->begun) {
		self->begun = true;
		go(self);
		return;
	}
	CHECK(self->over);
	CHECK(self->n_sums == STEPS && self->n_some == STEPS && self->n_sets == STEPS && self->n_tuples == STEPS);
	CHECK_EQ(self->n_seen[TO_MAIN], STEPS / TARGETS);
	CHECK_EQ(self->n_seen[TO_WATCHERS], STEPS / TARGETS * CkNumPes());
	CHECK_EQ(self->n_seen[TO_FUNCTION], STEPS / TARGETS);
	Cell_report_all(self->cells);
}

static void next(Main *self)
{
	if (!self->fenced || !self->settled)
		return;
	if (moves(self))
		CHECK(self->bits[0] == self->bits[1]);
	if (++self->phase < 2 * LAYOUTS) {
		begin(self);
		return;
	}
	CkPrintf("migrate_collect: %d layouts on %d PEs\n", LAYOUTS, CkNumPes());
	CkExit(0);
}

void Main_on_counts(Main *self, int n, const long *v)
{
	const int all = n_cells(self), some = n_some(all);

	CHECK_EQ(n, COUNTS);
	CHECK_EQ(v[NOTES], all * STEPS * BURST);
	CHECK_EQ(v[SOME_NOTES], some * STEPS * BURST);
	CHECK_EQ(v[OWN_NOTES], some * STEPS);
	CHECK_EQ(v[SOME_MOST], some * STEPS / TARGETS);
	CHECK_EQ(v[ALL], all * STEPS);
	CHECK_EQ(v[ONE], STEPS);
	CHECK_EQ(v[BEFORE], scans(self) ? all * STEPS : 0);
	CHECK(moves(self) ? v[HOPS] > 6 * all * STEPS / 2 : !v[HOPS]);
	self->settled = true;
	next(self);
}

void Main_on_fenced(Main *self)
{
	self->fenced = true;
	next(self);
}

#include "migrate_collect.def.h"
