/* SPDX-License-Identifier: Apache-2.0 */
/* packs.h: types of packs.ci. */
#ifndef PACKS_H
#define PACKS_H

enum colour { RED, GREEN, BLUE };

struct box { int lo[3], hi[3]; };

/* By a function of the program's. */
typedef struct Tree {
	int no;
	struct Tree *left, *right;
} Tree;

/* By a list. */
typedef struct Part {
	int n;
	double *v;
	char *name;
} Part;

#endif
