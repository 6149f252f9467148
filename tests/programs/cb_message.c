/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cb_message: every PE fires each kind of callback with a message of its own, and the targets get all of
 * them, whole. A handler passes its message on by callback. `cb_message WHAT` makes one mistake on the last
 * PE.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"

#include "cb_message.decl.h"

enum { NX = 3, NY = 5, SOME = 4, REFNUM = 321 };
/* What is fired. The last two go to nobody in particular. */
enum { TO_MAIN, TO_CELL, TO_CELLS, TO_SECTION, TO_PASS, TO_URGENT, TO_MEMBER, TO_MEMBERS, TO_THREAD,
       TO_SINGLE, TO_BRANCH, TO_BRANCHES, TO_FUTURE, TO_NOTHING, TO_NOBODY, KINDS };
/* What is counted, and once more the messages that came with a reference number. */
enum { IN_CELL, IN_SECTION, IN_URGENT, IN_MEMBER, IN_THREAD, IN_REFNUM, COUNTS };

struct Main { int n_note, n_nothing, n_single, n_waited; CkFuture future; };
struct Single { int n; };
struct Cell { int n[COUNTS]; };
struct Member { int n[COUNTS]; };
struct Branch { atomic_int n; };

static CProxy_Branch branches;
static atomic_int n_branches;  /* messages that branches of this process got */

/* ---- a note ------------------------------------------------------------------------------------- */

static Note *note_new(int kind)
{
	int n = 3 + kind;
	Note *m = Note_alloc((size_t)n);

	m->from = CkMyPe();
	m->n = n;
	for (int i = 0; i < n; i++)
		m->v[i] = kind + i * 0.5;
	return m;
}

static void check(const Note *m, int kind)
{
	CHECK_EQ(m->n, 3 + kind);
	CHECK(m->from >= 0 && m->from < CkNumPes());
	for (int i = 0; i < m->n; i++)
		CHECK(m->v[i] == kind + i * 0.5);
}

/* ---- targets ------------------------------------------------------------------------------------ */

void Main_on_note(Main *self, Note *m)
{
	if (m->n == 3 + TO_SINGLE) {
		check(m, TO_SINGLE);
		self->n_single++;
		return;
	}
	check(m, TO_MAIN);
	CHECK_EQ(CkGetRefNum(m), REFNUM);
	self->n_note++;
}

void Main_on_nothing(Main *self) { self->n_nothing++; }

void Single_on_new(Single *self) {}

/* Its own message, passed on by callback. */
void Single_on_note(Single *self, Note *m)
{
	check(m, TO_SINGLE);
	self->n++;
	Note_sendToCallback(Main_cb_note(mainProxy), m);
}

void Cell_on_new(Cell *self) {}

/* To one, to all, and to a section. */
void Cell_on_note(Cell *self, Note *m)
{
	int kind = m->n - 3;

	CHECK(kind == TO_CELL || kind == TO_CELLS || kind == TO_SECTION || kind == TO_PASS);
	check(m, kind);
	self->n[kind == TO_SECTION ? IN_SECTION : IN_CELL]++;
	CHECK(kind != TO_SECTION || CkGetSectionInfo(m).coll == cells.ck.id);
	CHECK_EQ(CkGetRefNum(m), kind == TO_SECTION ? REFNUM : kind == TO_PASS ? 7 : 0);
	m->v[0] = -1; /* it is this element's own */
}

/* A reference number that was the message's stays where the callback has none. */
void Cell_on_passed(Cell *self, Note *m)
{
	CkCallback on = Cell_cb_note(Cell_at(cells, NX - 1, NY - 1));

	CHECK_EQ(CkGetRefNum(m), 7);
	self->n[IN_REFNUM]++;
	Note_sendToCallback(on, m);
}

void Cell_on_urgent(Cell *self, Note *m)
{
	check(m, TO_URGENT);
	self->n[IN_URGENT]++;
}

void Member_on_new(Member *self) {}

void Member_on_note(Member *self, Note *m)
{
	int kind = m->n - 3;

	CHECK(kind == TO_MEMBER || kind == TO_MEMBERS);
	check(m, kind);
	self->n[IN_MEMBER]++;
}

void Member_on_thread(Member *self, Note *m)
{
	check(m, TO_THREAD);
	self->n[IN_THREAD]++;
}

void Branch_on_new(Branch *self) {}

void Branch_on_note(Branch *self, Note *m)
{
	int kind = m->n - 3;

	CHECK(kind == TO_BRANCH || kind == TO_BRANCHES);
	check(m, kind);
	atomic_fetch_add(&n_branches, 1);
}

/* ---- firing ------------------------------------------------------------------------------------------ */

void Member_on_fire(Member *self, int n, const CkCallback *all)
{
	CHECK_EQ(n, KINDS);
	for (int kind = 0; kind < KINDS; kind++) {
		Note *m = note_new(kind);

		if (kind == TO_PASS)
			CkSetRefNum(m, 7);
		if (kind == TO_FUTURE && CkMyPe() != CkNumPes() - 1)
			CkFreeMsg(m); /* one value only */
		else
			Note_sendToCallback(all[kind], m);
	}
}

/* The first PE of each process tells what its branch got. */
void Member_on_report(Member *self)
{
	int v[COUNTS + 1];

	memcpy(v, self->n, sizeof self->n);
	v[COUNTS] = CkMyRank() == 0 ? atomic_load(&n_branches) : 0;
	CkContribute(self, v, COUNTS + 1, CkReduction_sum_int, Main_cb_sums(mainProxy));
}

