/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen: makes some of everything that the debugger's helpers show, comes to rest, queues three calls and calls
 * seen_now(), where seen.sh stops it. Without a debugger it just ends. It needs two PEs in one process.
 */
#include "check.h"

#include "seen.decl.h"

enum { WORDS = 8 };
#define OOB 0x7ff81234abcd0001u

CProxy_Main mainProxy;
CProxy_Side sides;

struct Main { CProxy_Cell cells; int n_heard; };
struct Cell { int last; double in[2], out[2]; };
struct Side {
	CkDirectHandle used, armed, to;
	uint64_t *buf[2], src[WORDS];
	CkFuture never;
};
struct Lone { int n; };

/** Where the debugger stops. */
void seen_now(void);
__attribute__((noinline)) void seen_now(void) { __asm__ volatile(""); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	CHECK_EQ(CkNumPes(), 2);
	mainProxy = Main_thisProxy(self);
	self->cells = Cell_ckNew(CkDims(3, 2));
	sides = Side_ckNew();
	for (int i = 0; i < 3; i++)
		Lone_ckNew(i % 2, i);
	Side_connect(Side_at(sides, 1));
	Side_sleeps(Side_at(sides, 1));
	CkStartQD(Main_cb_rest(mainProxy));
}

/* Cells 0,0 to 1,0 live on this PE. */
void Main_on_rest(Main *self, CkQdMsg *m)
{
	(void)m;
	Cell_hear(Cell_at(self->cells, 0, 1), 1);
	Cell_hear_opt(&(CkEntryOptions){ .prio = -7 }, Cell_at(self->cells, 0, 0), 2);
	Cell_hear_opt(&(CkEntryOptions){ .prio = 9 }, Cell_at(self->cells, 1, 0), 3);
	seen_now();
	CkExit(0);
}

/* A named channel from cell 0,0 to cell 2,1. */
void Cell_on_new(Cell *self)
{
	const CkIndex2D me = Cell_thisIndex(self);
	const CProxy_Cell all = Cell_thisProxy(self);

	self->last = 40 + me.y;
	if (me.x == 0 && me.y == 0)
		Cell_side_to(self, Cell_at(all, 2, 1), 7, self->out, sizeof self->out);
	if (me.x == 2 && me.y == 1)
		Cell_side_from(self, Cell_at(all, 0, 0).ck, 7, self->in, sizeof self->in);
}

void Cell_on_side(Cell *self, int tag) { (void)self; (void)tag; }
void Cell_on_hear(Cell *self, int n) { self->last = n; }
void Lone_on_new(Lone *self, int n) { self->n = n; }

/* ---- two channels to PE 1: one is put to and not made ready again, the other waits ------------------ */

static void came(void *data) { Side_again(Side_at(*(CProxy_Side *)data, 0)); }

void Side_on_new(Side *self) { (void)self; }

void Side_on_connect(Side *self)
{
	for (int i = 0; i < 2; i++)
		self->buf[i] = CkDirect_alloc(WORDS * sizeof *self->buf[i]);
	self->used = CkDirect_createHandle(self->buf[0], WORDS * sizeof *self->buf[0], OOB, came, &sides);
	self->armed = CkDirect_createHandle(self->buf[1], WORDS * sizeof *self->buf[1], OOB, came, &sides);
	Side_put(Side_at(sides, 0), self->used);
}

void Side_on_put(Side *self, CkDirectHandle h)
{
	self->to = h;
	CkDirect_assocLocalBuffer(&self->to, self->src, sizeof self->src);
	CkDirect_put(&self->to);
}

void Side_on_again(Side *self) { (void)self; }

void Side_on_sleeps(Side *self)
{
	self->never = CkCreateFuture();
	CkWaitFuture(self->never);
}

#include "seen.def.h"
