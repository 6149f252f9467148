/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_newborn.c: PE 1 inserts an element on PE 2, and PE 0 broadcasts at that moment. Which of the two PEs gets the
 * broadcast first, and whether the insertion is on its way meanwhile, is decided here. In all cases the element gets what PE 1
 * had not seen, once; what the two PEs keep for that goes again. The tables are written by hand as ckci would print them.
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
#include "../../runtime/chare/place/record/newborn.h"

/* Elements 0, 1 and 2 are there from the beginning, on the PEs of these numbers. */
enum { LATE = 5 };

enum way {
	CREATOR_IS_BEHIND,        /* the place delivers the broadcast, then makes the element; then it comes to the creator */
	CREATOR_HAS_KEPT_IT,      /* both have delivered it when the insertion comes */
	PLACE_IS_BEHIND           /* the creator inserts in the handler of the broadcast, which the place still awaits */
};

/* Of one job. */
static struct job {
	enum way way;
	atomic_bool heard[HOLD_PES]; /* element n has got the broadcast */
	atomic_bool made, told;   /* told: its creator hears of it */
	int n_heard;              /* by the late element; read at the end */
	size_t n_records, n_kept; /* while the element is made; when the insertion comes */
	atomic_int n_clean;       /* PEs that keep nothing at the end */
} job;

struct Main { CkProxy self, elems, team; };
struct Elem { int index; };
struct Team { CkProxy elems, main; };

static const CkGenChare Main_table, Elem_table, Team_table;
enum { MAIN_NEW, MAIN_READY, MAIN_INSERTED, MAIN_QUIET, MAIN_OVER };
enum { ELEM_NEW, ELEM_NOTE };
enum { TEAM_NEW, TEAM_INSERT, TEAM_LOOK };

static bool hold_must(const struct pe *pe, const struct cmi_msg *m)
{
	if (pe->id == 2 && m->src_pe == 1 && hold_is(pe, m, "ck.insert"))
		return job.way == CREATOR_IS_BEHIND ? !atomic_load(&job.heard[2]) :
		       job.way == CREATOR_HAS_KEPT_IT ? !atomic_load(&job.heard[2]) || !atomic_load(&job.heard[1]) : false;
	if (!hold_is(pe, m, "ck.bcast") || ((const struct ck_env *)m)->entry != ELEM_NOTE)
		return false;
	return (pe->id == 1 && job.way == CREATOR_IS_BEHIND && !atomic_load(&job.told)) ||
	       (pe->id == 2 && job.way == PLACE_IS_BEHIND && !atomic_load(&job.made));
}

static void hold_over(const struct pe *pe, const struct cmi_msg *m)
{
	if (pe->id == 1 && hold_is(pe, m, "ck.inserted"))
		atomic_store(&job.told, true);
}

/* ---- the program -------------------------------------------------------------------------------- */

static const struct newborns *newborns_of(CkProxy elems)
{
	return call_coll_of(coll_get(csd_self(), elems.id))->newborns;
}

static void insert(CkProxy elems, int index)
{
	CkElement e = { elems.id, { { index, 0, 0 } }, 0 };

	CkGen_insert(&Elem_table, &e, CK_PE_ANY, CkGen_alloc(0));
}

static void Elem_new(void *self, void *payload)
{
	const struct newborns *n = newborns_of(CkGen_thisProxy(self));

	(void)payload;
	((struct Elem *)self)->index = CkGen_thisIndex(self).v[0];
	if (((struct Elem *)self)->index != LATE)
		return;
	job.n_records = n ? n->by_index.n : 0;
	atomic_store(&job.made, true);
}

static void Elem_note(void *self, void *payload)
{
	const struct Elem *e = self;
	const struct newborns *n = newborns_of(CkGen_thisProxy(self));

	(void)payload;
	if (e->index == LATE) {
		job.n_heard++;
		return;
	}
	if (e->index == 1)
		job.n_kept = n ? n->n_kept : 0;
	if (e->index == 1 && job.way == PLACE_IS_BEHIND)
		insert(CkGen_thisProxy(self), LATE);
	atomic_store(&job.heard[e->index], true);
}

static void Team_new(void *self, void *payload)
{
	((struct Team *)self)->elems = ((CkProxy *)payload)[0];
	((struct Team *)self)->main = ((CkProxy *)payload)[1];
}

static void Team_insert(void *self, void *payload)
{
	(void)payload;
	insert(((struct Team *)self)->elems, LATE);
	CkGen_sendMain(&Main_table, ((struct Team *)self)->main, MAIN_INSERTED, CkGen_alloc(0), NULL);
}

