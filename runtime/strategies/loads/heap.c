/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c: PEs ordered by a changing key: a binary heap that knows the position of each PE. */
#include "lb_loads.h"
#include "../../machine/base/cmi_alloc.h"

static bool before(const struct lb_heap *h, int a, int b)
{
	double x = h->sign * h->key[a], y = h->sign * h->key[b];

	return x != y ? x < y : a < b;
}

static void heap_put(struct lb_heap *h, int at, int item)
{
	h->item[at] = item;
	h->at[item] = at;
}

static void sift_up(struct lb_heap *h, int at)
{
	int item = h->item[at];

	for (int up; at > 0 && before(h, item, h->item[up = (at - 1) / 2]); at = up)
		heap_put(h, at, h->item[up]);
	heap_put(h, at, item);
}

static void sift_down(struct lb_heap *h, int at)
{
	int item = h->item[at];

	for (int down; (down = 2 * at + 1) < h->n; at = down) {
		if (down + 1 < h->n && before(h, h->item[down + 1], h->item[down]))
			down++;
		if (!before(h, h->item[down], item))
			break;
		heap_put(h, at, h->item[down]);
	}
	heap_put(h, at, item);
}

void lb_heap_init(struct lb_heap *h, int n, const double *key, double sign)
{
	*h = (struct lb_heap){ .n = n, .key = key, .sign = sign };
	h->item = cmi_alloc(2 * (size_t)n * sizeof *h->item, "balancing");
	h->at = h->item + n;
	for (int i = 0; i < n; i++)
		heap_put(h, i, i);
	for (int i = n / 2 - 1; i >= 0; i--)
		sift_down(h, i);
}

void lb_heap_fini(struct lb_heap *h) { free(h->item); }

void lb_heap_changed(struct lb_heap *h, int item)
{
	int at = h->at[item];

	if (at < 0)
		return;
	sift_up(h, at);
	sift_down(h, h->at[item]);
}

void lb_heap_remove(struct lb_heap *h, int item)
{
	int at = h->at[item], last = h->item[--h->n];

	h->at[item] = -1;
	if (last == item)
		return;
	heap_put(h, at, last);
	lb_heap_changed(h, last);
}
