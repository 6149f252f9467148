/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prio2: a handler queues calls to its own PE with random priorities: numbers of 32 and 64 bits and
 * vectors of bits, FIFO and LIFO. The PE must serve them in the order of a reference, which compares
 * priorities bit by bit. Then the same with messages that came from another PE and brought their
 * priority along.
 */
#include "check.h"

#include <stdlib.h>

#include "prio2.decl.h"

enum { BATCH = 400, MOST_BITS = 200, WORDS = MOST_BITS / 32 + 1,
       ROUNDS = 3 };

struct Main { int phase, n_in; };

/* It points to itself, so it must not be moved. */
struct Own {
	int no;
	int *there;
};

struct wish {
	CkEntryOptions o;
	unsigned bits[WORDS];
};

struct Member {
	struct wish wish[BATCH];
	int order[BATCH];         /* numbers of the wishes, as they must be served */
	int n_order, n_in, round, n_far;
	Note *kept[BATCH];
	CProxySection_Member alone; /* this one */
};
struct Made { int unused; };

/* ---- the reference ----------------------------------------------------------------------- */

/* A priority as text of '0' and '1'. */
static void as_text(const struct wish *w, char *text)
{
	bool vector = w->o.queueing == CK_QUEUEING_BFIFO || w->o.queueing == CK_QUEUEING_BLIFO;
	int64_t number = w->o.queueing >= CK_QUEUEING_LFIFO ? w->o.prio_long : w->o.prio;
	uint64_t inverted = (uint64_t)number ^ (uint64_t)1 << 63;
	int n = vector ? w->o.n_prio_bits : 64;

	for (int i = 0; i < n; i++) {
		bool bit = vector ? w->bits[i / 32] >> (31 - i % 32) & 1 : inverted >> (63 - i) & 1;

		text[i] = bit ? '1' : '0';
	}
	text[n] = 0;
}

/* strcmp: '0' < '1', and the shorter one first. */
static int compare(const struct wish *a, const struct wish *b)
{
	char x[MOST_BITS + 1], y[MOST_BITS + 1];

	as_text(a, x);
	as_text(b, y);
	return strcmp(x, y);
}

/* After all better ones, and before or after its equals. */
static void insert(Member *self, int no)
{
	bool lifo = self->wish[no].o.queueing & 1;
	int at = 0;

	while (at < self->n_order) {
		int c = compare(&self->wish[self->order[at]], &self->wish[no]);

		if (c > 0 || (c == 0 && lifo))
			break;
		at++;
	}
	memmove(self->order + at + 1, self->order + at,
		(size_t)(self->n_order++ - at) * sizeof *self->order);
	self->order[at] = no;
}

static void make_wish(struct wish *w, int no, uint64_t seed)
{
	uint64_t r = check_mix(seed + (uint64_t)no);

	memset(w, 0, sizeof *w);
	w->o.refnum = no;
	w->o.queueing = (int)(r % 8);
	r = check_mix(r);
	if (w->o.queueing >= CK_QUEUEING_LFIFO) {
		w->o.prio_long = r % 3 ? (int64_t)check_mix(r) >> (r >> 8) % 64 : (int64_t)(r % 5) - 2;
	} else if (w->o.queueing < CK_QUEUEING_BFIFO) {
		w->o.prio = r % 3 ? (int32_t)check_mix(r) >> (r >> 8) % 32 : (int32_t)(r % 5) - 2;
	} else {
		/* Never 64 bits, which may equal a number of no priority; many share a prefix. */
		w->o.n_prio_bits = 1 + (int)(r % 4 ? r % 12 : r % (MOST_BITS - 70) + 66);
		for (int i = 0; i < WORDS; i++)
			w->bits[i] = (unsigned)(r >> 60 & 1 ? check_mix(r + (uint64_t)i) : 0x80000000u);
		w->bits[(r >> 8) % WORDS] ^= (unsigned)(r >> 40) & 7;
		w->o.prio_bits = w->bits;
	}
}

/* ---- one batch ---------------------------------------------------------------------------- */

static Note *note_new(int no, int prio_bits)
{
	CkReservePrio(prio_bits);
	Note *m = Note_alloc((size_t)no % 7);

	m->no = no;
	for (int i = 0; i < no % 7; i++)
		m->ballast[i] = no + i;
	return m;
}

static void note_check(const Note *m)
{
	for (int i = 0; i < m->no % 7; i++)
		CHECK(m->ballast[i] == m->no + i);
}

/* Half of them move to other memory, when packed and when unpacked. */
void *Own_pack(Own *m)
{
	Own *f = m->no % 2 ? m : CkAllocBuffer(m, sizeof *m);

	f->no = m->no;
	f->there = NULL;
	if (f != m)
		CkFreeMsg(m);
	return f;
}

Own *Own_unpack(void *buf)
{
	const Own *f = buf;
	Own *m = f->no % 2 ? buf : CkAllocBuffer(buf, sizeof *m);

	m->no = f->no;
	m->there = &m->no;
	if ((void *)m != buf)
		CkFreeMsg(buf);
	return m;
}

static Own *own_new(int no, int prio_bits)
{
	CkReservePrio(prio_bits);
	Own *m = Own_alloc((size_t)no % 3 * 8); /* so that some have room behind them */

	m->no = no;
	m->there = &m->no;
	return m;
}

