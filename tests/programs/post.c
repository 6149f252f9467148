/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post: arrays go where X_on_f_post says: named at once, by a tag that was posted before, by one that is
 * posted later; in calls of one, of all, with a condition, on threads, in a `when`, of a nodegroup. The
 * handler gets pointers to just these places. The sender hears once of each array. A chare that ends gives
 * back what its waiting calls were sent.
 */
#include "check.h"

#include <stdlib.h>

#include "post.decl.h"

enum { CELLS = 6, N = 1000, K = 5, TURNS = 3, FEW = 10 };

/* What happens in which order. TAKE names places at once, TAGS posts them before, LATER afterwards. */
enum phase { TAKE, TAGS, LATER, ALL, ALL_TAGS, PART, WAITS, SUM, ROWS, NODES, BRIEF, OVER };

struct Main { enum phase phase; int n_in, n_freed, v[K]; double *big; };
struct Cell {
	double *x, own[N];               /* sent: CkRdmaAlloc's memory, and private memory */
	int y[K], z[K];
	double in_x[CELLS][N];           /* where arrays go */
	int in_z[CELLS][K];
	double in_row[N], in_all[N], in_part[N];
	int in_v[K];
	int n_sent, n_taken, turn;
	bool open, opened, ran;
};
struct Branch { int v[K], w[K]; };
struct Brief { double in[N]; };

static double value(int from, int round, int i) { return from * 10000 + round * 1000000 + i; }

static void check_row(const double *x, int from, int round, int n)
{
	for (int i = 0; i < n; i++)
		CHECK(x[i] == value(from, round, i));
}

static int left(const Cell *self) { return (Cell_thisIndex(self) + CELLS - 1) % CELLS; }
static CProxyElement_Cell right(const Cell *self)
{
	return Cell_at(cells, (Cell_thisIndex(self) + 1) % CELLS);
}
static CkCallback sent(const Cell *self) { return Cell_cb_sent(Cell_thisElement(self)); }

static void next(Cell *self)
{
	CkContributeBarrier(self, Main_cb_next(mainProxy));
}

static double *shared_doubles(void)
{
	return check_there(CkRdmaAlloc(N * sizeof(double)), N * sizeof(double));
}

void Cell_on_new(Cell *self)
{
	self->x = shared_doubles();
}

static void fill(Cell *self, int round)
{
	for (int i = 0; i < N; i++)
		self->x[i] = self->own[i] = value(Cell_thisIndex(self), round, i);
	for (int i = 0; i < K; i++)
		self->y[i] = self->z[i] = Cell_thisIndex(self) + round + i;
}

/* ---- from each to each ------------------------------------------------------------------------------ */

static int tag(const Cell *self, int from, int array)
{
	return (Cell_thisIndex(self) * CELLS + from) * 2 + array;
}

static void post_both(Cell *self, int from)
{
	CkPostBuffer(self->in_x[from], sizeof self->in_x[from], tag(self, from, 0));
	CkPostBuffer(self->in_z[from], sizeof self->in_z[from], tag(self, from, 1));
}

static void send(Cell *self, int round)
{
	fill(self, round);
	for (int to = 0; to < CELLS; to++)
		Cell_take(Cell_at(cells, to), Cell_thisIndex(self), round,
			  CkSendBufferCb(to % 2 ? self->x : self->own, sent(self)), N, "between",
			  CkSendBufferCb(self->y, sent(self)), K, CkSendBufferCb(self->z, sent(self)));
}

void Cell_on_take_post(Cell *self, int from, int round, double **x, int n, const char *text, const int *y,
		       int k, int **z, CkNcpyBufferPost *post)
{
	CHECK(n == N && k == K && strcmp(text, "between") == 0 && y[0] == from + round);
	CHECK(post[0].bytes == N * sizeof **x && post[1].bytes == K * sizeof **z);
	memset(self->in_x[from], 0xff, sizeof self->in_x[from]);
	if (round == TAKE) {
		*x = self->in_x[from];
		*z = self->in_z[from];
		return;
	}
	if (round == TAGS)
		post_both(self, from);
	CkMatchBuffer(post, 1, tag(self, from, 1));
	CkMatchBuffer(post, 0, tag(self, from, 0));
	if (round == LATER)
		Cell_later(Cell_thisElement(self), from);
}

void Cell_on_later(Cell *self, int from)
{
	post_both(self, from);
}

static void all_taken(Cell *self)
{
	if (self->n_taken < CELLS || self->n_sent < 3 * CELLS)
		return;
	self->n_taken = self->n_sent = 0;
	next(self);
}

void Cell_on_take(Cell *self, int from, int round, double *x, int n, const char *text, const int *y, int k,
		  int *z)
{
	CHECK(x == self->in_x[from] && z == self->in_z[from] && strcmp(text, "between") == 0);
	check_row(x, from, round, n);
	for (int i = 0; i < k; i++)
		CHECK(y[i] == from + round + i && z[i] == from + round + i);
	self->n_taken++;
	all_taken(self);
}

