/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood: one PE sends more than CK_MESSAGE_MEMORY allows to a slow one. A thread waits for room, so all arrives
 * and the processes stay small; a handler cannot wait, so the job ends with a line (flood.cases).
 *
 *	flood WHO KIND N MIB [SLOW_US]
 *
 * WHO   thread or handler, or threads: several, that send N together
 * KIND  small, bytes, block, item ([aggregate]), flush (the same with CkFlush behind each), all (broadcasts),
 *       callback, converse; self: small ones to the PE that sends; sizes: phases of ever larger ones;
 *       turns: large ones, of each PE to the next, one PE after the other; kept: as bytes, while the program
 *       itself keeps all memory for a time, so nothing is under way
 * N     calls
 * MIB   of memory that no process may exceed; 0: any
 */
#include "check.h"

#include <stdio.h>
#include <sys/resource.h>

#include "csd.h"
#include "flood.decl.h"

enum { THREADS = 20, BYTES = 3000, SIZES = 8 }; /* twice BYTES has a slab of its own */

struct Main {
	const char *kind;
	int n, n_threads, mib;
	long sum;                    /* of the calls' numbers */
	int sent;
	long kib;                    /* of the largest process */
};
struct Sink { long n, sum; };

/* ---- the receiver ------------------------------------------------------------------------- */

/* Slower than any sender, on the last PE only. */
static void handled(Sink *self, int k)
{
	double until = CkWallTimer() + slow_us * 1e-6;

	self->n++;
	self->sum += k;
	while (slow_us && CkMyPe() == CkNumPes() - 1 && CkWallTimer() < until)
		;
}

void Sink_on_new(Sink *self) { (void)self; }
void Sink_on_small(Sink *self, int k) { handled(self, k); }
void Sink_on_called(Sink *self, int k) { handled(self, k); }
void Sink_on_item(Sink *self, int k) { handled(self, k); }

void Sink_on_bytes(Sink *self, int k, int n, const char *v)
{
	CHECK(n == 0 || (v[0] == (char)k && v[n - 1] == (char)k));
	handled(self, k);
}

void Sink_on_block(Sink *self, Block *b)
{
	handled(self, b->k);
}

void Sink_on_count(Sink *self)
{
	struct rusage use;

	CHECK(!getrusage(RUSAGE_SELF, &use));
	Main_size(mainProxy, use.ru_maxrss);
	long v[2] = { self->n, self->sum };

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_total(mainProxy));
}

struct drop {
	struct cmi_msg head;
	int k;
};
static int h_drop;

static void drop_arrived(struct pe *pe, struct cmi_msg *m)
{
	(void)pe;
	handled(Sink_ckLocalBranch(sinks), ((struct drop *)m)->k);
	CmiFree(m);
}

void register_handler(void)
{
	h_drop = CmiRegisterHandler("flood.drop", drop_arrived);
}

/* ---- the sender --------------------------------------------------------------------------- */

static void send_bytes(CProxyElement_Sink to, int k, int n)
{
	char v[64 * 1024];

	memset(v, k, (size_t)n);
	Sink_bytes(to, k, n, v);
}

/* What one PE has freed the next one needs. */
void Sink_on_turn(Sink *self, int n)
{
	int next = (CkMyPe() + 1) % CkNumPes();

	(void)self;
	for (int i = 0; i < n; i++)
		send_bytes(Sink_at(sinks, next), 0, 2 * BYTES);
	if (next)
		Sink_turn(Sink_at(sinks, next), n);
}

/* Nearly all that threads may have of 4 MiB, in messages that are not sent; a timer frees them. */
enum { KEPT = 60, KEPT_BYTES = 48 * 1024, KEPT_MS = 200 };
static void *kept[KEPT];

static void free_kept(void *unused)
{
	(void)unused;
	for (int i = 0; i < KEPT; i++)
		CmiFree(kept[i]);
}

