/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kpings: k small calls one after the other, then one answer, for k from 1 to 10000. From a round
 * trip at k = 1 the time per call falls to what the busier of the two sides needs for one.
 * bench/mpi/kpings_mpi does the same with MPI_Send and MPI_Recv.
 *
 *	ckrun -n 2 build/bench/kpings              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/kpings      between two PEs of one node (threads)
 *
 * Options: --reps, and --smoke for one short run. With --aggregate N the call is an [aggregate]
 * entry, and up to N calls travel together. --bare N, between threads, leaves the runtime out: N
 * numbers at a time in blocks that both sides share, which shows what memory and caches cost.
 * Prints `name k value unit`, medians; "threads" instead of "nodes" within a node, and with
 * --aggregate N "kpings-aN", with --bare N "kpings-bareN", instead of "kpings":
 *	kpings-nodes       us   from before the first call until the answer has come
 *	kpings-each-nodes  ns   the same, divided by k
 *
 * Every call says how many are still to come, and the receiver checks it.
 *
 * Ancestor: Figures 8 and 9 of the ARMI thesis, chapter V: multiple consecutive pings before a
 * single pong, by threads and by message passing. ARMI collects calls into buffers of 4 to 2048.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan.h"
#include "kpings.decl.h"

struct Main {
	int unused;
};

/* --bare: written by element 0 while it is not full, then read by element 1. */
enum { BARE_BLOCKS = 8, BARE_MOST = 4096 };
struct bare_block {
	_Alignas(64) atomic_int full;     /* how many */
	_Alignas(64) int calls[BARE_MOST];
};

struct Peer {
	struct bare_block *ring;
	/* Element 1: calls still to come in this row; 0 between two rows. */
	int left;
	/* Element 0. */
	struct plan *plan;
	long rows;
	double t0;
};

static const int K[] = { 1, 3, 10, 30, 100, 300, 1000, 3000, 10000 };
enum { N_K = sizeof K / sizeof K[0] };

/* ---- element 1 --------------------------------------------------------------------------- */

static void one_came(Peer *self, int left)
{
	if (self->left && left != self->left - 1)
		CkAbort("a call with %d to come after one with %d", left, self->left);
	self->left = left;
	if (left == 0)
		Peer_pong(Peer_at(peers, 0));
}

void Peer_on_ping(Peer *self, int left) { one_came(self, left); }
void Peer_on_gathered(Peer *self, int left) { one_came(self, left); }

/* Acquire pairs with the release of the other side, which has written, or read, what is in it. */
static void wait_until(struct bare_block *b, bool full)
{
	while ((atomic_load_explicit(&b->full, memory_order_acquire) != 0) != full)
		;
}

void Peer_on_read_bare(Peer *self, uint64_t ring, int k)
{
	struct bare_block *blocks = (struct bare_block *)(uintptr_t)ring;

	(void)self;
	for (int i = 0; k > 0; i = (i + 1) % BARE_BLOCKS) {
		struct bare_block *b = &blocks[i];

		wait_until(b, true);
		int n = atomic_load_explicit(&b->full, memory_order_relaxed);

		for (int j = 0; j < n; j++)
			if (b->calls[j] != --k)
				CkAbort("a number is wrong with %d to come", k);
		atomic_store_explicit(&b->full, 0, memory_order_release);
	}
	Peer_pong(Peer_at(peers, 0));
}

/* ---- element 0 --------------------------------------------------------------------------- */

static void write_bare(Peer *self, int k)
{
	Peer_read_bare(Peer_at(peers, 1), (uint64_t)(uintptr_t)self->ring, k);
	for (int i = 0; k > 0; i = (i + 1) % BARE_BLOCKS) {
		struct bare_block *b = &self->ring[i];
		int n = k < bare ? k : bare;

		wait_until(b, false);
		for (int j = 0; j < n; j++)
			b->calls[j] = --k;
		atomic_store_explicit(&b->full, n, memory_order_release);
	}
}

static void send_row(Peer *self)
{
	CProxyElement_Peer to = Peer_at(peers, 1);
	int left = (int)plan_current(self->plan)->parameter;

	if (bare) {
		write_bare(self, left);
	} else if (factor) {
		while (left-- > 0)
			Peer_gathered(to, left);
	} else {
		while (left-- > 0)
			Peer_ping(to, left);
	}
}

static void start_run(Peer *self)
{
	self->rows = plan_current(self->plan)->count;
	self->t0 = bench_now_us();
	send_row(self);
}

static void report(Peer *self)
{
	const char *between = CkNumNodes() > 1 ? "nodes" : "threads";
	char by[16] = "";

	if (factor || bare)
		snprintf(by, sizeof by, "-%s%d", bare ? "bare" : "a", bare ? bare : factor);
	for (int i = 0; i < N_K; i++) {
		double us = plan_us(self->plan, 0, (size_t)K[i]);

		CkPrintf("kpings%s-%s %d %.3f us\n", by, between, K[i], us);
		CkPrintf("kpings%s-each-%s %d %.2f ns\n", by, between, K[i], us * 1000 / K[i]);
	}
	free(self->plan);
	free(self->ring);
	CkExit(0);
}

void Peer_on_pong(Peer *self)
{
	if (--self->rows)
		send_row(self);
	else if (plan_record(self->plan, bench_now_us() - self->t0))
		start_run(self);
	else
		report(self);
}

void Peer_on_new(Peer *self)
{
	self->left = 0;
}

void Peer_on_start(Peer *self)
{
	self->ring = bench_alloc(BARE_BLOCKS * sizeof *self->ring);
	if (factor)
		CkSetAggregation(factor, 1 << 20);
	self->plan = bench_alloc(sizeof *self->plan);
	plan_init(self->plan, &opt);
	for (int i = 0; i < N_K; i++)
		plan_add(self->plan, 0, (size_t)K[i]);
	start_run(self);
}

/* ---- main -------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	plan_options_init(&opt, NULL, 0);
	factor = bare = 0;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--aggregate") == 0 && i + 1 < m->argc)
			factor = atoi(m->argv[++i]);
		else if (strcmp(m->argv[i], "--bare") == 0 && i + 1 < m->argc)
			bare = atoi(m->argv[++i]);
		else if (!plan_option(&opt, m->argc, m->argv, &i)) {
			CkError("kpings: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	if (CkNumPes() != 2) {
		CkError("kpings: needs 2 PEs: ckrun -n 2 [--ppn 2] kpings\n");
		CkExit(2);
		return;
	}
	if (bare < 0 || bare > BARE_MOST || (bare && CkNumNodes() > 1)) {
		CkError("kpings: --bare is for two PEs of one process, and 1 to %d\n", BARE_MOST);
		CkExit(2);
		return;
	}
	peers = Peer_ckNew(CkDims(2));
	Peer_start(Peer_at(peers, 0));
}

#include "kpings.def.h"
