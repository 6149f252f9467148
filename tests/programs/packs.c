/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packs: elements with all kinds of fields, packed by a list and by hand. Each is checked in its place (CkPupCheck);
 * then its bytes go to another element, perhaps in another process, which makes a struct of them, compares it and
 * deletes it. Under the address sanitizer nothing may be left.
 */
#include "packs.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "ckdirect.h"
#include "packs.decl.h"

enum { ROWS = 3, COLUMNS = 2, HANDS = 5, N = 4, WIDE = 3 };

struct Main { int n_done; };

struct Block {
	struct box box;
	int iter, n;
	double grid[2][3];
	enum colour colour;
	bool flag;
	double *field;
	const double *never;
	int *empty;
	char *name, *no_name;
	const char *title;
	struct box *boxes;
	Part part, pair[2], *parts;
	Tree tree;
	CkCallback done;
	CkCallback *each;
	CProxyElement_Block next;
	Plain *kept, *none;
	CkReductionMsg *result;
	double *shared;
	char *buffer;
	Own *own;
	int place;                /* derived */
	int scratch[4];
};

struct Own {
	char *text;               /* of malloc */
};

struct Hand {
	int n;
	double *v;
	long sum;
	void *kept;               /* a call's parameters; v_at is where its array is in them */
	size_t v_at;
	uint8_t small;
	unsigned short *shorts;
	CProxy_Hand all;
};

/* ---- the message that packs itself --------------------------------------------------------------- */

void *Own_pack(Own *m)
{
	size_t n = strlen(m->text) + 1;
	char *to = CkAllocBuffer(m, n);

	memcpy(to, m->text, n);
	free(m->text);
	CkFreeMsg(m);
	return to;
}

Own *Own_unpack(void *buffer)
{
	Own *m = Own_alloc(0);

	CkSetRefNum(m, CkGetRefNum(buffer));
	m->text = strdup(buffer);
	CkFreeMsg(buffer);
	return m;
}

/* ---- trees ---------------------------------------------------------------------------------------- */

void Tree_pup(pup_er p, Tree *x)
{
	bool left = x->left != NULL, right = x->right != NULL;

	pup_int(p, &x->no);
	pup_bool(p, &left);
	pup_bool(p, &right);
	if (left)
		Tree_pup(p, x->left = pup_alloc(p, x->left, sizeof *x->left));
	if (right)
		Tree_pup(p, x->right = pup_alloc(p, x->right, sizeof *x->right));
}

static void grow(Tree *t, int depth, int no)
{
	t->no = no;
	if (!depth)
		return;
	grow(t->left = calloc(1, sizeof *t), depth - 1, 2 * no);
	if (no % 2)
		grow(t->right = calloc(1, sizeof *t), depth - 1, 2 * no + 1);
}

static void check_tree(const Tree *t, int depth, int no)
{
	CHECK_EQ(t->no, no);
	CHECK((t->left != NULL) == (depth > 0) && (t->right != NULL) == (depth > 0 && no % 2));
	if (t->left)
		check_tree(t->left, depth - 1, 2 * no);
	if (t->right)
		check_tree(t->right, depth - 1, 2 * no + 1);
}

/* ---- what a block has, as a function of its row ---------------------------------------------------- */

static void fill_part(Part *p, int n)
{
	char name[32];

	p->n = n;
	p->v = n % 3 ? calloc((size_t)n, sizeof *p->v) : NULL;
	for (int i = 0; p->v && i < n; i++)
		p->v[i] = n * 100 + i;
	snprintf(name, sizeof name, "part %d", n);
	p->name = n % 2 ? strdup(name) : NULL;
}

static void check_part(const Part *p, int n)
{
	char name[32];

	snprintf(name, sizeof name, "part %d", n);
	CHECK_EQ(p->n, n);
	CHECK((p->v != NULL) == (n % 3 != 0) && (p->name != NULL) == (n % 2 != 0));
	for (int i = 0; p->v && i < n; i++)
		CHECK(p->v[i] == n * 100 + i);
	CHECK(!p->name || strcmp(p->name, name) == 0);
}

