/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown.c: ends in ways that print a back-trace. The functions have numbers of lines that the
 * tests expect.
 *
 *	shown WAY [thread]     in an entry method, or in a threaded one
 */
#include <stdlib.h>
#include <string.h>

#include "shown.decl.h"

struct Main { int unused; };
struct Block { int result; };

static int *volatile nowhere;
static void (*volatile no_function)(void);

#line 100
static int compare(const void *a, const void *b)
{
	if (*(const int *)a >= 0)
		CkAbort("compared %d", *(const int *)b);
	return 0;
}

#line 200
static int fail(int way)
{
	int values[] = { 2, 1 };

	if (way == 1)
		CkAbort("a way");
	if (way == 2)
		*nowhere = 1;
	if (way == 3)
		qsort(values, 2, sizeof *values, compare);
	if (way == 4)
		Block_step(Block_at(blocks, 77), way);
	if (way == 5)
		exit(3);
	if (way == 6)
		abort();
	if (way == 7)
		no_function();
	CkExit(0);
	return way;
}

#line 300
void Block_on_step(Block *self, int way)
{
	self->result = 0;
	self->result = fail(way);
}

#line 400
void Block_on_thread(Block *self, int way)
{
	self->result = 0;
	self->result = fail(way);
}

void Block_on_new(Block *self)
{
	(void)self;
}

#line 500
void Main_on_new(Main *self, CkArgMsg *m)
{
	const int way = atoi(m->argv[1]);

	(void)self;
	if (way == 0)
		CkAbort("in the main chare");
	blocks = Block_ckNew(CkDims(4));
	if (m->argc > 2)
		Block_thread(Block_at(blocks, 3), way);
	else
		Block_step(Block_at(blocks, 3), way);
}

#include "shown.def.h"
