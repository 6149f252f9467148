/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_ends.c: the ends of channels for a layer that moves them (scheduler/ends.h). An end is a
 * handle there, which puts and readies use like any other.
 */
#include "direct_ends.h"

#include "core/direct_device.h"
#include "ends/bells.h"
#include "transfer/binding.h"
#include "ends/channel.h"
#include "ends/sender.h"

_Static_assert(sizeof(CkDirectHandle) == CSD_END_BYTES, "an end is a handle");
_Static_assert(sizeof(CkDirectStrides) == CSD_SHAPE_BYTES, "a shape is that of strided data");

/** The layer for devices. */
static const struct direct_device *device_calls(struct pe *pe)
{
	const struct direct_device *calls = direct_node_of(pe)->device;

	if (!calls)
		csd_abort(pe, "a channel's end in a device's memory: this library has been built without the "
			  "layer device; use host memory, or a library that has it");
	return calls;
}

static void direct_ends_receive(struct pe *pe, void *end, const struct csd_receiving *r)
{
	if (r->device)
		device_calls(pe)->receive(pe, end, r);
	else
		direct_channel_receive(pe, end, r);
}

/* A bell that has not been heard may report a put. */
static uint64_t direct_ends_received(struct pe *pe, const void *end, struct csd_receiving *now)
{
	direct_bells_take(pe, UINT32_MAX);
	return direct_channel_look(direct_receiver(pe, "a channel's receiving end", end), now);
}

static void direct_ends_take(struct pe *pe, void *end)
{
	direct_bells_take(pe, UINT32_MAX);
	direct_channel_take(pe, end);
}

static void direct_ends_ready(struct pe *pe, void *end)
{
	(void)pe;
	CkDirect_ready(end);
}

static void direct_ends_retire(struct pe *pe, void *end)
{
	direct_bells_take(pe, UINT32_MAX);
	direct_channel_retire(pe, end);
}

static void direct_ends_send(struct pe *pe, void *end, const struct csd_sending *s)
{
	if (s->device)
		device_calls(pe);
	direct_sender_open(pe, end, s);
}

static void direct_ends_join(struct pe *pe, void *end, const void *to, const struct csd_sending *s)
{
	direct_join(pe, end, to, s);
}

static uint64_t direct_ends_stop(struct pe *pe, void *end) { return direct_sender_stop(pe, end); }

static uint64_t direct_ends_made(struct pe *pe, const void *end)
{
	const struct direct_sender *s =
		direct_sender_at(direct_of(pe), ((const struct direct_handle *)end)->sender);

	return direct_hot(s)->iteration + direct_put_waits(s);
}

static bool direct_ends_holds(struct pe *pe, const void *end)
{
	return direct_sender_holds(pe, end);
}
static bool direct_ends_busy(struct pe *pe, const void *end) { return direct_sender_busy(pe, end); }
static void *direct_ends_leave(struct pe *pe, void *end) { return direct_sender_leave(pe, end); }

static void *direct_ends_device_alloc(struct pe *pe, size_t bytes)
{
	return device_calls(pe)->alloc(pe, bytes);
}
static void direct_ends_device_free(struct pe *pe, void *p) { device_calls(pe)->free(pe, p); }

static void direct_ends_device_read(struct pe *pe, void *to, const void *from, size_t bytes)
{
	device_calls(pe)->read(pe, to, from, bytes);
}

static void direct_ends_device_write(struct pe *pe, void *to, const void *from, size_t bytes)
{
	device_calls(pe)->write(pe, to, from, bytes);
}

const struct csd_ends direct_ends = {
	.receive = direct_ends_receive,
	.received = direct_ends_received,
	.take = direct_ends_take,
	.ready = direct_ends_ready,
	.retire = direct_ends_retire,
	.send = direct_ends_send,
	.join = direct_ends_join,
	.stop = direct_ends_stop,
	.made = direct_ends_made,
	.holds = direct_ends_holds,
	.busy = direct_ends_busy,
	.leave = direct_ends_leave,
	.device_alloc = direct_ends_device_alloc,
	.device_free = direct_ends_device_free,
	.device_read = direct_ends_device_read,
	.device_write = direct_ends_device_write,
};
