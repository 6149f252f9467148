/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_layer.c: connects the channel layer and the scheduler: start, each pass of the loop,
 * control messages, stop; and the calls that belong to neither end alone. No other file here calls
 * this one.
 *
 * All memory of the layer is freed in node_stop, not in pe_stop: when one PE has ended, another PE
 * of the node, or the network, may still use its memory.
 */
#include "direct_layer.h"

#include <stdlib.h>
#include <string.h>

#include "../machine/base/cmi_alloc.h"
#include "../machine/base/cmi_env.h"
#include "transfer/arrival.h"
#include "ends/bells.h"
#include "ends/channel.h"
#include "ckdirect.h"
#include "core/direct_control.h"
#include "direct_describe.h"
#include "direct_ends.h"
#include "direct_inside.h"
#include "core/direct_rules.h"
#include "core/direct_state.h"
#include "transfer/put.h"

/* Up to this many channels that other PEs put into, a PE polls them; with more, their senders ring
 * a bell. A round trip through one of N armed channels took 0.20 us polled and 0.28 with bells for
 * N = 1, 0.30 both ways for N = 32, 0.47 and 0.30 for N = 128; one of a message beside them 18, 50
 * and 730 % more for N = 16, 128 and 1000 polled, at most 5 % with bells (bench/channels).
 * CK_DIRECT_POLL_MAX overrides it. */
enum { DIRECT_POLL_MAX = 32 };

/* The pattern that checked mode writes over freed receive buffers. */
enum { FREED = 0xdd };

/* ---- polling ----------------------------------------------------------------------- */

/** The upcall `poll`. Completions come first: a function that an arrival runs must find the puts
 * that led to this arrival complete. All polls are inline here. The loop calls this several times
 * while a message makes its round trip, so a nanosecond more here is three more there. */
static int poll_all(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);
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

/* A bell that rings while no channel waits for one comes from a program that breaks a rule, so it
 * may wait this long. */
enum { IDLE_LOOK_US = 100 * 1000 };

/** csd_layer.nap. A pass polls bells only while an armed channel waits for one. Bells that ring at
 * other times report puts into marked channels, and puts that came too early or too late: those
 * leave the job without work, so they are found here. */
static int64_t listen_when_idle(struct pe *pe, uint64_t now)
{
	struct direct_pe *d = direct_of(pe);

	(void)now;
	if (!d->n_bell)
		direct_bells_take(pe, UINT32_MAX);
	return d->n_bells ? IDLE_LOOK_US : -1;
}

/* ---- control messages -------------------------------------------------------------- */

static void control_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct direct_control_msg *c = (const struct direct_control_msg *)m;

	switch ((enum direct_control)c->kind) {
	case DIRECT_BELL:
		direct_bell_arrived(pe, (const struct direct_bell_msg *)m);
		break;
	case DIRECT_BOUND:
		direct_bound_arrived(pe, c);
		break;
	case DIRECT_ASK:
		direct_ask_arrived(pe, c);
		break;
	case DIRECT_GO:
		direct_go_arrived(c);
		break;
	}
	csd_msg_free(pe, m);
}

static const char *control_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct direct_control_msg *c = (const struct direct_control_msg *)m;
	const bool bell = m->size >= sizeof(struct direct_bell_msg) && c->kind == DIRECT_BELL;

	if (bell != !!(m->flags & CMI_F_EXPEDITED))
		return "its flags are wrong for such a message";
	if (bell) {
		const struct direct_bell_msg *b = (const struct direct_bell_msg *)m;

		if (!b->n_slots || b->n_slots & (b->n_slots - 1))
			return "its bell has an invalid number of slots";
		return b->addr % _Alignof(struct bell) ? "its bell lies where none can be" : NULL;
	}
	/* The addresses in ASK and GO are trusted: in checked mode a hash has verified them. */
	if (m->size != sizeof *c || c->kind == DIRECT_BELL || c->kind > DIRECT_GO ||
	    (c->kind != DIRECT_BOUND && !pe->node->check))
		return "its kind is unknown";
	return NULL;
}

static const struct csd_shape control_shape = {
	.least = sizeof(struct cmi_msg) + 2 * sizeof(uint32_t),
	.always = CMI_F_SYSTEM,
	.may = CMI_F_EXPEDITED,
	.misfit = control_misfit,
};

/* ---- start ------------------------------------------------------------------------- */

/** CK_DIRECT_PATH. */
static enum direct_path forced_path(void)
{
	static const char *const words[] = {"memory", "rma", "message"};

	return (enum direct_path)(DIRECT_MEMORY + cmi_env_word("CK_DIRECT_PATH", words, 3,
							       DIRECT_UNBOUND - DIRECT_MEMORY));
}

