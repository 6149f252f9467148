/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zoo.c: a program in which every PE calls everything that zoo.ci has, so that messages of every kind come to PE
 * 0. Its handlers read all of their parameters, and trust none of them: what a damaged message brings may be any
 * value. When all is quiet, it calls zoo_is_quiet on PE 0.
 */
#include "zoo.h"

#include <stdlib.h>
#include <string.h>

#include "nodes.h"
#include "zoo.decl.h"

enum { CELLS = 8, TURNS = 2, OFTEN = 5, MOST = 16 };

struct Main { int n_over; CProxy_Rover rovers; };
struct Cell { double place[MOST]; int n_in; };
struct Grid { int turn; };
struct Spot { int n_in; };
struct Team { CProxy_One one; CkCompletion end; };
struct Hall { int n; };
struct One { int n; };
struct Nomad { int n, *v; };
struct Rover { int n_in; };

struct zoo_names zoo_names;
static bool zoo_over;
static uint64_t nomads_id, rovers_id;
static volatile long long sum; /* so that everything is read */

static void read_bytes(const void *p, size_t bytes)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < bytes; i++)
		sum += b[i];
}

#define READ(v, n) read_bytes((v), (size_t)(n) * sizeof *(v))
#define READ_TEXT(s) read_bytes((s), strlen(s))

/* The name is from another PE, and has come to PE 0 while the program was not quiet yet. */
static bool is_wanted(void)
{
	return CkMyPe() == 0 && !zoo_over;
}

bool zoo_is_told(uint64_t was, uint64_t id)
{
	enum { COLLECTIONS_MOST = 256 };

	return id == was || id >> 32 >= NODES || (uint32_t)id >= COLLECTIONS_MOST;
}

/* ---- what gets the calls -------------------------------------------------------------- */

void Cell_on_new(Cell *self, int n, const double *v, const char *name)
{
	(void)self;
	READ(v, n);
	READ_TEXT(name);
}

void Cell_on_none(Cell *self) { self->n_in++; }

void Cell_on_values(Cell *self, int i, double d, char c, struct point p, bool b)
{
	self->n_in++;
	sum += i + c;
	READ(&d, 1);
	READ(&p, 1);
	READ((const char *)&b, 1);
}

void Cell_on_array(Cell *self, int n, const double *v) { self->n_in++; READ(v, n); }

void Cell_on_product(Cell *self, int n, short m, const float *v, const char *c, const long *w)
{
	self->n_in++;
	READ(v, n * m + 1);
	READ(c, 2 * n);
	READ(w, n);
}

void Cell_on_strings(Cell *self, const char *a, int k, const char *b, const char *c)
{
	self->n_in += k != 0;
	READ_TEXT(a);
	READ_TEXT(b);
	READ_TEXT(c);
}

void Cell_on_fixed(Cell *self, const double *v, const int *w)
{
	self->n_in++;
	READ(v, ZOO_SIZE);
	READ(w, length);
}

void Cell_on_names(Cell *self, CProxy_Cell all, CProxyElement_Cell one, CProxy_Team t, CkSection s)
{
	(void)self;
	if (is_wanted()) {
		zoo_names.all = all.ck;
		zoo_names.one = one.ck;
		zoo_names.team = t.ck;
		zoo_names.section = s;
	}
	if (zoo_is_told(cells.ck.id, all.ck.id))
		Cell_none_all(all);
	if (zoo_is_told(cells.ck.id, one.ck.id))
		Cell_none(one);
	if (zoo_is_told(team.ck.id, t.ck.id))
		Team_call_all(t, 0, NULL);
}

void Cell_on_handles(Cell *self, CkDirectHandle h, int n, const CkDirectHandle *v)
{
	self->n_in++;
	READ(&h, 1);
	READ(v, n);
	READ_TEXT(CkDirect_path(&h));
	if (is_wanted())
		zoo_names.handle = h;
}

void Cell_on_back(Cell *self, CkCallback cb)
{
	self->n_in++;
	if (is_wanted())
		zoo_names.back = cb;
	CkCallbackSendTyped(cb, CK_INT, &self->n_in, 1);
}

