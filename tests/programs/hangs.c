/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hangs: `hangs WHAT` waits for ever in one way. The watchdog must end it and name who waits for what; hangs.cases
 * has the lines. What it hangs on is always the last element's doing, or another one's with it.
 */
#include "check.h"

#include <stdio.h>

#include "ckdirect.h"
#include "csd.h"
#include "cth.h"
#include "hangs.decl.h"

enum { PER_PE = 4, CALLS = 40, WORDS = 16, CREATION = 77 };
static const uint64_t OOB = 0x7ff8123412341234u;

struct Main { char unused; };
struct Cell {
	int step, seen;
	bool busy;
	char name[2];
	CkDirectHandle h;
	double in[WORDS], out[WORDS];
	CkFuture kept;
	CkCallback to;
};
struct Item { char unused; };
struct Late { char unused; };
struct Dealt { char unused; };
struct Shared { char unused; };

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }
static int last(void) { return PER_PE * CkNumPes() - 1; }

/* The last element of the job is the one that all wait for. */
static bool am_last(const Cell *self) { return Cell_thisIndex(self) == last(); }

/* ---- one element waits, in a handler of its own or after a call ------------------------------------ */

/* Two of four. */
static void call_sides(void)
{
	for (int from = 0; from < 2; from++)
		Cell_side(Cell_at(cells, last()), 7, from);
}

void Cell_on_side(Cell *self, int number, int n, const Cell_side_call *calls)
{
	CkAbort("%d calls of round %d at %p: %p", n, number, (void *)self, (const void *)calls);
}

static void call_when(void)
{
	for (int i = 0; i < CALLS; i++)
		Cell_go(Cell_at(cells, last()), 5);
	Cell_go(Cell_at(cells, last()), 0);
}

void Cell_on_go(Cell *self, int step) { CHECK_EQ(step, self->step); }

static void put_came(void *data) { ((Cell *)data)->seen++; }

/* The channel's receiver is element 0, its sender the last one. */
static void make_channel(Cell *self, bool armed, bool spins)
{
	CkDirectHandle h = CkDirect_createHandle(self->in, sizeof self->in, OOB, put_came, self);

	self->h = h;
	self->busy = !armed;
	self->name[0] = spins;
	Cell_bind(Cell_at(cells, last()), h);
}

void Cell_on_bind(Cell *self, CkDirectHandle h)
{
	self->h = h;
	CkDirect_assocLocalBuffer(&self->h, self->out, sizeof self->out);
	CkDirect_put(&self->h);
	Cell_bound(Cell_at(cells, 0));
}

/* The first put came. Then the channel is armed and nobody puts, or it is marked only and somebody does. */
void Cell_on_bound(Cell *self)
{
	if (self->seen == 0) {
		Cell_bound(Cell_at(cells, 0));
		return;
	}
	if (self->seen++ > 1)
		return;
	if (!self->busy) {
		CkDirect_ready(&self->h);
		if (self->name[0])
			Cell_act(Cell_at(cells, last()), "spin");
		return;
	}
	CkDirect_readyMark(&self->h);
	Cell_act(Cell_at(cells, last()), "put");
	Cell_act(Cell_at(cells, 0), "wait-quiet");
}

static void act_completion(void)
{
	CkCompletion c = CkCompletionCreate();

	CkCompletionStart(c, 2, CkCallbackIgnore(), CkCallbackIgnore(), Main_cb_never(mainProxy), 0);
	Cell_detect(Cell_at(cells, last()), c);
}

void Cell_on_detect(Cell *self, CkCompletion c)
{
	(void)self;
	CkCompletionProduce(c, 3);
	CkCompletionConsume(c, 2);
	CkCompletionDone(c);
}

/* A proxy that came from memory which nobody has filled. */
static void act_creation(void)
{
	CProxy_Late late = { { (uint64_t)CREATION } };

	Late_f(Late_at(late, 1), 1);
}

static __attribute__((noinline)) void spin_for_ever(void)
{
	for (volatile bool for_ever = true; for_ever;)
		;
}

/* ---- messages for a PE that does not come to handle them wait for its budget, and threads for memory ---- */

enum { FILLS = 40, FILL_BYTES = 5000, LARGE_BYTES = 200000, LARGE_MOST = 1000 };

/* The last element's PE spins, after it has said so. */
void Cell_on_spin(Cell *self)
{
	(void)self;
	Cell_spins(Cell_at(cells, 0));
	spin_for_ever();
}

static void send_fills(void)
{
	static const char fill[FILL_BYTES];

	for (int i = 0; i < FILLS; i++)
		Cell_fill(Cell_at(cells, last()), sizeof fill, fill);
}

/* Element 0; the test that looks on waits for the line. */
void Cell_on_allHere(Cell *self)
{
	fprintf(stderr, "hangs: all PEs are at work\n");
	if (self->name[0] == 'f') {
		/* Two bursts, so that one waits for its budget whenever the other side is stopped. */
		send_fills();
		send_fills();
	} else {
		Cell_spin(Cell_at(cells, last()));
	}
}

