/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_speed: ratios of times on one device, of one run, each with the most that it may be: puts
 * between buffers in its memory, both ends on one PE, and what the driver alone needs. For make
 * check-device; with a driver that has no device the numbers say nothing.
 *
 *	device_speed [repeats]
 */
#include "check.h"

#include <stdatomic.h>
#include <unistd.h>

#include "../device/order_kernels.h"
#include "../device/order_ptx.h"
#include "ckdevice.h"
#include "device_driver.h"
#include "device_speed.decl.h"

enum { SIZES = 4, MANY = 16, HOPS = 60, REPEATS_MOST = 1000 };

struct channel {
	struct Main *main;
	void *from, *into;
	CkDirectHandle in, out;
};

struct Main {
	int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
		      unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
		      void **params, void **more);
	int (*query)(void *stream);
	int (*write)(void *stream, uint64_t word, uint64_t value, unsigned flags);
	int (*wait)(void *stream, uint64_t word, uint64_t value, unsigned flags);
	int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
	void *kernel, *stream, *other;
	_Atomic uint64_t *word;       /* in host memory, */
	uint64_t device_word;         /* and for the device */
	uint64_t written;
	struct channel size[SIZES], many[MANY], hop[2];
	int repeats, section, i, n_came;
	double write_us, launch_us, put_us[SIZES];
	double began, sample[REPEATS_MOST], cpu[REPEATS_MOST];
};

static const size_t sizes[SIZES] = { 8, 64 * 1024, 1024 * 1024, 64 * 1024 * 1024 };

/* ---- the driver ------------------------------------------------------------------------------ */

static void open_word(Main *self)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	int (*pin)(void *p, size_t bytes, unsigned flags);
	int (*pointer)(void *device_p, void *p, unsigned flags);
	void *at = aligned_alloc(page, page);

	driver_call("cuMemHostRegister_v2", &pin);
	driver_call("cuMemHostGetDevicePointer_v2", &pointer);
	CHECK(at && pin(at, page, 3) == 0);
	CHECK(pointer(&self->device_word, at, 0) == 0);
	self->word = at;
	*self->word = 0;
}

static void open_driver(Main *self)
{
	driver_call("cuLaunchKernel", &self->launch);
	driver_call("cuStreamQuery", &self->query);
	driver_call("cuStreamWriteValue64_v2", &self->write);
	driver_call("cuStreamWaitValue64_v2", &self->wait);
	driver_call("cuMemcpyDtoDAsync_v2", &self->copy);
	self->kernel = driver_kernel(driver_module(order_ptx), "order_fill");
	self->stream = driver_stream(-5);
	self->other = driver_stream(-5);
	open_word(self);
}

static void finish(const Main *self, void *stream)
{
	while (self->query(stream))
		;
}

/* A kernel that writes nothing. */
static void launch(const Main *self, void *stream)
{
	struct order_words w = { 0, 0, 0, 0 };
	void *params[] = { &w };

	CHECK(self->launch(self->kernel, 1, 1, 1, 256, 1, 1, 0, stream, params, NULL) == 0);
}

/* ---- what the driver alone needs ------------------------------------------------------------- */

static double now_us(void) { return CkWallTimer() * 1e6; }

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	return v[n / 2];
}

static void await_word(Main *self)
{
	CHECK(self->write(self->stream, self->device_word, ++self->written, 0) == 0);
	/* acquire: what the device stored before. */
	while (atomic_load_explicit(self->word, memory_order_acquire) != self->written)
		;
}

/* The time until a processor has seen a word, behind a copy of so many bytes. */
static double measure_write(Main *self, const struct channel *c, size_t bytes)
{
	for (int i = 0; i < self->repeats; i++) {
		self->began = now_us();
		if (bytes)
			CHECK(self->copy((uintptr_t)c->into, (uintptr_t)c->from, bytes, self->stream) == 0);
		await_word(self);
		self->sample[i] = now_us() - self->began;
	}
	return median(self->sample, self->repeats);
}

/* The processor's time. */
static double measure_launch(Main *self)
{
	for (int i = 0; i < self->repeats; i++) {
		self->began = now_us();
		launch(self, self->stream);
		self->sample[i] = now_us() - self->began;
		finish(self, self->stream);
	}
	return median(self->sample, self->repeats);
}

/* ---- puts ------------------------------------------------------------------------------------ */

static void judge(const char *what, double is, double of, const char *of_what, double most)
{
	const double ratio = is / of;

	CkPrintf("device_speed: %s: %.2f us, %.2f times %s (%.2f us), at most %.1f: %s\n", what, is, ratio,
		 of_what, of, most, ratio <= most ? "ok" : "TOO SLOW");
}

