/* SPDX-License-Identifier: Apache-2.0 */
/* hint.h: hints to the compiler and the caches for the scheduler's fast paths. */
#ifndef CSD_HINT_H
#define CSD_HINT_H

#define CSD_LIKELY(x) __builtin_expect(!!(x), 1)
#define CSD_UNLIKELY(x) __builtin_expect(!!(x), 0)

/** Data that different threads write lies on different lines. */
enum { CSD_CACHE_LINE = 64 };

#endif
