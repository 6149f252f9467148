/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepared: X_f_prepare and CkCommit. Elements call each other with two arrays, of few sizes and no length at all among them,
 * some written in place, some copied by the stub. Calls of one size keep their order, however they are made.
 *
 *	ckrun -n 4 prepared [seed [steps]]
 *	ckrun -n 2 prepared twice|waits|again|ends      what a program does wrong, to an element of another PE
 */
#include "check.h"
#include "prepared.decl.h"

enum { NX = 4, NY = 3, N = NX * NY, SIZES = 4, STEPS = 60, MANY = 4, ONLY = 40 };
enum wrong { TWICE, WAITS, AGAIN, WRONGS };

static const char *const wrong_name[WRONGS] = { "twice", "waits", "again" };
static const int n_of[SIZES] = { 0, 3, 33, 200 }, m_of[SIZES] = { 5, 0, 17, 100 };

struct Main { int unused; };

struct Cell {
	uint64_t random;
	int left;
	long n_sent, n_got, sum_sent, sum_got;
	long next[N][SIZES], sent[N][SIZES];
};

void Main_on_new(Main *self, CkArgMsg *m)
{
	const CProxy_Cell cells = Cell_ckNew(CkDims(NX, NY));

	mainProxy = Main_thisProxy(self);
	for (int how = 0; how < WRONGS; how++)
		if (m->argc > 1 && !strcmp(m->argv[1], wrong_name[how])) {
			Cell_wrong(Cell_at(cells, 0, 0), how);
			return;
		}
	if (m->argc > 1 && !strcmp(m->argv[1], "ends")) {
		Cell_ends(Cell_at(cells, 0, 0));
		return;
	}
	const uint64_t seed = check_run_seed(m);

	Cell_run_all(cells, m->argc > 2 ? atoi(m->argv[2]) : STEPS, seed);
}

void Main_on_done(Main *self, int k, const long *n)
{
	(void)self;
	CHECK_EQ(k, MANY);
	CHECK(n[0] > N);
	CHECK_EQ(n[0], n[1]);
	CHECK_EQ(n[2], n[3]);
	CkPrintf("prepared: all calls came\n");
	CkExit(0);
}

static int number_of(const Cell *self)
{
	const CkIndex2D i = Cell_thisIndex(self);

	return i.x * NY + i.y;
}

static uint64_t draw(Cell *self, uint64_t n) { return (self->random = check_mix(self->random)) % n; }

static double value(int from, long no, int i) { return from * 1e6 + (double)no * 1000 + i; }

static void fill(int from, long no, int what, double *v, char *t)
{
	for (int i = 0; i < n_of[what]; i++)
		v[i] = value(from, no, i);
	for (int i = 0; i < m_of[what]; i++)
		t[i] = (char)(no + i);
}

static void send_two(Cell *self, CProxyElement_Cell to, long no, int what, bool in_place)
{
	const int me = number_of(self), n = n_of[what], m = m_of[what];
	double *v, w[200];
	char *t, u[100];

	if (in_place) {
		const CkPrepared call = Cell_two_prepare(to, me, no, n, &v, m, &t);

		fill(me, no, what, v, t);
		CkCommit(call);
		return;
	}
	fill(me, no, what, w, u);
	Cell_two(to, me, no, n, w, m, u);
}

static void send_only(Cell *self, CProxyElement_Cell to)
{
	double *v;
	const CkPrepared call = Cell_only_prepare(to, &v);

	for (int i = 0; i < ONLY; i++)
		self->sum_sent += (long)(v[i] = (double)draw(self, 100));
	CkCommit(call);
}

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_run(Cell *self, int steps, uint64_t seed)
{
	self->left = steps;
	self->random = check_mix(seed + (uint64_t)number_of(self));
	Cell_step(Cell_thisElement(self));
}

void Cell_on_step(Cell *self)
{
	const int to = (number_of(self) + 1 + (int)draw(self, 3)) % N;
	const CProxyElement_Cell cell = Cell_at(Cell_thisProxy(self), to / NY, to % NY);
	const int what = (int)draw(self, SIZES);

	for (int k = 1 + (int)draw(self, 12); k > 0; k--) {
		send_two(self, cell, self->sent[to][what]++, what, draw(self, 2));
		self->n_sent++;
	}
	send_only(self, cell);
	if (--self->left > 0)
		Cell_step(Cell_thisElement(self));
	else
		CkStartQD(Cell_cb_taken(Cell_thisElement(self)));
}

void Cell_on_two(Cell *self, int from, long no, int n, const double *v, int m, const char *t)
{
	int what = 0;

	while (n_of[what] != n)
		CHECK(++what < SIZES);
	CHECK_EQ(m, m_of[what]);
	CHECK_EQ(no, self->next[from][what]);
	self->next[from][what]++;
	for (int i = 0; i < n; i++)
		CHECK(v[i] == value(from, no, i));
	for (int i = 0; i < m; i++)
		CHECK(t[i] == (char)(no + i));
	self->n_got++;
}

void Cell_on_only(Cell *self, const double *v)
{
	for (int i = 0; i < ONLY; i++)
		self->sum_got += (long)v[i];
}

/* All is quiet. */
void Cell_on_taken(Cell *self)
{
	const long n[MANY] = { self->n_sent, self->n_got, self->sum_sent, self->sum_got };

	CkContribute(self, n, MANY, CkReduction_sum_long, Main_cb_done(mainProxy));
}

void Cell_on_wrong(Cell *self, int how)
{
	const CProxyElement_Cell far = Cell_at(Cell_thisProxy(self), NX - 1, NY - 1);
	double *v;
	const CkPrepared call = Cell_only_prepare(far, &v);

	memset(v, 0, ONLY * sizeof *v);
	if (how == TWICE)
		Cell_only_prepare(far, &v);
	else if (how == WAITS)
		CkWaitFuture(CkCreateFuture());
	else if (how == AGAIN)
		CkCommit(call), CkCommit(call);
}

void Cell_on_ends(Cell *self)
{
	double *v;

	Cell_only_prepare(Cell_at(Cell_thisProxy(self), NX - 1, NY - 1), &v);
}

#include "prepared.def.h"
