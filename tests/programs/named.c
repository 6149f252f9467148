/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named: a ring of cells that put into each other through named channels, and move at random while they do: before their
 * ends are joined, while puts are on their way, both ends at once. Each cell has four channels to each neighbour's two
 * sides, of all kinds: arrivals told by a counter or by the data, ready in one step or in two, strided senders, memory
 * that other processes can write or not. A step is the closed formula of main, so a lost, doubled or torn put is found.
 * `named [seed [steps [percent of moves [words [cells]]]]]`.
 */
#include "check.h"
#include "ckchannel.h"
#include "ckdirect.h"

#include <stdlib.h>

#include "named.decl.h"
#include "named_main.h"

enum { LEFT, RIGHT, SIDES, TURNS = 2, ROUNDS = 2 };
#define OOB UINT64_MAX

struct Main {
	int rounds;
	uint64_t moves;
};

struct Cell {
	uint64_t x, random;
	uint64_t moves;
	int step, round;
	int got[TURNS];
	uint64_t *in[TURNS][SIDES], *out[TURNS][SIDES];
	CkChannel *from[TURNS][SIDES], *to[TURNS][SIDES];
};

/* ---- what is computed ------------------------------------------------------------------------------------ */

static uint64_t first_value(int cell, int round)
{
	return check_mix(seed + (uint64_t)cell * 3 + (uint64_t)round * 1000003);
}

/* The words that a cell puts: the first tells all others, so a torn put is seen. Never OOB. */
static uint64_t word(uint64_t x, int i)
{
	const uint64_t first = check_mix(x) >> 1;

	return i ? check_mix(first + (uint64_t)i) >> 1 : first;
}

static uint64_t next_value(uint64_t left, uint64_t x, uint64_t right)
{
	return check_mix(left + 3 * x + 7 * right);
}

static uint64_t expected(int round)
{
	uint64_t *x = malloc((size_t)n_cells * sizeof *x), *y = malloc((size_t)n_cells * sizeof *y), sum = 0;

	for (int i = 0; i < n_cells; i++)
		x[i] = first_value(i, round);
	for (int s = 0; s < steps; s++) {
		for (int i = 0; i < n_cells; i++)
			y[i] = next_value(word(x[(i + n_cells - 1) % n_cells], 0), x[i], word(x[(i + 1) % n_cells], 0));
		memcpy(x, y, (size_t)n_cells * sizeof *x);
	}
	for (int i = 0; i < n_cells; i++)
		sum += x[i];
	free(x);
	free(y);
	return sum;
}

/* ---- the kinds of channels ---------------------------------------------------------------------------------- */

static int neighbour(int cell, int side)
{
	return (cell + (side == LEFT ? n_cells - 1 : 1)) % n_cells;
}

/* What the two ends of a channel agree about. */
static uint64_t kind(int to, int turn, int side)
{
	return check_mix((uint64_t)to * 64 + (uint64_t)turn * 8 + (uint64_t)side);
}
static bool by_data(uint64_t kind) { return kind & 1; }
static bool is_strided(uint64_t kind) { return kind & 2; }
static bool ready_in_two(uint64_t kind) { return kind & 4; }
static bool is_shared(uint64_t kind) { return kind & 8; }

static size_t bytes(void) { return (size_t)words * sizeof(uint64_t); }

/* A strided sender has each word twice. */
static size_t out_bytes(uint64_t k) { return bytes() * (is_strided(k) ? 2 : 1); }

static int tag_of(int turn, int side) { return turn * SIDES + side; }

static void make(Cell *self, int turn, int side)
{
	const int me = Cell_thisIndex(self), other = neighbour(me, side);
	const uint64_t in = kind(me, turn, side), out = kind(other, turn, !side);
	const CkElement from = Cell_at(cells, other).ck;
	const CProxyElement_Cell to = Cell_at(cells, other);
	const CkDirectStrides twice = { .block_bytes = 8, .blocks = (size_t)words, .stride_bytes = 16 };

	if (by_data(in))
		self->from[turn][side] = Cell_side_from_oob(self, from, tag_of(turn, side), self->in[turn][side], bytes(), OOB);
	else
		self->from[turn][side] = Cell_side_from(self, from, tag_of(turn, side), self->in[turn][side], bytes());
	if (is_strided(out))
		self->to[turn][side] = Cell_side_to_strided(self, to, tag_of(turn, !side), self->out[turn][side], twice);
	else
		self->to[turn][side] = Cell_side_to(self, to, tag_of(turn, !side), self->out[turn][side], bytes());
}

