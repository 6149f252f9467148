/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allkinds [CRASH [ROUNDS]]: 4 or ROUNDS rounds in which all kinds of chares are called, move, are
 * made and end. Amid each round but the last something of everything waits, and the job is saved,
 * into the folder SAVE_DIR if there is one. STOP=R: the job ends when it has been saved in round R.
 * In round CRASH it is saved in memory, and ends by a signal, if it has not been started from a
 * checkpoint. With MAY_FAIL it goes on if it cannot be saved.
 *
 * What an element adds up does not depend on the order of its calls, and every branch of a group
 * gets the same ones. So the last line is the same in every shape, and after every restart.
 */
#include "check.h"
#include "ckchannel.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "allkinds.h"
#include "allkinds.decl.h"

enum { ROUNDS = 4, MOST_ROUNDS = 100, LINES = 17, CUBE = 3, MAPPED = 11, WIDE = 4, TAGS = 6,
       SYNCS = 7, RINGS = 10, LONES = 6, MORE = 2, ASK = 5, CACHE = 17, TABLE = 9, CONSTANTS = 37,
       TOTALS = 23,
       MOST_LONES = LONES + MOST_ROUNDS * MORE };

struct Main {
	int stage, round, rounds, crash, n_quiet, n_rested;
	Sum s;
	CProxy_Lone lones[MOST_LONES];
	bool lives[MOST_LONES];
	CProxySection_Line thirds;
	CkCompletion c;
	CkSpread constants, totals; /* element i is of(i); what Lines add up, in structs */
	uint64_t words[CONSTANTS + TOTALS];
};
struct Second { Sum s; Kept *kept; int here; };
struct Branch { Sum s; int asked, n; double *v; int cache; };
struct Shared { Sum s; };
struct Lone { Sum s; int no; CkCallback told; };
struct Line {
	Sum s;
	int asked, n;
	double *v;
	Kept *kept;
	CkCallback told;
	CkGlobal at;              /* into the constants: saved as it is */
	uint64_t got;
};
struct Cube { Sum s; };
struct Grid { Sum s; };
struct Mapped { Sum s; };
struct Thin { Sum s; };
struct Tagged { Sum s; };
struct Sync { Sum s; };

static int reverse(CkIndex i, CkArrayDims dims, int n_pes)
{
	return (dims.n[0] - 1 - i.v[0]) * 2 % n_pes;
}

/* Once a node, before its PEs. */
void register_map(void) { CkRegisterMap("reverse", reverse); }

/* ---- what all have --------------------------------------------------------------------------- */

static void add(Sum *s, long by)
{
	s->sum += check_mix((uint64_t)by + (uint64_t)base);
	s->n++;
}

static void report(void *self, const Sum *s)
{
	const long v[2] = { (long)s->sum, s->n };

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_sums(mainProxy));
}

/* Of branches, which are all the same. */
static void report_most(void *self, const Sum *s)
{
	const long v[4] = { (long)s->sum, -(long)s->sum, s->n, -s->n };

	CkContribute(self, v, 4, CkReduction_max_long, Main_cb_most(mainProxy));
}

#define ELEMENT(T)                                                                                 \
	void T##_on_new(T *self) { memset(self, 0, sizeof *self); }                                \
	void T##_on_report(T *self) { report(self, &self->s); }
#define CALLED(T)                                                                                  \
	ELEMENT(T)                                                                                 \
	void T##_on_hit(T *self, long by) { add(&self->s, by); }
#define MOVES(T)                                                                                   \
	CALLED(T)                                                                                  \
	void T##_on_go(T *self, int to) { CkMigrateMe(self, to); }

CALLED(Cube)
MOVES(Grid)
MOVES(Mapped)
MOVES(Thin)
MOVES(Tagged)
ELEMENT(Sync)

void Cube_on_end(Cube *self) { CkDestroy(self); }
void Sync_on_at_sync(Sync *self) { CkAtSync(self); }
void Sync_on_resumeFromSync(Sync *self) { add(&self->s, 77); }

static Far *far_new(int no, long value)
{
	Far *m = Far_alloc(0);

	m->no = no;
	m->at = malloc(sizeof *m->at);
	*m->at = value;
	return m;
}