void Cell_on_spins(Cell *self)
{
	if (self->name[0] == 'r')
		Cell_sendLarge(Cell_thisElement(self));
	else
		send_fills();
}

void Cell_on_sendLarge(Cell *self)
{
	static const char large[LARGE_BYTES];

	(void)self;
	for (int i = 0; i < LARGE_MOST; i++)
		Cell_fill(Cell_at(cells, last()), sizeof large, large);
}

void Cell_on_fill(Cell *self, int bytes, const char *fill)
{
	(void)self, (void)bytes, (void)fill;
	Cell_filled(Cell_at(cells, 0));
}

/* So a job that nobody stops goes on for ever. */
void Cell_on_filled(Cell *self)
{
	if (++self->seen % FILLS == 0)
		send_fills();
}

/* Only one element acts in these. */
static void act_alone(Cell *self, const char *what)
{
	if (is(what, "when"))
		call_when();
	else if (is(what, "counted"))
		call_sides();
	else if (is(what, "armed") || is(what, "marked") || is(what, "armed-spin"))
		make_channel(self, !is(what, "marked"), is(what, "armed-spin"));
	else if (is(what, "insert"))
		Item_f(Item_at(items, 7), 1);
	else if (is(what, "completion"))
		act_completion();
	else if (is(what, "creation"))
		act_creation();
	else if (is(what, "exclusive"))
		Shared_hold(Shared_at(shared, CkNumNodes() - 1), 1);
	else if (is(what, "steps"))
		Cell_steps(Cell_at(cells, last()));
	else if (is(what, "quiet"))
		CkStartQD(CkCallbackIgnore());
	else if (is(what, "future-cycle") || is(what, "future-held") || is(what, "future-reduction"))
		Cell_actThreaded(Cell_at(cells, 0), what);
	else if (is(what, "future-far"))
		Cell_actThreaded(Cell_at(cells, PER_PE * (CkNumPes() - 1)), what);
	else if (is(what, "future") || is(what, "suspend") || is(what, "cycle"))
		Cell_actThreaded(Cell_at(cells, is(what, "cycle") ? 0 : last()), what);
	else
		CkAbort("hangs: what is %s?", what);
}

static void act_section(void)
{
	CkIndex list[2] = { Cell_index(0), Cell_index(last()) };
	CProxySection_Cell s = Cell_ckSection(cells, list, 2);

	Cell_section_section(s, s.ck);
}

void Cell_on_section(Cell *self, CkSection s)
{
	int one = 1;

	if (!am_last(self))
		CkContributeSection(self, s, &one, 1, CkReduction_sum_int, Main_cb_sum(mainProxy));
}

/* ---- all elements but the last come to something ---------------------------------------------------- */

void Cell_on_act(Cell *self, const char *what)
{
	int one = 1;

	if (is(what, "put")) {
		CkDirect_put(&self->h);
	} else if (is(what, "wait-quiet")) {
		/* The put that nobody polls keeps quiescence away. */
		if (Cell_thisIndex(self) == 0)
			CkStartQD(Main_cb_never(mainProxy));
	} else if (is(what, "spin")) {
		if (am_last(self)) {
			fprintf(stderr, "hangs: a PE spins\n");
			spin_for_ever();
		}
	} else if (is(what, "circle")) {
		if (am_last(self))
			Cell_circle(Cell_thisElement(self));
	} else if (is(what, "batches")) {
		for (int i = 0; i < 2000 && am_last(self); i++)
			Cell_batched(Cell_thisElement(self));
	} else if (is(what, "reduction")) {
		if (!am_last(self))
			CkContribute(self, &one, 1, CkReduction_sum_int, Main_cb_sum(mainProxy));
	} else if (is(what, "all")) {
		if (!am_last(self))
			CkContribute(self, &one, 1, CkReduction_sum_int, Cell_cb_total_all(cells));
	} else if (is(what, "scan") || is(what, "scan-first")) {
		if (Cell_thisIndex(self) != (is(what, "scan") ? last() : 0))
			CkScan(self, &one, 1, CkReduction_sum_int, CK_SCAN_INCLUSIVE, CkCallbackIgnore());
	} else if (is(what, "scan-map") || is(what, "scan-away")) {
		if (Cell_thisIndex(self) == 0)
			Dealt_scan_all(dealt, is(what, "scan-away"));
	} else if (is(what, "budget") || is(what, "room") || is(what, "flood")) {
		self->name[0] = what[0];
		CkContribute(self, NULL, 0, CkReduction_nop, Cell_cb_allHere(Cell_at(cells, 0)));
	} else if (is(what, "fence")) {
		if (!am_last(self))
			CkFence(self, Main_cb_never(mainProxy));
	} else if (is(what, "fence-wait")) {
		if (!am_last(self))
			Cell_actThreaded(Cell_thisElement(self), what);
	} else if (is(what, "section")) {
		if (Cell_thisIndex(self) == 0)
			act_section();
	} else if (Cell_thisIndex(self) == 0 && !is(what, "nothing")) {
		act_alone(self, what);
	}
}

