/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lease.c: a PE asks for a lease behind all that it has sent by way of home, what waits in a batch included. Else
 * calls that go straight to the place could overtake those in the batch.
 *
 * Three PEs: PE 2 calls a cell whose home is PE 0, and which is on PE 1. Just before home's offer of a lease is handled a
 * call is put into a batch. Just behind it a call is made that never travels in a batch and waits for the lease. The mark
 * by which a PE notices that it has to send its batches (aggregate.c) is held back until the cell has got all calls, as
 * if the PE had work all the time. So the batch goes when the lease is asked for, or too late.
 */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/chare/place/place_int.h"
#include "test_lease.decl.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

/* Home offers a lease for the second call that it passes on. */
enum { HOME, PLACE, CALLER, PES, FOR_AN_OFFER = 2, CALLS = FOR_AN_OFFER + 2 };

struct Main { int step; };
struct Cell { int no; };
struct Caller { int no; };

__attribute__((constructor)) static void settings(void)
{
	setenv("CK_PES", "3", 1);
	setenv("CK_WATCHDOG", "0", 1);
}

/* ---- what PE 2 handles in another way ------------------------------------------------------------------ */

static CmiHandler where, mark;
static Caller *calling;            /* from when it begins until its calls have come */
static struct cmi_msg *held;       /* the mark: there is never more than one */
static bool offered;

static void call(Caller *self)
{
	Cell_call(Cell_at(cells, 0), self->no++);
}

static void where_comes(struct pe *pe, struct cmi_msg *m)
{
	const bool is_offer = pe->id == CALLER && ((const struct where_msg *)m)->kind == WHERE_OFFER;

	if (is_offer)
		call(calling);
	where(pe, m);
	if (is_offer)
		Cell_last(Cell_at(cells, 0), calling->no++);
	offered |= is_offer;
}

static void mark_comes(struct pe *pe, struct cmi_msg *m)
{
	if (pe->id == CALLER && calling)
		held = m;
	else
		mark(pe, m);
}

/* Before there are messages for them. */
static CmiHandler take_place(const char *name, CmiHandler fn)
{
	struct node *node = csd_self()->node;

	for (int i = 0; i < node->n_handlers; i++)
		if (strcmp(node->handlers[i].name, name) == 0) {
			const CmiHandler was = node->handlers[i].fn;

			node->handlers[i].fn = fn;
			return was;
		}
	CkAbort("there is no handler %s", name);
}

/* ---- the program ------------------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { (void)self; }
void Cell_on_leave(Cell *self, int to) { (void)self; CkMigrateMe(self, to); }

void Cell_on_call(Cell *self, int no)
{
	CHECK(CkMyPe() == PLACE);
	CHECK(no == self->no);
	if (++self->no == CALLS)
		Caller_let_go(Caller_at(callers, CALLER));
}

void Cell_on_last(Cell *self, int no) { Cell_on_call(self, no); }

void Caller_on_new(Caller *self) { self->no = 0; }

void Caller_on_begin(Caller *self)
{
	calling = self;
	for (int i = 0; i < FOR_AN_OFFER; i++)
		call(self);
	CkFlush();
}

void Caller_on_let_go(Caller *self)
{
	CHECK(offered && self->no == CALLS);
	calling = NULL;
	if (held)
		mark(csd_self(), held);
	CkPrintf("ok  what waits in a batch goes before its PE asks for a lease\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	where = take_place("ck.where", where_comes);
	mark = take_place("ck.flush", mark_comes);
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(1));
	callers = Caller_ckNew();
	CkStartQD(Main_cb_next(mainProxy));
}

void Main_on_next(Main *self)
{
	if (self->step++) {
		Caller_begin(Caller_at(callers, CALLER));
		return;
	}
	Cell_leave(Cell_at(cells, 0), PLACE);
	CkStartQD(Main_cb_next(mainProxy));
}

#include "test_lease.def.h"
