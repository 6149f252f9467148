/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pups: vectors and trees as parameters, alone and in arrays, of calls, broadcasts and constructors;
 * objects that are packed into the program's own memory. Under the address sanitizer nothing may be left.
 */
#include "pups.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "pups.decl.h"

enum { CELLS = 7, DEPTH = 5 };

struct Main { int phase; };
struct Cell { int n_in; };

/* ---- objects ------------------------------------------------------------------------------- */

static Tree *grow(int depth, int no)
{
	Tree *t = calloc(1, sizeof *t);

	CHECK(t && (t->text = malloc(32)));
	snprintf(t->text, 32, "node %d", no);
	if (depth > 0) {
		t->left = grow(depth - 1, 2 * no);
		if (no % 3)
			t->right = grow(depth - 1, 2 * no + 1);
	}
	return t;
}

static void fell(Tree *t)
{
	if (!t)
		return;
	fell(t->left);
	fell(t->right);
	free(t->text);
	free(t);
}

static void check_tree(const Tree *t, int depth, int no)
{
	char text[32];

	snprintf(text, sizeof text, "node %d", no);
	CHECK(t && strcmp(t->text, text) == 0);
	CHECK((t->left != NULL) == (depth > 0) && (t->right != NULL) == (depth > 0 && no % 3));
	if (t->left)
		check_tree(t->left, depth - 1, 2 * no);
	if (t->right)
		check_tree(t->right, depth - 1, 2 * no + 1);
}

static void fill(Vec *v, int n)
{
	v->n = n;
	v->v = calloc((size_t)n + 1, sizeof *v->v);
	CHECK(v->v);
	for (int i = 0; i < n; i++)
		v->v[i] = n * i;
}

static void check_vec(const Vec *v, int n)
{
	CHECK_EQ(v->n, n);
	CHECK((uintptr_t)v->v % 16 == 0);
	for (int i = 0; i < n; i++)
		CHECK(v->v[i] == n * i);
}

/* ---- the same functions for the program's own memory ------------------------------------------ */

static void Tree_pup_any(pup_er p, void *x) { Tree_pup(p, x); }

static void free_parts(Tree *t)
{
	fell(t->left);
	fell(t->right);
	free(t->text);
}

static void by_hand(void)
{
	Tree *t = grow(DEPTH, 1), again;
	size_t bytes = CkPupSize(Tree_pup_any, t, sizeof *t);
	char *buffer = malloc(bytes);

	CHECK(buffer);
	CkPupPack(Tree_pup_any, t, sizeof *t, buffer);
	fell(t);
	CHECK_EQ(CkPupUnpack(Tree_pup_any, &again, sizeof again, buffer, bytes), bytes);
	free(buffer);
	check_tree(&again, DEPTH, 1);
	free_parts(&again);
}

/* ---- cells ---------------------------------------------------------------------------------------- */

static void in(Cell *self, int expected)
{
	if (++self->n_in < expected)
		return;
	self->n_in = 0;
	CkContributeBarrier(self, Main_cb_phase(mainProxy));
}

void Cell_on_new(Cell *self, const Vec *v, int n)
{
	(void)self;
	check_vec(v, n);
}

void Cell_on_one(Cell *self, const Tree *t, int x)
{
	check_tree(t, DEPTH, x);
	in(self, 2);
}

void Cell_on_many(Cell *self, int n, const Vec *v, const char *s, const Tree *t)
{
	for (int i = 0; i < n; i++)
		check_vec(&v[i], i);
	CHECK(strcmp(s, "between") == 0);
	check_tree(t, 2, n);
	in(self, CELLS);
}

void Cell_on_nothing(Cell *self, const Vec *v)
{
	check_vec(v, 0);
	in(self, 1);
}

/* ---- main ------------------------------------------------------------------------------------------- */

static void calls(void)
{
	for (int i = 0; i < CELLS; i++) {
		Tree *t = grow(DEPTH, i + 1);

		Cell_one(Cell_at(cells, i), t, i + 1);
		fell(t);
	}
	Tree *t = grow(DEPTH, 50);

	Cell_one_all(cells, t, 50);
	fell(t);
}

static void arrays(void)
{
	for (int n = 0; n < CELLS; n++) {
		Tree *t = grow(2, n);
		Vec v[CELLS];

		for (int i = 0; i < n; i++)
			fill(&v[i], i);
		Cell_many_all(cells, n, v, "between", t);
		for (int i = 0; i < n; i++)
			free(v[i].v);
		fell(t);
	}
}

void Main_on_phase(Main *self)
{
	switch (self->phase++) {
	case 0:
		arrays();
		break;
	case 1:
		Cell_nothing_all(cells, &(Vec){ 0, NULL });
		break;
	default:
		CkPrintf("pups: objects as parameters on %d PEs\n", CkNumPes());
		CkExit(0);
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	Vec v;

	(void)m;
	by_hand();
	mainProxy = Main_thisProxy(self);
	fill(&v, 33);
	cells = Cell_ckNew(CkDims(CELLS), &v, 33);
	free(v.v);
	calls();
}

#include "pups.def.h"
