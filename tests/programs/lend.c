/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lend: each PE calls entries of every PE, of Main and of a chare that ends, with nocopy arrays in
 * CkRdmaAlloc's memory, in a message, and in malloc's. An array that can be lent stays outside the
 * message that brings it. Its sender writes over it when all callbacks have come and never before, even
 * while threads and waiting calls still hold it. The program prints the number of arrays that were lent
 * between processes; lend.cases knows where there must be some.
 */
#include "check.h"

#include <stdlib.h>

#include "cth.h"
#include "lend.decl.h"

enum { N = 5000, K = 9, FEW = 100, ROUNDS = 3, CALLS = 3 };

struct Main { int n_next, n_gone, n_in, lent; };

struct Peer {
	int round;
	double *shared, *own;
	int *small;
	Block *block;
	int n_sent, n_freed, n_in, n_all, n_copied, lent;
};
struct Brief { int unused; };

static double value(int from, int round, int i) { return from * 1000 + round * 100000 + i; }

static void fill(double *v, int from, int round)
{
	for (int i = 0; i < N; i++)
		v[i] = value(from, round, i);
}

/* Something else than any round's values. */
static void spoil(Peer *self)
{
	fill(self->shared, -7, -7);
	fill(self->own, -7, -7);
	fill(self->block->v, -7, -7);
	for (int i = 0; i < K; i++)
		self->small[i] = -7;
}

static void check_arrays(int from, int round, int n, const double *v, int k, const int *w)
{
	CHECK((n == N || n == FEW) && k == K);
	for (int i = 0; i < n; i++)
		CHECK(v[i] == value(from, round, i));
	for (int i = 0; i < k; i++)
		CHECK_EQ(w[i], from + i);
}

/* A copy lies in the message, and both arrays one behind the other. */
static bool was_lent(int from, int n, const double *v, const int *w)
{
	return CkNodeOf(from) != CkMyNode() &&
	       (uintptr_t)w - (uintptr_t)v > (size_t)n * sizeof *v + 64;
}

/* ---- sending -------------------------------------------------------------------------------- */

static void send_to(Peer *self, int pe, int n, const double *v)
{
	CProxyElement_Peer to = Peer_at(peers, pe);
	int me = CkMyPe(), r = self->round;
	CkNcpyBuffer a = CkSendBufferCb(v, Peer_cb_freed(Peer_at(peers, me)));
	CkNcpyBuffer b = CkSendBufferCb(self->small, Peer_cb_freed(Peer_at(peers, me)));

	Peer_take(to, me, r, n, a, K, b);
	Peer_holds(to, me, r, n, a, K, b);
	Peer_waits(to, me, r, n, a, K, b);
	self->n_sent += 2 * CALLS;
}

static void send_to_others(Peer *self, int n, const double *v)
{
	int me = CkMyPe();
	CProxyElement_Peer back = Peer_at(peers, me);
	CProxy_Brief brief = Brief_ckNew((me + 1) % CkNumPes());

	for (int pe = 0; pe < CkNumPes(); pe++)
		send_to(self, pe, n, v);
	Main_take(mainProxy, me, self->round, n, CkSendBufferCb(v, Peer_cb_freed(back)), K,
		  CkSendBufferCb(self->small, Peer_cb_freed(back)));
	Brief_never(brief, n, CkSendBufferCb(v, Peer_cb_freed(back)));
	Brief_end(brief);
	self->n_sent += 3;
}

/* Copied before the calls have returned. */
static void send_copies(Peer *self)
{
	CkIndex list[2] = {Peer_index(0), Peer_index(CkNumPes() - 1)};
	CProxySection_Peer section = Peer_ckSection(peers, list, CkNumPes() > 1 ? 2 : 1);
	CkCallback cb = Peer_cb_copied(Peer_at(peers, CkMyPe()));

	fill(self->shared, 0, self->round);
	Peer_all_all(peers, self->round, N, CkSendBufferCb(self->shared, cb));
	Peer_all_section(section, self->round, N, CkSendBufferCb(self->shared, cb));
	fill(self->shared, -7, -7);
}

