/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistics.c: the measured loads of PEs and elements: collects a PE's, and sends them up the tree
 * to PE 0.
 */
#include "step_int.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"

#include <string.h>

/* ---- this PE's measurements ------------------------------------------------------------------ */

struct pace sync_pace(struct pe *pe, const struct collection *c)
{
	return meter_pace(pe, &sync_of(c)->share_at, sync_of(c)->busy_at);
}

double sync_busy(struct pe *pe, const struct collection *c, const struct pace *pace)
{
	const struct meter *m = ck_state(pe, PART_BALANCE);

	return (double)(meter_busy(m) - sync_of(c)->busy_at) * pace->tick;
}

static void step_room(struct step *p, size_t pes, size_t elems, size_t edges)
{
	if (p->n_edges + edges > p->cap_edges) {
		p->cap_edges = p->n_edges ? 2 * (p->n_edges + edges) : edges;
		p->edges = cmi_realloc(p->edges, p->cap_edges, sizeof(*p->edges), "load balancing");
	}
	if (p->n_pes + pes > p->cap_pes) {
		p->cap_pes = 2 * (p->n_pes + pes);
		p->pes = cmi_realloc(p->pes, p->cap_pes, sizeof(*p->pes), "load balancing");
	}
	if (p->n + elems > p->cap) {
		p->cap = p->n ? 2 * (p->n + elems) : elems;
		p->elems = cmi_realloc(p->elems, p->cap, sizeof(*p->elems), "load balancing");
	}
}

static struct elem_record statistics_record(struct pe *pe, struct ck_obj *obj, enum step_way way,
					    enum forecast by)
{
	const struct lb_elem *e = elem_of(obj);
	struct elem_record r = {
		.index = obj->index,
		.pe = pe->id,
		.seconds = e->past.says[by],
		.has_position = e->has_position,
		.pinned = e->pinned || !e->waits || !obj_takes_calls(obj) ||
			  place_pinned(pe, obj) || (way == AT_REST && place_moves_alone(pe, obj)),
	};

	memcpy(r.position, e->position, sizeof r.position);
	return r;
}

static void add_edges(struct step *p, const struct edge_record *e, size_t n)
{
	if (n)
		memcpy(p->edges + p->n_edges, e, n * sizeof *e);
	p->n_edges += n;
}

/* Measurements become past here, where the pace is known at which the elements ran. */
void statistics_own(struct pe *pe, struct collection *c, struct step *p, enum forecast by)
{
	const struct edges *edges = &sync_of(c)->edges;
	const struct pace pace = sync_pace(pe, c);
	double measured = 0;
	struct ck_obj *obj;

	edges_add_puts(pe, c);
	step_room(p, 1, sync_of(c)->n_live, edges->n);
	add_edges(p, edges->list, edges->n);
	for (uint64_t at = 0; (obj = coll_each(c, &at));) {
		measured += (double)elem_of(obj)->ticks * pace.tick;
		past_learn(&elem_of(obj)->past, elem_seconds_now(elem_of(obj), &pace));
		p->elems[p->n++] = statistics_record(pe, obj, p->way, by);
	}
	past_learn(&sync_of(c)->background, sync_background(sync_busy(pe, c, &pace), measured));
	p->pes[p->n_pes++] = (struct pe_record){ pe->id, sync_of(c)->background.says[by],
						 (float)pace.speed, 0 };
}

/* ---- up the tree ----------------------------------------------------------------------------- */

void statistics_send(struct pe *pe, struct collection *c, const struct step *p)
{
	const size_t pes = p->n_pes * sizeof *p->pes, elems = p->n * sizeof *p->elems;
	const size_t edges = p->n_edges * sizeof *p->edges;
	struct sync_msg *m = sync_msg_new(pe, c, SYNC_STATS, STILL_BYTES + pes + elems + edges);
	char *at = still_put(m, &p->still);

	m->wave = (uint32_t)p->n_pes;
	m->n = (uint32_t)p->n;
	m->sums.n = p->n_edges;
	memcpy(at, p->pes, pes);
	if (elems)
		memcpy(at + pes, p->elems, elems);
	if (edges)
		memcpy(at + pes + elems, p->edges, edges);
	sync_send(pe, csd_tree_parent(pe, 0), m);
}

void statistics_take(struct step *p, const struct sync_msg *m)
{
	const size_t pes = m->wave * sizeof *p->pes, elems = m->n * sizeof *p->elems;
	struct place_still still;
	const char *at = still_get(m, &still);

	place_still_join(&p->still, &still);
	step_room(p, m->wave, m->n, m->sums.n);
	memcpy(p->pes + p->n_pes, at, pes);
	if (elems)
		memcpy(p->elems + p->n, at + pes, elems);
	add_edges(p, (const struct edge_record *)(const void *)(at + pes + elems), m->sums.n);
	p->n_pes += m->wave;
	p->n += m->n;
	p->n_in++;
}

const char *statistics_misfit(struct pe *pe, const struct sync_msg *m, const void *at)
{
	const struct collection *c = coll_get(pe, m->coll);
	const struct pe_record *pes = at;
	const struct elem_record *elems = (const struct elem_record *)(pes + m->wave);

	if (m->wave > (uint32_t)pe->node->job->n_pes ||
	    m->sums.n > m->head.size ||
	    m->head.size != sizeof *m + STILL_BYTES + m->wave * sizeof *pes + m->n * sizeof *elems +
	    m->sums.n * sizeof(struct edge_record))
		return "its records do not lie within it";
	for (uint32_t i = 0; i < m->wave; i++)
		if (!is_pe(pe, pes[i].pe))
			return "it names a PE that does not exist";
	for (uint32_t i = 0; i < m->n; i++) {
		if (!is_pe(pe, elems[i].pe))
			return "it names a PE that does not exist";
		if (!c->sparse && index_place(c, elems[i].index) == UINT64_MAX)
			return "it names an element that does not exist";
	}
	return NULL;
}
