/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diffusion.c: PEs balance in pairs, without knowing the others' loads (Cybenko, Dynamic load
 * balancing for distributed memory multiprocessors, 1989: dimension exchange). PE p meets PE p ^ 1,
 * p ^ 2, p ^ 4 and so on. The one with more gives elements, the largest first, until both have
 * about the same. With a power of two PEs one sweep over all dimensions balances perfectly
 * divisible work; a few sweeps do for elements and for other numbers.
 *
 * It begins with the PEs that are furthest apart, so that the last sweeps move work between
 * neighbours only, which are mostly in one process.
 */
#include "loads/lb_loads.h"
#include "strategies.h"
#include "../machine/base/cmi_alloc.h"


enum { SWEEPS = 4 };

/** The elements of a PE that may move, most work first. */
struct bag { uint32_t *element; size_t n; };

struct diffusion {
	struct lb_loads *l;
	struct bag *bag;          /* [n_pes] */
	int32_t *to;
	double tolerance;
};

static bool comes_first(const struct lb_loads *l, uint32_t a, uint32_t b)
{
	return l->work[a] != l->work[b] ? l->work[a] > l->work[b] : a < b;
}

/* Add n sorted elements to a bag. */
static void bag_add(const struct lb_loads *l, struct bag *bag, const uint32_t *more, size_t n)
{
	uint32_t *both = cmi_alloc((bag->n + n) * sizeof *both, "balancing");
	size_t a = 0, b = 0;

	while (a < bag->n || b < n)
		if (b == n || (a < bag->n && comes_first(l, bag->element[a], more[b]))) {
			both[a + b] = bag->element[a];
			a++;
		} else {
			both[a + b] = more[b];
			b++;
		}
	free(bag->element);
	*bag = (struct bag){ both, a + b };
}

/* `from` gives away elements with at most this much work. Returns whether it had any. */
static bool give_work(struct diffusion *d, int from, int to, double work)
{
	struct bag *bag = &d->bag[from];
	uint32_t *given = cmi_alloc(bag->n * sizeof *given, "balancing");
	size_t n = 0, kept = 0;

	for (size_t k = 0; k < bag->n; k++) {
		uint32_t i = bag->element[k];

		if (d->l->work[i] > 0 && d->l->work[i] <= work) {
			work -= d->l->work[i];
			d->to[i] = to;
			lb_loads_move(d->l, i, from, to);
			given[n++] = i;
		} else {
			bag->element[kept++] = i;
		}
	}
	bag->n = kept;
	bag_add(d->l, &d->bag[to], given, n);
	free(given);
	return n > 0;
}

/* Returns whether anything moved. */
static bool meet(struct diffusion *d, int a, int b)
{
	const struct lb_loads *l = d->l;
	int from = l->load[a] >= l->load[b] ? a : b, to = a + b - from;
	double speed = l->speed[a] + l->speed[b];
	double even = (l->load[a] * l->speed[a] + l->load[b] * l->speed[b]) / speed;

	if (l->load[from] <= even * (1 + d->tolerance))
		return false;
	return give_work(d, from, to, (l->load[from] - even) * l->speed[from]);
}

static bool sweep(struct diffusion *d)
{
	int n_pes = d->l->n_pes, apart = 1;
	bool moved = false;

	while (apart < n_pes)
		apart *= 2;
	for (apart /= 2; apart > 0; apart /= 2)
		for (int p = 0; p < n_pes; p++)
			if (!(p & apart) && (p | apart) < n_pes)
				moved |= meet(d, p, p | apart);
	return moved;
}

static void fill_bags(struct diffusion *d, const CkLBStats *s)
{
	size_t n = 0;
	uint32_t *order = lb_by_work(s, d->l, &n);
	size_t *count = cmi_alloc_zero((size_t)s->n_pes, sizeof *count, "balancing");

	for (size_t k = 0; k < n; k++)
		count[d->to[order[k]]]++;
	for (int p = 0; p < s->n_pes; p++)
		d->bag[p].element = cmi_alloc(count[p] * sizeof *order, "balancing");
	for (size_t k = 0; k < n; k++) {
		struct bag *bag = &d->bag[d->to[order[k]]];

		bag->element[bag->n++] = order[k];
	}
	free(count);
	free(order);
}

/* A PE meets others in each dimension, so the remaining imbalances of the dimensions add up. */
static int n_dimensions(int n_pes)
{
	int n = 1;

	while (1 << n < n_pes)
		n++;
	return n;
}

int lb_diffusion(const CkLBStats *s, int32_t *to, void *arg)
{
	struct diffusion d = { .l = lb_loads_create(s, to), .to = to,
		.bag = cmi_alloc_zero((size_t)s->n_pes, sizeof(struct bag), "balancing") };

	(void)arg;
	d.tolerance = d.l->level > 0 ? (d.l->limit / d.l->level - 1) / n_dimensions(s->n_pes) : 0;
	fill_bags(&d, s);
	for (int k = 0; k < SWEEPS && sweep(&d); k++)
		;
	for (int p = 0; p < s->n_pes; p++)
		free(d.bag[p].element);
	free(d.bag);
	free(d.l);
	return 0;
}
