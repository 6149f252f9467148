/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tallied: a program that knows how many calls and puts it makes, for tests/stats/run.py.
 *
 *	tallied [CALLS [PUTS [END [FOLDER]]]]
 *
 * Two cells per PE. Each sends a token of CALLS hops to the next cell, puts PUTS times into a channel of the next
 * cell, makes one call inside another, has a thread that gives way to calls and then works for WORK_S, asks the next
 * cell, and makes a chare that destroys itself. Buffers that receive lie in memory of CkDirect_alloc. Each PE sends one
 * message below the chares; PE 0 has a branch of a group constructed inside a constructor, which
 * then works as long. END: 0 CkExit(0); 1 CkExit(7); 2 CkAbort; 3 PE 0 sits
 * in a handler until somebody ends it, which shows a line of progress; 4 PE 0 removes the folder that is named next, goes to
 * another one, and CkExit(0).
 */
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "csd.h"
#include "cth.h"
#include "ckdirect.h"
#include "tallied.decl.h"

enum { PER_PE = 2, DOUBLES = 6 };
static const double WORK_S = 0.002;

struct Main { const char *folder; };
struct Brief { char unused; };
struct Member { char unused; };
struct Cell {
	double *received;
	double sent[DOUBLES];
	CkDirectHandle in, out;
	int n_hops, n_arrived, n_put;
};

static int h_ball;

static void ball_arrived(struct pe *pe, struct cmi_msg *m)
{
	(void)pe;
	CmiFree(m);
}

void register_handlers(void)
{
	h_ball = CmiRegisterHandler("ball", ball_arrived);
}

static void work(void)
{
	for (double end = CkWallTimer() + WORK_S; CkWallTimer() < end;)
		;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	self->folder = m->argc > 4 ? m->argv[4] : NULL;
	n_calls = m->argc > 1 ? atoi(m->argv[1]) : 20;
	n_puts = m->argc > 2 ? atoi(m->argv[2]) : 10;
	how_to_end = m->argc > 3 ? atoi(m->argv[3]) : 0;
	CHECK(Member_ckLocalBranch(Member_ckNew()) != NULL);
	work();
	cells = Cell_ckNew(CkDims(PER_PE * CkNumPes()));
	Cell_start_all(cells);
	for (int pe = 0; pe < CkNumPes(); pe++) {
		struct cmi_msg *ball = CmiAlloc(sizeof *ball);

		CmiSetHandler(ball, h_ball);
		CmiSyncSendAndFree(pe, sizeof *ball, ball);
	}
	CkStartQD(Main_cb_quiet(mainProxy));
}

static void show_progress(void)
{
	for (int i = 0;; i++) {
		CkProgressLine("step %d of \033[31mmany\n", i);
		if (i == 2) {
			printf("a line of the program's own\n");
			fflush(stdout);
		}
		usleep(300000);
	}
}

void Main_on_quiet(Main *self)
{
	if (how_to_end == 2)
		CkAbort("tallied: ended as it was asked");
	if (how_to_end == 3)
		show_progress();
	CkPrintf("tallied: %d cells\n", PER_PE * CkNumPes());
	if (how_to_end == 4)
		CHECK((!self->folder || rmdir(self->folder) == 0) && chdir("/") == 0);
	CkExit(how_to_end == 1 ? 7 : 0);
}

void Member_on_new(Member *self)
{
	(void)self;
}

void Brief_on_new(Brief *self)
{
	CkDestroy(self);
}

static CProxyElement_Cell neighbour(const Cell *self, int by)
{
	int n = PER_PE * CkNumPes();

	return Cell_at(cells, (Cell_thisIndex(self) + by + n) % n);
}

static void arrived(void *arg)
{
	Cell *self = arg;

	CHECK(self->received[0] == ++self->n_arrived);
	if (self->n_arrived == n_puts)
		return;
	CkDirect_ready(&self->in);
	Cell_putAgain(neighbour(self, -1));
}

void Cell_on_new(Cell *self)
{
	self->n_hops = self->n_arrived = self->n_put = 0;
}

void Cell_on_start(Cell *self)
{
	Cell_hop(neighbour(self, 1), n_calls - 1);
	self->received = CkDirect_alloc(DOUBLES * sizeof *self->received);
	self->in = CkDirect_createHandle(self->received, DOUBLES * sizeof *self->received, UINT64_MAX, arrived, self);
	Cell_take(neighbour(self, -1), self->in, 2, (int[]){ 3, 4 });
	Cell_outer(Cell_thisElement(self));
	Cell_nap(Cell_thisElement(self));
	Brief_ckNew(CK_PE_ANY);
}

/* With an array: an observer hears of such calls from other processes in a way of their own. */
void Cell_on_take(Cell *self, CkDirectHandle h, int n, const int *v)
{
	CHECK(n == 2 && v[0] == 3 && v[1] == 4);
	self->out = h;
	CkDirect_assocLocalBuffer(&self->out, self->sent, sizeof self->sent);
	if (n_puts)
		Cell_putAgain(Cell_thisElement(self));
}

void Cell_on_putAgain(Cell *self)
{
	self->sent[0] = ++self->n_put;
	CkDirect_put(&self->out);
}

void Cell_on_hop(Cell *self, int left)
{
	self->n_hops++;
	if (left)
		Cell_hop(neighbour(self, 1), left - 1);
}

void Cell_on_outer(Cell *self)
{
	Cell_inner(Cell_thisElement(self));
}

void Cell_on_inner(Cell *self)
{
	(void)self;
}

void Cell_on_nap(Cell *self)
{
	for (int i = 0; i < 3; i++)
		CthYield();
	work();
	CHECK_EQ(Cell_ask_sync(neighbour(self, 1)), CkNumPes());
}

int Cell_on_ask(Cell *self)
{
	(void)self;
	return CkNumPes();
}

#include "tallied.def.h"
