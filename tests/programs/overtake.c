/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overtake: branches of a group call a few elements through an entry with [channel] all the time, and these elements move
 * all the time, mostly between their home and another PE. So calls are put at a place that their element is about to leave, or has left.
 * All PEs have other work, so that they do not hear at once what has been put: what is sent behind it by
 * another way could come first. A branch has at most WINDOW calls of an element under way, since with many of them no
 * message of a pattern is free, and calls are not put.
 *
 *	ckrun -n 3 overtake [seed [calls]]
 */
#include "check.h"
#include "overtake.decl.h"

enum { N = 4, PES_MOST = 8, WINDOW = 6, CALLS = 10000, WORK = 4000, STAYS = 24 };

struct Main {
	long sent;
};
struct Source {
	uint64_t random;
	int left, under_way[N];
	long no[N], worked;
};
struct Sink {
	uint64_t random;
	int home, stays;
	long moves, no[PES_MOST];
};

/* ---- main ---------------------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const uint64_t seed = check_run_seed(m);

	(void)self;
	CHECK(CkNumPes() <= PES_MOST);
	mainProxy = Main_thisProxy(self);
	CkPrintf("overtake: seed %llu\n", (unsigned long long)seed);
	sinks = Sink_ckNew(CkDims1(N), seed);
	sources = Source_ckNew(seed, check_argument(m, 2, CALLS));
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_quiet(Main *self)
{
	(void)self;
	Source_count_all(sources);
}

void Main_on_counted(Main *self, long sent)
{
	self->sent = sent;
	Sink_count_all(sinks);
}

void Main_on_came(Main *self, long got)
{
	CHECK_EQ(got, self->sent);
	CkPrintf("overtake: %ld calls\n", got);
	CkExit(0);
}

/* ---- who calls -------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *random, uint64_t n) { return (*random = check_mix(*random)) % n; }

void Source_on_new(Source *self, uint64_t seed, int calls)
{
	self->random = check_mix(seed + 100 + (uint64_t)CkMyPe());
	self->left = calls;
	Source_tick(Source_at(Source_thisProxy(self), CkMyPe()));
}

static void work(Source *self)
{
	uint64_t x = self->random;

	for (uint64_t n = draw(&self->random, WORK); n > 0; n--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	self->worked += (long)(x >> 63);
}

void Source_on_tick(Source *self)
{
	for (int i = 0; i < N; i++)
		if (self->left > 0 && self->under_way[i] < WINDOW && draw(&self->random, 4) == 0) {
			self->left--;
			self->under_way[i]++;
			Sink_take(Sink_at(sinks, i), CkMyPe(), self->no[i]++);
		}
	work(self);
	if (self->left > 0)
		Source_tick(Source_at(Source_thisProxy(self), CkMyPe()));
}

void Source_on_came(Source *self, int sink) { self->under_way[sink]--; }

void Source_on_count(Source *self)
{
	long sent = 0;

	for (int i = 0; i < N; i++) {
		CHECK_EQ(self->under_way[i], 0);
		sent += self->no[i];
	}
	CkContribute(self, &sent, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- who moves ----------------------------------------------------------------------------------------------- */

void Sink_on_new(Sink *self, uint64_t seed)
{
	self->random = check_mix(seed + (uint64_t)Sink_thisIndex(self));
	self->home = CkMyPe();
	self->stays = STAYS;
}

void Sink_on_take(Sink *self, int from, long no)
{
	CHECK(from >= 0 && from < CkNumPes());
	CHECK_EQ(no, self->no[from]);
	self->no[from]++;
	Source_came(Source_at(sources, from), Sink_thisIndex(self));
	if (--self->stays > 0)
		return;
	self->stays = 1 + (int)draw(&self->random, 2 * STAYS);
	self->moves++;
	CkMigrateMe(self, draw(&self->random, 2) ? self->home : (int)draw(&self->random, (uint64_t)CkNumPes()));
}

void Sink_on_count(Sink *self)
{
	long got = 0;

	for (int i = 0; i < CkNumPes(); i++)
		got += self->no[i];
	CkContribute(self, &got, 1, CkReduction_sum_long, Main_cb_came(mainProxy));
}

#include "overtake.def.h"
