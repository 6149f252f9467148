/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treeinsert: a quadtree of points: an array whose index says which square of the plane it is, and
 * whose elements appear and disappear.
 *
 *	ckrun -n 2 ./treeinsert --points 1000000 --capacity 100 --keep 4
 *
 * Shows   an array with an index type of its own, which begins empty. Elements insert others, on a PE
 *         that the runtime chooses or on a given one; they destroy themselves, and are inserted
 *         again elsewhere. A call needs only the index, wherever the element lives. Quiescence
 *         tells when the tree, whose shape nobody knows before, is complete.
 * Checks  squares, leaves, points and who has which (a checksum) against a tree made by one
 *         processor. It does so three times: when the tree has grown, when everything below level
 *         `keep` has been taken back, and when it has grown again.
 */
#include <stdlib.h>

#include "../args.h"
#include "treeinsert.decl.h"

enum phase { GROW, PRUNE, GROW_AGAIN, N_PHASES };
static const char *const phase_names[N_PHASES] = {"grown", "cut", "grown again"};

struct Main {
	enum phase phase;
	double began, took[N_PHASES];
	struct point *points;
	long sums[N_PHASES][QUAD_N_SUMS];
	bool wrong;
};

struct Square {
	int n;
	struct point *p;        /* points of a leaf, or those that its parts have given back */
	bool leaf;
	int given_back;         /* parts that have given theirs back */
};

static void *allocate(void *old, long n, size_t bytes)
{
	void *p = realloc(old, (size_t)n * bytes + 1);

	if (!p)
		CkAbort("treeinsert: no memory for %ld points", n);
	return p;
}

/* ---- a square ---------------------------------------------------------------------------- */

static void clear(Square *self)
{
	free(self->p);
	self->p = NULL;
	self->n = 0;
}

/* The first time the runtime chooses the PE, the second time the parts go to one PE after another. */
static int place_of(int round, int part)
{
	return round == 0 ? CK_PE_ANY : (CkMyPe() + part) % CkNumPes();
}

static void cut_if_full(Square *self, int round)
{
	quad me = Square_thisIndex(self);
	int first[QUAD_PARTS + 1];

	self->leaf = !quad_is_full(me, self->n, capacity);
	if (self->leaf)
		return;
	quad_split(me, self->n, self->p, first);
	for (int i = 0; i < QUAD_PARTS; i++)
		Square_insert(Square_at(tree, quad_part(me, i)), place_of(round, i), round,
			      first[i + 1] - first[i], self->p + first[i]);
	clear(self);
}

static void add_points(Square *self, int n, const struct point *p)
{
	self->p = allocate(self->p, self->n + n, sizeof *p);
	memcpy(self->p + self->n, p, (size_t)n * sizeof *p);
	self->n += n;
}

void Square_on_new(Square *self, int round, int n, const struct point *p)
{
	add_points(self, n, p);
	cut_if_full(self, round);
}

/* The call may reach new squares, too; they have nothing to do. */
void Square_on_grow(Square *self, int round)
{
	if (self->leaf)
		cut_if_full(self, round);
}

static void give_back(Square *self)
{
	quad me = Square_thisIndex(self);

	if (me.level <= keep)
		return;
	Square_take(Square_at(tree, quad_whole(me)), self->n, self->p);
	clear(self);
	CkDestroy(self);
}

void Square_on_prune(Square *self)
{
	if (self->leaf)
		give_back(self);
}

void Square_on_take(Square *self, int n, const struct point *p)
{
	add_points(self, n, p);
	if (++self->given_back < QUAD_PARTS)
		return;
	self->given_back = 0;
	self->leaf = true;
	give_back(self);
}

void Square_on_count(Square *self, bool last)
{
	long sums[QUAD_N_SUMS] = {0};

	quad_add(Square_thisIndex(self), self->leaf, self->n, self->p, sums);
	CkContribute(self, sums, QUAD_N_SUMS, CkReduction_sum_long, Main_cb_counted(mainProxy));
	if (last)
		clear(self);
}

/* ---- the main chare ---------------------------------------------------------------------- */

static void begin_phase(Main *self)
{
	self->began = CkWallTimer();
	CkStartQD(Main_cb_settled(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"points", &points, 3000, 0, 10000000, "points in the plane"},
		{"capacity", &capacity, 20, 1, 10000000, "points that a square may have"},
		{"keep", &keep, 3, 0, QUAD_LEVELS, "levels that stay when the tree is cut"},
		{"seed", &seed, 1, 0, 1000000000, "which points"},
	};
	const quad plane = {0, 0, 0};

	if (!args_read("treeinsert", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->points = allocate(NULL, points, sizeof *self->points);
	for (long i = 0; i < points; i++)
		self->points[i] = quad_point(seed, i);
	tree = Square_ckNewEmpty();
	Square_insert(Square_at(tree, plane), CK_PE_ANY, 0, (int)points, self->points);
	begin_phase(self);
}

/* No call is under way, so every square that there will be exists and can be counted. */
void Main_on_settled(Main *self)
{
	self->took[self->phase] = CkWallTimer() - self->began;
	if (self->phase != PRUNE)
		Square_doneInserting(tree);
	Square_count_all(tree, self->phase == N_PHASES - 1);
}

static void check(Main *self, const long *sums)
{
	long right[QUAD_N_SUMS] = {0};

	quad_add_tree((quad){0, 0, 0}, (int)points, self->points, capacity,
		      self->phase == PRUNE ? keep : QUAD_LEVELS, right);
	if (!memcmp(sums, right, sizeof right))
		return;
	self->wrong = true;
	CkError("treeinsert: when it has %s, the tree has %ld squares, %ld leaves, %ld points (%lx); "
		"right are %ld, %ld, %ld (%lx)\n",
		phase_names[self->phase], sums[0], sums[1], sums[2], (unsigned long)sums[3], right[0],
		right[1], right[2], (unsigned long)right[3]);
}

static void end(Main *self)
{
	const long *full = self->sums[GROW], *cut = self->sums[PRUNE];

	CkPrintf("treeinsert: %ld points in %ld squares on %d PEs in %.1f ms, %ld of them destroyed "
		 "in %.1f ms, again in %.1f ms: %s\n",
		 full[QUAD_POINTS], full[QUAD_SQUARES], CkNumPes(), self->took[GROW] * 1e3,
		 full[QUAD_SQUARES] - cut[QUAD_SQUARES], self->took[PRUNE] * 1e3,
		 self->took[GROW_AGAIN] * 1e3, self->wrong ? "WRONG" : "checked");
	free(self->points);
	CkExit(self->wrong ? 1 : 0);
}

void Main_on_counted(Main *self, int n, const long *sum)
{
	memcpy(self->sums[self->phase], sum, (size_t)n * sizeof *sum);
	check(self, sum);
	if (++self->phase == N_PHASES)
		end(self);
	else
		CkStartQD(Main_cb_next(mainProxy));
}

/* Not earlier: a PE without squares has nothing to contribute, so the call to count may still be on
 * its way there, and squares that are inserted now would get it. */
void Main_on_next(Main *self)
{
	if (self->phase == PRUNE) {
		Square_prune_all(tree);
	} else {
		Square_beginInserting(tree);
		Square_grow_all(tree, 1);
	}
	begin_phase(self);
}

#include "treeinsert.def.h"
