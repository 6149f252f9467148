/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PUPS_H
#define PUPS_H

#include "ck.h"

typedef struct Vec { int n; double *v; } Vec;
/* A binary tree of strings. */
typedef struct Tree { char *text; struct Tree *left, *right; } Tree;

static inline void Vec_pup(pup_er p, Vec *x)
{
	pup_int(p, &x->n);
	x->v = pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_doubles(p, x->v, (size_t)x->n);
}

static inline void Tree_pup(pup_er p, Tree *x)
{
	size_t len = pup_isUnpacking(p) ? 0 : strlen(x->text) + 1;
	char there[2] = { x->left != NULL, x->right != NULL };

	pup_size_t(p, &len);
	x->text = pup_alloc(p, x->text, len);
	pup_chars(p, x->text, len);
	pup_chars(p, there, 2);
	if (there[0])
		Tree_pup(p, x->left = pup_alloc(p, x->left, sizeof *x));
	if (there[1])
		Tree_pup(p, x->right = pup_alloc(p, x->right, sizeof *x));
}

#endif
