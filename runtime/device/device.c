/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: see device.h. */
#include "device.h"

#include <stdlib.h>
#include <time.h>

#include "../machine/base/cmi_alloc.h"
#include "kernels.h"
#include "kernels_ptx.h"

enum {
	BYTES_OF_BLOCK = DEVICE_THREADS * 16 * 4, /* that a block copies at once */
	BLOCKS_MOST = 32,             /* for one put */
	IDLE_LOOKS = 1000,            /* 0.1 s */
};

/* ---- taking one into use --------------------------------------------------------------------- */

static struct device_node *loaded(struct pe *pe, const char *call)
{
	struct device_node *dn = device_node_of(pe);
	const char *queues = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

	if (dn->loaded)
		return dn;
	device_driver_load(pe, call, &dn->driver);
	dn->one_queue = queues && atoi(queues) == 1;
	dn->loaded = true;
	return dn;
}

/** Whether the attribute is not 0; an older driver does not know all of them. */
static bool has(const struct device *dev, int attribute)
{
	int value = 0;

	return dev->driver->cuDeviceGetAttribute(&value, attribute, dev->number) == CU_OK && value;
}

static void load_kernel(struct pe *pe, const char *call, struct device *dev)
{
	const struct device_driver *cu = dev->driver;
	cu_module module;

	device_must(pe, call, cu, "loading the kernel of puts", cu->cuModuleLoadData(&module, device_ptx));
	device_must(pe, call, cu, "cuModuleGetFunction",
		    cu->cuModuleGetFunction(&dev->puts, module, "chard_puts"));
}

/* The copy is of memory that is not registered, so it has been read when the call returns; nothing
 * else is in the stream. */
static void zero_counters(struct pe *pe, const char *call, struct device *dev)
{
	const struct device_driver *cu = dev->driver;
	void *zeros = cmi_alloc_zero(DEVICE_COUNTERS, sizeof(uint32_t), "a device's counters");
	const size_t bytes = DEVICE_COUNTERS * sizeof(uint32_t);

	device_must(pe, call, cu, "cuMemAlloc", cu->cuMemAlloc_v2(&dev->counters, bytes));
	device_must(pe, call, cu, "cuMemcpyHtoDAsync",
		    cu->cuMemcpyHtoDAsync_v2(dev->counters, zeros, bytes, dev->stream));
	device_finish(pe, call, dev, dev->stream);
	free(zeros);
	dev->free_counters =
		cmi_alloc(DEVICE_COUNTERS * sizeof *dev->free_counters, "a device's counters");
	while (dev->n_counters < DEVICE_COUNTERS) {
		dev->free_counters[dev->n_counters] = (uint16_t)dev->n_counters;
		dev->n_counters++;
	}
}

/* The primary context, which CUDA's own runtime uses, too. */
static void take_into_use(struct pe *pe, const char *call, struct device_node *dn, int ordinal)
{
	struct device *dev = &dn->devices[ordinal];
	const struct device_driver *cu = &dn->driver;
	int least;

	dev->driver = cu;
	device_must(pe, call, cu, "cuDeviceGet", cu->cuDeviceGet(&dev->number, ordinal));
	device_must(pe, call, cu, "cuDeviceGetUuid", cu->cuDeviceGetUuid_v2(&dev->uuid, dev->number));
	device_must(pe, call, cu, "cuDevicePrimaryCtxRetain",
		    cu->cuDevicePrimaryCtxRetain(&dev->ctx, dev->number));
	device_must(pe, call, cu, "cuCtxSetCurrent", cu->cuCtxSetCurrent(dev->ctx));
	dev->memops = has(dev, CU_DEVICE_MEMOPS64);
	dev->mps = has(dev, CU_DEVICE_MPS);
	device_must(pe, call, cu, "cuCtxGetStreamPriorityRange",
		    cu->cuCtxGetStreamPriorityRange(&least, &dev->priority));
	device_must(pe, call, cu, "cuStreamCreateWithPriority",
		    cu->cuStreamCreateWithPriority(&dev->stream, CU_STREAM_NONBLOCKING, dev->priority));
	load_kernel(pe, call, dev);
	zero_counters(pe, call, dev);
}

static struct device *use(struct pe *pe, const char *call, struct device_node *dn, int ordinal)
{
	struct device *dev;

	if (ordinal < 0 || ordinal >= DEVICES_MOST)
		csd_abort(pe, "%s: device %d, but at most %d of a host can be used", call, ordinal,
			  DEVICES_MOST);
	dev = &dn->devices[ordinal];
	pthread_mutex_lock(&dn->lock);
	if (!dev->ctx)
		take_into_use(pe, call, dn, ordinal);
	pthread_mutex_unlock(&dn->lock);
	device_enter(pe, call, dev);
	return dev;
}

