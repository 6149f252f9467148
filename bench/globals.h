/* SPDX-License-Identifier: Apache-2.0 */
/*
 * globals.h: what bench/globals.c and bench/mpi/globals_mpi.c have in common: the operations, the
 * options, the plan, and which words are used in which order.
 *
 * Each side has GLOBALS_WORDS words that are only read, word i of them being i, as many that are
 * written, and as many counters. The words of a round come from a random table, which the floors
 * walk in the same way, so a loop has the same loads but for the operation itself. All values that
 * are read are added up, and the sum is compared.
 */
#ifndef CHARD_BENCH_GLOBALS_H
#define CHARD_BENCH_GLOBALS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { GLOBALS_WORDS = 1024, GLOBALS_WORD = sizeof(uint64_t), GLOBALS_MOST = 1000 };
static const size_t GLOBALS_BULK = 4 << 20;

/* Where the words lie, in words. */
enum { GLOBALS_READ = 0, GLOBALS_WRITTEN = GLOBALS_WORDS, GLOBALS_COUNTERS = 2 * GLOBALS_WORDS,
       GLOBALS_EACH = 3 * GLOBALS_WORDS };

/* The first four are floors: bare loads and stores, and memcpy. */
enum globals_op { G_LOAD, G_SET, G_COPYIN, G_COPYOUT, G_READ, G_WRITE, G_GET, G_PUT, G_ADD, G_CAS,
		  G_PHASE, G_STREAM, G_OPS };
static const char *const globals_name[G_OPS] = {
	"load", "set", "copyin", "copyout", "read", "write", "get", "put", "add", "cas", "phase",
	"stream",
};

/** A series: n operations in a round, on the own memory or on the other side's, by one side or by
 * both at once. The plan's parameter is the bytes of an operation. */
struct globals_case {
	enum globals_op op;
	int n;
	bool own, both, bulk;
};

static inline int globals_kind(struct globals_case c)
{
	return (((c.n * 2 + c.own) * 2 + c.both) * 2 + c.bulk) * G_OPS + (int)c.op;
}

static inline struct globals_case globals_case_of(int kind)
{
	const int rest = kind / G_OPS;

	return (struct globals_case){ (enum globals_op)(kind % G_OPS), rest / 8, rest / 4 % 2,
				      rest / 2 % 2, rest % 2 };
}

/** The word of step k. */
static inline uint64_t globals_at(const uint16_t *table, long k)
{
	return table[k % GLOBALS_WORDS];
}

/** A permutation, the same on all sides. */
static inline void globals_table(uint16_t *table)
{
	uint64_t random = 1;

	for (int i = 0; i < GLOBALS_WORDS; i++)
		table[i] = (uint16_t)i;
	for (int i = GLOBALS_WORDS - 1; i > 0; i--) {
		const uint16_t last = table[i];
		int with;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		with = (int)((random >> 33) % (uint64_t)(i + 1));
		table[i] = table[with];
		table[with] = last;
	}
}

/** What the first n words add up to. */
static inline uint64_t globals_sum(const uint16_t *table, long n)
{
	const uint64_t turn = (uint64_t)GLOBALS_WORDS * (GLOBALS_WORDS - 1) / 2;
	uint64_t sum = turn * (uint64_t)(n / GLOBALS_WORDS);

	for (long i = 0; i < n % GLOBALS_WORDS; i++)
		sum += table[i];
	return sum;
}

struct globals_options {
	struct plan_options plan;
	const char *only;         /* operations whose names are in it, with commas around; NULL: all */
	bool words, bulk;         /* --words, --bulk: only these */
	bool raw;                 /* --raw */
	bool own, floors;         /* own memory, and bare loads and copies, too */
};

static inline void globals_options_init(struct globals_options *o)
{
	static const size_t bytes[] = { 4, 64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20 };

	plan_options_init(&o->plan, bytes, (int)(sizeof bytes / sizeof *bytes));
	o->only = NULL;
	o->words = o->bulk = o->own = o->floors = true;
	o->raw = false;
}

/** As bench_option. */
static inline bool globals_option(struct globals_options *o, int argc, char **argv, int *i)
{
	if (strcmp(argv[*i], "--words") == 0)
		o->bulk = false;
	else if (strcmp(argv[*i], "--bulk") == 0)
		o->words = false;
	else if (strcmp(argv[*i], "--raw") == 0)
		o->raw = true;
	else if (strcmp(argv[*i], "--apart") == 0)
		o->floors = false;
	else if (strcmp(argv[*i], "--only") == 0 && *i + 1 < argc)
		o->only = argv[++*i];
	else
		return plan_option(&o->plan, argc, argv, i);
	return true;
}

