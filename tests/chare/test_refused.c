/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_refused.c: what a checkpoint cannot save of elements, and of what waits at them, is named
 * (save.refuse of struct ck_part). A job of each case comes to rest with one such thing.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "ckchannel.h"
#include "direct_layer.h"

#include "../../runtime/chare/channel/named.h"
#include "../../runtime/chare/core/core.h"

struct Main { bool left; };
struct Hand { int unused; };
struct Plain { int unused; };
struct Thin { int unused; };
struct Cell {
	int open;
	double in[2];
	CkChannel *from, *to;
};

#define CK_NO_MAIN
#include "test_refused.decl.h"

/* ---- of one job ------------------------------------------------------------------------------ */

static void (*begin)(CProxy_Cell cells); /* the case */
static bool packs_ends;
static char said[8192];            /* the lines of all PEs */
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static CProxy_Main mainProxy;
static CProxy_Hand hands;
static double lent[2];

/* ---- elements -------------------------------------------------------------------------------- */

void Plain_on_new(Plain *self) { (void)self; }
void Thin_on_new(Thin *self) { (void)self; }
void Thin_on_lent(Thin *self, int n, const double *v) { (void)self, (void)n, (void)v; }
void Thin_pup(pup_er p, Thin *self) { pup_int(p, &self->unused); }
void Cell_on_new(Cell *self) { *self = (Cell){ 0 }; }

void Cell_pup(pup_er p, Cell *self)
{
	pup_int(p, &self->open);
	pup_bytes(p, self->in, sizeof self->in);
	if (packs_ends) {
		pup_channel(p, &self->from, self->in);
		pup_channel(p, &self->to, self->in);
	}
}

void Cell_on_wait(Cell *self)
{
	(void)self;
	CkWaitFuture(CkCreateFuture());
}

void Cell_on_ask(Cell *self) { Cell_answer_sync(Cell_at(Cell_thisProxy(self), 1)); }

int Cell_on_answer(Cell *self)
{
	Cell_on_wait(self);
	return 0;
}

void Cell_on_hold(Cell *self)
{
	(void)self;
	CkCreateFuture();
}

void Cell_on_add(Cell *self)
{
	const long v = 1;

	CkContribute(self, &v, 1, CkReduction_sum_long, Main_cb_sum(mainProxy));
}

void Cell_on_scan(Cell *self)
{
	const long v = 1;

	CkScan(self, &v, 1, CkReduction_sum_long, CK_SCAN_INCLUSIVE,
	       Cell_cb_before(Cell_thisElement(self)));
}

void Cell_on_before(Cell *self, long v) { (void)self, (void)v; }
void Cell_on_late(Cell *self, int n, const double *v) { (void)self, (void)n, (void)v; }

bool Cell_on_idle(Cell *self)
{
	(void)self;
	return true;
}

void Cell_on_idle_on(Cell *self) { Cell_idle_whenIdle(self); }
void Cell_on_side(Cell *self, int tag) { (void)self, (void)tag; }

