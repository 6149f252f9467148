/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readonly_msg: each node gets its copy of a readonly message, with arrays, before anything
 * else. `readonly_msg late PE` writes into one afterwards on that PE, which checked mode reports.
 */
#include "check.h"

#include <stdlib.h>

#include "readonly_msg.decl.h"

struct item {
	int x;
	struct item *next;
};
struct List {
	struct item *first;
};

enum { VALUES = 1000 };

struct Main { int unused; };
struct Looker { int unused; };
struct NodeLooker { int unused; };
struct Cell { int unused; };

/* They live as long as the node, so they need no free. */
static struct item *item_new(void)
{
	static struct item items[10];
	static int n;

	CHECK(n < 10);
	return &items[n++];
}

static List *list_new(const int *x, int n)
{
	List *l = List_alloc(0);
	struct item **end = &l->first;

	for (int i = 0; i < n; i++) {
		*end = item_new();
		(*end)->x = x[i];
		end = &(*end)->next;
	}
	*end = NULL;
	return l;
}

void *List_pack(List *l)
{
	int n = 0, *buf;

	for (struct item *i = l->first; i; i = i->next)
		n++;
	buf = CkAllocBuffer(l, sizeof *buf * (size_t)(n + 1));
	buf[0] = n;
	for (struct item *i = l->first; i; i = i->next)
		*++buf = i->x;
	CkFreeMsg(l);
	return buf - n;
}

List *List_unpack(void *buf)
{
	int *x = buf;
	List *l = list_new(x + 1, *x);

	CkFreeMsg(buf);
	return l;
}

static void check_all(void)
{
	CHECK(list && list->first->x == 3 && list->first->next->x == 1 && !list->first->next->next);
	CHECK(table && table->n == VALUES && strcmp(table->name, "the table") == 0);
	CHECK((uintptr_t)table % 16 == 0 && (uintptr_t)table->values % 16 == 0);
	for (int i = 0; i < VALUES; i++)
		CHECK(table->values[i] == i * 0.5);
	CHECK(fixed && fixed->x == -3 && fixed->y == 2.25);
	CHECK(strcmp(odd, "twelve chars") == 0);
	CHECK(empty && empty->n == 0);
	CHECK(!none);
	CHECK_EQ(behind, 99);
}

void Looker_on_new(Looker *self, int late_pe)
{
	check_all();
	Looker_looks(Looker_thisElement(self), late_pe);
}

void Looker_on_looks(Looker *self, int late_pe)
{
	if (CkMyPe() == late_pe)
		spare->y++;
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

void NodeLooker_on_new(NodeLooker *self)
{
	(void)self;
	check_all();
}

void Cell_on_new(Cell *self)
{
	(void)self;
	check_all();
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	Cell_ckNew(CkDims(20)); /* the variables arrive first */
	table = Table_alloc(VALUES, 20);
	table->n = VALUES;
	for (int i = 0; i < VALUES; i++)
		table->values[i] = i * 0.5;
	strcpy(table->name, "the table");
	fixed = Fixed_alloc();
	fixed->x = -3;
	fixed->y = 2.25;
	spare = Fixed_alloc();
	list = list_new((const int[]){ 3, 1 }, 2);
	strcpy(odd, "twelve chars");
	empty = Table_alloc(0, 0);
	behind = 99;
	NodeLooker_ckNew(); /* groups: their branches here are constructed at once */
	Looker_ckNew(m->argc > 2 && !strcmp(m->argv[1], "late") ? atoi(m->argv[2]) : -1);
}

void Main_on_done(Main *self)
{
	(void)self;
	check_all();
	CkPrintf("readonly_msg: the same on %d PEs\n", CkNumPes());
	CkExit(0);
}

#include "readonly_msg.def.h"
