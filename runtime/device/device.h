/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h: a device that this process uses, and what every end does with it.
 *
 * While a stream of the context waits for a word, cuMemFree, cuModuleLoadData, cuIpcCloseMemHandle
 * and cuMemHostUnregister stop until it does no more: the thread would stop, and may be the one
 * that ends the wait. So a module is loaded when the device is taken into use, before there is a
 * stream, and the others are called only when the node stops and all streams are idle.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "device_state.h"

enum { DEVICE_COUNTERS = 16 * 1024 };

/** The device of memory at p, in use and current on this thread; other memory ends the job. */
struct device *device_of_memory(struct pe *pe, const char *call, const void *p);

/** The device for new memory: see CkDirect_allocDevice. */
struct device *device_to_use(struct pe *pe, const char *call);

/** Make its context current on this thread, unless it is. */
void device_enter(struct pe *pe, const char *call, const struct device *dev);

/** A stream for one channel, of the highest priority, and back. */
cu_stream device_stream(struct pe *pe, const char *call, const struct device *dev);
void device_stream_leave(struct pe *pe, cu_stream stream);

/** Queue a store of `value`, after everything before it in the stream. */
void device_write(struct pe *pe, const char *call, const struct device *dev, cu_stream stream,
		  cu_ptr word, uint64_t value);

/** Wait until all that is queued in the stream is done. */
void device_finish(struct pe *pe, const char *call, const struct device *dev, cu_stream stream);

/** Copy between a device's and the host's memory, any of it; complete on return. */
void device_read(struct pe *pe, void *to, const void *from, size_t bytes);
void device_fill(struct pe *pe, void *to, const void *from, size_t bytes);

/** Queue a wait until the word is at least `value`. */
void device_wait(struct pe *pe, const char *call, const struct device *dev, cu_stream stream,
		 cu_ptr word, uint64_t value);

/** Whether streams can wait, without holding up others. */
static inline bool device_can_wait(const struct pe *pe, const struct device *dev)
{
	return dev->memops && !device_node_of(pe)->one_queue;
}

/** A counter for the kernel, and back when no launch uses it any more. */
cu_ptr device_counter(struct pe *pe, const char *call, struct device *dev);
void device_counter_leave(struct pe *pe, struct device *dev, cu_ptr counter);

struct device_puts;

/** Launch the kernel for n puts, of which the largest has so many bytes. */
void device_launch(struct pe *pe, const char *call, const struct device *dev, cu_stream stream,
		   struct device_puts *puts, int n, uint64_t largest);

/** The node stops. Whether no stream is at work any more. */
bool device_all_idle(struct device_node *dn);
void device_release(struct device_node *dn);

#endif