static void begin(Main *self)
{
	CkDirectHandle *all[MANY];

	self->n_came = 0;
	for (int i = 0; i < MANY; i++)
		all[i] = &self->many[i].out;
	self->began = now_us();
	if (self->section < SIZES)
		CkDirect_put(&self->size[self->section].out);
	else
		CkDirect_putAllStream(all, MANY, self->stream);
	self->cpu[self->i] = now_us() - self->began;
}

static void end_section(Main *self)
{
	const double us = median(self->sample, self->repeats);

	if (self->section < SIZES)
		self->put_us[self->section] = us;
	if (self->section == 0)
		judge("a sender's processor, 8 bytes", median(self->cpu, self->repeats), self->launch_us,
		      "an empty launch", 0.7);
	if (self->section < SIZES - 1)
		judge(self->section == 0 ? "a put of 8 bytes" : self->section == 1 ? "a put of 64 KiB"
										    : "a put of 1 MiB",
		      us, self->write_us, "one write of a word", 1.7);
	else if (self->section == SIZES - 1)
		judge("a put of 64 MiB", us, measure_write(self, &self->size[SIZES - 1], sizes[SIZES - 1]),
		      "a copy and a write", 1.0);
	else
		judge("16 puts in one launch", us, self->put_us[0], "one put", 2.0);
	self->section++;
	self->i = 0;
}

/* Streams alone. All is queued before the first may begin. */
static void queue_hops(Main *self)
{
	for (int i = 0; i < HOPS; i++)
		for (int side = 0; side < 2; side++) {
			struct channel *c = &self->hop[side];
			void *stream = side ? self->other : self->stream;

			if (side == 1 || i)
				CkDirect_waitStream(&c->in, stream);
			launch(self, stream);
			CkDirect_putStream(&self->hop[!side].out, stream);
			if (side == 1 || i)
				CkDirect_readyStream(&c->in, stream);
		}
}

static void hop_came(void *data)
{
	struct channel *c = data;

	if (++c->main->n_came < 2 * HOPS)
		return;
	CkPrintf("device_speed: measured\n");
	CkExit();
}

static void hops(Main *self)
{
	double us;

	self->n_came = 0;
	CHECK(self->wait(self->stream, self->device_word, ++self->written, 0) == 0);
	queue_hops(self);
	us = now_us();
	/* release: the device waits for it; nothing else is told by it. */
	atomic_store_explicit(self->word, self->written, memory_order_release);
	finish(self, self->stream);
	finish(self, self->other);
	us = (now_us() - us) / (2 * HOPS);
	judge("a hop of streams alone, with a kernel", us, self->write_us, "one write of a word", 1.8);
}

static void came(void *data)
{
	struct channel *c = data;
	Main *self = c->main;

	if (++self->n_came == (self->section < SIZES ? 1 : MANY))
		self->sample[self->i] = now_us() - self->began;
	CkDirect_ready(&c->in);
	if (self->n_came == (self->section < SIZES ? 1 : MANY))
		Main_next(mainProxy);
}

void Main_on_next(Main *self)
{
	if (++self->i == self->repeats)
		end_section(self);
	if (self->section <= SIZES)
		begin(self);
	else
		hops(self);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void open_channel(Main *self, struct channel *c, size_t bytes, CkDirectFn fn)
{
	c->main = self;
	c->from = check_there(CkDirect_allocDevice(bytes), bytes);
	c->into = check_there(CkDirect_allocDevice(bytes), bytes);
	c->out = c->in = CkDirect_createHandleDevice(c->into, bytes, fn, c);
	CkDirect_assocLocalDevice(&c->out, c->from, bytes);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	self->repeats = check_argument(m, 1, 300);
	CHECK(self->repeats > 0 && self->repeats <= REPEATS_MOST);
	self->section = self->i = 0;
	self->written = 0;
	for (int i = 0; i < SIZES; i++)
		open_channel(self, &self->size[i], sizes[i], came);
	for (int i = 0; i < MANY; i++)
		open_channel(self, &self->many[i], 8, came);
	for (int i = 0; i < 2; i++)
		open_channel(self, &self->hop[i], 8, hop_came);
	open_driver(self);
	measure_write(self, NULL, 0);
	self->write_us = measure_write(self, NULL, 0);
	self->launch_us = measure_launch(self);
	begin(self);
}

#include "device_speed.def.h"
