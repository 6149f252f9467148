/* SPDX-License-Identifier: Apache-2.0 */
/* sender.c: bind a sending end, and the calls that put. */
#include "sender.h"
#include "ckdevice.h"
#include "memory.h"
#include "put.h"
#include "staged_out.h"
#include "vmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../direct/transfer/binding.h"
#include "../machine/base/cmi_alloc.h"

/* ---- choosing the path ----------------------------------------------------------------------- */

static bool same_host(const struct pe *pe, int other)
{
	const struct cmi_job *job = pe->node->job;

	return job->host_id[job->node_of[other]] == job->host_id[job->node];
}

static bool same_node(const struct pe *pe, int other)
{
	return pe->node->job->node_of[other] == pe->node->job->node;
}

static struct direct_device_name name_in(const struct direct_handle *h)
{
	struct direct_device_name name;

	memcpy(&name, &h->recv_key, sizeof name);
	return name;
}

/** Where a buffer of another process of this host is mapped; 0: it cannot be. */
static cu_ptr map_buffer(struct pe *pe, struct device_sender *ds, const struct direct_handle *h)
{
	const struct direct_device_name name = name_in(h);

	if (h->device != DIRECT_IN_DEVICE_VMM)
		return device_map(pe, ds->device, &name);
	ds->import = device_import(pe, ds->device, &name, h->bytes);
	return ds->import ? device_import_at(ds->import, &name) : 0;
}

/** Where the receive buffer is for the device; 0: it cannot write there. Fills in *why_p. */
static cu_ptr reach(struct pe *pe, struct device_sender *ds, const struct direct_handle *h,
		    const char **why_p)
{
	const struct device *dev = ds->device;
	const struct direct_device_name name = name_in(h);
	const bool same_device = !memcmp(name.uuid, dev->uuid.bytes, sizeof name.uuid);
	cu_ptr at;

	*why_p = "the devices differ";
	if (!same_device)
		return 0;
	*why_p = "same node and device";
	if (same_node(pe, h->receiver))
		return h->recv_addr;
	*why_p = "another host";
	if (!same_host(pe, h->receiver))
		return 0;
	*why_p = "other processes cannot map the receive buffer";
	if (h->device == DIRECT_IN_DEVICE_HIDDEN)
		return 0;
	at = map_buffer(pe, ds, h);
	if (at)
		*why_p = "the receive buffer is mapped here";
	return at;
}

/** A page that is registered with the driver stays mapped until the loop has ended. */
static void hold_page(struct pe *pe, const struct direct_handle *h)
{
	struct device_pe *dp = device_pe_of(pe);

	CMI_ONE_MORE(dp->held, dp->n_held, dp->max_held, "a device's words");
	dp->held[dp->n_held++] = cmi_attach(pe->wire, h->receiver, &h->line_key, h->line_addr);
}

/** The receiver's line as mapped here; NULL: it is not. */
static struct direct_line *map_line(struct pe *pe, const char *call, struct direct_sender *s,
				    const struct device *dev, const struct direct_handle *h)
{
	struct direct_line *line;
	bool fresh;

	if (same_node(pe, h->receiver))
		return (struct direct_line *)(uintptr_t)h->line_addr;
	s->line_mem = cmi_attach(pe->wire, h->receiver, &h->line_key, h->line_addr);
	line = s->line_mem ? cmi_remote_ptr(s->line_mem, h->line_addr) : NULL;
	if (!line)
		return NULL;
	device_word(pe, call, dev, line, &fresh);
	if (fresh)
		hold_page(pe, h);
	return line;
}

/** Whether no node before this one shares its host with another: in a job of several hosts one says
 * what holds for all. */
static bool is_first_of_neighbours(const struct cmi_job *job)
{
	for (int i = 0; i < job->node; i++)
		for (int j = i + 1; j < job->n_nodes; j++)
			if (job->host_id[i] == job->host_id[j])
				return false;
	return true;
}

/* Without MPS the device switches between processes, 143 us each time (docs/CHANNELS.md). */
static void say_mps(struct pe *pe, const struct device *dev)
{
	struct device_node *dn = device_node_of(pe);
	bool said;

	if (dev->mps)
		return;
	pthread_mutex_lock(&dn->lock);
	said = dn->said_mps;
	dn->said_mps = true;
	pthread_mutex_unlock(&dn->lock);
	if (!said && is_first_of_neighbours(pe->node->job))
		fprintf(stderr, "chard: processes of this job share a device without MPS, and each switch "
				"between them takes about 143 us: use more PEs of a process (--ppn), or "
				"start MPS\n");
}

static enum direct_path straight_path(const struct pe *pe, const struct direct_handle *h)
{
	return same_node(pe, h->receiver) ? DIRECT_DEVICE :
	       h->device == DIRECT_IN_DEVICE_VMM ? DIRECT_DEVICE_VMM : DIRECT_DEVICE_IPC;
}

static void leave_import(struct pe *pe, struct device_sender *ds)
{
	if (ds->import)
		device_import_leave(pe, ds->import);
	ds->import = NULL;
}