void *Far_pack(Far *m)
{
	long *flat = CkAllocBuffer(m, 2 * sizeof *flat);

	flat[0] = m->no;
	flat[1] = *m->at;
	free(m->at);
	CkFreeMsg(m);
	return flat;
}

Far *Far_unpack(void *flat)
{
	const long *v = flat;
	Far *m = far_new((int)v[0], v[1]);

	CkFreeMsg(flat);
	return m;
}

static void take(Sum *s, const Far *m)
{
	add(s, *m->at);
	free(m->at);
}

static Kept *kept_new(int n)
{
	Kept *m = Kept_alloc();

	m->n = n;
	return m;
}

static void check_table(void)
{
	CHECK_EQ(table->n, TABLE);
	for (int i = 0; i < TABLE; i++)
		CHECK_EQ(table->v[i], i * i);
}

/* ---- one on a PE, one on a node -------------------------------------------------------------- */

void Second_on_new(Second *self, CkArgMsg *m)
{
	(void)m;
	*self = (Second){ .kept = kept_new(12) };
	second = Second_thisProxy(self);
}

void Second_on_hit(Second *self, long by)
{
	CHECK_EQ(self->kept->n, 12);
	CHECK_EQ(self->here, CkRestartedFrom(NULL));
	add(&self->s, by);
}

void Second_on_report(Second *self) { Main_note(mainProxy, (long)self->s.sum); }
void Second_on_arrived(Second *self) { self->here = 1; }

void Branch_on_new(Branch *self)
{
	*self = (Branch){ .n = 3, .cache = CACHE };
	self->v = malloc(3 * sizeof *self->v);
	for (int i = 0; i < 3; i++)
		self->v[i] = i + 0.5;
}

void Branch_on_arrived(Branch *self)
{
	CHECK(!self->cache);
	check_table();
	self->cache = CACHE;
}

void Branch_on_hit(Branch *self, long by)
{
	CHECK(self->cache == CACHE && self->v[2] == 2.5);
	add(&self->s, by);
}

void Branch_on_make_lone(Branch *self, int no, int on)
{
	(void)self;
	Main_made(mainProxy, no, Lone_ckNew(on, no));
}

void Branch_on_consume(Branch *self, CkCompletion c)
{
	(void)self;
	CkCompletionConsume(c, 1);
}

void Branch_on_late(Branch *self, int no, long by)
{
	CHECK(self->s.gate >= no);
	add(&self->s, by);
}

void Branch_on_open(Branch *self, int gate) { self->s.gate = gate; }
void Branch_on_ask(Branch *self, int asked)
{
	self->asked = asked;
	Branch_rests_whenIdle(self);
}

bool Branch_on_rests(Branch *self)
{
	if (self->s.gate < self->asked)
		return true;
	add(&self->s, 33);
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_rested(mainProxy));
	return false;
}

void Branch_on_report(Branch *self) { report_most(self, &self->s); }

void Shared_on_new(Shared *self) { memset(self, 0, sizeof *self); }
void Shared_on_hit(Shared *self, long by) { add(&self->s, by); }
void Shared_on_report(Shared *self) { report_most(self, &self->s); }

/* ---- chares ---------------------------------------------------------------------------------- */

void Lone_on_new(Lone *self, int no)
{
	*self = (Lone){ .no = no, .told = Line_cb_tell(Line_at(lines, no % LINES)) };
}

void Lone_on_arrived(Lone *self) { CHECK(self->no >= 0 && self->no < MOST_LONES); }

void Lone_on_hit(Lone *self, long by)
{
	CHECK_EQ(Lone_thisProxy(self).ck.pe % CkNumPes(), CkMyPe());
	add(&self->s, by);
	CkCallbackSend(self->told, NULL, 0);
}

void Lone_on_late(Lone *self, int no, long by)
{
	CHECK(self->s.gate >= no);
	add(&self->s, by);
}

void Lone_on_open(Lone *self, int gate) { self->s.gate = gate; }
void Lone_on_report(Lone *self) { Main_note(mainProxy, (long)self->s.sum + self->no); }
void Lone_on_end(Lone *self) { CkDestroy(self); }

