/* SPDX-License-Identifier: Apache-2.0 */
/* receiver.c: see receiver.h. */
#include "receiver.h"
#include "ckdevice.h"
#include "memory.h"
#include "staged_in.h"
#include "vmm.h"

#include <stdlib.h>

#include "../machine/base/cmi_alloc.h"

struct device_receiver *device_receiver_at(const struct pe *pe, uint32_t number)
{
	const struct device_pe *dp = device_pe_of(pe);

	return number < dp->n_receivers ? dp->receivers[number] : NULL;
}

static void enter_receiver(struct device_pe *dp, uint32_t number, struct device_receiver *r)
{
	if (number >= dp->n_receivers) {
		const uint32_t n = (number / DIRECT_BLOCK + 1) * DIRECT_BLOCK;

		dp->receivers = cmi_realloc(dp->receivers, n, sizeof(void *), "a device's channels");
		while (dp->n_receivers < n)
			dp->receivers[dp->n_receivers++] = NULL;
	}
	dp->receivers[number] = r;
}

/* A stream has said ready ahead: the channel waits for the next put at once. */
static void go_ahead(struct pe *pe, struct device_receiver *r)
{
	if (!r->ahead || r->hot->state != CHANNEL_CONSUMED)
		return;
	r->ahead--;
	r->hot->streamed = true;
	direct_channel_ready(pe, "CkDirect_readyStream", r->hot);
	r->hot->streamed = false;
}

/** The function of such an end. The program's may destroy it. */
static void arrived(void *data)
{
	struct device_receiver *r = data;

	direct_take_one(csd_self(), r->hot, r->ahead);
	r->running = true;
	r->fn(r->data);
	r->running = false;
	if (r->ended)
		free(r);
	else
		go_ahead(csd_self(), r);
}

static struct device_receiver *new_receiver(struct pe *pe, const char *call, void *dbuf,
					    size_t bytes, CkDirectFn fn, void *data,
					    CkDirectHandle *h_p)
{
	struct device *dev = device_of_memory(pe, call, dbuf);
	struct device_receiver *r = cmi_alloc_zero(1, sizeof *r, "a device's channel");
	struct direct_device_name name;
	bool fresh;
	uint8_t where;

	if (!fn)
		csd_abort(pe, "%s: the arrival function is NULL; a channel needs one", call);
	where = device_name_memory(pe, call, dev, dbuf, bytes, &name, &r->export);
	r->device = dev;
	r->fn = fn;
	r->data = data;
	r->hot = direct_channel_on_device(pe, call, dbuf, bytes, arrived, r, where, &name, h_p);
	r->word = device_word(pe, call, dev, &direct_rest(r->hot)->line->seq, &fresh);
	r->credit = device_word(pe, call, dev, &direct_rest(r->hot)->line->credit, &fresh);
	enter_receiver(device_pe_of(pe), direct_rest(r->hot)->number, r);
	return r;
}

CkDirectHandle CkDirect_createHandleDevice(void *dbuf, size_t bytes, CkDirectFn fn, void *data)
{
	static const char call[] = "CkDirect_createHandleDevice";
	CkDirectHandle h;

	new_receiver(direct_self(call), call, dbuf, bytes, fn, data, &h);
	return h;
}

/* ---- with a name ----------------------------------------------------------------------------- */

void device_receive(struct pe *pe, struct direct_handle *h, const struct csd_receiving *in)
{
	CkDirectHandle made;
	const struct device_receiver *r = new_receiver(pe, "a channel's receiving end", in->buf,
						       in->bytes, in->fn, in->data, &made);

	direct_channel_on_device_again(pe, r->hot, in);
	*h = *direct_open(&made);
}

const void *device_owner(const void *data) { return ((const struct device_receiver *)data)->data; }

/* ---- streams --------------------------------------------------------------------------------- */

