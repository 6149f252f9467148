/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alltoall: in every round each chare sends a block to each chare, and goes on when it has one
 * from each. Block sizes differ: --bytes is the largest.
 *
 *	ckrun -n 2 ./alltoall --chares 32 --bytes 100000 --rounds 20
 *
 * Shows   messages with an array in them: Block_alloc makes one, sending gives it away, and the
 *         runtime frees it after the handler. Rounds that overlap without mixing.
 * Checks  sender, round, length and every byte of each block; that no block comes twice or too
 *         early; and the sum of all lengths.
 *
 * Rounds overlap by one at most. A peer begins round r + 1 when it has my block of round r, and
 * cannot end it before I have begun it, too. So two counters are enough.
 */
#include <stdlib.h>

#include "../args.h"
#include "../random.h"
#include "alltoall.decl.h"

enum { SUM_BLOCKS, SUM_BYTES, N_SUMS };

struct Main { double started; };

struct Peer {
	int round;
	int arrived[2];         /* blocks of even and of odd rounds */
	int *next_from;         /* the round that each peer's next block must have */
	long sums[N_SUMS];      /* what has come in all rounds */
};

/* ---- what is in a block -------------------------------------------------------------- */

static uint64_t block_seed(long from, long to, long round)
{
	return random_at((uint64_t)seed, (uint64_t)((round * chares + from) * chares + to));
}

static long block_bytes(long from, long to, long round)
{
	return random_below(block_seed(from, to, round), 0, bytes + 1);
}

/* Byte i of a block: eight of them from each random number. */
static unsigned char block_byte(uint64_t s, long i)
{
	return (unsigned char)(random_at(s, 1 + (uint64_t)i / 8) >> (i % 8 * 8));
}

/* ---- a peer -------------------------------------------------------------------------- */

static void send_blocks(Peer *self)
{
	int me = Peer_thisIndex(self);

	for (int k = 1; k <= chares; k++) {
		int to = (int)((me + k) % chares);      /* not all to the same one at a time */
		long n = block_bytes(me, to, self->round);
		uint64_t s = block_seed(me, to, self->round);
		Block *m = Block_alloc((size_t)n);

		m->from = me;
		m->round = self->round;
		m->n = n;
		for (long i = 0; i < n; i++)
			m->data[i] = block_byte(s, i);
		Peer_take(Peer_at(Peer_thisProxy(self), to), m);
	}
}

void Peer_on_new(Peer *self)
{
	self->next_from = calloc((size_t)chares, sizeof *self->next_from);
	if (!self->next_from)
		CkAbort("alltoall: no memory for %ld counters", chares);
	send_blocks(self);
}

static void verify(Peer *self, const Block *m)
{
	int me = Peer_thisIndex(self);
	uint64_t s;

	if (self->round == rounds || m->from < 0 || m->from >= chares ||
	    m->round != self->next_from[m->from])
		CkAbort("alltoall: chare %d got a block of round %d from %d", me, m->round, m->from);
	if (m->n != block_bytes(m->from, me, m->round))
		CkAbort("alltoall: chare %d got %ld bytes of round %d from %d, not %ld", me, m->n,
			m->round, m->from, block_bytes(m->from, me, m->round));
	s = block_seed(m->from, me, m->round);
	for (long i = 0; i < m->n; i++)
		if (m->data[i] != block_byte(s, i))
			CkAbort("alltoall: chare %d: byte %ld of round %d from %d is wrong", me, i,
				m->round, m->from);
}

void Peer_on_take(Peer *self, Block *m)
{
	verify(self, m);
	self->next_from[m->from]++;
	self->sums[SUM_BLOCKS]++;
	self->sums[SUM_BYTES] += m->n;
	self->arrived[m->round % 2]++;
	/* A round cannot be complete before it begins: a peer's own block is one of them. */
	if (self->arrived[self->round % 2] < chares)
		return;
	self->arrived[self->round % 2] = 0;
	if (++self->round < rounds) {
		send_blocks(self);
		return;
	}
	free(self->next_from);
	self->next_from = NULL;
	CkContribute(self, self->sums, N_SUMS, CkReduction_sum_long, Main_cb_done(mainProxy));
}

/* ---- the main chare ------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"chares", &chares, 10, 1, 10000, "chares that talk to each other"},
		{"bytes", &bytes, 2000, 0, 1L << 30, "bytes of the largest block"},
		{"rounds", &rounds, 5, 1, 1000000, "times that all send to all"},
		{"seed", &seed, 1, 0, 1000000000, "sizes and contents of the blocks"},
	};

	if (!args_read("alltoall", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->started = CkWallTimer();
	Peer_ckNew(CkDims((int)chares));
}

static long all_bytes(void)
{
	long sum = 0;

	for (long round = 0; round < rounds; round++)
		for (long from = 0; from < chares; from++)
			for (long to = 0; to < chares; to++)
				sum += block_bytes(from, to, round);
	return sum;
}

void Main_on_done(Main *self, int n, const long *sums)
{
	double took = CkWallTimer() - self->started;
	bool right = sums[SUM_BLOCKS] == rounds * chares * chares && sums[SUM_BYTES] == all_bytes();

	(void)n;
	CkPrintf("alltoall: %ld chares on %d PEs, %ld rounds, %ld blocks, %ld bytes in %.1f ms: %s\n",
		 chares, CkNumPes(), rounds, sums[SUM_BLOCKS], sums[SUM_BYTES], took * 1e3,
		 right ? "checked" : "WRONG");
	CkExit(right ? 0 : 1);
}

#include "alltoall.def.h"
