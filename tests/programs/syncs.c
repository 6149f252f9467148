/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syncs: in each round all elements sync while a message hops from PE to PE; the last PE calls all elements, which may be
 * held back by then because a step waits until the job is at rest. Quiescence comes when these calls have been handled and
 * all elements have gone on, not before. `syncs [rounds]`.
 *
 * The elements of another array have no pup function. They sync, too, and stay in their process.
 */
#include "check.h"

#include <stdlib.h>

struct Main { int round, rounds, n_told, n_resumed, n_bound, n_elsewhere; };
struct Cell { int unused; };
struct Bound { int pe, node; };
struct Hop { int unused; };

#include "syncs.decl.h"

enum { N = 12, N_BOUND = 8 };

static bool lb_is(const char *name)
{
	const char *lb = getenv("CK_LB");

	return lb && strcmp(lb, name) == 0;
}

void Cell_on_new(Cell *self) { (void)self; }
void Cell_on_sync(Cell *self) { CkAtSync(self); }

void Cell_on_tell(Cell *self)
{
	(void)self;
	Main_told(mainProxy);
}

void Cell_on_resumeFromSync(Cell *self)
{
	(void)self;
	Main_resumed(mainProxy);
}

void Bound_on_new(Bound *self)
{
	self->pe = CkMyPe();
	self->node = CkMyNode();
}

void Bound_on_sync(Bound *self) { CkAtSync(self); }

void Bound_on_resumeFromSync(Bound *self)
{
	CHECK_EQ(CkMyNode(), self->node);
	Main_bound_resumed(mainProxy, CkMyPe() != self->pe);
}

void Hop_on_new(Hop *self) { (void)self; }

void Hop_on_hop(Hop *self, int left)
{
	(void)self;
	if (left) {
		Hop_hop(Hop_at(hops, (CkMyPe() + 1) % CkNumPes()), left - 1);
		return;
	}
	for (int i = 0; i < N; i++)
		Cell_tell(Cell_at(cells, i));
}

static void begin(Main *self)
{
	Cell_sync_all(cells);
	Bound_sync_all(bound);
	Hop_hop(Hop_at(hops, self->round % CkNumPes()), self->round * 7 % 60);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_told(Main *self) { self->n_told++; }
void Main_on_resumed(Main *self) { self->n_resumed++; }

void Main_on_bound_resumed(Main *self, bool elsewhere)
{
	self->n_bound++;
	self->n_elsewhere += elsewhere;
}

void Main_on_quiet(Main *self)
{
	self->round++;
	CHECK_EQ(self->n_told, self->round * N);
	CHECK_EQ(self->n_resumed, self->round * N);
	CHECK_EQ(self->n_bound, self->round * N_BOUND);
	if (self->round < self->rounds) {
		begin(self);
		return;
	}
	if (lb_is("rotate") && CkMyNodeSize() > 1)
		CHECK(self->n_elsewhere > 0);
	CkPrintf("syncs: %d rounds\n", self->round);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	self->rounds = m->argc > 1 ? atoi(m->argv[1]) : 30;
	cells = Cell_ckNew(CkDims(N));
	bound = Bound_ckNew(CkDims(N_BOUND));
	hops = Hop_ckNew();
	begin(self);
}

#include "syncs.def.h"
