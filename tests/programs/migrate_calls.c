/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_calls: all PEs call the elements of an array with extents and of a sparse one, while these move to
 * random PEs, now and then twice in one handler, to the PE where they are, and in their constructors. Every
 * element gets every call once, and the calls of one sender and one priority in order, wherever it lives; and
 * it is where it asked to be. `migrate_calls [seed [turns]]`.
 */
#include "check.h"

#include <stdlib.h>

#include "migrate_calls.decl.h"

enum { N_LINES = 7, NX = 2, NY = 3, N = N_LINES + NX * NY, CALLS = 50, MOST_PES = 64, PRIOS = 3 };

struct Main { int turns, n_in; long calls; };
struct Line { int *next, to, n_arrived; uint64_t random; int *first; };
struct Cell { int next[MOST_PES * PRIOS], to; uint64_t random; };
struct Hand { int next[N][PRIOS]; uint64_t random; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)((*random >> 33) % (uint64_t)n);
}

static int somewhere(uint64_t *random)
{
	return below(random, CkNumPes());
}

/* Numbers of calls that are to come: of each sender, of each priority. */
static size_t n_next(void) { return (size_t)CkNumPes() * PRIOS; }

/* What both kinds of elements do. `to` is where this one asked to be; -1: it has not asked. */
static void step(void *self, int *next, int *to, uint64_t *random, int from, int prio, int no)
{
	CHECK_EQ(no, next[from * PRIOS + prio]);
	next[from * PRIOS + prio]++;
	if (*to >= 0)
		CHECK_EQ(CkMyPe(), *to);
	if (below(random, 4))
		return;
	if (below(random, 3) == 0)
		CkMigrateMe(self, somewhere(random)); /* the last one counts */
	CkMigrateMe(self, *to = somewhere(random));
}

static long sum(const int *next)
{
	long n = 0;

	for (size_t k = 0; k < n_next(); k++)
		n += next[k];
	return n;
}

void Line_pup(pup_er p, Line *self)
{
	pup_int(p, &self->to);
	pup_int(p, &self->n_arrived);
	pup_bytes(p, &self->random, sizeof self->random);
	self->next = pup_alloc(p, self->next, n_next() * sizeof *self->next);
	pup_ints(p, self->next, n_next());
	pup_skip(p, &self->first, sizeof self->first);
}

void Line_on_arrived(Line *self)
{
	self->n_arrived++;
	self->first = self->next; /* is not packed */
}

void Line_on_new(Line *self)
{
	self->first = self->next = calloc(n_next(), sizeof *self->next);
	self->random = check_mix(seed + (uint64_t)Line_thisIndex(self));
	self->to = -1;
	if (below(&self->random, 2))
		CkMigrateMe(self, self->to = somewhere(&self->random));
}

void Line_on_step(Line *self, int from, int prio, int no)
{
	CHECK(self->first == self->next);
	step(self, self->next, &self->to, &self->random, from, prio, no);
	/* So that every one moves, whatever the seed. */
	if (!self->n_arrived && no >= 5)
		CkMigrateMe(self, self->to = (CkMyPe() + 1) % CkNumPes());
}

void Line_on_report(Line *self)
{
	if (CkNumPes() > 1)
		CHECK(self->n_arrived > 0);
	Main_counted(mainProxy, sum(self->next));
	free(self->next);
	self->next = NULL;
}

void Cell_pup(pup_er p, Cell *self)
{
	pup_int(p, &self->to);
	pup_bytes(p, &self->random, sizeof self->random);
	pup_ints(p, self->next, n_next());
}

void Cell_on_new(Cell *self)
{
	self->random = check_mix(seed + 100 + (uint64_t)(10 * Cell_thisIndex(self).x + Cell_thisIndex(self).y));
	self->to = -1;
}

void Cell_on_step(Cell *self, int from, int prio, int no)
{
	step(self, self->next, &self->to, &self->random, from, prio, no);
}

void Cell_on_report(Cell *self) { Main_counted(mainProxy, sum(self->next)); }

/* ---- every PE ------------------------------------------------------------------------------------- */

void Hand_on_new(Hand *self) { self->random = check_mix(seed + 1000 + (uint64_t)CkMyPe()); }

/* What is promised is an order among equals. A priority below 0 goes before calls without one, one above 0 behind them. */
static void call(Hand *self, int i, int prio)
{
	const CkEntryOptions o = { .prio = prio - 1 };
	const int pe = CkMyPe(), no = self->next[i][prio]++, x = (i - N_LINES) / NY - 1, y = (i - N_LINES) % NY;

	if (i < N_LINES && o.prio)
		Line_step_opt(&o, Line_at(lines, i), pe, prio, no);
	else if (i < N_LINES)
		Line_step(Line_at(lines, i), pe, prio, no);
	else if (o.prio)
		Cell_step_opt(&o, Cell_at(cells, x, y), pe, prio, no);
	else
		Cell_step(Cell_at(cells, x, y), pe, prio, no);
}

void Hand_on_send(Hand *self, int turn)
{
	const int often = below(&self->random, N), most = below(&self->random, 2) ? CALLS : 0;

	for (int k = 0; k < CALLS; k++)
		call(self, k < most ? often : below(&self->random, N), below(&self->random, PRIOS));
	if (turn > 0)
		Hand_send(Hand_thisElement(self), turn - 1);
}

/* ---- main ------------------------------------------------------------------------------------------- */

void Main_on_quiet(Main *self)
{
	for (int i = 0; i < N_LINES; i++)
		Line_report(Line_at(lines, i));
	for (int i = 0; i < NX * NY; i++)
		Cell_report(Cell_at(cells, i / NY - 1, i % NY));
}

void Main_on_counted(Main *self, long n)
{
	self->calls += n;
	if (++self->n_in < N)
		return;
	CHECK_EQ(self->calls, (long)CkNumPes() * CALLS * (self->turns + 1));
	CkPrintf("%ld calls\n", self->calls);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	self->turns = m->argc > 2 ? atoi(m->argv[2]) : 20;
	CkPrintf("migrate_calls %llu %d\n", (unsigned long long)seed, self->turns);
	hands = Hand_ckNew();
	lines = Line_ckNew(CkDims(N_LINES));
	cells = Cell_ckNew_opt(&(CkArrayOptions){ .start = { -1, 0 }, .end = { NX - 1, NY } });
	Hand_send_all(hands, self->turns);
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "migrate_calls.def.h"
