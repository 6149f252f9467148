/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c: statistics as a graph, and its parts as PEs. */
#include "lb_graph.h"
#include "../../machine/base/cmi_alloc.h"

#include <errno.h>

enum {
	MESSAGE_BYTES = 256,      /* a message costs as much as this many bytes: some 0.1 us at 2 to 3
				   * GB/s */
	SUM_MOST = 500000000,     /* of all weights: partitioners add them up in 32 bits */
};

/* ---- edges, both ways ------------------------------------------------------------------------ */

struct half { uint32_t from, to; double weight; };

static int by_ends(const void *a_, const void *b_)
{
	const struct half *a = a_, *b = b_;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Each edge twice, once from each end; parallel edges are added up. *n_p of them, sorted. */
static struct half *both_ways(const CkLBStats *s, size_t *n_p)
{
	struct half *h = cmi_alloc(2 * s->n_edges * sizeof *h, "balancing");
	size_t n = 0, m = 0;

	for (size_t k = 0; k < s->n_edges; k++) {
		const CkLBEdge *e = &s->edge[k];
		double weight = (double)e->bytes + MESSAGE_BYTES * (double)e->messages;

		if (e->from == e->to)
			continue;
		h[n++] = (struct half){ e->from, e->to, weight };
		h[n++] = (struct half){ e->to, e->from, weight };
	}
	qsort(h, n, sizeof *h, by_ends);
	for (size_t k = 0; k < n; k++)
		if (m && by_ends(&h[m - 1], &h[k]) == 0)
			h[m - 1].weight += h[k].weight;
		else
			h[m++] = h[k];
	*n_p = m;
	return h;
}

static void set_edges(struct lb_graph *g, const struct half *h, size_t n)
{
	double sum = 0, scale;

	for (size_t k = 0; k < n; k++)
		sum += h[k].weight;
	scale = sum > SUM_MOST ? SUM_MOST / sum : 1;
	for (size_t k = 0; k < n; k++) {
		g->first[h[k].from + 1]++;
		g->other[k] = (int32_t)h[k].to;
		g->edge[k] = 1 + (int32_t)(h[k].weight * scale);
	}
	for (int32_t i = 0; i < g->n; i++)
		g->first[i + 1] += g->first[i];
	g->n_adj = (int32_t)n;
}

/* ---- PEs ------------------------------------------------------------------------------------- */

/* A PE whose background leaves it next to nothing gets no part: a partitioner cannot make empty
 * parts. */
static void set_parts(struct lb_graph *g)
{
	const struct lb_loads *l = g->loads;
	double sum = 0, least = 1e-3 * l->total / l->n_pes;

	for (int p = 0; p < l->n_pes; p++) {
		double share = (l->level - l->fixed[p]) * l->speed[p];

		if (share <= least)
			continue;
		sum += share;
		g->pe[g->n_parts] = p;
		g->share[g->n_parts++] = share;
	}
	for (int32_t k = 0; k < g->n_parts; k++)
		g->share[k] /= sum;
}

/* An element larger than any part counts as a whole part. With its true size METIS more often
 * leaves parts without elements. */
static void set_work(struct lb_graph *g)
{
	const struct lb_loads *l = g->loads;
	double most = 0;

	for (int32_t k = 0; k < g->n_parts; k++)
		most = g->share[k] > most ? g->share[k] : most;
	for (int32_t i = 0; i < g->n; i++) {
		double part = l->work[i] > 0 ? l->work[i] / l->total : 0;

		g->work[i] = part > 0 ? 1 + (int32_t)((part < most ? part : most) * SUM_MOST) : 0;
	}
}

static struct lb_graph *graph_create(const CkLBStats *s, const int32_t *to)
{
	size_t n_half = 0, pes = (size_t)s->n_pes;
	struct half *h;

	if (s->n_edges > INT32_MAX / 2 || s->n > INT32_MAX - 1)
		return NULL;
	struct lb_graph *g = cmi_alloc_zero(1, sizeof *g, "balancing");

	h = both_ways(s, &n_half);
	g->n = (int32_t)s->n;
	g->first = cmi_alloc_zero(s->n + 1, sizeof *g->first, "balancing");
	g->other = cmi_alloc(n_half * sizeof *g->other, "balancing");
	g->edge = cmi_alloc(n_half * sizeof *g->edge, "balancing");
	g->work = cmi_alloc_zero(s->n, sizeof *g->work, "balancing");
	g->pe = cmi_alloc(pes * sizeof *g->pe, "balancing");
	g->share = cmi_alloc(pes * sizeof *g->share, "balancing");
	g->loads = lb_loads_create(s, to);
	set_edges(g, h, n_half);
	free(h);
	set_parts(g);
	set_work(g);
	return g;
}

static void graph_free(struct lb_graph *g)
{
	free(g->first);
	free(g->other);
	free(g->edge);
	free(g->work);
	free(g->pe);
	free(g->share);
	free(g->loads);
	free(g);
}

/* ---- parts as PEs ---------------------------------------------------------------------------- */

/** Work of a part that is now on the PE of another part's number. */
struct overlap { int32_t part, at; double work; };

static int by_part(const void *a_, const void *b_)
{
	const struct overlap *a = a_, *b = b_;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static int most_work(const void *a_, const void *b_)
{
	const struct overlap *a = a_, *b = b_;

	if (a->work != b->work)
		return a->work < b->work ? 1 : -1;
	return by_part(a, b);
}

static struct overlap *overlaps(const CkLBStats *s, const struct lb_graph *g, const int32_t *part,
				size_t *n_p)
{
	int32_t *number = cmi_alloc((size_t)s->n_pes * sizeof *number, "balancing");
	struct overlap *o = cmi_alloc(s->n * sizeof *o, "balancing");
	size_t n = 0, m = 0;

	for (int p = 0; p < s->n_pes; p++)
		number[p] = -1;
	for (int32_t k = 0; k < g->n_parts; k++)
		number[g->pe[k]] = k;
	for (size_t i = 0; i < s->n; i++)
		if (!s->element[i].pinned && number[s->element[i].pe] >= 0)
			o[n++] = (struct overlap){ part[i], number[s->element[i].pe], g->loads->work[i] };
	qsort(o, n, sizeof *o, by_part);
	for (size_t k = 0; k < n; k++)
		if (m && by_part(&o[m - 1], &o[k]) == 0)
			o[m - 1].work += o[k].work;
		else
			o[m++] = o[k];
	qsort(o, m, sizeof *o, most_work);
	free(number);
	*n_p = m;
	return o;
}

/* Within a percent. */
static bool same_share(const struct lb_graph *g, int32_t a, int32_t b)
{
	return g->share[a] <= 1.01 * g->share[b] && g->share[b] <= 1.01 * g->share[a];
}

/* The PE of each part, by number. The pair with most work first; a remaining part keeps its own
 * number, or takes the next free one of its share, or any. */
static int32_t *name_parts(const CkLBStats *s, const struct lb_graph *g, const int32_t *part)
{
	size_t n = 0, parts = (size_t)g->n_parts;
	struct overlap *o = overlaps(s, g, part, &n);
	int32_t *name = cmi_alloc(2 * parts * sizeof *name, "balancing"), *owner = name + parts;

	for (int32_t k = 0; k < g->n_parts; k++)
		name[k] = owner[k] = -1;
	for (size_t k = 0; k < n; k++)
		if (name[o[k].part] < 0 && owner[o[k].at] < 0 && same_share(g, o[k].part, o[k].at)) {
			name[o[k].part] = o[k].at;
			owner[o[k].at] = o[k].part;
		}
	for (int alike = 1; alike >= 0; alike--)
		for (int32_t k = 0, at = 0; k < g->n_parts; k++, at = 0) {
			while (name[k] < 0 && at < g->n_parts && (owner[at] >= 0 || (alike && !same_share(g, k, at))))
				at++;
			if (name[k] < 0 && at < g->n_parts) {
				name[k] = at;
				owner[at] = k;
			}
		}
	free(o);
	return name;
}

static void place(const CkLBStats *s, const struct lb_graph *g, const int32_t *part, bool rename,
		  int32_t *to)
{
	int32_t *name = rename ? name_parts(s, g, part) : NULL;

	for (size_t i = 0; i < s->n; i++)
		if (!s->element[i].pinned)
			to[i] = g->pe[name ? name[part[i]] : part[i]];
	free(name);
	lb_undo_if_worse(s, to, g->loads->limit);
}

int lb_graph_run(const CkLBStats *s, lb_partition_fn partition, const void *library, bool rename,
		 int32_t *to)
{
	struct lb_graph *g = graph_create(s, to);
	int err = 0;

	if (!g)
		return -E2BIG;
	if (g->loads->total > 0 && g->n_parts > 1 && g->n > g->n_parts) {
		int32_t *part = cmi_alloc_zero(s->n, sizeof *part, "balancing");

		err = partition(library, s, g, part);
		if (!err)
			place(s, g, part, rename, to);
		free(part);
	}
	graph_free(g);
	return err;
}