/* ---- elements that wait in all ways ---------------------------------------------------------- */

void Line_on_new(Line *self)
{
	const int i = Line_thisIndex(self);

	*self = (Line){ .n = i % 4, .kept = i % 2 ? kept_new(i) : NULL };
	self->told = Second_cb_hit(second);
	self->v = malloc((size_t)self->n * sizeof *self->v);
	for (int k = 0; k < self->n; k++)
		self->v[k] = k + 0.5;
}

static void check_line(Line *self)
{
	const int i = Line_thisIndex(self);

	CHECK_EQ(self->n, i % 4);
	for (int k = 0; k < self->n; k++)
		CHECK(self->v[k] == k + 0.5);
	CHECK(i % 2 ? self->kept->n == i : !self->kept);
}

void Line_on_arrived(Line *self) { check_line(self); }

void Line_on_hit(Line *self, long by)
{
	check_line(self);
	check_table();
	add(&self->s, by);
}

static uint64_t constant(int i) { return check_mix((uint64_t)i + 31); }

/* A total is the second word of 3 words that lie together. */
static CkGlobal total_at(CkSpread totals, uint64_t i)
{
	return CkGlobalAdd(CkSpreadAt(totals, i % TOTALS), 8);
}

void Line_on_touch(Line *self, CkSpread constants, CkSpread totals, long by)
{
	if (CkGlobalIsNull(self->at))
		self->at = CkSpreadAt(constants, (uint64_t)Line_thisIndex(self) * 2);
	CkAtomicGet(NULL, CK_ATOMIC_ADD, total_at(totals, (uint64_t)by), 8, check_mix((uint64_t)by), 0);
	CkGet(&self->got, self->at, sizeof self->got);
	CkSyncThen(Line_cb_got(Line_thisElement(self)));
}

void Line_on_got(Line *self)
{
	CHECK(self->got == constant(2 * Line_thisIndex(self)));
	add(&self->s, (long)self->got);
}

void Line_on_go(Line *self, int to) { CkMigrateMe(self, to); }
void Line_on_open(Line *self, int gate) { self->s.gate = gate; }
void Line_on_late(Line *self, int no, long by) { (void)no, add(&self->s, by); }
void Line_on_far(Line *self, Far *m) { take(&self->s, m); }
void Line_on_three(Line *self, int no, int n, const Line_three_call *calls)
{
	CHECK_EQ(n, 3);
	for (int i = 0; i < n; i++)
		add(&self->s, calls[i].by + no);
}

void Line_on_poke(Line *self, CProxySection_Line s, long by)
{
	const long v = (long)check_mix((uint64_t)by) % 1000 + Line_thisIndex(self);

	CkContributeSection(self, s.ck, &v, 1, CkReduction_sum_long, Main_cb_of_section(mainProxy));
}

/* By the callback that a chare keeps; it uses the one that it keeps itself. */
void Line_on_tell(Line *self)
{
	const long v = Line_thisIndex(self);

	add(&self->s, v);
	CkCallbackSendTyped(self->told, CK_LONG, &v, 1);
}

/* The PE asks, while it is idle, whether the gate is open. */
void Line_on_ask(Line *self, int asked)
{
	self->asked = asked;
	Line_rests_whenIdle(self);
}

bool Line_on_rests(Line *self)
{
	if (self->s.gate < self->asked)
		return true;
	add(&self->s, 55);
	Main_rested(mainProxy);
	return false;
}

void Line_on_report(Line *self) { report(self, &self->s); }

void Line_on_scan(Line *self)
{
	const long v = self->s.n;

	CkScan(self, &v, 1, CkReduction_sum_long, CK_SCAN_INCLUSIVE,
	       Line_cb_before(Line_thisElement(self)));
}

void Line_on_before(Line *self, long v) { add(&self->s, v); }

#include "ring.h"

/* ---- the program: making --------------------------------------------------------------------- */

void Main_pup(pup_er p, Main *self) { pup_bytes(p, self, sizeof *self); }

