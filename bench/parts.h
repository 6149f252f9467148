/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h: what bench/parts.c and bench/mpi/parts_mpi.c have in common: the work on a part, the
 * options, and the plan.
 *
 * A buffer of 64-bit words is made and used part by part. Word i of a round is a hash of the round
 * and of i. Making a word computes the hash; using it computes the hash again and compares. So both
 * sides have the same work, a fixed time for each byte, and each word of each round is checked.
 */
#ifndef CHARD_BENCH_PARTS_H
#define CHARD_BENCH_PARTS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { PARTS_MOST = 256, PARTS_LISTED = 8, PARTS_WORD = sizeof(uint64_t) };

/* A series: a way to send, and how many parts; its plan's parameter is the bytes of the buffer. */
struct parts_options {
	struct plan_options plan;
	int parts[PARTS_LISTED];
	int n_parts;
};

/** Never 0, which is what channels take for no data. */
static inline uint64_t parts_word(uint64_t round, uint64_t i)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + round;

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x | 1;
}

/** Write words `from` to `from + n - 1` of the buffer. */
static inline void parts_make(uint64_t *words, size_t from, size_t n, uint64_t round)
{
	for (size_t i = from; i < from + n; i++)
		words[i] = parts_word(round, i);
}

/** Whether these words are all of this round. */
static inline int parts_use(const uint64_t *words, size_t from, size_t n, uint64_t round)
{
	uint64_t wrong = 0;

	for (size_t i = from; i < from + n; i++)
		wrong |= words[i] ^ parts_word(round, i);
	return wrong == 0;
}

static inline void parts_options_init(struct parts_options *o)
{
	static const size_t bytes[] = { 4 << 10, 64 << 10, 1 << 20 };
	static const int parts[] = { 1, 4, 16, 64, 256 };

	plan_options_init(&o->plan, bytes, sizeof bytes / sizeof *bytes);
	o->plan.common.repeats = 5;
	memcpy(o->parts, parts, sizeof parts);
	o->n_parts = sizeof parts / sizeof *parts;
}

static inline void parts_read_list(struct parts_options *o, const char *program, char *list)
{
	o->n_parts = 0;
	for (char *at = strtok(list, ","); at && o->n_parts < PARTS_LISTED; at = strtok(NULL, ","))
		o->parts[o->n_parts++] = (int)bench_number(program, "--parts", at, 1, PARTS_MOST);
}

/** As plan_option. */
static inline int parts_option(struct parts_options *o, int argc, char **argv, int *i)
{
	if (strcmp(argv[*i], "--parts") != 0 || *i + 1 >= argc)
		return plan_option(&o->plan, argc, argv, i);
	parts_read_list(o, argv[0], argv[++*i]);
	return 1;
}

/** Parts have whole words: what cannot be cut so is left out. */
static inline void parts_plan_add(struct plan *p, int way, int parts, size_t bytes)
{
	if (bytes % ((size_t)parts * PARTS_WORD) == 0)
		plan_add(p, way * (PARTS_MOST + 1) + parts, bytes);
}

/** Each way with each number of parts and each size that can be cut so. */
static inline void parts_plan(struct plan *p, const struct parts_options *o, int n_ways)
{
	plan_init(p, &o->plan);
	for (int s = 0; s < o->plan.common.nsizes; s++)
		for (int c = 0; c < o->n_parts; c++)
			for (int way = 0; way < n_ways; way++)
				parts_plan_add(p, way, o->parts[c], o->plan.common.bytes[s]);
}

static inline int parts_way(const struct series *s)
{
	return s->kind / (PARTS_MOST + 1);
}

static inline int parts_count(const struct series *s)
{
	return s->kind % (PARTS_MOST + 1);
}

#endif
