/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducers.c: the table of operations; each is a loop over two arrays. A reducer knows neither
 * elements nor PEs. This file is built with -O3, so that the compiler vectorises the loops.
 * Reducers of messages are in reduce_messages.c, the program's own in reduce_own.c.
 */
#include "reduce_int.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* One value is added without a loop: the most common reduction (14 instructions become 4).
 * Each loop is written twice, because only the accumulator may be written: `in` is often a message
 * that stays in another core's cache. `a` always precedes `b`, so all PEs get the same bits
 * whichever of two partial results each of them has. T is the type in memory, W the one to compute
 * with: unsigned for whole numbers, which then wrap (a product of two unsigned shorts as ints would
 * overflow). */
#define DEFINE_OP(name, T, W, expr)                                                     \
	static void name(void *restrict acc_, const void *restrict in_, size_t n,       \
			 bool in_first)                                                 \
	{                                                                               \
		T *restrict acc = acc_;                                                 \
		const T *restrict in = in_;                                             \
		if (in_first) {                                                         \
			for (size_t i = 0; i < n; i++) {                                \
				W a = (W)in[i], b = (W)acc[i];                          \
				acc[i] = (T)(expr);                                     \
			}                                                               \
		} else {                                                                \
			for (size_t i = 0; i < n; i++) {                                \
				W a = (W)acc[i], b = (W)in[i];                          \
				acc[i] = (T)(expr);                                     \
			}                                                               \
		}                                                                       \
	}                                                                               \
	static void name##_one(void *restrict acc, const void *restrict in, size_t n,   \
			       bool in_first)                                           \
	{                                                                               \
		W a = (W)*(T *)acc, b = (W)*(const T *)in;                              \
		(void)n;                                                                \
		(void)in_first;                                                         \
		*(T *)acc = (T)(expr);                                                  \
	}

/* X(name, type in memory, type to compute with, CkDataType, least, most, ordered) */
#define NUMBER_TYPES(X)                                                                  \
	X(char, char, unsigned, CK_CHAR, CHAR_MIN, CHAR_MAX, false)                      \
	X(short, short, unsigned, CK_SHORT, SHRT_MIN, SHRT_MAX, false)                   \
	X(int, int, unsigned, CK_INT, INT_MIN, INT_MAX, false)                           \
	X(long, long, unsigned long, CK_LONG, LONG_MIN, LONG_MAX, false)                 \
	X(long_long, long long, unsigned long long, CK_LONGLONG, LLONG_MIN, LLONG_MAX, false) \
	X(uchar, unsigned char, unsigned, CK_UCHAR, 0, UCHAR_MAX, false)                 \
	X(ushort, unsigned short, unsigned, CK_USHORT, 0, USHRT_MAX, false)              \
	X(uint, unsigned, unsigned, CK_UINT, 0, UINT_MAX, false)                         \
	X(ulong, unsigned long, unsigned long, CK_ULONG, 0, ULONG_MAX, false)            \
	X(ulong_long, unsigned long long, unsigned long long, CK_ULONGLONG, 0, ULLONG_MAX, false) \
	X(float, float, float, CK_FLOAT, -HUGE_VALF, HUGE_VALF, true)                    \
	X(double, double, double, CK_DOUBLE, -HUGE_VAL, HUGE_VAL, true)
