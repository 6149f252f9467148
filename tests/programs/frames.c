/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames: functions whose variables do not fit the stack that they run on. `frames WHERE BYTES PE [TIMES]` calls, in a
 * handler, in a [threaded] entry (thread, small, large) or in a thread of CthCreate (cth), a function of so many bytes of
 * variables, of which it touches the lowest only, and that calls itself, TIMES deep. Other threads that were made later
 * wait, so that stacks lie below stacks. frames.cases has the expected output.
 */
#include "check.h"

#include "cth.h"
#include "frames.decl.h"

struct Main { int unused; };
struct Cell { int unused; };

enum { CROWD = 100 };

static __attribute__((noinline)) int frame(int bytes, int times)
{
	volatile char room[bytes];

	room[0] = (char)times;
	return times > 1 ? frame(bytes, times - 1) + room[0] : room[0];
}

static void run(int bytes, int times)
{
	if (frame(bytes, times) == -1)
		return;
	CkPrintf("it fitted\n");
	CkExit(0);
}

/* In a thread. The stacks of further ones lie below this one's. */
static void run_above_others(Cell *self, int bytes, int times)
{
	for (int i = 0; i < CROWD; i++)
		Cell_waits(Cell_thisElement(self));
	CthYield();
	run(bytes, times);
}

void Cell_on_new(Cell *self) { (void)self; }
void Cell_on_handler(Cell *self, int bytes, int times) { (void)self; run(bytes, times); }
void Cell_on_thread(Cell *self, int bytes, int times) { run_above_others(self, bytes, times); }
void Cell_on_small(Cell *self, int bytes, int times) { run_above_others(self, bytes, times); }
void Cell_on_large(Cell *self, int bytes, int times) { run_above_others(self, bytes, times); }

void Cell_on_waits(Cell *self)
{
	(void)self;
	CthSuspend();
}

struct call { Cell *self; int bytes, times; };

static void cth_thread(void *call)
{
	struct call c = *(struct call *)call;

	free(call);
	run_above_others(c.self, c.bytes, c.times);
}

void Cell_on_cth(Cell *self, int bytes, int times)
{
	struct call *c = malloc(sizeof *c);

	*c = (struct call){ self, bytes, times };
	CthAwaken(CthCreate(cth_thread, c, 0));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK(m->argc > 3);
	const char *where = m->argv[1];
	const int bytes = atoi(m->argv[2]), pe = atoi(m->argv[3]), times = m->argc > 4 ? atoi(m->argv[4]) : 1;

	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CkNumPes()));
	if (!strcmp(where, "handler"))
		Cell_handler(Cell_at(cells, pe), bytes, times);
	else if (!strcmp(where, "thread"))
		Cell_thread(Cell_at(cells, pe), bytes, times);
	else if (!strcmp(where, "small"))
		Cell_small(Cell_at(cells, pe), bytes, times);
	else if (!strcmp(where, "large"))
		Cell_large(Cell_at(cells, pe), bytes, times);
	else if (!strcmp(where, "cth"))
		Cell_cth(Cell_at(cells, pe), bytes, times);
}

#include "frames.def.h"
