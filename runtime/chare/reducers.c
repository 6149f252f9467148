/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducers.c: what combines: the table of operations, each a loop over two arrays. A reducer
 * knows neither elements nor PEs. Built with -O3: its loops are what the vectoriser is for.
 */
#include "reduce_int.h"

/* The loops are written twice, because only the accumulator may be written: `in` is often a
 * message that stays in another core's cache. `a` always comes before `b`: then all PEs get
 * the same bits whichever of two partial results each of them holds. */
#define DEFINE_OP(name, T, expr)                                                        \
	static void name(void *restrict acc_, const void *restrict in_, size_t n,       \
			 bool in_first)                                                 \
	{                                                                               \
		T *restrict acc = acc_;                                                 \
		const T *restrict in = in_;                                             \
		if (in_first) {                                                         \
			for (size_t i = 0; i < n; i++) {                                \
				T a = in[i], b = acc[i];                                \
				acc[i] = (T)(expr);                                     \
			}                                                               \
		} else {                                                                \
			for (size_t i = 0; i < n; i++) {                                \
				T a = acc[i], b = in[i];                                \
				acc[i] = (T)(expr);                                     \
			}                                                               \
		}                                                                       \
	}
#define DEFINE_OPS(op, expr)                                            \
	DEFINE_OP(op##_int, int, expr)                                  \
	DEFINE_OP(op##_long, long, expr)                                \
	DEFINE_OP(op##_float, float, expr)                              \
	DEFINE_OP(op##_double, double, expr)

DEFINE_OPS(sum, a + b)
DEFINE_OPS(product, a * b)
DEFINE_OPS(max, a > b ? a : b)
DEFINE_OPS(min, a < b ? a : b)
DEFINE_OP(logical_and_int, int, a && b)
DEFINE_OP(logical_or_int, int, a || b)
DEFINE_OP(bitvec_and_int, int, a & b)
DEFINE_OP(bitvec_or_int, int, a | b)

#define OP(name, type, ordered) [CkReduction_##name] = { #name, type, ordered, name }
const struct reducer reducers[CkReduction_N] = {
	[CkReduction_nop] = { "nop", CK_NOTYPE, false, NULL },
	OP(sum_int, CK_INT, false), OP(sum_long, CK_LONG, false),
	OP(sum_float, CK_FLOAT, true), OP(sum_double, CK_DOUBLE, true),
	OP(product_int, CK_INT, false), OP(product_long, CK_LONG, false),
	OP(product_float, CK_FLOAT, true), OP(product_double, CK_DOUBLE, true),
	OP(max_int, CK_INT, false), OP(max_long, CK_LONG, false),
	OP(max_float, CK_FLOAT, true), OP(max_double, CK_DOUBLE, true),
	OP(min_int, CK_INT, false), OP(min_long, CK_LONG, false),
	OP(min_float, CK_FLOAT, true), OP(min_double, CK_DOUBLE, true),
	OP(logical_and_int, CK_INT, false), OP(logical_or_int, CK_INT, false),
	OP(bitvec_and_int, CK_INT, false), OP(bitvec_or_int, CK_INT, false),
};

size_t data_type_bytes(CkDataType type)
{
	static const size_t bytes[] = { [CK_NOTYPE] = 0, [CK_INT] = sizeof(int),
		[CK_LONG] = sizeof(long), [CK_FLOAT] = sizeof(float),
		[CK_DOUBLE] = sizeof(double), [CK_BYTE] = 1 };

	return type <= CK_BYTE ? bytes[type] : 0;
}

const char *data_type_name(CkDataType type)
{
	static const char *const name[] = { [CK_NOTYPE] = "nothing", [CK_INT] = "int",
		[CK_LONG] = "long", [CK_FLOAT] = "float", [CK_DOUBLE] = "double",
		[CK_BYTE] = "bytes" };

	return type <= CK_BYTE ? name[type] : "an unknown type";
}

bool data_as(CkReductionMsg *m, CkDataType type)
{
	size_t each = data_type_bytes(type);

	if (m->type == CK_BYTE && type != CK_BYTE && each && m->bytes % each == 0) {
		m->count = m->bytes / each;
		m->type = type;
	}
	return m->type == type;
}
