/* SPDX-License-Identifier: Apache-2.0 */
/* order_kernels.h: what launches of the kernels of order_kernels.cu get. */
#ifndef ORDER_KERNELS_H
#define ORDER_KERNELS_H

#include <stdint.h>

/** order_fill writes words that follow from the seed; order_check counts those that do not. */
struct order_words {
	uint64_t at, words;
	uint64_t seed;
	uint64_t wrong;               /* order_check: a uint64_t in device memory */
};

#endif
