/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_order: two sides fill buffers in device memory by a kernel, with other words in each
 * round, and put them into each other's, both at once. Behind each arrival a kernel is launched
 * that counts wrong words. Round k uses channel k % 8, of four sizes. A side puts for the next
 * round when one has come: it is never more than two ahead, and a channel is free long before.
 *
 *	device_order [ROUNDS [BYTES of all puts]]
 */
#include "check.h"

#include "../device/order_kernels.h"
#include "../device/order_ptx.h"
#include "ckdevice.h"
#include "device_driver.h"
#include "device_order.decl.h"

enum { CHANNELS = 8, THREADS = 256, BLOCKS_MOST = 128 };

struct Main {
	int unused;
};

/** What an arrival's function gets: two that are there together may run in either order. */
struct arrival {
	Side *side;
	int channel, round;
	bool there;
};

struct Side {
	int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
		      unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
		      void **params, void **more);
	int (*query)(void *stream);
	int (*to_host)(void *to, uint64_t from, size_t bytes, void *stream);
	int (*from_host)(uint64_t to, const void *from, size_t bytes, void *stream);
	void *fill, *check;
	void *puts, *checks;          /* streams: a check must not wait behind this side's own puts */
	void *from[CHANNELS], *into[CHANNELS], *wrong;
	CkDirectHandle in[CHANNELS], out[CHANNELS];
	struct arrival arrival[CHANNELS];
	int n_joined, came, put;
};

static size_t bytes_of(int channel)
{
	static const size_t sizes[] = { 8, 4096, 64 * 1024, 1024 * 1024 };

	return bytes ? (size_t)bytes : sizes[channel % 4];
}

/* ---- the driver ------------------------------------------------------------------------------ */

static void open_driver(Side *self)
{
	void *module = driver_module(order_ptx);

	driver_call("cuLaunchKernel", &self->launch);
	driver_call("cuStreamQuery", &self->query);
	driver_call("cuMemcpyDtoHAsync_v2", &self->to_host);
	driver_call("cuMemcpyHtoDAsync_v2", &self->from_host);
	self->fill = driver_kernel(module, "order_fill");
	self->check = driver_kernel(module, "order_check");
	self->puts = driver_stream(0);
	self->checks = driver_stream(0);
}

static void finish(const Side *self)
{
	while (self->query(self->checks))
		;
}

static void launch(const Side *self, void *stream, void *kernel, const void *at, int who, int round)
{
	const size_t words = bytes_of(round % CHANNELS) / 8, blocks = (words + THREADS - 1) / THREADS;
	struct order_words w = { (uintptr_t)at, words, (uint64_t)who << 60 | (uint64_t)round << 28,
				 (uintptr_t)self->wrong };
	void *params[] = { &w };

	CHECK(self->launch(kernel, blocks > BLOCKS_MOST ? BLOCKS_MOST : (unsigned)blocks, 1, 1, THREADS, 1,
			   1, 0, stream, params, NULL) == 0);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void put(Side *self)
{
	const int i = self->put % CHANNELS;

	launch(self, self->puts, self->fill, self->from[i], Side_thisIndex(self), self->put++);
	CkDirect_putStream(&self->out[i], self->puts);
}

/* Rounds in their order, also where small puts overtake large ones (device-staged). */
static void go_on(Side *self)
{
	struct arrival *next;

	while ((next = &self->arrival[self->came % CHANNELS])->there) {
		next->there = false;
		self->came++;
		if (self->put < rounds)
			put(self);
	}
}

static void came(void *data)
{
	struct arrival *a = data;
	Side *self = a->side;
	const int i = a->channel;
	long wrong = 0;

	launch(self, self->checks, self->check, self->into[i], !Side_thisIndex(self), a->round);
	a->round += CHANNELS;
	a->there = true;
	go_on(self);
	finish(self);
	CkDirect_ready(&self->in[i]);
	if (self->came < rounds)
		return;
	CHECK(self->to_host(&wrong, (uintptr_t)self->wrong, sizeof wrong, self->checks) == 0);
	finish(self);
	CkContribute(self, &wrong, 1, CkReduction_sum_long, Main_cb_done(mainProxy));
}

void Side_on_run(Side *self) { put(self); }

/* ---- joining --------------------------------------------------------------------------------- */

static void *device_memory(size_t n)
{
	return check_there(CkDirect_allocDevice(n), n);
}

void Side_on_new(Side *self)
{
	const long none = 0;

	self->wrong = device_memory(sizeof none);
	for (int i = 0; i < CHANNELS; i++) {
		self->from[i] = device_memory(bytes_of(i));
		self->into[i] = device_memory(bytes_of(i));
	}
	open_driver(self);
	CHECK(self->from_host((uintptr_t)self->wrong, &none, sizeof none, self->checks) == 0);
	finish(self);
	for (int i = 0; i < CHANNELS; i++) {
		self->arrival[i] = (struct arrival){ self, i, i, false };
		self->in[i] = CkDirect_createHandleDevice(self->into[i], bytes_of(i), came,
							  &self->arrival[i]);
	}
}

void Side_on_join(Side *self)
{
	for (int i = 0; i < CHANNELS; i++)
		Side_channel(Side_at(sides, !Side_thisIndex(self)), i, self->in[i]);
}

void Side_on_channel(Side *self, int i, CkDirectHandle h)
{
	int straight;

	self->out[i] = h;
	CkDirect_assocLocalDevice(&self->out[i], self->from[i], bytes_of(i));
	if (++self->n_joined < CHANNELS)
		return;
	straight = strcmp(CkDirect_path(&self->out[i]), "device-staged") != 0;
	CkContribute(self, &straight, 1, CkReduction_sum_int, Main_cb_bound(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	rounds = check_argument(m, 1, 100);
	bytes = check_argument(m, 2, 0);
	sides = Side_ckNew(CkDims(2));
	Side_join_all(sides);
}

void Main_on_bound(Main *self, int straight)
{
	(void)self;
	CkPrintf("device_order: %d of 2 sides put straight\n", straight);
	Side_run_all(sides);
}

void Main_on_done(Main *self, long wrong)
{
	(void)self;
	CkPrintf("device_order: %d puts each way, %ld wrong words\n", rounds, wrong);
	CkExit(wrong != 0);
}

#include "device_order.def.h"
