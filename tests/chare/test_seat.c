/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_seat.c: what an element contributes while it is away from its seat may come there in any order: behind what it
 * contributes later elsewhere, behind the element itself, and behind its end. The messages to the seat are held back
 * and let go in the opposite order. The results must have the bits of a run in which nothing moves.
 *
 * Element 0 follows a script: c contributes, a digit moves to that PE, r lets go what is held back, d destroys the
 * element and inserts it anew. The others contribute as often at once. The tables are written by hand as ckci would
 * print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "ck.h"
#include "../../runtime/chare/place/place_int.h"

enum { PES = 3, ELEMENTS = 2 * PES, HELD_MOST = 32 };

/* Of one job. */
static struct job {
	const char *script;
	int n;                    /* reductions */
	int n_checked;            /* the first ones, to which element 0 contributes in each run */
	uint64_t bits;            /* of these */
	bool hold;
	/* Of PE 0, the seat. */
	struct cmi_msg *held[HELD_MOST];
	int n_held, n_released;
	CmiHandler seat;
	atomic_int n_late, n_again;
	int n_results;
} job;

struct Main { CkProxy self, elems; };
struct Elem { CkProxy main_proxy; int at, k; };

static const CkGenChare Main_table, Elem_table;
enum { MAIN_NEW, MAIN_SUM, MAIN_RELEASE };
enum { ELEM_NEW, ELEM_NEXT };

/* ---- what is held back ------------------------------------------------------------------------- */

static void seat_held(struct pe *pe, struct cmi_msg *m)
{
	if (job.hold && pe->id == 0)
		job.held[job.n_held++] = m;
	else
		job.seat(pe, m);
}

static void hold_back(struct pe *pe)
{
	struct node *node = pe->node;

	for (int i = 0; i < node->n_handlers; i++)
		if (!strcmp(node->handlers[i].name, "ck.seat")) {
			job.seat = node->handlers[i].fn;
			node->handlers[i].fn = seat_held;
		}
}

static void Main_release(void *self, void *payload)
{
	(void)self;
	(void)payload;
	job.hold = false;
	job.n_released = job.n_held;
	while (job.n_held)
		csd_send(csd_self(), 0, job.held[--job.n_held]);
}

/* ---- the program --------------------------------------------------------------------------------- */

static void contribute(void *self, int k)
{
	const int e = CkGen_thisIndex(self).v[0];
	const double v = 1.0 / (3 + e * 7 + k) - e * k * 1e-3;
	const struct Elem *x = self;

	CkContribute(self, &v, 1, CkReduction_sum_double, CkGen_cbMain(&Main_table, x->main_proxy, MAIN_SUM));
}

static void call_next(void *self)
{
	CkElement me = { CkGen_thisProxy(self).id, CkGen_thisIndex(self), 0 };

	CkGen_send(&Elem_table, &me, ELEM_NEXT, CkGen_alloc(0), NULL);
}

/* A second element 0 takes part in what its seat has not completed. */
static void Elem_new(void *self, void *payload)
{
	struct Elem *x = self;
	static _Thread_local CkProxy main_proxy;

	if (payload)
		main_proxy = *(CkProxy *)payload;
	x->main_proxy = main_proxy;
	if (obj_of(self)->coll->dynamic) {
		if (job.hold)
			CkAbort("element 0 is there again, and its contributions are not");
		atomic_fetch_add(&job.n_again, 1);
		while (obj_of(self)->n_contributed < (uint32_t)job.n)
			contribute(self, (int)obj_of(self)->n_contributed);
		return;
	}
	for (int k = 0; CkGen_thisIndex(self).v[0] && k < job.n; k++)
		contribute(self, k);
	if (!CkGen_thisIndex(self).v[0])
		call_next(self);
}

static void destroy(void *self)
{
	CkElement me = { CkGen_thisProxy(self).id, CkGen_thisIndex(self), 0 };
	CkProxy *p = CkGen_alloc(sizeof *p);

	*p = ((struct Elem *)self)->main_proxy;
	CkDestroy(self);
	CkGen_insert(&Elem_table, &me, CK_PE_ANY, p);
}

