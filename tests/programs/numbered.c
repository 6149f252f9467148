/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbered: a callback's reference number arrives with what the callback brings, whatever fires it (one row of
 * `sources` each) and whatever its target is (one row of `targets`): in a handler that takes a CkReductionMsg, in a
 * [reductiontarget], and in a `when f[n]` for either. Main goes through all combinations, one at a time. Where
 * something goes on in the same PE (an element's own collection), the next number differs from the last.
 *
 *	numbered PART PARTS [moves]     each PARTS-th combination, from the PART-th on; with elements that move
 *	numbered disagree TARGET|some   elements, of all or of a section, give different numbers
 */
#include "check.h"
#include "numbered.h"
#include "numbered.decl.h"

enum { CELLS = 7, ROWS = 3, COLUMNS = 2, SOME = 3, BIG = 5000 };

struct Main { CkCallback cb; CkFuture done; int no, n_wanted, n_heard; };
struct Cell { uint64_t random; };
struct Hole { uint64_t random; };
struct Member { int unused; };
struct Branch { int unused; };
struct Single { int unused; };

void heard(int no) { Main_report(mainProxy, no); }

/* Handlers of the same names in all chares. */
#define TARGET(T) \
	void T##_on_raw(T *self, const CkReductionMsg *m) \
	{ \
		(void)self; \
		CHECK_EQ(CkGetRefNum(NULL), CkGetRefNum(m)); \
		heard(CkGetRefNum(m)); \
	} \
	void T##_on_sum(T *self, int v) \
	{ \
		(void)self; \
		CHECK_EQ(v, 1); \
		heard(CkGetRefNum(NULL)); \
	}
TARGET(Main) TARGET(Cell) TARGET(Hole) TARGET(Member) TARGET(Branch) TARGET(Single)

/* ---- what fires ------------------------------------------------------------------------------------------ */

/* What each of a collection's elements does. The result is one int, 1, where it is one. */
enum how { MAX, BARRIER, INTS, MANY, ORDERED, SET, RANDOM, TUPLE, SCAN, SECTION, SECTION_SET, FENCE };

static void give(void *self, enum how how, CkCallback to, CkSection s)
{
	static const double many[BIG];
	const int one = 1, ints[3] = { 1, 2, 3 };
	const CkTupleElement two[2] = { { CkReduction_max_int, 1, &one }, { CkReduction_concat, 2, "ab" } };

	switch (how) {
	case MAX: CkContribute(self, &one, 1, CkReduction_max_int, to); return;
	case BARRIER: CkContributeBarrier(self, to); return;
	case INTS: CkContribute(self, ints, 3, CkReduction_sum_int, to); return;
	case MANY: CkContribute(self, many, BIG, CkReduction_max_double, to); return;
	case ORDERED: CkContribute(self, many, 2, CkReduction_sum_double, to); return;
	case SET: CkContribute(self, "abc", 3, CkReduction_set, to); return;
	case RANDOM: CkContribute(self, "abc", 3, CkReduction_random, to); return;
	case TUPLE: CkContributeTuple(self, two, 2, to); return;
	case SCAN: CkScan(self, &one, 1, CkReduction_max_int, CK_SCAN_INCLUSIVE, to); return;
	case SECTION: CkContributeSection(self, s, &one, 1, CkReduction_max_int, to); return;
	case SECTION_SET: CkContributeSection(self, s, "abc", 3, CkReduction_set, to); return;
	case FENCE: CkFence(self, to); return;
	}
}

static void wander(void *self, uint64_t *random)
{
	*random = check_mix(*random);
	if (moving)
		CkMigrateMe(self, (int)(*random % (uint64_t)CkNumPes()));
}

/* A mistake: the elements of the first PE give another number than the others; if they are alone, the first element. */
enum { ANOTHER = 0x100 };

void Cell_on_give(Cell *self, int how, CkCallback to, CkSection s)
{
	if (how & ANOTHER)
		CkCallbackSetRefNum(&to, (CkNumPes() > 1 ? CkMyPe() : Cell_thisIndex(self)) ? 7 : 8);
	give(self, how & ~ANOTHER, to, s);
	wander(self, &self->random);
}

void Hole_on_give(Hole *self, int how, CkCallback to, CkSection s)
{
	give(self, how, to, s);
	wander(self, &self->random);
}

void Cell_pup(pup_er p, Cell *self) { pup_bytes(p, self, sizeof *self); }
void Hole_pup(pup_er p, Hole *self) { pup_bytes(p, self, sizeof *self); }

void Cell_on_new(Cell *self) { self->random = check_mix((uint64_t)Cell_thisIndex(self)); }

void Hole_on_new(Hole *self)
{
	const CkIndex2D i = Hole_thisIndex(self);

	self->random = check_mix((uint64_t)(100 + 10 * i.x + i.y));
}

void Member_on_new(Member *self) { (void)self; }
void Branch_on_new(Branch *self) { (void)self; }
void Single_on_new(Single *self) { (void)self; }

void Member_on_give(Member *self, int how, CkCallback to, CkSection s) { give(self, how, to, s); }
void Branch_on_give(Branch *self, int how, CkCallback to, CkSection s) { give(self, how, to, s); }

static CProxySection_Cell section;

static void by_cells(int how, CkCallback to) { Cell_give_all(cells, how, to, section.ck); }
static void by_some(int how, CkCallback to) { Cell_give_section(section, how, to, section.ck); }
static void by_holes(int how, CkCallback to) { Hole_give_all(holes, how, to, section.ck); }
static void by_members(int how, CkCallback to) { Member_give_all(members, how, to, section.ck); }
static void by_branches(int how, CkCallback to) { Branch_give_all(branches, how, to, section.ck); }

static void by_send(int how, CkCallback to) { (void)how; CkCallbackSend(to, NULL, 0); }
static void by_typed(int how, CkCallback to) { (void)how; CkCallbackSendTyped(to, CK_INT, &(int){ 1 }, 1); }
static void by_fn(int how, CkCallback to) { (void)how; CkCallbackFn(&to); }
static void by_quiescence(int how, CkCallback to) { (void)how; CkStartQD(to); }

static void by_creation(int how, CkCallback to)
{
	const CkArrayOptions o = { .dims = CkDims(3), .ready = &to };

	(void)how;
	Cell_ckNew_opt(&o);
}

enum { STARTED, ALL_PRODUCED, FINISHED };

static void by_completion(int how, CkCallback to)
{
	CkCallback all[3] = { CkCallbackIgnore(), CkCallbackIgnore(), CkCallbackIgnore() };
	CkCompletion c = CkCompletionCreate();

	all[how] = to;
	CkCompletionStart(c, 1, all[STARTED], all[ALL_PRODUCED], all[FINISHED], 0);
	CkCompletionDone(c);
}

/* Nobody uses the buffers any more when the next one begins. */
static void by_get(int how, CkCallback to)
{
	static long from, there;
	CkNcpyBuffer a, b;

	CkNcpyBufferInit(&a, &from, sizeof from, how ? CkCallbackIgnore() : to);
	CkNcpyBufferInit(&b, &there, sizeof there, how ? to : CkCallbackIgnore());
	CkNcpyGet(&b, &a);
}

enum { ONE, ALL_CELLS, ALL_MEMBERS };

static const struct source {
	const char *name;
	void (*fire)(int how, CkCallback to);
	int how;
	bool brings_one;  /* an int */
	int times;        /* how often it fires */
} sources[] = {
	{ "send", by_send, 0, false, ONE },
	{ "typed", by_typed, 0, true, ONE },
	{ "fn", by_fn, 0, false, ONE },
	{ "max of cells", by_cells, MAX, true, ONE },
	{ "barrier of cells", by_cells, BARRIER, false, ONE },
	{ "ints of cells", by_cells, INTS, false, ONE },
	{ "many of cells", by_cells, MANY, false, ONE },
	{ "ordered of cells", by_cells, ORDERED, false, ONE },
	{ "set of cells", by_cells, SET, false, ONE },
	{ "random of cells", by_cells, RANDOM, false, ONE },
	{ "tuple of cells", by_cells, TUPLE, false, ONE },
	{ "scan of cells", by_cells, SCAN, true, ALL_CELLS },
	{ "fence of cells", by_cells, FENCE, false, ONE },
	{ "max of some", by_some, SECTION, true, ONE },
	{ "set of some", by_some, SECTION_SET, false, ONE },
	{ "max of holes", by_holes, MAX, true, ONE },
	{ "barrier of holes", by_holes, BARRIER, false, ONE },
	{ "set of holes", by_holes, SET, false, ONE },
	{ "max of members", by_members, MAX, true, ONE },
	{ "barrier of members", by_members, BARRIER, false, ONE },
	{ "tuple of members", by_members, TUPLE, false, ONE },
	{ "scan of members", by_members, SCAN, true, ALL_MEMBERS },
	{ "fence of members", by_members, FENCE, false, ONE },
	{ "max of branches", by_branches, MAX, true, ONE },
	{ "set of branches", by_branches, SET, false, ONE },
	{ "quiescence", by_quiescence, 0, false, ONE },
	{ "creation", by_creation, 0, false, ONE },
	{ "completion, started", by_completion, STARTED, false, ONE },
	{ "completion, all produced", by_completion, ALL_PRODUCED, false, ONE },
	{ "completion, finished", by_completion, FINISHED, false, ONE },
	{ "get, source", by_get, 0, false, ONE },
	{ "get, destination", by_get, 1, false, ONE },
};
enum { SOURCES = sizeof sources / sizeof *sources };

/* ---- where it goes ----------------------------------------------------------------------------------------- */

static void function(void *ctx, const CkReductionMsg *m)
{
	(void)ctx;
	heard(CkGetRefNum(m));
}

/* The entries, and what each target has for them. */
enum entry { RAW, SUM, LATE, LATE_SUM, ENTRIES };

#define CALLBACKS(name, T, one, how) \
	static CkCallback to_##name(enum entry e) \
	{ \
		return e == RAW ? T##_cb_raw##how(one) : e == SUM ? T##_cb_sum##how(one) : \
		       e == LATE ? T##_cb_late##how(one) : T##_cb_late_sum##how(one); \
	} \
	static void await_##name(enum entry e, int no) \
	{ \
		if (e == LATE) \
			T##_await##how(one, no); \
		if (e == LATE_SUM) \
			T##_await_sum##how(one, no); \
	}
CALLBACKS(main, Main, mainProxy, )
CALLBACKS(cell, Cell, Cell_at(cells, CELLS - 1), )
CALLBACKS(first_cell, Cell, Cell_at(cells, 0), )
CALLBACKS(cells, Cell, cells, _all)
CALLBACKS(section, Cell, section, _section)
CALLBACKS(hole, Hole, Hole_at(holes, 2, 1), )
CALLBACKS(holes, Hole, holes, _all)
CALLBACKS(member, Member, Member_at(members, CkNumPes() - 1), )
CALLBACKS(members, Member, members, _all)
CALLBACKS(single, Single, single, )

/* A branch has no bodies. */
static CkCallback to_branch(enum entry e)
{
	const CProxyElement_Branch b = Branch_at(branches, CkNumNodes() - 1);

	return e == RAW ? Branch_cb_raw(b) : Branch_cb_sum(b);
}

static CkCallback to_branches(enum entry e) { return e == RAW ? Branch_cb_raw_all(branches) : Branch_cb_sum_all(branches); }

static CkCallback to_function(enum entry e) { (void)e; return CkCallbackFunction(function, NULL); }

enum { ONE_HEARS, CELLS_HEAR, SOME_HEAR, HOLES_HEAR, MEMBERS_HEAR, BRANCHES_HEAR };

static const struct target {
	const char *name;
	CkCallback (*callback)(enum entry e);
	void (*await)(enum entry e, int no);
	int hear;
	enum entry last;  /* that it has */
} targets[] = {
	{ "main", to_main, await_main, ONE_HEARS, LATE_SUM },
	{ "cell", to_cell, await_cell, ONE_HEARS, LATE_SUM },
	{ "first cell", to_first_cell, await_first_cell, ONE_HEARS, LATE_SUM },
	{ "cells", to_cells, await_cells, CELLS_HEAR, LATE_SUM },
	{ "section", to_section, await_section, SOME_HEAR, LATE_SUM },
	{ "hole", to_hole, await_hole, ONE_HEARS, LATE_SUM },
	{ "holes", to_holes, await_holes, HOLES_HEAR, LATE_SUM },
	{ "member", to_member, await_member, ONE_HEARS, LATE_SUM },
	{ "members", to_members, await_members, MEMBERS_HEAR, LATE_SUM },
	{ "branch", to_branch, NULL, ONE_HEARS, SUM },
	{ "branches", to_branches, NULL, BRANCHES_HEAR, SUM },
	{ "single", to_single, await_single, ONE_HEARS, LATE_SUM },
	{ "function", to_function, NULL, ONE_HEARS, RAW },
	{ "future", NULL, NULL, ONE_HEARS, RAW },
};
enum { TARGETS = sizeof targets / sizeof *targets };

static int n_hear(const struct target *t)
{
	const int all[] = {
		[ONE_HEARS] = 1, [CELLS_HEAR] = CELLS, [SOME_HEAR] = SOME, [HOLES_HEAR] = ROWS * COLUMNS,
		[MEMBERS_HEAR] = CkNumPes(), [BRANCHES_HEAR] = CkNumNodes(),
	};

	return all[t->hear];
}

static int n_times(const struct source *s) { return s->times == ONE ? 1 : s->times == ALL_CELLS ? CELLS : CkNumPes(); }

/* ---- all combinations ---------------------------------------------------------------------------------------- */

/* All 32 bits; each eighth callback has none. */
static int number(int step) { return step % 8 == 7 ? 0 : (int)(uint32_t)check_mix((uint64_t)step); }

void Main_on_report(Main *self, int no)
{
	CHECK_EQ(no, self->no);
	if (++self->n_heard == self->n_wanted)
		CkSendToFutureTyped(self->done, CK_NOTYPE, NULL, 0);
}

static bool possible(const struct source *s, const struct target *t, enum entry e)
{
	if ((e == SUM || e == LATE_SUM) && !s->brings_one)
		return false;
	if (!t->callback && s->times != ONE)
		return false; /* a future takes one value */
	return e <= t->last;
}

static void to_future(Main *self, const struct source *s)
{
	CkFuture f = CkCreateFuture();
	CkCallback to = CkCallbackFuture(f);
	CkReductionMsg *m;

	CkCallbackSetRefNum(&to, self->no);
	s->fire(s->how, to);
	m = CkWaitReleaseFuture(f);
	CHECK_EQ(CkGetRefNum(m), self->no);
	CkFreeMsg(m);
}

static void step(Main *self, int no, const struct source *s, const struct target *t, enum entry e)
{
	self->no = number(no);
	if (!t->callback) {
		to_future(self, s);
		return;
	}
	CkCallback to = t->callback(e);

	if (self->no)
		CkCallbackSetRefNum(&to, self->no);
	self->n_heard = 0;
	self->n_wanted = n_times(s) * n_hear(t);
	self->done = CkCreateFuture();
	for (int i = 0; t->await && i < n_times(s); i++)
		t->await(e, self->no);
	s->fire(s->how, to);
	CkFreeMsg(CkWaitReleaseFuture(self->done));
	CHECK_EQ(self->n_heard, self->n_wanted);
}

static void mistake(const char *name)
{
	int t = 0;

	while (strcmp(targets[t].name, name))
		t++;
	by_cells(ANOTHER | (targets[t].hear == SOME_HEAR ? BARRIER : MAX), targets[t].callback(RAW));
}

static void mistake_of_some(void) { by_some(ANOTHER | SECTION, to_main(RAW)); }

void Main_on_run(Main *self, int part, int parts, const char *wrong)
{
	const CkIndex list[SOME] = { Cell_index(0), Cell_index(4), Cell_index(CELLS - 1) };
	int no = 0, n = 0;

	section = Cell_ckSection(cells, list, SOME);
	CkWaitQD();
	if (wrong[0]) {
		strcmp(wrong, "some") ? mistake(wrong) : mistake_of_some();
		return;
	}
	for (int t = 0; t < TARGETS; t++)
		for (enum entry e = RAW; e < ENTRIES; e++)
			for (int s = 0; s < SOURCES; s++)
				if (possible(&sources[s], &targets[t], e) && no++ % parts == part) {
					step(self, no, &sources[s], &targets[t], e);
					n++;
				}
	CkPrintf("numbered: %d of %d combinations on %d PEs\n", n, no, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const CkArrayOptions o = { .end = { ROWS, COLUMNS } };
	const bool wrong = m->argc > 2 && !strcmp(m->argv[1], "disagree");

	(void)self;
	mainProxy = Main_thisProxy(self);
	moving = m->argc > 3;
	cells = Cell_ckNew(CkDims(CELLS));
	holes = Hole_ckNew_opt(&o);
	members = Member_ckNew();
	branches = Branch_ckNew();
	single = Single_ckNew(CkNumPes() - 1);
	Main_run(mainProxy, wrong ? 0 : check_argument(m, 1, 0), wrong ? 1 : check_argument(m, 2, 1),
		 wrong ? m->argv[2] : "");
}

#include "numbered.def.h"
