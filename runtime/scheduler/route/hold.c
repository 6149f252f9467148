/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.c: holds back messages from a PE to others until something has happened that must be known
 * before them. Each reason for holding has a number, and numbers rise. A message is sent when all
 * reasons that are older than it are gone, so a PE with ever new reasons still sends. Messages
 * leave in the order of sending; for quiescence they are under way from the moment of csd_send.
 *
 * While nothing is held, csd_send_away and csd_send_node pay one test.
 */
#include "msg_route.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

struct held_msg {
	struct cmi_msg *m;
	int to;                   /* a PE; of a message with CMI_F_NODE a node */
	uint64_t after;           /* the last reason that is older than it */
};

struct csd_hold {
	uint64_t n_begun;         /* reasons so far; the last one's number */
	uint64_t *open;           /* [n_open], rising: current reasons */
	size_t n_open, cap_open;
	struct held_msg *msgs;    /* [first .. end): what is held, in order */
	size_t first, end, cap;
};

static void *grown(void *old, size_t *cap, size_t item)
{
	size_t more = *cap ? *cap * 2 : 16;
	*cap = more;
	return cmi_realloc(old, more, item, "messages that are held back");
}

uint64_t csd_hold(struct pe *pe)
{
	struct csd_hold *h =
		pe->hold ? pe->hold : cmi_alloc_zero(1, sizeof *h, "messages that are held back");

	pe->hold = h;
	if (h->n_open == h->cap_open)
		h->open = grown(h->open, &h->cap_open, sizeof *h->open);
	return h->open[h->n_open++] = ++h->n_begun;
}

void hold_push(struct pe *pe, int to, struct cmi_msg *m)
{
	struct csd_hold *h = pe->hold;

	if (h->end == h->cap)
		h->msgs = grown(h->msgs, &h->cap, sizeof *h->msgs);
	h->msgs[h->end++] = (struct held_msg){ m, to, h->n_begun };
}

static void hold_free(struct pe *pe)
{
	free(pe->hold->open);
	free(pe->hold->msgs);
	free(pe->hold);
	pe->hold = NULL;
}

/* Model: announce.pml, csd_release */
void csd_release(struct pe *pe, uint64_t reason)
{
	struct csd_hold *h = pe->hold;
	size_t i = 0;

	while (h->open[i] != reason)
		i++;
	memmove(&h->open[i], &h->open[i + 1], (--h->n_open - i) * sizeof *h->open);
	while (h->first < h->end && (!h->n_open || h->msgs[h->first].after < h->open[0])) {
		const struct held_msg out = h->msgs[h->first++];

		if (out.m->flags & CMI_F_NODE)
			route_to_node(pe, out.to, out.m);
		else
			route_to_pe(pe, out.to, out.m);
	}
	if (!h->n_open)
		hold_free(pe);
}

size_t hold_length(const struct pe *pe)
{
	return pe->hold ? pe->hold->end - pe->hold->first : 0;
}

void hold_fini(struct pe *pe)
{
	if (!pe->hold)
		return;
	for (size_t i = pe->hold->first; i < pe->hold->end; i++)
		csd_msg_free(pe, pe->hold->msgs[i].m);
	hold_free(pe);
}