/* A part of the script, up to the next move. */
static void Elem_next(void *self, void *payload)
{
	struct Elem *x = self;
	CkElement me = { CkGen_thisProxy(self).id, CkGen_thisIndex(self), 0 };

	(void)payload;
	(void)me;
	for (char op; (op = job.script[x->at]);) {
		x->at++;
		atomic_fetch_add(&job.n_late, (obj_of(self)->extra & OBJ_LATE) != 0);
		if (op == 'c') {
			contribute(self, x->k++);
		} else if (op == 'r') {
			CkGen_sendMain(&Main_table, x->main_proxy, MAIN_RELEASE, CkGen_alloc(0), NULL);
		} else if (op == 'd') {
			destroy(self);
		} else {
			CkMigrateMe(self, op - '0');
			call_next(self);
			return;
		}
	}
}

static void Main_new(void *self, void *payload)
{
	struct Main *m = self;
	CkArrayOptions o = { .dims = CkDims1(ELEMENTS) };
	CkProxy *p = CkGen_alloc(sizeof *p);

	(void)payload;
	hold_back(csd_self());
	*p = m->self = CkGen_thisProxy(self);
	m->elems = CkGen_newArray(&Elem_table, &o, p);
}

static void Main_sum(void *self, void *payload)
{
	const unsigned char *v = CkReductionMsg_data(payload);

	(void)self;
	for (size_t i = 0; job.n_results < job.n_checked && i < sizeof(double); i++)
		job.bits = (job.bits ^ v[i]) * 0x100000001b3ull;
	if (++job.n_results == job.n)
		CkExit(0);
}

static const CkGenEntry main_entries[] = {
	{ .name = "Main", .call = Main_new },
	{ .name = "sum", .call = Main_sum, .reduced = Main_sum, .flags = CKGEN_REDUCTION, .want = CK_DOUBLE,
	  .want_count = 1 },
	{ .name = "release", .call = Main_release },
};
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main), .entries = main_entries, .n_entries = 3
};
static const CkGenEntry elem_entries[] = { { .name = "Elem", .call = Elem_new }, { .name = "next", .call = Elem_next } };
static const CkGenChare Elem_table = {
	.name = "Elem", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Elem), .entries = elem_entries, .n_entries = 2
};
static const CkGenChare *const chares[] = { &Main_table, &Elem_table };
static const CkGenModule module = { .name = "seat", .chares = chares, .n_chares = 2 };

/* ---- facts ------------------------------------------------------------------------------------------ */

static int count(const char *script, char op)
{
	int n = 0;

	for (; *script; script++)
		n += *script == op;
	return n;
}

static uint64_t run(const char *script, bool hold)
{
	const int n = count(script, 'c');

	job = (struct job){ .script = script, .n = n + count(script, 'd'), .n_checked = n, .hold = hold };
	assert_int_equal(check_run(&chare_layer, &module, 1, PES, 0), 0);
	assert_int_equal(job.n_results, job.n);
	assert_int_equal(job.n_again, count(script, 'd'));
	return job.bits;
}

/* Run a script as it is, and without its moves. Returns how many of its steps found contributions under way. */
static int compare(const char *script, int n_held)
{
	char stay[64];
	int n = 0, late;

	for (const char *op = script; *op; op++)
		if (*op == 'c' || *op == 'd')
			stay[n++] = *op;
	stay[n] = 0;
	const uint64_t bits = run(script, true);

	late = job.n_late;
	assert_int_equal(job.n_released, n_held);
	assert_int_equal(run(stay, false), bits);
	return late;
}

static void contributions_are_filed_in_order(void **state)
{
	(void)state;
	assert_int_equal(compare("1ccc2ccr", 5), 0);
	assert_int_equal(compare("c1ccc2cc1cr", 6), 0);
}

static void an_element_may_be_back_before_them(void **state)
{
	(void)state;
	assert_true(compare("1ccc2cc0ccr00c", 5) > 0);
	assert_true(compare("1c0cr00c1c2c", 1) > 0);
}

static void it_may_leave_again_before_they_come(void **state)
{
	(void)state;
	assert_true(compare("1cc2c0c1cc2ccr", 7) > 0);
	assert_true(compare("1cc0c1c0c2cr0000c", 4) > 0);
}

static void an_element_that_ends_away_is_counted_until_they_have_come(void **state)
{
	(void)state;
	compare("1ccc2ccdr", 5);
}

static void an_element_that_ends_at_its_seat_is_counted_until_they_have_come(void **state)
{
	(void)state;
	assert_true(compare("1ccc2cc0ccdr", 5) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contributions_are_filed_in_order),
		cmocka_unit_test(an_element_may_be_back_before_them),
		cmocka_unit_test(it_may_leave_again_before_they_come),
		cmocka_unit_test(an_element_that_ends_away_is_counted_until_they_have_come),
		cmocka_unit_test(an_element_that_ends_at_its_seat_is_counted_until_they_have_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