void Cell_on_future(Cell *self, CkFuture f)
{
	if (is_wanted())
		zoo_names.future = f;
	CkSendToFutureTyped(f, CK_INT, &self->n_in, 1);
}

void Cell_on_row(Cell *self, const Row *r, int n, const Row *v)
{
	self->n_in++;
	READ(r->v, r->n);
	for (int i = 0; i < n; i++)
		READ(v[i].v, v[i].n);
}

void Cell_on_plain(Cell *self, Plain *p) { self->n_in++; READ(p, 1); }

/* How long a message's arrays are only the program knows, so it must not believe n (docs/CHARM.md). */
void Cell_on_block(Cell *self, Block *b) { self->n_in++; READ(&b->n, 1); }
void Cell_on_lent(Cell *self, int n, const double *v) { self->n_in++; READ(v, n); }

void Cell_on_posted_post(Cell *self, int n, double **v, CkNcpyBufferPost *post)
{
	(void)post;
	*v = n <= MOST ? self->place : NULL;
}

void Cell_on_posted(Cell *self, int n, double *v)
{
	self->n_in++;
	if (n <= MOST)
		READ(v, n);
}

void Cell_on_buffer(Cell *self, CkNcpyBuffer b)
{
	self->n_in++;
	READ(&b, 1);
	if (is_wanted())
		zoo_names.buffer = b;
}

void Cell_on_small(Cell *self, int n, const int *v, const char *s) { self->n_in++; READ(v, n); READ_TEXT(s); }
void Cell_on_fast(Cell *self, int n, const int *v) { self->n_in++; READ(v, n); }
int Cell_on_ask(Cell *self, int n, const int *v) { READ(v, n); return self->n_in; }
Block *Cell_on_askBlock(Cell *self, Block *b) { self->n_in++; return b; }
void Cell_on_thread(Cell *self, int n, const int *v) { self->n_in++; READ(v, n); }
void Cell_on_later(Cell *self, int n, int k, const int *v) { self->n_in += n > k; READ(v, n); }
void Cell_on_result(Cell *self, int n, const double *v) { self->n_in++; READ(v, n); }

static void cell_read(const int *v, int n) { READ(v, n); }

void Grid_on_new(Grid *self, int n, const int *v) { self->turn = 0; READ(v, n); }
void Grid_on_call(Grid *self, const char *s) { self->turn++; READ_TEXT(s); }
void Grid_on_end(Grid *self) { CkDestroy(self); }
int Grid_on_ask(Grid *self) { return self->turn; }
Block *Grid_on_askBlock(Grid *self) { self->turn++; return NULL; }
void Grid_on_resumeFromSync(Grid *self) { (void)self; }

void Spot_on_new(Spot *self) { self->n_in = 0; }
void Spot_on_here(Spot *self, int n, const int *v) { self->n_in++; READ(v, n); }
void Spot_on_home(Spot *self, int n, const int *v) { self->n_in++; READ(v, n); }
void Spot_on_end(Spot *self) { CkDestroy(self); }

void Team_on_new(Team *self, int n, const int *v) { (void)self; READ(v, n); }
void Team_on_call(Team *self, int n, const int *v) { (void)self; READ(v, n); }

void Hall_on_new(Hall *self, const char *s) { self->n = 0; READ_TEXT(s); }
void Hall_on_call(Hall *self, int n, const int *v) { self->n++; READ(v, n); }
void Hall_on_alone(Hall *self, const char *s) { self->n++; READ_TEXT(s); }

void One_on_new(One *self, int n, const int *v) { self->n = 0; READ(v, n); }
void One_on_call(One *self, int n, const int *v) { self->n++; READ(v, n); }
void One_on_end(One *self) { CkDestroy(self); }

static void nomad_read(const int *v, int n) { READ(v, n); }

void Nomad_pup(pup_er p, Nomad *self)
{
	pup_int(p, &self->n);
	self->v = pup_alloc(p, self->v, (size_t)self->n * sizeof *self->v);
	pup_ints(p, self->v, (size_t)self->n);
}

