/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threaded: handlers that wait, of one element, of many, of the main chare. Their parameters stay theirs
 * while the PE serves other messages. Keeping, freeing and sending on work as in any handler, also after
 * a wait. Each thread has its own Ctv variables, and the PE has its own. Each phase ends in a reduction.
 */
#include "check.h"

#include "cth.h"
#include "threaded.decl.h"

enum { CELLS = 12, N = 300, ROUNDS = 5, KINDS = 7 };
enum { HOLDS, TAKES, KEEPS, ENDS, QUICK, DEEP, SUMMED };

static const int arrivals[] = { 1, 4, 3, 3 }; /* of each element in each phase */

struct Main { int phase, left; };
struct Cell {
	CthThread sleeper;
	int n[KINDS], phase, n_arrived, n_kept;
	void *kept[3];
	const int *kept_v[3];
};

/* What the running handler works on; of a PE, how many plain handlers it has run. */
struct work { Cell *cell; int rests; };
CtvStaticDeclare(struct work, work);
CtvStaticDeclare(long, plain);
static _Thread_local long n_plain;

void initialize(void)
{
	CtvInitialize(struct work, work);
	CtvAccess(work).rests = -1;
	CtvInitialize(long, plain);
}

/* In a handler that does not wait. */
static void count_plain(void)
{
	CHECK(!CtvAccess(work).cell && CtvAccess(work).rests == -1);
	CHECK_EQ(CtvAccess(plain)++, n_plain++);
}

/* ---- threads ----------------------------------------------------------------------------------- */

/* Wait in both ways: let others go first, and sleep until poked. */
static void rest(Cell *self, int how)
{
	CProxyElement_Cell me = Cell_thisElement(self);
	int rests = CtvAccess(work).rests++;

	CHECK(CtvAccess(work).cell == (rests ? self : NULL));
	CtvAccess(work).cell = self;
	if (how % 2 || self->sleeper) {
		CthYield();
	} else {
		self->sleeper = CthSelf();
		Cell_poke(me);
		CthSuspend();
	}
	CHECK(CtvAccess(work).cell == self && !CtvAccess(plain));
	CHECK_EQ(CtvAccess(work).rests, rests + 1);
}

void Cell_on_poke(Cell *self)
{
	CthThread t = self->sleeper;

	count_plain();
	self->sleeper = NULL;
	CthAwaken(t);
}

static void check_ints(int n, const int *v, int first)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], first + i);
}

/* One message for all elements of a PE, held by a thread of each. */
void Cell_on_holds(Cell *self, int n, const int *v, const char *text)
{
	int first = v[0];

	for (int r = 0; r < ROUNDS; r++) {
		check_ints(n, v, first);
		CHECK(strcmp(text, "some text") == 0);
		rest(self, r + Cell_thisIndex(self));
	}
	Cell_arrived(Cell_thisElement(self), HOLDS);
}

/* The message is the handler's, also to change and to send on, after it has waited. */
void Cell_on_takes(Cell *self, Block *b)
{
	for (int r = 0; r < ROUNDS; r++) {
		CHECK_EQ(b->v[b->n - 1], b->n - 1 + r);
		for (int i = 0; i < b->n; i++)
			b->v[i]++;
		rest(self, r);
	}
	Cell_end(Cell_at(cells, (Cell_thisIndex(self) + 1) % CELLS), b);
	rest(self, 1);
	rest(self, 0);
	Cell_arrived(Cell_thisElement(self), TAKES);
}

void Cell_on_end(Cell *self, Block *b)
{
	count_plain();
	for (int i = 0; i < b->n; i++)
		CHECK_EQ(b->v[i], i + ROUNDS);
	if (Cell_thisIndex(self) % 2)
		CkFreeMsg(b);
	Cell_arrived(Cell_thisElement(self), ENDS);
}

