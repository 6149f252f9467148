/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate: each aggregated call arrives once, whole, and in the order of its pair of PEs, whatever is
 * sent between them and however little fits into a batch. Quiescence neither overlooks a call that is
 * held back nor waits for one for ever.
 *
 *	aggregate          the whole test
 *	aggregate N        the same with limits drawn by seed N
 *	aggregate limits WHICH   CkSetAggregation refuses this
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "cth.h"

#include "aggregate.h"
#include "aggregate.decl.h"

enum { LONGEST = 140000, N = 13, NX = 5, NY = 3, M = 11, KEPT = 4, LATE = 6, EARLY = 9, HOPS = 40 };

struct Main {
	int phase, awaited;
	long expected;
	CProxy_Late late;
};
struct Cell {
	int next[N];                /* per sender: what must come */
	unsigned char next_letter;
	long n;
	int n_nothing, next_when, n_threaded;
	void *kept[KEPT];
	int n_kept;
};
struct Mapped { long n; };
struct Grid { long n; };
struct Counter { long n, sum; };
struct Lone { int next[1024]; long n; int open_at, gate, followed; };
struct Late { int next[1024]; long n; };

/* Count, bytes: tiny, odd, huge, and what comes from the environment. */
static const int limits[][2] = {{1, 512}, {3, 600}, {1000, 1 << 20}, {7, 1024}, {512, 16384}};
enum { LIMITS = sizeof limits / sizeof limits[0], DRAWN = 3, SHOUTS = 60, LONE = 200 };

static int limit(int round, int what)
{
	uint64_t r = check_mix(seed + (uint64_t)(2 * round + what));

	if (round < LIMITS)
		return limits[round][what];
	/* Small limits as often as large ones. */
	return what ? 512 + (int)(r % ((1u << 20) - 511) >> r % 12) : 1 + (int)(r % 65535 >> r % 16);
}

static int backwards(CkIndex i, CkArrayDims dims, int npes)
{
	return (dims.n[0] - i.v[0]) % npes;
}

void register_maps(void)
{
	CkRegisterMap("backwards", backwards);
}

/* ---- one call after the other, of all kinds -------------------------------------------------- */

static void came(Cell *self, int from, int seq)
{
	CHECK(from >= 0 && from < N);
	CHECK_EQ(seq, self->next[from]++);
	self->n++;
}

static double value(int from, int seq, int i) { return from * 1000.0 + seq + i * 0.25; }

static int length(int from, int seq)
{
	/* Some are longer than most batches, one than any. */
	if (from == 3 && seq == SHOUTS / 2)
		return LONGEST;
	return seq % 31 == 30 ? 4000 : (int)(check_mix((uint64_t)(from * 100 + seq)) % 20);
}

/* What is kept is a copy of the parameters, which may lie in the batch. */
void Cell_on_plain(Cell *self, int from, int seq)
{
	if (seq % 8 == 0) {
		int *kept = CkKeepMsg();

		CHECK_EQ(kept[0], from);
		CHECK_EQ(kept[1], seq);
		CkFreeMsg(kept);
	}
	came(self, from, seq);
}

void Cell_on_mixed(Cell *self, double d, short from, int seq)
{
	CHECK(d == value(from, seq, 3));
	came(self, from, seq);
}

void Cell_on_heavy(Cell *self, int from, struct heavy h)
{
	CHECK(h.x == (long double)from / 3);
	came(self, from, h.seq);
}

void Cell_on_bulk(Cell *self, int from, struct bulk b)
{
	CHECK_EQ(b.fill[0], from);
	CHECK_EQ(b.fill[sizeof b.fill - 1], b.seq % 100);
	came(self, from, b.seq);
}

/* A plain call after a flush: everything before it has come. */
void Cell_on_flushed(Cell *self, int from, int seq)
{
	CHECK_EQ(self->next[from], seq);
	self->n++;
}

void Cell_on_text(Cell *self, int from, int seq, const char *s)
{
	CHECK_EQ(strlen(s), seq % 50);
	CHECK_EQ(strspn(s, "x"), seq % 50);
	came(self, from, seq);
}

void Cell_on_vector(Cell *self, int from, int seq, int n, const double *v)
{
	CHECK((uintptr_t)v % 16 == 0);
	CHECK_EQ(n, length(from, seq));
	for (int i = 0; i < n; i++)
		CHECK(v[i] == value(from, seq, i));
	came(self, from, seq);
}

/* Kept parameters stay, although the batch is long gone. */
static void check_kept(Cell *self, int at)
{
	const struct { int from, seq, n, pad, v[]; } *k = self->kept[at];

	for (int i = 0; k && i < k->n; i++)
		CHECK_EQ(k->v[i], k->from + k->seq + i);
	CkFreeMsg(self->kept[at]);
	self->kept[at] = NULL;
}