static void keep_all(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = CmiAlloc(KEPT_BYTES);
	CcdCallFnAfter(free_kept, NULL, KEPT_MS);
}

static void send_block(CProxyElement_Sink to, int k)
{
	Block *b = Block_alloc(BYTES);

	b->k = k;
	Sink_block(to, b);
}

static void send_drop(int pe, int k)
{
	struct drop *d = CmiAlloc(sizeof *d);

	d->k = k;
	CmiSetHandler(d, h_drop);
	CmiSyncSendAndFree(pe, sizeof *d, d);
}

/* Phase by phase another size class. */
static int size_of(const Main *self, int k)
{
	return 40 << (k * (long)SIZES / self->n);
}

static void send_one(Main *self, int k)
{
	CProxyElement_Sink to = Sink_at(sinks, CkNumPes() - 1);

	if (!strcmp(self->kind, "small"))
		Sink_small(to, k);
	else if (!strcmp(self->kind, "self"))
		Sink_small(Sink_at(sinks, CkMyPe()), k);
	else if (!strcmp(self->kind, "bytes") || !strcmp(self->kind, "kept"))
		send_bytes(to, k, BYTES);
	else if (!strcmp(self->kind, "sizes"))
		send_bytes(to, k, size_of(self, k));
	else if (!strcmp(self->kind, "block"))
		send_block(to, k);
	else if (!strcmp(self->kind, "all"))
		Sink_small_all(sinks, k);
	else if (!strcmp(self->kind, "callback"))
		CkCallbackSendTyped(Sink_cb_called(to), CK_INT, &k, 1);
	else if (!strcmp(self->kind, "converse"))
		send_drop(CkNumPes() - 1, k);
	else
		Sink_item(to, k);
	if (!strcmp(self->kind, "flush"))
		CkFlush();
}

static void send_part(Main *self)
{
	int n = self->n / self->n_threads;

	for (int i = 0; i < n; i++) {
		int k = self->sent++;

		self->sum += k;
		send_one(self, k);
	}
}

void Main_on_handler(Main *self) { send_part(self); }
void Main_on_thread(Main *self) { send_part(self); }

/* ---- the answer --------------------------------------------------------------------------- */

void Main_on_quiet(Main *self)
{
	CHECK_EQ(self->sent, turns ? 0 : self->n);
	Sink_count_all(sinks);
}

/* Comes from each PE before its part of the total. */
void Main_on_size(Main *self, long kib)
{
	self->kib = kib > self->kib ? kib : self->kib;
}

void Main_on_total(Main *self, int n, const long *v)
{
	int times = !strcmp(self->kind, "all") || turns ? CkNumPes() : 1;

	CHECK_EQ(n, 2);
	CHECK_EQ(v[0], (long)self->n * times);
	CHECK_EQ(v[1], self->sum * times);
	CkPrintf("flood: %d calls; the largest process had %ld MiB\n", self->n, self->kib >> 10);
	CHECK(!self->mib || self->kib >> 10 <= self->mib);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *who = m->argc > 1 ? m->argv[1] : "thread";

	self->kind = m->argc > 2 ? m->argv[2] : "small";
	self->n = m->argc > 3 ? atoi(m->argv[3]) : 20000;
	self->mib = m->argc > 4 ? atoi(m->argv[4]) : 0;
	slow_us = m->argc > 5 ? atoi(m->argv[5]) : 0;
	turns = !strcmp(self->kind, "turns");
	self->n_threads = !strcmp(who, "threads") ? THREADS : 1;
	CHECK_EQ(self->n % self->n_threads, 0);
	mainProxy = Main_thisProxy(self);
	sinks = Sink_ckNew();
	if (!strcmp(self->kind, "kept"))
		keep_all();
	for (int i = 0; i < self->n_threads; i++)
		if (turns)
			Sink_turn(Sink_at(sinks, 0), self->n);
		else if (!strcmp(who, "handler"))
			Main_handler(mainProxy);
		else
			Main_thread(mainProxy);
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "flood.def.h"