static bool is_thin(int x, int y) { return (x * 5 + y) % 3 != 0; }
static Tag tag_of(int i) { return (Tag){ .level = i * 1000, .x = (int16_t)-i, .y = 7, .face = 3 }; }

static void make_arrays(void)
{
	lines = Line_ckNew(CkDims(LINES));
	cubes = Cube_ckNew(CkDims(CUBE, CUBE, CUBE));
	grids = Grid_ckNew_opt(&(CkArrayOptions){
		.start = { -2, 1 }, .end = { 6, 10 }, .step = { 2, 3 } });
	mapped = Mapped_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(MAPPED), .map = "reverse" });
	thins = Thin_ckNewEmpty();
	tagged = Tagged_ckNewEmpty();
	rings = Ring_ckNew(CkDims(RINGS));
	syncs = Sync_ckNew(CkDims(SYNCS));
}

static void insert_all(void)
{
	for (int i = 0; i < WIDE * WIDE; i++)
		if (is_thin(i / WIDE, i % WIDE))
			Thin_insert(Thin_at(thins, i / WIDE, i % WIDE), i % 2 ? CK_PE_ANY : i % CkNumPes());
	for (int i = 0; i < TAGS; i++)
		Tagged_insert(Tagged_at(tagged, tag_of(i)), CK_PE_ANY);
	Thin_doneInserting(thins);
	Tagged_doneInserting(tagged);
}

static void make_section(Main *self)
{
	CkIndex list[LINES];
	size_t n = 0;

	for (int i = 0; i < LINES; i += 3)
		list[n++] = Line_index(i);
	self->thirds = Line_ckSection(lines, list, n);
}

static void make_readonlies(void)
{
	base = 1000003;
	table = Table_alloc(TABLE);
	table->n = TABLE;
	for (int i = 0; i < TABLE; i++)
		table->v[i] = i * i;
}

static void make_spreads(void)
{
	CkSpreadNew(CONSTANTS, sizeof(uint64_t), 3, Main_cb_spread(mainProxy));
	CkSpreadNew(TOTALS, 3 * sizeof(uint64_t), 0, Main_cb_spread(mainProxy));
}

/* In any order. */
void Main_on_spread(Main *self, const CkReductionMsg *m)
{
	CkSpread s;

	memcpy(&s, m + 1, sizeof s);
	if (s.n == TOTALS) {
		self->totals = s;
		return;
	}
	self->constants = s;
	for (int i = 0; i < CONSTANTS; i++) {
		self->words[i] = constant(i);
		CkPut(CkSpreadAt(s, (uint64_t)i), &self->words[i], sizeof(uint64_t));
	}
}

static void ask_totals(Main *self)
{
	for (int i = 0; i < CONSTANTS + TOTALS; i++)
		CkGet(&self->words[i], i < CONSTANTS ? CkSpreadAt(self->constants, (uint64_t)i) :
		      total_at(self->totals, (uint64_t)(i - CONSTANTS)), sizeof(uint64_t));
	CkSyncThen(Main_cb_totals(mainProxy));
}

void Main_on_totals(Main *self)
{
	for (int i = 0; i < CONSTANTS; i++)
		CHECK(self->words[i] == constant(i));
	for (int i = 0; i < TOTALS; i++)
		add(&self->s, (long)self->words[CONSTANTS + i]);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	memset(self, 0, sizeof *self);
	self->crash = m->argc > 1 ? atoi(m->argv[1]) : 0;
	self->rounds = m->argc > 2 ? atoi(m->argv[2]) : ROUNDS;
	CHECK(self->rounds <= MOST_ROUNDS);
	mainProxy = Main_thisProxy(self);
	make_readonlies();
	branches = Branch_ckNew();
	shared = Shared_ckNew();
	make_arrays();
	insert_all();
	make_section(self);
	make_spreads();
	self->c = CkCompletionCreate();
	CkStartQD(Main_cb_next(mainProxy));
}

void Main_on_made(Main *self, int no, CProxy_Lone lone)
{
	for (int i = 0; i < MOST_LONES; i++)
		CHECK(!self->lives[i] || self->lones[i].ck.id != lone.ck.id ||
		      self->lones[i].ck.pe != lone.ck.pe);
	self->lones[no] = lone;
	self->lives[no] = true;
}