static void Team_look(void *self, void *payload)
{
	(void)payload;
	if (!newborns_of(((struct Team *)self)->elems))
		atomic_fetch_add(&job.n_clean, 1);
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
	CkProxy *p = CkGen_alloc(2 * sizeof *p);

	(void)payload;
	m->self = p[1] = CkGen_thisProxy(self);
	m->elems = p[0] = CkGen_newArray(&Elem_table, &o, NULL);
	m->team = CkGen_newGroup(&Team_table, p);
	for (int i = 0; i < HOLD_PES; i++)
		insert(m->elems, i);
	CkStartQD(CkGen_cbMain(&Main_table, m->self, MAIN_READY));
}

static void Main_inserted(void *self, void *payload)
{
	struct Main *m = self;

	(void)payload;
	CkGen_sendAll(&Elem_table, m->elems, ELEM_NOTE, CkGen_alloc(0), NULL);
	CkStartQD(CkGen_cbMain(&Main_table, m->self, MAIN_QUIET));
}

static void Main_ready(void *self, void *payload)
{
	const struct Main *m = self;
	CkElement one = { m->team.id, { { 1, 0, 0 } }, 0 };

	if (job.way == PLACE_IS_BEHIND)
		Main_inserted(self, payload);
	else
		CkGen_send(&Team_table, &one, TEAM_INSERT, CkGen_alloc(0), NULL);
}

static void Main_over(void *self, void *payload)
{
	(void)self;
	(void)payload;
	CkExit(0);
}

static void Main_quiet(void *self, void *payload)
{
	struct Main *m = self;

	(void)payload;
	CkGen_sendAll(&Team_table, m->team, TEAM_LOOK, CkGen_alloc(0), NULL);
	CkStartQD(CkGen_cbMain(&Main_table, m->self, MAIN_OVER));
}

static const CkGenEntry main_entries[] = {
	{ .name = "Main", .call = Main_new },
	{ .name = "ready", .call = Main_ready, .reduced = Main_ready, .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
	{ .name = "inserted", .call = Main_inserted },
	{ .name = "quiet", .call = Main_quiet, .reduced = Main_quiet, .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
	{ .name = "over", .call = Main_over, .reduced = Main_over, .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
};
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main), .entries = main_entries, .n_entries = 5
};
static const CkGenEntry elem_entries[] = { { .name = "Elem", .call = Elem_new }, { .name = "note", .call = Elem_note } };
static const CkGenChare Elem_table = {
	.name = "Elem", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Elem), .entries = elem_entries, .n_entries = 2
};
static const CkGenEntry team_entries[] = {
	{ .name = "Team", .call = Team_new },
	{ .name = "insert", .call = Team_insert },
	{ .name = "look", .call = Team_look },
};
static const CkGenChare Team_table = {
	.name = "Team", .kind = CKGEN_GROUP, .bytes = sizeof(struct Team), .entries = team_entries, .n_entries = 3
};
static const CkGenChare *const chares[] = { &Main_table, &Elem_table, &Team_table };
static void (*const initnodes[])(void) = { register_maps };
static const CkGenModule module = {
	.name = "newborn", .chares = chares, .n_chares = 3, .initnodes = initnodes, .n_initnodes = 1
};

/* ---- facts ---------------------------------------------------------------------------------- */

static void run(enum way way, int n_heard, size_t n_records, size_t n_kept)
{
	memset(&job, 0, sizeof job);
	job.way = way;
	assert_int_equal(check_run(&chare_layer, &module, HOLD_PES, 1, 0), 0);
	assert_int_equal(job.n_heard, n_heard);
	assert_int_equal(job.n_records, n_records);
	assert_int_equal(job.n_kept, n_kept);
	assert_int_equal(job.n_clean, HOLD_PES);
}

static void what_the_creator_sees_later_is_handed_on_then(void **state)
{
	(void)state;
	run(CREATOR_IS_BEHIND, 1, 1, 0);
}

static void what_the_creator_saw_meanwhile_was_kept(void **state)
{
	(void)state;
	run(CREATOR_HAS_KEPT_IT, 1, 1, 1);
}

static void what_the_creator_had_seen_is_passed_over(void **state)
{
	(void)state;
	run(PLACE_IS_BEHIND, 0, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_creator_sees_later_is_handed_on_then),
		cmocka_unit_test(what_the_creator_saw_meanwhile_was_kept),
		cmocka_unit_test(what_the_creator_had_seen_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
