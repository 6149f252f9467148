/* SPDX-License-Identifier: Apache-2.0 */
/* across.h: a struct that is a parameter. */
#ifndef CHARD_BENCH_ACROSS_H
#define CHARD_BENCH_ACROSS_H

struct across_point {
	double x, y, z;
};

#endif