static struct device_receiver *receiver_of(struct pe *pe, const char *call,
					   const struct direct_handle *h)
{
	struct direct_channel_hot *hot = direct_receiver(pe, call, h);
	struct device_receiver *r = device_receiver_at(pe, direct_rest(hot)->number);

	if (!r)
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "create it with CkDirect_createHandleDevice",
			      "the receive buffer is not in a device's memory");
	if (r->hot->named)
		direct_broken(pe, call, direct_id_of_channel(pe, r->hot),
			      "use CkChannelReady when the kernels have ended",
			      "a channel that follows its elements has no streams");
	device_enter(pe, call, r->device);
	return r;
}

static void must_wait(struct pe *pe, const char *call, const struct device_receiver *r)
{
	const struct direct_id id = direct_id_of_channel(pe, r->hot);

	if (!r->device->memops)
		direct_broken(pe, call, id, "launch what uses the data in the channel's function",
			      "the device's driver cannot wait for words in streams");
	if (device_node_of(pe)->one_queue)
		direct_broken(pe, call, id, "unset it, or launch what uses the data in the channel's function",
			      "CUDA_DEVICE_MAX_CONNECTIONS=1: a stream that waits would hold up all others");
}

static uint64_t value_of(const struct device_receiver *r, uint64_t put)
{
	return direct_seq(r->hot->generation, put);
}

void CkDirect_waitStream(const CkDirectHandle *h, void *stream)
{
	static const char call[] = "CkDirect_waitStream";
	struct pe *pe = direct_self(call);
	struct device_receiver *r =
		receiver_of(pe, call, direct_open((CkDirectHandle *)(uintptr_t)h));

	must_wait(pe, call, r);
	device_imports_stay(pe);
	r->waited = device_allowed(r);
	device_wait(pe, call, r->device, stream, r->word, value_of(r, r->waited));
}

static void ready_ahead(struct pe *pe, const char *call, struct device_receiver *r)
{
	const struct direct_id id = direct_id_of_channel(pe, r->hot);

	if (r->waited < device_allowed(r))
		direct_broken(pe, call, id, "call it in the channel's function, or CkDirect_waitStream before it",
			      "ready while the channel is armed");
	if (r->ahead == DEVICE_AHEAD_MOST)
		direct_broken(pe, call, id, "let the PE's scheduler run",
			      "%d calls ahead of the channel's function", DEVICE_AHEAD_MOST);
	r->ahead++;
}

void CkDirect_readyStream(CkDirectHandle *h, void *stream)
{
	static const char call[] = "CkDirect_readyStream";
	struct pe *pe = direct_self(call);
	struct device_receiver *r = receiver_of(pe, call, direct_open(h));

	if (r->hot->state == CHANNEL_CONSUMED) {
		r->hot->streamed = true;
		direct_channel_ready(pe, call, r->hot);
		r->hot->streamed = false;
	} else {
		ready_ahead(pe, call, r);
	}
	r->by_stream = device_allowed(r);
	device_write(pe, call, r->device, stream, r->credit, value_of(r, r->by_stream));
}

/* ---- for the channel layer ------------------------------------------------------------------- */

void device_receiver_end(struct pe *pe, const struct direct_channel_hot *hot)
{
	const uint32_t number = direct_rest(hot)->number;
	struct device_receiver *r = device_receiver_at(pe, number);

	device_pe_of(pe)->receivers[number] = NULL;
	if (r->staged)
		device_staged_in_end(pe, r->staged);
	if (r->export)
		device_export_leave(pe, r->export);
	if (r->running)
		r->ended = true;
	else
		free(r);
}

void device_receivers_free(struct device_pe *dp)
{
	for (uint32_t i = 0; i < dp->n_receivers; i++) {
		if (dp->receivers[i] && dp->receivers[i]->staged)
			device_staged_in_free(dp->receivers[i]->staged);
		free(dp->receivers[i]);
	}
	free(dp->receivers);
}
