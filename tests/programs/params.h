/* SPDX-License-Identifier: Apache-2.0 */
/* params.h: structs that params.ci sends by value. */
#ifndef PARAMS_H
#define PARAMS_H

#include <stdint.h>

struct point {
	double x;
	char tag;           /* padding behind it */
	int64_t n;
	float v[3];
};
typedef struct pair {
	int16_t a, b;
} pair;
enum colour { RED = 3, GREEN = 70000 };
enum { SIX = 6, BIG_PLAIN = 200 };

#endif