/** In the order of the enums that index them. */
static void direct_name_counts(struct node *node, struct direct_node *dn)
{
	static const char channels[] = "channels";

	dn->count_row = node->count->row(node, "channel", "functions of channels");
	dn->count_puts = node->count->number(node, channels, "puts by memory", COUNT_TIMES);
	node->count->number(node, channels, "puts by rma", COUNT_TIMES);
	node->count->number(node, channels, "puts by message", COUNT_TIMES);
	node->count->number(node, channels, "puts by device", COUNT_TIMES);
	node->count->number(node, channels, "puts by device-ipc", COUNT_TIMES);
	node->count->number(node, channels, "puts by device-vmm", COUNT_TIMES);
	node->count->number(node, channels, "puts by device-staged", COUNT_TIMES);
	dn->count_found = node->count->number(node, channels, "found by polling", COUNT_TIMES);
	node->count->number(node, channels, "found by bell", COUNT_TIMES);
	node->count->number(node, channels, "found here", COUNT_TIMES);
	dn->count_waited = node->count->number(node, channels, "waited", COUNT_TICKS);
	node->count->number(node, channels, "waited longest", COUNT_TICKS_MOST);
}
_Static_assert(DIRECT_RMA == DIRECT_MEMORY + 1 && DIRECT_MESSAGE == DIRECT_RMA + 1 &&
		       DIRECT_DEVICE_STAGED == DIRECT_MESSAGE + 4,
	       "as direct_name_counts names them");

static int node_start(struct node *node)
{
	struct direct_node *dn = cmi_alloc_zero(1, sizeof(*dn), "channels");
	const uint32_t shape[] = {
		sizeof(struct direct_handle),
		sizeof(struct direct_shared),
		sizeof(struct bell),
		sizeof(struct cmi_put_head),
		node->check, /* both ends must make their half of the checks */
	};

	dn->force = forced_path();
	dn->poll_max = (uint32_t)cmi_env_number("CK_DIRECT_POLL_MAX", DIRECT_POLL_MAX, 0, INT32_MAX);
	dn->handler = csd_register(node, "CkDirect", control_arrived);
	csd_expect(node, dn->handler, &control_shape, NULL);
	csd_fingerprint(node, shape, sizeof(shape));
	node->layer[DIRECT_SLOT] = dn;
	if (node->count)
		direct_name_counts(node, dn);
	return 0;
}

static void pe_start(struct pe *pe)
{
	struct direct_pe *d = cmi_alloc_aligned(_Alignof(struct direct_pe), sizeof(*d), "channels");

	pollset_init(&d->set);
	d->done_tail = &d->done;
	d->poll_max = direct_node_of(pe)->poll_max;
	pe->layer[DIRECT_SLOT] = d;
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
	direct_looks_free(d);
	direct_channels_free(node, d);
	direct_senders_free(d);
	direct_bells_free(node, d);
	pollset_fini(&d->set);
	free(d);
}

static void node_stop(struct node *node)
{
	for (int i = 0; i < node->job->my_n_pes; i++) {
		struct pe *pe = node->pes[i];

		if (!pe)
			continue;
		if (direct_of(pe))
			free_pe(node, direct_of(pe));
		pe->layer[DIRECT_SLOT] = NULL;
	}
	free(node->layer[DIRECT_SLOT]);
	node->layer[DIRECT_SLOT] = NULL;
}

const struct csd_layer direct_layer = {
	.name = "direct",
	.node_start = node_start,
	.pe_start = pe_start,
	.pe_stop = pe_stop,
	.node_stop = node_stop,
	.describe = direct_describe,
	.refuse = direct_refuse,
	.look = direct_look,
	.held = direct_held,
	.bytes_sent = direct_bytes_sent,
	.nap = listen_when_idle,
	.up = {
		.poll = poll_all,
		.put_arrived = direct_put_arrived,
		.inside = direct_inside,
		.ends = &direct_ends,
		.put_piece = direct_put_piece,
	},
	.slot = DIRECT_SLOT,
};

/* ---- calls for both ends ----------------------------------------------------------- */

void CkDirect_destroyHandle(CkDirectHandle *handle)
{
	struct pe *pe = direct_self("CkDirect_destroyHandle");
	struct direct_handle *h = direct_open(handle);

	if (h->magic == DIRECT_MAGIC && h->sender_pe == pe->id) {
		direct_sender_destroy(pe, h);
	} else {
		/* There is space for all arrivals: each channel is in `rung` once. */
		direct_bells_take(pe, UINT32_MAX);
		direct_channel_destroy(pe, h);
	}
	h->magic = DIRECT_DEAD;
}

void *CkDirect_alloc(size_t bytes)
{
	return cmi_mem_alloc(direct_self("CkDirect_alloc")->node->machine, bytes);
}

void CkDirect_free(void *p)
{
	struct pe *pe = direct_self("CkDirect_free");
	struct cmi *m = pe->node->machine;

	if (!p)
		return;
	if (pe->node->check) {
		size_t bytes = cmi_mem_bytes(m, p);

		direct_check_free(pe, p, bytes);
		/* A channel of another PE detects that its buffer changed. */
		memset(p, FREED, bytes);
	}
	cmi_mem_free(m, p);
}
