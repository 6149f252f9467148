/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady: what a program does again and again takes no more memory: calls that answer, futures, objects that a pup
 * function makes, messages that are dropped or kept. Each is done some times before the process's memory is measured,
 * and many times more. A word that is forgotten each time shows. All PEs lie in one process.
 */
#include "check.h"

#include <stdio.h>

#include "steady.decl.h"

enum { BEFORE = 4000, TIMES = 60000, MORE_MOST_KB = 400, LENGTH = 10 };

struct Main { int unused; };
struct Cell { int unused; };

void Cell_on_new(Cell *self) { (void)self; }

int Cell_on_ask(Cell *self, int x) { return (void)self, x + 1; }

static Block *new_block(int n)
{
	Block *b = Block_alloc((size_t)n);

	b->n = n;
	for (int i = 0; i < n; i++)
		b->v[i] = i;
	return b;
}

Block *Cell_on_block(Cell *self, int n) { return (void)self, new_block(n); }

void Cell_on_answer(Cell *self, CkFuture f, int n)
{
	(void)self;
	Block_sendToFuture(f, new_block(n));
}

int Cell_on_read(Cell *self, const Text *t) { return (void)self, (int)strlen(t->s); }

int Cell_on_sum(Cell *self, int n, const double *v)
{
	double sum = 0;

	(void)self;
	for (int i = 0; i < n; i++)
		sum += v[i];
	return (int)sum;
}

void Cell_on_drop(Cell *self, Block *m)
{
	(void)self;
	(void)m;
}

void Cell_on_keep(Cell *self, Block *m)
{
	(void)self;
	CkKeepMsg();
	CkFreeMsg(m);
}

/* ---- what is done again and again ------------------------------------------------------------- */

static void call(CProxyElement_Cell c) { CHECK_EQ(Cell_ask_sync(c, 7), 8); }

static void call_for_a_message(CProxyElement_Cell c)
{
	Block *b = Cell_block_sync(c, LENGTH);

	CHECK_EQ(b->n, LENGTH);
	CkFreeMsg(b);
}

static void await_future(CProxyElement_Cell c)
{
	CkFuture f = CkCreateFuture();

	Cell_answer(c, f, LENGTH);
	Block *b = Block_waitFuture(f);

	CHECK_EQ(b->n, LENGTH);
	CkFreeMsg(b);
	CkReleaseFuture(f);
}

/* The value stays there until the future is released. */
static void probe_future(CProxyElement_Cell c)
{
	CkFuture f = CkCreateFuture();

	Cell_answer(c, f, LENGTH);
	call(c);
	CkReleaseFuture(f);
}

static void call_with_an_object(CProxyElement_Cell c)
{
	char s[] = "a text of some length, so that it is seen when it is forgotten";

	CHECK_EQ(Cell_read_sync(c, &(Text){ s }), sizeof s - 1);
}

static void call_with_an_array(CProxyElement_Cell c)
{
	double v[LENGTH] = { 1, 2, 3 };

	CHECK_EQ(Cell_sum_sync(c, LENGTH, v), 6);
}

static void drop_and_keep(CProxyElement_Cell c)
{
	Cell_drop(c, new_block(LENGTH));
	Cell_keep(c, new_block(LENGTH));
	call(c);
}

static const struct {
	const char *name;
	void (*once)(CProxyElement_Cell c);
} works[] = {
	{ "calls that answer", call },
	{ "calls that answer with a message", call_for_a_message },
	{ "futures", await_future },
	{ "futures whose value nobody takes", probe_future },
	{ "calls with an object", call_with_an_object },
	{ "calls with an array", call_with_an_array },
	{ "messages that are dropped or kept", drop_and_keep },
};

/* ---- memory ----------------------------------------------------------------------------------- */

/* Messages lie in shared memory. */
static long kilobytes(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	long total = 0, n;
	char line[256];

	CHECK(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "RssAnon: %ld", &n) == 1 || sscanf(line, "RssShmem: %ld", &n) == 1)
			total += n;
	fclose(f);
	CHECK(total > 0);
	return total;
}

static void again(CProxyElement_Cell c, int i, int times)
{
	for (int k = 0; k < times; k++)
		works[i].once(c);
}

void Main_on_run(Main *self)
{
	CProxyElement_Cell last = Cell_at(cells, CkNumPes() - 1);
	int n = sizeof works / sizeof *works;

	(void)self;
	for (int i = 0; i < n; i++)
		again(last, i, BEFORE);
	for (int i = 0; i < n; i++) {
		long before = kilobytes();

		again(last, i, TIMES);
		long more = kilobytes() - before;

		if (more > MORE_MOST_KB)
			CkAbort("%d %s took %ld KB", TIMES, works[i].name, more);
	}
	CkPrintf("steady: no more memory\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	cells = Cell_ckNew(CkDims1(CkNumPes()));
	mainProxy = Main_thisProxy(self);
	Main_run(mainProxy);
}

#include "steady.def.h"
