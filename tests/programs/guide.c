/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guide: runs the examples of docs/GUIDE.md. Each stage ends in quiescence, which calls Main::next.
 */
#include "guide.h"
#include "check.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "csd.h"
#include "guide.decl.h"

enum { N = 10, ROWS = 3, COLUMNS = 8, N_RESULTS = 6 };

struct Main { bool ready; int stage, n_answers, n_heard, n_results, n_summed; double asked; };
struct Cell {
	double x, max;
	double *buffer;
	double row[N], ghost[N], copy[N];
	const double *kept;
	void *kept_msg;
	int n_poked, n_bulk, n_reused, n_placed, n_got, n_gave;
	long before;
	double edges[2];
};
struct Tile { int n_rows; };
struct Bin { int capacity; };
struct Tally { int n_calls; };
struct Table { double values[N]; int n; };

static double x_of(int i) { return (i * 7) % N + 0.5; }

/* ---- arrays ---------------------------------------------------------------------------------- */

static int by_column(CkIndex i, CkArrayDims dims, int n_pes)
{
	return i.v[1] * n_pes / dims.n[1];
}

static void farthest(void *acc, const void *in, size_t n)
{
	spot *a = acc;
	const spot *b = in;

	for (size_t i = 0; i < n; i++)
		if (b[i].value > a[i].value)
			a[i] = b[i];
}

void at_start(void)
{
	CkRegisterMap("by column", by_column);
	CkRegisterValueReducer("farthest", sizeof(spot), farthest, NULL, false);
}

static void make_grid(void)
{
	CkCallback cb = Main_cb_ready(mainProxy);       /* when all are constructed */
	CkArrayOptions o = {.dims = CkDims(ROWS, COLUMNS), .map = "by column", .ready = &cb};

	grid = Tile_ckNew_opt(&o);
}

void Main_on_ready(Main *self)
{
	self->ready = true;
}

static void make_bins(void)
{
	bins = Bin_ckNewEmpty();
	Bin_insert(Bin_at(bins, 1000000), CK_PE_ANY, 5);        /* on its home PE */
	Bin_insert(Bin_at(bins, -3), CkNumPes() - 1, 7);        /* on the last one */
	Bin_doneInserting(bins);
}

void Bin_on_new(Bin *self, int capacity)
{
	self->capacity = capacity;
}

void Bin_on_drop(Bin *self, int n)
{
	self->capacity -= n;
	if (self->capacity == 0)
		CkDestroy(self);                        /* self is good until we return */
}

static int room_here(void)
{
	int room = 0;

	for (Bin *b = NULL; (b = Bin_nextLocal(bins, b)) != NULL;)
		room += b->capacity;
	return room;
}

void Tile_on_new(Tile *self)
{
	CHECK_EQ(CkMyPe(), Tile_thisIndex(self).y * CkNumPes() / COLUMNS);
}

void Tile_on_count(Tile *self)
{
	CHECK_EQ(self->n_rows, 1);
	CkContribute(self, &self->n_rows, 1, CkReduction_sum_int, Main_cb_tiles(mainProxy));
}

