/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.h: the user's types in the accepted cases.
 */
#ifndef TYPES_H
#define TYPES_H

#include <stdbool.h>
#include <stdint.h>

#define TYPES_ROW 6

typedef struct point {
	int x, y;
} point_t;

enum colour { RED, GREEN };

union either {
	int i;
	double d;
};

/* Packed by the program: vec_pup. */
typedef struct vec {
	int n;
	int *v;
} vec;

/* Numbers by other names. */
typedef double real;
typedef bool flag;

typedef struct colour_index {
	int32_t colour;
	uint8_t shade[4];
} colour_index;

#endif