/* When all have come, the memory is free. */
void Cell_on_sent(Cell *self, const CkReductionMsg *m)
{
	const CkNcpyBuffer *b = CkReductionMsg_data(m);

	CHECK(m->bytes == sizeof *b && (b->ptr == self->x || b->ptr == self->own ?
					b->bytes == N * sizeof *self->x :
					(b->ptr == self->y || b->ptr == self->z) &&
					b->bytes == K * sizeof *self->y));
	if (++self->n_sent == 3 * CELLS)
		fill(self, -1);
	all_taken(self);
}

/* ---- to all; a part of an array ------------------------------------------------------------------------ */

void Cell_on_all_post(Cell *self, int n, double **x, bool tags, CkNcpyBufferPost *post)
{
	CHECK_EQ(n, N);
	if (!tags) {
		*x = self->in_all;
		return;
	}
	CkMatchBuffer(post, 0, -1 - Cell_thisIndex(self));
	Cell_part(Cell_thisElement(self), 0, CkSendBuffer(NULL)); /* posts it */
}

void Cell_on_all(Cell *self, int n, double *x, bool tags)
{
	CHECK(x == self->in_all && tags == self->opened);
	check_row(x, CELLS, tags, n);
	self->opened = true;
	next(self);
}

void Cell_on_part_post(Cell *self, int n, double **x, CkNcpyBufferPost *post)
{
	*x = self->in_part;
	if (n == 0) {
		*x = NULL; /* nothing comes */
		return;
	}
	for (int i = 0; i < N; i++)
		self->in_part[i] = 0.5;
	post[0].bytes = FEW * sizeof **x;
}

void Cell_on_part(Cell *self, int n, double *x)
{
	if (n == 0) {
		CHECK(x == NULL);
		CkPostBuffer(self->in_all, sizeof self->in_all, -1 - Cell_thisIndex(self));
		return;
	}
	CHECK(n == N && x == self->in_part);
	check_row(x, left(self), PART, FEW);
	for (int i = FEW; i < N; i++)
		CHECK(x[i] == 0.5);
	next(self);
}

/* ---- threads, conditions, answers -------------------------------------------------------------------------- */

void Cell_on_waits_post(Cell *self, int n, double **x, CkNcpyBufferPost *post)
{
	(void)n, (void)x;
	CkMatchBuffer(post, 0, 1000 + Cell_thisIndex(self));
	Cell_open(Cell_thisElement(self));
}

void Cell_on_waits(Cell *self, int n, double *x)
{
	CHECK(x == self->in_x[0] && self->open && self->ran);
	check_row(x, left(self), WAITS, n);
	next(self);
}

void Cell_on_when_open_post(Cell *self, int n, double **x, CkNcpyBufferPost *post)
{
	(void)n, (void)post;
	CHECK(self->open);
	*x = self->in_x[1];
}

void Cell_on_when_open(Cell *self, int n, double *x)
{
	CHECK(x == self->in_x[1] && !self->ran);
	check_row(x, left(self), WAITS, n);
	self->ran = true;
	CkPostBuffer(self->in_x[0], sizeof self->in_x[0], 1000 + Cell_thisIndex(self));
}

void Cell_on_open(Cell *self) { self->open = true; }

void Cell_on_ask(Cell *self)
{
	for (int i = 0; i < K; i++)
		self->y[i] = i;
	CHECK_EQ(Cell_sum_sync(right(self), K, CkSendBuffer(self->y), 2000 + Cell_thisIndex(self)),
		 K * (K - 1) / 2);
	next(self);
}

void Cell_on_sum_post(Cell *self, int n, int **v, int tag, CkNcpyBufferPost *post)
{
	(void)n, (void)v;
	CkPostBuffer(self->in_v, sizeof self->in_v, tag);
	CkMatchBuffer(post, 0, tag);
}

int Cell_on_sum(Cell *self, int n, int *v, int tag)
{
	int s = 0;

	(void)tag;
	CHECK(v == self->in_v);
	for (int i = 0; i < n; i++)
		s += v[i];
	return s;
}

/* ---- Structured Dagger ---------------------------------------------------------------------------------------- */

void Cell_on_row_post(Cell *self, int turn, int n, double **x, CkNcpyBufferPost *post)
{
	(void)post;
	CHECK(turn == self->turn && n == N); /* asked when its turn has come */
	*x = self->in_row;
}

static void row_taken(Cell *self, int turn, int n, double *x, int k, const double *y)
{
	CHECK(x == self->in_row && k == N);
	check_row(x, left(self), ROWS, n);
	check_row(y, left(self), ROWS, k);
	x[0] = -1;
	if (turn == TURNS - 1)
		next(self);
}

/* ---- nodegroups, chares that end -------------------------------------------------------------------- */

void Branch_on_new(Branch *self) { (void)self; }

void Branch_on_take_post(Branch *self, int n, int **v, CkNcpyBufferPost *post)
{
	(void)self, (void)n, (void)v;
	CkMatchNodeBuffer(post, 0, 1);
}

void Branch_on_post(Branch *self)
{
	CkPostNodeBuffer(self->v, sizeof self->v, 1);
}

