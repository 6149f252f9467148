/* SPDX-License-Identifier: Apache-2.0 */
/* loads.c: loads of PEs, and the quality of a distribution. */
#include "lb_loads.h"
#include "../../machine/base/cmi_alloc.h"

#include <math.h>
#include <string.h>

/* As fmax, without libm. */
static double larger(double a, double b) { return a > b ? a : b; }

static double clean(double x, double otherwise) { return isfinite(x) && x > 0 ? x : otherwise; }

struct share { double fixed, speed; };

static int by_fixed(const void *a_, const void *b_)
{
	const struct share *a = a_, *b = b_;

	return (a->fixed > b->fixed) - (a->fixed < b->fixed);
}

/* Work is filled in like water: PEs with much background get none until the level reaches it. */
static double level_of(const struct lb_loads *l)
{
	struct share *share = cmi_alloc((size_t)l->n_pes * sizeof *share, "balancing");
	double speed = 0, sum = l->total, level = 0;

	for (int p = 0; p < l->n_pes; p++)
		share[p] = (struct share){ l->fixed[p], l->speed[p] };
	qsort(share, (size_t)l->n_pes, sizeof *share, by_fixed);
	for (int p = 0; p < l->n_pes && (p == 0 || share[p].fixed < level); p++) {
		speed += share[p].speed;
		sum += share[p].fixed * share[p].speed;
		level = sum / speed;
	}
	free(share);
	return level;
}

struct lb_loads *lb_loads_create(const CkLBStats *s, const int32_t *to)
{
	size_t pes = (size_t)s->n_pes;
	struct lb_loads *l = cmi_alloc_zero(1, sizeof *l + (3 * pes + s->n) * sizeof(double), "balancing");

	l->n_pes = s->n_pes;
	l->n = s->n;
	l->speed = (double *)(l + 1);
	l->fixed = l->speed + pes;
	l->load = l->fixed + pes;
	l->work = l->load + pes;
	for (size_t p = 0; p < pes; p++) {
		l->speed[p] = clean(s->speed[p], 1);
		l->fixed[p] = clean(s->background[p], 0);
	}
	for (size_t i = 0; i < s->n; i++) {
		const CkLBElement *e = &s->element[i];

		if (e->pinned)
			l->fixed[e->pe] += clean(e->seconds, 0);
		else
			l->work[i] = clean(e->seconds, 0) * l->speed[e->pe];
		l->total += l->work[i];
	}
	memcpy(l->load, l->fixed, pes * sizeof *l->load);
	for (size_t i = 0; i < s->n; i++)
		lb_loads_move(l, i, -1, s->element[i].pinned ? s->element[i].pe : to ? to[i] : s->element[i].pe);
	l->level = level_of(l);
	l->limit = l->level * (1 + clean(s->tolerance, 0));
	return l;
}

double lb_loads_max(const struct lb_loads *l)
{
	double max = 0;

	for (int p = 0; p < l->n_pes; p++)
		max = larger(max, l->load[p]);
	return max;
}

void lb_undo_if_worse(const CkLBStats *s, int32_t *to, double enough)
{
	struct lb_loads *before = lb_loads_create(s, NULL), *after = lb_loads_create(s, to);

	if (lb_loads_max(after) > larger(lb_loads_max(before), enough))
		for (size_t i = 0; i < s->n; i++)
			to[i] = s->element[i].pe;
	free(before);
	free(after);
}

/* ---- elements by work ------------------------------------------------------------------------ */

struct weighed { double work; uint32_t i; };

static int most_first(const void *a_, const void *b_)
{
	const struct weighed *a = a_, *b = b_;

	if (a->work != b->work)
		return a->work < b->work ? 1 : -1;
	return (a->i > b->i) - (a->i < b->i);
}

uint32_t *lb_by_work(const CkLBStats *s, const struct lb_loads *l, size_t *n_p)
{
	struct weighed *w = cmi_alloc(s->n * sizeof *w, "balancing");
	uint32_t *order = cmi_alloc(s->n * sizeof *order, "balancing");
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!s->element[i].pinned)
			w[n++] = (struct weighed){ l->work[i], (uint32_t)i };
	qsort(w, n, sizeof *w, most_first);
	for (size_t k = 0; k < n; k++)
		order[k] = w[k].i;
	free(w);
	*n_p = n;
	return order;
}

/* ---- the quality of a distribution ----------------------------------------------------------- */

static void count_move(const CkLBStats *s, const CkLBElement *e, int32_t to, struct lb_quality *q)
{
	if (to == e->pe)
		return;
	q->n_moved++;
	if (s->node_of[to] != s->node_of[e->pe]) {
		q->n_moved_far++;
		q->bytes_moved += e->bytes;
	}
}

static void count_edge(const CkLBStats *s, const CkLBEdge *e, int32_t from, int32_t to,
		       struct lb_quality *q)
{
	if (from == to)
		return;
	q->messages_cut += e->messages;
	q->bytes_cut += e->bytes;
	if (s->node_of[from] != s->node_of[to])
		q->bytes_cut_far += e->bytes;
}

void lb_quality(const CkLBStats *s, const int32_t *to, struct lb_quality *q)
{
	struct lb_loads *l = lb_loads_create(s, to);
	double speed = 0, work = 0;

	*q = (struct lb_quality){ .max = lb_loads_max(l), .fair = l->level };
	for (int p = 0; p < l->n_pes; p++) {
		q->fair = larger(q->fair, l->fixed[p]);
		speed = larger(speed, l->speed[p]);
	}
	for (size_t i = 0; i < s->n; i++) {
		work = larger(work, l->work[i]);
		if (to && !s->element[i].pinned)
			count_move(s, &s->element[i], to[i], q);
	}
	q->largest = work / speed;
	for (size_t k = 0; k < s->n_edges; k++) {
		uint32_t a = s->edge[k].from, b = s->edge[k].to;

		count_edge(s, &s->edge[k], to ? to[a] : s->element[a].pe, to ? to[b] : s->element[b].pe, q);
	}
	free(l);
}
