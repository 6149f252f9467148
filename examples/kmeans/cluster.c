/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c: Lloyd's algorithm, one round over a part of the points. */
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "kmeans.decl.h"

enum { EXTENT = 1 << 20 };      /* coordinates are in 0 .. EXTENT */

/* Point i belongs to one of `clusters` hidden places. Its offset from there is the sum of two random
 * numbers, so that points are denser in the middle. */
static long coordinate(long i, uint64_t axis)
{
	uint64_t s = (uint64_t)seed, at = 4 * (uint64_t)i + 2 * axis;
	uint64_t place = (uint64_t)random_below(s + 1, (uint64_t)i, clusters);
	long hidden = random_below(s + 2, 2 * place + axis, EXTENT * 3 / 4);

	return hidden + random_below(s + 3, at, EXTENT / 8) +
	       random_below(s + 3, at + 1, EXTENT / 8);
}

void part_init(struct part *p, long first, long n)
{
	p->n = n;
	p->x = malloc((size_t)n * sizeof *p->x + 1);
	p->y = malloc((size_t)n * sizeof *p->y + 1);
	p->cluster = malloc((size_t)n * sizeof *p->cluster + 1);
	if (!p->x || !p->y || !p->cluster)
		CkAbort("kmeans: no memory for %ld points", n);
	for (long i = 0; i < n; i++) {
		p->x[i] = coordinate(first + i, 0);
		p->y[i] = coordinate(first + i, 1);
		p->cluster[i] = -1;
	}
}

void part_fini(struct part *p)
{
	free(p->x);
	free(p->y);
	free(p->cluster);
}

static int nearest(long x, long y, int k, const struct centre *centres)
{
	int best = 0;
	double least = 0;

	for (int c = 0; c < k; c++) {
		double dx = (double)x - centres[c].x, dy = (double)y - centres[c].y;
		double d = dx * dx + dy * dy;

		if (c == 0 || d < least) {
			least = d;
			best = c;
		}
	}
	return best;
}

void part_assign(struct part *p, int k, const struct centre *centres, long *sums)
{
	memset(sums, 0, (size_t)sums_count(k) * sizeof *sums);
	for (long i = 0; i < p->n; i++) {
		int c = nearest(p->x[i], p->y[i], k, centres);
		long *s = sums + (size_t)c * N_SUMS;

		s[SUM_X] += p->x[i];
		s[SUM_Y] += p->y[i];
		s[SUM_N]++;
		sums[k * N_SUMS] += c != p->cluster[i];
		p->cluster[i] = c;
	}
}

void centres_init(int k, struct centre *centres)
{
	for (int c = 0; c < k; c++) {
		long i = points * c / k;

		centres[c] = (struct centre){(double)coordinate(i, 0), (double)coordinate(i, 1)};
	}
}

long centres_move(int k, struct centre *centres, const long *sums)
{
	for (int c = 0; c < k; c++) {
		const long *s = sums + (size_t)c * N_SUMS;

		if (s[SUM_N] > 0) {
			centres[c].x = (double)s[SUM_X] / (double)s[SUM_N];
			centres[c].y = (double)s[SUM_Y] / (double)s[SUM_N];
		}
	}
	return sums[k * N_SUMS];
}
