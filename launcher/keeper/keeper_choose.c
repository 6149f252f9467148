/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_choose.c: a checkpoint is complete if one process has committed it. The page of that
 * process' host says so, and the mirror of its image. Its images may be on any hosts.
 */
#include "keeper_choose.h"

#include <stdlib.h>

static const struct keeper_place NOWHERE = { UINT32_MAX, 0 };

/** An image, to the places. What lies where it was written is read without a copy. */
static void place(struct keeper_choice *c, const struct keeper_image *i, uint32_t peer)
{
	struct keeper_place *p = &c->places[i->node];

	if (p->peer == NOWHERE.peer || (p->mirrored && !i->mirrored))
		*p = (struct keeper_place){ peer, i->mirrored };
}

/** Where the images of checkpoint c->from are. Returns the first node that has none; n_nodes: all
 * have. */
static uint32_t place_all(struct keeper_choice *c, const struct keeper_report *r, uint32_t n)
{
	const uint32_t n_nodes = c->from.info.n_nodes;
	uint32_t node = 0;

	for (uint32_t i = 0; i < n_nodes; i++)
		c->places[i] = NOWHERE;
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; r[k].answers && i < r[k].state.n_images; i++) {
			const struct keeper_image *image = &r[k].images[i];

			if (image->sequence == c->from.sequence && image->job == c->from.info.job &&
			    image->node < n_nodes)
				place(c, image, k);
		}
	while (node < n_nodes && c->places[node].peer != NOWHERE.peer)
		node++;
	return node;
}

/** The newest that is known and older than `below`, to c->from. */
static bool find_info(struct keeper_choice *c, const struct keeper_report *r, uint32_t n,
		      uint64_t below)
{
	c->from.sequence = 0;
	for (uint32_t k = 0; k < n; k++)
		for (int i = 0; r[k].answers && i < KEEPER_INFOS; i++) {
			const struct keeper_info *known = &r[k].state.info[i];

			if (known->sequence <= c->from.sequence || known->sequence >= below ||
			    !known->info.n_nodes || known->info.n_nodes > IMAGE_NODES_MOST)
				continue;
			c->from = *known;
			c->from.info.at_ns = keeper_time(known->info.at_ns, r[k].state.now_ns, r[k].heard_ns);
		}
	return c->from.sequence > 0;
}

/** Of the page that PE 0 had last. */
static void take_since(struct keeper_choice *c, const struct keeper_report *r, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		const struct keeper_since s = r[k].answers ?
			keeper_since_here(r[k].state.since, r[k].state.now_ns, r[k].heard_ns) :
			(struct keeper_since){ 0 };

		if (s.up_ns > c->since.up_ns)
			c->since = s;
	}
}

bool keeper_choose(struct keeper_choice *c, const struct keeper_report *r, uint32_t n)
{
	uint64_t below = UINT64_MAX;

	keeper_choice_fini(c);
	take_since(c, r, n);
	c->newest = 0;
	c->missing = 0;
	for (; find_info(c, r, n, below); below = c->from.sequence) {
		uint32_t missing;

		free(c->places);
		c->places = malloc(c->from.info.n_nodes * sizeof *c->places);
		if (!c->places)
			break;
		missing = place_all(c, r, n);
		if (missing == c->from.info.n_nodes)
			break;
		if (!c->newest)
			c->missing = missing;
		c->newest = c->newest ? c->newest : c->from.sequence;
	}
	if (!c->places)
		c->from.sequence = 0;
	if (c->from.sequence > c->newest)
		c->newest = c->from.sequence;
	return c->from.sequence > 0;
}

void keeper_choice_fini(struct keeper_choice *c)
{
	free(c->places);
	c->places = NULL;
}