void Cell_on_keeps(Cell *self, int n, const int *v)
{
	CHECK_EQ(n, N);
	rest(self, 0);
	rest(self, 1);
	if (Cell_thisIndex(self) % 3) {
		self->kept[self->n_kept] = CkKeepMsg();
		self->kept_v[self->n_kept++] = v;
	}
	rest(self, 1);
	Cell_arrived(Cell_thisElement(self), KEEPS);
}

void Cell_on_quick(Cell *self, int x)
{
	CHECK_EQ(x, Cell_thisIndex(self));
	Cell_arrived(Cell_thisElement(self), QUICK);
}

static int dig(int depth)
{
	volatile char room[1024];

	room[0] = (char)depth;
	return depth ? dig(depth - 1) + (room[0] == (char)depth) : 0;
}

/* More than the default stack has. */
void Cell_on_deep(Cell *self, int depth)
{
	rest(self, 0);
	CHECK_EQ(dig(depth), depth);
	Cell_arrived(Cell_thisElement(self), DEEP);
}

void Cell_on_summed(Cell *self, int n, const double *v)
{
	rest(self, 1);
	CHECK_EQ(n, 2);
	CHECK(v[0] == CELLS && v[1] == 0.5 * CELLS);
	rest(self, 0);
	CHECK(v[0] == CELLS && v[1] == 0.5 * CELLS);
	Cell_arrived(Cell_thisElement(self), SUMMED);
}

/* ---- what an element does in each phase ---------------------------------------------------------- */

void Cell_on_arrived(Cell *self, int what)
{
	self->n[what]++;
	if (++self->n_arrived < arrivals[self->phase])
		return;
	self->n_arrived = 0;
	self->phase++;
	while (self->n_kept) {
		check_ints(N, self->kept_v[--self->n_kept], 7);
		CkFreeMsg(self->kept[self->n_kept]);
	}
	CkContributeBarrier(self, Main_cb_phase(mainProxy));
}

void Cell_on_new(Cell *self) { (void)self; }

static void send_block(int to)
{
	Block *b = Block_alloc(N);

	b->n = N;
	for (int i = 0; i < N; i++)
		b->v[i] = i;
	Cell_takes(Cell_at(cells, to), b);
}

void Cell_on_start(Cell *self, int phase)
{
	const double sum[2] = { 1, 0.5 };
	int me = Cell_thisIndex(self), other = (me * 5 + 1) % CELLS;

	if (phase == 1) {
		send_block(other);
		send_block(me);
	} else if (phase == 2) {
		Cell_quick(Cell_at(cells, other), other);
		Cell_deep(Cell_at(cells, other), 600);
		CkContribute(self, sum, 2, CkReduction_sum_double, Cell_cb_summed_all(cells));
	}
}

/* ---- main ------------------------------------------------------------------------------------------- */

static void start_phase(Main *self)
{
	int v[N];

	for (int i = 0; i < N; i++)
		v[i] = 7 + i;
	self->left = 2; /* the cells, and the thread here */
	Main_alone(mainProxy, self->phase);
	Cell_start_all(cells, self->phase);
	if (self->phase == 0)
		Cell_holds_all(cells, N, v, "some text");
	for (int i = 0; i < 3 && self->phase == 3; i++)
		Cell_keeps_all(cells, N, v);
}

static void one_less(Main *self)
{
	if (--self->left)
		return;
	if (++self->phase < 4) {
		start_phase(self);
		return;
	}
	CkPrintf("threaded: %d cells on %d PEs\n", CELLS, CkNumPes());
	CkExit(0);
}

void Main_on_phase(Main *self) { one_less(self); }
void Main_on_aloneDone(Main *self) { one_less(self); }

void Main_on_alone(Main *self, int n)
{
	for (int i = 0; i < n; i++)
		CthYield();
	CHECK_EQ(self->phase, n);
	Main_aloneDone(mainProxy);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	start_phase(self);
}

#include "threaded.def.h"
