/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: what the test programs share. A program checks its own answer: a wrong one aborts
 * the job with the place; a right one prints one line and ends with exit code 0.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdlib.h>
#include <string.h>

#include "ck.h"

#define CHECK(what) \
	((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))
/* The same for whole numbers; shows both. */
#define CHECK_EQ(is, should) \
	check_eq((long long)(is), (long long)(should), #is, __FILE__, __LINE__)

static inline void check_eq(long long is, long long should, const char *what, const char *file,
			    int line)
{
	if (is != should)
		CkAbort("%s:%d: %s is %lld, not %lld", file, line, what, is, should);
}

/* Memory that must be there; a test that runs where there is little wants a line about it. */
static inline void *check_there(void *p, size_t bytes)
{
	if (!p)
		CkAbort("no memory for a buffer of %zu bytes: start fewer nodes", bytes);
	return p;
}

/* Random numbers that are the same everywhere: splitmix64. */
static inline uint64_t check_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* The seed of a run: its first argument, to repeat a run; otherwise drawn. The program prints it. */
static inline uint64_t check_run_seed(const CkArgMsg *m)
{
	return m->argc > 1 ? strtoull(m->argv[1], NULL, 10)
			   : check_mix((uint64_t)(CkWallTimer() * 1e9)) % 1000000;
}

/* The number that is the i-th argument of a run. */
static inline int check_argument(const CkArgMsg *m, int i, int otherwise)
{
	return m->argc > i ? atoi(m->argv[i]) : otherwise;
}

/* The PE that the default map gives element `linear` of `total`: row-major order, cut into
 * pieces that differ by at most one, the longer ones first. */
static inline int check_block_home(int linear, int total, int n_pes)
{
	int pe = 0;

	for (int first = 0;; pe++) {
		first += total / n_pes + (pe < total % n_pes);
		if (linear < first)
			return pe;
	}
}

#endif
