/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of bench/crowd.c and bench/mpi/crowd_mpi.c: a ring of cells. In each round a cell
 * takes the values of its two neighbours, works for about 20 us, and has a new value. The rule
 * for the new value is cheap, so that one process can compute the right answer; only the work, which
 * is always the same, takes time.
 */
#ifndef CHARD_BENCH_CROWD_H
#define CHARD_BENCH_CROWD_H

#include <stdint.h>
#include <stdlib.h>

/* Steps of the work: a chain of dependent operations of about 1.6 ns each. */
enum { CROWD_CELLS = 256, CROWD_ROUNDS = 100, CROWD_STEPS = 12000 };
enum { CROWD_CELLS_SMOKE = 64, CROWD_ROUNDS_SMOKE = 10 };

/* Marsaglia's xorshift: no compiler shortens it. */
static inline uint32_t crowd_work(uint32_t x, int steps)
{
	for (int i = 0; i < steps; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}

static inline uint32_t crowd_first(int cell)
{
	return 2654435761u * ((uint32_t)cell + 1);
}

/* The value of the next round. It is right only if `worked` is the right result of the work. */
static inline uint32_t crowd_next(uint32_t own, uint32_t neighbours, uint32_t worked,
				  uint32_t right)
{
	return (own ^ (worked - right)) * 2246822519u + neighbours * 3266489917u + 1;
}

/* The sum of all values after the last round; all cells at once, without the work. */
static inline long crowd_answer(int cells, int rounds)
{
	uint32_t *now = malloc((size_t)cells * sizeof *now);
	uint32_t *then = malloc((size_t)cells * sizeof *then);
	long sum = 0;

	if (!now || !then)
		abort();
	for (int c = 0; c < cells; c++)
		now[c] = crowd_first(c);
	for (int r = 0; r < rounds; r++) {
		uint32_t *old = now;

		for (int c = 0; c < cells; c++)
			then[c] = crowd_next(now[c],
					     now[(c + 1) % cells] + now[(c + cells - 1) % cells],
					     0, 0);
		now = then;
		then = old;
	}
	for (int c = 0; c < cells; c++)
		sum += now[c];
	free(now);
	free(then);
	return sum;
}

#endif
