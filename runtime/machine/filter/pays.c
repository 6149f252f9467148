/* SPDX-License-Identifier: Apache-2.0 */
/* pays.c: see pays.h. */
#include "pays.h"

enum {
	LEAST = 1024,         /* bytes; the link's time for fewer is mostly not that of the bytes */
	CUT_LEAST = 16 << 10, /* halves of these take long enough to be measured */
	CUT_EVERY = 64,
	FIRST_WAIT = 4,
	LONGEST_WAIT = 1024,
	MEMORY_BYTES = 4 << 20, /* of the link's speed: what came longer ago counts half */
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
}

void pays_came(struct host_pays *h, size_t bytes, uint64_t gap_ns)
{
	h->came_bytes += (double)bytes;
	h->came_ns += (double)gap_ns;
	if (h->came_bytes > MEMORY_BYTES) {
		h->came_bytes /= 2;
		h->came_ns /= 2;
	}
}

uint32_t pays_came_kbs(const struct host_pays *h)
{
	const double kbs = h->came_ns > 0 ? 1e6 * h->came_bytes / h->came_ns : 0;

	return kbs > UINT32_MAX ? UINT32_MAX : (uint32_t)kbs;
}

bool pays_to_cut(const struct host_pays *h, size_t bytes, unsigned n)
{
	return bytes >= CUT_LEAST && (!h->link_kbs || n % CUT_EVERY == 0);
}