/* By all PEs in turn, on others. */
static void make_lones(const Main *self)
{
	const int first = self->round == 1 ? 0 : LONES + (self->round - 2) * MORE;
	const int end = LONES + (self->round - 1) * MORE;

	for (int i = first; i < end; i++)
		Branch_make_lone(Branch_at(branches, i * 3 % CkNumPes()), i, i % CkNumPes());
}

/* ---- the program: calls and moves ------------------------------------------------------------ */

static void hit_arrays(long k, bool holes)
{
	for (int i = 0; i < LINES; i++)
		Line_hit(Line_at(lines, i), k + i);
	for (int i = 0; i < CUBE * CUBE * CUBE; i++)
		if (!holes || i % 4)
			Cube_hit(Cube_at(cubes, i / 9, i / 3 % 3, i % 3), k + i);
	for (int x = -2; x < 6; x += 2)
		for (int y = 1; y < 10; y += 3)
			Grid_hit(Grid_at(grids, x, y), k + x * 10 + y);
	for (int i = 0; i < MAPPED; i++)
		Mapped_hit(Mapped_at(mapped, i), k + i);
	for (int i = 0; i < WIDE * WIDE; i++)
		if (is_thin(i / WIDE, i % WIDE))
			Thin_hit(Thin_at(thins, i / WIDE, i % WIDE), k + i);
	for (int i = 0; i < TAGS; i++)
		Tagged_hit(Tagged_at(tagged, tag_of(i)), k + i);
}

static void hit_others(const Main *self, long k)
{
	Second_hit(second, k);
	Branch_hit_all(branches, k);
	Shared_hit_all(shared, k);
	for (int i = 0; i < MOST_LONES; i++)
		if (self->lives[i])
			Lone_hit(self->lones[i], k + i);
	Line_poke_section(self->thirds, self->thirds, k);
	for (int i = 0; i < LINES; i++)
		Line_touch(Line_at(lines, i), self->constants, self->totals, k + i);
}

static void move_some(int round)
{
	const int pes = CkNumPes();

	for (int i = 0; i < LINES; i += 2)
		Line_go(Line_at(lines, i), (i * 7 + round) % pes);
	for (int i = 0; i < MAPPED; i += 3)
		Mapped_go(Mapped_at(mapped, i), (i + round) % pes);
	for (int x = -2; x < 6; x += 2)
		Grid_go(Grid_at(grids, x, 4), (x + 2 + round) % pes);
	for (int i = 0; i < WIDE * WIDE; i += 3)
		if (is_thin(i / WIDE, i % WIDE))
			Thin_go(Thin_at(thins, i / WIDE, i % WIDE), (i + round) % pes);
	for (int i = 0; i < TAGS; i += 2)
		Tagged_go(Tagged_at(tagged, tag_of(i)), (i + round) % pes);
	for (int i = 0; i < RINGS; i += 2)
		Ring_go(Ring_at(rings, i), (i * 3 + round) % pes);
}

static void end_some(Main *self)
{
	Thin_beginInserting(thins);
	Tagged_beginInserting(tagged);
	self->lives[self->round] = false;
	Lone_end(self->lones[self->round]);
	for (int i = 0; self->round == 1 && i < CUBE * CUBE * CUBE; i += 4)
		Cube_end(Cube_at(cubes, i / 9, i / 3 % 3, i % 3));
}

static void put_all(long k)
{
	for (int i = 0; i < RINGS; i++)
		Ring_put(Ring_at(rings, i), k + i);
}

static void report_all(Main *self)
{
	ask_totals(self);
	Second_report(second);
	Branch_report_all(branches);
	Shared_report_all(shared);
	for (int i = 0; i < MOST_LONES; i++)
		if (self->lives[i])
			Lone_report(self->lones[i]);
	Line_report_all(lines);
	Cube_report_all(cubes);
	Grid_report_all(grids);
	Mapped_report_all(mapped);
	Thin_report_all(thins);
	Tagged_report_all(tagged);
	Ring_report_all(rings);
	Sync_report_all(syncs);
}

