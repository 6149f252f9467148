/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits: mistakes with threads, futures and callbacks. `waits WHAT PE` makes one of them on one PE;
 * waits.cases has the expected output. If the runtime misses the mistake, the exit code is 99.
 */
#include "check.h"

#include <stdlib.h>

#include "cth.h"
#include "waits.decl.h"

struct Main { int unused; };
struct Lone { int unused; };
struct Cell { int unused; };

CtvStaticDeclare(int, unmade);
CtvStaticDeclare(int, late);
CtvStaticDeclare(char[CTV_MOST], huge);

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

static void function(void *ctx, const CkReductionMsg *m)
{
	(void)ctx, (void)m;
	CkExit(99);
}

static void initialize_both(void)
{
	CtvInitialize(int, late);
	CtvInitialize(char[CTV_MOST], huge);
}

/* ---- in a handler on the PE's own stack ------------------------------------------------------------ */

/* As after a flipped bit of a parameter. */
static void send_damaged(void)
{
	CkFuture f = ofMain;

	f.pe ^= 1 << 29;
	Block_sendToFuture(f, Block_alloc(1));
}

static void act(const char *what)
{
	const int me = CkMyPe(), next = (me + 1) % CkNumPes();
	CkFuture unset;

	memset(&unset, 0, sizeof unset);
	if (is(what, "sync"))
		Cell_ask_sync(Cell_at(cells, next), 1);
	else if (is(what, "wait"))
		CkWaitFuture(CkCreateFuture());
	else if (is(what, "suspend"))
		CthSuspend();
	else if (is(what, "private"))
		CtvAccess(unmade)++;
	else if (is(what, "private-huge"))
		initialize_both();
	else if (is(what, "unset"))
		CkProbeFuture(unset);
	else if (is(what, "send-unset"))
		CkSendToFutureTyped(unset, CK_INT, &me, 1);
	else if (is(what, "damaged"))
		send_damaged();
	else if (is(what, "elsewhere"))
		CkProbeFuture(ofMain);
	else if (is(what, "local"))
		Cell_here(Cell_at(cells, next));
	else if (is(what, "function-type"))
		Cell_fire(Cell_at(cells, next), what,
			  CkCallbackExpect(CkCallbackFunction(function, NULL), CK_FLOAT));
	else if (is(what, "expect-entry"))
		CkCallbackExpect(Main_cb_oneInt(mainProxy), CK_DOUBLE);
	else if (is(what, "never"))
		CkExit(0);
	else
		Cell_actThreaded(Cell_at(cells, me), what);
}

void Cell_on_act(Cell *self, const char *what)
{
	(void)self;
	act(what);
}

/* ---- in a thread --------------------------------------------------------------------------------------- */

void Cell_on_actThreaded(Cell *self, const char *what)
{
	int me = Cell_thisIndex(self);
	CProxyElement_Cell next = Cell_at(cells, (me + 1) % CkNumPes());
	CkFuture f = CkCreateFuture(), typed = CkCreateFutureTyped(CK_DOUBLE);
	CkCallback cb = CkCallbackResumeThread();

	if (is(what, "wait-released")) {
		CkReleaseFuture(f);
		CkWaitFuture(f);
	} else if (is(what, "release-twice")) {
		CkReleaseFuture(f);
		CkReleaseFuture(f);
	} else if (is(what, "late")) {
		Cell_give(next, what, f);
		CkReleaseFuture(f);
		CkCreateFuture(); /* in the same slot */
		Cell_spin(Cell_thisElement(self));
	} else if (is(what, "twice")) {
		Cell_give(next, what, f);
		Cell_give(next, what, f);
		Cell_spin(Cell_thisElement(self));
	} else if (is(what, "type") || is(what, "message")) {
		Cell_give(next, what, typed);
	} else if (is(what, "thread-type")) {
		Cell_fire(next, what, CkCallbackExpect(cb, CK_DOUBLE));
		CkCallbackThreadDelay(cb);
	} else if (is(what, "delay-other")) {
		CkCallbackThreadDelay(CkCallbackIgnore());
	} else if (is(what, "other-message") || is(what, "no-message")) {
		Cell_give(next, what, f);
		Block_waitFuture(f);
	} else if (is(what, "overflow")) {
		Cell_dig(Cell_thisElement(self), 1000000);
	} else if (is(what, "awaken-twice")) {
		CthThread t = CthSelf();

		CthAwaken(t);
	} else if (is(what, "private-late")) {
		CtvInitialize(int, late);
		CtvAccess(late)++;
	}
}

static int dig(int depth)
{
	volatile char room[1000];

	room[0] = (char)depth;
	return depth ? dig(depth - 1) + room[0] : 0;
}

void Cell_on_dig(Cell *self, int depth)
{
	(void)self;
	CthYield();
	if (dig(depth))
		CkExit(99);
	CkExit(99);
}

/* ---- what the others do ---------------------------------------------------------------------------------- */

void Cell_on_give(Cell *self, const char *what, CkFuture f)
{
	const int three[3] = { 1, 2, 3 };

	(void)self;
	if (is(what, "other-message"))
		Other_sendToFuture(f, Other_alloc());
	else if (is(what, "message"))
		CkSendToFuture(f, Other_alloc());
	else
		CkSendToFutureTyped(f, CK_INT, three, 3);
}

void Cell_on_fire(Cell *self, const char *what, CkCallback cb)
{
	const int three[3] = { 1, 2, 3 };

	(void)self, (void)what;
	CkCallbackSendTyped(cb, CK_INT, three, 3);
}

void Cell_on_new(Cell *self) { (void)self; }
void Cell_on_spin(Cell *self) { Cell_spin(Cell_thisElement(self)); }
int Cell_on_ask(Cell *self, int x) { return x + Cell_thisIndex(self); }
int Cell_on_here(Cell *self) { return Cell_thisIndex(self); }
void Cell_on_never(Cell *self, int x) { (void)self, (void)x; CkExit(99); }
void Main_on_oneInt(Main *self, int x) { (void)self, (void)x; CkExit(99); }

/* A singleton chare at which a call still waits when the job ends. */
void Lone_on_new(Lone *self) { (void)self; }
void Lone_on_never(Lone *self, int x) { (void)self, (void)x; CkExit(99); }
void Lone_on_leave(Lone *self) { (void)self; CkExit(0); }

static void leave_lone(void)
{
	CProxy_Lone lone = Lone_ckNew(0);

	Lone_never(lone, 1);
	Lone_leave(lone);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *what = m->argc > 1 ? m->argv[1] : "wait";
	int pe = m->argc > 2 ? atoi(m->argv[2]) : 0;

	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CkNumPes()));
	ofMain = CkCreateFuture();
	if (strcmp(what, "never-chare") == 0) {
		leave_lone();
		return;
	}
	for (int i = 0; i < 3; i++)
		Cell_never(Cell_at(cells, pe), i);
	Cell_act(Cell_at(cells, pe), what);
}

#include "waits.def.h"
