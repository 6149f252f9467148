/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refine.c: as few moves as possible until no PE has more than the level and the tolerance. The PE
 * with most gives to the PE with least: the smallest element that brings it below the limit, or
 * else the largest that fits. Where elements are too large for that, it continues while the longest
 * PE gets shorter.
 *
 * An element moves once at most. When nothing helps the longest PE any more, the others stay as
 * they are: the program's next iteration would not end sooner.
 */
#include "lb_refine.h"
#include "strategies.h"
#include "../machine/base/cmi_alloc.h"

struct refine {
	const struct lb_loads *l;
	uint32_t *element;        /* of PE p: element[first[p]] .. element[first[p + 1] - 1], most work
				   * first */
	size_t *first;
	size_t *next;             /* of an index into `element`: itself, or a later one if the element has
				   * gone */
};

/* Elements of all PEs, each PE's by work. */
static void sort_by_pe(struct refine *r, const CkLBStats *s, const int32_t *to)
{
	size_t n = 0;
	uint32_t *order = lb_by_work(s, r->l, &n);
	size_t *at = cmi_alloc_zero((size_t)s->n_pes + 2, sizeof *at, "balancing");

	r->element = cmi_alloc(n * sizeof *r->element, "balancing");
	r->next = cmi_alloc((n + 1) * sizeof *r->next, "balancing");
	for (size_t k = 0; k < n; k++)
		at[to[order[k]] + 2]++;
	for (int p = 2; p <= s->n_pes; p++)
		at[p] += at[p - 1];
	for (size_t k = 0; k < n; k++)
		r->element[at[to[order[k]] + 1]++] = order[k];
	for (size_t k = 0; k <= n; k++)
		r->next[k] = k;
	r->first = at;
	free(order);
}

/* The first index from k on whose element is still there. */
static size_t still_there(struct refine *r, size_t k)
{
	while (r->next[k] != k)
		k = r->next[k] = r->next[r->next[k]];
	return k;
}

/* The first index of the PE with at most this much work. */
static size_t at_most(const struct refine *r, int pe, double work)
{
	size_t low = r->first[pe], high = r->first[pe + 1];

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->l->work[r->element[mid]] <= work)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* The element of `from` that should go to `to`; the index after its last one: none. */
static size_t choose_element(struct refine *r, int from, int to, double limit)
{
	const struct lb_loads *l = r->l;
	double need = (l->load[from] - limit) * l->speed[from],
	       room = (limit - l->load[to]) * l->speed[to];
	double even = (l->load[from] - l->load[to]) / (1 / l->speed[from] + 1 / l->speed[to]);
	size_t end = r->first[from + 1], least = at_most(r, from, need), k = at_most(r, from, room);

	/* The last one with at least the needed work. */
	if (least > r->first[from] && least - 1 > k)
		k = least - 1;
	k = still_there(r, k);
	if (k < end && l->work[r->element[k]] > 0)
		return k;
	/* Nothing fits below the limit. An element that evens out the two helps, and so does the smallest
	 * one. */
	k = still_there(r, at_most(r, from, even));
	if (k < end && l->work[r->element[k]] > 0)
		return k;
	for (k = at_most(r, from, even); k-- > r->first[from];)
		if (r->next[k] == k)
			return l->load[to] + l->work[r->element[k]] / l->speed[to] < l->load[from] ? k : end;
	return end;
}

void lb_refine_loads(const CkLBStats *s, struct lb_loads *l, int32_t *to)
{
	struct refine r = { .l = l };
	struct lb_heap most, least;
	double limit = l->limit;

	sort_by_pe(&r, s, to);
	lb_heap_init(&most, l->n_pes, l->load, -1);
	lb_heap_init(&least, l->n_pes, l->load, 1);
	for (int from, dest;
	     from = lb_heap_top(&most), dest = lb_heap_top(&least), l->load[from] > limit;) {
		size_t k = choose_element(&r, from, dest, limit);

		if (k == r.first[from + 1])
			break;
		to[r.element[k]] = dest;
		lb_loads_move(l, r.element[k], from, dest);
		r.next[k] = k + 1;
		lb_heap_changed(&most, from);
		lb_heap_changed(&most, dest);
		lb_heap_changed(&least, from);
		lb_heap_changed(&least, dest);
	}
	lb_heap_fini(&most);
	lb_heap_fini(&least);
	free(r.element);
	free(r.next);
	free(r.first);
}

int lb_refine(const CkLBStats *s, int32_t *to, void *arg)
{
	struct lb_loads *l = lb_loads_create(s, to);

	(void)arg;
	lb_refine_loads(s, l, to);
	free(l);
	return 0;
}