/* ---- the program: what waits while it is saved ----------------------------------------------- */

static void begin_line(int i, int gate)
{
	const long each[2] = { 5, 6 };
	const CProxyElement_Line to = Line_at(lines, i);

	Line_late(to, gate + 1, 100 + i);
	Line_far(to, far_new(gate + 2, 200 + i));
	Line_late(to, gate + 3, 300 + i);
	Line_three(to, 4, 10 + i);
	Line_three(to, 9, 20 + i);
	Line_three(to, 4, 30 + i);
	if (i % 3 == 0)
		Line_steps(to, 2, each);
	if (i % 3 == 1) /* kept before its body begins, or taken */
		Line_pass(to, far_new(0, 500 + i));
	else
		Line_wake(to, 0, 400 + i);
	if (i % 4)
		Line_many(to, 4);
	Line_tick(to, 0, i);
	Line_tick(to, 3, 2 * i);
	if (i < ASK)
		Line_ask(to, gate + 3);
}

static void go_on_line(int i, int gate)
{
	const long each[2] = { 5, 6 };
	const CProxyElement_Line to = Line_at(lines, i);

	Line_open(to, gate + 2);
	Line_three(to, 4, 40 + i);
	Line_three(to, 9, 50 + i);
	Line_three(to, 9, 60 + i);
	if (i % 3)
		Line_steps(to, 2, each);
	if (i % 3 == 1)
		Line_wake(to, 0, 400 + i);
	else
		Line_pass(to, far_new(0, 500 + i));
	Line_pass(to, far_new(0, 600 + i));
	Line_wake(to, 1, 700 + i);
	if (i % 4 == 0)
		Line_many(to, 4);
	Line_tick(to, 1, 3 * i);
	Line_tick(to, 2, 4 * i);
	Line_open(to, gate + 3);
}

static void begin_to_wait(Main *self)
{
	const int r = self->round;

	for (int i = 0; i < LINES; i++)
		begin_line(i, 3 * r);
	Branch_late_all(branches, r, 800 + r);
	Branch_steps_all(branches);
	Branch_ask_all(branches, r);
	for (int i = 0; i < MOST_LONES; i++)
		if (self->lives[i])
			Lone_late(self->lones[i], r, 900 + i);
	Thin_insert(Thin_at(thins, 8, r), CK_PE_ANY); /* the phase stays open */
	Thin_hit(Thin_at(thins, 9, r), 4711);
	Thin_hit(Thin_at(thins, 9, r), 4712);
	Tagged_hit(Tagged_at(tagged, tag_of(TAGS + r)), r);
	for (int i = 0; i + 1 < SYNCS; i++)
		Sync_at_sync(Sync_at(syncs, i));
	for (int i = 0; i < RINGS; i += 2)
		Ring_rise(Ring_at(rings, i), 10 + i);
	CkCompletionProduce(self->c, 1);
}

static void go_on_waiting(const Main *self)
{
	const int r = self->round;

	for (int i = 0; i < LINES; i++)
		go_on_line(i, 3 * r);
	Branch_open_all(branches, r);
	Branch_wake_all(branches, 70 * r);
	for (int i = 0; i < MOST_LONES; i++)
		if (self->lives[i])
			Lone_open(self->lones[i], r);
	Thin_insert(Thin_at(thins, 9, r), CK_PE_ANY);
	Thin_doneInserting(thins);
	Tagged_insert(Tagged_at(tagged, tag_of(TAGS + r)), CK_PE_ANY);
	Tagged_doneInserting(tagged);
	Sync_at_sync(Sync_at(syncs, SYNCS - 1));
	for (int i = 1; i < RINGS; i += 2)
		Ring_rise(Ring_at(rings, i), 10 + i);
	Ring_let_all(rings);
	Branch_consume(Branch_at(branches, r % CkNumPes()), self->c);
}

/* ---- the program: its stages ----------------------------------------------------------------- */