void Cell_on_keep(Cell *self, int from, int seq, int n, const int *v)
{
	int at = self->n_kept++ % KEPT;

	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], from + seq + i);
	came(self, from, seq);
	if (seq % 2)
		return;
	check_kept(self, at);
	self->kept[at] = CkKeepMsg();
	CHECK((uintptr_t)self->kept[at] % 16 == 0);
}

void Cell_on_letter(Cell *self, unsigned char seq)
{
	CHECK_EQ(seq, self->next_letter);
	self->next_letter++;
	self->n++;
}

void Cell_on_nothing(Cell *self)
{
	self->n_nothing++;
	self->n++;
}

void Cell_on_in_turn(Cell *self, int k)
{
	CHECK_EQ(k, self->next_when);
	self->next_when++;
	self->n++;
}

void Cell_on_threaded(Cell *self, int n)
{
	self->n_threaded += n;
	self->n++;
}

static void flush_between(CProxyElement_Cell e, int from, int seq)
{
	Cell_plain(e, from, seq);
	CkFlush();
	Cell_flushed(e, from, seq + 1);
}

static void send_one(int from, int to, int seq)
{
	CProxyElement_Cell e = Cell_at(cells, to);
	char x[64];
	static _Thread_local double v[LONGEST];
	static _Thread_local struct bulk b;
	int k[16], n;

	if (seq == SHOUTS - 1)
		return flush_between(e, from, seq);
	switch (check_mix((uint64_t)(seq * 7 + from)) % 7) {
	case 6:
		b.seq = seq;
		b.fill[0] = (char)from;
		b.fill[sizeof b.fill - 1] = (char)(seq % 100);
		if (to == (from + seq) % N) {
			Cell_bulk(e, from, b);
			break;
		} /* fall through */
	case 0:
		Cell_plain(e, from, seq);
		break;
	case 1:
		Cell_mixed(e, value(from, seq, 3), (short)from, seq);
		break;
	case 2:
		Cell_heavy(e, from, (struct heavy){(long double)from / 3, seq});
		break;
	case 3:
		memset(x, 'x', sizeof x);
		x[seq % 50] = 0;
		Cell_text(e, from, seq, x);
		break;
	case 4:
		n = length(from, seq);
		for (int i = 0; i < n; i++)
			v[i] = value(from, seq, i);
		Cell_vector(e, from, seq, n, v);
		break;
	default:
		n = seq % 16;
		for (int i = 0; i < n; i++)
			k[i] = from + seq + i;
		Cell_keep(e, from, seq, n, k);
		break;
	}
}

/* To all, in turn or many to each at a time. */
void Cell_on_shout(Cell *self, int n)
{
	int me = Cell_thisIndex(self), next = Cell_thisIndex(self) + 1;

	for (int seq = 0; seq < n; seq++)
		for (int to = 0; to < N; to++)
			if (to % 2)
				send_one(me, to, seq);
	for (int to = 0; to < N; to += 2)
		for (int seq = 0; seq < n; seq++)
			send_one(me, to, seq);
	for (int i = 0; i < n; i++) {
		Cell_letter(Cell_at(cells, next % N), (unsigned char)i);
		Cell_nothing(Cell_at(cells, i % N));
		Cell_in_turn(Cell_at(cells, next % N), n - 1 - i);
		Cell_threaded(Cell_at(cells, i % N), 1);
		if (i == n / 2)
			CkFlush();
	}
}

void Cell_on_limit(Cell *self, int count, int bytes)
{
	memset(self->next, 0, sizeof self->next);
	self->next_letter = 0;
	self->next_when = 0;
	CkSetAggregation(count, (size_t)bytes);
}

/* A tree of calls that is still growing when quiescence is asked for. */
void Cell_on_hop(Cell *self, int ttl, int salt)
{
	self->n++;
	if (ttl > 0)
		Cell_hop(Cell_at(cells, (int)(check_mix((uint64_t)salt) % N)), ttl - 1,
			 (int)((unsigned)salt * 3 + 1));
	if (ttl > 0 && ttl % 16 == 0)
		Cell_hop(Cell_at(cells, ttl % N), ttl - 1, (int)((unsigned)salt + 1));
}