static struct device_node *node_for(struct pe *pe, const char *call)
{
	struct device_node *dn = device_node_of(pe);

	pthread_mutex_lock(&dn->lock);
	loaded(pe, call);
	pthread_mutex_unlock(&dn->lock);
	return dn;
}

/* Managed memory is a device's, too, but has no handle and no words. */
struct device *device_of_memory(struct pe *pe, const char *call, const void *p)
{
	struct device_node *dn = node_for(pe, call);
	const struct device_driver *cu = &dn->driver;
	uint32_t kind = 0;
	int ordinal = 0;

	if (!p)
		csd_abort(pe, "%s: the buffer is NULL", call);
	if (cu->cuPointerGetAttribute(&kind, CU_POINTER_MEMORY, (uintptr_t)p) != CU_OK ||
	    kind != CU_MEMORY_DEVICE)
		csd_abort(pe, "%s: %p is not in a device's memory: use CkDirect_allocDevice, cuMemAlloc or "
			  "cudaMalloc, or the call for host memory", call, p);
	device_must(pe, call, cu, "cuPointerGetAttribute",
		    cu->cuPointerGetAttribute(&ordinal, CU_POINTER_ORDINAL, (uintptr_t)p));
	return use(pe, call, dn, ordinal);
}

static struct device *current_device(struct device_node *dn, cu_ctx ctx)
{
	for (int i = 0; i < DEVICES_MOST; i++)
		if (dn->devices[i].ctx && dn->devices[i].ctx == ctx)
			return &dn->devices[i];
	return NULL;
}

/** How many nodes of this node's host come before it. */
static int place_on_host(const struct pe *pe)
{
	const struct cmi_job *job = pe->node->job;
	int n = 0;

	for (int i = 0; i < job->node; i++)
		n += job->host_id[i] == job->host_id[job->node];
	return n;
}

struct device *device_to_use(struct pe *pe, const char *call)
{
	struct device_node *dn = node_for(pe, call);
	const struct device_driver *cu = &dn->driver;
	struct device *dev;
	cu_ctx ctx = NULL;
	int n = 0;

	cu->cuCtxGetCurrent(&ctx);
	pthread_mutex_lock(&dn->lock);
	dev = ctx ? current_device(dn, ctx) : NULL;
	pthread_mutex_unlock(&dn->lock);
	if (dev)
		return dev;
	device_must(pe, call, cu, "cuDeviceGetCount", cu->cuDeviceGetCount(&n));
	if (n < 1)
		csd_abort(pe, "%s: the driver finds no device: use host memory, or see CUDA_VISIBLE_DEVICES",
			  call);
	return use(pe, call, dn, place_on_host(pe) % n);
}

void device_enter(struct pe *pe, const char *call, const struct device *dev)
{
	cu_ctx ctx = NULL;

	if (dev->driver->cuCtxGetCurrent(&ctx) == CU_OK && ctx == dev->ctx)
		return;
	device_must(pe, call, dev->driver, "cuCtxSetCurrent", dev->driver->cuCtxSetCurrent(dev->ctx));
}

/* ---- streams --------------------------------------------------------------------------------- */

/* One that is still at work would make the next channel wait. */
static cu_stream find_stream(struct device_node *dn, const struct device *dev)
{
	for (int i = 0; i < dn->n_streams; i++) {
		struct device_stream *s = &dn->streams[i];

		if (!s->used && s->device == dev && dev->driver->cuStreamQuery(s->stream) == CU_OK) {
			s->used = true;
			return s->stream;
		}
	}
	return NULL;
}

cu_stream device_stream(struct pe *pe, const char *call, const struct device *dev)
{
	struct device_node *dn = device_node_of(pe);
	cu_stream stream;

	pthread_mutex_lock(&dn->lock);
	stream = find_stream(dn, dev);
	if (!stream) {
		device_must(pe, call, dev->driver, "cuStreamCreateWithPriority",
			    dev->driver->cuStreamCreateWithPriority(&stream, CU_STREAM_NONBLOCKING,
								    dev->priority));
		CMI_ONE_MORE(dn->streams, dn->n_streams, dn->max_streams, "a device's streams");
		dn->streams[dn->n_streams++] = (struct device_stream){ stream, dev, true };
	}
	pthread_mutex_unlock(&dn->lock);
	return stream;
}

void device_stream_leave(struct pe *pe, cu_stream stream)
{
	struct device_node *dn = device_node_of(pe);

	pthread_mutex_lock(&dn->lock);
	for (int i = 0; i < dn->n_streams; i++)
		if (dn->streams[i].stream == stream)
			dn->streams[i].used = false;
	pthread_mutex_unlock(&dn->lock);
}

