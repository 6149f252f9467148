/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_prio: a chare sends itself messages in its constructor, the least urgent first. It gets them
 * in the order of their priorities, and two of one priority in the order of sending, also in a
 * random queue.
 */
#include <limits.h>

#include "mega.h"

#include "mega_prio.decl.h"

/* EACH numbers from the least one up, EACH around 0, and all paths in a binary tree. */
enum { EACH = 100, TWICE = 2, DEPTH = 6, PATHS = (2 << DEPTH) - 2 };

struct Main { struct mega runs; };
struct Short { int last, next_no, n; };
struct Long { CmiInt8 last; int next_no, n, ints; };
struct Bits { unsigned last_path; int last_depth, n, ints, longs; };

/* A message has no better priority than the one before it. Those of one priority come in the order
 * of sending. */
#define CHECK_ORDER(self, m) do { \
		if ((m)->prio < (self)->last) \
			CkAbort("mega_prio: %lld after %lld", (long long)(m)->prio, (long long)(self)->last); \
		if ((m)->prio > (self)->last) \
			(self)->next_no = 0; \
		CHECK_EQ((m)->no, (self)->next_no); \
		(self)->last = (m)->prio; \
		(self)->next_no++; \
		(self)->n++; \
	} while (0)

/* ---- 32 bits --------------------------------------------------------------------------------- */

static void send_int(Short *self, int prio, int no)
{
	Item *m = Item_alloc();

	m->prio = prio;
	m->no = no;
	for (int i = 0; i < 10; i++)
		m->data[i] = prio ^ i * i;
	CkSetPrio(m, prio);
	CkSetQueueing(m, CK_QUEUEING_IFIFO);
	Short_recv(Short_thisProxy(self), m);
}

void Short_on_new(Short *self)
{
	self->last = INT_MIN;
	for (int no = 0; no < TWICE; no++)
		for (int i = EACH - 1; i >= 0; i--) {
			send_int(self, INT_MIN + i, no);
			send_int(self, i - EACH / 2, no);
		}
}

void Short_on_recv(Short *self, Item *m)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQ(m->data[i], m->prio ^ i * i);
	CHECK_ORDER(self, m);
	CkFreeMsg(m);
	if (self->n < TWICE * 2 * EACH)
		return;
	Long_ckNew(CK_PE_ANY, self->n);
	CkDestroy(self);
}

/* ---- 64 bits --------------------------------------------------------------------------------- */

static void send_long(Long *self, CmiInt8 prio, int no)
{
	CkReservePrio(64);
	LongItem *m = LongItem_alloc();

	m->prio = prio;
	m->no = no;
	CkSetPrioLong(m, prio);
	CkSetQueueing(m, CK_QUEUEING_LFIFO);
	Long_recv(Long_thisProxy(self), m);
}

void Long_on_new(Long *self, int ints)
{
	self->ints = ints;
	self->last = INT64_MIN;
	for (int no = 0; no < TWICE; no++)
		for (int i = EACH - 1; i >= 0; i--) {
			send_long(self, INT64_MIN + i, no);
			send_long(self, i - EACH / 2, no);
		}
}

void Long_on_recv(Long *self, LongItem *m)
{
	CHECK_ORDER(self, m);
	CkFreeMsg(m);
	if (self->n < TWICE * 2 * EACH)
		return;
	Bits_ckNew(CK_PE_ANY, self->ints, self->n);
	CkDestroy(self);
}

/* ---- any number of bits ---------------------------------------------------------------------- */

/* A path from the root: `depth` bits, the first one at the top. */
static void send_bits(Bits *self, int depth, unsigned path)
{
	CkReservePrio(depth);
	BitItem *m = BitItem_alloc();

	m->depth = depth;
	m->path = path;
	CkSetPrioBits(m, &path, depth);
	CkSetQueueing(m, CK_QUEUEING_BFIFO);
	Bits_recv(Bits_thisProxy(self), m);
}

void Bits_on_new(Bits *self, int ints, int longs)
{
	self->ints = ints;
	self->longs = longs;
	for (int depth = DEPTH; depth > 0; depth--)
		for (unsigned i = 1u << depth; i-- > 0;)
			send_bits(self, depth, i << (32 - depth));
}

/* A path comes before all that go on from it, and after all that turn off to the left. */
void Bits_on_recv(Bits *self, BitItem *m)
{
	if (m->path < self->last_path || (m->path == self->last_path && m->depth <= self->last_depth))
		CkAbort("mega_prio: path %08x of %d bits after %08x of %d", m->path, m->depth,
			self->last_path, self->last_depth);
	self->last_path = m->path;
	self->last_depth = m->depth;
	CkFreeMsg(m);
	if (++self->n < PATHS)
		return;
	Main_finish(mainProxy, self->ints, self->longs, self->n);
	CkDestroy(self);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void begin(int no)
{
	(void)no;
	Short_ckNew(CK_PE_ANY);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self, int ints, int longs, int vectors)
{
	CHECK_EQ(ints, TWICE * 2 * EACH);
	CHECK_EQ(longs, TWICE * 2 * EACH);
	CHECK_EQ(vectors, PATHS);
	if (!mega_ended(&self->runs, begin))
		return;
	CkPrintf("mega_prio: %d times %d messages in order\n", MEGA_RUNS, ints + longs + vectors);
	CkExit(0);
}

#include "mega_prio.def.h"
