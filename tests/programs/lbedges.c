/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lbedges: a strategy that wants edges is told of all calls and puts between the elements of an array, with their bytes, and
 * of nothing else. In each step every cell
 *
 *	calls      the next one once, and puts into it through a named channel
 *	           the next but one, by [aggregate] calls: twice in a row, and once more behind a call of another one
 *	           the third one, by an [aggregate] call with an array
 *	           an element of another array, and puts into it, which calls back
 *	           one cell calls all, and another one a section
 *
 * In the first step a cell makes a put that waits, because its receiver makes its end only in the last one.
 * Then all sync, and move, so the ends of channels move, too. `lbedges [steps]`, with CK_LB=roll and CK_LB_TOLERANCE=0 on
 * several PEs: elsewhere a sync is no barrier, which the channels need.
 */
#include "check.h"
#include "ckchannel.h"
#include "ckdirect.h"

#include <stdlib.h>
#include <string.h>

struct Main { int unused; };

enum { WORDS = 1000, FAR_WORDS = 3000 };

struct Cell {
	int step, next, n_got, pe;
	long moves;
	CkSection odd;
	uint64_t *in, *out, *far_out, *late;
	CkChannel *from, *to, *far, *late_end;
};

struct Other {
	uint64_t *in;
	CkChannel *from;
};

#include "lbedges.decl.h"

enum { N = 12, LIST = 5 };
/* What a cell gets in a step: a call, 3 calls in batches, a list, a put, a shout, and the call back. */
enum { GETS = 8 };
/* The channel with the put that waits, and who has its ends. */
enum { LATE = 1, LATE_FROM = 2, LATE_TO = 7, LATE_WORDS = 16 };

/* ---- the strategy ------------------------------------------------------------------------------------------ */

/* A call in a batch takes its parameters and a slot for the place, unless it travels by itself because its element has
 * moved. */
static void check_edge(const CkLBEdge *e, uint64_t step)
{
	const size_t put = WORDS * sizeof(uint64_t);

	switch ((e->to + N - e->from) % N) {
	case 1:
		CHECK_EQ(e->messages, 2);
		CHECK(e->bytes > put + sizeof(int) && e->bytes < put + 200);
		break;
	case 2:
		CHECK_EQ(e->messages, 3);
		CHECK(step ? e->bytes >= 24 && e->bytes < 600 : e->bytes == 24);
		break;
	case 3:
		CHECK_EQ(e->messages, 1);
		CHECK(e->bytes > LIST * sizeof(double) && e->bytes < LIST * sizeof(double) + (step ? 200 : 48));
		break;
	case LATE_TO - LATE_FROM:
		CHECK(!step && e->from == LATE_FROM && e->messages == 1 && e->bytes == LATE_WORDS * sizeof(uint64_t));
		break;
	default:
		CkAbort("lbedges: step %d has an edge from %u to %u", (int)step, e->from, e->to);
	}
}

static int roll(const CkLBStats *s, int32_t *to, void *arg)
{
	(void)arg;
	CHECK_EQ(s->n, N);
	CHECK_EQ(s->n_edges, 3 * N + !s->step);
	for (size_t k = 0; k < s->n_edges; k++)
		check_edge(&s->edge[k], s->step);
	for (size_t i = 0; i < s->n; i++)
		to[i] = (int32_t)(s->element[i].pe + 1) % s->n_pes;
	return 0;
}

void register_strategy(void)
{
	CkLBRegister("roll", roll, CK_LB_EDGES, NULL);
}

/* ---- a cell -------------------------------------------------------------------------------------------------- */

static int other_than(const Cell *self, int by)
{
	return (Cell_thisIndex(self) + by + N) % N;
}

void Cell_pup(pup_er p, Cell *self)
{
	pup_bytes(p, self, offsetof(Cell, in));
	self->in = pup_alloc_direct(p, self->in, WORDS * sizeof *self->in);
	self->out = pup_alloc(p, self->out, WORDS * sizeof *self->out);
	self->far_out = pup_alloc(p, self->far_out, FAR_WORDS * sizeof *self->far_out);
	pup_bytes(p, self->in, WORDS * sizeof *self->in);
	pup_channel(p, &self->from, self->in);
	pup_channel(p, &self->to, self->out);
	pup_channel(p, &self->far, self->far_out);
	self->late = pup_alloc(p, self->late, LATE_WORDS * sizeof *self->late);
	pup_channel(p, &self->late_end, self->late);
	pup_skip(p, self->late, LATE_WORDS * sizeof *self->late); /* was looked at when it came */
}

void Cell_on_new(Cell *self)
{
	self->in = CkDirect_alloc(WORDS * sizeof *self->in);
	self->out = calloc(WORDS, sizeof *self->out);
	self->far_out = calloc(FAR_WORDS, sizeof *self->far_out);
	self->late = calloc(LATE_WORDS, sizeof *self->late);
}

static void make_ends(Cell *self)
{
	self->from = Cell_side_from(self, Cell_at(cells, other_than(self, -1)), 0, self->in,
				    WORDS * sizeof *self->in);
	self->to = Cell_side_to(self, Cell_at(cells, other_than(self, 1)), 0, self->out, WORDS * sizeof *self->out);
	self->far = Other_side_to(self, Other_at(others, Cell_thisIndex(self)), 0, self->far_out,
				  FAR_WORDS * sizeof *self->far_out);
}

