/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weather SECONDS ROUNDS: elements that send each other all kinds of things, in rounds, while a
 * test spoils the network (tests/rig/weather.py). The main chare says "ready" before the first
 * round, and ends the job after so many seconds and rounds.
 *
 * In each round an element sends the next one on its ring small calls, a large one among them, an
 * expedited one, and a put. The calls must come in the order of the sends, and everything as it was
 * sent. The next round begins when all have all.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weather.decl.h"

enum { SMALL = 12, LARGE_AT = 5, LARGE_MOST = 40000, HALO = 700 };

#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de)

struct Main { double seconds, began; int least, rounds; };

struct Peer {
	int round;              /* what comes is of this one */
	bool sent;
	int n_small, n_large, n_urgent, n_halo;
	uint64_t *in, *out;     /* [HALO] */
	CkChannel *from, *to;
};

static int index_of(const Peer *self) { return Peer_thisIndex(self); }
static int next_of(int peer) { return (int)((peer + 1) % n_peers); }
static int before(int peer) { return (int)((peer + n_peers - 1) % n_peers); }

/* Word i of what an element sends in a round; halves are what is large, and what is put. Never the
 * out-of-band value. In odd rounds words are small, so that they can be squeezed. */
static uint64_t word(int peer, int round, int half, int i)
{
	uint64_t x = ((uint64_t)round * 2 + (uint64_t)half) << 40 | (uint64_t)peer << 20 | (uint64_t)i;

	x *= UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (x ^ x >> 32) >> (round % 2 ? 49 : 1);
}

/* Some are cut into pieces on their way, some are not. */
static int large_words(int peer, int round)
{
	return (int)(word(peer, round, 0, 0) % (round % 3 ? LARGE_MOST / 20 : LARGE_MOST));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK(m->argc == 3);
	self->seconds = atof(m->argv[1]);
	self->least = atoi(m->argv[2]);
	mainProxy = Main_thisProxy(self);
	n_peers = 2L * CkNumPes();
	peers = Peer_ckNew(CkDims((int)n_peers));
}

void Main_on_made(Main *self)
{
	CkPrintf("ready\n");
	fflush(stdout);
	self->began = CkWallTimer();
	Peer_round_all(peers, 0);
}

void Main_on_over(Main *self)
{
	if (++self->rounds < self->least || CkWallTimer() - self->began < self->seconds) {
		Peer_round_all(peers, self->rounds);
		return;
	}
	CkPrintf("weather: %d rounds: checked\n", self->rounds);
	CkExit(0);
}

void Peer_on_new(Peer *self)
{
	const size_t bytes = HALO * sizeof *self->in;

	self->in = CkDirect_alloc(bytes);
	self->out = CkDirect_alloc(bytes);
	self->from = Peer_halo_from_oob(self, Peer_at(peers, before(index_of(self))).ck, 0, self->in,
					bytes, OUT_OF_BAND);
	self->to = Peer_halo_to(self, Peer_at(peers, next_of(index_of(self))), 0, self->out, bytes);
	CkContributeBarrier(self, Main_cb_made(mainProxy));
}

static void end_round(Peer *self)
{
	if (!self->sent || self->n_small < SMALL || !self->n_large || !self->n_urgent || !self->n_halo)
		return;
	self->sent = false;
	self->n_small = self->n_large = self->n_urgent = self->n_halo = 0;
	self->round++;
	CkContributeBarrier(self, Main_cb_over(mainProxy));
}

static void send_large(const Peer *self, CProxyElement_Peer to)
{
	const int n = large_words(index_of(self), self->round);
	uint64_t *v = malloc((size_t)n * sizeof *v + 1);

	CHECK(v);
	for (int i = 0; i < n; i++)
		v[i] = word(index_of(self), self->round, 0, i);
	Peer_large(to, self->round, n, v);
	free(v);
}

void Peer_on_round(Peer *self, int round)
{
	const CProxyElement_Peer to = Peer_at(peers, next_of(index_of(self)));

	CHECK(round == self->round && !self->sent);
	for (int i = 0; i < HALO; i++)
		self->out[i] = word(index_of(self), round, 1, i);
	for (int i = 0; i < SMALL; i++) {
		if (i == LARGE_AT)
			send_large(self, to);
		Peer_small(to, round, i);
	}
	Peer_urgent(to, round);
	CkChannelPut(self->to);
	self->sent = true;
	end_round(self);
}

void Peer_on_small(Peer *self, int round, int number)
{
	CHECK(round == self->round && number == self->n_small);
	CHECK(self->n_large == (number >= LARGE_AT));
	self->n_small++;
	end_round(self);
}

void Peer_on_large(Peer *self, int round, int n, const uint64_t *v)
{
	const int peer = before(index_of(self));

	CHECK(round == self->round && self->n_small == LARGE_AT && !self->n_large);
	CHECK(n == large_words(peer, round));
	for (int i = 0; i < n; i++)
		CHECK(v[i] == word(peer, round, 0, i));
	self->n_large = 1;
	end_round(self);
}

void Peer_on_urgent(Peer *self, int round)
{
	CHECK(round == self->round && !self->n_urgent);
	self->n_urgent = 1;
	end_round(self);
}

void Peer_on_halo(Peer *self, int tag)
{
	CHECK(tag == 0 && !self->n_halo);
	for (int i = 0; i < HALO; i++)
		CHECK(self->in[i] == word(before(index_of(self)), self->round, 1, i));
	self->n_halo = 1;
	CkChannelReady(self->from);
	end_round(self);
}

#include "weather.def.h"