void Cell_on_report(Cell *self)
{
	for (int i = 0; i < KEPT; i++)
		check_kept(self, i);
	CkContribute(self, &self->n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
	self->n = 0;
}

void Cell_on_new(Cell *self) { self->n = 0; }

/* ---- alone on their PE ------------------------------------------------------------------------ */

void Lone_on_new(Lone *self) { self->open_at = LONE; }

/* Many calls of one entry, one after the other; before that as many that wait for them. */
static void send_steps(CProxyElement_Lone to, int n)
{
	for (int k = 1; k <= n; k++)
		Lone_follow(to, k);
	for (int k = 0; k < n; k++)
		Lone_step(to, k);
}

void Lone_on_start(Lone *self, int n)
{
	int me = CkMyPe();
	char from[3] = {1, (char)(me % 100), (char)(me / 100)}, s[64];

	(void)self;
	memset(s, 'y', sizeof s);
	for (int seq = 0; seq < n; seq++) {
		for (int pe = 0; pe < CkNumPes(); pe++) {
			CProxyElement_Lone to = Lone_at(lones, pe);

			s[seq % 50] = 0;
			Lone_nothing(to);
			Lone_byte(to, (unsigned char)seq);
			Lone_keep(to, me, seq);
			Lone_odd(to, from, seq * 0.5, (short)(2 * seq));
			Lone_text(to, me, 2 * seq + 1, s);
			s[seq % 50] = 'y';
			if (me == 0)
				Lone_later(to, LONE - 1 - seq);
			Lone_threaded(to, seq);
		}
	}
	for (int pe = 0; me == 0 && pe < CkNumPes(); pe++)
		send_steps(Lone_at(lones, pe), n);
}

static void lone_came(Lone *self, int from, int seq)
{
	CHECK(from >= 0 && from < CkNumPes());
	CHECK_EQ(seq, self->next[from % 1024]++);
	self->n++;
}

void Lone_on_nothing(Lone *self) { self->n++; }
void Lone_on_byte(Lone *self, unsigned char k) { self->n += k < LONE; }

/* The call after it is a call in a batch again. */
void Lone_on_keep(Lone *self, int from, int k)
{
	int *kept = CkKeepMsg();

	CHECK_EQ(kept[0], from);
	CHECK_EQ(kept[1], k);
	CkFreeMsg(kept);
	self->n++;
}

/* Between two steps of a run comes the call that the first one lets in. */
void Lone_on_follow(Lone *self, int k)
{
	CHECK_EQ(k, self->followed + 1);
	self->followed = k;
	self->n++;
}

void Lone_on_step(Lone *self, int k)
{
	CHECK_EQ(k, self->followed);
	self->gate = k + 1;
	self->n++;
}

void Lone_on_odd(Lone *self, const char *from, double d, short seq)
{
	CHECK_EQ(from[0], 1);
	CHECK(d == seq * 0.25);
	lone_came(self, from[1] + 100 * from[2], seq);
}

void Lone_on_text(Lone *self, int from, int seq, const char *s)
{
	CHECK_EQ(strlen(s), seq / 2 % 50);
	lone_came(self, from, seq);
	if (seq == 2 * LONE - 1)
		self->open_at = 0; /* `later` may come now, in its order */
}

void Lone_on_later(Lone *self, int k)
{
	CHECK(k >= self->open_at && k < LONE);
	self->n++;
}

void Lone_on_threaded(Lone *self, int k)
{
	CthYield();
	self->n += k >= 0;
}

void Lone_on_report(Lone *self)
{
	CkContribute(self, &self->n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- other collections ------------------------------------------------------------------------ */

void Mapped_on_new(Mapped *self) { self->n = 0; }
void Mapped_on_add(Mapped *self, int k)
{
	CHECK_EQ(k, Mapped_thisIndex(self));
	self->n++;
}
void Mapped_on_report(Mapped *self)
{
	CkContribute(self, &self->n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Grid_on_new(Grid *self) { self->n = 0; }
void Grid_on_add(Grid *self, int k)
{
	CHECK_EQ(k, Grid_thisIndex(self).x * 10 + Grid_thisIndex(self).y);
	self->n++;
}
void Grid_on_mark(Grid *self, int k) { self->n += k; }
void Grid_on_report(Grid *self)
{
	CkContribute(self, &self->n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Counter_on_new(Counter *self) { self->n = self->sum = 0; }

/* A histogram's traffic: to anybody, one at a time. */
void Counter_on_start(Counter *self, int n)
{
	(void)self;
	for (int i = 0; i < n; i++) {
		uint64_t k = check_mix((uint64_t)(CkMyPe() * n + i));
		int x = (int)(k >> 8) % NX, y = (int)(k >> 16) % NY, m = (int)(k >> 24) % M;

		Counter_add(Counter_at(counters, (int)(k % (uint64_t)CkNumPes())), k);
		Grid_add(Grid_at(grid, abs(x), abs(y)), abs(x) * 10 + abs(y));
		Mapped_add(Mapped_at(mapped, abs(m)), abs(m));
	}
}

void Counter_on_add(Counter *self, uint64_t k)
{
	CHECK_EQ(k % (uint64_t)CkNumPes(), CkMyPe());
	self->n++;
}

/* Some wait here as messages, some there as batches; all arrive, in order. */
void Counter_on_use_early(Counter *self, CProxy_Late late)
{
	(void)self;
	for (int seq = 0; seq < EARLY; seq++)
		for (int i = 0; i < LATE; i++)
			Late_add(Late_at(late, i), CkMyPe(), seq);
}

void Counter_on_report(Counter *self)
{
	CkContribute(self, &self->n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Late_on_new(Late *self) { self->n = 0; }
void Late_on_add(Late *self, int from, int seq)
{
	CHECK(from >= 0 && from < CkNumPes());
	CHECK_EQ(seq, self->next[from % 1024]++);
	self->n++;
}
void Late_on_report(Late *self)
{
	CkContribute(self, &self->n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- main -------------------------------------------------------------------------------------- */

static long n_hops(int ttl)
{
	return ttl == 0 ? 1 : 1 + n_hops(ttl - 1) * (ttl % 16 ? 1 : 2);
}

static void calls_between_cells(Main *self, int round, int step)
{
	if (step == 0) {
		Cell_limit_all(cells, limit(round, 0), limit(round, 1));
	} else if (step == 1) {
		Cell_shout_all(cells, SHOUTS);
		for (int i = 0; i < N; i++)
			Cell_hop(Cell_at(cells, i), HOPS, i);
	} else {
		self->expected = (long)N * SHOUTS * (N + 4) + N * N + N * n_hops(HOPS);
		self->awaited = 1;
		Cell_report_all(cells);
	}
}

static void calls_of_others(Main *self, int step)
{
	if (step == 0) {
		Counter_start_all(counters, 500);
		Lone_start_all(lones, LONE);
		self->late = Late_ckNew(CkDims(LATE));
		for (int pe = 0; pe < CkNumPes(); pe++)
			Counter_use_early(Counter_at(counters, pe), self->late);
	} else if (step == 1) {
		/* Calls of all, calls with options and callbacks are not held back. */
		Grid_mark_all(grid, 1);
		Grid_mark_opt(&(CkEntryOptions){.prio = -1}, Grid_at(grid, 2, 2), 100);
		CkCallbackSendTyped(Grid_cb_mark(Grid_at(grid, 1, 1)), CK_INT, (int[]){1000}, 1);
	} else {
		self->expected = CkNumPes() * (1500L + LATE * EARLY + 6L * LONE * CkNumPes() + 3L * LONE) +
				 NX * NY + 1100;
		self->awaited = 5;
		Counter_report_all(counters);
		Grid_report_all(grid);
		Mapped_report_all(mapped);
		Late_report_all(self->late);
		Lone_report_all(lones);
	}
}

/* Quiescence after each step: it is asked for while the calls are on their way. */
void Main_on_phase(Main *self)
{
	int round = self->phase / 3, step = self->phase % 3;

	CHECK_EQ(self->awaited, 0);
	CHECK_EQ(self->expected, 0);
	self->phase++;
	if (round < LIMITS + DRAWN) {
		calls_between_cells(self, round, step);
	} else if (round == LIMITS + DRAWN) {
		calls_of_others(self, step);
	} else {
		CkPrintf("aggregate: %d rounds\n", LIMITS + DRAWN);
		Cell_nothing(Cell_at(cells, 0));
		CkExit(0);
		return;
	}
	CkStartQD(Main_cb_phase(mainProxy));
}

void Main_on_counted(Main *self, long sum)
{
	self->expected -= sum;
	self->awaited--;
}

static void refused(int which)
{
	static const struct { int count; size_t bytes; } wrong[] = {
		{0, 1000}, {-1, 1000}, {65536, 1000}, {1, 511}, {1, (1 << 20) + 1}, {1, SIZE_MAX},
	};

	CkSetAggregation(wrong[which].count, wrong[which].bytes);
	CkAbort("it was not refused");
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *what = m->argc > 1 ? m->argv[1] : "";
	CkArrayOptions o = {.dims = CkDims(M), .map = "backwards"};

	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(N));
	mapped = Mapped_ckNew_opt(&o);
	grid = Grid_ckNew(CkDims(NX, NY));
	counters = Counter_ckNew();
	lones = Lone_ckNew();
	if (strcmp(what, "limits") == 0)
		refused(atoi(m->argv[2]));
	seed = *what ? strtoull(what, NULL, 0) : (unsigned long long)time(NULL);
	CkPrintf("aggregate: seed %llu\n", seed);
	CkStartQD(Main_cb_phase(mainProxy));
}

#include "aggregate.def.h"