/* The wish on the message itself. */
static void *with_wish(void *m, const struct wish *w)
{
	CkSetRefNum(m, w->o.refnum);
	if (w->o.queueing >= CK_QUEUEING_LFIFO)
		CkSetPrioLong(m, w->o.prio_long);
	else if (w->o.queueing >= CK_QUEUEING_BFIFO)
		CkSetPrioBits(m, w->bits, w->o.n_prio_bits);
	else
		CkSetPrio(m, w->o.prio);
	CkSetQueueing(m, w->o.queueing);
	return m;
}

static void send_one(Member *self, int no)
{
	CProxyElement_Member me = Member_thisElement(self);
	const CkEntryOptions *o = &self->wish[no].o;

	switch (check_mix((uint64_t)no) % 8) {
	case 0:
		Member_item_opt(o, me, no);
		break;
	case 1:
		Member_text_opt(o, me, no, "some text, so that the payload has an odd length");
		break;
	case 2:
		Member_note_opt(o, me, note_new(no, 0));
		break;
	case 3:
		Made_ckNew_opt(o, CkMyPe(), no);
		break;
	case 4:
		Member_note(me, with_wish(note_new(no, MOST_BITS), &self->wish[no]));
		break;
	case 5:
		Member_own(me, with_wish(own_new(no, MOST_BITS), &self->wish[no]));
		break;
	case 6:
		Member_item_section_opt(o, self->alone, no);
		break;
	default:
		Member_own_opt(o, me, own_new(no, 0));
	}
}

void Member_on_start(Member *self)
{
	self->n_order = self->n_in = 0;
	for (int no = 0; no < BATCH; no++) {
		make_wish(&self->wish[no], no, (uint64_t)(self->round * 1000 + CkMyPe()) << 20);
		insert(self, no);
		send_one(self, no);
	}
}

void Member_on_startFar(Member *self)
{
	CProxyElement_Member to = Member_at(members, (CkMyPe() + 1) % CkNumPes());

	(void)self;
	/* Not in self->wish: the other PE's messages may all have come already, and be under way
	 * to ourselves. */
	for (int no = 0; no < BATCH; no++) {
		struct wish w;

		make_wish(&w, no, (uint64_t)(ROUNDS * 1000 + CkMyPe()) << 20);
		if (no % 2)
			Member_far_opt(&w.o, to, note_new(no, 0));
		else
			Member_far(to, with_wish(note_new(no, MOST_BITS), &w));
	}
}

static void served(Member *self, int no)
{
	CHECK_EQ(CkGetRefNum(NULL), no);
	CHECK_EQ(no, self->order[self->n_in]);
	if (++self->n_in < BATCH)
		return;
	if (++self->round < ROUNDS)
		Member_start(Member_thisElement(self));
	else
		CkContributeBarrier(self, Main_cb_phase(mainProxy));
}

void Made_on_new(Made *self, int no)
{
	served(Member_ckLocalBranch(members), no);
	CkDestroy(self);
}

void Member_on_item(Member *self, int no) { served(self, no); }

void Member_on_text(Member *self, int no, const char *s)
{
	CHECK(strcmp(s, "some text, so that the payload has an odd length") == 0);
	served(self, no);
}

void Member_on_note(Member *self, Note *m)
{
	note_check(m);
	served(self, m->no);
}

void Member_on_own(Member *self, Own *m)
{
	CHECK(m->there == &m->no);
	served(self, m->no);
}

/* ---- from another PE ------------------------------------------------------------------------- */

/* All are kept until the last has come, then sent to ourselves, in this handler and without
 * options. The other PE's wishes are made anew for the reference. */
void Member_on_far(Member *self, Note *m)
{
	int from = (CkMyPe() + CkNumPes() - 1) % CkNumPes();

	note_check(m);
	self->kept[m->no] = CkKeepMsg();
	if (++self->n_far < BATCH)
		return;
	self->n_order = self->n_in = 0;
	for (int no = 0; no < BATCH; no++) {
		make_wish(&self->wish[no], no, (uint64_t)(ROUNDS * 1000 + from) << 20);
		insert(self, no);
		CHECK_EQ(CkGetRefNum(self->kept[no]), no);
		Member_note(Member_thisElement(self), self->kept[no]);
	}
}

/* Broadcasts take their priority along to every PE, though nothing can be said of their order. */
void Member_on_everywhere(Member *self, int no)
{
	(void)self;
	CHECK_EQ(CkGetRefNum(NULL), no);
	Main_heard(mainProxy);
}

/* ---- main ---------------------------------------------------------------------------------- */

void Member_on_new(Member *self)
{
	const CkIndex me = Member_index(CkMyPe());

	/* The branch of PE 0 is constructed before Member_ckNew returns, and `members` is set. */
	self->alone = Member_ckSection(Member_thisProxy(self), &me, 1);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	Member_start_all(members);
}

void Main_on_phase(Main *self)
{
	struct Member *some;

	switch (self->phase++) {
	case 0:
		Member_startFar_all(members);
		return;
	default:
		some = calloc(1, sizeof *some);
		CHECK(some);
		for (int no = 0; no < BATCH; no++) {
			make_wish(&some->wish[no], no, 12345);
			Member_everywhere_all_opt(&some->wish[no].o, members, no);
		}
		free(some);
	}
}

void Main_on_heard(Main *self)
{
	if (++self->n_in < BATCH * CkNumPes())
		return;
	CkPrintf("prio2: %d calls in order on %d PEs\n", 4 * BATCH, CkNumPes());
	CkExit(0);
}

#include "prio2.def.h"
