/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_calls: [inline] and [local] calls of elements here and elsewhere, inside each other, of the
 * calling element itself, in threads and from constructors. An element that is here has handled the
 * call when the call returns, and the caller's message is still the caller's.
 */
#include "check.h"

#include "cth.h"
#include "direct_calls.decl.h"

enum { CELLS = 12, N = 50 };

struct Main { int n_done; };
struct Cell { int sum, n_add, depth, deepest, n_hit, n_local, n_waited; bool built; };
struct Member { int sum; };

/* ---- called elements --------------------------------------------------------------------------------- */

/* Elements after this one are not built yet: they get messages. */
void Cell_on_new(Cell *self)
{
	const double v[1] = { 1 };
	int me = Cell_thisIndex(self);

	self->built = true;
	if (me > 0)
		Cell_add(Cell_at(Cell_thisProxy(self), me - 1), 0, 1, v, "");
	if (me < CELLS - 1)
		Cell_add(Cell_at(Cell_thisProxy(self), me + 1), 0, 1, v, "");
	Cell_count(Cell_thisElement(self), 0);
}

void Cell_on_add(Cell *self, int x, int n, const double *v, const char *text)
{
	CHECK(self->built);
	for (int i = 0; i < n; i++)
		CHECK(v[i] == i + 1);
	CHECK_EQ(strlen(text), (size_t)x % 5);
	self->sum += x;
	self->n_add++;
}

/* Recursion, as in C. */
void Cell_on_down(Cell *self, int n)
{
	self->depth++;
	if (self->depth > self->deepest)
		self->deepest = self->depth;
	if (n > 0)
		Cell_down(Cell_thisElement(self), n - 1);
	self->depth--;
}

void Cell_on_send(Cell *self, int to)
{
	(void)self;
	Cell_hit(Cell_at(cells, to));
}

long Cell_on_twice(Cell *self, int x) { return 2l * x + Cell_thisIndex(self); }
void Cell_on_count(Cell *self, int by) { self->n_local += by; }
void Cell_on_hit(Cell *self) { self->n_hit++; }
void Member_on_new(Member *self) { (void)self; }
void Member_on_add(Member *self, int x) { self->sum += x; }
int Member_on_get(Member *self) { return self->sum; }

/* ---- callers -------------------------------------------------------------------------------------------- */

static void call_each(int me)
{
	double v[4] = { 1, 2, 3, 4 };
	int home = CkMyPe();

	for (int i = 0; i < CELLS; i++) {
		CProxyElement_Cell e = Cell_at(cells, i);
		Cell *here = Cell_ckLocal(e);
		int was = here ? here->sum : 0, n = here ? here->n_local : 0;

		Cell_add(e, 3, 4, v, "abc");
		CHECK(!here || here->sum == was + 3);
		if (here) {
			CHECK_EQ(Cell_twice(e, me), 2 * me + i);
			Cell_count(e, 1);
			CHECK_EQ(here->n_local, n + 1);
			Cell_down(e, 6);
			CHECK(here->deepest >= 7);
		}
		Cell_send(e, me);
	}
	CHECK_EQ(CkMyPe(), home);
	Member *m = Member_ckLocalBranch(members);
	int was = m->sum;

	Member_add(Member_at(members, CkMyPe()), 1);
	CHECK_EQ(Member_get(Member_at(members, CkMyPe())), was + 1);
}

static void check_ints(int n, const int *v)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], i * i);
}

/* Inline calls in between: the message is this handler's, to keep. */
void Cell_on_work(Cell *self, int n, const int *v)
{
	int me = Cell_thisIndex(self);

	call_each(me);
	check_ints(n, v);
	void *kept = CkKeepMsg();

	call_each(me);
	check_ints(n, v);
	CkFreeMsg(kept);
	Cell_inThread(Cell_at(cells, (me + 1) % CELLS), n, v);
}

/* Waits in its caller's thread, if its caller has one. */
void Cell_on_waits(Cell *self, int n)
{
	while (n-- > 0 && CthSelf())
		CthYield();
	self->n_waited++;
}

void Cell_on_inThread(Cell *self, int n, const int *v)
{
	int me = Cell_thisIndex(self);

	call_each(me);
	CthYield();
	for (int i = 0; i < CELLS; i++)
		Cell_waits(Cell_at(cells, i), 1 + me % 3);
	check_ints(n, v);
	CkFreeMsg(CkKeepMsg());
	CkContributeBarrier(self, Cell_cb_check_all(cells));
}

/* Some messages may be on their way: quiescence first. */
void Cell_on_check(Cell *self)
{
	if (!Cell_thisIndex(self))
		CkStartQD(Main_cb_done(mainProxy));
}

void Main_on_done(Main *self)
{
	const Cell *c = Cell_ckLocal(Cell_at(cells, 0));

	(void)self;
	CHECK_EQ(c->sum, 3 * 3 * CELLS);
	CHECK_EQ(c->n_hit, 3 * CELLS);
	CHECK_EQ(c->n_waited, CELLS);
	CHECK_EQ(c->n_add, 3 * CELLS + 1);
	CkPrintf("direct_calls: %d cells on %d PEs\n", CELLS, CkNumPes());
	CkExit(0);
}

/* All cells and members are there. */
void Main_on_begin(Main *self)
{
	int v[N];

	(void)self;
	for (int i = 0; i < N; i++)
		v[i] = i * i;
	Cell_work_all(cells, N, v);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	members = Member_ckNew();
	CkStartQD(Main_cb_begin(mainProxy));
}

#include "direct_calls.def.h"
