/* SPDX-License-Identifier: Apache-2.0 */
/*
 * globals: gets, puts, stores and atomics of all PEs at random places, of random sizes, in spreads
 * of several shapes and in memory of CkGlobalAlloc, against what may be seen:
 *
 *	counters   one PE writes a counter, others read it: it never falls, and is not below what
 *	           its writer has told after a CkSync
 *	atomics    every number that a fetch-add gives is claimed once, by a swap; a
 *	           compare-and-swap that succeeds found the value before
 *	phases     what all PEs stored for a phase is complete behind CkAllStoreSync, while others
 *	           store for the next ones
 *	stores     CkStoreSync of a neighbour's bytes
 *	pieces     up to 2 MB at once, byte by byte
 *	rovers     elements whose gets go into themselves, and that move while these are under way;
 *	           some begin them in threads that do not wait
 *
 * `globals [seed [rounds]]`.
 */
#include "check.h"

#include <stdlib.h>

#include "globals.decl.h"

enum { COUNTERS, TICKETS, CLAIMS, INBOX, BULK, TABLE, MARKS, SPREADS };
enum { EACH = 16, TAKES = 20, PER_PHASE = 6, BULK_MOST = 2 << 20, N_ROVERS = 9 };

struct Main { CkSpread spreads[SPREADS + 1]; int n_made, n_done; uint64_t *table; };
struct Hand {
	CkSpread s[SPREADS];
	uint64_t random, written[EACH];
	uint64_t *seen;           /* [EACH * PEs] */
	CkGlobal own;             /* of CkGlobalAlloc; shown in TABLE */
	int bumps, phases_left, phase;
};
struct Rover {
	CkSpread table, marks;
	uint64_t got[8], at[8], random, mark, marked;
	int left, n;
};

static uint64_t draw(uint64_t *random)
{
	return *random = check_mix(*random);
}

static uint64_t below(uint64_t *random, uint64_t n)
{
	return (draw(random) >> 20) % n;
}

/* ---- counters -------------------------------------------------------------------------------- */

static uint64_t counter_of(int pe, uint64_t k) { return (uint64_t)pe * EACH + k; }

/* What the reader has seen of a counter never falls. */
static void saw(Hand *self, uint64_t place, uint64_t value)
{
	CHECK(value >= self->seen[place]);
	self->seen[place] = value;
}

static void write_some(Hand *self)
{
	const int n = 1 + (int)below(&self->random, 8);
	uint64_t ks[8], values[8];

	for (int i = 0; i < n; i++) {
		ks[i] = below(&self->random, EACH);
		values[i] = ++self->written[ks[i]];
		CkPut(CkSpreadAt(self->s[COUNTERS], counter_of(CkMyPe(), ks[i])), &values[i], sizeof values[i]);
		/* Two puts to one place may come in any order. */
		CkSync();
	}
	Hand_announced(Hand_at(hands, (int)below(&self->random, (uint64_t)CkNumPes())),
		       counter_of(CkMyPe(), ks[n - 1]), values[n - 1]);
}

static void read_some(Hand *self)
{
	uint64_t values[24], places[24];

	for (int i = 0; i < 24; i++) {
		places[i] = below(&self->random, (uint64_t)CkNumPes() * EACH);
		CkGet(&values[i], CkSpreadAt(self->s[COUNTERS], places[i]), sizeof values[i]);
	}
	CkSync();
	/* They may have been read in any order, so each place counts once. */
	for (int i = 0; i < 24; i++) {
		bool again = false;

		for (int k = 0; k < i; k++)
			again |= places[k] == places[i];
		if (!again)
			CHECK(values[i] <= (uint64_t)1 << 40);
	}
	for (int i = 0; i < 3; i++) {
		uint64_t value;

		CkRead(&value, CkSpreadAt(self->s[COUNTERS], places[i]));
		/* Another thread of this PE may have read a later value meanwhile. */
		if (value > self->seen[places[i]])
			saw(self, places[i], value);
	}
}

void Hand_on_announced(Hand *self, uint64_t place, uint64_t value)
{
	uint64_t now;

	CkRead(&now, CkSpreadAt(self->s[COUNTERS], place));
	CHECK(now >= value);
}

/* ---- atomics --------------------------------------------------------------------------------- */

