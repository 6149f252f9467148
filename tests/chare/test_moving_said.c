/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_moving_said.c: what the watchdog says of an element that is under way: at its home, at its place, at a caller. A
 * word of the protocol is held back on the PE that should get it, every PE says what it has to say, and the word is
 * let go. The tables are written by hand as ckci would print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "check_told.h"
#include "ck.h"
#include "../../runtime/chare/place/place_int.h"

enum { PES = 3, PER_PE = 2, CALLS = 4, TEXT = 4096 };

/* Of one job. Element 0, whose home is PE 0, moves to PE 1. The last element, on PE 2, calls it until its PE has a
 * lease. Then element 0 moves to PE 2. */
static struct job {
	enum where_kind held;     /* the kind that is held back ... */
	int on;                   /* ... on this PE */
	struct cmi_msg *msg;
	CmiHandler where;
	pthread_mutex_t lock;     /* of the text */
	char text[TEXT];
	int n_looked;
	bool leased;              /* PE 2 had a lease when it last called */
	bool moves;               /* element 0 was told to move to PE 2 ... */
	int n_left;               /* ... and so many calls are still to come */
	bool released;            /* the message is under way again */
} job;

struct Main { CkProxy self, elems; };
struct Elem { CkProxy main_proxy; int n; };

static const CkGenChare Main_table, Elem_table;
enum { MAIN_NEW, MAIN_CALLED, MAIN_HELD, MAIN_LOOKED, MAIN_RELEASED };
enum { ELEM_NEW, ELEM_MOVE, ELEM_CALL, ELEM_CALLED, ELEM_LOOK, ELEM_RELEASE };

/* ---- what is held back ------------------------------------------------------------------------- */

static CkProxy main_proxy;
static void tell_main(int entry) { CkGen_sendMain(&Main_table, main_proxy, entry, CkGen_alloc(0), NULL); }

static void where_held(struct pe *pe, struct cmi_msg *m)
{
	if (pe->id != job.on || job.msg || ((struct where_msg *)m)->kind != job.held) {
		job.where(pe, m);
		return;
	}
	job.msg = m;
	tell_main(MAIN_HELD);
}

static void hold_back(struct node *node)
{
	for (int i = 0; i < node->n_handlers; i++)
		if (!strcmp(node->handlers[i].name, "ck.where")) {
			job.where = node->handlers[i].fn;
			node->handlers[i].fn = where_held;
		}
}

/* ---- the program --------------------------------------------------------------------------------- */

static void send(const struct Main *m, int i, int entry, int n)
{
	const CkElement e = { .id = m->elems.id, .index = { { i, 0, 0 } } };
	int *v = CkGen_alloc(sizeof *v);

	*v = n;
	CkGen_send(&Elem_table, &e, entry, v, NULL);
}

static void Elem_new(void *self, void *payload) { (void)self, (void)payload; }
static void Elem_move(void *self, void *payload) { CkMigrateMe(self, *(int *)payload); }
static void Elem_called(void *self, void *payload) { (void)self, (void)payload; tell_main(MAIN_CALLED); }

static bool has_lease_of_0(CkProxy elems)
{
	const struct collection *c = coll_get(csd_self(), elems.id);
	const struct elemmap_slot *r = elemmap_find(&place_of(c)->ways.at, elem_key_of_place(0));

	return r && r->no >= WAY_LEASE;
}

/* Call element 0 so often. */
static void Elem_call(void *self, void *payload)
{
	const struct Main m = { .elems = CkGen_thisProxy(self) };

	job.leased = has_lease_of_0(m.elems);
	for (int i = 0; i < *(int *)payload; i++)
		send(&m, 0, ELEM_CALLED, 0);
}

static void Elem_look(void *self, void *payload)
{
	struct csd_told told = { 0 };

	(void)self, (void)payload;
	pthread_mutex_lock(&job.lock);
	place_describe(csd_self(), &told);
	check_told_lines(&told, job.text, TEXT);
	pthread_mutex_unlock(&job.lock);
	tell_main(MAIN_LOOKED);
}

static void Elem_release(void *self, void *payload)
{
	(void)self, (void)payload;
	job.where(csd_self(), job.msg);
	tell_main(MAIN_RELEASED);
}

