/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuts.c: the elements in index order, cut into one run per PE. A dense array that is placed so
 * finds its elements as fast as one that never moved.
 *
 * The cuts are optimal: the time of the longest PE is found by bisection, where a time is possible
 * if PEs that take as much as they can in that time, one after the other, take everything (Pinar
 * and Aykanat, Fast optimal load balancing algorithms for 1D partitioning, 2004). Prefix sums make
 * a try cost n_pes searches.
 *
 * Several cuts keep within that time, or within the tolerance if that is more. Each cut then stays
 * as close as possible to the present one, so that few elements move: its range begins, from the
 * right, at the first position that leaves the later PEs no more than they can take, and ends, from
 * the left, at the last one that a PE reaches.
 */
#include "lb_chain.h"
#include "loads/lb_loads.h"
#include "strategies.h"
#include "../machine/base/cmi_alloc.h"

struct chain {
	const struct lb_loads *l;
	size_t n;
	double *sum;              /* [n + 1] of the work of the first k elements of the row */
	size_t *cut;              /* [n_pes + 1] PE p gets cut[p] .. cut[p + 1] - 1 */
};

static uint32_t nth(const uint32_t *order, size_t k) { return order ? order[k] : (uint32_t)k; }

static double capacity(const struct chain *c, int pe, double seconds)
{
	double left = seconds - c->l->fixed[pe];

	return left > 0 ? left * c->l->speed[pe] : 0;
}

/* The last k with at most this sum. sum[low] must not be more. */
static size_t last_at_most(const struct chain *c, size_t low, double sum)
{
	size_t high = c->n;

	while (low < high) {
		size_t mid = low + (high - low + 1) / 2;

		if (c->sum[mid] <= sum)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* The first k with at least this sum. */
static size_t first_at_least(const struct chain *c, size_t high, double sum)
{
	size_t low = 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->sum[mid] >= sum)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static size_t cuts_reach(const struct chain *c, int pe, size_t from, double seconds)
{
	return last_at_most(c, from, c->sum[from] + capacity(c, pe, seconds));
}

static bool is_possible(const struct chain *c, double seconds)
{
	size_t at = 0;

	for (int p = 0; p < c->l->n_pes && at < c->n; p++)
		at = cuts_reach(c, p, at, seconds);
	return at == c->n;
}

/* The shortest time, to a millionth. With the largest element on top of the level every PE fills up
 * to its share of the level, so that is an upper bound; only rounding of the sums may make it too
 * small. */
static double shortest(const struct chain *c)
{
	double low = c->l->level, high = low, largest = 0, slowest = c->l->speed[0];

	for (size_t k = 0; k < c->n; k++)
		largest = c->sum[k + 1] - c->sum[k] > largest ? c->sum[k + 1] - c->sum[k] : largest;
	for (int p = 1; p < c->l->n_pes; p++)
		slowest = c->l->speed[p] < slowest ? c->l->speed[p] : slowest;
	for (high += largest / slowest; !is_possible(c, high); high *= 1 + 1e-6)
		;
	while (high - low > 1e-6 * high) {
		double mid = (low + high) / 2;

		if (is_possible(c, mid))
			high = mid;
		else
			low = mid;
	}
	return high;
}

/* The row's present cuts, if it is cut. */
static bool present_cuts(const CkLBStats *s, const uint32_t *order, size_t *cut)
{
	int p = 0;

	cut[0] = 0;
	for (size_t k = 0; k < s->n; k++) {
		const CkLBElement *e = &s->element[nth(order, k)];

		if (e->pinned)
			continue;
		if (e->pe < p)
			return false;
		while (p < e->pe)
			cut[++p] = k;
	}
	while (p < s->n_pes)
		cut[++p] = s->n;
	return true;
}

/* Cuts that give each PE its share of the level. */
static void even_cuts(const struct chain *c)
{
	double sum = 0;

	c->cut[0] = 0;
	for (int p = 0; p < c->l->n_pes; p++) {
		sum += capacity(c, p, c->l->level);
		c->cut[p + 1] = last_at_most(c, 0, sum);
	}
}

/* Move each cut to the nearest position that is possible in that time. */
static void shift_cuts(const struct chain *c, double seconds)
{
	int n_pes = c->l->n_pes;
	size_t *first = cmi_alloc(((size_t)n_pes + 1) * sizeof *first, "balancing");

	first[n_pes] = c->n;
	for (int p = n_pes - 1; p > 0; p--)
		first[p] = first_at_least(c, first[p + 1], c->sum[first[p + 1]] - capacity(c, p, seconds));
	for (int p = 1; p < n_pes; p++) {
		size_t last = cuts_reach(c, p - 1, c->cut[p - 1], seconds);

		if (c->cut[p] < first[p])
			c->cut[p] = first[p];
		if (c->cut[p] > last)
			c->cut[p] = last;
		if (c->cut[p] < c->cut[p - 1])
			c->cut[p] = c->cut[p - 1];
	}
	c->cut[n_pes] = c->n;
	free(first);
}

void lb_chain(const CkLBStats *s, const uint32_t *order, int32_t *to)
{
	struct lb_loads *l = lb_loads_create(s, to);
	struct chain c = { .l = l, .n = s->n };

	if (l->total > 0) {
		c.sum = cmi_alloc((s->n + 1) * sizeof *c.sum, "balancing");
		c.cut = cmi_alloc(((size_t)s->n_pes + 1) * sizeof *c.cut, "balancing");
		c.sum[0] = 0;
		for (size_t k = 0; k < s->n; k++)
			c.sum[k + 1] = c.sum[k] + l->work[nth(order, k)];
		if (!present_cuts(s, order, c.cut))
			even_cuts(&c);
		double seconds = shortest(&c);

		shift_cuts(&c, seconds > l->limit ? seconds : l->limit);
		for (int p = 0; p < s->n_pes; p++)
			for (size_t k = c.cut[p]; k < c.cut[p + 1]; k++)
				to[nth(order, k)] = p;
		free(c.sum);
		free(c.cut);
		lb_undo_if_worse(s, to, l->limit);
	}
	free(l);
}

int lb_cuts(const CkLBStats *s, int32_t *to, void *arg)
{
	(void)arg;
	lb_chain(s, NULL, to);
	return 0;
}