/* ---- threads -------------------------------------------------------------------------------------------- */

/* Only one element: the first one, or in future-far the first of the last PE. */
static void act_future(Cell *self, const char *what)
{
	CkFuture f = CkCreateFuture();

	self->busy = true;
	if (is(what, "future-cycle"))
		Cell_serve(Cell_at(cells, last()), f);
	else if (is(what, "future-held"))
		Cell_keep(Cell_at(cells, last()), f);
	else
		Cell_add_all(cells, CkCallbackFuture(f), is(what, "future-far"));
	CkWaitFuture(f);
}

/* The asker is busy until it has the value. */
void Cell_on_serve(Cell *self, CkFuture f)
{
	CkFuture back = CkCreateFuture();

	(void)self;
	Cell_serveBack(Cell_at(cells, 0), back);
	CkWaitFuture(back);
	CkSendToFutureTyped(f, CK_NOTYPE, NULL, 0);
}

void Cell_on_serveBack(Cell *self, CkFuture f)
{
	(void)self;
	CkSendToFutureTyped(f, CK_NOTYPE, NULL, 0);
}

/* One keeps the name, the other a callback made of it. */
void Cell_on_keep(Cell *self, CkFuture f)
{
	self->kept = f;
	Cell_give(Cell_at(cells, last() - 1), CkCallbackFuture(f));
}

void Cell_on_give(Cell *self, CkCallback cb)
{
	self->to = cb;
}

/* The element that waits stays away, or its whole PE. */
void Cell_on_add(Cell *self, CkCallback cb, bool far)
{
	int one = 1;

	if (far ? CkMyPe() != CkNumPes() - 1 : Cell_thisIndex(self) != 0)
		CkContribute(self, &one, 1, CkReduction_sum_int, cb);
}

/* A handler that calls itself for ever. */
void Cell_on_circle(Cell *self)
{
	if (self->seen++ == 0)
		fprintf(stderr, "hangs: a PE spins\n");
	Cell_circle(Cell_thisElement(self));
}

/* 2000 of them, several batches at a time. */
void Cell_on_batched(Cell *self)
{
	if (self->seen++ == 0)
		fprintf(stderr, "hangs: a PE spins\n");
	Cell_batched(Cell_thisElement(self));
}

void Cell_on_actThreaded(Cell *self, const char *what)
{
	if (is(what, "future"))
		CkWaitFuture(CkCreateFuture());
	else if (!strncmp(what, "future-", 7))
		act_future(self, what);
	else if (is(what, "fence-wait"))
		CkFenceWait(self);
	else if (is(what, "suspend"))
		CthSuspend();
	else if (is(what, "cycle")) {
		self->busy = true;
		Cell_ask_sync(Cell_at(cells, last()), Cell_thisIndex(self));
		self->busy = false;
	}
}

/* The asker is busy until it has the answer, and the answer needs it not to be. */
int Cell_on_ask(Cell *self, int from)
{
	return Cell_late_sync(Cell_at(cells, from), Cell_thisIndex(self));
}

int Cell_on_late(Cell *self, int from) { return self->step + from; }

/* ---- what nobody comes to ------------------------------------------------------------------------------- */

void Main_on_sum(Main *self, int n) { (void)self, (void)n; CkExit(99); }
void Main_on_never(Main *self) { (void)self; CkExit(99); }
void Cell_on_total(Cell *self, int n) { (void)self, (void)n; CkExit(99); }
void Item_on_f(Item *self, int n) { (void)self, (void)n; CkExit(99); }
void Shared_on_hold(Shared *self, int n) { (void)self, (void)n; CkExit(99); }
void Late_on_f(Late *self, int n) { (void)self, (void)n; CkExit(99); }

/* An array with a map of its own, so that PE 0 puts its scans together. One element stays away, or all of a PE. */
void Dealt_on_scan(Dealt *self, bool pe_away)
{
	int one = 1;

	if (pe_away ? CkMyPe() != CkNumPes() - 1 : Dealt_thisIndex(self) != last())
		CkScan(self, &one, 1, CkReduction_sum_int, CK_SCAN_EXCLUSIVE, CkCallbackIgnore());
}

static int deal(CkIndex i, CkArrayDims dims, int n_pes)
{
	(void)dims;
	return i.v[0] % n_pes;
}

void register_maps(void) { CkRegisterMap("deal", deal); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	const CkArrayOptions dealing = { .dims = CkDims(PER_PE * CkNumPes()), .map = "deal" };


	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(PER_PE * CkNumPes()));
	items = Item_ckNewEmpty();
	shared = Shared_ckNew();
	dealt = Dealt_ckNew_opt(&dealing);
	CHECK(m->argc > 1);
	Cell_act_all(cells, m->argv[1]);
}

void Cell_on_new(Cell *self) { self->h = (CkDirectHandle){ { 0 } }; }
void Item_on_new(Item *self) { (void)self; }
void Late_on_new(Late *self) { (void)self; }
void Dealt_on_new(Dealt *self) { (void)self; }
void Shared_on_new(Shared *self) { (void)self; }

#include "hangs.def.h"
