/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c: where the channel layer meets the scheduler: start, poll, stop; and the calls that
 * belong to neither end alone.
 *
 * All memory of the layer is given back in node_stop, not in pe_stop: another PE of the node, or
 * the network, may still look at it while one PE has ended.
 */
#include "direct_layer.h"

#include "direct_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- polling ----------------------------------------------------------------------- */

/** The upcall `poll`. Completions first: a function that an arrival runs must find the puts that
 * led to this arrival complete. All looks are here, without a call: a message passes by in each
 * pass of its trip, and a nanosecond more here is three more in its round trip. */
static int poll_channels(struct pe *pe)
{
	struct direct_pe *d = pe->direct;
	int n = 0;

	if (CSD_UNLIKELY(d->done != NULL))
		n += direct_run_completions(pe);
	if (d->n_bell && direct_bells_ring(d))
		direct_bells_take(pe, DIRECT_ARRIVALS_MAX);
	if (d->rung.head != d->rung.tail)
		n += direct_run_rung(pe);
	if (d->set.n)
		n += direct_run_polled(pe);
	return n;
}

/* ---- start ------------------------------------------------------------------------- */

/** CK_DIRECT_PATH; a value that is none of the three is an error, not a default. */
static int forced_path(enum direct_path *force_p)
{
	static const char *const names[] = {"", "memory", "rma", "message"};
	const char *value = getenv("CK_DIRECT_PATH");

	*force_p = DIRECT_UNBOUND;
	if (!value)
		return 0;
	for (int i = 0; i < 4; i++) {
		if (strcmp(value, names[i]) == 0) {
			*force_p = (enum direct_path)i;
			return 0;
		}
	}
	fprintf(stderr, "chard: CK_DIRECT_PATH=%s is no path; use memory, rma or message\n",
		value);
	return -EINVAL;
}

/** CK_DIRECT_POLL_MAX. */
static int poll_max(uint32_t *most_p)
{
	const char *value = getenv("CK_DIRECT_POLL_MAX");
	char *end;
	long n;

	*most_p = DIRECT_POLL_MAX;
	if (!value || !*value)
		return 0;
	n = strtol(value, &end, 10);
	if (*end || n < 0 || n > INT32_MAX) {
		fprintf(stderr, "chard: CK_DIRECT_POLL_MAX=%s is not a number of channels\n",
			value);
		return -EINVAL;
	}
	*most_p = (uint32_t)n;
	return 0;
}

static int node_start(struct node *node)
{
	struct direct_node *dn = calloc(1, sizeof(*dn));
	const uint32_t shape[] = {
		sizeof(struct direct_handle),
		sizeof(struct direct_shared),
		sizeof(struct bell),
		sizeof(struct cmi_put_head),
		node->check, /* both ends must do their half of the checks */
	};
	int err;

	if (!dn) {
		fprintf(stderr, "chard: no memory to start channels\n");
		return -ENOMEM;
	}
	err = forced_path(&dn->force);
	if (!err)
		err = poll_max(&dn->poll_max);
	if (err) {
		free(dn);
		return err;
	}
	dn->handler = csd_register(node, "CkDirect", direct_control_arrived);
	csd_fingerprint(node, shape, sizeof(shape));
	node->direct = dn;
	return 0;
}

static void pe_start(struct pe *pe)
{
	struct direct_pe *d = aligned_alloc(_Alignof(struct direct_pe), sizeof(*d));

	if (!d)
		csd_abort(pe, "no memory to start channels");
	memset(d, 0, sizeof(*d));
	pollset_init(&d->set);
	d->done_tail = &d->done;
	d->poll_max = pe->node->direct->poll_max;
	pe->direct = d;
}

/* ---- stop -------------------------------------------------------------------------- */

static void pe_stop(struct pe *pe)
{
	pe->armed = 0;
	direct_bells_stop(pe);
	direct_senders_stop(pe);
}

static void free_pe(struct node *node, struct direct_pe *d)
{
	for (uint32_t i = 0; i < d->n_channels; i += DIRECT_BLOCK) {
		cmi_mem_free(node->machine, d->channel_blocks[i / DIRECT_BLOCK]->shared);
		free(d->channel_blocks[i / DIRECT_BLOCK]);
	}
	direct_senders_free(d);
	free(d->channel_blocks);
	free(d->rung.item);
	pollset_fini(&d->set);
	direct_bells_free(node, d);
	free(d);
}

static void node_stop(struct node *node)
{
	for (int i = 0; i < node->job->my_n_pes; i++) {
		struct pe *pe = node->pes[i];

		if (pe && pe->direct)
			free_pe(node, pe->direct);
		if (pe)
			pe->direct = NULL;
	}
	free(node->direct);
	node->direct = NULL;
}

const struct csd_layer direct_layer = {
	.name = "direct",
	.node_start = node_start,
	.pe_start = pe_start,
	.pe_stop = pe_stop,
	.node_stop = node_stop,
	.up = {
		.poll = poll_channels,
		.put_arrived = direct_put_arrived,
	},
	.slot = 1,
};

/* ---- calls for both ends ----------------------------------------------------------- */

void CkDirect_destroyHandle(CkDirectHandle *handle)
{
	struct pe *pe = direct_self("CkDirect_destroyHandle");
	struct direct_handle *h = direct_open(handle);

	if (h->magic == DIRECT_MAGIC && h->sender_pe == pe->id)
		direct_sender_destroy(pe, h);
	else
		direct_channel_destroy(pe, h);
	h->magic = DIRECT_DEAD;
}

void *CkDirect_alloc(size_t bytes)
{
	return cmi_mem_alloc(direct_self("CkDirect_alloc")->node->machine, bytes);
}

void CkDirect_free(void *p)
{
	if (p)
		cmi_mem_free(direct_self("CkDirect_free")->node->machine, p);
}
