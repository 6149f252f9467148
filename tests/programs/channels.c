/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels: elements in a ring exchange data with both neighbours through channels of several
 * sizes. A receiver says that it is ready in one step or in two (mark at once, poll in the next
 * phase); a channel has a pattern at its end or a sequence word, and a C function or a callback on
 * arrival. Each sender puts from two buffers in turn. Every iteration checks all data. A barrier
 * between iterations tells the senders that the receivers are ready.
 *
 *	channels [iterations [elements [malloc]]]
 */
#include "check.h"

#include <stdlib.h>

#include "channels.decl.h"

enum { LEFT, RIGHT, SIDES };
enum { PLAIN, TWO_STEPS, SEQUENCE, CALLBACK, KINDS };
static const size_t sizes[] = { 8, 136, 4096, 100000 };
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_CHANNELS = SIDES * KINDS * N_SIZES };
static const uint64_t oob = 0x7ff81234abcd0001u; /* a NaN, which must not matter */

struct Main { int unused; };

struct channel {
	Ring *owner;
	int side, kind, size;
	uint64_t *buf;
	CkDirectHandle h;
};
struct Ring {
	struct channel in[SIDES][KINDS][N_SIZES];
	CkDirectHandle out[SIDES][KINDS][N_SIZES];
	uint64_t *send[2][KINDS][N_SIZES];    /* used in turn */
	int n_bound, n_in, n_put, n_callbacks, iter;
	long arrivals;
	int paths[3];
};

#define FOR_ALL(k, s)                           \
	for (int k = 0; k < KINDS; k++)         \
		for (int s = 0; s < N_SIZES; s++)

static size_t words(int s) { return sizes[s] / 8; }

/* What element e puts in iteration `iter` at word w. */
static uint64_t word(int e, int k, int s, int iter, size_t w)
{
	return check_mix((uint64_t)(e * 64 + k * 8 + s) << 32 | (uint64_t)iter) + w;
}

/* ---- connecting ------------------------------------------------------------------------- */

static uint64_t *new_buffer(size_t bytes)
{
	return check_there(mallocRecv ? malloc(bytes) : CkDirect_alloc(bytes), bytes);
}

static void in(struct channel *c);

static void arrived(void *data) { in(data); }

static void create(Ring *self, int side, int k, int s)
{
	struct channel *c = &self->in[side][k][s];
	CkCallback cb = Ring_cb_arrivedByCallback(Ring_thisElement(self));

	*c = (struct channel){ .owner = self, .side = side, .kind = k, .size = s,
			       .buf = new_buffer(sizes[s]) };
	if (k == SEQUENCE)
		c->h = CkDirect_createHandleSeq(c->buf, sizes[s], arrived, c);
	else if (k == CALLBACK)
		c->h = CkDirect_createHandleCb(c->buf, sizes[s], oob, cb);
	else
		c->h = CkDirect_createHandle(c->buf, sizes[s], oob, arrived, c);
}

static CProxyElement_Ring neighbour(Ring *self, int side)
{
	int i = Ring_thisIndex(self) + (side == RIGHT ? 1 : elements - 1);

	return Ring_at(ring, i % elements);
}

/* A neighbour's channels may come before our own call of connect. */
void Ring_on_new(Ring *self)
{
	for (int turn = 0; turn < 2; turn++) {
		FOR_ALL(k, s) {
			self->send[turn][k][s] = malloc(sizes[s]);
			CHECK(self->send[turn][k][s]);
		}
	}
}

void Ring_on_connect(Ring *self)
{
	FOR_ALL(k, s) {
		for (int side = 0; side < SIDES; side++) {
			create(self, side, k, s);
			Ring_channel(neighbour(self, side), side != LEFT, k, s,
				     self->in[side][k][s].h);
		}
	}
}

/* One send buffer serves both neighbours. `side` is ours, towards the receiver. */
void Ring_on_channel(Ring *self, int side, int k, int s, CkDirectHandle h)
{
	CkDirectHandle *out = &self->out[side == LEFT ? RIGHT : LEFT][k][s];
	const char *path;

	*out = h;
	CHECK(strcmp(CkDirect_path(out), "unbound") == 0);
	CkDirect_assocLocalBuffer(out, self->send[0][k][s], sizes[s]);
	path = CkDirect_path(out);
	self->paths[path[0] == 'r' ? 1 : strcmp(path, "message") == 0 ? 2 : 0]++;
	if (++self->n_bound == N_CHANNELS)
		CkContribute(self, self->paths, 3, CkReduction_sum_int,
			     Main_cb_connected(mainProxy));
}

