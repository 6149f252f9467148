/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sets: each element has a channel from each element, itself included, and one function for all of
 * them. In each round all put; the function must run once, when all data are there. Half of the
 * channels tell arrivals by a number, half by the data. The sets of odd elements are made ready by
 * halves: marked when the data are used, polled when all may put again.
 *
 *	sets MISTAKE    element 0 does what is not allowed: 1 to 5
 */
#include "check.h"

#include "ckdirect.h"

enum { CELLS = 6, ROUNDS = 20, WORDS = 3 };

#include "sets.decl.h"

enum { NO_MISTAKE, TWO_SETS, NO_CHANNELS, ONE_DESTROYED, ONE_READY, SET_LATE };

struct Main {
	int unused;
};

struct Cell {
	uint64_t in[CELLS][WORDS], out[CELLS][WORDS];
	CkDirectHandle from[CELLS], to[CELLS];
	CkDirectSet *set;
	int round;
	uint64_t alone_in[WORDS]; /* of a channel that is in no set */
	CkDirectHandle alone;
	bool alone_came;
};

static uint64_t word(int from, int to, int round, int i)
{
	return check_mix((uint64_t)(((from * CELLS + to) * ROUNDS + round) * WORDS + i)) >> 1;
}

/* ---- a round -----------------------------------------------------------------------------------
 */

static void put_all(Cell *self)
{
	const int me = Cell_thisIndex(self);

	for (int to = 0; to < CELLS; to++) {
		for (int i = 0; i < WORDS; i++)
			self->out[to][i] = word(me, to, self->round, i);
		CkDirect_put(&self->to[to]);
	}
}

/* Everybody may put again when everybody is ready. */
static void arrived(void *arg)
{
	Cell *self = arg;
	const int me = Cell_thisIndex(self);

	CHECK_EQ(CkDirect_setRounds(self->set), self->round + 1);
	for (int from = 0; from < CELLS; from++)
		for (int i = 0; i < WORDS; i++)
			CHECK(self->in[from][i] == word(from, me, self->round, i));
	if (++self->round == ROUNDS) {
		CkDirect_destroySet(self->set);
		Main_done(mainProxy);
		return;
	}
	if (me % 2)
		CkDirect_readyMarkSet(self->set);
	else
		CkDirect_readySet(self->set);
	Cell_go_all(cells, self->round);
}

/* The put to itself may be the last that its own set waits for, so it is polled first. */
void Cell_on_go(Cell *self, int number, int n)
{
	CHECK(number == self->round && n == CELLS);
	if (number > 0 && Cell_thisIndex(self) % 2)
		CkDirect_readyPollQSet(self->set);
	put_all(self);
}

/* ---- the beginning
 * ------------------------------------------------------------------------------- */

static void never(void *arg) { CkAbort("the function of a channel in a set ran: %p", arg); }

static void came(void *arg) { ((Cell *)arg)->alone_came = true; }

static void put_to_self(Cell *self, CkDirectHandle *h, uint64_t *out)
{
	CkDirectHandle to = *h;

	CkDirect_assocLocalBuffer(&to, out, WORDS * sizeof *out);
	CkDirect_put(&to);
}

/* Those that come later need a put of the element to itself. */
static void make_mistake(Cell *self, CkDirectHandle **from)
{
	self->set = CkDirect_createSet(from, mistake == NO_CHANNELS ? 0 : CELLS, arrived, self);
	if (mistake == TWO_SETS)
		CkDirect_createSet(from, 1, arrived, self);
	if (mistake == ONE_DESTROYED)
		CkDirect_destroyHandle(&self->from[0]);
	put_to_self(self, &self->from[0], self->out[0]);
	self->alone = CkDirect_createHandle(self->alone_in, sizeof self->alone_in, UINT64_MAX, came,
					    self);
	put_to_self(self, &self->alone, self->out[1]);
	Cell_early(Cell_thisElement(self));
}

/* Both puts have been consumed when the second one has. */
void Cell_on_early(Cell *self)
{
	CkDirectHandle *alone[1] = { &self->alone };

	if (!self->alone_came) {
		Cell_early(Cell_thisElement(self));
		return;
	}
	if (mistake == SET_LATE)
		CkDirect_createSet(alone, 1, arrived, self);
	CkDirect_ready(&self->from[0]);
	CkExit(99);
}

void Cell_on_new(Cell *self)
{
	CkDirectHandle *from[CELLS];

	for (int i = 0; i < CELLS; i++) {
		self->from[i] = i % 2 ? CkDirect_createHandleSeq(self->in[i], sizeof self->in[i],
								 never, NULL)
				      : CkDirect_createHandle(self->in[i], sizeof self->in[i],
							      UINT64_MAX, never, NULL);
		from[i] = &self->from[i];
	}
	if (Cell_thisIndex(self) == 0 && mistake)
		make_mistake(self, from);
	else
		self->set = CkDirect_createSet(from, CELLS, arrived, self);
}

void Cell_on_begin(Cell *self)
{
	for (int i = 0; i < CELLS; i++)
		Cell_bind(Cell_at(cells, i), Cell_thisIndex(self), self->from[i]);
}

void Cell_on_bind(Cell *self, int number, int n, const Cell_bind_call *calls)
{
	CHECK_EQ(number, 0);
	for (int i = 0; i < n; i++) {
		const int to = calls[i].from;

		self->to[to] = calls[i].h;
		CkDirect_assocLocalBuffer(&self->to[to], self->out[to], sizeof self->out[to]);
	}
	Main_bound(mainProxy);
}

void Cell_on_end(Cell *self)
{
	for (int to = 0; to < CELLS; to++)
		CkDirect_destroyHandle(&self->to[to]);
}

void Main_on_bound(Main *self, int number, int n)
{
	for (int from = 0; from < CELLS; from++)
		Cell_go_all(cells, 0);
}

void Main_on_done(Main *self, int number, int n)
{
	Cell_end_all(cells);
	CkPrintf("sets: %d rounds\n", ROUNDS);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	mistake = check_argument(m, 1, NO_MISTAKE);
	cells = Cell_ckNew(CkDims(CELLS));
	if (!mistake)
		Cell_begin_all(cells);
}

#include "sets.def.h"
