/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.h: the user's types in the accepted cases.
 */
#ifndef TYPES_H
#define TYPES_H

#define TYPES_ROW 6

typedef struct point {
	int x, y;
} point_t;

enum colour { RED, GREEN };

union either {
	int i;
	double d;
};

#endif