/* ---- iterations ---------------------------------------------------------------------------- */

static void put_all(Ring *self)
{
	int me = Ring_thisIndex(self), turn = self->iter % 2;

	FOR_ALL(k, s) {
		uint64_t *data = self->send[turn][k][s];

		for (size_t w = 0; w < words(s); w++)
			data[w] = word(me, k, s, self->iter, w);
		for (int side = 0; side < SIDES; side++) {
			if (self->iter > 0)
				CkDirect_rebind(&self->out[side][k][s], data, sizes[s]);
			CkDirect_putCb(&self->out[side][k][s],
				       Ring_cb_putDone(Ring_thisElement(self)));
		}
	}
}

/* The iteration is over here when all data has come and the send buffers are free again. */
static void next(Ring *self)
{
	if (self->n_in < N_CHANNELS || self->n_put < N_CHANNELS)
		return;
	self->n_in = self->n_put = 0;
	self->iter++;
	if (self->iter < iterations)
		CkContributeBarrier(self, Ring_cb_step_all(ring));
	else
		CkContribute(self, &self->arrivals, 1, CkReduction_sum_long,
			     Main_cb_done(mainProxy));
}

static void check_data(const struct channel *c)
{
	int from = (Ring_thisIndex(c->owner) + (c->side == RIGHT ? 1 : elements - 1)) % elements;

	for (size_t w = 0; w < words(c->size); w++)
		CHECK(c->buf[w] == word(from, c->kind, c->size, c->owner->iter, w));
}

static void in(struct channel *c)
{
	Ring *self = c->owner;

	check_data(c);
	if (c->kind == TWO_STEPS)
		CkDirect_readyMark(&c->h);
	else
		CkDirect_ready(&c->h);
	self->arrivals++;
	self->n_in++;
	next(self);
}

/* A callback does not say which channel it was: when all have come, look at all. */
void Ring_on_arrivedByCallback(Ring *self)
{
	if (++self->n_callbacks < SIDES * N_SIZES)
		return;
	self->n_callbacks = 0;
	for (int side = 0; side < SIDES; side++)
		for (int s = 0; s < N_SIZES; s++)
			in(&self->in[side][CALLBACK][s]);
}

void Ring_on_putDone(Ring *self)
{
	self->n_put++;
	next(self);
}

/* Polling starts in the next phase, perhaps after the data has come. */
static void poll_two_steps(Ring *self)
{
	for (int side = 0; side < SIDES; side++)
		for (int s = 0; s < N_SIZES; s++)
			CkDirect_readyPollQ(&self->in[side][TWO_STEPS][s].h);
}

void Ring_on_run(Ring *self)
{
	put_all(self);
}

void Ring_on_step(Ring *self)
{
	if (Ring_thisIndex(self) % 2)
		poll_two_steps(self);
	put_all(self);
	if (Ring_thisIndex(self) % 2 == 0)
		poll_two_steps(self);
}

void Ring_on_sweep(Ring *self)
{
	FOR_ALL(k, s) {
		for (int side = 0; side < SIDES; side++) {
			CkDirect_destroyHandle(&self->out[side][k][s]);
			CkDirect_destroyHandle(&self->in[side][k][s].h);
			if (mallocRecv)
				free(self->in[side][k][s].buf);
			else
				CkDirect_free(self->in[side][k][s].buf);
		}
		free(self->send[0][k][s]);
		free(self->send[1][k][s]);
	}
	CkContributeBarrier(self, CkCallbackExit());
}

/* ---- main ----------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	iterations = m->argc > 1 ? atoi(m->argv[1]) : 10;
	elements = m->argc > 2 ? atoi(m->argv[2]) : 4;
	mallocRecv = m->argc > 3 && strcmp(m->argv[3], "malloc") == 0;
	ring = Ring_ckNew(CkDims(elements));
	Ring_connect_all(ring);
}

void Main_on_connected(Main *self, int memory, int rma, int message)
{
	(void)self;
	CHECK_EQ(memory + rma + message, N_CHANNELS * elements);
	CkPrintf("channels: %d memory, %d rma, %d message\n", memory, rma, message);
	Ring_run_all(ring);
}

void Main_on_done(Main *self, long arrivals)
{
	(void)self;
	CHECK_EQ(arrivals, (long)N_CHANNELS * elements * iterations);
	Ring_sweep_all(ring);
}

#include "channels.def.h"
