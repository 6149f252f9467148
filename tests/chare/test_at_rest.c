/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_at_rest.c: what PEs keep of an element that has moved, once nothing is under way: its home a number and no record,
 * its place a guest, and a record only while another PE has a lease; a caller a number. When the element is back, nobody
 * keeps anything. Three threads; element 0 is made on PE 0, moves to PE 1 and is called by element 4 on PE 2. The
 * tables are written by hand as ckci would print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "ck.h"
#include "../../runtime/chare/place/place_int.h"

enum { PES = 3, ELEMENTS = 2 * PES, MOVER = 0, CALLER = 4, CALLS = 5 };

/* What a PE keeps of the array. */
struct kept {
	unsigned lives, away, guests, stays, stubs, leases, waits;
};

/* Each step ends with a call of Main::next. A digit moves the element to that PE, d destroys it, c lets the caller call
 * it CALLS times, k once while the collection is closed on its PE, a lets each PE note what it keeps, and ends the job. */
static struct job {
	const char *script;
	int n_looked;
	size_t n_held;            /* calls that waited for the collection to be open */
	struct kept kept[PES];
} job;

struct Main { CkProxy self, elems; };
struct Elem { CkProxy main_proxy; int left; };

static const CkGenChare Main_table, Elem_table;
enum { MAIN_NEW, MAIN_NEXT };
enum { ELEM_NEW, ELEM_HOP, ELEM_LANDED, ELEM_ASK, ELEM_ASKED, ELEM_LOOK, ELEM_CLOSE, ELEM_END };

static void call_elem(CkProxy p, int i, int entry, int with)
{
	const CkElement e = { p.id, { { i, 0, 0 } }, 0 };
	int *payload = CkGen_alloc(sizeof *payload);

	*payload = with;
	CkGen_send(&Elem_table, &e, entry, payload, NULL);
}

static void call_main(const void *self)
{
	CkGen_sendMain(&Main_table, ((const struct Elem *)self)->main_proxy, MAIN_NEXT, CkGen_alloc(0), NULL);
}

static void Elem_new(void *self, void *payload) { ((struct Elem *)self)->main_proxy = *(CkProxy *)payload; }

static void Elem_hop(void *self, void *payload)
{
	CkMigrateMe(self, *(int *)payload);
	call_elem(CkGen_thisProxy(self), MOVER, ELEM_LANDED, 0);
}

static void Elem_landed(void *self, void *payload)
{
	(void)payload;
	call_main(self);
}

/* The caller asks again when it has the answer. */
static void Elem_ask(void *self, void *payload)
{
	if (*(int *)payload)
		call_elem(CkGen_thisProxy(self), MOVER, ELEM_ASKED, *(int *)payload);
	else
		call_main(self);
}

static void Elem_asked(void *self, void *payload)
{
	call_elem(CkGen_thisProxy(self), CALLER, ELEM_ASK, *(int *)payload - 1);
}

static void Elem_close(void *self, void *payload)
{
	struct collection *c = obj_of(self)->coll;

	(void)payload;
	place_close(csd_self(), c);
	call_elem(CkGen_thisProxy(self), MOVER, ELEM_ASKED, 1);
	job.n_held = ((const struct closed *)coll_state(c, PART_CALL))->n;
	place_open(csd_self(), c);
}

static void Elem_end(void *self, void *payload)
{
	(void)payload;
	CkDestroy(self);
}

static void Elem_look(void *self, void *payload)
{
	const struct collection *c = obj_of(self)->coll;
	const struct place_coll *p = place_of(c);

	(void)payload;
	job.kept[CkMyPe()] = (struct kept){
		.lives = p->dyn ? p->dyn->lives.n : 0, .away = p->dyn ? (unsigned)p->dyn->away.n : 0,
		.guests = c->guests ? c->guests->at.n : 0, .stays = p->dyn ? (unsigned)p->dyn->stays.n : 0,
		.stubs = (unsigned)p->n_stubs + (unsigned)p->late.n, .leases = (unsigned)p->ways.at.n,
		.waits = (unsigned)p->waits.n,
	};
	call_main(self);
}

/* Nobody says when its home and its seat have heard of it. */
static void end_elem(const struct Main *self)
{
	call_elem(self->elems, MOVER, ELEM_END, 0);
	CkStartQD(CkGen_cbMain(&Main_table, self->self, MAIN_NEXT));
}