static void take_tickets(Hand *self)
{
	const CkGlobal ticket = CkSpreadAt(self->s[TICKETS], 0), square = CkSpreadAt(self->s[TICKETS], 1);
	uint64_t numbers[TAKES], old;
	uint32_t tries = 0;

	for (int i = 0; i < TAKES; i++)
		CkAtomicGet(&numbers[i], CK_ATOMIC_ADD, ticket, 8, 1, 0);
	CkSync();
	for (int i = 0; i < TAKES; i++)
		CHECK_EQ(CkSwap(CkSpreadAt(self->s[CLAIMS], numbers[i]), (uint64_t)1), 0);
	/* By compare and swap: each success adds 3. */
	CkRead(&old, square);
	for (uint64_t found; (found = CkCompareSwap(square, old, old + 3)) != old; old = found)
		tries++;
	CHECK(tries < 1000000);
	CHECK_EQ(old % 3, 0);
	/* On 4 bytes, beside others. */
	(void)CkFetchAdd(CkGlobalAdd(CkSpreadAt(self->s[TICKETS], 2), 4), 1u);
}

static void check_tickets(Hand *self)
{
	uint64_t tickets, square;
	uint32_t low, high;

	CkRead(&tickets, CkSpreadAt(self->s[TICKETS], 0));
	CHECK_EQ(tickets, (uint64_t)rounds * TAKES * (uint64_t)CkNumPes());
	CkRead(&square, CkSpreadAt(self->s[TICKETS], 1));
	CHECK_EQ(square, (uint64_t)rounds * 3 * (uint64_t)CkNumPes());
	CkRead(&low, CkSpreadAt(self->s[TICKETS], 2));
	CkRead(&high, CkGlobalAdd(CkSpreadAt(self->s[TICKETS], 2), 4));
	CHECK_EQ(low, 0);
	CHECK_EQ(high, (uint32_t)(rounds * CkNumPes()));
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* The inbox of a PE has a place for each phase modulo 3, sender and number. */
static uint64_t inbox_of(int pe, int phase, int from, int i)
{
	const uint64_t n = (uint64_t)CkNumPes(), box = (uint64_t)pe * 3 + (uint64_t)phase % 3;

	return (box * n + (uint64_t)from) * PER_PHASE + (uint64_t)i;
}

static uint64_t letter(int pe, int phase, int from, int i)
{
	return check_mix((uint64_t)pe << 40 ^ (uint64_t)phase << 20 ^ (uint64_t)from << 8 ^ (uint64_t)i);
}

/* How many a PE sends to another in a phase. */
static int n_letters(int pe, int phase, int from)
{
	return (int)(letter(pe, phase, from, 99) % (PER_PHASE + 1));
}

static void send_letters(Hand *self, int phase)
{
	for (int pe = 0; pe < CkNumPes(); pe++)
		for (int i = 0; i < n_letters(pe, phase, CkMyPe()); i++)
			CkStoreValue(CkSpreadAt(self->s[INBOX], inbox_of(pe, phase, CkMyPe(), i)),
				     letter(pe, phase, CkMyPe(), i));
}

static void check_letters(Hand *self, int phase)
{
	for (int from = 0; from < CkNumPes(); from++)
		for (int i = 0; i < n_letters(CkMyPe(), phase, from); i++) {
			uint64_t *at = CkGlobalLocal(CkSpreadAt(self->s[INBOX], inbox_of(CkMyPe(), phase, from, i)));

			CHECK(at && *at == letter(CkMyPe(), phase, from, i));
			*at = 0;
		}
}

static void letters(Hand *self)
{
	const int phase = self->phase++;

	send_letters(self, phase);
	CkAllStoreSync();
	check_letters(self, phase);
}

/* Each PE stores random amounts to the next one, which knows how many bytes there will be, and a
 * word more into a spread. */
static void neighbours(Hand *self, int round)
{
	const int next = (CkMyPe() + 1) % CkNumPes(), before = (CkMyPe() + CkNumPes() - 1) % CkNumPes();
	const size_t most = 3000, out = letter(next, round, CkMyPe(), 77) % most,
		     in = letter(CkMyPe(), round, before, 77) % most;
	CkGlobal to;
	char *buf = malloc(most), *mine;

	CkRead(&to, CkSpreadAt(self->s[TABLE], (uint64_t)next));
	memset(buf, round % 100 + 1, most);
	for (size_t at = 0, n; at < out; at += n) {
		n = 1 + (size_t)below(&self->random, out - at);
		CkStore(CkGlobalAdd(to, (int64_t)at), buf + at, n);
	}
	CkStoreValue(CkSpreadAt(self->s[INBOX], inbox_of(next, 0, CkMyPe(), 0)), (uint64_t)round);
	CkStoreSync(in + sizeof(uint64_t));
	mine = CkGlobalLocal(self->own);
	for (size_t i = 0; i < in; i++)
		CHECK_EQ(mine[i], round % 100 + 1);
	free(buf);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static unsigned char byte_of(uint64_t key, size_t i)
{
	return (unsigned char)(key + i * 131 + (i >> 8) + (i >> 16) * 7);
}

/* Each PE has the block of another one of BULK for itself. */
static void pieces(Hand *self, int round)
{
	const uint64_t whose = (uint64_t)(CkMyPe() + 1 + round) % (uint64_t)CkNumPes();
	const size_t most = !round ? BULK_MOST / 4 : below(&self->random, 4) ? 5000 : BULK_MOST;
	const size_t n = (round ? 1 : BULK_MOST / 2) + (size_t)below(&self->random, most);
	const uint64_t at = below(&self->random, BULK_MOST - n + 1);
	const CkGlobal g = CkSpreadAt(self->s[BULK], whose * BULK_MOST + at);
	unsigned char *out = malloc(n), *in = malloc(n);
	const uint64_t key = draw(&self->random);

	for (size_t i = 0; i < n; i++)
		out[i] = byte_of(key, i);
	CkPut(g, out, n);
	CkSync();
	CkGet(in, g, n);
	CkSync();
	CHECK(memcmp(in, out, n) == 0);
	free(in);
	free(out);
}

/* ---- hands ----------------------------------------------------------------------------------- */

void Hand_on_new(Hand *self)
{
	self->random = seed + (uint64_t)CkMyPe() * 1000003;
	self->seen = calloc((size_t)CkNumPes() * EACH, sizeof *self->seen);
}

void Hand_on_bump(Hand *self, int by) { self->bumps += by; }

static void check_geometry(const Hand *self, int which)
{
	const CkSpread s = self->s[which];
	uint64_t n;
	const char *mine = CkSpreadLocal(s, &n);

	for (uint64_t k = 0; k < n; k += 1 + n / 50) {
		const CkGlobal g = CkSpreadAt(s, CkSpreadIndex(s, k));

		CHECK_EQ(CkGlobalPe(g), CkMyPe());
		CHECK(CkGlobalLocal(g) == mine + k * s.bytes);
	}
	CHECK_EQ(CkSpreadIndex(s, n), s.n);
}

static void show_own(Hand *self)
{
	uint64_t here = 0;

	CkWrite(CkGlobalOf(&here), (uint64_t)7); /* any memory of the process */
	CHECK_EQ(here, 7);
	self->own = CkGlobalAlloc(4096);
	CHECK_EQ(CkGlobalPe(self->own), CkMyPe());
	CkWrite(CkSpreadAt(self->s[TABLE], (uint64_t)CkMyPe()), self->own);
}

void Hand_on_run(Hand *self, int n, const CkSpread *spreads)
{
	CkSpread more;

	(void)n;
	memcpy(self->s, spreads, sizeof self->s);
	for (int i = 0; i < SPREADS; i++)
		check_geometry(self, i);
	show_own(self);
	CkFenceWait(self);
	for (int round = 0; round < rounds; round++) {
		write_some(self);
		read_some(self);
		take_tickets(self);
		for (int i = 0; i < 4; i++)
			letters(self);
		pieces(self, round);
		/* A remote procedure at whoever has some place. */
		Hand_bump(Hand_at(hands, CkGlobalPe(CkSpreadAt(self->s[COUNTERS], counter_of(CkMyPe(), 0)))), 1);
	}
	CkFenceWait(self);
	check_tickets(self);
	for (int round = 0; round < rounds; round++) {
		neighbours(self, round);
		CkFenceWait(self);
	}
	CkGlobalFree(self->own);
	more = CkSpreadAlloc(10, 24, 3);
	CkWriteBytes(CkSpreadAt(more, 9), "a text of 24 bytes.....", 24);
	CkSpreadFree(more);
	self->phases_left = 3;
	Hand_rest(Hand_at(hands, CkMyPe()));
}

/* The same with callbacks, without threads. */
void Hand_on_rest(Hand *self)
{
	CkGet(&self->written[0], CkSpreadAt(self->s[COUNTERS], 0), sizeof self->written[0]);
	CkSyncThen(Hand_cb_rested(Hand_at(hands, CkMyPe())));
}

void Hand_on_rested(Hand *self)
{
	send_letters(self, self->phase);
	CkAllStoreSyncThen(Hand_cb_phased(Hand_at(hands, CkMyPe())));
}

void Hand_on_phased(Hand *self)
{
	check_letters(self, self->phase);
	self->phase++;
	if (--self->phases_left) {
		Hand_on_rested(self);
		return;
	}
	free(self->seen);
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

/* ---- rovers ---------------------------------------------------------------------------------- */

void Rover_pup(pup_er p, Rover *self) { pup_bytes(p, self, sizeof *self); }
void Rover_on_arrived(Rover *self) { (void)self; }
void Rover_on_new(Rover *self) { self->random = seed ^ (uint64_t)Rover_thisIndex(self) << 32; }

static void mark(Rover *self)
{
	const CkGlobal mine = CkSpreadAt(self->marks, (uint64_t)Rover_thisIndex(self));

	if (self->left % 2)
		CkGet(&self->marked, mine, sizeof self->marked);
	else
		CkPut(mine, &self->mark, sizeof self->mark);
}

static void wait_for_all(Rover *self)
{
	CkSyncThen(Rover_cb_synced(Rover_at(rovers, Rover_thisIndex(self))));
}

/* Element i of the rovers' table has check_mix(i). At first each only puts: puts of several
 * elements follow each other. */
void Rover_on_begin(Rover *self, CkSpread table, CkSpread marks)
{
	self->table = table;
	self->marks = marks;
	self->left = 4 * rounds;
	mark(self);
	wait_for_all(self);
}

void Rover_on_step(Rover *self)
{
	mark(self);
	self->n = 1 + (int)below(&self->random, 8);
	for (int i = 0; i < self->n; i++) {
		self->at[i] = below(&self->random, self->table.n);
		self->got[i] = 0;
		CkGet(&self->got[i], CkSpreadAt(self->table, self->at[i]), 8);
	}
	wait_for_all(self);
	if (below(&self->random, 2))
		CkMigrateMe(self, (int)below(&self->random, (uint64_t)CkNumPes()));
}

void Rover_on_stepThreaded(Rover *self) { Rover_on_step(self); }

void Rover_on_synced(Rover *self)
{
	for (int i = 0; i < self->n; i++)
		CHECK(self->got[i] == check_mix(self->at[i]));
	if (self->left % 2)
		CHECK(self->marked == self->mark++);
	if (!--self->left)
		CkContributeBarrier(self, Main_cb_done(mainProxy));
	else if (below(&self->random, 3) == 0)
		Rover_stepThreaded(Rover_at(rovers, Rover_thisIndex(self)));
	else
		Rover_on_step(self);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void make_next(Main *self)
{
	const uint64_t n = (uint64_t)CkNumPes(), claims = (uint64_t)rounds * TAKES * n;
	const struct { uint64_t n, bytes, block; } of[SPREADS + 1] = {
		[COUNTERS] = { n * EACH, 8, 1 }, [TICKETS] = { 3, 8, 2 }, [CLAIMS] = { claims, 8, 3 },
		[INBOX] = { n * 3 * n * PER_PHASE, 8, 0 }, [BULK] = { n * BULK_MOST, 1, 0 },
		[TABLE] = { n, sizeof(CkGlobal), 1 }, [MARKS] = { N_ROVERS, 8, 2 }, [SPREADS] = { 999, 8, 7 },
	};

	CkSpreadNew(of[self->n_made].n, of[self->n_made].bytes, of[self->n_made].block,
		    Main_cb_made(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	seed = check_run_seed(m);
	rounds = check_argument(m, 2, 4);
	CkPrintf("globals: seed %llu\n", (unsigned long long)seed);
	mainProxy = Main_thisProxy(self);
	hands = Hand_ckNew();
	rovers = Rover_ckNew(CkDims(N_ROVERS));
	make_next(self);
}

static void fill_table(Main *self)
{
	const CkSpread s = self->spreads[SPREADS];

	self->table = malloc(s.n * sizeof *self->table);
	for (uint64_t i = 0; i < s.n; i++) {
		self->table[i] = check_mix(i);
		CkPut(CkSpreadAt(s, i), &self->table[i], 8);
	}
	CkSyncThen(Main_cb_filled(mainProxy));
}

void Main_on_made(Main *self, const CkReductionMsg *m)
{
	memcpy(&self->spreads[self->n_made++], m + 1, sizeof(CkSpread));
	if (self->n_made <= SPREADS)
		make_next(self);
	else
		fill_table(self);
}

void Main_on_filled(Main *self)
{
	free(self->table);
	Rover_begin_all(rovers, self->spreads[SPREADS], self->spreads[MARKS]);
	Hand_run_all(hands, SPREADS, self->spreads);
}

void Main_on_done(Main *self)
{
	if (++self->n_done == 2) {
		CkPrintf("globals: right; to PE 1 by %s\n", CkGlobalPath(CkSpreadAt(
			self->spreads[TABLE], 1 % (uint64_t)CkNumPes())));
		CkExit(0);
	}
}

#include "globals.def.h"
