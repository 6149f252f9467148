/* SPDX-License-Identifier: Apache-2.0 */
/* pays.c: see pays.h. */
#include "pays.h"

#include <stdlib.h>

enum {
	LEAST = 1024,         /* bytes; the link's time for fewer is mostly not that of the bytes */
	MEASURED_LEAST = 8 << 10,       /* a frame of fewer is mostly not the link's time, either */
	CUT_LEAST = 2 * MEASURED_LEAST, /* of an item */
	CUT_EVERY = 16,
	MEASURED_EVERY = 16, /* times the bytes of a frame that is left as it is */
	FIRST_WAIT = 4,
	LONGEST_WAIT = 1024,
	GAPS_LEAST = 8,
	QUANTILE = 4, /* a quarter may be shorter, as those that a bucket lets pass at once */
	WAITED_PART = 4,
};

/* Restoring takes zstd and lz4 a third to a half of the time of squeezing. */
static const double RESTORING = 0.5;
/* What is gained must exceed the errors of measuring. */
static const double WORTH = 0.95;
/* Of a new measurement. What makes a squeezer slow, as cold caches and other threads do, often
 * passes. */
static const double WEIGHT = 0.125, WEIGHT_OF_FASTER = 0.5;

static bool worth(const struct host_pays *h, const struct kind_pays *k)
{
	const double link = 1e6 / h->link_kbs;

	return k->ns * (1 + RESTORING) + k->ratio * link < WORTH * link;
}

bool pays_to_try(struct host_pays *h, unsigned kind, size_t bytes)
{
	struct kind_pays *k = &h->kind[kind % PAYS_KINDS];

	if (bytes < LEAST || !h->link_kbs)
		return false;
	if (k->ns == 0 || worth(h, k))
		return true;
	if (k->wait)
		k->wait--;
	return !k->wait;
}

static double mixed(double old, double new, double weight) { return old + weight * (new - old); }

/* Tries that are in vain take this part of the link's time. */
static const double TRIES = 1.0 / 64;

static unsigned wait_of(const struct host_pays *h, const struct kind_pays *k)
{
	const double n = k->ns * h->link_kbs / 1e6 / TRIES;

	return n < LONGEST_WAIT ? (unsigned)n : LONGEST_WAIT;
}

void pays_learn(struct host_pays *h, unsigned kind, size_t bytes, size_t packed, uint64_t ns)
{
	struct kind_pays *k = &h->kind[kind % PAYS_KINDS];
	const double ratio = (double)packed / (double)bytes,
		     each = (double)(ns + 1) / (double)bytes;

	k->ratio = k->ns == 0 ? ratio : mixed(k->ratio, ratio, WEIGHT);
	k->ns = k->ns == 0 ? each : mixed(k->ns, each, each < k->ns ? WEIGHT_OF_FASTER : WEIGHT);
	k->wait = wait_of(h, k);
	h->packed += packed;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint32_t kbs_of(const struct host_pays *h)
{
	const unsigned n = h->n_gaps < PAYS_GAPS ? h->n_gaps : PAYS_GAPS;
	double sorted[PAYS_GAPS], kbs;
	unsigned n_waited = 0;

	if (n < GAPS_LEAST)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		sorted[i] = h->gap[i].most;
		n_waited += h->gap[i].waited;
	}
	if (n_waited * WAITED_PART < n)
		return UINT32_MAX;
	qsort(sorted, n, sizeof *sorted, compare);
	kbs = 1e6 / (sorted[n / QUANTILE] + 1e-9);
	return kbs < UINT32_MAX ? (uint32_t)kbs : UINT32_MAX;
}

void pays_came(struct host_pays *h, size_t bytes, double most, bool waited)
{
	if (bytes < MEASURED_LEAST)
		return;
	h->gap[h->n_gaps++ % PAYS_GAPS] = (struct link_gap){ .most = most, .waited = waited };
	h->came_kbs = kbs_of(h);
}

bool pays_to_measure(struct host_pays *h, size_t bytes)
{
	if (bytes < MEASURED_LEAST || h->packed < MEASURED_EVERY * bytes)
		return false;
	h->packed = 0;
	return true;
}

bool pays_to_cut(const struct host_pays *h, size_t bytes, unsigned n)
{
	return bytes >= CUT_LEAST && (!h->link_kbs || n % CUT_EVERY == 0);
}
