/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kpings: k small calls one after the other, then one answer, for k from 1 to 10000. From a round
 * trip at k = 1 the time per call falls to what the busier of the two sides needs for one.
 * bench/mpi/kpings_mpi does the same with MPI_Send and MPI_Recv.
 *
 *	ckrun -n 2 build/bench/kpings              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/kpings      between two PEs of one node (threads)
 *
 * Options: --reps, and --smoke for one short run.
 * Prints `name k value unit`, medians; "threads" instead of "nodes" within a node:
 *	kpings-nodes       us   from before the first call until the answer has come
 *	kpings-each-nodes  ns   the same, divided by k
 *
 * Every call carries how many are still to come, which the receiver checks.
 *
 * Ancestor: Figures 8 and 9 of the ARMI thesis, chapter V: multiple consecutive pings before a
 * single pong, by threads and by message passing. ARMI collects calls into buffers of 4 to 2048;
 * we send each by itself.
 */
#include <stdlib.h>

#include "plan.h"
#include "kpings.decl.h"

struct Main {
	int unused;
};

struct Peer {
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

void Peer_on_ping(Peer *self, int left)
{
	if (self->left && left != self->left - 1)
		CkAbort("a call with %d to come after one with %d", left, self->left);
	self->left = left;
	if (left == 0)
		Peer_pong(Peer_at(peers, 0));
}

/* ---- element 0 --------------------------------------------------------------------------- */

static void send_row(Peer *self)
{
	CProxyElement_Peer to = Peer_at(peers, 1);

	for (int left = (int)plan_current(self->plan)->parameter; left-- > 0;)
		Peer_ping(to, left);
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

	for (int i = 0; i < N_K; i++) {
		double us = plan_us(self->plan, 0, (size_t)K[i]);

		CkPrintf("kpings-%s %d %.3f us\n", between, K[i], us);
		CkPrintf("kpings-each-%s %d %.1f ns\n", between, K[i], us * 1000 / K[i]);
	}
	free(self->plan);
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
	for (int i = 1; i < m->argc; i++) {
		if (!plan_option(&opt, m->argc, m->argv, &i)) {
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
	peers = Peer_ckNew(CkDims(2));
	Peer_start(Peer_at(peers, 0));
}

#include "kpings.def.h"
