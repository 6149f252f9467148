/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getput: each element gets from each other element, and puts into it: small and large buffers, from and
 * into memory of CkRdmaAlloc and of malloc, again and again with the same buffers. Both callbacks of every
 * transfer come, each with its own buffer. In the last round nobody is told, and quiescence waits for the
 * data. Buffers travel as parameters, in messages and in a readonly.
 *
 * Prints how many transfers were over when the call returned.
 */
#include "check.h"

#include <stdlib.h>

#include "getput.decl.h"

enum { N = 6, WAYS = 4, SIZES = 3, SLOTS = N * WAYS * SIZES, ROUNDS = 6, WORDS = 100,
       MORE = 24 };

/* A slot: the distance to the other element, the kinds of both memories, the size. */
static int distance(int slot) { return slot / (WAYS * SIZES); }
static bool source_shared(int slot) { return slot & 1; }
static bool dest_shared(int slot) { return slot & 2; }

/* The largest takes several pieces, the last of them small. It goes to the next element only. */
static size_t words(int slot)
{
	static const size_t of[SIZES] = {1, WORDS, 5 * 32768 + 3};
	const size_t n = of[slot / WAYS % SIZES];

	return n <= WORDS || distance(slot) == 1 ? n : 0;
}

struct Main { int round; uint64_t table[WORDS]; };
struct Peer {
	uint64_t *source[SLOTS], *dest[SLOTS];
	CkNcpyBuffer give[SLOTS], take[SLOTS];         /* ours */
	CkNcpyBuffer from[SLOTS], into[SLOTS];         /* the others' */
	int round, n_met, n_given, n_got, n_now, n_all;
	uint64_t table[WORDS];
};

static int other(int me, int by) { return (me + by + N) % N; }

static uint64_t word(int from, int slot, int round, size_t i)
{
	return (uint64_t)from << 48 | (uint64_t)slot << 40 | (uint64_t)round << 32 | i;
}

static void *memory(bool shared, size_t bytes)
{
	return check_there(shared ? CkRdmaAlloc(bytes) : malloc(bytes + 1), bytes);
}

static void fill(Peer *self)
{
	for (int s = 0; s < SLOTS; s++)
		for (size_t i = 0; i < words(s); i++) {
			self->source[s][i] = word(Peer_thisIndex(self), s, self->round, i);
			self->dest[s][i] = UINT64_MAX;
		}
}

static void check_dest(const Peer *self, int s)
{
	for (size_t i = 0; i < words(s); i++)
		CHECK(self->dest[s][i] == word(other(Peer_thisIndex(self), -distance(s)), s, self->round, i));
}

void Peer_on_new(Peer *self)
{
	CProxyElement_Peer me = Peer_thisElement(self);

	for (int s = 0; s < SLOTS; s++) {
		const size_t bytes = words(s) * sizeof(uint64_t);

		self->source[s] = memory(source_shared(s), bytes);
		self->dest[s] = memory(dest_shared(s), bytes + MORE);
		CkNcpyBufferInit(&self->give[s], self->source[s], bytes, Peer_cb_given(me));
		/* Room for more than what comes. */
		CkNcpyBufferInit(&self->take[s], self->dest[s], bytes + MORE, Peer_cb_got(me));
		self->give[s].ref = &self->source[s];
		self->take[s].ref = &self->dest[s];
	}
	fill(self);
}

/* ---- who has what ------------------------------------------------------------------------------ */

void Peer_on_meet(Peer *self)
{
	const int me = Peer_thisIndex(self);

	for (int s = 0; s < SLOTS; s++) {
		Place *p = Place_alloc(1);

		p->slot = s;
		p->one = p->where[0] = self->take[s];
		Peer_offer(Peer_at(peers, other(me, distance(s))), s, self->give[s]);
		Peer_ask(Peer_at(peers, other(me, -distance(s))), p);
	}
}

static void met(Peer *self)
{
	if (++self->n_met == 2 * SLOTS)
		CkContributeBarrier(self, Main_cb_next(mainProxy));
}

void Peer_on_offer(Peer *self, int slot, CkNcpyBuffer from)
{
	self->from[slot] = from;
	met(self);
}

void Peer_on_ask(Peer *self, Place *p)
{
	CHECK(memcmp(&p->one, p->where, sizeof p->one) == 0);
	self->into[p->slot] = p->one;
	met(self);
}

