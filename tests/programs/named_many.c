/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_many: element 0 puts one buffer into all elements (CkChannelPutAll), each of them puts a function of it into a
 * reducing channel of element 0, and the sums, bit by bit those of a loop in index order, begin the next step. All move at
 * random. `named_many [seed [steps [percent of moves [words [elements]]]]]`.
 */
#include "check.h"
#include "ckchannel.h"
#include "ckdirect.h"

#include <stdlib.h>

#include "named_many.decl.h"

struct Main {
	int unused;
};

struct Node {
	uint64_t random;
	int step;
	double *data;             /* element 0: what it puts; then [words] of what has come */
	double *part;
	double *sum;              /* element 0 */
	CkChannel **to;           /* element 0: [n_nodes] */
	CkChannel *from, *up;
	CkReducing *reduced;      /* element 0 */
};

enum { TAG = 3 };

static bool is_root(const Node *self) { return Node_thisIndex(self) == 0; }
static size_t bytes(void) { return (size_t)words * sizeof(double); }

/* In floating point, so the order of the sum shows. */
static double share(double x, int node) { return x * 0.7 / (node + 1.3) + 1.0 / (node + 0.1); }

static double sum_of(double x)
{
	double sum = share(x, 0);

	for (int i = 1; i < n_nodes; i++)
		sum += share(x, i);
	return sum;
}

static double first(int word) { return 1.0 + word * 0.001; }

static void wander(Node *self)
{
	self->random = check_mix(self->random);
	if ((int)(self->random % 100) < percent)
		CkMigrateMe(self, (int)((self->random >> 8) % (uint64_t)CkNumPes()));
}

void Node_on_new(Node *self)
{
	self->random = check_mix(seed + (uint64_t)Node_thisIndex(self));
	self->data = CkDirect_alloc(bytes());
	self->part = malloc(bytes());
	if (!is_root(self))
		return;
	self->sum = malloc(bytes());
	self->to = calloc((size_t)n_nodes, sizeof(CkChannel *));
}

void Node_pup(pup_er p, Node *self)
{
	pup_bytes(p, self, offsetof(Node, data));
	self->data = pup_alloc_direct(p, self->data, bytes());
	self->part = pup_alloc(p, self->part, bytes());
	pup_doubles(p, self->data, (size_t)words);
	pup_doubles(p, self->part, (size_t)words);
	pup_channel(p, &self->up, self->part);
	if (!is_root(self)) {
		pup_channel(p, &self->from, self->data);
		return;
	}
	self->sum = pup_alloc(p, self->sum, bytes());
	pup_doubles(p, self->sum, (size_t)words);
	self->to = pup_alloc(p, self->to, (size_t)n_nodes * sizeof(CkChannel *));
	for (int i = 1; i < n_nodes; i++)
		pup_channel(p, &self->to[i], self->data);
	pup_reducing(p, &self->reduced, self->sum);
}

/* Element 0 has the data already. */
static void compute(Node *self)
{
	for (int w = 0; w < words; w++)
		self->part[w] = share(self->data[w], Node_thisIndex(self));
	CkChannelPut(self->up);
	wander(self);
}

static void put_to_all(Node *self)
{
	CkChannelPutAll(self->to + 1, n_nodes - 1);
	compute(self);
}

static void make_root(Node *self)
{
	CkElement *all = malloc((size_t)n_nodes * sizeof *all);

	/* In another order than that of the indices. */
	for (int i = 0; i < n_nodes; i++)
		all[i] = Node_at(nodes, (i + n_nodes / 2) % n_nodes).ck;
	self->reduced = Node_up_reduced(self, all, n_nodes, TAG, self->sum, bytes(), CkReduction_sum_double);
	free(all);
	for (int w = 0; w < words; w++)
		self->data[w] = first(w);
	for (int i = 1; i < n_nodes; i++)
		self->to[i] = Node_down_to(self, Node_at(nodes, i), i, self->data, bytes());
}

void Node_on_begin(Node *self)
{
	const int me = Node_thisIndex(self);

	if (is_root(self))
		make_root(self);
	else
		self->from = Node_down_from(self, Node_at(nodes, 0), me, self->data, bytes());
	self->up = Node_up_to(self, Node_at(nodes, 0), TAG, self->part, bytes());
	if (is_root(self))
		put_to_all(self);
}

void Node_on_down(Node *self, int tag)
{
	CHECK_EQ(tag, Node_thisIndex(self));
	CkChannelReady(self->from);
	self->step++;
	compute(self);
}

void Node_on_up(Node *self, int tag)
{
	CHECK_EQ(tag, TAG);
	for (int w = 0; w < words; w++) {
		const double should = sum_of(self->data[w]);

		CHECK(memcmp(&self->sum[w], &should, sizeof should) == 0);
		self->data[w] = self->sum[w];
	}
	if (++self->step == steps) {
		CkReducingDestroy(self->reduced);
		self->reduced = NULL;
		Main_done(mainProxy, self->step, self->data[0]);
		return;
	}
	CkReducingReady(self->reduced);
	put_to_all(self);
}

/* It no longer wants to move, which would pack what is freed here. */
void Node_on_end(Node *self)
{
	CkMigrateMe(self, CkMyPe());
	CkChannelDestroy(self->up);
	CkChannelDestroy(self->from);
	for (int i = 1; is_root(self) && i < n_nodes; i++)
		CkChannelDestroy(self->to[i]);
	self->from = self->up = NULL;
	CkDirect_free(self->data);
	free(self->part);
	free(self->sum);
	free(self->to);
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_over(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	seed = check_run_seed(m);
	steps = check_argument(m, 2, 30);
	percent = check_argument(m, 3, 30);
	words = check_argument(m, 4, 6000);
	n_nodes = check_argument(m, 5, 6);
	mainProxy = Main_thisProxy(self);
	CkPrintf("named_many: seed %llu\n", (unsigned long long)seed);
	nodes = Node_ckNew(CkDims1(n_nodes));
	Node_begin_all(nodes);
}

void Main_on_done(Main *self, int n, double last)
{
	double x = first(0);

	for (int i = 0; i < n; i++)
		x = sum_of(x);
	CHECK(memcmp(&x, &last, sizeof x) == 0);
	Node_end_all(nodes);
}

void Main_on_over(Main *self)
{
	CkPrintf("named_many: right\n");
	CkExit(0);
}

#include "named_many.def.h"