static bool gets_late(const Cell *self)
{
	return Cell_thisIndex(self) == LATE_TO && self->next == steps - 1;
}

static void late(Cell *self)
{
	const size_t bytes = LATE_WORDS * sizeof *self->late;

	if (Cell_thisIndex(self) == LATE_FROM && !self->step) {
		self->late[LATE_WORDS - 1] = LATE_FROM;
		self->late_end = Cell_side_to(self, Cell_at(cells, LATE_TO), LATE, self->late, bytes);
		CkChannelPut(self->late_end);
	}
	if (gets_late(self))
		self->late_end = Cell_side_from(self, Cell_at(cells, LATE_FROM), LATE, self->late, bytes);
}

static void call_all(Cell *self)
{
	const int me = Cell_thisIndex(self);
	double v[LIST] = { self->step };

	late(self);
	Cell_plain(Cell_at(cells, other_than(self, 1)), me);
	for (int i = 0; i < WORDS; i++)
		self->out[i] = (uint64_t)self->step;
	CkChannelPut(self->to);
	Cell_few(Cell_at(cells, other_than(self, 2)), me);
	Cell_few(Cell_at(cells, other_than(self, 2)), me);
	Cell_list(Cell_at(cells, other_than(self, 3)), LIST, v);
	Cell_few(Cell_at(cells, other_than(self, 2)), me);
	Other_greet(Other_at(others, me), me);
	CkChannelPut(self->far);
	if (me == self->step % N)
		Cell_shout_all(cells, me);
	if (me == 1)
		Cell_odd_only_section((CProxySection_Cell){ self->odd }, me);
}

/* What the others send in the next step may come before this cell goes on; the call back does not. */
static void got(Cell *self)
{
	if (++self->n_got < GETS + Cell_thisIndex(self) % 2 + gets_late(self))
		return;
	self->n_got = 0;
	self->pe = CkMyPe();
	self->next++;
	CkChannelReady(self->from);
	CkAtSync(self);
}

void Cell_on_begin(Cell *self, CProxySection_Cell odd)
{
	self->odd = odd.ck;
	make_ends(self);
	call_all(self);
}

void Cell_on_plain(Cell *self, int from)
{
	CHECK_EQ(from, other_than(self, -1));
	got(self);
}

void Cell_on_few(Cell *self, int from)
{
	CHECK_EQ(from, other_than(self, -2));
	got(self);
}

void Cell_on_list(Cell *self, int n, const double *v)
{
	CHECK(n == LIST && v[0] == self->next);
	got(self);
}

void Cell_on_shout(Cell *self, int from)
{
	CHECK_EQ(from, self->next % N);
	got(self);
}

void Cell_on_odd_only(Cell *self, int from)
{
	CHECK(from == 1 && Cell_thisIndex(self) % 2);
	got(self);
}

void Cell_on_side(Cell *self, int tag)
{
	if (tag == LATE)
		CHECK_EQ(self->late[LATE_WORDS - 1], LATE_FROM);
	else
		CHECK(self->in[0] == (uint64_t)self->next && self->in[WORDS - 1] == (uint64_t)self->next);
	got(self);
}

void Cell_on_back(Cell *self)
{
	got(self);
}

void Cell_on_resumeFromSync(Cell *self)
{
	self->moves += self->pe != CkMyPe();
	if (++self->step < steps) {
		call_all(self);
		return;
	}
	CkChannelDestroy(self->from);
	CkChannelDestroy(self->to);
	CkChannelDestroy(self->far);
	CkChannelDestroy(self->late_end);
	CkDirect_free(self->in);
	free(self->late);
	free(self->out);
	free(self->far_out);
	CkContribute(self, &self->moves, 1, CkReduction_sum_long, Main_cb_done(mainProxy));
}

/* ---- the other array ----------------------------------------------------------------------------------------------- */

void Other_on_new(Other *self)
{
	(void)self;
}

void Other_on_begin(Other *self)
{
	self->in = CkDirect_alloc(FAR_WORDS * sizeof *self->in);
	self->from = Other_side_from(self, Cell_at(cells, Other_thisIndex(self)), 0, self->in,
				     FAR_WORDS * sizeof *self->in);
}

void Other_on_greet(Other *self, int from)
{
	CHECK_EQ(from, Other_thisIndex(self));
}

void Other_on_side(Other *self, int tag)
{
	(void)tag;
	CkChannelReady(self->from);
	Cell_back(Cell_at(cells, Other_thisIndex(self)));
}

/* ---- main ---------------------------------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	CkIndex odd[N / 2];

	if (CkNumPes() == 1 || !getenv("CK_LB") || strcmp(getenv("CK_LB"), "roll") != 0)
		CkAbort("lbedges: run it on several PEs, with CK_LB=roll");
	mainProxy = Main_thisProxy(self);
	steps = m->argc > 1 ? atoi(m->argv[1]) : 6;
	cells = Cell_ckNew(CkDims(N));
	others = Other_ckNew(CkDims(N));
	for (int i = 0; i < N / 2; i++)
		odd[i] = Cell_index(2 * i + 1);
	Other_begin_all(others);
	Cell_begin_all(cells, Cell_ckSection(cells, odd, N / 2));
}

/* The strategy moves every cell in each step. */
void Main_on_done(Main *self, long moves)
{
	(void)self;
	CHECK_EQ(moves, (long)steps * N);
	CkPrintf("lbedges: %d steps, %ld moves\n", steps, moves);
	CkExit(0);
}

#include "lbedges.def.h"