void Nomad_on_new(Nomad *self)
{
	self->n = 3;
	self->v = calloc((size_t)self->n, sizeof *self->v);
}

void Nomad_on_later(Nomad *self, int n, const int *v) { self->v[0]++; READ(v, n); }

/* ---- the calls -------------------------------------------------------------------------- */

static const int ints[] = { 3, 1, 4, 1, 5, 9 };
static const double doubles[] = { 1.5, 2.5, 3.5, 4.5, 5.5, 6.5 };

static Block *block(int n)
{
	Block *b = Block_alloc(n, 8);

	b->n = n;
	for (int i = 0; i < n; i++)
		b->v[i] = i;
	strcpy(b->text, "text");
	return b;
}

static void call_values(CProxyElement_Cell to, int turn)
{
	static const float floats[] = { 1, 2, 3, 4, 5, 6, 7 };
	static const long longs[] = { 1, 2, 3 };
	Row row = { turn, (double *)(uintptr_t)doubles }, rows[] = { row, row };
	Plain *p = Plain_alloc();

	Cell_none(to);
	Cell_values(to, turn, 1.5, 'c', (struct point){ 2.5, 3 }, true);
	Cell_array(to, 3 * turn, doubles);
	Cell_product(to, 3, 2, floats, "abcdef", longs);
	Cell_strings(to, "one", turn, "two and more", "");
	Cell_fixed(to, doubles, ints);
	Cell_row(to, &row, 2, rows);
	Cell_plain(to, p);
	Cell_block(to, block(turn + 3));
	Cell_small(to, 2, ints, "small");
	Cell_small(to, 3, ints, "");
	Cell_fast(to, 3, ints);
	Cell_thread(to, 4, ints);
	Cell_later(to, turn, 1, ints);
	Cell_serial(to, turn);
	Cell_left(to, turn, 2, ints);
	Cell_right(to, block(2));
}

static void call_names(CProxyElement_Cell to, int turn)
{
	const CkIndex members[] = { Cell_index(0), Cell_index(3), Cell_index(5) };
	CProxySection_Cell s = Cell_ckSection(cells, members, 3);
	static double in[MOST];
	CkDirectHandle h = CkDirect_createHandleSeq(in, sizeof in, Zoo_arrived, NULL);
	CkNcpyBuffer b;

	Cell_names(to, cells, to, team, s.ck);
	Cell_handles(to, h, 1, &h);
	Cell_back(to, Main_cb_sum(mainProxy));
	CkNcpyBufferInit(&b, in, sizeof in, CkCallbackIgnore());
	Cell_buffer(to, b);
	Cell_lent(to, 4, CkSendBuffer(doubles));
	Cell_posted(to, 5, CkSendBuffer(doubles));
	Cell_array_section(s, 3, doubles);
	Cell_member_section(s, s.ck);
	Cell_strings_all(cells, "all", turn, "of", "them");
	CkCallbackSendTyped(Cell_cb_result(to), CK_DOUBLE, doubles, 3);
}

void Zoo_arrived(void *data) { (void)data; }

void Cell_on_member(Cell *self, CkSection s)
{
	CkContributeSection(self, s, doubles, 2, CkReduction_sum_double, Main_cb_values(mainProxy));
}

void Cell_on_give(Cell *self, int turn)
{
	int n = 1;
	/* What comes is any number; that it is an index is for the program to see to. */
	size_t n_values = (size_t)turn <= sizeof doubles / sizeof *doubles ? (size_t)turn : 1;

	CkContribute(self, &n, 1, CkReduction_sum_int, Main_cb_sum(mainProxy));
	CkContribute(self, doubles, n_values, CkReduction_sum_double, Cell_cb_result_all(cells));
	CkScan(self, &n, 1, CkReduction_sum_int, CK_SCAN_INCLUSIVE, CkCallbackIgnore());
	CkFence(self, CkCallbackIgnore());
}

void Grid_on_give(Grid *self, int turn)
{
	CkContribute(self, &turn, 1, CkReduction_concat, Main_cb_any(mainProxy));
}