static void save(const Main *self)
{
	const char *dir = getenv("SAVE_DIR");

	CkStartQD(Main_cb_quiet(mainProxy));
	if (!dir || self->round == self->rounds)
		CkStartQD(Main_cb_next(mainProxy));
	else if (self->crash == self->round)
		CkStartMemCheckpoint(Main_cb_saved(mainProxy));
	else
		CkStartCheckpoint(dir, Main_cb_saved(mainProxy));
}

static bool stops(const Main *self)
{
	const char *stop = getenv("STOP");

	return stop && atoi(stop) == self->round;
}

static void go_on(Main *self)
{
	CkStartQD(Main_cb_next(mainProxy));
	go_on_waiting(self);
	self->stage++;
}

void Main_on_saved(Main *self, int status)
{
	if (status == CK_CHECKPOINT_RESTARTED) {
		CHECK(CkRestartedFrom(NULL));
		CkPrintf("allkinds: again after round %d\n", self->round);
		go_on(self);
		return;
	}
	if (getenv("MAY_FAIL") && status == CK_CHECKPOINT_FAILURE)
		CkPrintf("allkinds: not saved in round %d\n", self->round);
	else
		CHECK_EQ(status, CK_CHECKPOINT_SUCCESS);
	if (self->crash == self->round && !CkRestartedFrom(NULL))
		raise(SIGSEGV);
	if (stops(self))
		CkExit(0);
	else
		go_on(self);
}

static void finish(Main *self)
{
	CHECK_EQ(self->n_quiet, self->rounds);
	CkCompletionStart(self->c, 1, Main_cb_started(mainProxy), Main_cb_produced(mainProxy),
			  Main_cb_finished(mainProxy), 0);
	CkCompletionDone(self->c);
}

enum { MAKE, HIT, MOVE, PUT, REPORT, END, WAIT, SAVE, GO_ON, REST, SCAN, ROUND_OVER };

/* All that PEs have asked while they were idle. Who waits for that lets PE 0 be idle. */
static void maybe_rested(const Main *self)
{
	if (self->stage == SCAN && self->n_rested == self->round * (ASK + 1))
		CkStartQD(Main_cb_next(mainProxy));
}

void Main_on_rested(Main *self)
{
	self->n_rested++;
	maybe_rested(self);
}

static void next_round(Main *self)
{
	self->stage = HIT;
	self->round++;
	make_lones(self);
}

void Main_on_next(Main *self)
{
	const int stage = self->stage++;
	const long k = 1000 * self->round;

	if (stage != SAVE && stage != GO_ON && stage != REST &&
	    (stage != ROUND_OVER || self->round < self->rounds))
		CkStartQD(Main_cb_next(mainProxy));
	switch (stage) {
	case MAKE: Ring_make_all(rings); next_round(self); break;
	case HIT: hit_arrays(k, self->round > 1); hit_others(self, k); break;
	case MOVE: move_some(self->round); break;
	case PUT: put_all(50 * self->round); hit_arrays(k + 500, self->round > 1); break;
	case REPORT: report_all(self); break;
	case END: end_some(self); break;
	case WAIT: begin_to_wait(self); break;
	case SAVE: save(self); break;
	case GO_ON: self->stage--; go_on(self); break;
	case REST: maybe_rested(self); break;
	case SCAN: Line_scan_all(lines); break;
	case ROUND_OVER: self->round < self->rounds ? next_round(self) : finish(self); break;
	}
}

void Main_on_quiet(Main *self) { self->n_quiet++; }
void Main_on_started(Main *self) { (void)self; }
void Main_on_produced(Main *self) { (void)self; }
void Main_on_note(Main *self, long v) { add(&self->s, v); }
void Main_on_of_section(Main *self, long v) { add(&self->s, v); }

void Main_on_sums(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 2);
	add(&self->s, v[0]);
	add(&self->s, v[1]);
}

void Main_on_most(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 4);
	CHECK(v[0] == -v[1] && v[2] == -v[3]);
	add(&self->s, v[0]);
	add(&self->s, v[2]);
}

void Main_on_finished(Main *self)
{
	CkPrintf("allkinds: %lu, %d\n", self->s.sum, self->s.n);
	CkExit(0);
}

#include "allkinds.def.h"