static void fill_pointers(Block *b, int row)
{
	b->field = calloc(WIDE * N, sizeof *b->field);
	b->boxes = calloc(N, sizeof *b->boxes);
	b->parts = calloc(N, sizeof *b->parts);
	b->each = calloc(2, sizeof *b->each);
	b->shared = CkRdmaAlloc(N * sizeof *b->shared);
	b->buffer = CkDirect_alloc(100);
	b->empty = malloc(1);
	b->name = strdup("a name");
	b->title = strdup("");
	for (int i = 0; i < WIDE * N; i++)
		b->field[i] = row + 0.5 * i;
	for (int i = 0; i < N; i++) {
		b->boxes[i].hi[2] = row + i;
		b->shared[i] = row * i;
		fill_part(&b->parts[i], row + i);
	}
	for (int i = 0; i < 2; i++)
		b->each[i] = CkCallbackExit();
	memset(b->buffer, 'a' + row, 100);
}

static void fill(Block *b, int row)
{
	b->box = (struct box){ .lo = { row, 1, 2 }, .hi = { WIDE, 4, 5 } };
	b->iter = 10 * row;
	b->n = N;
	for (int i = 0; i < 6; i++)
		b->grid[i / 3][i % 3] = row * i;
	b->colour = BLUE;
	b->flag = true;
	fill_pointers(b, row);
	fill_part(&b->part, row + 7);
	fill_part(&b->pair[0], row + 8);
	fill_part(&b->pair[1], row + 9);
	grow(&b->tree, 4, row + 1);
	b->done = Main_cb_done(mainProxy);
	b->next = Block_at(blocks, row, 1);
	b->place = -row;
}

static void check_pointers(const Block *b, int row)
{
	CHECK(!b->never && !b->no_name && b->empty);
	CHECK(strcmp(b->name, "a name") == 0 && *b->title == 0);
	for (int i = 0; i < WIDE * N; i++)
		CHECK(b->field[i] == row + 0.5 * i);
	for (int i = 0; i < N; i++) {
		CHECK_EQ(b->boxes[i].hi[2], row + i);
		CHECK(b->shared[i] == row * i);
		check_part(&b->parts[i], row + i);
	}
	for (int i = 0; i < 100; i++)
		CHECK_EQ(b->buffer[i], 'a' + row);
	CHECK(memcmp(&b->each[1], &b->each[0], sizeof b->each[0]) == 0);
}

static void check_messages(const Block *b, int row, bool own)
{
	CHECK(!b->none);
	CHECK_EQ(b->kept->n, 2 * row + 2);
	CHECK_EQ(CkGetRefNum(b->kept), row);
	for (int i = 0; i < b->kept->n; i++)
		CHECK(b->kept->v[i] == row + i && b->kept->w[i] == row - i);
	CHECK_EQ(*(const long *)CkReductionMsg_data(b->result), ROWS * COLUMNS);
	CHECK((b->own != NULL) == own && (!own || strcmp(b->own->text, "its own") == 0));
	CHECK(!own || CkGetRefNum(b->own) == 77 + row);
}

