/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_closing.c: inserting is not over while an insertion is under way, however slow it is. A call waits on PE 2 for
 * an element that PE 1 inserts there. The insertion is held up for many waves of closing.c; if it were believed to be
 * done, the call would end the job as one of an element that does not exist.
 *
 * One wave may add up as if all were done. PE 1 answers, and then inserts one more, on PE 0. PE 0 answers last, after it
 * has made that element. So the wave counts one insertion that PE 1 has sent, and one that is done, but another one:
 *
 *	PE 0                       PE 1                          PE 2
 *	                           inserts on PE 2 ...           ... which is held up
 *	asks                       answers: 1 sent
 *	makes the element  <-----  inserts on PE 0
 *	                                                         answers: 0 done
 *	answers: 1 done
 *	1 sent, 1 done; and the first one is under way
 *
 * That is done in several waves, because a call is overdue only if it has waited for a whole one. The tables are written
 * by hand as ckci would print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_hold.h"
#include "check_run.h"
#include "ckgen.h"
#include "../../runtime/chare/place/place_int.h"

/* The element that is late lives on PE 2, the others on PE 0. */
enum { LATE = 2, WAVES_HELD = 4 };

/* Of one job. */
static struct job {
	int n_more;               /* so many waves get one more insertion */
	atomic_bool begun;        /* PE 1 has inserted the one that is held up */
	atomic_int n_answered;    /* waves that PE 1 has answered; PE 0's */
	atomic_int n_made;        /* of the others, on PE 0 */
	int n_sums, n_waves;      /* PE 0's: answers of PE 2 that have come; PE 2's: waves that have */
	bool was_called;          /* the element that was late; read at the end */
} job;

struct Main { CkProxy self, elems, team; };
struct Elem { int index; };
struct Team { CkProxy elems; int n_inserted; };

static const CkGenChare Main_table, Elem_table, Team_table;
enum { MAIN_NEW, MAIN_READY };
enum { ELEM_NEW, ELEM_CALL };
enum { TEAM_NEW, TEAM_INSERT, TEAM_MORE };

/* ---- what is held up -------------------------------------------------------------------------- */

