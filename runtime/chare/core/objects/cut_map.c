/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut_map.c: an array whose map is a table of cuts through its row-major order: PE p has the places
 * cuts[p] .. cuts[p + 1] - 1. Each PE's elements are a run, so a call of one of them finds it as in
 * an array with blocks. The home of any other place is found by a search in the table, which
 * `guess` shortens: it has the PE of the first place of each bucket of 2^shift places. With about
 * four buckets for each PE, mostly one comparison remains.
 */
#include "../../../machine/base/cmi_alloc.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS_PER_PE = 4 };

struct cuts {
	int n_pes, n_runs;
	unsigned shift;
	const int32_t *guess;     /* after `at`: [places / 2^shift + 2] */
	uint64_t at[];            /* [n_pes + 1] */
};

/* The last PE from lo to hi whose run begins at the place or before. Empty runs come before the one
 * that begins where they do. The compiler makes no branch of the comparison, which would be
 * unpredictable. */
static int search(const uint64_t *at, int lo, int hi, uint64_t place)
{
	for (int n = hi - lo + 1, half; n > 1; n -= half) {
		half = n / 2;
		lo = at[lo + half] <= place ? lo + half : lo;
	}
	return lo;
}

/* How many of the first PEs have places, if the others have none; else 0. */
static int cuts_count_runs(const uint64_t *at, int n_pes)
{
	int n = 0;

	while (n < n_pes && at[n] < at[n + 1])
		n++;
	return at[n] == at[n_pes] ? n : 0;
}

struct cuts *cuts_new(const uint64_t *at, int n_pes)
{
	const size_t n = (size_t)n_pes;
	const uint64_t total = at[n];
	unsigned shift = 0;

	while (total >> shift > BUCKETS_PER_PE * n)
		shift++;

	const size_t n_guess = (size_t)(total >> shift) + 2;
	struct cuts *k = cmi_alloc(sizeof *k + (n + 1) * sizeof *at + n_guess * sizeof(int32_t),
				   "the map of an array");
	int32_t *guess = (int32_t *)(void *)(k->at + n + 1);

	k->n_pes = n_pes;
	k->n_runs = cuts_count_runs(at, n_pes);
	k->shift = shift;
	k->guess = guess;
	memcpy(k->at, at, (n + 1) * sizeof *at);
	for (size_t i = 0; i < n_guess; i++)
		guess[i] = search(at, 0, n_pes - 1, (uint64_t)i << shift);
	return k;
}

int cuts_home(const struct cuts *k, uint64_t place)
{
	const int32_t *guess = k->guess + (place >> k->shift);

	return search(k->at, guess[0], guess[1], place);
}

uint64_t cuts_first(const struct cuts *k, int of_pe) { return k->at[of_pe]; }

int cuts_n_runs(const struct cuts *k) { return k->n_runs; }

static int home_by_cuts(struct pe *pe, const struct collection *c, uint64_t place)
{
	(void)pe;
	return cuts_home(c->homes.cuts, place);
}

void coll_cut(struct pe *pe, struct collection *c, struct cuts *k)
{
	if (!c->homes.cuts)
		c->homes.born_map = c->homes.map;
	free(c->homes.cuts);
	c->homes.cuts = k;
	c->homes.map = NULL;
	idmap_free(&c->homes.slots);
	c->homes.home = home_by_cuts;
	c->homes.n_maps++;
	c->first = k->at[pe->id];
}
