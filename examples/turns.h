/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.h: a program that does the same by messages and by channels: the runs of all its modes, taking turns.
 * Main keeps a struct turns, which knows whose turn it is, takes the times, compares the results and
 * prints them:
 *
 *	turns_init(&t, "stencil", opt.modes, opt.repeat);
 *	do {
 *		... make ready for a run by turns_mode(&t)
 *		turns_start(&t);
 *		... opt.iters iterations
 *		turns_stop(&t, opt.iters);
 *		turns_compare(&t, wrong_rows, hash, checksum);
 *	} while (turns_next(&t));
 *	turns_report(&t, opt.verify);
 *	code = turns_fini(&t);
 *
 * where "..." are broadcasts whose answers come to entry methods: the loop has no `do` in the program.
 */
#ifndef EXAMPLES_TURNS_H
#define EXAMPLES_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ck.h"

enum mode {
	MODE_MSG, MODE_DIRECT, MODE_NAMED,
	MODE_DEVICE, MODE_DEVICE_ALL, MODE_STAGING, /* on a GPU */
	N_MODES
};

struct turns {
	const char *program;
	bool modes[N_MODES];        /* which ones take turns */
	int repeat;                 /* runs of each */
	int run;                    /* of all, from 0 */
	double started;
	double *iter_us[N_MODES];   /* of each repeat */
	bool wrong;                 /* some run disagreed */
	uint64_t hash;              /* of the first run's result */
	double checksum;
};

static inline void turns_init(struct turns *t, const char *program, const bool modes[N_MODES],
			      int repeat)
{
	*t = (struct turns){.program = program, .repeat = repeat};
	memcpy(t->modes, modes, sizeof t->modes);
	for (int i = 0; i < N_MODES; i++) {
		t->iter_us[i] = calloc((size_t)repeat, sizeof(double));
		if (!t->iter_us[i])
			CkAbort("%s: no memory for %d repeats", program, repeat);
	}
}

/** For a checkpoint of the program. */
static inline void turns_pup(pup_er p, struct turns *t, const char *program)
{
	pup_skip(p, &t->program, sizeof t->program);
	t->program = program;
	pup_bytes(p, t->modes, sizeof t->modes);
	pup_int(p, &t->repeat);
	pup_int(p, &t->run);
	pup_double(p, &t->started);
	for (int i = 0; i < N_MODES; i++) {
		t->iter_us[i] = pup_alloc(p, t->iter_us[i], (size_t)t->repeat * sizeof(double));
		pup_doubles(p, t->iter_us[i], (size_t)t->repeat);
	}
	pup_bool(p, &t->wrong);
	pup_bytes(p, &t->hash, sizeof t->hash);
	pup_double(p, &t->checksum);
}

static inline int turns_n_modes(const struct turns *t)
{
	int n = 0;

	for (int i = 0; i < N_MODES; i++)
		n += t->modes[i];
	return n;
}

static inline const char *turns_mode_name(int mode)
{
	static const char *const names[N_MODES] = {"msg", "direct", "named", "device",
						   "device-all", "staging"};

	return names[mode];
}

/** The mode of the current run. */
static inline int turns_mode(const struct turns *t)
{
	int before = t->run % turns_n_modes(t), mode = 0;

	while (!t->modes[mode] || before-- > 0)
		mode++;
	return mode;
}

static inline void turns_start(struct turns *t)
{
	t->started = CkWallTimer();
}

static inline void turns_stop(struct turns *t, int iters)
{
	double seconds = CkWallTimer() - t->started;

	t->iter_us[turns_mode(t)][t->run / turns_n_modes(t)] = seconds * 1e6 / iters;
}

/** What came out of the current run. Prints a line for each way in which it is wrong. */
static inline void turns_compare(struct turns *t, long wrong_rows, uint64_t hash, double checksum)
{
	const char *mode = turns_mode_name(turns_mode(t));

	if (t->run == 0) {
		t->hash = hash;
		t->checksum = checksum;
	}
	if (wrong_rows > 0)
		CkError("%s: run %d (%s): %ld rows differ from the serial result\n", t->program,
			t->run, mode, wrong_rows);
	if (hash != t->hash)
		CkError("%s: run %d (%s): the result differs from the first run's\n", t->program,
			t->run, mode);
	t->wrong |= wrong_rows > 0 || hash != t->hash;
}

/** Go on to the next run. False: there is none. */
static inline bool turns_next(struct turns *t)
{
	return ++t->run < t->repeat * turns_n_modes(t);
}

static inline int turns_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double turns_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, turns_by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/** Print the median time of each mode, what channels gain, and the result. */
static inline void turns_report(struct turns *t, bool verified)
{
	const char *program = t->program;
	double us[N_MODES];

	for (int i = 0; i < N_MODES; i++) {
		us[i] = turns_median(t->iter_us[i], t->repeat);
		if (t->modes[i])
			CkPrintf("%s %s iter_us %.3f\n", program, turns_mode_name(i), us[i]);
	}
	if (t->modes[MODE_MSG] && t->modes[MODE_DIRECT])
		CkPrintf("%s gain_percent %.2f\n", program,
			 (us[MODE_MSG] - us[MODE_DIRECT]) / us[MODE_MSG] * 100);
	CkPrintf("%s checksum %.17g\n", program, t->checksum);
	CkPrintf("%s hash %016llx\n", program, (unsigned long long)t->hash);
	CkPrintf("%s verified %s\n", program, t->wrong ? "no" : verified ? "yes" : "skipped");
}

/** The exit code of the program: 0 only if no run was wrong. */
static inline int turns_fini(struct turns *t)
{
	for (int i = 0; i < N_MODES; i++)
		free(t->iter_us[i]);
	return t->wrong ? 1 : 0;
}

/** The bits of one number of a result, mixed with its place (the finaliser of MurmurHash3). The
 * hash of a result is the sum over all its numbers, so it does not depend on their order. */
static inline uint64_t turns_hash(uint64_t place, double value)
{
	uint64_t h;

	memcpy(&h, &value, sizeof h);
	h ^= place * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

/** A reduction adds up halves of hashes, because sums of longs are signed; whole again: */
static inline uint64_t turns_whole_hash(long low, long high)
{
	return (uint64_t)low + ((uint64_t)high << 32);
}

#endif
