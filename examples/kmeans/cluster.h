/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.h: what k-means does to a part of the points. Points are integers, so that sums over
 * them do not depend on the order in which they are added: the parallel run and the serial one get
 * the same centres to the last bit.
 */
#ifndef KMEANS_CLUSTER_H
#define KMEANS_CLUSTER_H

struct centre {
	double x, y;
};

/** Points first .. first + n - 1, and the cluster that each belongs to. */
struct part {
	long n;
	long *x, *y;
	int *cluster;           /* -1: none yet */
};

/* The sums of a part, and of all parts: for each cluster the coordinates and the number of its
 * points; after them, how many points have changed their cluster. */
enum { SUM_X, SUM_Y, SUM_N, N_SUMS };

static inline int sums_count(int k)
{
	return k * N_SUMS + 1;
}

void part_init(struct part *p, long first, long n);
void part_fini(struct part *p);
/** Assign each point to its nearest centre, to the first of equals. Fills sums_count(k) sums. */
void part_assign(struct part *p, int k, const struct centre *centres, long *sums);
/** The centres that the first round begins with: some of the points. */
void centres_init(int k, struct centre *centres);
/** Move each centre to the mean of its points. A centre without points stays. Returns how many points
 * have changed their cluster. */
long centres_move(int k, struct centre *centres, const long *sums);

#endif
