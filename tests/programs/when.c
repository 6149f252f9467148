/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when: calls that wait for their condition, sent in the wrong order from everywhere: to elements, to
 * all, to members of a group and the main chare, with arrays and messages, by threads, by reductions.
 * Each is called when its condition is true; calls whose condition becomes true at the same time keep
 * their order; and a waiting call does not hold up quiescence.
 */
#include "check.h"

#include "cth.h"
#include "when.decl.h"

enum { CELLS = 9, TURNS = 36, EXTRA = 20, ITERS = 12, WIDTH = 30, ROUNDS = 5, GATES = 6 };
enum { STEPS = 8 };

struct Main { bool open, asked, stepped; int n_gate, n_done; };
struct Cell {
	int turn, n_array, n_note, last_note, n_after, n_slow, n_reduced, n_started;
	bool over;
	CthThread driver;
};
struct Wave { int iter, n_in, n_started; double sum; };
struct Member { int round, n_in; };
struct Branch { int round, n_in; };
struct Batch { int n_steps, n_held; bool open; };

static void all_done(void)
{
	CkCallback cb = Main_cb_done(mainProxy);

	CkCallbackSend(cb, NULL, 0);
}

/* ---- an element with many kinds of calls ---------------------------------------------------------------- */

/*
 * Turns 0 .. TURNS - 1 come from all other elements, shuffled; array, note and slow calls wait
 * for some of them. Then a thread drives the turn on.
 */
void Cell_on_new(Cell *self) { self->last_note = -1; }

void Cell_on_turn(Cell *self, int turn, int from)
{
	CHECK_EQ(turn, self->turn);
	CHECK_EQ(from, turn % CELLS);
	self->turn++;
	if (self->turn == TURNS)
		Cell_drive(Cell_thisElement(self));
}

void Cell_on_array(Cell *self, int n, const int *v)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], self->turn);
	self->n_array++;
}

/* Sent in descending order of turns; what becomes true at the same time keeps its order. */
void Cell_on_note(Cell *self, Note *m)
{
	CHECK(m->turn <= self->turn);
	CHECK_EQ(m->v[9], m->turn * 9);
	if (self->last_note >= 0)
		CHECK(m->turn != self->last_note);
	self->last_note = m->turn;
	self->n_note++;
}

/* Each PE's, in order. */
void Cell_on_after(Cell *self, int i)
{
	CHECK(self->turn >= 40);
	CHECK_EQ(i, self->n_after);
	self->n_after++;
}

void Cell_on_slow(Cell *self, int turn)
{
	CHECK(turn <= self->turn);
	CthYield();
	CthYield();
	self->n_slow++;
}

void Cell_on_reduced(Cell *self)
{
	CHECK(self->turn >= 50);
	self->n_reduced++;
}

void Cell_on_tick(Cell *self)
{
	CthThread t = self->driver;

	self->turn++;
	self->driver = NULL;
	if (t)
		CthAwaken(t);
}

void Cell_on_bump(Cell *self, int by)
{
	self->turn += by;
}

/* A thread that changes the element between its waits: what waits sees each of its steps. */
void Cell_on_drive(Cell *self)
{
	CHECK_EQ(self->turn, TURNS);
	while (self->turn < TURNS + 8) {
		int n = self->n_array;

		self->turn++;
		while (self->n_array == n)
			CthYield();
	}
	CHECK(self->turn >= 40);
	while (self->n_after < EXTRA)
		CthYield();
	Cell_bump(Cell_thisElement(self), 2); /* by a call inside this handler */
	Cell_tick(Cell_thisElement(self));
	self->driver = CthSelf();
	CthSuspend();
	Cell_bump(Cell_thisElement(self), 10);
	while (self->n_reduced < 1 || self->n_slow < 4 || self->n_note < TURNS)
		CthYield();
	CHECK_EQ(self->n_note, TURNS);
	self->over = true;
	all_done();
}

static void send_note(CProxyElement_Cell to, int turn)
{
	Note *m = Note_alloc(10);

	m->turn = turn;
	for (int i = 0; i < 10; i++)
		m->v[i] = turn * i;
	Cell_note(to, m);
}

/* What one element sends to another. */
static void send_to(CProxyElement_Cell to, int me, int other)
{
	int v[100];

	for (int t = TURNS - 1; t >= 0; t--)
		if (t % CELLS == me)
			Cell_turn(to, t, me);
	if ((other + 1) % CELLS != me)
		return;
	for (int t = TURNS - 1; t >= 0; t--)
		send_note(to, t);
	for (int t = TURNS + 8; t > TURNS; t--) {
		for (int i = 0; i < 100; i++)
			v[i] = t;
		Cell_array(to, t == TURNS + 1 ? 1 : 100, v);
	}
	for (int i = 0; i < EXTRA; i++)
		Cell_after(to, i);
	for (int t = 3; t >= 0; t--)
		Cell_slow(to, 8 * t);
}

