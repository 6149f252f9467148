/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SDAG_H
#define SDAG_H

enum { RING = 17, STEPS = 30, CELLS = 9, LEFT = 6, BIG = 50000 };

typedef struct Row {
	int n;
	int *v;
} Row;

#endif