static bool is_closing(const struct pe *pe, const struct cmi_msg *m, enum where_kind kind)
{
	return hold_is(pe, m, "ck.closing") && ((const struct where_msg *)m)->kind == kind;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

static bool hold_must(const struct pe *pe, const struct cmi_msg *m)
{
	if (pe->id == 2 && m->src_pe == 1 && hold_is(pe, m, "ck.insert"))
		return job.n_waves < job.n_more + WAVES_HELD;
	if (pe->id == 0 && m->src_pe == 2 && is_closing(pe, m, WHERE_SUM))
		return atomic_load(&job.n_made) < least(job.n_sums + 1, job.n_more);
	return false;
}

static void hold_over(const struct pe *pe, const struct cmi_msg *m)
{
	if (!atomic_load(&job.begun))
		return;
	/* Only the PE whose number it is touches it. */
	if (pe->id == 2 && is_closing(pe, m, WHERE_WAVE))
		job.n_waves++;
	if (pe->id == 0 && m->src_pe == 2 && is_closing(pe, m, WHERE_SUM))
		job.n_sums++;
	if (pe->id == 0 && m->src_pe == 1 && is_closing(pe, m, WHERE_SUM))
		atomic_fetch_add(&job.n_answered, 1);
}

/* ---- the program -------------------------------------------------------------------------------- */

static void Elem_new(void *self, void *payload)
{
	(void)payload;
	((struct Elem *)self)->index = CkGen_thisIndex(self).v[0];
	if (CkMyPe() == 0)
		atomic_fetch_add(&job.n_made, 1);
}

static void Elem_call(void *self, void *payload)
{
	(void)payload;
	job.was_called = ((struct Elem *)self)->index == LATE;
	CkExit(0);
}

static void insert(struct Team *t, int index)
{
	CkElement e = { t->elems.id, { { index, 0, 0 } }, 0 };

	CkGen_insert(&Elem_table, &e, CK_PE_ANY, CkGen_alloc(0));
}

static void go_on(struct Team *self)
{
	CkElement me = { CkGen_thisProxy(self).id, { { CkMyPe(), 0, 0 } }, 0 };

	if (self->n_inserted < job.n_more)
		CkGen_send(&Team_table, &me, TEAM_MORE, CkGen_alloc(0), NULL);
}

static void Team_new(void *self, void *payload)
{
	((struct Team *)self)->elems = *(CkProxy *)payload;
}

static void Team_insert(void *self, void *payload)
{
	struct Team *t = self;

	(void)payload;
	insert(t, LATE);
	atomic_store(&job.begun, true);
	CkGen_doneInserting(t->elems);
	go_on(t);
}

/* One more each time that this PE has answered. */
static void Team_more(void *self, void *payload)
{
	struct Team *t = self;

	(void)payload;
	if (atomic_load(&job.n_answered) > t->n_inserted) {
		CkGen_beginInserting(t->elems);
		insert(t, HOLD_PES * t->n_inserted++);
		CkGen_doneInserting(t->elems);
	}
	go_on(t);
}

static int by_index(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return i.v[0] % n_pes;
}

static void register_maps(void) { CkRegisterMap("by index", by_index); }

static void Main_new(void *self, void *payload)
{
	struct Main *m = self;
	CkArrayOptions o = { .map = "by index" };
	CkProxy *p = CkGen_alloc(sizeof *p);

	(void)payload;
	m->self = CkGen_thisProxy(self);
	*p = m->elems = CkGen_newArray(&Elem_table, &o, NULL);
	m->team = CkGen_newGroup(&Team_table, p);
	CkStartQD(CkGen_cbMain(&Main_table, m->self, MAIN_READY));
}

/* The call goes to PE 2 before PE 1 says that it is done, so it waits there for all of the first wave. */
static void Main_ready(void *self, void *payload)
{
	struct Main *m = self;
	CkElement late = { m->elems.id, { { LATE, 0, 0 } }, 0 }, one = { m->team.id, { { 1, 0, 0 } }, 0 };

	(void)payload;
	CkGen_send(&Elem_table, &late, ELEM_CALL, CkGen_alloc(0), NULL);
	CkGen_send(&Team_table, &one, TEAM_INSERT, CkGen_alloc(0), NULL);
}

static const CkGenEntry main_entries[] = {
	{ .name = "Main", .call = Main_new },
	{ .name = "ready", .call = Main_ready, .reduced = Main_ready, .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
};
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main), .entries = main_entries, .n_entries = 2
};
static const CkGenEntry elem_entries[] = { { .name = "Elem", .call = Elem_new }, { .name = "call", .call = Elem_call } };
static const CkGenChare Elem_table = {
	.name = "Elem", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Elem), .entries = elem_entries, .n_entries = 2
};
static const CkGenEntry team_entries[] = {
	{ .name = "Team", .call = Team_new },
	{ .name = "insert", .call = Team_insert },
	{ .name = "more", .call = Team_more },
};
static const CkGenChare Team_table = {
	.name = "Team", .kind = CKGEN_GROUP, .bytes = sizeof(struct Team), .entries = team_entries, .n_entries = 3
};
static const CkGenChare *const chares[] = { &Main_table, &Elem_table, &Team_table };
static void (*const initnodes[])(void) = { register_maps };
static const CkGenModule module = {
	.name = "closing", .chares = chares, .n_chares = 3, .initnodes = initnodes, .n_initnodes = 1
};

/* ---- facts ---------------------------------------------------------------------------------- */

static void run(int n_more)
{
	job = (struct job){ .n_more = n_more };
	assert_int_equal(check_run(&chare_layer, &module, HOLD_PES, 1, 0), 0);
	assert_true(job.was_called);
	assert_int_equal(job.n_made, n_more);
	assert_true(job.n_waves >= n_more + WAVES_HELD);
}

static void a_call_waits_while_its_element_is_under_way(void **state)
{
	(void)state;
	run(0);
}

static void one_wave_with_equal_sums_does_not_end_inserting(void **state)
{
	(void)state;
	run(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_waits_while_its_element_is_under_way),
		cmocka_unit_test(one_wave_with_equal_sums_does_not_end_inserting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
