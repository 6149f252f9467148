/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_layer.c: connects the layer to the scheduler and to the channel layer. Until the first
 * call of ckdevice.h a job has of it a handler and a record that says that no driver is loaded.
 */
#include "device_layer.h"

#include <stdlib.h>

#include "../machine/base/cmi_alloc.h"
#include "arena.h"
#include "memory.h"
#include "receiver.h"
#include "sender.h"
#include "staged_in.h"
#include "staged_out.h"

static const struct direct_device calls = {
	.bind = device_bind,
	.put = device_put,
	.rebind = device_rebind,
	.leave = device_leave,
	.end = device_receiver_end,
	.receive = device_receive,
	.owner = device_owner,
	.busy = device_busy,
	.alloc = device_arena_take,
	.free = device_arena_give,
	.read = device_read,
	.write = device_fill,
};

/* ---- messages -------------------------------------------------------------------------------- */

static void control_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct device_msg *d = (const struct device_msg *)m;

	if (d->kind == DEVICE_JOIN)
		device_join_arrived(pe, d);
	else
		device_joined_arrived(pe, d);
	csd_msg_free(pe, m);
}

static const char *control_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct device_msg *d = (const struct device_msg *)m;
	const uint32_t n = d->kind == DEVICE_JOINED ? d->n : 0;

	(void)pe;
	if (d->kind > DEVICE_JOINED)
		return "its kind is unknown";
	if (d->n > PIECES_MOST || m->size != sizeof *d + n * sizeof(CkDirectHandle))
		return "its number of pieces is wrong";
	return NULL;
}

static const struct csd_shape control_shape = {
	.least = sizeof(struct device_msg),
	.always = CMI_F_SYSTEM,
	.misfit = control_misfit,
};

/* ---- start and stop -------------------------------------------------------------------------- */

static int node_start(struct node *node)
{
	struct device_node *dn = cmi_alloc_zero(1, sizeof *dn, "devices");

	pthread_mutex_init(&dn->lock, NULL);
	dn->handler = csd_register(node, "CkDirect, devices", control_arrived);
	csd_expect(node, dn->handler, &control_shape, NULL);
	node->layer[DEVICE_SLOT] = dn;
	return 0;
}

/* The channel layer's part is there when all have started. */
static void ready(struct node *node)
{
	struct direct_node *channels = node->layer[DIRECT_SLOT];

	channels->device = &calls;
}

static void pe_start(struct pe *pe)
{
	pe->layer[DEVICE_SLOT] = cmi_alloc_zero(1, sizeof(struct device_pe), "devices");
}

static void pe_stop(struct pe *pe)
{
	struct device_pe *dp = device_pe_of(pe);

	for (int i = 0; i < dp->n_held; i++)
		cmi_detach(pe->wire, dp->held[i]);
	free(dp->held);
	dp->held = NULL;
	dp->n_held = 0;
}

/* A stream of the program may still wait, as in a job that ends early: then what would stop the
 * thread is left to the end of the process. */
static void stop_devices(struct node *node, struct device_node *dn)
{
	const bool all_idle = dn->loaded && device_all_idle(dn);

	device_memory_release(node, all_idle);
	device_arena_release(dn, all_idle);
	if (all_idle)
		device_release(dn);
	free(dn->streams);
}

static void free_pe(struct pe *pe)
{
	struct device_pe *dp = device_pe_of(pe);

	if (!dp)
		return;
	device_receivers_free(dp);
	device_senders_free(direct_of(pe));
	free(dp);
	pe->layer[DEVICE_SLOT] = NULL;
}

/* Before the channel layer's, which frees the sending ends and the lines. */
static void node_stop(struct node *node)
{
	struct device_node *dn = node->layer[DEVICE_SLOT];

	if (!dn)
		return;
	for (int i = 0; i < node->job->my_n_pes; i++)
		if (node->pes[i])
			free_pe(node->pes[i]);
	stop_devices(node, dn);
	pthread_mutex_destroy(&dn->lock);
	free(dn);
	node->layer[DEVICE_SLOT] = NULL;
}

const struct csd_layer device_layer = {
	.name = "device",
	.node_start = node_start,
	.ready = ready,
	.pe_start = pe_start,
	.pe_stop = pe_stop,
	.node_stop = node_stop,
	.slot = DEVICE_SLOT,
};