void Cell_on_start(Cell *self)
{
	int me = Cell_thisIndex(self);

	for (int i = 0; i < CELLS; i++)
		send_to(Cell_at(cells, (me + i) % CELLS), me, (me + i) % CELLS);
	/* The result comes long before its condition is true. */
	CkContributeBarrier(self, Cell_cb_reduced_all(cells));
}

/* ---- a stencil whose neighbours run ahead ---------------------------------------------------------------- */

static void send_ghosts(Wave *self)
{
	int me = Wave_thisIndex(self);
	double v[2] = { me, self->iter };

	Wave_ghost(Wave_at(waves, (me + 1) % WIDTH), self->iter, 0, 2, v);
	Wave_ghost(Wave_at(waves, (me + WIDTH - 1) % WIDTH), self->iter, 1, 2, v);
}

void Wave_on_new(Wave *self) { (void)self; }
void Wave_on_start(Wave *self) { send_ghosts(self); }

void Wave_on_ghost(Wave *self, int iter, int side, int n, const double *v)
{
	int me = Wave_thisIndex(self);

	CHECK_EQ(iter, self->iter);
	CHECK(n == 2 && v[1] == iter && v[0] == (me + (side ? 1 : WIDTH - 1)) % WIDTH);
	if (++self->n_in < 2)
		return;
	self->n_in = 0;
	if (++self->iter < ITERS)
		send_ghosts(self);
	else
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

/* ---- calls of all ------------------------------------------------------------------------------------------ */

void Member_on_new(Member *self)
{
	for (int r = ROUNDS; r-- > 0;)
		Member_all_all(Member_thisProxy(self), r, CkMyPe());
	for (int r = ROUNDS; r-- > 0;)
		Branch_all_all(branches, r, CkMyPe());
}

/* A round is over when it has come from every PE. */
void Member_on_all(Member *self, int round, int pe)
{
	CHECK(pe >= 0 && pe < CkNumPes());
	CHECK_EQ(round, self->round);
	if (++self->n_in < CkNumPes())
		return;
	self->n_in = 0;
	if (++self->round == ROUNDS)
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

/* Every PE calls each node's, the last round first. */
void Branch_on_new(Branch *self) { (void)self; }

void Branch_on_all(Branch *self, int round, int pe)
{
	CHECK(pe >= 0 && pe < CkNumPes());
	CHECK_EQ(round, self->round);
	if (++self->n_in < CkNumPes())
		return;
	self->n_in = 0;
	if (++self->round == ROUNDS)
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

/* ---- a batch of calls ------------------------------------------------------------------ */

void Batch_on_new(Batch *self) { self->open = false; }

/* A call of a batch makes the condition of one that waits true. That is handled before the next
 * call of the batch. */
void Batch_on_step(Batch *self)
{
	CHECK_EQ(self->n_held, self->n_steps > STEPS / 2);
	if (self->n_steps == STEPS / 2)
		self->open = true;
	if (++self->n_steps == STEPS)
		CkContributeBarrier(self, Main_cb_stepped(mainProxy));
}

void Batch_on_held(Batch *self)
{
	CHECK(self->open);
	self->n_held++;
}

/* ---- main --------------------------------------------------------------------------------------------------- */

void Main_on_open(Main *self)
{
	self->open = true;
}

void Main_on_gate(Main *self, int pe, int i)
{
	CHECK(self->open);
	CHECK_EQ(pe, 0);
	CHECK_EQ(i, self->n_gate);
	self->n_gate++;
}

void Main_on_done(Main *self)
{
	if (++self->n_done < CELLS + 3)
		return;
	for (int i = 0; i < GATES; i++)
		Main_gate(mainProxy, 0, i);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_stepped(Main *self)
{
	self->stepped = true;
}

static void step_all(void)
{
	for (int i = 0; i < STEPS; i++)
		for (int pe = 0; pe < CkNumPes(); pe++)
			Batch_step(Batch_at(batches, pe));
}

/* First with the calls still waiting, then with all made. */
void Main_on_quiet(Main *self)
{
	if (!self->asked) {
		CHECK_EQ(self->n_gate, 0);
		self->asked = true;
		Main_open(mainProxy);
		step_all();
		CkStartQD(Main_cb_quiet(mainProxy));
		return;
	}
	CHECK_EQ(self->n_gate, GATES);
	CHECK(self->stepped);
	CkPrintf("when: %d cells on %d PEs\n", CELLS, CkNumPes());
	for (int i = 0; i < 3; i++) /* these wait for ever */
		Cell_turn_all(cells, -1, 0);
	CkStartQD(CkCallbackExit());
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	waves = Wave_ckNew(CkDims(WIDTH));
	branches = Branch_ckNew();
	members = Member_ckNew();
	Cell_start_all(cells);
	Wave_start_all(waves);
	batches = Batch_ckNew(CkDims(CkNumPes()));
	Batch_held_all(batches);
}

#include "when.def.h"
