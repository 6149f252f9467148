/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_ends.c: the ends of channels for a layer that moves them (scheduler/ends.h). An end is a
 * handle there, which puts and readies use like any other.
 */
#include "direct_ends.h"

#include "ends/bells.h"
#include "transfer/binding.h"
#include "ends/channel.h"
#include "ends/sender.h"

_Static_assert(sizeof(CkDirectHandle) == CSD_END_BYTES, "an end is a handle");
_Static_assert(sizeof(CkDirectStrides) == CSD_SHAPE_BYTES, "a shape is that of strided data");

static void receive(struct pe *pe, void *end, const struct csd_receiving *r)
{
	direct_channel_receive(pe, end, r);
}

/* A bell that has not been heard may report a put. */
static uint64_t received(struct pe *pe, const void *end, struct csd_receiving *now)
{
	direct_bells_take(pe, UINT32_MAX);
	return direct_channel_look(direct_receiver(pe, "a channel's receiving end", end), now);
}

static void take(struct pe *pe, void *end)
{
	direct_bells_take(pe, UINT32_MAX);
	direct_channel_take(pe, end);
}

static void ready(struct pe *pe, void *end)
{
	(void)pe;
	CkDirect_ready(end);
}

static void retire(struct pe *pe, void *end)
{
	direct_bells_take(pe, UINT32_MAX);
	direct_channel_retire(pe, end);
}

static void send(struct pe *pe, void *end, const struct csd_sending *s)
{
	direct_sender_open(pe, end, s);
}

static void join(struct pe *pe, void *end, const void *to, const struct csd_sending *s)
{
	direct_join(pe, end, to, s);
}

static uint64_t stop(struct pe *pe, void *end) { return direct_sender_stop(pe, end); }

static uint64_t made(struct pe *pe, const void *end)
{
	const struct direct_sender *s =
		direct_sender_at(direct_of(pe), ((const struct direct_handle *)end)->sender);

	return direct_hot(s)->iteration + (s->way == DIRECT_HOLDING && s->held);
}

static bool holds(struct pe *pe, const void *end) { return direct_sender_holds(pe, end); }
static bool busy(struct pe *pe, const void *end) { return direct_sender_busy(pe, end); }
static void *leave(struct pe *pe, void *end) { return direct_sender_leave(pe, end); }

const struct csd_ends direct_ends = {
	.receive = receive,
	.received = received,
	.take = take,
	.ready = ready,
	.retire = retire,
	.send = send,
	.join = join,
	.stop = stop,
	.made = made,
	.holds = holds,
	.busy = busy,
	.leave = leave,
};
