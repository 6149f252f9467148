/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sfc.c: the elements along a Hilbert curve through their positions, cut into one run per PE.
 * Elements that are spatial neighbours then mostly live side by side, whatever their indices are.
 *
 * The position on the curve follows from the bits of the coordinates, by Skilling's transform
 * (Programming the Hilbert curve, 2004): from the highest bit down it turns and mirrors the lower
 * bits, then takes Gray's code.
 */
#include "lb_chain.h"
#include "strategies.h"
#include "../machine/base/cmi_alloc.h"

#include <math.h>

struct box { double least[3], scale; int axis[3], n; };

static double coordinate(const CkLBElement *e, int axis)
{
	return isfinite(e->position[axis]) ? (double)e->position[axis] : 0;
}

/* The axes with an extent; the same scale for all. */
static void find_box(const CkLBStats *s, struct box *box)
{
	double most = 0;

	*box = (struct box){ .scale = 0 };
	for (int axis = 0; axis < 3; axis++) {
		double low = INFINITY, high = -INFINITY;

		for (size_t i = 0; i < s->n; i++) {
			double x = coordinate(&s->element[i], axis);

			low = x < low ? x : low;
			high = x > high ? x : high;
		}
		if (!(high > low))
			continue;
		box->least[box->n] = low;
		box->axis[box->n++] = axis;
		most = high - low > most ? high - low : most;
	}
	box->scale = most > 0 ? 1 / most : 0;
}

/* The position on the curve of x[0 .. n - 1], each of `bits` bits. */
static uint64_t curve(uint32_t *x, int n, int bits)
{
	const uint32_t top = UINT32_C(1) << (bits - 1);
	uint32_t flip = 0;
	uint64_t key = 0;

	for (uint32_t bit = top; bit > 1; bit >>= 1)
		for (int k = 0; k < n; k++) {
			uint32_t below = bit - 1, swap = (x[0] ^ x[k]) & below;

			if (x[k] & bit) {
				x[0] ^= below;
			} else {
				x[0] ^= swap;
				x[k] ^= swap;
			}
		}
	for (int k = 1; k < n; k++)
		x[k] ^= x[k - 1];
	for (uint32_t bit = top; bit > 1; bit >>= 1)
		if (x[n - 1] & bit)
			flip ^= bit - 1;
	for (int bit = bits - 1; bit >= 0; bit--)
		for (int k = 0; k < n; k++)
			key = key << 1 | ((x[k] ^ flip) >> bit & 1);
	return key;
}

static uint64_t curve_key(const CkLBElement *e, const struct box *box)
{
	const int bits = box->n == 3 ? 21 : 31;
	uint32_t x[3];

	for (int k = 0; k < box->n; k++)
		x[k] = (uint32_t)((coordinate(e, box->axis[k]) - box->least[k]) * box->scale *
				  ((UINT32_C(1) << bits) - 1));
	return box->n ? curve(x, box->n, bits) : 0;
}

struct placed { uint64_t at; uint32_t i; };

static int by_curve_key(const void *a_, const void *b_)
{
	const struct placed *a = a_, *b = b_;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->i > b->i) - (a->i < b->i);
}

int lb_sfc(const CkLBStats *s, int32_t *to, void *arg)
{
	struct placed *row = cmi_alloc(s->n * sizeof *row, "balancing");
	uint32_t *order = cmi_alloc(s->n * sizeof *order, "balancing");
	struct box box;

	(void)arg;
	find_box(s, &box);
	for (size_t i = 0; i < s->n; i++)
		row[i] = (struct placed){ curve_key(&s->element[i], &box), (uint32_t)i };
	qsort(row, s->n, sizeof *row, by_curve_key);
	for (size_t k = 0; k < s->n; k++)
		order[k] = row[k].i;
	free(row);
	lb_chain(s, order, to);
	free(order);
	return 0;
}
