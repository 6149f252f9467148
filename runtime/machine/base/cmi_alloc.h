/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_alloc.h: memory for the runtime's own tables, from malloc. It never returns NULL: without
 * memory the job ends here, with one line that names the purpose.
 *
 * Inline, so that each place that allocates is a call site of its own, which tests/alloc makes
 * fail.
 */
#ifndef CMI_ALLOC_H
#define CMI_ALLOC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** End the job, because there are no `bytes` for `what` ("a reduction"). Allocates nothing; the
 * line names the thread's PE and work. Any thread. */
_Noreturn void cmi_no_memory(size_t bytes, const char *what) __attribute__((cold));

static inline void *cmi_must_have(void *p, size_t bytes, const char *what)
{
	if (__builtin_expect(!p, 0))
		cmi_no_memory(bytes, what);
	return p;
}

/** As malloc, calloc and realloc; free() takes it back. `what` completes "no memory for ...". */
static inline void *cmi_alloc(size_t bytes, const char *what)
{
	return cmi_must_have(malloc(bytes ? bytes : 1), bytes, what);
}

static inline void *cmi_alloc_zero(size_t n, size_t bytes, const char *what)
{
	return cmi_must_have(calloc(n ? n : 1, bytes), n * bytes, what);
}

static inline void *cmi_realloc(void *old, size_t n, size_t bytes, const char *what)
{
	return cmi_must_have(reallocarray(old, n ? n : 1, bytes), n * bytes, what);
}

/** Room for one more in a list that has `n` elements and room for `cap`, in any integer type. It
 * doubles, so that n calls copy fewer than 2n elements. */
#define CMI_ONE_MORE(list, n, cap, what)                                                     \
	do {                                                                                 \
		if ((n) == (cap)) {                                                          \
			(cap) = (cap) ? 2 * (cap) : 8;                                       \
			(list) = cmi_realloc((list), (size_t)(cap), sizeof *(list), (what)); \
		}                                                                            \
	} while (0)

/** Zeroed; bytes must be a multiple of align, a power of two. */
static inline void *cmi_alloc_aligned(size_t align, size_t bytes, const char *what)
{
	return memset(cmi_must_have(aligned_alloc(align, bytes), bytes, what), 0, bytes);
}

#endif
