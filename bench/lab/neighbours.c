/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbours: the time of an iteration in which each of 32 chares sends a message to its k nearest
 * ones and waits for theirs. They form a ring that is laid over the PEs in blocks. Most of them live on the
 * same PE, as in a stencil. It is Charm++'s kNeighbor.
 *
 *	ckrun -n 2 build/bench/lab/neighbours              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/lab/neighbours      between two PEs of one node (threads)
 *
 * Options: bench.h's, --chares n (more than 16; default 32), and --smoke.
 * Prints `neighbours-kK-PLACE bytes microseconds us` for K = 2, 4, 8, 16 and PLACE = nodes or
 * threads: medians of the time of one iteration of all.
 * neighbours_mpi.c does the same with MPI.
 *
 * Every message is written afresh by its sender and read by its receiver. No barrier stands
 * between iterations: a chare may be one ahead of its neighbours, not two.
 */
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "neighbours.decl.h"

static const int KS[] = { 2, 4, 8, 16 };
enum { N_KS = sizeof KS / sizeof KS[0], K_MOST = 16 };

/* A series' kind is its K. */
struct Main {
	struct plan_options opt;
	struct plan *plan;
	double t0;
};

struct Node {
	struct bench_payload payload;
	char *area;
	int k;
	long iterations, iteration;
	bool going;
	int n_in[2]; /* of this iteration and the next, by the last bit of its number */
};

/* ---- one chare ----------------------------------------------------------------------------- */

static void send_ghosts(Node *self)
{
	int me = Node_thisIndex(self);
	size_t bytes = bench_area_bytes(self->payload.bytes);

	if (touch)
		bench_refresh(&self->payload, (uint64_t)self->iteration + 1);
	for (int d = 1; d <= self->k / 2; d++) {
		int left = (me + n_nodes - d) % n_nodes, right = (me + d) % n_nodes;

		Node_ghost(Node_at(nodes, left), self->iteration, bytes, self->area);
		Node_ghost(Node_at(nodes, right), self->iteration, bytes, self->area);
	}
}

/* Ghosts of the next iteration may have come before the last of this one. */
static void go_on(Node *self)
{
	while (self->n_in[self->iteration & 1] == self->k) {
		self->n_in[self->iteration & 1] = 0;
		if (++self->iteration == self->iterations) {
			self->going = false;
			CkContributeBarrier(self, Main_cb_finished(mainProxy));
			return;
		}
		send_ghosts(self);
	}
}

void Node_on_prepare(Node *self, int k, size_t bytes, long iterations)
{
	self->k = k;
	self->iterations = iterations;
	self->iteration = 0;
	if (self->payload.bytes != bytes) {
		free(self->area);
		self->area = bench_alloc(bench_area_bytes(bytes));
		bench_payload_init(&self->payload, self->area, bytes);
	}
	CkContributeBarrier(self, Main_cb_prepared(mainProxy));
}

void Node_on_go(Node *self)
{
	self->going = true;
	send_ghosts(self);
	go_on(self);
}

/* May come before `go` does, from a neighbour that has been told already. */
void Node_on_ghost(Node *self, long iteration, size_t n, const char *v)
{
	struct bench_payload in = self->payload;

	(void)n;
	in.words = (uint64_t *)(uintptr_t)(v + ((char *)in.words - self->area));
	if (iteration != self->iteration && iteration != self->iteration + 1)
		CkAbort("a ghost of iteration %ld came in iteration %ld", iteration, self->iteration);
	if (touch && !bench_arrived_whole(&in, (uint64_t)iteration + 1))
		CkAbort("a ghost of %zu bytes, iteration %ld, arrived torn", in.bytes, iteration);
	self->n_in[iteration & 1]++;
	if (self->going)
		go_on(self);
}

void Node_on_new(Node *self)
{
	(void)self;
}

/* ---- main ---------------------------------------------------------------------------------- */

static void next_run(Main *self)
{
	const struct series *s = plan_current(self->plan);

	Node_prepare_all(nodes, s->kind, s->parameter, s->count);
}

void Main_on_prepared(Main *self)
{
	self->t0 = bench_now_us();
	Node_go_all(nodes);
}

static void report(Main *self)
{
	for (int i = 0; i < self->plan->n; i++) {
		const struct series *s = &self->plan->series[i];

		CkPrintf("neighbours-k%d-%s %zu %.3f us\n", s->kind,
			 CkNumNodes() > 1 ? "nodes" : "threads", s->parameter,
			 plan_us(self->plan, s->kind, s->parameter));
	}
	free(self->plan);
	CkExit(0);
}

void Main_on_finished(Main *self)
{
	if (plan_record(self->plan, bench_now_us() - self->t0))
		next_run(self);
	else
		report(self);
}

static void make_plan(Main *self)
{
	self->plan = bench_alloc(sizeof *self->plan);
	plan_init(self->plan, &self->opt);
	for (int k = 0; k < N_KS; k++)
		for (int i = 0; i < self->opt.common.nsizes; i++)
			plan_add(self->plan, KS[k], self->opt.common.bytes[i]);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	static const size_t sizes[] = { 64, 512, 4096, 16384, 65536 };

	plan_options_init(&self->opt, sizes, sizeof sizes / sizeof sizes[0]);
	n_nodes = 32;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--chares") == 0) {
			i++;
			n_nodes = (int)bench_number(m->argv[0], "--chares", m->argv[i], K_MOST + 1,
						    100000);
		} else if (!plan_option(&self->opt, m->argc, m->argv, &i)) {
			CkError("neighbours: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	touch = self->opt.common.touch;
	make_plan(self);
	mainProxy = Main_thisProxy(self);
	nodes = Node_ckNew(CkDims(n_nodes));
	next_run(self);
}

#include "neighbours.def.h"
