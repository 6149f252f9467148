/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h: what a launch of chard_puts gets, for the driver's side and for the kernel's own
 * source, kernels.cu. kernels_ptx.h is what kernels.sh made of that.
 */
#ifndef DEVICE_KERNELS_H
#define DEVICE_KERNELS_H

#include <stdint.h>

enum { DEVICE_PUTS_MOST = 64, DEVICE_THREADS = 256 };

/** A put: copy, then store the value with release. No bytes: only the store. */
struct device_put {
	uint64_t to, from, bytes;
	uint64_t word, value;
	uint64_t counter;             /* a uint32_t of this put in device memory, 0 between launches */
};

/** The parameter, by value: at most 4 KiB. Row y of blocks makes put y. */
struct device_puts {
	struct device_put put[DEVICE_PUTS_MOST];
};

#endif