void device_finish(struct pe *pe, const char *call, const struct device *dev, cu_stream stream)
{
	cu_result result;

	while ((result = dev->driver->cuStreamQuery(stream)) == CU_NOT_READY)
		;
	device_must(pe, call, dev->driver, "cuStreamQuery", result);
}

/* In a stream of its own, of all PEs, so that they wait for no put; without synchronous copies,
 * which would wait for streams of the program. */
void device_read(struct pe *pe, void *to, const void *from, size_t bytes)
{
	static const char call[] = "a copy of a device's buffer";
	const struct device *dev = device_of_memory(pe, call, from);

	device_must(pe, call, dev->driver, "cuMemcpyDtoHAsync",
		    dev->driver->cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, bytes, dev->stream));
	device_finish(pe, call, dev, dev->stream);
}

void device_fill(struct pe *pe, void *to, const void *from, size_t bytes)
{
	static const char call[] = "a copy into a device's buffer";
	const struct device *dev = device_of_memory(pe, call, to);

	device_must(pe, call, dev->driver, "cuMemcpyHtoDAsync",
		    dev->driver->cuMemcpyHtoDAsync_v2((uintptr_t)to, from, bytes, dev->stream));
	device_finish(pe, call, dev, dev->stream);
}

void device_write(struct pe *pe, const char *call, const struct device *dev, cu_stream stream,
		  cu_ptr word, uint64_t value)
{
	struct device_puts puts;

	if (dev->memops) {
		device_must(pe, call, dev->driver, "cuStreamWriteValue64",
			    dev->driver->cuStreamWriteValue64_v2(stream, word, value, 0));
		return;
	}
	puts.put[0] = (struct device_put){ .word = word, .value = value };
	device_launch(pe, call, dev, stream, &puts, 1, 0);
}

void device_wait(struct pe *pe, const char *call, const struct device *dev, cu_stream stream,
		 cu_ptr word, uint64_t value)
{
	device_must(pe, call, dev->driver, "cuStreamWaitValue64",
		    dev->driver->cuStreamWaitValue64_v2(stream, word, value, CU_WAIT_GEQ));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

cu_ptr device_counter(struct pe *pe, const char *call, struct device *dev)
{
	struct device_node *dn = device_node_of(pe);
	uint32_t n = DEVICE_COUNTERS;

	pthread_mutex_lock(&dn->lock);
	if (dev->n_counters)
		n = dev->free_counters[--dev->n_counters];
	pthread_mutex_unlock(&dn->lock);
	if (n == DEVICE_COUNTERS)
		csd_abort(pe, "%s: more than %d sending ends in a device's memory: destroy some", call,
			  DEVICE_COUNTERS);
	return dev->counters + n * sizeof(uint32_t);
}

void device_counter_leave(struct pe *pe, struct device *dev, cu_ptr counter)
{
	struct device_node *dn = device_node_of(pe);

	if (!counter)
		return;
	pthread_mutex_lock(&dn->lock);
	dev->free_counters[dev->n_counters++] = (uint16_t)((counter - dev->counters) / sizeof(uint32_t));
	pthread_mutex_unlock(&dn->lock);
}

void device_launch(struct pe *pe, const char *call, const struct device *dev, cu_stream stream,
		   struct device_puts *puts, int n, uint64_t largest)
{
	const uint64_t blocks = (largest + BYTES_OF_BLOCK - 1) / BYTES_OF_BLOCK;
	void *params[] = { puts };

	device_must(pe, call, dev->driver, "cuLaunchKernel",
		    dev->driver->cuLaunchKernel(dev->puts,
						blocks < 1 ? 1 : blocks > BLOCKS_MOST ? BLOCKS_MOST : (unsigned)blocks,
						(unsigned)n, 1, DEVICE_THREADS, 1, 1, 0, stream, params, NULL));
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What the loop has seen may still be the end of a stream's last operation. */
bool device_all_idle(struct device_node *dn)
{
	const struct timespec pause = { .tv_nsec = 100 * 1000 };
	int left = IDLE_LOOKS;

	for (int i = 0; i < dn->n_streams; i++)
		while (dn->driver.cuStreamQuery(dn->streams[i].stream) != CU_OK) {
			if (!left--)
				return false;
			nanosleep(&pause, NULL);
		}
	return true;
}

void device_release(struct device_node *dn)
{
	const struct device_driver *cu = &dn->driver;

	for (int i = 0; i < dn->n_streams; i++)
		cu->cuStreamDestroy_v2(dn->streams[i].stream);
	for (int i = 0; i < DEVICES_MOST; i++) {
		struct device *dev = &dn->devices[i];

		if (!dev->ctx)
			continue;
		cu->cuStreamDestroy_v2(dev->stream);
		cu->cuMemFree_v2(dev->counters);
		free(dev->free_counters);
		cu->cuDevicePrimaryCtxRelease_v2(dev->number);
	}
}
