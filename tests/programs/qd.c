/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qd: cascades of calls with a fan-out that follows from a seed, so that the total is known. When
 * quiescence is reported every call must have been counted. Rounds:
 *	0 a cascade
 *	1 the same while several PEs ask at once
 *	2 a chain of calls that waits for timers in which other calls are made
 *	3 puts through channels, which only quiescence waits for
 *	4 nothing at all
 */
#include "check.h"

#include <stdlib.h>

#include "csd.h"
#include "qd.decl.h"

enum { ROUNDS = 5, DEPTH = 9, ROOTS = 8, ASKERS = 4, TICKS = 5, BYTES = 100000 };

struct Main { int round, n_quiet, n_expected; long total; };
struct Node {
	long n_calls, n_puts;
	int timer_left;
	double *in, *out;
	CkDirectHandle from, to;
};

/* ---- the cascade ------------------------------------------------------------------------ */

static int fan_out(uint64_t seed) { return (int)(check_mix(seed) % 4); }
static uint64_t child(uint64_t seed, int i) { return check_mix(seed + 17 + (uint64_t)i); }

static long serial(uint64_t seed, int depth)
{
	long n = 1;

	for (int i = 0; depth && i < fan_out(seed); i++)
		n += serial(child(seed, i), depth - 1);
	return n;
}

void Node_on_grow(Node *self, uint64_t seed, int depth)
{
	self->n_calls++;
	for (int i = 0; depth && i < fan_out(seed); i++)
		Node_grow(Node_at(nodes, (int)(child(seed, i) % (unsigned)CkNumPes())),
			  child(seed, i), depth - 1);
}

void Node_on_watch(Node *self, uint64_t seed, int n)
{
	for (int i = 0; i < n; i++)
		CkStartQD(Main_cb_quietToo(mainProxy));
	Node_on_grow(self, seed, DEPTH);
}

/* ---- timers ------------------------------------------------------------------------------- */

static void rang(void *arg)
{
	Node *self = arg;

	self->timer_left--;
	Node_grow(Node_at(nodes, CkNumPes() - 1), 5, 3);
}

/* The call to oneself keeps the job from being quiet until the last timer. */
void Node_on_tick(Node *self, int left)
{
	if (left == TICKS) {
		self->timer_left = TICKS;
		for (int i = 0; i < TICKS; i++)
			CcdCallFnAfter(rang, self, i);
	}
	if (self->timer_left)
		Node_tick(Node_thisElement(self), 0);
}

/* ---- channels ------------------------------------------------------------------------------ */

static void put_arrived(void *arg)
{
	Node *self = arg;

	CHECK(self->in[BYTES / 8 - 1] == 1);
	self->n_puts++;
}

void Node_on_connect(Node *self)
{
	int next = (CkMyPe() + 1) % CkNumPes();

	self->in = malloc(BYTES);
	CHECK(self->in);
	self->from = CkDirect_createHandle(self->in, BYTES, 0x7ff8123412341234u, put_arrived, self);
	Node_channel(Node_at(nodes, next), self->from);
}

void Node_on_channel(Node *self, CkDirectHandle h)
{
	self->to = h;
	CkDirect_assocLocalBuffer(&self->to, self->out, BYTES);
	CkDirect_put(&self->to);
}

/* All is quiet: no put is on its way. */
static void disconnect(Node *self)
{
	CkDirect_destroyHandle(&self->to);
	CkDirect_destroyHandle(&self->from);
	free(self->in);
	free(self->out);
	self->in = self->out = NULL;
}

/* ---- rounds --------------------------------------------------------------------------------- */

/* A neighbour's channel may come before our own call of connect. */
void Node_on_new(Node *self)
{
	self->out = malloc(BYTES);
	CHECK(self->out);
	for (int i = 0; i < BYTES / 8; i++)
		self->out[i] = 1;
}

void Node_on_count(Node *self)
{
	long v[2] = { self->n_calls, self->n_puts };

	self->n_calls = self->n_puts = 0;
	if (self->in)
		disconnect(self);
	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

static void roots(Main *self, int askers)
{
	for (uint64_t i = 0; i < ROOTS; i++) {
		CProxyElement_Node e = Node_at(nodes, (int)i % CkNumPes());

		Node_watch(e, i + 1, (int)i < askers ? 1 : 0);
		self->total += serial(i + 1, DEPTH);
	}
	self->n_expected += askers;
}

static void start(Main *self)
{
	self->total = self->n_quiet = 0;
	self->n_expected = 1;
	switch (self->round) {
	case 0:
		roots(self, 0);
		break;
	case 1:
		roots(self, ASKERS);
		break;
	case 2:
		Node_tick_all(nodes, TICKS);
		self->total = serial(5, 3) * TICKS * CkNumPes();
		break;
	case 3:
		Node_connect_all(nodes);
		break;
	}
	CkStartQD(Main_cb_quiet(mainProxy));
}

/* All who asked are answered, before or after others: only then count. */
static void answered(Main *self)
{
	if (++self->n_quiet == self->n_expected)
		Node_count_all(nodes);
}

void Main_on_quiet(Main *self) { answered(self); }

void Main_on_quietToo(Main *self)
{
	CHECK_EQ(self->round, 1);
	answered(self);
}

void Main_on_counted(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 2);
	CHECK_EQ(v[0], self->total);
	CHECK_EQ(v[1], self->round == 3 ? CkNumPes() : 0);
	if (++self->round < ROUNDS) {
		start(self);
		return;
	}
	CkPrintf("qd: %d rounds on %d PEs\n", ROUNDS, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	nodes = Node_ckNew(CkDims(CkNumPes()));
	start(self);
}

#include "qd.def.h"