void Peer_on_start(Peer *self)
{
	int me = CkMyPe();

	send_copies(self);
	fill(self->shared, me, self->round);
	fill(self->own, me, self->round);
	fill(self->block->v, me, self->round);
	for (int i = 0; i < K; i++)
		self->small[i] = me + i;
	send_to_others(self, N, self->shared);
	send_to_others(self, FEW, self->shared);
	send_to_others(self, N, self->own);
	send_to_others(self, N, self->block->v);
	self->round++; /* frees the calls that wait, those that are here already */
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int n_of_each(void)
{
	return 4 * CALLS * CkNumPes();
}

static void done(Peer *self)
{
	int in_section = CkMyPe() == 0 || CkMyPe() == CkNumPes() - 1;
	const int sums[3] = {self->n_sent, self->n_freed, self->lent};

	if (self->n_in < n_of_each() || self->n_freed < self->n_sent || self->n_copied < 2 ||
	    self->n_all < CkNumPes() * (1 + in_section))
		return;
	CHECK(self->n_in == n_of_each() && self->n_freed == self->n_sent && self->n_copied == 2);
	self->n_in = self->n_freed = self->n_sent = self->n_copied = self->n_all = self->lent = 0;
	CkContribute(self, sums, 3, CkReduction_sum_int, Main_cb_next(mainProxy));
}

static void took(Peer *self, int from, int round, int n, const double *v, int k, const int *w)
{
	check_arrays(from, round, n, v, k, w);
	self->lent += was_lent(from, n, v, w);
	self->n_in++;
	done(self);
}

void Peer_on_take(Peer *self, int from, int round, int n, const double *v, int k, const int *w)
{
	took(self, from, round, n, v, k, w);
}

void Peer_on_holds(Peer *self, int from, int round, int n, const double *v, int k, const int *w)
{
	for (int i = 0; i < 5; i++) {
		check_arrays(from, round, n, v, k, w);
		CthYield();
	}
	took(self, from, round, n, v, k, w);
}

void Peer_on_waits(Peer *self, int from, int round, int n, const double *v, int k, const int *w)
{
	took(self, from, round, n, v, k, w);
}

void Peer_on_all(Peer *self, int round, int n, const double *v)
{
	CHECK_EQ(n, N);
	for (int i = 0; i < N; i++)
		CHECK(v[i] == value(0, round, i));
	self->n_all++;
	done(self);
}

void Peer_on_copied(Peer *self)
{
	self->n_copied++;
	done(self);
}

/* The memory is ours again when each call has had its handler, or been dropped. */
void Peer_on_freed(Peer *self)
{
	CHECK(self->n_freed < self->n_sent);
	if (++self->n_freed == self->n_sent)
		spoil(self);
	done(self);
}

void Brief_on_new(Brief *self) { (void)self; }
void Brief_on_end(Brief *self) { CkDestroy(self); }

void Brief_on_never(Brief *self, int n, const double *v)
{
	(void)self, (void)n, (void)v;
	CHECK(false);
}

/* ---- main -------------------------------------------------------------------------------------- */

void Peer_on_drops(Peer *self, CkCallback cb)
{
	CkRdmaFree(self->shared);
	CkRdmaFree(NULL);
	CkFreeMsg(self->block);
	free(self->own);
	free(self->small);
	CkCallbackSend(cb, NULL, 0);
}

void Peer_on_new(Peer *self)
{
	self->shared = check_there(CkRdmaAlloc(N * sizeof(double)), N * sizeof(double));
	CHECK((uintptr_t)self->shared % 64 == 0);
	self->own = check_there(malloc(N * sizeof(double)), N * sizeof(double));
	self->small = check_there(CkRdmaAlloc(K * sizeof(int)), K * sizeof(int));
	self->block = Block_alloc(N);
	CkRdmaFree(self->small);
	self->small = malloc(K * sizeof(int));
}

void Main_on_take(Main *self, int from, int round, int n, const double *v, int k, const int *w)
{
	check_arrays(from, round, n, v, k, w);
	self->n_in++;
}

void Main_on_next(Main *self, int sent, int freed, int lent)
{
	CHECK_EQ(sent, freed);
	self->lent += lent;
	if (++self->n_next < ROUNDS)
		Peer_start_all(peers);
	else
		Peer_drops_all(peers, Main_cb_gone(mainProxy));
}

void Main_on_gone(Main *self)
{
	if (++self->n_gone < CkNumPes())
		return;
	CHECK_EQ(self->n_in, 4 * ROUNDS * CkNumPes());
	CkPrintf("lend: %d arrays lent between processes on %d PEs\n", self->lent, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	peers = Peer_ckNew();
	Peer_start_all(peers);
}

#include "lend.def.h"