#define DEFINE_NUMBER_OPS(name, T, W, data, least, most, ordered)       \
	DEFINE_OP(sum_##name, T, W, a + b)                              \
	DEFINE_OP(product_##name, T, W, a * b)                          \
	DEFINE_OP(max_##name, T, T, a > b ? a : b)                      \
	DEFINE_OP(min_##name, T, T, a < b ? a : b)
NUMBER_TYPES(DEFINE_NUMBER_OPS)

/* X(name, type, CkDataType, all bits set) */
#define TRUTH_TYPES(X) X(int, int, CK_INT, -1) X(bool, bool, CK_BOOL, true)
#define DEFINE_TRUTH_OPS(name, T, data, ones)           \
	DEFINE_OP(logical_and_##name, T, T, a && b)     \
	DEFINE_OP(logical_or_##name, T, T, a || b)      \
	DEFINE_OP(logical_xor_##name, T, T, !a != !b)   \
	DEFINE_OP(bitvec_and_##name, T, T, a & b)       \
	DEFINE_OP(bitvec_or_##name, T, T, a | b)        \
	DEFINE_OP(bitvec_xor_##name, T, T, a ^ b)
TRUTH_TYPES(DEFINE_TRUTH_OPS)

/* T. Chan, G. Golub, R. LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample
 * Variances, 1979. */
static CkReductionStatistics both(CkReductionStatistics a, CkReductionStatistics b)
{
	double n = (double)(a.count + b.count), d = b.mean - a.mean;

	if (!a.count || !b.count)
		return a.count ? a : b;
	return (CkReductionStatistics){
		.count = a.count + b.count,
		.mean = a.mean + d * ((double)b.count / n),
		.m2 = a.m2 + b.m2 + d * d * ((double)a.count * (double)b.count / n),
	};
}

static void statistics(void *restrict acc_, const void *restrict in_, size_t n, bool in_first)
{
	CkReductionStatistics *restrict acc = acc_;
	const CkReductionStatistics *restrict in = in_;

	for (size_t i = 0; i < n; i++)
		acc[i] = in_first ? both(in[i], acc[i]) : both(acc[i], in[i]);
}

static void statistics_one(void *restrict acc, const void *restrict in, size_t n, bool in_first)
{
	(void)n;
	(void)in_first;
	*(CkReductionStatistics *)acc =
		both(*(CkReductionStatistics *)acc, *(const CkReductionStatistics *)in);
}

#define OP(op, T, data, is_ordered, neutral)                                            \
	[CkReduction_##op] = { .name = #op, .type = data, .value_bytes = sizeof(T),     \
			       .ordered = is_ordered, .combine = op,                    \
			       .one = op##_one, .identity = &(const T){ neutral } },
#define NUMBER_ROWS(name, T, W, data, least, most, ordered)     \
	OP(sum_##name, T, data, ordered, 0)                     \
	OP(product_##name, T, data, ordered, 1)                 \
	OP(max_##name, T, data, ordered, least)                 \
	OP(min_##name, T, data, ordered, most)
#define TRUTH_ROWS(name, T, data, ones)                         \
	OP(logical_and_##name, T, data, false, 1)               \
	OP(logical_or_##name, T, data, false, 0)                \
	OP(logical_xor_##name, T, data, false, 0)               \
	OP(bitvec_and_##name, T, data, false, ones)             \
	OP(bitvec_or_##name, T, data, false, 0)                 \
	OP(bitvec_xor_##name, T, data, false, 0)
#define MESSAGES(op, data, begin_, merge_, finish_, fits_)                              \
	[CkReduction_##op] = { .name = #op, .type = data, .begin = begin_,              \
			       .merge = merge_, .finish = finish_, .fits = fits_ },
static const struct reducer reducers[CkReduction_N] = {
	[CkReduction_nop] = { .name = "nop", .type = CK_NOTYPE },
	NUMBER_TYPES(NUMBER_ROWS)
	TRUTH_TYPES(TRUTH_ROWS)
	OP(statistics, CkReductionStatistics, CK_STATISTICS, true, 0)
	MESSAGES(set, CK_SET, list_begin, list_merge, set_finish, list_fits)
	MESSAGES(concat, CK_BYTE, list_begin, list_merge, concat_finish, list_fits)
	MESSAGES(random, CK_BYTE, random_begin, random_merge, concat_finish, list_fits)
	MESSAGES(tuple, CK_TUPLE, tuple_begin, tuple_merge, tuple_finish, tuple_fits)
};

const struct reducer *reducer_find(const struct ck_node *ck, uint32_t op)
{
	if (CSD_LIKELY(op < CkReduction_N))
		return &reducers[op];
	op -= CkReduction_N;
	const struct reduce_node *own = ck->state[PART_REDUCE];

	return op < (uint32_t)own->n_reducers ? &own->reducers[op] : NULL;
}