static void Main_new(void *self, void *payload)
{
	struct Main *m = self;
	CkArrayOptions o = { .dims = CkDims1(PES * PER_PE) };

	(void)payload;
	hold_back(csd_self()->node);
	main_proxy = m->self = CkGen_thisProxy(self);
	m->elems = CkGen_newArray(&Elem_table, &o, CkGen_alloc(0));
	send(m, 0, ELEM_MOVE, 1);
	send(m, PES * PER_PE - 1, ELEM_CALL, 1);
}

/* All calls may come before element 0 hears that it is to move. */
static void end_if_over(void)
{
	if (job.moves && !job.n_left && job.released)
		CkExit(0);
}

/* One call after the other until PE 2 has a lease; then element 0 moves, and many at once. */
static void Main_called(void *self, void *payload)
{
	struct Main *m = self;

	(void)payload;
	if (job.moves) {
		job.n_left--;
		end_if_over();
	} else if (job.leased) {
		job.moves = true;
		job.n_left = CALLS;
		send(m, 0, ELEM_MOVE, 2);
		send(m, PES * PER_PE - 1, ELEM_CALL, CALLS);
	} else {
		send(m, PES * PER_PE - 1, ELEM_CALL, 1);
	}
}

/* An element of each PE looks. */
static void Main_held(void *self, void *payload)
{
	(void)payload;
	for (int p = 0; p < PES; p++)
		send(self, p ? p * PER_PE : 1, ELEM_LOOK, 0);
}

static void Main_looked(void *self, void *payload)
{
	(void)payload;
	if (++job.n_looked == PES)
		send(self, job.on ? job.on * PER_PE : 1, ELEM_RELEASE, 0);
}

static void Main_released(void *self, void *payload)
{
	(void)self, (void)payload;
	job.released = true;
	end_if_over();
}

#define ENTRY(chare, e) { .name = #e, .call = chare##_##e }
static const CkGenEntry main_entries[] = {
	ENTRY(Main, new), ENTRY(Main, called), ENTRY(Main, held), ENTRY(Main, looked), ENTRY(Main, released)
};
static const CkGenEntry elem_entries[] = {
	ENTRY(Elem, new), ENTRY(Elem, move), ENTRY(Elem, call), ENTRY(Elem, called), ENTRY(Elem, look), ENTRY(Elem, release)
};
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main), .entries = main_entries, .n_entries = 5
};
static const CkGenChare Elem_table = {
	.name = "Elem", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Elem), .entries = elem_entries, .n_entries = 6
};
static const CkGenChare *const chares[] = { &Main_table, &Elem_table };
static const CkGenModule module = { .name = "said", .chares = chares, .n_chares = 2 };

/* ---- facts ------------------------------------------------------------------------------------------ */

static void run(enum where_kind held, int on)
{
	job = (struct job){ .held = held, .on = on, .lock = PTHREAD_MUTEX_INITIALIZER };
	assert_int_equal(check_run(&chare_layer, &module, 1, PES, 0), 0);
	assert_non_null(job.msg);
}

static void is_said(const char *line)
{
	if (!strstr(job.text, line))
		fail_msg("not said: %s\nsaid: %s", line, job.text);
}

static void home_and_place_of_an_element_that_waits_for_its_home(void **state)
{
	(void)state;
	run(WHERE_GO, 1);
	is_said("Elem(0), on PE 1, moves to PE 2: ");
	is_said(" calls wait; it waits for its home\n");
	is_said("PE 0 holds 0 calls for Elem(0), which moves from PE 1 to PE 2\n");
}

static void an_element_that_waits_for_a_caller(void **state)
{
	(void)state;
	run(WHERE_FLUSH, 1);
	is_said("Elem(0), on PE 1, moves to PE 2: ");
	is_said(" calls wait; it waits for PEs that have sent it calls\n");
}

static void a_caller_that_waits_for_its_lease(void **state)
{
	(void)state;
	run(WHERE_GRANT, 2);
	is_said(" for Elem(0) until it hears whether it may send directly\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(home_and_place_of_an_element_that_waits_for_its_home),
		cmocka_unit_test(an_element_that_waits_for_a_caller),
		cmocka_unit_test(a_caller_that_waits_for_its_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