void Cell_on_join(Cell *self, int other)
{
	const CProxyElement_Cell to = Cell_at(Cell_thisProxy(self), other);

	if (Cell_thisIndex(self) > other)
		self->from = Cell_side_from(self, to.ck, 0, self->in, sizeof self->in);
	else
		self->to = Cell_side_to(self, to, 0, self->in, sizeof self->in);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void with_plain(CProxy_Cell cells) { (void)cells, Plain_ckNew(CkDims(4)); }
static void with_future(CProxy_Cell cells) { Cell_hold(Cell_at(cells, 3)); }
static void with_thread(CProxy_Cell cells) { Cell_wait(Cell_at(cells, 3)); }
static void with_answer(CProxy_Cell cells) { Cell_ask(Cell_at(cells, 3)); }
static void with_reduction(CProxy_Cell cells) { Cell_add(Cell_at(cells, 2)); }
static void with_scan(CProxy_Cell cells) { Cell_scan(Cell_at(cells, 2)); }
static void with_pointer(CProxy_Cell cells) { Cell_pointer(Cell_at(cells, 2)); }
static void with_idle(CProxy_Cell cells) { Cell_idle_on(Cell_at(cells, 2)); }

static void with_lent(CProxy_Cell cells)
{
	Cell_late(Cell_at(cells, 0), 2, CkSendBufferCb(lent, Main_cb_lent(mainProxy)));
}

/* It waits on another PE of the node, or on this one. */
static void with_missing(CProxy_Cell cells)
{
	CProxy_Thin thins = Thin_ckNewEmpty();

	(void)cells;
	for (int i = 0; i < 4; i++)
		Thin_lent(Thin_at(thins, i), 2, CkSendBufferCb(lent, Main_cb_lent(mainProxy)));
}

static void with_ends(CProxy_Cell cells)
{
	Cell_join(Cell_at(cells, 0), 3);
	Cell_join(Cell_at(cells, 3), 0);
}

/* ---- the program ----------------------------------------------------------------------------- */

void Hand_on_new(Hand *self) { (void)self; }

/* The parts of arrays: the groups of this test are no part of it. */
void Hand_on_look(Hand *self)
{
	static const char *const names[] = { "wait", "sync", "future", "create",
					     "place", "reduce", "scan", "named" };
	const struct ck_node *ck = ck_node_of(csd_self()->node);
	struct csd_told told = { 0 };
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	(void)self;
	for (int i = 0; i < CK_PARTS; i++)
		for (size_t k = 0; ck->parts[i] && k < sizeof names / sizeof *names; k++)
			if (!strcmp(ck->parts[i]->name, names[k]))
				ck->parts[i]->save.refuse(csd_self(), &told);
	for (const struct csd_record *r = NULL; (r = csd_told_next(&told, r));)
		csd_record_print(out, r);
	fclose(out);
	pthread_mutex_lock(&said_lock);
	strncat(said, text, sizeof said - strlen(said) - 1);
	pthread_mutex_unlock(&said_lock);
	free(text);
	free(told.at);
}

void Main_on_sum(Main *self, long v) { (void)self, (void)v; }
void Main_on_lent(Main *self) { (void)self; }
void Main_on_end(Main *self) { (void)self, CkExit(0); }

void Main_on_rest(Main *self)
{
	(void)self;
	Hand_look_all(hands);
	CkStartQD(Main_cb_end(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	hands = Hand_ckNew();
	begin(Cell_ckNew(CkDims(4)));
	CkStartQD(Main_cb_rest(mainProxy));
}

#include "test_refused.def.h"

/* ---- what is said ---------------------------------------------------------------------------- */

extern const CkGenModule ck_module_test_refused;

static void expect(void (*what)(CProxy_Cell cells), const char *line)
{
	const struct csd_layer *const layers[] = { &direct_layer, &chare_layer };

	begin = what;
	said[0] = 0;
	assert_int_equal(check_run_layers(layers, 2, &ck_module_test_refused, 1, 2, 0), 0);
	if (line ? !strstr(said, line) : said[0])
		fail_msg("instead of \"%s\" it said \"%s\"", line ? line : "", said);
}

static void no_pup(void **state)
{
	(void)state;
	expect(with_plain, "elements of array Plain (4 of PE 0) cannot be saved: declare 'pup Plain;' "
	       "in the .ci file");
}

static void a_future(void **state)
{
	(void)state;
	expect(with_future, "future 1 of PE 1 is open, which Cell(3) made in Cell::hold");
}

static void a_thread(void **state)
{
	(void)state;
	expect(with_thread, "1 handler has not ended at Cell(3), with a stack ([threaded])");
	expect(with_thread, "future 1 of PE 1 is open, which Cell(3) made in Cell::wait");
}

static void an_answer(void **state)
{
	(void)state;
	expect(with_answer, "waits for the answer of Cell::answer, which it called at Cell(1)");
}

static void a_reduction(void **state)
{
	(void)state;
	expect(with_reduction, "reduction 0 of array Cell (3 of PE 0)");
}

static void a_scan(void **state)
{
	(void)state;
	expect(with_scan, "scan 0 of array Cell (3 of PE 0)");
}

static void a_pointer_of_a_body(void **state)
{
	(void)state;
	expect(with_pointer, "Cell::pointer at Cell(2) (test_refused.ci:");
	expect(with_pointer, "waits: the variable 'p' is a pointer");
}

static void an_idle_call_is_saved(void **state)
{
	(void)state;
	expect(with_idle, NULL);
}

static void a_lent_array(void **state)
{
	(void)state;
	expect(with_lent, "a call of Cell::late waits at Cell(0) with a nocopy array");
	expect(with_missing, "Thin::lent waits for Thin(0), which does not exist, with a nocopy array");
	expect(with_missing, "Thin::lent waits for Thin(3), which does not exist, with a nocopy array");
}

static void an_end_that_is_not_packed(void **state)
{
	(void)state;
	packs_ends = false;
	expect(with_ends, "the sending end of channel Cell::side(0) from Cell(0) to Cell(3) is not packed");
	expect(with_ends, "the receiving end of channel Cell::side(0) from Cell(0) to Cell(3) is not packed");
	packs_ends = true;
	expect(with_ends, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_pup), cmocka_unit_test(a_future), cmocka_unit_test(a_thread),
		cmocka_unit_test(an_answer), cmocka_unit_test(a_reduction), cmocka_unit_test(a_scan),
		cmocka_unit_test(a_pointer_of_a_body), cmocka_unit_test(an_idle_call_is_saved),
		cmocka_unit_test(a_lent_array), cmocka_unit_test(an_end_that_is_not_packed),
	};

	setenv("CK_WATCHDOG", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