/** True if the device can write the receive buffer and its words. */
static bool bind_straight(struct pe *pe, const char *call, struct device_sender *ds,
			  const struct direct_handle *h, const char **why_p)
{
	struct direct_sender *s = ds->end;
	struct device *dev = ds->device;
	bool fresh;

	ds->to = reach(pe, ds, h, why_p);
	s->line = ds->to ? map_line(pe, call, s, dev, h) : NULL;
	if (!s->line) {
		leave_import(pe, ds);
		return false;
	}
	ds->word = device_word(pe, call, dev, &s->line->seq, &fresh);
	ds->credit = device_word(pe, call, dev, &s->line->credit, &fresh);
	ds->waits = pe->node->check && device_can_wait(pe, dev);
	if (ds->waits)
		device_imports_stay(pe);
	s->path = straight_path(pe, h);
	direct_claim(pe, direct_id_of_sender(s), s->line, pe->id);
	if (s->path != DIRECT_DEVICE)
		say_mps(pe, dev);
	return true;
}

static void check_other_end(struct pe *pe, const char *call, const struct direct_handle *h)
{
	struct direct_id id = direct_id_of_handle(pe, h);

	id.sender = pe->id;
	if (h->mode == DIRECT_PATTERN && h->bytes % 8)
		direct_broken(pe, call, id, "use CkDirect_createHandleSeq",
			      "%zu bytes, which no pattern can end", (size_t)h->bytes);
}

const char *device_bind(struct pe *pe, const char *call, struct direct_sender *s,
			const struct direct_handle *h, bool from_device)
{
	struct device_sender *ds = cmi_alloc_zero(1, sizeof *ds, "a device's channel");
	const char *why = from_device ? "the receive buffer is in host memory"
				      : "the send buffer is in host memory";

	check_other_end(pe, call, h);
	s->device = ds;
	ds->end = s;
	if (from_device) {
		ds->device = device_of_memory(pe, call, s->src);
		ds->stream = device_stream(pe, call, ds->device);
	}
	if (from_device && h->device && bind_straight(pe, call, ds, h, &why))
		return why;
	s->path = DIRECT_DEVICE_STAGED;
	ds->staged = device_staged_out_open(pe, call, ds, h);
	return why;
}

void device_rebind(struct pe *pe, const char *call, struct direct_sender *s)
{
	struct device_sender *ds = s->device;

	if (ds->device && device_of_memory(pe, call, s->src) != ds->device)
		direct_broken(pe, call, direct_id_of_sender(s), "bind a channel for each device",
			      "the new buffer is in another device's memory");
	if (ds->staged)
		device_staged_out_rebind(pe, ds->staged);
	else
		device_graph_drop(ds);
}

/* Nothing else is in the stream of a channel that has a name. */
bool device_busy(struct pe *pe, const struct direct_sender *s)
{
	const struct device_sender *ds = s->device;

	if (ds->device && ds->device->driver->cuStreamQuery(ds->stream) == CU_NOT_READY)
		return true;
	return ds->staged && device_staged_busy(pe, ds->staged);
}

/* An end with a name leaves with its element, which frees the send buffer; with another one the
 * mapping may go. */
void device_leave(struct pe *pe, struct direct_sender *s)
{
	struct device_sender *ds = s->device;

	if (ds->device && (s->named || (ds->import && !device_imports_do_stay(pe))))
		device_finish(pe, "a channel's sending end", ds->device, ds->stream);
	if (ds->staged)
		device_staged_out_end(pe, ds->staged);
	device_graph_drop(ds);
	leave_import(pe, ds);
	if (ds->done)
		direct_channel_end(pe, ds->done);
	if (ds->device) {
		device_counter_leave(pe, ds->device, ds->counter);
		device_stream_leave(pe, ds->stream);
	}
	free(ds);
}

void device_senders_free(struct direct_pe *d)
{
	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++) {
		struct device_sender *ds = direct_sender_at(d, i)->device;

		if (!ds)
			continue;
		if (ds->staged)
			device_staged_out_free(ds->staged);
		device_graph_drop(ds);
		free(ds);
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

void CkDirect_assocLocalDevice(CkDirectHandle *h, const void *dbuf, size_t bytes)
{
	static const char call[] = "CkDirect_assocLocalDevice";

	direct_bind_from_device(direct_self(call), call, direct_open(h), dbuf, bytes);
}

static struct device_sender *sender_of(struct pe *pe, const char *call, CkDirectHandle *h)
{
	struct direct_sender *s = direct_checked_sender(pe, call, direct_open(h));
	struct device_sender *ds = s->device;

	if (s->named)
		direct_broken(pe, call, direct_id_of_sender(s), "use CkChannelPut when the data is complete",
			      "a channel that follows its elements has no streams");
	if (!ds || !ds->device)
		direct_broken(pe, call, direct_id_of_sender(s), "use CkDirect_put",
			      "the send buffer is not in a device's memory");
	return ds;
}

void CkDirect_putStream(CkDirectHandle *h, void *stream)
{
	static const char call[] = "CkDirect_putStream";
	struct pe *pe = direct_self(call);
	struct device_sender *ds = sender_of(pe, call, h);

	device_imports_stay(pe);
	ds->into = stream;
	ds->streamed = true;
	CkDirect_put(h);
	ds->streamed = false;
}

void CkDirect_putAllStream(CkDirectHandle *const *h, int n, void *stream)
{
	static const char call[] = "CkDirect_putAllStream";
	struct pe *pe = direct_self(call);
	struct device_gather gather = { .stream = stream };

	device_pe_of(pe)->gather = &gather;
	for (int i = 0; i < n; i++) {
		sender_of(pe, call, h[i]);
		CkDirect_putStream(h[i], stream);
	}
	device_gather_launch(pe, &gather);
	device_pe_of(pe)->gather = NULL;
}