void Branch_on_take(Branch *self, int n, int *v)
{
	CHECK(v == self->v);
	Main_in(mainProxy, n, CkSendBuffer(v));
}

void Branch_on_one_post(Branch *self, int n, int **v, CkNcpyBufferPost *post)
{
	(void)n, (void)post;
	*v = self->w;
}

void Branch_on_one(Branch *self, int n, int *v)
{
	CHECK(v == self->w);
	Main_in(mainProxy, n, CkSendBuffer(v));
}

void Main_on_in_post(Main *self, int n, int **v, CkNcpyBufferPost *post)
{
	(void)n, (void)post;
	*v = self->v;
}

/* Two from each node. */
void Main_on_in(Main *self, int n, int *v)
{
	CHECK(n == K && v == self->v && v[K - 1] == 7 + K - 1);
	if (++self->n_in == 2 * CkNumNodes())
		Main_on_next(self);
}

void Brief_on_new(Brief *self) { (void)self; }

void Brief_on_never_post(Brief *self, int n, double **v, CkNcpyBufferPost *post)
{
	(void)self, (void)n, (void)v;
	CkMatchBuffer(post, 0, 3000);
}

void Brief_on_never(Brief *self, int n, double *v)
{
	(void)self, (void)n, (void)v;
	CkAbort("nobody has posted a buffer");
}

void Brief_on_once_post(Brief *self, int n, double **v, CkNcpyBufferPost *post)
{
	(void)n, (void)v;
	CkMatchBuffer(post, 0, 3001);
	Brief_give(Brief_thisProxy(self));
}

void Brief_on_give(Brief *self) { CkPostBuffer(self->in, sizeof self->in, 3001); }

/* It has waited for its buffer, and ends its chare. */
void Brief_on_once(Brief *self, int n, double *v)
{
	CHECK(v == self->in);
	check_row(v, 0, BRIEF, n);
	CkDestroy(self);
}

void Brief_on_end(Brief *self) { CkDestroy(self); }

/* One Brief ends without its buffer, one in the handler that has waited for it. Their caller's memory comes back. */
void Main_on_freed(Main *self)
{
	if (++self->n_freed < 2)
		return;
	CkRdmaFree(self->big);
	Main_on_next(self);
}

/* ---- phases --------------------------------------------------------------------------------------------- */

static void part(Cell *self)
{
	fill(self, PART);
	Cell_part(right(self), N, CkSendBuffer(self->x));
}

static void waits(Cell *self)
{
	fill(self, WAITS);
	Cell_when_open(right(self), N, CkSendBuffer(self->x));
	Cell_waits(right(self), N, CkSendBuffer(self->own));
}

/* Rows in the wrong order, and arrays that are lent to a `when`. */
static void rows(Cell *self)
{
	fill(self, ROWS);
	Cell_run(Cell_thisElement(self));
	for (int turn = TURNS - 1; turn >= 0; turn--) {
		Cell_row(right(self), turn, N, CkSendBuffer(turn % 2 ? self->x : self->own));
		Cell_lent(right(self), N, CkSendBuffer(turn % 2 ? self->own : self->x));
	}
}

void Cell_on_go(Cell *self, int phase)
{
	switch ((enum phase)phase) {
	case PART: part(self); break;
	case WAITS: waits(self); break;
	case ROWS: rows(self); break;
	default: send(self, phase);
	}
}

static void to_all(bool tags)
{
	static double x[N];

	for (int i = 0; i < N; i++)
		x[i] = value(CELLS, tags, i);
	Cell_all_all(cells, N, CkSendBuffer(x), tags);
	for (int i = 0; i < N; i++)
		x[i] = -1; /* copied before the call returned */
}

static void to_nodes(Main *self)
{
	for (int i = 0; i < K; i++)
		self->v[i] = 7 + i;
	Branch_take_all(branches, K, CkSendBuffer(self->v));
	Branch_one_all(branches, K, CkSendBuffer(self->v));
	Branch_post_all(branches);
}

static void to_brief(Main *self)
{
	CProxy_Brief b = Brief_ckNew(CkNumPes() - 1);

	self->big = shared_doubles();
	Brief_never(b, N, CkSendBufferCb(self->big, Main_cb_freed(mainProxy)));
	Brief_end(b);
	for (int i = 0; i < N; i++)
		self->big[i] = value(0, BRIEF, i);
	Brief_once(Brief_ckNew(CkNumPes() - 1), N, CkSendBufferCb(self->big, Main_cb_freed(mainProxy)));
}

void Main_on_next(Main *self)
{
	const enum phase phase = self->phase++;

	switch (phase) {
	case ALL: to_all(false); break;
	case ALL_TAGS: to_all(true); break;
	case SUM: Cell_ask_all(cells); break;
	case NODES: to_nodes(self); break;
	case BRIEF: to_brief(self); break;
	case OVER:
		CkPrintf("post: %d elements on %d PEs\n", CELLS, CkNumPes());
		CkExit(0);
		break;
	default: Cell_go_all(cells, (int)phase);
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	branches = Branch_ckNew();
	cells = Cell_ckNew(CkDims(CELLS));
	Main_on_next(self);
}

#include "post.def.h"