void Team_on_wait(Team *self, int to)
{
	CkFuture f = CkCreateFuture();
	Block *b;

	(void)self;
	Cell_future(Cell_at(cells, to), f);
	CkFreeMsg(CkWaitReleaseFuture(f));
	sum += Cell_ask_sync(Cell_at(cells, to), 2, ints);
	b = Cell_askBlock_sync(Cell_at(cells, to), block(3));
	CkFreeMsg(b);
}

/* Waits for an answer or a value that does not come, unless an input brings it. */
void Team_on_stay(Team *self, int what)
{
	CProxyElement_Grid nobody = Grid_at(Grid_ckNewEmpty(), 0, 0);
	const CkReductionMsg *m;
	Block *b;

	(void)self;
	switch (what) {
	case 0:
		sum += Grid_ask_sync(nobody);
		break;
	case 1:
		b = Grid_askBlock_sync(nobody);
		if (b)
			READ(&b->n, 1);
		break;
	case 2:
		m = CkWaitFuture(CkCreateFutureTyped(CK_DOUBLE));
		read_bytes(CkReductionMsg_data(m), m->bytes);
		break;
	default:
		b = Block_waitFuture(CkCreateFuture());
		READ(&b->n, 1);
		break;
	}
}

void Rover_on_new(Rover *self) { (void)self; }

void Rover_pup(pup_er p, Rover *self) { pup_int(p, &self->n_in); }

void Rover_on_often(Rover *self, int n, const int *v)
{
	self->n_in++;
	READ(v, n);
}

void Rover_on_leave(Rover *self) { CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes()); }

/* A pattern that repeats: with other nodes in shared memory (CHECK_NET) it gets a block there. The rovers leave meanwhile,
 * which ends it. */
void Team_on_often(Team *self, CProxy_Rover all)
{
	(void)self;
	if (!zoo_is_told(rovers_id, all.ck.id))
		return;
	for (int i = 0; i < NODES; i++)
		for (int k = 0; k < 4; k++)
			Rover_often(Rover_at(all, i), 3, ints);
}

/* To the next PE, and there once more. What it contributes goes to its seat. */
void Nomad_on_go(Nomad *self, CProxy_Nomad all, int left, int n, const int *v)
{
	int one = 1;

	READ(v, n);
	CkContribute(self, &one, 1, CkReduction_sum_int, Main_cb_sum(mainProxy));
	CkScan(self, &one, 1, CkReduction_sum_int, CK_SCAN_INCLUSIVE, CkCallbackIgnore());
	if (left <= 0 || !zoo_is_told(nomads_id, all.ck.id))
		return;
	CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes());
	Nomad_go(Nomad_at(all, Nomad_thisIndex(self)), all, left - 1, 2, ints);
}

static void settle(Main *self)
{
	self->rovers = Rover_ckNew(CkDims1(NODES));
	rovers_id = self->rovers.ck.id;
	Team_often_all(team, self->rovers);
}

static void wander(void)
{
	CProxy_Nomad all = Nomad_ckNew(CkDims1(NODES));

	nomads_id = all.ck.id;
	for (int i = 0; i < NODES; i++) {
		CProxyElement_Nomad it = Nomad_at(all, i);

		Nomad_walk(it, 3, ints);
		Nomad_later(it, 4, ints);
		Nomad_later(it, 5, ints);
		Nomad_go(it, all, NODES - 1, 3, ints);
	}
}