void Cell_on_report(Cell *self)
{
	CkContribute(self, self->n, COUNTS, CkReduction_sum_int, Main_cb_sums(mainProxy));
}

/* ---- main -------------------------------------------------------------------------------------------- */

/* The branches, the section and the future are there before anybody is told of them. */
void Main_on_wait(Main *self)
{
	CkIndex list[SOME] = {Cell_index(0, 0), Cell_index(1, 3), Cell_index(2, 2), Cell_index(2, 4)};
	CProxy_Single single = Single_ckNew(CkNumPes() - 1);
	CkCallback all[KINDS];
	Note *m;

	branches = Branch_ckNew();
	self->future = CkCreateFuture();
	all[TO_MAIN] = Main_cb_note(mainProxy);
	CkCallbackSetRefNum(&all[TO_MAIN], REFNUM);
	all[TO_CELL] = Cell_cb_note(Cell_at(cells, 1, 1));
	all[TO_CELLS] = Cell_cb_note_all(cells);
	all[TO_SECTION] = Cell_cb_note_section(Cell_ckSection(cells, list, SOME));
	CkCallbackSetRefNum(&all[TO_SECTION], REFNUM);
	all[TO_PASS] = Cell_cb_passed(Cell_at(cells, 0, 2));
	all[TO_URGENT] = Cell_cb_urgent(Cell_at(cells, 2, 0));
	all[TO_MEMBER] = Member_cb_note(Member_at(members, CkNumPes() / 2));
	all[TO_MEMBERS] = Member_cb_note_all(members);
	all[TO_THREAD] = Member_cb_thread(Member_at(members, 0));
	all[TO_SINGLE] = Single_cb_note(single);
	all[TO_BRANCH] = Branch_cb_note(Branch_at(branches, CkNumNodes() - 1));
	all[TO_BRANCHES] = Branch_cb_note_all(branches);
	all[TO_FUTURE] = CkCallbackFuture(self->future);
	CkCallbackSetRefNum(&all[TO_FUTURE], REFNUM);
	all[TO_NOTHING] = Main_cb_nothing(mainProxy);
	all[TO_NOBODY] = CkCallbackIgnore();
	Member_fire_all(members, KINDS, all);
	m = Note_waitFuture(self->future);
	CHECK_EQ(m->from, CkNumPes() - 1);
	check(m, TO_FUTURE);
	CHECK_EQ(CkGetRefNum(m), REFNUM);
	CkFreeMsg(m);
	CkReleaseFuture(self->future);
	CkWaitQD();
	Main_counted(mainProxy);
}

void Main_on_counted(Main *self)
{
	int n = CkNumPes();

	CHECK_EQ(self->n_note, n);
	CHECK_EQ(self->n_nothing, n);
	CHECK_EQ(self->n_single, n);
	Cell_report_all(cells);
	Member_report_all(members);
}

void Main_on_sums(Main *self, int n_sums, const int *v)
{
	int n = CkNumPes();

	if (n_sums == COUNTS) {
		CHECK_EQ(v[IN_CELL], n * (1 + NX * NY + 1)); /* the last one was passed on */
		CHECK_EQ(v[IN_SECTION], n * SOME);
		CHECK_EQ(v[IN_URGENT], n);
		CHECK_EQ(v[IN_REFNUM], n);
	} else {
		CHECK_EQ(v[IN_MEMBER], n * (1 + n));
		CHECK_EQ(v[IN_THREAD], n);
		CHECK_EQ(v[COUNTS], n * (1 + CkNumNodes()));
	}
	if (++self->n_waited < 2)
		return;
	CkPrintf("cb_message: %d kinds of callbacks on %d PEs\n", KINDS, n);
	CkExit();
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

static void heard(void *ctx, const CkReductionMsg *m) { (void)ctx, (void)m; }

void Member_on_mistake(Member *self, const char *what)
{
	CkCallback never;

	memset(&never, 0, sizeof never);
	if (is(what, "values"))
		CkCallbackSendTyped(Main_cb_note(mainProxy), CK_INT, (int[]){1}, 1);
	else if (is(what, "reduction"))
		CkContribute(self, (int[]){1}, 1, CkReduction_sum_int, Main_cb_note(mainProxy));
	else if (is(what, "other"))
		Other_sendToCallback(Main_cb_note(mainProxy), Other_alloc());
	else if (is(what, "no-message"))
		Other_sendToCallback(Main_cb_sums(mainProxy), Other_alloc());
	else if (is(what, "function"))
		Other_sendToCallback(CkCallbackFunction(heard, NULL), Other_alloc());
	else if (is(what, "thread"))
		Other_sendToCallback(CkCallbackResumeThread(), Other_alloc());
	else if (is(what, "unset"))
		Other_sendToCallback(never, Other_alloc());
	else if (is(what, "null"))
		Other_sendToCallback(Main_cb_note(mainProxy), NULL);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(NX, NY));
	members = Member_ckNew();
	if (m->argc == 1)
		Main_wait(mainProxy);
	else if (is(m->argv[1], "reduction"))
		Member_mistake_all(members, m->argv[1]);
	else
		Member_mistake(Member_at(members, CkNumPes() - 1), m->argv[1]);
}

#include "cb_message.def.h"