static void Main_next(void *self_, void *payload)
{
	struct Main *self = self_;
	const char op = *job.script;

	(void)payload;
	if (op == 'a' && job.n_looked < PES) {
		/* Of each PE the element that stays. */
		call_elem(self->elems, 2 * job.n_looked++ + 1, ELEM_LOOK, 0);
		return;
	}
	job.script++;
	if (op == 'a')
		CkExit(0);
	else if (op == 'k')
		call_elem(self->elems, CALLER, ELEM_CLOSE, 0);
	else if (op == 'd')
		end_elem(self);
	else if (op == 'c')
		call_elem(self->elems, CALLER, ELEM_ASK, CALLS);
	else
		call_elem(self->elems, MOVER, ELEM_HOP, op - '0');
}

static void Main_new(void *self, void *payload)
{
	struct Main *m = self;
	CkArrayOptions o = { .dims = CkDims1(ELEMENTS) };
	CkProxy *p = CkGen_alloc(sizeof *p);

	*p = m->self = CkGen_thisProxy(self);
	m->elems = CkGen_newArray(&Elem_table, &o, p);
	Main_next(self, payload);
}

static const CkGenEntry main_entries[] = { { .name = "Main", .call = Main_new },
	{ .name = "next", .call = Main_next, .reduced = Main_next, .flags = CKGEN_NOARGS | CKGEN_REDUCTION } };
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main), .entries = main_entries, .n_entries = 2
};
static const CkGenEntry elem_entries[] = {
	{ .name = "Elem", .call = Elem_new }, { .name = "hop", .call = Elem_hop }, { .name = "landed", .call = Elem_landed },
	{ .name = "ask", .call = Elem_ask }, { .name = "asked", .call = Elem_asked }, { .name = "look", .call = Elem_look },
	{ .name = "close", .call = Elem_close }, { .name = "end", .call = Elem_end },
};
static const CkGenChare Elem_table = {
	.name = "Elem", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Elem), .entries = elem_entries, .n_entries = 8
};
static const CkGenChare *const chares[] = { &Main_table, &Elem_table };
static const CkGenModule module = { .name = "at_rest", .chares = chares, .n_chares = 2 };

/* ---- facts ------------------------------------------------------------------------------------------ */

static void check(const char *script, struct kept home, struct kept place, struct kept caller)
{
	const struct kept want[PES] = { home, place, caller };

	job = (struct job){ .script = script };
	assert_int_equal(check_run(&chare_layer, &module, 1, PES, 0), 0);
	assert_int_equal(job.n_looked, PES);
	for (int p = 0; p < PES; p++)
		assert_memory_equal(&job.kept[p], &want[p], sizeof want[p]);
}

static const struct kept nothing;

static void home_keeps_a_number_and_the_place_a_guest(void **state)
{
	(void)state;
	check("1a", (struct kept){ .lives = 1, .stubs = 1 }, (struct kept){ .guests = 1 }, nothing);
}

/* PE 1 has called it once, when it left, and may call it again. */
static void home_has_a_record_while_a_pe_calls_by_way_of_it(void **state)
{
	(void)state;
	check("12a", (struct kept){ .away = 1, .stubs = 1 }, nothing, (struct kept){ .guests = 1 });
}

static void a_lease_is_a_number_and_a_record_at_the_place(void **state)
{
	(void)state;
	check("1ca", (struct kept){ .lives = 1, .stubs = 1 }, (struct kept){ .guests = 1, .stays = 1 },
	      (struct kept){ .leases = 1 });
}

static void a_call_waits_for_a_closed_collection_in_spite_of_a_lease(void **state)
{
	(void)state;
	check("1cka", (struct kept){ .lives = 1, .stubs = 1 }, (struct kept){ .guests = 1, .stays = 1 },
	      (struct kept){ .leases = 1 });
	assert_int_equal(job.n_held, 1);
}

static void nobody_keeps_anything_of_an_element_that_is_back(void **state)
{
	(void)state;
	check("10a", nothing, nothing, nothing);
	check("1c0a", nothing, nothing, nothing);
	check("1c20a", nothing, nothing, nothing);
}

static void nor_of_one_that_has_ended(void **state)
{
	(void)state;
	check("da", nothing, nothing, nothing);
	check("1da", nothing, nothing, nothing);
	check("1cda", nothing, nothing, nothing);
	check("12da", nothing, nothing, nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(home_keeps_a_number_and_the_place_a_guest),
		cmocka_unit_test(home_has_a_record_while_a_pe_calls_by_way_of_it),
		cmocka_unit_test(a_lease_is_a_number_and_a_record_at_the_place),
		cmocka_unit_test(a_call_waits_for_a_closed_collection_in_spite_of_a_lease),
		cmocka_unit_test(nobody_keeps_anything_of_an_element_that_is_back),
		cmocka_unit_test(nor_of_one_that_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
