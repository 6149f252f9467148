/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_sets: a line of cells, each of which puts into all cells at most REACH away, itself
 * included, and moves at random. Their channels are two sets, used in turn: Cell_on_even and
 * Cell_on_odd run once for all channels of a cell, which are three to five. A step is the closed
 * formula of main, so a lost, doubled or early run is found.
 * `named_sets [seed [steps [percent of moves [words [cells]]]]]`.
 */
#include "check.h"
#include "ckchannel.h"
#include "ckdirect.h"

#include <stdlib.h>

#include "named_sets.decl.h"
#include "named_main.h"

enum { REACH = 2, MOST = 2 * REACH + 1, TURNS = 2, ROUNDS = 2 };
#define OOB UINT64_MAX

struct Main {
	int rounds;
};

struct Cell {
	uint64_t x, random;
	int step, round, n;
	uint64_t *in[TURNS][MOST], *out[TURNS];
	CkChannel *from[TURNS][MOST], *to[TURNS][MOST];
};

/* ---- what is computed ------------------------------------------------------------------------ */

static int first_neighbour(int cell) { return cell > REACH ? cell - REACH : 0; }
static int last_neighbour(int cell)
{
	return cell + REACH < n_cells ? cell + REACH : n_cells - 1;
}

static uint64_t first_value(int cell, int round)
{
	return check_mix(seed + (uint64_t)cell * 3 + (uint64_t)round * 1000003);
}

/* The words that a cell puts: the first tells all others. Never OOB. */
static uint64_t word(uint64_t x, int i) { return check_mix((x >> 1) + (uint64_t)i) >> 1; }

static uint64_t expected(int round)
{
	uint64_t *x = malloc((size_t)n_cells * sizeof *x), *y = malloc((size_t)n_cells * sizeof *y);
	uint64_t sum = 0;

	for (int i = 0; i < n_cells; i++)
		x[i] = first_value(i, round);
	for (int s = 0; s < steps; s++) {
		for (int i = 0; i < n_cells; i++) {
			y[i] = 0;
			for (int k = first_neighbour(i); k <= last_neighbour(i); k++)
				y[i] = check_mix(3 * y[i] + word(x[k], 0));
		}
		memcpy(x, y, (size_t)n_cells * sizeof *x);
	}
	for (int i = 0; i < n_cells; i++)
		sum += x[i];
	free(x);
	free(y);
	return sum;
}

/* ---- channels -------------------------------------------------------------------------------- */

static size_t bytes(void) { return (size_t)words * sizeof(uint64_t); }
static bool by_data(int me, int k) { return check_mix((uint64_t)(me * MOST + k)) & 1; }

/* Its ends belong to one set or the other, by their entry. */
static CkChannel *receive(Cell *self, int turn, int k)
{
	const CkElement from = Cell_at(cells, first_neighbour(Cell_thisIndex(self)) + k).ck;
	void *in = self->in[turn][k];

	if (by_data(Cell_thisIndex(self), k))
		return turn ? Cell_odd_from_oob(self, from, k, in, bytes(), OOB) :
			      Cell_even_from_oob(self, from, k, in, bytes(), OOB);
	return turn ? Cell_odd_from(self, from, k, in, bytes()) :
		      Cell_even_from(self, from, k, in, bytes());
}

static CkChannel *send(Cell *self, int turn, int k)
{
	const int me = Cell_thisIndex(self), other = first_neighbour(me) + k;
	const int tag = me - first_neighbour(other);
	const CProxyElement_Cell to = Cell_at(cells, other);

	return turn ? Cell_odd_to(self, to, tag, self->out[turn], bytes()) :
		      Cell_even_to(self, to, tag, self->out[turn], bytes());
}

static void wander(Cell *self)
{
	self->random = check_mix(self->random);
	if ((int)(self->random % 100) < percent)
		CkMigrateMe(self, (int)((self->random >> 8) % (uint64_t)CkNumPes()));
}