static void make(Team *self, int turn)
{
	const int me = CkMyPe();
	CProxy_Grid more = Grid_ckNewEmpty();

	if (turn == 0)
		self->one = One_ckNew(0, 3, ints);
	One_call(self->one, 2, ints);
	if (turn + 1 == TURNS)
		One_end(self->one);
	One_call(One_ckNew(CK_PE_ANY, 1, ints), 4, ints);
	Grid_insert(Grid_at(more, me, turn), 0, 2, ints);
	Grid_call(Grid_at(more, me, turn), "inserted");
	Grid_end(Grid_at(more, me, turn));
	Grid_doneInserting(more);
	Grid_insert(Grid_at(grid, me, turn), CK_PE_ANY, 2, ints);
	Grid_call(Grid_at(grid, me, turn), "mine");
	for (int i = 0; i < 2 * CELLS; i++) {
		Spot_here(Spot_at(spots, CELLS * (2 * me + turn) + i), 2, ints);
		Spot_home(Spot_at(spots, 1000 + CELLS * (2 * me + turn) + i), 2, ints);
	}
	if (turn == 0)
		for (int i = me; i < CELLS; i += CkNumPes())
			Spot_end(Spot_at(dots, i));
	else
		for (int i = me; i < CELLS; i += CkNumPes())
			Spot_home(Spot_at(dots, i), 1, ints);
	Cell_none_all(Cell_ckNew(CkDims1(3), 2, doubles, "more"));
	Team_call_all(Team_ckNew(2, ints), 1, ints);
	Hall_call_all(Hall_ckNew("hall"), 2, ints);
}

void Team_on_drive(Team *self, int turn)
{
	turn = (int)((unsigned)turn % TURNS); /* a damaged message may bring any number */
	for (int i = 0; i < CELLS; i++) {
		call_values(Cell_at(cells, i), turn + 1);
		call_names(Cell_at(cells, i), turn);
	}
	Team_wait(Team_thisElement(self), CELLS - 1 - CkMyPe());
	Team_call(Team_at(team, 0), 3, ints);
	Hall_call(Hall_at(hall, 0), 3, ints);
	Hall_alone(Hall_at(hall, 0), "alone");
	Hall_alone_all(hall, "all alone");
	make(self, turn);
	self->end = CkCompletionCreate();
	CkCompletionStart(self->end, 1, CkCallbackIgnore(), CkCallbackIgnore(), CkCallbackIgnore(), 0);
	CkCompletionProduce(self->end, 1);
	CkCompletionConsume(self->end, 1);
	CkCompletionDone(self->end);
	CkContributeBarrier(self, Main_cb_any(mainProxy));
	if (CkMyPe() == 1)
		CkStartQD(CkCallbackIgnore());
}

/* ---- main ----------------------------------------------------------------------------------- */

void Main_on_sum(Main *self, int s) { (void)self; sum += s; }
void Main_on_values(Main *self, int n, const double *v) { (void)self; READ(v, n); }

void Main_on_any(Main *self, const CkReductionMsg *m)
{
	(void)self;
	read_bytes(CkReductionMsg_data(m), m->bytes);
}

void Main_on_over(Main *self)
{
	if (self->n_over < TURNS) {
		Team_drive_all(team, self->n_over);
		Cell_give_all(cells, self->n_over + 1);
		Grid_give_all(grid, self->n_over);
		self->n_over++;
		CkStartQD(Main_cb_over(mainProxy));
	} else if (self->n_over == TURNS) {
		for (int i = 0; i < 4; i++)
			Team_stay(Team_at(team, 0), i);
		wander();
		settle(self);
		self->n_over++;
		CkStartQD(Main_cb_over(mainProxy));
	} else if (self->n_over < TURNS + OFTEN) {
		if (self->n_over == TURNS + 1)
			Rover_leave_all(self->rovers);
		Team_often_all(team, self->rovers);
		self->n_over++;
		CkStartQD(Main_cb_over(mainProxy));
	} else {
		zoo_over = true;
		zoo_is_quiet();
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	length = ZOO_SIZE - 1;
	cells = Cell_ckNew(CkDims1(CELLS), 3, doubles, "cell");
	grid = Grid_ckNewEmpty();
	Grid_insert(Grid_at(grid, 0, -1), 0, 3, ints);
	Grid_doneInserting(grid);
	spots = Spot_ckNewEmpty();
	Spot_doneInserting(spots);
	dots = Spot_ckNew(CkDims1(CELLS));
	team = Team_ckNew(2, ints);
	hall = Hall_ckNew("the hall");
	CkStartQD(Main_cb_over(mainProxy));
}

#include "zoo.def.h"