static void check(const Block *b, int row, bool own)
{
	CHECK(b->box.lo[0] == row && b->box.hi[2] == 5);
	CHECK_EQ(b->iter, 10 * row);
	for (int i = 0; i < 6; i++)
		CHECK(b->grid[i / 3][i % 3] == row * i);
	CHECK(b->colour == BLUE && b->flag && b->n == N);
	check_pointers(b, row);
	check_part(&b->part, row + 7);
	check_part(&b->pair[0], row + 8);
	check_part(&b->pair[1], row + 9);
	check_tree(&b->tree, 4, row + 1);
	CHECK(memcmp(&b->done, &(CkCallback){ 0 }, sizeof b->done) != 0);
	CHECK(b->next.ck.id == blocks.ck.id && b->next.ck.index.v[0] == row);
	check_messages(b, row, own);
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static void Block_pup_any(pup_er p, void *x) { Block_pup(p, x); }

static int row_of(const Block *self) { return Block_thisIndex(self).x; }

void Block_on_arrived(Block *self)
{
	self->place = -row_of(self);
}

/* Its bytes go to the next block. The message that packs itself can only be packed in its element. */
static void send_image(Block *self)
{
	Own *own = self->own;
	size_t n;
	char *bytes;

	self->own = NULL;
	n = CkPupSize(Block_pup_any, self, sizeof *self);
	bytes = malloc(n);
	CHECK(bytes);
	CkPupPack(Block_pup_any, self, sizeof *self, bytes);
	self->own = own;
	Block_image(Block_at(blocks, (row_of(self) + 1) % ROWS, 1 - Block_thisIndex(self).y), row_of(self), (int)n,
		    bytes);
	free(bytes);
}

static void all_there(Block *self)
{
	if (!self->kept || !self->own || !self->result)
		return;
	check(self, row_of(self), true);
	CkPupCheck(self);
	check(self, row_of(self), true);
	CkPupCheck(self);
	send_image(self);
}

void Block_on_new(Block *self)
{
	const int row = row_of(self);
	Plain *m = Plain_alloc((size_t)(2 * row + 2), (size_t)(2 * row + 2));
	Own *own = Own_alloc(0);
	long one = 1;

	fill(self, row);
	m->n = 2 * row + 2;
	for (int i = 0; i < m->n; i++) {
		m->v[i] = row + i;
		m->w[i] = row - i;
	}
	own->text = strdup("its own");
	CkSetRefNum(m, row);
	CkSetRefNum(own, 77 + row);
	Block_plain(Block_thisElement(self), m);
	Block_own(Block_thisElement(self), own);
	CkContribute(self, &one, 1, CkReduction_sum_long, Block_cb_summed_all(blocks));
}

void Block_on_plain(Block *self, Plain *m)
{
	self->kept = m;
	CkKeepMsg();
	all_there(self);
}

void Block_on_own(Block *self, Own *m)
{
	self->own = m;
	CkKeepMsg();
	all_there(self);
}

void Block_on_summed(Block *self, const CkReductionMsg *m)
{
	(void)m;
	self->result = CkKeepMsg();
	all_there(self);
}

void Block_on_image(Block *self, int row, int n, const char *bytes)
{
	Block *b = malloc(sizeof *b);

	CHECK(b);
	CHECK_EQ(CkPupUnpack(Block_pup_any, b, sizeof *b, bytes, (size_t)n), n);
	check(b, row, false);
	CHECK(b->place == 0 && b->scratch[3] == 0);
	CkPupDelete(Block_pup_any, b);
	free(b);
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

/* Deleting frees what it has, too, except for the message that only an element can pack. */
void Block_on_over(Block *self)
{
	free(self->own->text);
	CkFreeMsg(self->own);
	self->own = NULL;
	CkPupDelete(Block_pup_any, self);
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

/* ---- by hand ------------------------------------------------------------------------------------------ */

void Hand_pup(pup_er p, Hand *self)
{
	CHECK(pup_isSizing(p) + pup_isPacking(p) + pup_isUnpacking(p) + pup_isDeleting(p) == 1);
	CHECK(Hand_thisIndex(self) >= 0 && Hand_thisIndex(self) < HANDS);
	pup_int(p, &self->n);
	self->v = pup_alloc(p, self->v, (size_t)self->n * sizeof *self->v);
	pup_doubles(p, self->v, (size_t)self->n);
	pup_long(p, &self->sum);
	self->kept = pup_message(p, self->kept);
	pup_size_t(p, &self->v_at);
	pup_uchars(p, &self->small, 1);
	self->shorts = pup_alloc(p, self->shorts, 3 * sizeof *self->shorts);
	pup_ushorts(p, self->shorts, 3);
	pup_proxy(p, &self->all);
}

void Hand_on_new(Hand *self)
{
	self->n = Hand_thisIndex(self);
	self->v = calloc((size_t)self->n + 1, sizeof *self->v);
	self->shorts = calloc(3, sizeof *self->shorts);
	self->sum = 1L << 40 | self->n;
	self->small = 200;
}

void Hand_on_call(Hand *self, int n, const double *v, int what)
{
	CHECK_EQ(what, 3 * n);
	self->kept = CkKeepMsg();
	self->v_at = (size_t)((const char *)v - (const char *)self->kept);
	self->all = hands;
	Hand_check(Hand_thisElement(self));
}

void Hand_on_check(Hand *self)
{
	const double *v = (const double *)(const void *)((char *)self->kept + self->v_at);

	for (int i = 0; i < 5; i++) {
		CkPupCheck(self);
		CHECK(self->n == Hand_thisIndex(self) && self->sum == (1L << 40 | self->n) && v[1] == 0.5);
	}
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

static void Hand_pup_any(pup_er p, void *x) { Hand_pup(p, x); }

void Hand_on_over(Hand *self)
{
	CkPupDelete(Hand_pup_any, self);
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------------------ */

void Main_on_done(Main *self)
{
	if (++self->n_done == 2) {
		Block_over_all(blocks);
		Hand_over_all(hands);
	}
	if (self->n_done < 4)
		return;
	CkPrintf("packs: elements as bytes on %d PEs\n", CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	blocks = Block_ckNew(CkDims(ROWS, COLUMNS));
	hands = Hand_ckNew(CkDims(HANDS));
	for (int i = 0; i < HANDS; i++)
		Hand_call(Hand_at(hands, i), 2, (double[]){ 0.25, 0.5 }, 6);
}

#include "packs.def.h"