/* ---- transfers ----------------------------------------------------------------------------------- */

static void transfer(Peer *self, int slot, bool put)
{
	const bool now = put ? CkNcpyPut(&self->give[slot], &self->into[slot])
			     : CkNcpyGet(&self->take[slot], &self->from[slot]);

	if (now && !put)
		check_dest(self, slot);
	self->n_now += now;
	self->n_all++;
}

void Peer_on_turn(Peer *self, bool put)
{
	for (int s = 0; s < SLOTS; s++)
		transfer(self, s, put);
}

/* All of this round. The contents of the next one are there before anybody goes on. */
static void told(Peer *self)
{
	if (self->n_given < SLOTS || self->n_got < SLOTS)
		return;
	self->n_given = self->n_got = 0;
	self->round++;
	fill(self);
	CkContributeBarrier(self, Main_cb_next(mainProxy));
}

void Peer_on_given(Peer *self, const CkReductionMsg *m)
{
	const CkNcpyBuffer *b = CkReductionMsg_data(m);
	const int s = (int)((uint64_t *const *)b->ref - self->source);

	CHECK(m->bytes == sizeof *b && s >= 0 && s < SLOTS && b->ptr == self->source[s]);
	CHECK(b->bytes == words(s) * sizeof(uint64_t));
	self->n_given++;
	told(self);
}

void Peer_on_got(Peer *self, const CkReductionMsg *m)
{
	const CkNcpyBuffer *b = CkReductionMsg_data(m);
	const int s = (int)((uint64_t *const *)b->ref - self->dest);

	CHECK(m->bytes == sizeof *b && s >= 0 && s < SLOTS && b->ptr == self->dest[s]);
	check_dest(self, s);
	self->n_got++;
	told(self);
}

/* Main's table, which all know from the readonly. */
void Peer_on_read(Peer *self)
{
	CkNcpyBuffer here;

	CkNcpyBufferInit(&here, self->table, sizeof self->table, Main_cb_read(mainProxy));
	CkNcpyGet(&here, &table);
}

/* Nobody is told: the callbacks are taken out of copies of the buffers. */
void Peer_on_quiet(Peer *self)
{
	for (int i = 0; i < WORDS; i++)
		CHECK(self->table[i] == word(N, 0, 0, (size_t)i));
	for (int s = 0; s < SLOTS; s++) {
		CkNcpyBuffer take = self->take[s], from = self->from[s];

		take.done = from.done = CkCallbackIgnore();
		CkNcpyGet(&take, &from);
	}
}

void Peer_on_check(Peer *self)
{
	const int counts[2] = {self->n_now, self->n_all};

	for (int s = 0; s < SLOTS; s++) {
		check_dest(self, s);
		CkNcpyBufferDeregister(&self->give[s]);
		CkNcpyBufferDeregister(&self->take[s]);
		source_shared(s) ? CkRdmaFree(self->source[s]) : free(self->source[s]);
		dest_shared(s) ? CkRdmaFree(self->dest[s]) : free(self->dest[s]);
	}
	CkContribute(self, counts, 2, CkReduction_sum_int, Main_cb_over(mainProxy));
}

/* ---- rounds ---------------------------------------------------------------------------------------- */

static void quiescent(void *ctx, const CkReductionMsg *m)
{
	(void)ctx, (void)m;
	Peer_check_all(peers);
}

void Main_on_next(Main *self)
{
	if (self->round < ROUNDS)
		Peer_turn_all(peers, self->round++ % 2);
	else
		Peer_read_all(peers);
}

void Main_on_read(Main *self)
{
	if (++self->round < ROUNDS + N)
		return;
	Peer_quiet_all(peers);
	CkStartQD(CkCallbackFunction(quiescent, NULL));
}

void Main_on_over(Main *self, int now, int all)
{
	(void)self;
	CHECK_EQ(all, N * SLOTS * ROUNDS);
	CkPrintf("getput: %d of %d at once\n", now, all);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	for (int i = 0; i < WORDS; i++)
		self->table[i] = word(N, 0, 0, (size_t)i);
	CkNcpyBufferInit(&table, self->table, sizeof self->table, CkCallbackIgnore());
	peers = Peer_ckNew(CkDims(N));
	Peer_meet_all(peers);
}

#include "getput.def.h"