void Main_on_tiles(Main *self, int n)
{
	CHECK_EQ(n, ROWS * COLUMNS);
	self->n_results++;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void send_row(int y, int n)
{
	Row *r = Row_alloc((size_t)n);          /* one length for each array in it */

	r->y = y;
	for (int i = 0; i < n; i++)
		r->v[i] = y + i;
	Tile_take(Tile_at(grid, y, 0), r);      /* r is no longer ours */
}

void Tile_on_take(Tile *self, Row *r)
{
	CkIndex2D at = Tile_thisIndex(self);

	self->n_rows++;
	r->v[at.y] += 1;
	if (at.y + 1 < COLUMNS)
		Tile_take(Tile_at(grid, at.x, at.y + 1), r); /* sent on, not copied */
	else
		CHECK(r->v[0] == r->y + 1);
}

void Cell_on_keep(Cell *self, int n, const double *v)
{
	CHECK_EQ(n, N);
	self->kept = v;
	self->kept_msg = CkKeepMsg();           /* what v points to stays */
}

void Cell_on_release(Cell *self)
{
	CHECK(self->kept[3] == 3.5);
	CkFreeMsg(self->kept_msg);
}

static void show(Cell *self, CProxyElement_Cell to)
{
	CkNcpyBuffer mine;

	CkNcpyBufferInit(&mine, self->row, sizeof self->row, Cell_cb_gave(Cell_thisElement(self)));
	Cell_offer(to, mine);
}

void Cell_on_lend(Cell *self, CProxyElement_Cell to)
{
	CkCallback done = Cell_cb_reuse(Cell_thisElement(self));

	Cell_bulk(to, N, CkSendBufferCb(self->buffer, done));
	for (int i = 0; i < N; i++)
		self->row[i] = 3;
	Cell_place(to, N, CkSendBuffer(self->row));
	show(self, to);
}

void Cell_on_reuse(Cell *self)                  /* now the buffer may change */
{
	self->n_reused++;
	memset(self->buffer, 0, N * sizeof *self->buffer);
}

void Cell_on_bulk(Cell *self, int n, const double *v)
{
	CHECK_EQ(n, N);
	for (int i = 0; i < n; i++)
		CHECK(v[i] == 3);
	self->n_bulk++;
}

void Cell_on_place_post(Cell *self, int n, double **v, CkNcpyBufferPost *post)
{
	(void)n, (void)post;
	*v = self->ghost;                       /* there it shall go */
}

void Cell_on_place(Cell *self, int n, double *v)
{
	CHECK(v == self->ghost && n == N && v[N - 1] == 3);
	self->n_placed++;
}

void Cell_on_offer(Cell *self, CkNcpyBuffer from)
{
	CkNcpyBuffer to;

	CkNcpyBufferInit(&to, self->copy, sizeof self->copy, Cell_cb_got(Cell_thisElement(self)));
	CkNcpyGet(&to, &from);
}

void Cell_on_got(Cell *self)                    /* the data are in self->copy */
{
	CHECK(self->copy[0] == 3 && self->copy[N - 1] == 3);
	self->n_got++;
}

void Cell_on_gave(Cell *self)                   /* self->row may change */
{
	self->n_gave++;
}

static void send_messages(void)
{
	double v[N];

	for (int y = 0; y < ROWS; y++)
		send_row(y, COLUMNS);
	for (int i = 0; i < N; i++)
		v[i] = i + 0.5;
	Cell_keep_all(cells, N, v);
	for (int i = 0; i < N; i++)
		Cell_lend(Cell_at(cells, i), Cell_at(cells, (i + 1) % N));
}

/* ---- callbacks ----------------------------------------------------------------------------------- */

static void heard(void *ctx, const CkReductionMsg *m)
{
	Main *self = ctx;

	CHECK(m->count == 1 && *(const int *)CkReductionMsg_data(m) == 42);
	self->n_heard++;
}

static void ask(Main *self, CProxyElement_Cell e)
{
	Cell_ask(e, 6, Main_cb_answer(mainProxy));           /* an entry method */
	Cell_ask(e, 6, CkCallbackFunction(heard, self));     /* a C function, here */
	Cell_ask(e, 6, CkCallbackIgnore());
}

void Cell_on_ask(Cell *self, int x, CkCallback answer)
{
	int y = 7 * x;

	(void)self;
	CkCallbackSendTyped(answer, CK_INT, &y, 1);
}

void Main_on_answer(Main *self, int y)
{
	CHECK_EQ(y, 42);
	self->n_answers++;
}

/* ---- reductions ------------------------------------------------------------------------------------ */

static void count_here(void)
{
	Tally *mine = Tally_ckLocalBranch(tallies);     /* this PE's, without a message */

	mine->n_calls++;
}

void Cell_on_measure(Cell *self)
{
	int i = Cell_thisIndex(self);
	double v[2] = {self->x, self->x * self->x};
	long n = i + 1;
	spot s = {self->x, i};
	CkTupleElement both[] = {
		{CkReduction_min_double, 1, &self->x},
		{CkReduction_set, sizeof i, &i},
	};

	CkContribute(self, v, 2, CkReduction_sum_double, Main_cb_sums(mainProxy));
	CkContribute(self, &self->x, 1, CkReduction_max_double, Cell_cb_largest_all(cells));
	CkContribute(self, &s, 1, CkReducer("farthest"), Main_cb_farthest(mainProxy));
	CkContributeTuple(self, both, 2, Main_cb_several(mainProxy));
	CkScan(self, &n, 1, CkReduction_sum_long, CK_SCAN_EXCLUSIVE,
	       Cell_cb_offset(Cell_thisElement(self)));
	count_here();
}

void Main_on_sums(Main *self, int n, const double *v)
{
	double sum = 0, squares = 0;

	for (int i = 0; i < N; i++) {
		sum += x_of(i);
		squares += x_of(i) * x_of(i);
	}
	CHECK(n == 2 && v[0] == sum && v[1] == squares);
	self->n_results++;
}

void Cell_on_largest(Cell *self, double max)
{
	self->max = max;
}

void Main_on_farthest(Main *self, const CkReductionMsg *m)
{
	const spot *s = CkReductionMsg_data(m);

	CHECK(m->bytes == sizeof *s && s->value == N - 0.5 && s->value == x_of(s->where));
	self->n_results++;
}

void Main_on_several(Main *self, const CkReductionMsg *m)
{
	const double *min = CkReductionMsg_data(CkReductionTuple_at(m, 0));
	const CkReductionMsg *set = CkReductionTuple_at(m, 1);
	int n = 0;

	for (const CkReductionSetElement *e = NULL; (e = CkReductionSet_next(set, e)) != NULL; n++)
		CHECK_EQ(*(const int *)CkReductionSetElement_data(e), n);
	CHECK(n == N && *min == 0.5);
	self->n_results++;
}

void Cell_on_offset(Cell *self, long before)
{
	long i = Cell_thisIndex(self), ok = before == i * (i + 1) / 2 && self->max <= N - 0.5;

	CkContribute(self, &ok, 1, CkReduction_sum_long, Main_cb_offsets(mainProxy));
}

void Main_on_offsets(Main *self, long ok)
{
	CHECK_EQ(ok, N);
	self->n_results++;
}

/* ---- threads ---------------------------------------------------------------------------------------- */

double Cell_on_value(Cell *self, int k)
{
	return k * self->x;
}

void Cell_on_compute(Cell *self, int n, CkFuture f)
{
	double y = n * self->x;

	CkSendToFutureTyped(f, CK_DOUBLE, &y, 1);
}

void Cell_on_sum(Cell *self, CkCallback result)
{
	CkContribute(self, &self->x, 1, CkReduction_sum_double, result);
}

static double take_double(CkReductionMsg *m)
{
	double x = *(const double *)CkReductionMsg_data(m);

	CkFreeMsg(m);
	return x;
}

void Main_on_drive(Main *self)
{
	/* A call that answers: the thread waits, the PE does not. */
	double x = Cell_value_sync(Cell_at(cells, 3), 2);

	/* Two at a time. */
	CkFuture f = CkCreateFuture(), g = CkCreateFutureTyped(CK_DOUBLE);
	Cell_compute(Cell_at(cells, 1), 10, f);
	Cell_compute(Cell_at(cells, 2), 10, g);
	double y = take_double(CkWaitReleaseFuture(f)) + take_double(CkWaitReleaseFuture(g));

	/* The result of a reduction. */
	CkCallback cb = CkCallbackResumeThread();
	Cell_sum_all(cells, cb);
	double sum = take_double(CkCallbackThreadDelay(cb));

	CHECK(x == 2 * x_of(3) && y == 10 * (x_of(1) + x_of(2)) && sum == N * N / 2.0);
	self->n_results++;
	Main_next(mainProxy);
}

/* ---- groups, and calls without a message ---------------------------------------------------------------- */

void Tally_on_new(Tally *self) { (void)self; }

void Tally_on_report(Tally *self)
{
	int here = 0;

	CHECK_EQ(room_here(), CkMyPe() == CkNumPes() - 1 ? 6 : 0);
	for (int i = 0; i < N; i++) {
		const Cell *c = Cell_ckLocal(Cell_at(cells, i)); /* NULL: not on this PE */

		if (!c)
			continue;
		CHECK(c->max == N - 0.5 && c->n_bulk == 1 && c->n_reused == 1 && c->buffer[0] == 0);
		CHECK(c->n_placed == 1 && c->n_got == 1 && c->n_gave == 1);
		free(c->buffer);
		here++;
	}
	CHECK_EQ(self->n_calls, here);
	Table_put(Table_at(tables, CkNumNodes() - 1), CkMyPe() % N, 1);
}

void Table_on_new(Table *self) { (void)self; }

/* [exclusive]: one at a time, so the table needs no lock. */
void Table_on_put(Table *self, int key, double value)
{
	self->values[key] += value;
	if (++self->n < CkNumPes())
		return;
	for (int i = 0; i < N; i++)
		CHECK(self->values[i] == CkNumPes() / N + (i < CkNumPes() % N));
	Main_next(mainProxy);
}

void Cell_on_poke(Cell *self, int by)
{
	self->n_poked += by;
}

int Cell_on_pokes(Cell *self)
{
	return self->n_poked;
}

void Cell_on_new(Cell *self)
{
	self->x = x_of(Cell_thisIndex(self));
	self->buffer = malloc(N * sizeof *self->buffer);
	CHECK(self->buffer);
	for (int i = 0; i < N; i++)
		self->buffer[i] = 3;
	Cell_poke(Cell_thisElement(self), 5);   /* [inline]: has run when it returns */
	CHECK_EQ(Cell_pokes(Cell_thisElement(self)), 5); /* [local]: a function */
}

/* ---- several calls, one handler -------------------------------------------------------------- */

static void send_edges(void)
{
	const double v[2] = { 5, 7 };

	for (int side = 1; side <= 2; side++)
		for (int step = 1; step >= 0; step--)
			Cell_edge(Cell_at(cells, 0), step, side, 1, v + step);
}

void Cell_on_edge(Cell *self, int step, int n, const Cell_edge_call *calls)
{
	for (int i = 0; i < n; i++)
		self->edges[step] += calls[i].side * calls[i].v[0];
	CHECK_EQ(self->edges[step], step ? 21 : 15);
	Main_summed(mainProxy);
}

void Main_on_summed(Main *self)
{
	self->n_summed++;
}

/* ---- time --------------------------------------------------------------------------------------------------- */

static void rings(void *ctx)                    /* on the same PE, between two handlers */
{
	Main *self = ctx;

	CHECK(CkWallTimer() > self->asked);
	Tally_report_all(tallies);
}

static void ask_for_a_ring(Main *self)
{
	self->asked = CkWallTimer();
	CcdCallFnAfter(rings, self, 0.5);       /* milliseconds; csd.h */
}

/* ---- main -------------------------------------------------------------------------------------------------- */

void Main_on_next(Main *self)
{
	switch (self->stage++) {
	case 0:
		ask(self, Cell_at(cells, N - 1));
		Cell_measure_all(cells);
		send_messages();
		for (int i = 0; i < 5; i++)
			Bin_drop(Bin_at(bins, 1000000), 1);
		CkStartQD(Main_cb_next(mainProxy));
		break;
	case 1:
		CHECK(self->n_answers == 1 && self->n_heard == 1);
		CHECK_EQ(self->n_results, 4);   /* the thread's and the tiles' are still to come */
		CHECK(self->ready);
		Cell_release_all(cells);
		Bin_drop_all(bins, 1);          /* there is one left */
		Tile_count_all(grid);
		send_edges();
		CkStartQD(Main_cb_next(mainProxy));
		break;
	case 2:
		CHECK_EQ(self->n_summed, 2);
		Main_drive(mainProxy);
		break;
	case 3:
		CHECK_EQ(self->n_results, N_RESULTS);
		ask_for_a_ring(self);
		break;
	default:
		CkPrintf("guide: on %d PEs\n", CkNumPes());
		CkExit(0);
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(N));
	tallies = Tally_ckNew();
	tables = Table_ckNew();
	make_grid();
	make_bins();
	CkStartQD(Main_cb_next(mainProxy));
}

#include "guide.def.h"