static inline bool globals_wanted(const struct globals_options *o, enum globals_op op)
{
	const size_t n = strlen(globals_name[op]);

	for (const char *at = o->only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, globals_name[op], n) == 0 && (at[n] == ',' || !at[n]))
			return true;
	return !o->only;
}

static inline void globals_add(struct plan *p, const struct globals_options *o,
			       struct globals_case c, size_t bytes)
{
	if (globals_wanted(o, c.op))
		plan_add(p, globals_kind(c), bytes);
}

/* Words one way to own memory, one way to the other's, and both ways. */
static inline void globals_plan_words(struct plan *p, const struct globals_options *o)
{
	static const enum globals_op one[] = { G_LOAD, G_SET, G_READ, G_WRITE, G_ADD, G_CAS },
				     many[] = { G_GET, G_PUT, G_ADD, G_CAS, G_PHASE };
	static const int n[] = { 100, GLOBALS_MOST };

	for (int way = o->own ? 0 : 1; way < 3; way++) {
		struct globals_case c = { .own = way == 0, .both = way == 2 };

		for (int i = o->floors ? 0 : 2; i < 6; i++) {
			c.op = one[i];
			c.n = c.op == G_LOAD || c.op == G_SET ? 100 : 1;
			globals_add(p, o, c, GLOBALS_WORD);
		}
		for (int i = 0; i < 5 * (o->plan.smoke ? 1 : 2); i++) {
			c.op = many[i % 5];
			c.n = n[i / 5];
			globals_add(p, o, c, GLOBALS_WORD);
		}
		c.op = G_STREAM;
		c.n = 100;
		globals_add(p, o, c, GLOBALS_WORD);
	}
}

/** All series that are wanted. */
static inline void globals_plan(struct plan *p, const struct globals_options *o)
{
	static const enum globals_op bulk[] = { G_COPYIN, G_COPYOUT, G_GET, G_PUT, G_STREAM };
	const int sizes = o->plan.smoke && o->plan.common.nsizes > 4 ? 4 : o->plan.common.nsizes;

	plan_init(p, &o->plan);
	if (o->words)
		globals_plan_words(p, o);
	for (int i = 0; o->bulk && i < sizes; i++)
		for (int k = o->floors ? 0 : 2; k < 5; k++)
			globals_add(p, o, (struct globals_case){ bulk[k], 1, false, false, true },
				    o->plan.common.bytes[i]);
}

/** One line for each series: nanoseconds of one operation. */
static inline void globals_report(struct plan *p, const char *where)
{
	for (int i = 0; i < p->n; i++) {
		struct series *s = &p->series[i];
		const struct globals_case c = globals_case_of(s->kind);

		printf("globals-%s-%d-%s%s%s %zu %.2f ns\n", globals_name[c.op], c.n, where,
		       c.own ? "-own" : c.both ? "-both" : "", c.bulk ? "-bulk" : "", s->parameter,
		       1e3 * bench_median(s->us, p->repeats) / c.n);
	}
}

/** Of a round's run: whether this side does the operations, and whose memory it uses. */
static inline bool globals_active(const struct globals_case *c, int me)
{
	return me == 0 || c->both;
}

static inline int globals_target(const struct globals_case *c, int me)
{
	return c->own ? me : 1 - me;
}

/* ---- the floors ----------------------------------------------------------------------------- */

static inline uint64_t globals_loads(const volatile uint64_t *words, const uint16_t *table, long n)
{
	uint64_t sum = 0;

	for (long k = 0; k < n; k++)
		sum += words[GLOBALS_READ + globals_at(table, k)];
	return sum;
}

static inline void globals_sets(volatile uint64_t *words, const uint16_t *table, long n)
{
	for (long k = 0; k < n; k++)
		words[GLOBALS_WRITTEN + globals_at(table, k)] = (uint64_t)k;
}

/* The compiler cannot know that nobody looks at the copy. */
static inline void globals_copies(void *to, const void *from, size_t bytes, long n)
{
	for (long k = 0; k < n; k++) {
		memcpy(to, from, bytes);
		__asm__ volatile("" ::: "memory");
	}
}

#endif
