/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuts: what it costs to find the home of an element by cuts, beside a division by blocks. The places come in random
 * order, so that nothing of the search can be guessed, and are known beforehand.
 *
 *	build/bench/cuts [PLACES]
 *
 * Prints `name PEs value ns`, medians:
 *	blocks        one division, as in an array that never moved
 *	cuts          runs that differ by up to half of their mean
 *	cuts-uneven   half of the PEs share the first hundredth of the places: the search is longest
 */
#include <stdio.h>
#include <stdlib.h>

#include "../runtime/chare/place/record/place.h"
#include "bench.h"

enum { PES_MOST = 4096, CALLS = 200000, ROUNDS = 11 };

static uint64_t at[PES_MOST + 1], place[CALLS], random_state = 1;

static uint64_t draw(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 24) % below;
}

static uint64_t homes(const struct cuts *k, const struct collection *c)
{
	uint64_t sum = 0;

	for (int i = 0; i < CALLS; i++)
		sum += (uint64_t)(k ? cuts_home(k, place[i]) : coll_block_home(c, place[i]));
	return sum;
}

static void measure(const char *name, int n_pes, const struct cuts *k, const struct collection *c)
{
	volatile uint64_t sink;
	double us[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		const double t0 = bench_now_us();

		sink = homes(k, c);
		us[r] = bench_now_us() - t0;
	}
	(void)sink;
	printf("%s %d %.1f ns\n", name, n_pes, bench_median(us, ROUNDS) * 1000 / CALLS);
}

static void measure_cuts(const char *name, int n_pes)
{
	struct cuts *k = cuts_new(at, n_pes);

	measure(name, n_pes, k, NULL);
	free(k);
}

static void run(int n_pes, uint64_t total)
{
	const uint64_t n = (uint64_t)n_pes, each = total / n, half = n / 2;
	const struct collection c = { .homes = { .each = each, .rest = total % n } };

	for (int i = 0; i < CALLS; i++)
		place[i] = draw(total);
	measure("blocks", n_pes, NULL, &c);
	at[n] = total;
	for (uint64_t p = 1; p < n; p++)
		at[p] = p * each + draw(each / 2 + 1);
	measure_cuts("cuts", n_pes);
	for (uint64_t p = 1; p < n; p++)
		at[p] = p <= half ? p * (total / 100) / half : total / 100 + (p - half) * (total - total / 100) / (n - half);
	for (int i = 0; i < CALLS; i++)
		place[i] = draw(total / 100);
	measure_cuts("cuts-uneven", n_pes);
}

int main(int argc, char **argv)
{
	static const int pes[] = { 8, 64, 1000, PES_MOST };
	const uint64_t total = argc > 1 ? (uint64_t)bench_number("cuts", "places", argv[1], PES_MOST, 1000000000) : 1000000;

	for (size_t i = 0; i < sizeof pes / sizeof *pes; i++)
		run(pes[i], total);
	return 0;
}