void Cell_pup(pup_er p, Cell *self)
{
	const int me = Cell_thisIndex(self);

	pup_bytes(p, &self->x, offsetof(Cell, in));
	for (int t = 0; t < TURNS; t++)
		for (int s = 0; s < SIDES; s++) {
			const uint64_t in = kind(me, t, s), out = kind(neighbour(me, s), t, !s);

			self->in[t][s] = is_shared(in) ? pup_alloc_direct(p, self->in[t][s], bytes()) :
							 pup_alloc(p, self->in[t][s], bytes());
			self->out[t][s] = pup_alloc(p, self->out[t][s], out_bytes(out));
			pup_bytes(p, self->in[t][s], bytes()); /* one side may have come, and wait for the other */
			pup_bytes(p, self->out[t][s], out_bytes(out));
			pup_channel(p, &self->from[t][s], self->in[t][s]);
			pup_channel(p, &self->to[t][s], self->out[t][s]);
		}
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static void wander(Cell *self)
{
	self->random = check_mix(self->random);
	if ((int)(self->random % 100) >= percent)
		return;
	CkMigrateMe(self, (int)((self->random >> 8) % (uint64_t)CkNumPes()));
	self->moves++;
}

static void put(Cell *self)
{
	const int turn = self->step % TURNS, me = Cell_thisIndex(self);

	for (int s = 0; s < SIDES; s++) {
		const int each = is_strided(kind(neighbour(me, s), turn, !s)) ? 2 : 1;

		for (int i = 0; i < words; i++)
			self->out[turn][s][i * each] = word(self->x, i);
		CkChannelPut(self->to[turn][s]);
	}
}

void Cell_on_new(Cell *self)
{
	const int me = Cell_thisIndex(self);

	self->random = check_mix(seed ^ (uint64_t)me << 32);
	for (int t = 0; t < TURNS; t++)
		for (int s = 0; s < SIDES; s++) {
			self->in[t][s] = is_shared(kind(me, t, s)) ? CkDirect_alloc(bytes()) : malloc(bytes());
			self->out[t][s] = calloc(1, out_bytes(kind(neighbour(me, s), t, !s)));
		}
}

/* Puts before anything is joined. */
void Cell_on_begin(Cell *self, int round)
{
	self->round = round;
	self->step = 0;
	self->x = first_value(Cell_thisIndex(self), round);
	memset(self->got, 0, sizeof self->got);
	for (int t = 0; t < TURNS; t++)
		for (int s = 0; s < SIDES; s++)
			make(self, t, s);
	put(self);
	wander(self);
}

/* The words of one channel, all of one put. */
static uint64_t take(const Cell *self, int turn, int side)
{
	const uint64_t *in = self->in[turn][side];

	for (int i = 1; i < words; i++)
		CHECK_EQ(in[i], check_mix(in[0] + (uint64_t)i) >> 1);
	return in[0];
}

static void ready(Cell *self, int turn)
{
	for (int s = 0; s < SIDES; s++)
		if (ready_in_two(kind(Cell_thisIndex(self), turn, s)))
			CkChannelReadyMark(self->from[turn][s]);
		else
			CkChannelReady(self->from[turn][s]);
}

/* Ends that were marked a turn ago are polled from here on. Meanwhile they may have moved, with a put that nobody has
 * seen. */
static void expect(Cell *self, int turn)
{
	for (int s = 0; s < SIDES && self->step >= TURNS; s++)
		if (ready_in_two(kind(Cell_thisIndex(self), turn, s)))
			CkChannelReadyPollQ(self->from[turn][s]);
}

static bool advance(Cell *self)
{
	const int turn = self->step % TURNS;
	uint64_t left, right;

	if (self->step == steps || self->got[turn] < SIDES)
		return false;
	self->got[turn] = 0;
	left = take(self, turn, LEFT);
	right = take(self, turn, RIGHT);
	self->x = next_value(left, self->x, right);
	ready(self, turn);
	if (++self->step == steps) {
		const uint64_t result[] = { self->x, self->moves };

		CkContribute(self, result, 2, CkReduction_sum_ulong, Main_cb_done(mainProxy));
		return false;
	}
	put(self);
	expect(self, self->step % TURNS);
	wander(self);
	return true;
}

void Cell_on_side(Cell *self, int tag)
{
	const int turn = tag / SIDES;

	CHECK(self->got[turn] < SIDES);
	self->got[turn]++;
	while (advance(self))
		;
}

/* It no longer wants to move, which would pack them. */
static void free_buffers(Cell *self)
{
	CkMigrateMe(self, CkMyPe());
	for (int t = 0; t < TURNS; t++)
		for (int s = 0; s < SIDES; s++) {
			if (is_shared(kind(Cell_thisIndex(self), t, s)))
				CkDirect_free(self->in[t][s]);
			else
				free(self->in[t][s]);
			free(self->out[t][s]);
		}
}

void Cell_on_drop(Cell *self)
{
	for (int t = 0; t < TURNS; t++)
		for (int s = 0; s < SIDES; s++) {
			CkChannelDestroy(self->from[t][s]);
			CkChannelDestroy(self->to[t][s]);
			self->from[t][s] = self->to[t][s] = NULL;
		}
	if (self->round == ROUNDS - 1)
		free_buffers(self);
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_dropped(mainProxy));
}

/* ---- main --------------------------------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	begin_cells("named", m);
}

void Main_on_done(Main *self, uint64_t sum, uint64_t moves)
{
	CHECK_EQ(sum, expected(self->rounds));
	self->moves = moves;
	Cell_drop_all(cells);
}

void Main_on_dropped(Main *self)
{
	if (begin_next_round(++self->rounds, ROUNDS))
		return;
	CkPrintf("named: right, after %llu moves\n", (unsigned long long)self->moves);
	CkExit(0);
}

#include "named.def.h"
