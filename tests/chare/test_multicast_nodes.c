/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_multicast_nodes.c: between nodes a multicast is one message to each node with members,
 * however many PEs and members that node has. Messages are counted where they arrive from another
 * node. The tables are written by hand as ckci would print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "ckgen.h"

enum { NODES = 3, EACH = 2, PES = NODES * EACH, CELLS = 4 * PES, CALLS = 10 };

/* Of one job. */
static atomic_int n_between; /* multicasts that have come from another node */
static atomic_int n_notes;   /* calls of elements */

struct Main { CkProxy self, cells; CkSection section; int n_calls; };
struct Cell { int next; };

static const CkGenChare Main_table, Cell_table;
enum { MAIN_NEW, MAIN_QUIET };
enum { CELL_NEW, CELL_NOTE };

void __real_client_arrived(void *pe, struct cmi_msg *m);
void __wrap_client_arrived(void *pe, struct cmi_msg *m);

void __wrap_client_arrived(void *owner, struct cmi_msg *m)
{
	const struct pe *pe = owner;

	if (!strcmp(pe->node->handlers[m->handler].name, "ck.section"))
		atomic_fetch_add(&n_between, m->src_pe / EACH != pe->id / EACH);
	__real_client_arrived(owner, m);
}

static void Cell_new(void *self, void *payload)
{
	(void)payload;
	((struct Cell *)self)->next = 0;
}

static void Cell_note(void *self, void *payload)
{
	assert_int_equal(*(int *)payload, ((struct Cell *)self)->next);
	((struct Cell *)self)->next++;
	atomic_fetch_add(&n_notes, 1);
}

static void Main_new(void *self, void *payload)
{
	struct Main *m = self;

	(void)payload;
	m->self = CkGen_thisProxy(self);
	m->cells = CkGen_newArray(&Cell_table, &(CkArrayOptions){ .dims = CkDims(CELLS) }, CkGen_alloc(0));
	m->section = CkSectionRange1D(m->cells, 0, CELLS - 1, 1);
	m->n_calls = 0;
	CkStartQD(CkGen_cbMain(&Main_table, m->self, MAIN_QUIET));
}

/* First all know the section; then one call at a time. */
static void Main_quiet(void *self, void *payload)
{
	struct Main *m = self;
	int *no;

	(void)payload;
	if (m->n_calls == CALLS) {
		CkExit(0);
		return;
	}
	no = CkGen_alloc(sizeof *no);
	*no = m->n_calls++;
	CkGen_sendSection(&Cell_table, &m->section, CELL_NOTE, no, NULL);
	CkStartQD(CkGen_cbMain(&Main_table, m->self, MAIN_QUIET));
}

static const CkGenEntry main_entries[] = {
	{ .name = "Main", .call = Main_new },
	{ .name = "quiet", .call = Main_quiet, .reduced = Main_quiet,
	  .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
};
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main),
	.entries = main_entries, .n_entries = 2
};
static const CkGenEntry cell_entries[] = {
	{ .name = "Cell", .call = Cell_new },
	{ .name = "note", .call = Cell_note },
};
static const CkGenChare Cell_table = {
	.name = "Cell", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Cell),
	.entries = cell_entries, .n_entries = 2
};
static const CkGenChare *const chares[] = { &Main_table, &Cell_table };
static const CkGenModule module = { .name = "nodes", .chares = chares, .n_chares = 2 };

static void each_node_gets_one_message(void **state)
{
	(void)state;
	n_between = n_notes = 0;
	assert_int_equal(check_run(&chare_layer, &module, NODES, EACH, 0), 0);
	assert_int_equal(n_notes, CALLS * CELLS);
	assert_int_equal(n_between, CALLS * (NODES - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_gets_one_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
