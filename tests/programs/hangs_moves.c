/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hangs_moves: `hangs_moves WHAT` waits for ever because of the last element, which moves, or wants to move, from the
 * last PE to PE 0. The watchdog must end it and name who waits for what; hangs.cases has the lines.
 */
#include "check.h"

typedef struct Nomad { int step; } Nomad;

#include "hangs_moves.decl.h"

enum { PER_PE = 2, CALLS = 40 };

struct Main { char unused; };

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }
static int last(void) { return PER_PE * CkNumPes() - 1; }
static bool am_last(Nomad *self) { return Nomad_thisIndex(self) == last(); }

static void contribute(Nomad *self)
{
	const int one = 1;

	CkContribute(self, &one, 1, CkReduction_sum_int, Main_cb_never(mainProxy));
}

/* What it takes along waits where it is then; what keeps it waits where it was. */
static void hang(Nomad *self, const char *what)
{
	CProxyElement_Nomad me = Nomad_thisElement(self);

	if (is(what, "thread"))
		Nomad_waits(me);
	else if (is(what, "buffer"))
		Nomad_take(me, 1, CkSendBuffer(&self->step));
	else if (is(what, "body"))
		Nomad_walk(me);
	for (int i = 0; i < CALLS && is(what, "when"); i++)
		Nomad_go(me, 5);
	Nomad_moved(me);
}

void Nomad_on_new(Nomad *self) { self->step = 0; }

void Nomad_on_act(Nomad *self, const char *what)
{
	if (am_last(self))
		hang(self, what);
	else if (is(what, "reduction"))
		contribute(self);
}

/* Behind what it was called for. */
void Nomad_on_moved(Nomad *self)
{
	CkMigrateMe(self, 0);
}

void Nomad_on_waits(Nomad *self)
{
	(void)self;
	CkWaitFuture(CkCreateFuture());
}

void Nomad_on_take_post(Nomad *self, int n, int **v, CkNcpyBufferPost *post)
{
	(void)self, (void)n, (void)v;
	CkMatchBuffer(post, 0, 1);
}

void Nomad_on_take(Nomad *self, int n, int *v) { (void)self, (void)n, (void)v; CkExit(99); }
void Nomad_on_go(Nomad *self, int step) { CHECK_EQ(step, self->step); }
void Main_on_never(Main *self, int n) { (void)self, (void)n; CkExit(99); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	CHECK(m->argc > 1);
	nomads = Nomad_ckNew(CkDims(PER_PE * CkNumPes()));
	Nomad_act_all(nomads, m->argv[1]);
}

#include "hangs_moves.def.h"
