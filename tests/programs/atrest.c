/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atrest: elements that move at rest, many at once, to where a random plan says: cuts, or single moves. It drives
 * runtime/chare/place/bulk/bulk.c itself: it closes the array, waits for quiescence, hands out
 * the plan, and opens it.
 *
 *	atrest [SEED [ROUNDS]]
 *
 * The same rounds for arrays of one to three dimensions, with blocks and with a map, with holes, and sparse. After each
 * plan: calls from every PE, by themselves and in batches, once and in order, calls that were made while the array was
 * closed among them; broadcasts, multicasts, reductions of the array and of a section, scans, futures, calls that wait
 * for a condition, bodies of Structured Dagger; elements that move by CkMigrateMe between two plans, are destroyed and
 * inserted. Where seats have moved, sums have the bits of those of an array that was made there.
 */
#include "check.h"

#include "atrest.decl.h"

enum { PES_MOST = 64, CELLS_MOST = 64, TWINS = 12, HITS = 3 };
enum type { LINE, PLANE, CUBE };
enum kind { BLOCK, MAP, SPARSE, HOLES };
enum { N_HITS, N_TICKS, N_NOTES, N_SOME, N_LATE, N_WOKEN, N_SCANS, N_CELLS, COUNTS };

static const struct { enum type type; enum kind kind; int n[3]; } layouts[] = {
	{ LINE, BLOCK, { 23, 1, 1 } }, { LINE, MAP, { 19, 1, 1 } }, { LINE, SPARSE, { 21, 1, 1 } },
	{ LINE, HOLES, { 17, 1, 1 } }, { PLANE, BLOCK, { 4, 5, 1 } }, { PLANE, MAP, { 3, 6, 1 } },
	{ CUBE, BLOCK, { 3, 2, 4 } }, { CUBE, MAP, { 2, 2, 3 } }, { LINE, BLOCK, { 2, 1, 1 } },
	{ LINE, HOLES, { 3, 1, 1 } }, /* PEs that have elements for the first time */
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

enum stage { TRAFFIC, SUMS, SUMMED, TWIN, TWIN_SUMS, TWINNED, OTHERS, REPORT, UNDER_WAY, CHANGE, LATER, CLOSE, ASK, WAKE };

struct Main {
	uint64_t random, id, twin_id;
	int layout, round, rounds, n_twins, total;
	enum stage stage;
	bool there[CELLS_MOST], changed;
	long want[COUNTS][CELLS_MOST], n_steps[CELLS_MOST], n_wakes[CELLS_MOST];
	int n_notes, n_some, gate, n_scans;
	CkSection section;
	bool some_member[CELLS_MOST];
	int at[CELLS_MOST];       /* where each element lives; -1: nowhere */
	Still still;
	bool seats, cuts;         /* what the last plan moved */
	int n_in;                 /* answers so far */
	/* Sums to Main and to all; of the array, and of its twin. */
	uint64_t bits[2], twin_bits[2];
	double some_sum;
	bool summed, twin;
	int n_sums, n_cuts, n_moves, n_seats;
};

/* Calls of each PE, which are numbered. */
struct Mover { int seq; };

struct cell {
	int me, next[PES_MOST], next_tick[PES_MOST], next_note, next_some, gate;
	long woken, hits, ticks, notes, some, late, scans;
};

struct Line { struct cell c; };
struct Plane { struct cell c; };
struct Cube { struct cell c; };

/* ---- maps ------------------------------------------------------------------------------------------ */

static int linear(CkIndex i, CkArrayDims d)
{
	return (i.v[0] * (d.nd > 1 ? d.n[1] : 1) + i.v[1]) * (d.nd > 2 ? d.n[2] : 1) + i.v[2];
}

static int scattered(CkIndex i, CkArrayDims d, int n_pes) { return linear(i, d) * 5 % n_pes; }

/* Of each twin, the PE of each element. Every PE, which is a thread, fills its own before the twin is made. */
static __thread int twin_at[TWINS][CELLS_MOST];

#define TWIN(K) static int twin##K(CkIndex i, CkArrayDims d, int n) { (void)n; return twin_at[K][linear(i, d)]; }
TWIN(0) TWIN(1) TWIN(2) TWIN(3) TWIN(4) TWIN(5) TWIN(6) TWIN(7) TWIN(8) TWIN(9) TWIN(10) TWIN(11)
static const CkMapFn twin_maps[TWINS] = { twin0, twin1, twin2, twin3, twin4, twin5, twin6, twin7, twin8, twin9, twin10,
	twin11 };
static const char *const twin_names[TWINS] = { "twin0", "twin1", "twin2", "twin3", "twin4", "twin5", "twin6", "twin7",
	"twin8", "twin9", "twin10", "twin11" };

void register_maps(void)
{
	CkRegisterMap("scattered", scattered);
	for (int i = 0; i < TWINS; i++)
		CkRegisterMap(twin_names[i], twin_maps[i]);
}

/* ---- cells ----------------------------------------------------------------------------------------- */

/* Its sums depend on the order in their last bits. */
static double value(int i) { return 1.0 / (3 + 7 * i) + i * 1e-3; }

static void cell_new(struct cell *c, int me)
{
	c->me = me;
	for (int i = 0; i < PES_MOST; i++)
		c->next[i] = c->next_tick[i] = -1;
	c->next_note = c->next_some = -1;
}

/* A new element takes the first number that comes; then all come in turn. */
static void in_turn(int *next, int seq)
{
	if (*next >= 0)
		CHECK_EQ(seq, *next);
	*next = seq + 1;
}

/* Extents of the array under test; of each PE, as twin_at. */
static __thread CkArrayDims size;

#define CELL(T) \
	void T##_pup(pup_er p, T *self) { pup_bytes(p, self, sizeof *self); } \
	void T##_on_new(T *self) { cell_new(&self->c, linear(obj_of(self)->index, obj_of(self)->coll->homes.dims)); } \
	void T##_on_hit(T *self, int from, int seq) { in_turn(&self->c.next[from], seq); self->c.hits++; } \
	void T##_on_tick(T *self, int from, int seq) { in_turn(&self->c.next_tick[from], seq); self->c.ticks++; } \
	void T##_on_note(T *self, int no) { in_turn(&self->c.next_note, no); self->c.notes++; } \
	void T##_on_some(T *self, int no) { in_turn(&self->c.next_some, no); self->c.some++; } \
	void T##_on_late(T *self, int no) { CHECK(self->c.gate >= no); self->c.late++; } \
	void T##_on_open_gate(T *self, int to) { self->c.gate = to; } \
	void T##_on_sum(T *self) \
	{ \
		const double v = value(self->c.me); \
		CkContribute(self, &v, 1, CkReduction_sum_double, Main_cb_sums(mainProxy)); \
		CkContribute(self, &v, 1, CkReduction_sum_double, T##_cb_all_all(T##_thisProxy(self))); \
	} \
	void T##_on_all(T *self, double v) \
	{ \
		const double two[2] = { v, -v }; \
		CkContribute(self, two, 2, CkReduction_max_double, Main_cb_same(mainProxy)); \
	} \
	void T##_on_some_sum(T *self, CkSection s) \
	{ \
		const double v = value(self->c.me); \
		CkContributeSection(self, s, &v, 1, CkReduction_sum_double, Main_cb_some_sums(mainProxy)); \
	} \
	void T##_on_scan(T *self) \
	{ \
		const long v = self->c.me; \
		CkScan(self, &v, 1, CkReduction_sum_long, CK_SCAN_INCLUSIVE, T##_cb_before(T##_thisElement(self))); \
	} \
	void T##_on_before(T *self, long v) { CHECK_EQ(v, self->c.me * (self->c.me + 1) / 2); self->c.scans++; } \
	void T##_on_ask(T *self, CkFuture f) { const int v = self->c.me; CkSendToFutureTyped(f, CK_INT, &v, 1); } \
	void T##_on_go(T *self, int to) { CkMigrateMe(self, to); } \
	void T##_on_report(T *self) \
	{ \
		const long v[COUNTS] = { [N_HITS] = self->c.hits, [N_TICKS] = self->c.ticks, [N_NOTES] = self->c.notes, \
			[N_SOME] = self->c.some, [N_LATE] = self->c.late, [N_WOKEN] = self->c.woken, \
			[N_SCANS] = self->c.scans, [N_CELLS] = 1 }; \
		CkContribute(self, v, COUNTS, CkReduction_sum_long, Main_cb_counts(mainProxy)); \
	}

CELL(Line) CELL(Plane) CELL(Cube)

/* ---- by type ---------------------------------------------------------------------------------------- */

static CkIndex index_of(int i)
{
	const int *n = size.n;

	if (size.nd == 1)
		return Line_index(i);
	return size.nd == 2 ? Plane_index(i / n[1], i % n[1]) : Cube_index(i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]);
}

struct ops {
	void (*hit)(CkElement to, int from, int seq);
	void (*tick)(CkElement to, int from, int seq);
	void (*late)(CkElement to, int no);
	void (*steps)(CkElement to);
	void (*ask)(CkElement to, CkFuture f);
	void (*go)(CkElement to, int pe);
	void (*destroy)(CkElement to);
	void (*insert)(CkElement to, int pe);
	void (*note)(CkProxy all, int no);
	void (*open_gate)(CkProxy all, int to);
	void (*wake)(CkProxy all, int by);
	void (*sum)(CkProxy all);
	void (*scan)(CkProxy all);
	void (*report)(CkProxy all);
	void (*some_sum)(CkSection all, CkSection s);
	void (*some)(CkSection all, int no);
	CkSection (*section)(CkProxy all, const CkIndex *list, size_t n);
	CkProxy (*make)(const CkArrayOptions *o);
	CkProxy (*make_empty)(void);
};

#define E(T) (CProxyElement_##T){ to }
#define A(T) (CProxy_##T){ all }
#define S(T) (CProxySection_##T){ all }
#define OPS(T) \
	static void T##_hit_(CkElement to, int from, int seq) { T##_hit(E(T), from, seq); } \
	static void T##_tick_(CkElement to, int from, int seq) { T##_tick(E(T), from, seq); } \
	static void T##_late_(CkElement to, int no) { T##_late(E(T), no); } \
	static void T##_steps_(CkElement to) { T##_steps(E(T)); } \
	static void T##_ask_(CkElement to, CkFuture f) { T##_ask(E(T), f); } \
	static void T##_go_(CkElement to, int pe) { T##_go(E(T), pe); } \
	static void T##_destroy_(CkElement to) { T##_ckDestroy(E(T)); } \
	static void T##_insert_(CkElement to, int pe) { T##_insert(E(T), pe); } \
	static void T##_note_(CkProxy all, int no) { T##_note_all(A(T), no); } \
	static void T##_open_gate_(CkProxy all, int no) { T##_open_gate_all(A(T), no); } \
	static void T##_wake_(CkProxy all, int by) { T##_wake_all(A(T), by); } \
	static void T##_sum_(CkProxy all) { T##_sum_all(A(T)); } \
	static void T##_scan_(CkProxy all) { T##_scan_all(A(T)); } \
	static void T##_report_(CkProxy all) { T##_report_all(A(T)); } \
	static void T##_some_sum_(CkSection all, CkSection s) { T##_some_sum_section(S(T), s); } \
	static void T##_some_(CkSection all, int no) { T##_some_section(S(T), no); } \
	static CkSection T##_section_(CkProxy all, const CkIndex *list, size_t n) { return T##_ckSection(A(T), list, n).ck; } \
	static CkProxy T##_make_(const CkArrayOptions *o) { return T##_ckNew_opt(o).ck; } \
	static CkProxy T##_make_empty_(void) { return T##_ckNewEmpty().ck; } \
	static const struct ops T##_ops = { T##_hit_, T##_tick_, T##_late_, T##_steps_, T##_ask_, T##_go_, T##_destroy_, \
		T##_insert_, T##_note_, T##_open_gate_, T##_wake_, T##_sum_, T##_scan_, T##_report_, T##_some_sum_, T##_some_, \
		T##_section_, T##_make_, T##_make_empty_ };
OPS(Line) OPS(Plane) OPS(Cube)
static const struct ops *const ops_of[] = { &Line_ops, &Plane_ops, &Cube_ops };

static CkElement element(uint64_t id, int i) { return (CkElement){ id, index_of(i), 0 }; }

/* ---- movers ------------------------------------------------------------------------------------------ */

static struct collection *array(uint64_t id) { return coll_get(csd_self(), id); }

void Mover_on_new(Mover *self) { self->seq = 0; }

void Mover_on_size(Mover *self, CkArrayDims d)
{
	self->seq = 0;
	size = d;
}

void Mover_on_twin(Mover *self, int no, int n, const int *at)
{
	(void)self;
	memcpy(twin_at[no], at, (size_t)n * sizeof *at);
}

/* Each element gets as many as any other. */
static void call_all(Mover *self, int type, uint64_t id, int total, int n)
{
	for (int k = 0; k < n; k++, self->seq++)
		for (int i = 0; i < total; i++) {
			const int e = (i + CkMyPe() * 5) % total;

			ops_of[type]->hit(element(id, e), CkMyPe(), self->seq);
			ops_of[type]->tick(element(id, e), CkMyPe(), self->seq);
		}
}

void Mover_on_calls(Mover *self, int type, uint64_t id, int total, int n) { call_all(self, type, id, total, n); }

void Mover_on_futures(Mover *self, int type, uint64_t id, int n, const int *at)
{
	long sum = 0;

	(void)self;
	for (int i = 0; i < n; i++) {
		CkFuture f = CkCreateFutureTyped(CK_INT);

		if (at[i] < 0)
			continue;
		ops_of[type]->ask(element(id, i), f);
		CkReductionMsg *m = CkWaitFuture(f);

		CHECK_EQ(*(const int *)CkReductionMsg_data(m), i);
		CkFreeMsg(m);
		CkReleaseFuture(f);
		sum++;
	}
	Main_asked(mainProxy, sum);
}

/* What it sends from now on waits. */
void Mover_on_close(Mover *self, int type, uint64_t id, int total)
{
	place_close(csd_self(), array(id));
	call_all(self, type, id, total, 1);
}

void Mover_on_rest(Mover *self, uint64_t id)
{
	struct collection *c = array(id);
	CkIndex list[CELLS_MOST];
	struct ck_obj *obj;
	int n = 0;

	(void)self;
	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		list[n++] = obj->index;
	Main_answer(mainProxy, CkMyPe(), place_still_of(csd_self(), c), n, list);
}

static void over(struct pe *pe, struct collection *c, void *arg)
{
	(void)pe;
	CHECK(place_is_closed(c) && !arg);
	Main_moved(mainProxy);
}

void Mover_on_go(Mover *self, uint64_t id, int n_cuts, const uint64_t *cuts, int n,
		 const Move *moves, Still still)
{
	struct place_plan plan = { .cuts = n_cuts ? cuts : NULL, .moves = moves, .n_moves = (size_t)n,
				   .still = still };

	(void)self;
	place_bulk(csd_self(), array(id), &plan, over, NULL);
}

/* Not inside a handler. */
static void open_it(void *arg)
{
	place_open(csd_self(), arg);
	Main_moved(mainProxy);
}

void Mover_on_open(Mover *self, uint64_t id)
{
	(void)self;
	CcdCallFnAfter(open_it, array(id), 0);
}

/* With cuts, calls find elements as in an array that never moved. */
void Mover_on_straight(Mover *self, uint64_t id)
{
	const struct collection *c = array(id);

	(void)self;
	CHECK(!c->route && !c->homes.map && !call_coll_of(c)->n_odd);
	CHECK_EQ(c->n_here, c->n_local);
	CHECK_EQ(c->n_here, c->n_slots);
}

/* ---- main -------------------------------------------------------------------------------------------- */

static enum type type_of(const Main *self) { return layouts[self->layout].type; }
static enum kind kind_of(const Main *self) { return layouts[self->layout].kind; }
static const struct ops *ops(const Main *self) { return ops_of[type_of(self)]; }
static CkProxy all_of(const Main *self) { return (CkProxy){ self->id }; }
static bool scans(const Main *self) { return kind_of(self) == BLOCK || kind_of(self) == MAP; }

static int draw(Main *self, int below)
{
	self->random = check_mix(self->random);
	return (int)(self->random % (uint64_t)below);
}

static void wait_for_quiet(void) { CkStartQD(Main_cb_next(mainProxy)); }

static int n_there(const Main *self)
{
	int n = 0;

	for (int i = 0; i < self->total; i++)
		n += self->there[i];
	return n;
}

static CkProxy make(Main *self, const char *map)
{
	CkArrayOptions o = { .dims = size, .map = map };

	if (kind_of(self) == SPARSE)
		return ops(self)->make_empty();
	return ops(self)->make(&o);
}

static void make_section(Main *self)
{
	CkIndex list[CELLS_MOST];
	size_t n = 0;

	for (int i = 0; i < self->total; i++) {
		self->some_member[i] = scans(self) && i % 3 == 1;
		if (self->some_member[i])
			list[n++] = index_of(i);
	}
	if (n)
		self->section = ops(self)->section(all_of(self), list, n);
}

static void begin_layout(Main *self)
{
	const int *n = layouts[self->layout].n;

	self->total = n[0] * n[1] * n[2];
	size = (CkArrayDims){ .nd = (int)type_of(self) + 1, .n = { n[0], n[1], n[2] } };
	self->round = self->n_notes = self->n_some = self->gate = self->n_scans = self->n_twins = 0;
	self->some_sum = 0;
	self->summed = self->seats = self->cuts = self->changed = false;
	self->section = (CkSection){ 0, 0 };
	memset(self->want, 0, sizeof self->want);
	memset(self->n_steps, 0, sizeof self->n_steps);
	memset(self->n_wakes, 0, sizeof self->n_wakes);
	self->id = make(self, kind_of(self) == MAP ? "scattered" : NULL).id;
	Mover_size_all(movers, size);
	for (int i = 0; i < self->total; i++)
		self->there[i] = true;
	for (int i = 0; kind_of(self) == SPARSE && i < self->total; i++)
		ops(self)->insert(element(self->id, i), draw(self, CkNumPes()));
	if (kind_of(self) == HOLES)
		Line_beginInserting((CProxy_Line){ all_of(self) });
	make_section(self);
	self->stage = TRAFFIC;
	wait_for_quiet();
}

static void count_all(Main *self, int what, long n)
{
	for (int i = 0; i < self->total; i++)
		self->want[what][i] += n;
}

static void count_there(Main *self, int what, long n)
{
	for (int i = 0; i < self->total; i++)
		self->want[what][i] += self->there[i] ? n : 0;
}

static void count_calls(Main *self, long n)
{
	count_all(self, N_HITS, n * CkNumPes());
	count_all(self, N_TICKS, n * CkNumPes());
}

static void note(Main *self)
{
	ops(self)->note(all_of(self), self->n_notes++);
	count_there(self, N_NOTES, 1);
	if (!self->section.id)
		return;
	ops(self)->some(self->section, self->n_some++);
	for (int i = 0; i < self->total; i++)
		self->want[N_SOME][i] += self->some_member[i];
}

static void traffic(Main *self)
{
	Mover_calls_all(movers, (int)type_of(self), self->id, self->total, HITS);
	count_calls(self, HITS);
	note(self);
	note(self);
}

/* ---- sums -------------------------------------------------------------------------------------------- */

static void sum_came(Main *self, int which, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	self->n_sums++;
	if (self->twin)
		self->twin_bits[which] = bits;
	else if (self->summed && !self->seats && !self->changed)
		CHECK_EQ(bits, self->bits[which]);
	if (!self->twin)
		self->bits[which] = bits;
}

void Main_on_sums(Main *self, double v) { sum_came(self, 0, v); }

/* All elements got the same result. */
void Main_on_same(Main *self, int n, const double *v)
{
	CHECK_EQ(n, 2);
	CHECK(v[0] == -v[1]);
	sum_came(self, 1, v[0]);
}

/* Whatever moves, a section's members are counted where they were. */
void Main_on_some_sums(Main *self, double v)
{
	CHECK(!self->some_sum || v == self->some_sum);
	self->some_sum = v;
	self->n_sums++;
}

static void begin_sums(Main *self)
{
	self->n_sums = 0;
	self->twin = false;
	ops(self)->sum(all_of(self));
}

static void end_sums(Main *self)
{
	CHECK_EQ(self->n_sums, 2);
	self->summed = true;
	self->changed = false;
	self->n_sums = 0;
}

/* Another array of the same shape, made where the elements of this one are now: which, all must know. */
static bool begin_twin(Main *self)
{
	if (self->n_twins == TWINS || !self->seats || n_there(self) < self->total)
		return false;
	for (int i = 0; i < self->total; i++)
		if (self->at[i] < 0)
			return false; /* inserted since */
	Mover_twin_all(movers, self->n_twins, self->total, self->at);
	return true;
}

static void make_twin(Main *self)
{
	const CkProxy t = make(self, twin_names[self->n_twins++]);

	for (int i = 0; kind_of(self) == SPARSE && i < self->total; i++)
		ops(self)->insert((CkElement){ t.id, index_of(i), 0 }, self->at[i]);
	self->twin_id = t.id;
}

static void sum_twin(Main *self)
{
	self->twin = true;
	ops(self)->sum((CkProxy){ self->twin_id });
}

static void end_twin(Main *self)
{
	CHECK_EQ(self->n_sums, 2);
	CHECK_EQ(self->twin_bits[0], self->bits[0]);
	CHECK_EQ(self->twin_bits[1], self->bits[1]);
}

/* ---- what else elements do --------------------------------------------------------------------------- */

static void others(Main *self)
{
	int where[CELLS_MOST];

	self->n_sums = 0;
	self->n_in = 0;
	if (self->section.id)
		ops(self)->some_sum(self->section, self->section);
	if (scans(self)) {
		ops(self)->scan(all_of(self));
		count_there(self, N_SCANS, 1);
	}
	for (int i = 0; i < self->total; i++)
		where[i] = self->there[i] ? i : -1;
	Mover_futures_all(movers, (int)type_of(self), self->id, self->total, where);
}

void Main_on_asked(Main *self, long n)
{
	CHECK_EQ(n, n_there(self));
	self->n_in++;
}

static void report(Main *self)
{
	CHECK_EQ(self->n_sums, self->section.id != 0);
	CHECK_EQ(self->n_in, CkNumPes());
	self->n_in = 0;
	ops(self)->report(all_of(self));
}

void Main_on_counts(Main *self, int n, const long *v)
{
	long want[COUNTS] = { 0 };

	CHECK_EQ(n, COUNTS);
	for (int k = 0; k < COUNTS; k++)
		for (int i = 0; i < self->total; i++)
			want[k] += self->there[i] ? self->want[k][i] : 0;
	want[N_CELLS] = n_there(self);
	for (int i = 0; i < self->total; i++)
		if (self->there[i])
			want[N_WOKEN] += self->n_steps[i] < self->n_wakes[i] ? self->n_steps[i] : self->n_wakes[i];
	for (int k = 0; k < COUNTS; k++)
		if (v[k] != want[k])
			CkAbort("layout %d, round %d: count %d is %ld, not %ld", self->layout, self->round, k, v[k], want[k]);
	self->n_in = 1;
}

static void under_way(Main *self)
{
	CHECK_EQ(self->n_in, 1);
	for (int i = 0; self->round % 2 && i < self->total; i++)
		if (self->there[i] && !draw(self, 3))
			ops(self)->go(element(self->id, i), draw(self, CkNumPes()));
}

static int draw_one(Main *self, bool there)
{
	const int first = draw(self, self->total);

	for (int i = 0; i < self->total; i++)
		if (self->there[(first + i) % self->total] == there)
			return (first + i) % self->total;
	return -1;
}

static void destroy_one(Main *self)
{
	const int i = draw_one(self, true);

	if (n_there(self) < self->total / 2)
		return;
	ops(self)->destroy(element(self->id, i));
	for (int k = 0; k < COUNTS; k++)
		self->want[k][i] = 0;
	self->there[i] = false;
	self->n_steps[i] = self->n_wakes[i] = 0;
	self->changed = true;
}

static void insert_one(Main *self)
{
	const int i = draw_one(self, false);

	if (i < 0)
		return;
	ops(self)->insert(element(self->id, i), kind_of(self) == SPARSE ? draw(self, CkNumPes()) : CK_PE_ANY);
	self->there[i] = true;
	self->changed = true;
}

static bool changes(const Main *self) { return kind_of(self) == SPARSE || kind_of(self) == HOLES; }

static void change(Main *self)
{
	if (!changes(self))
		return;
	if (self->round % 3 != 2)
		insert_one(self);
	if (self->round % 3 != 1)
		destroy_one(self);
}

/* Calls and bodies that wait while their elements move. */
static void later(Main *self)
{
	self->gate++;
	for (int i = 0; i < self->total; i++) {
		if (!self->there[i])
			continue;
		ops(self)->late(element(self->id, i), self->gate);
		ops(self)->steps(element(self->id, i));
		self->n_steps[i]++;
		self->want[N_LATE][i]++;
	}
}

static void wake(Main *self)
{
	ops(self)->open_gate(all_of(self), self->gate);
	ops(self)->wake(all_of(self), 1);
	for (int i = 0; i < self->total; i++)
		self->n_wakes[i] += self->there[i];
	if (self->cuts && self->seats && n_there(self) == self->total)
		Mover_straight_all(movers, self->id);
}

/* ---- plans -------------------------------------------------------------------------------------------- */

static void close_it(Main *self)
{
	Mover_close_all(movers, (int)type_of(self), self->id, self->total);
	count_calls(self, 1);
}

static void ask(Main *self)
{
	self->n_in = 0;
	memset(&self->still, 0, sizeof self->still);
	for (int i = 0; i < self->total; i++)
		self->at[i] = -1;
	Mover_rest_all(movers, self->id);
}

static int compare(const void *a_, const void *b_)
{
	const uint64_t a = *(const uint64_t *)a_, b = *(const uint64_t *)b_;

	return (a > b) - (a < b);
}

/* Some PEs get nothing. */
static void draw_cuts(Main *self, uint64_t *cuts)
{
	const int n = CkNumPes();

	cuts[0] = 0;
	for (int p = 1; p < n; p++)
		cuts[p] = (uint64_t)draw(self, self->total + 1);
	cuts[n] = (uint64_t)self->total;
	qsort(cuts, (size_t)n + 1, sizeof *cuts, compare);
	for (int i = 0; i < self->total; i++)
		for (int p = 0; self->at[i] >= 0 && p < n; p++)
			if ((uint64_t)i >= cuts[p] && (uint64_t)i < cuts[p + 1])
				self->at[i] = p;
	self->n_cuts++;
}

static int draw_moves(Main *self, Move *moves)
{
	int n = 0;

	for (int i = 0; i < self->total; i++) {
		const int to = draw(self, CkNumPes());

		if (self->at[i] < 0 || to == self->at[i] || draw(self, 2))
			continue;
		moves[n++] = (Move){ index_of(i), self->at[i], to };
		self->at[i] = to;
	}
	self->n_moves += n;
	return n;
}

static void move(Main *self)
{
	uint64_t cuts[PES_MOST + 1];
	Move moves[CELLS_MOST];
	struct place_plan plan = { .still = self->still };
	int n = 0;

	self->n_in = 0;
	self->cuts = kind_of(self) != SPARSE && draw(self, 3);
	if (self->cuts)
		draw_cuts(self, cuts);
	else
		n = draw_moves(self, moves);
	plan.cuts = self->cuts ? cuts : NULL;
	self->seats = place_plan_moves_seats(array(self->id), &plan);
	CHECK_EQ(self->seats, self->cuts || kind_of(self) == SPARSE);
	self->n_seats += self->seats;
	/* These wait until it is open. */
	if (changes(self) && draw(self, 2))
		insert_one(self);
	else
		note(self);
	Mover_go_all(movers, self->id, self->cuts ? CkNumPes() + 1 : 0, cuts, n, moves, self->still);
}

void Main_on_answer(Main *self, int from, Still still, int n, const CkIndex *at)
{
	for (int k = 0; k < n; k++) {
		const int i = linear(at[k], size);

		CHECK(self->there[i] && self->at[i] < 0);
		self->at[i] = from;
	}
	place_still_join(&self->still, &still);
	if (++self->n_in < CkNumPes())
		return;
	for (int i = 0; i < self->total; i++)
		CHECK_EQ(self->at[i] >= 0, self->there[i]);
	move(self);
}

/* It is over on all PEs; then it is open on all. */
void Main_on_moved(Main *self)
{
	if (++self->n_in == CkNumPes())
		Mover_open_all(movers, self->id);
	if (self->n_in == 2 * CkNumPes())
		wait_for_quiet();
}

/* ---- one stage after the other -------------------------------------------------------------------------- */

static void finish(Main *self)
{
	CkPrintf("atrest: PASS on %d PEs: %d cuts, %d single moves, seats moved %d times\n", CkNumPes(), self->n_cuts,
		 self->n_moves, self->n_seats);
	CkExit(0);
}

static void next_round(Main *self)
{
	if (++self->round < self->rounds) {
		self->stage = TRAFFIC;
		wait_for_quiet();
	} else if (++self->layout < LAYOUTS) {
		begin_layout(self);
	} else {
		finish(self);
	}
}

/* Begin a stage; the next one begins when all is quiet. Returns whether this one has anything to wait for. */
static bool begin_stage(Main *self)
{
	switch (self->stage) {
	case TRAFFIC: traffic(self); break;
	case SUMS: begin_sums(self); break;
	case SUMMED: end_sums(self); return begin_twin(self);
	case TWIN: make_twin(self); break;
	case TWIN_SUMS: sum_twin(self); break;
	case TWINNED: end_twin(self); return false;
	case OTHERS: others(self); break;
	case REPORT: report(self); break;
	case UNDER_WAY: under_way(self); break;
	case CHANGE: change(self); break;
	case LATER: later(self); break;
	case CLOSE: close_it(self); break;
	case ASK: ask(self); break;
	default: wake(self); break;
	}
	return true;
}

void Main_on_next(Main *self)
{
	const enum stage now = self->stage;
	const bool waits = begin_stage(self);

	self->stage++;
	if (now == WAKE) {
		next_round(self);
		return;
	}
	if (now == SUMMED && !waits)
		self->stage = OTHERS;
	if (now == ASK)
		self->stage = WAKE; /* Main_on_moved goes on */
	else if (waits)
		wait_for_quiet();
	else
		Main_on_next(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const uint64_t seed = check_run_seed(m);

	mainProxy = Main_thisProxy(self);
	CkPrintf("atrest: seed %llu\n", (unsigned long long)seed);
	CHECK(CkNumPes() <= PES_MOST);
	self->random = seed;
	self->rounds = m->argc > 2 ? atoi(m->argv[2]) : 6;
	movers = Mover_ckNew();
	begin_layout(self);
}

#include "atrest.def.h"