static void put(Cell *self)
{
	const int turn = self->step % TURNS;

	for (int i = 0; i < words; i++)
		self->out[turn][i] = word(self->x, i);
	CkChannelPutAll(self->to[turn], self->n);
}

void Cell_on_new(Cell *self)
{
	const int me = Cell_thisIndex(self);

	self->n = last_neighbour(me) - first_neighbour(me) + 1;
	self->random = check_mix(seed ^ (uint64_t)me << 32);
	for (int t = 0; t < TURNS; t++) {
		for (int k = 0; k < self->n; k++)
			self->in[t][k] = CkDirect_alloc(bytes());
		self->out[t] = malloc(bytes());
	}
}

/* What has arrived goes along by itself until all others have, and so do puts that wait. */
void Cell_pup(pup_er p, Cell *self)
{
	pup_bytes(p, self, offsetof(Cell, in));
	for (int t = 0; t < TURNS; t++) {
		self->out[t] = pup_alloc(p, self->out[t], bytes());
		pup_skip(p, self->out[t], bytes());
		for (int k = 0; k < self->n; k++) {
			self->in[t][k] = pup_alloc_direct(p, self->in[t][k], bytes());
			/* It may leave after its ends are gone (Cell_on_drop). */
			if (!self->from[t][k] && !pup_isUnpacking(p))
				pup_skip(p, self->in[t][k], bytes());
			pup_channel(p, &self->from[t][k], self->in[t][k]);
			pup_channel(p, &self->to[t][k], self->out[t]);
		}
	}
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Puts before anything is joined. */
void Cell_on_begin(Cell *self, int round)
{
	self->round = round;
	self->step = 0;
	self->x = first_value(Cell_thisIndex(self), round);
	for (int t = 0; t < TURNS; t++)
		for (int k = 0; k < self->n; k++) {
			self->from[t][k] = receive(self, t, k);
			self->to[t][k] = send(self, t, k);
		}
	put(self);
	wander(self);
}

static void arrived(Cell *self, int turn)
{
	uint64_t x = 0;

	CHECK_EQ(self->step % TURNS, turn);
	for (int k = 0; k < self->n; k++) {
		const uint64_t *in = self->in[turn][k];

		for (int i = 1; i < words; i++)
			CHECK(in[i] != in[0]);
		x = check_mix(3 * x + in[0]);
	}
	self->x = x;
	if (turn)
		Cell_odd_ready(self);
	else
		Cell_even_ready(self);
	if (++self->step == steps) {
		CkContribute(self, &self->x, 1, CkReduction_sum_ulong, Main_cb_done(mainProxy));
		return;
	}
	put(self);
	wander(self);
}

void Cell_on_even(Cell *self) { arrived(self, 0); }
void Cell_on_odd(Cell *self) { arrived(self, 1); }

/* It no longer wants to move, which would pack what is freed here. */
static void free_buffers(Cell *self)
{
	CkMigrateMe(self, CkMyPe());
	for (int t = 0; t < TURNS; t++) {
		for (int k = 0; k < self->n; k++)
			CkDirect_free(self->in[t][k]);
		free(self->out[t]);
	}
}

void Cell_on_drop(Cell *self)
{
	for (int t = 0; t < TURNS; t++)
		for (int k = 0; k < self->n; k++) {
			CkChannelDestroy(self->from[t][k]);
			CkChannelDestroy(self->to[t][k]);
			self->from[t][k] = self->to[t][k] = NULL;
		}
	if (self->round == ROUNDS - 1)
		free_buffers(self);
	else
		CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes()); /* without any end */
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_dropped(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	begin_cells("named_sets", m);
}

void Main_on_done(Main *self, uint64_t sum)
{
	CHECK_EQ(sum, expected(self->rounds));
	Cell_drop_all(cells);
}

void Main_on_dropped(Main *self)
{
	if (begin_next_round(++self->rounds, ROUNDS))
		return;
	CkPrintf("named_sets: right\n");
	CkExit(0);
}

#include "named_sets.def.h"
