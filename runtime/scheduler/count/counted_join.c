/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted_join.c: combines the counts of all PEs at the end of a job, up the tree of PE 0. Each PE
 * sends those of its subtree just before it reports that the subtree has stopped (exit.c), so they
 * arrive first. Rows are added; PEs and links are listed.
 *
 *   | counts_msg | rows | PEs, each with its numbers | links |
 */
#include "counted_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

struct counts_msg {
	struct cmi_msg head;
	uint32_t n_rows, n_numbers, n_pes, n_links;
};

static size_t pe_bytes(const struct csd_counting *k)
{
	return sizeof(struct count_pe) + (size_t)k->n_numbers * sizeof(uint64_t);
}

static struct count_sum *sum_of(struct pe *pe)
{
	const struct csd_counting *k = pe->node->counting;
	struct count_sum *s = pe->counts->sum;

	if (s)
		return s;
	s = cmi_alloc_zero(1, sizeof *s, "statistics");
	s->pe_bytes = pe_bytes(k);
	s->rows = cmi_alloc_zero((size_t)k->n_rows, sizeof *s->rows, "statistics");
	return pe->counts->sum = s;
}

void counts_sum_free(struct pe_counts *c)
{
	free(c->sum->rows);
	free(c->sum->pes);
	free(c->sum->links);
	free(c->sum);
	c->sum = NULL;
}

static struct count_pe *add_pes(struct count_sum *s, uint32_t n)
{
	s->pes = cmi_realloc(s->pes, s->n_pes + n, s->pe_bytes, "statistics");
	s->n_pes += n;
	return count_pe_at(s, s->n_pes - n);
}

static struct count_sum_link *add_links(struct count_sum *s, uint32_t n)
{
	s->links = cmi_realloc(s->links, s->n_links + n, sizeof *s->links, "statistics");
	s->n_links += n;
	return s->links + s->n_links - n;
}

static void add_row(struct count_sum_row *to, const struct count_sum_row *r)
{
	if (r->calls && (!to->calls || r->longest_ns > to->longest_ns)) {
		to->longest_ns = r->longest_ns;
		to->longest_pe = r->longest_pe;
	}
	to->calls += r->calls;
	to->ns += r->ns;
	for (int b = 0; b < COUNT_BUCKETS; b++)
		to->buckets[b] += r->buckets[b];
}

/* ---- this PE --------------------------------------------------------------------------------- */

static void add_own_rows(struct pe *pe, struct count_sum *s, double ns_per_tick)
{
	for (int i = 0; i < pe->node->counting->n_rows; i++) {
		const struct count_row *r = &pe->counts->rows[i];
		struct count_sum_row own = {
			.calls = r->calls, .ns = (uint64_t)((double)r->ticks * ns_per_tick),
			.longest_ns = (uint64_t)((double)r->longest * ns_per_tick),
			.longest_pe = (uint64_t)pe->id,
		};

		memcpy(own.buckets, r->buckets, sizeof own.buckets);
		add_row(&s->rows[i], &own);
	}
}

static void add_own_links(struct pe *pe, struct count_sum *s)
{
	flow_count_links(pe, pe->counts->links);
	for (int i = 0; i < pe->node->job->n_nodes; i++) {
		const struct count_link *l = &pe->counts->links[i];

		if (l->messages || l->puts)
			*add_links(s, 1) = (struct count_sum_link){ (uint64_t)pe->node->job->node, (uint64_t)i, *l };
	}
}

static uint64_t pool_bytes(const struct msg_pool *pool)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < pool->n_slabs; i++)
		if (!pool->slabs[i].hollow)
			bytes += msg_slab_bytes(pool->slabs[i].cls);
	return bytes;
}

void counts_add_own(struct pe *pe, uint64_t to_ticks, uint64_t to_ns)
{
	const struct csd_counting *k = pe->node->counting;
	const struct pe_counts *c = pe->counts;
	struct count_sum *s = sum_of(pe);
	const uint64_t ticks = to_ticks - c->from_ticks;
	const double ns_per_tick = ticks ? (double)(to_ns - c->from_ns) / (double)ticks : 1;
	struct count_pe *p = add_pes(s, 1);

	*p = (struct count_pe){
		.pe = (uint64_t)pe->id, .node = (uint64_t)pe->node->job->node, .wall_ns = to_ns - c->from_ns,
		.sent = pe->n_created, .handled = pe->n_processed, .dispatched = pe->n_dispatched,
		.pool_bytes = pool_bytes(&pe->pool),
	};
	for (int i = 0; i < GAUGE_STATES; i++)
		p->ns[i] = (uint64_t)((double)atomic_load_explicit(&c->gauge->ticks[i], memory_order_relaxed) *
				      ns_per_tick);
	for (int i = 0; i < k->n_numbers; i++)
		p->numbers[i] = k->numbers[i].unit >= COUNT_TICKS ?
				(uint64_t)((double)c->numbers[i] * ns_per_tick) : c->numbers[i];
	add_own_rows(pe, s, ns_per_tick);
	add_own_links(pe, s);
}

