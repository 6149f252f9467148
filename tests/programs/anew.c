/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anew: ends of named channels that are made anew between an arrival and the next ready, because the receiver moves, the
 * sender, or both. The buffer then holds what was put last, and the receiver says ready before it hears who puts from
 * now on. It must not take the old data for a put: with CK_DIRECT_PATH=rma and more channels than CK_DIRECT_POLL_MAX it did.
 * `anew` tries each way; after each ready some messages go to and fro, so that the receiver has heard, before the next put.
 *
 * `anew drop`: the receiver destroys its end when a put has landed, before it hears who puts. Quiescence must not wait for
 * that put. It looks at the buffer in a loop, so this needs puts that land without the receiver's loop (rma).
 */
#include "check.h"
#include "ckchannel.h"
#include "ckdirect.h"

#include <stdlib.h>

#include "anew.decl.h"

enum { RECEIVER, SENDER, NODES };
enum { WORDS = 6, ROUNDS = 8, HOPS = 12 };
/* The ways to try are sums of these. */
enum { RECEIVER_MOVES = 1, SENDER_MOVES = 2, IN_TWO = 4, BY_COUNT = 8, IS_STRIDED = 16, WAYS = 32 };
#define OOB UINT64_MAX

struct Main { int way; };
struct Node {
	int way, rounds;          /* puts made, or arrivals */
	bool moving;
	uint64_t *buf;
	CkChannel *end;
};

static bool receives(const Node *self) { return Node_thisIndex(self) == RECEIVER; }
static CProxyElement_Node other(const Node *self) { return Node_at(nodes, !Node_thisIndex(self)); }
static CProxyElement_Node myself(const Node *self) { return Node_at(nodes, Node_thisIndex(self)); }
static size_t buf_bytes(void) { return 2 * WORDS * sizeof(uint64_t); }

/* The first word is the sender's PE. */
static uint64_t word(int round, int i) { return i ? (uint64_t)(round * 100 + i) : (uint64_t)CkMyPe(); }

/* Another PE for one end, not on the node of PE `pe`, where the other end is. This one, if there is none. */
static int away_from(int pe)
{
	int to = (CkMyPe() + 1) % CkNumPes();

	for (int i = 0; i < CkNumPes() && CkNodeOf(to) == CkNodeOf(pe); i++)
		to = (to + 1) % CkNumPes();
	return to;
}

void Node_pup(pup_er p, Node *self)
{
	pup_bytes(p, self, offsetof(Node, buf));
	self->buf = pup_alloc_direct(p, self->buf, buf_bytes());
	pup_bytes(p, self->buf, buf_bytes());
	pup_channel(p, &self->end, self->buf);
}

void Node_on_new(Node *self) { self->buf = CkDirect_alloc(buf_bytes()); }

/* ---- the sender ---------------------------------------------------------------------------------------------- */

static void begin_to_send(Node *self)
{
	const CkDirectStrides twice = { .block_bytes = 8, .blocks = WORDS, .stride_bytes = 16 };

	if (self->way & IS_STRIDED)
		self->end = Node_in_to_strided(self, other(self), self->way, self->buf, twice);
	else
		self->end = Node_in_to(self, other(self), self->way, self->buf, WORDS * 8);
	Node_put(myself(self), 0);
}

void Node_on_put(Node *self, int round)
{
	CHECK_EQ(round, self->rounds);
	for (int i = 0; i < WORDS; i++)
		self->buf[i * (self->way & IS_STRIDED ? 2 : 1)] = word(round, i);
	self->rounds++;
	CkChannelPut(self->end);
}

/* The receiver has heard who puts when this has come back some times. */
void Node_on_echo(Node *self, int hops)
{
	if (!receives(self))
		Node_echo(other(self), hops);
	else if (hops)
		Node_echo(other(self), hops - 1);
	else
		Node_ready(myself(self), 0);
}

/* ---- both move ------------------------------------------------------------------------------------------------- */

static void moved(Node *self)
{
	if (!receives(self))
		Node_ready(other(self), HOPS);
	else if (self->way & SENDER_MOVES)
		Node_move(other(self), self->rounds, CkMyPe());
	else
		Node_on_ready(self, HOPS);
}

void Node_on_move(Node *self, int round, int beside)
{
	const int to = away_from(beside);

	CHECK_EQ(round, self->rounds);
	if (to == CkMyPe()) {
		moved(self);
		return;
	}
	self->moving = true;
	CkMigrateMe(self, to);
}

void Node_on_arrived(Node *self)
{
	if (self->moving)
		moved(self);
	self->moving = false;
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

static void begin_to_receive(Node *self)
{
	const CkElement from = other(self).ck;

	if (self->way & BY_COUNT)
		self->end = Node_in_from(self, from, self->way, self->buf, WORDS * 8);
	else
		self->end = Node_in_from_oob(self, from, self->way, self->buf, WORDS * 8, OOB);
}

void Node_on_in(Node *self, int tag)
{
	CHECK_EQ(tag, self->way);
	CHECK(!drops);
	for (int i = 1; i < WORDS; i++)
		CHECK_EQ(self->buf[i], word(self->rounds, i));
	self->rounds++;
	if (self->rounds == ROUNDS)
		Main_taken(mainProxy);
	else if (self->way & RECEIVER_MOVES)
		Node_on_move(self, self->rounds, (int)self->buf[0]);
	else
		moved(self);
}

/* HOPS: the ends are made anew, but nothing has come from the sender since. 0: it has. */
void Node_on_ready(Node *self, int hops)
{
	if (hops && self->way & IN_TWO)
		CkChannelReadyMark(self->end);
	else if (hops)
		CkChannelReady(self->end);
	else if (self->way & IN_TWO)
		CkChannelReadyPollQ(self->end);
	if (hops)
		Node_echo(other(self), hops);
	else
		Node_put(other(self), self->rounds);
}

/* ---- a put that nobody will take ------------------------------------------------------------------------------------ */

/* Between two looks the ends are joined. The sender puts then, and says who it is, but that waits behind this call. */
void Node_on_look(Node *self)
{
	const volatile uint64_t *last = &self->buf[WORDS - 1];
	const double until = CkWallTimer() + 0.1;

	while (*last == OOB && CkWallTimer() < until)
		;
	if (*last == OOB) {
		Node_look(myself(self));
		return;
	}
	CkChannelDestroy(self->end);
	self->end = NULL;
	CkStartQD(Main_cb_quiet(mainProxy));
}

/* ---- the steps of the test ------------------------------------------------------------------------------------------ */

void Node_on_begin(Node *self, int way)
{
	self->way = way;
	self->rounds = 0;
	if (receives(self))
		begin_to_receive(self);
	else
		begin_to_send(self);
	if (drops && receives(self)) {
		Node_begin(other(self), way);
		Node_look(myself(self));
	}
}

void Node_on_drop(Node *self)
{
	CkChannelDestroy(self->end);
	self->end = NULL;
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_next(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	drops = m->argc > 1;
	mainProxy = Main_thisProxy(self);
	nodes = Node_ckNew(CkDims1(NODES));
	if (drops)
		Node_begin(Node_at(nodes, RECEIVER), 0);
	else
		Node_begin_all(nodes, 0);
}

void Main_on_taken(Main *self)
{
	(void)self;
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_quiet(Main *self)
{
	(void)self;
	Node_drop_all(nodes);
}

void Main_on_next(Main *self)
{
	if (!drops && ++self->way < WAYS) {
		Node_begin_all(nodes, self->way);
		return;
	}
	CkPrintf("anew: right\n");
	CkExit(0);
}

#include "anew.def.h"
