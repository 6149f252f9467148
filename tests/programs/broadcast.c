/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast: an element on each PE broadcasts to one array, in bursts of different sizes. Each
 * broadcast of a source arrives at each element once, and a source's broadcasts arrive in order.
 */
#include "check.h"

#include <stdlib.h>

#include "broadcast.decl.h"

enum { NX = 3, NY = 3, MAX_LEN = 3000 };

struct Main { int unused; };
struct Cell { int *next; int n_in; };
struct Talker { CProxy_Cell cells; int no; };

static int length(int from, int no)
{
	return no % 10 ? (int)(check_mix((uint64_t)(from * 1000 + no)) % 20) : MAX_LEN;
}

void Cell_on_new(Cell *self)
{
	self->next = calloc((size_t)CkNumPes(), sizeof *self->next);
	CHECK(self->next);
}

void Cell_on_go(Cell *self, CProxy_Talker talkers)
{
	CkIndex2D i = Cell_thisIndex(self);

	if (i.x == 0 && i.y == 0)
		Talker_talk_all(talkers);
}

void Cell_on_hear(Cell *self, int from, int no, int n, const int *v)
{
	CHECK_EQ(no, self->next[from]++);
	CHECK_EQ(n, length(from, no));
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], from + no + i);
	if (++self->n_in < CkNumPes() * rounds)
		return;
	free(self->next);
	CkContribute(self, &self->n_in, 1, CkReduction_sum_int, Main_cb_done(mainProxy));
}

void Talker_on_new(Talker *self, CProxy_Cell cells)
{
	self->cells = cells;
}

/* A burst, then a call to itself, so that the sources' bursts mix. */
void Talker_on_talk(Talker *self)
{
	int me = Talker_thisIndex(self), v[MAX_LEN];

	for (int burst = 0; burst < 7 && self->no < rounds; burst++, self->no++) {
		for (int i = 0; i < MAX_LEN; i++)
			v[i] = me + self->no + i;
		Cell_hear_all(self->cells, me, self->no, length(me, self->no), v);
	}
	if (self->no < rounds)
		Talker_talk(Talker_thisElement(self));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Cell cells;

	mainProxy = Main_thisProxy(self);
	rounds = m->argc > 1 ? atoi(m->argv[1]) : 50;
	cells = Cell_ckNew(CkDims(NX, NY));
	Cell_go_all(cells, Talker_ckNew(CkDims(CkNumPes()), cells));
}

void Main_on_done(Main *self, int n)
{
	(void)self;
	CHECK_EQ(n, NX * NY * CkNumPes() * rounds);
	CkPrintf("broadcast: %d calls on %d PEs\n", n, CkNumPes());
	CkExit(0);
}

#include "broadcast.def.h"