/* ---- up the tree ----------------------------------------------------------------------------- */

static size_t message_bytes(uint64_t n_rows, uint64_t n_numbers, uint64_t n_pes, uint64_t n_links)
{
	return sizeof(struct counts_msg) + n_rows * sizeof(struct count_sum_row) +
	       n_pes * (sizeof(struct count_pe) + n_numbers * sizeof(uint64_t)) +
	       n_links * sizeof(struct count_sum_link);
}

static void counts_send_up(struct pe *pe)
{
	const struct csd_counting *k = pe->node->counting;
	const struct count_sum *s = sum_of(pe);
	struct counts_msg *m = (struct counts_msg *)csd_msg_alloc(
		pe, message_bytes((uint64_t)k->n_rows, (uint64_t)k->n_numbers, s->n_pes, s->n_links));
	char *at = (char *)(m + 1);

	m->head.handler = (uint16_t)k->handler;
	m->head.flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	m->n_rows = (uint32_t)k->n_rows;
	m->n_numbers = (uint32_t)k->n_numbers;
	m->n_pes = s->n_pes;
	m->n_links = s->n_links;
	at = mempcpy(at, s->rows, (size_t)k->n_rows * sizeof *s->rows);
	at = mempcpy(at, s->pes, s->n_pes * s->pe_bytes);
	if (s->n_links)
		memcpy(at, s->links, s->n_links * sizeof *s->links);
	csd_send_now(pe, csd_tree_parent(pe, 0), &m->head);
}

static void counts_arrived(struct pe *pe, struct cmi_msg *msg)
{
	const struct counts_msg *m = (const struct counts_msg *)msg;
	struct count_sum *s = sum_of(pe);
	const struct count_sum_row *rows = (const struct count_sum_row *)(const void *)(m + 1);
	const char *pes = (const char *)(rows + m->n_rows);

	for (uint32_t i = 0; i < m->n_rows; i++)
		add_row(&s->rows[i], &rows[i]);
	memcpy(add_pes(s, m->n_pes), pes, m->n_pes * s->pe_bytes);
	if (m->n_links)
		memcpy(add_links(s, m->n_links), pes + m->n_pes * s->pe_bytes,
		       m->n_links * sizeof *s->links);
	csd_msg_free(pe, msg);
}

/* The tables are the same on all nodes, so a child's rows and numbers are ours. */
static const char *counts_misfit(struct pe *pe, const struct cmi_msg *msg)
{
	const struct csd_counting *k = pe->node->counting;
	const struct counts_msg *m = (const struct counts_msg *)msg;

	if (m->n_rows != (uint32_t)k->n_rows || m->n_numbers != (uint32_t)k->n_numbers ||
	    m->n_pes > (uint32_t)pe->node->job->n_pes ||
	    m->head.size != message_bytes(m->n_rows, m->n_numbers, m->n_pes, m->n_links))
		return "its counts are not those that it announces";
	return NULL;
}

int counts_register(struct node *node)
{
	static const struct csd_shape shape = {
		.least = sizeof(struct counts_msg), .always = CMI_F_SYSTEM | CMI_F_EXPEDITED,
		.ways = { CSD_UP }, .misfit = counts_misfit,
	};

	if (!node->counting || !node->counting->report)
		return 0;
	node->counting->handler = csd_register(node, "csd.counts", counts_arrived);
	csd_own(node, node->counting->handler);
	csd_expect(node, node->counting->handler, &shape, NULL);
	return 0;
}

int counts_subtree_ended(struct pe *pe)
{
	const struct csd_counting *k = pe->node->counting;
	int err = 0;

	if (!k || !k->report)
		return 0;
	if (pe->id != 0)
		counts_send_up(pe);
	else if (k->file)
		err = counts_write(pe);
	else
		counts_print(pe);
	return err;
}
