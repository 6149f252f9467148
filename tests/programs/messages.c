/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages: messages with arrays in them. Each phase ends in a barrier of all walkers:
 *	0 a message goes round; each handler forwards it, and it comes back changed
 *	1 a message without arrays; one that its handler frees itself
 *	2 each walker broadcasts one; every receiver owns its copy and writes into it
 *	3 a copy is kept, changed, and broadcast again
 *	4 parameters are kept, and freed here or on another PE of the node
 */
#include "check.h"

#include "messages.decl.h"

enum { NA = 200, NI = 7, PHASES = 5, LAPS = 3 };
static const char text[] = "sent in a message";

struct Main { int phase; bool back; };
struct Walker {
	int n_in;
	const double *kept;
	const char *kept_text;
	void *kept_msg;
};
struct Freer { int n; };

/* ---- one message --------------------------------------------------------------------- */

static Block *make(int row)
{
	Block *b = Block_alloc(NA, sizeof text, NI);

	CHECK((uintptr_t)b->a % 64 == 0 && (uintptr_t)b->idx % sizeof(int) == 0);
	b->row = row;
	b->fixed[1][1] = row;
	for (int i = 0; i < NA; i++)
		b->a[i] = row + i;
	memcpy(b->text, text, sizeof text);
	for (int i = 0; i < NI; i++)
		b->idx[i] = row * i;
	return b;
}

/* `added`: what each handler on its way has added to the values. */
static void check(const Block *b, int row, int added)
{
	CHECK_EQ(b->row, row);
	CHECK(b->fixed[1][1] == row);
	for (int i = 0; i < NA; i++)
		CHECK(b->a[i] == row + i + added);
	CHECK(strcmp(b->text, text) == 0);
	for (int i = 0; i < NI; i++)
		CHECK_EQ(b->idx[i], row * i);
}

static void add_one(Block *b)
{
	for (int i = 0; i < NA; i++)
		b->a[i]++;
}

static void got(Walker *self, int expected)
{
	if (++self->n_in < expected)
		return;
	self->n_in = 0;
	CkContributeBarrier(self, Main_cb_phase(mainProxy));
}

static int next(const Walker *self) { return (Walker_thisIndex(self) + 1) % CkNumPes(); }

/* ---- phase 0: round ------------------------------------------------------------------ */

void Walker_on_take(Walker *self, Block *b)
{
	int me = Walker_thisIndex(self), laps = b->row;

	check(b, laps, me);
	add_one(b);
	got(self, 1);
	if (me + 1 < CkNumPes())
		Walker_take(Walker_at(walkers, me + 1), b);
	else
		Main_back(mainProxy, b);
}

void Main_on_back(Main *self, Block *b)
{
	check(b, 42, CkNumPes());
	self->back = true;
}

/* ---- phase 1: without arrays ----------------------------------------------------------- */

void Walker_on_walk(Walker *self, Plain *p)
{
	p->sum += p->hops;
	if (p->hops == LAPS * CkNumPes()) {
		CHECK_EQ(p->sum, (long)p->hops * (p->hops + 1) / 2);
		CkFreeMsg(p);
		got(self, 1);
		return;
	}
	p->hops++;
	Walker_walk(Walker_at(walkers, next(self)), p);
}

/* ---- phases 2 and 3: broadcasts -------------------------------------------------------- */

void Walker_on_all(Walker *self, Block *b)
{
	int from = b->row;

	check(b, from, 0);
	add_one(b); /* would be seen by others if they shared it */
	got(self, CkNumPes());
}

/* The element that the message names sends its copy, kept and changed, to all once more. */
void Walker_on_again(Walker *self, Block *b)
{
	int me = Walker_thisIndex(self);

	if (b->a[0] == b->row) {
		check(b, b->row, 0);
		add_one(b);
		if (b->row == me) {
			Block *mine = CkKeepMsg();

			CHECK(mine == b);
			Walker_again_all(walkers, mine);
		}
	} else {
		check(b, b->row, 1);
	}
	got(self, 2 * CkNumPes());
}

/* ---- phase 4: kept parameters ----------------------------------------------------------- */

void Walker_on_keep(Walker *self, int n, const double *v, const char *s)
{
	CHECK_EQ(n, NA);
	self->kept = v;
	self->kept_text = s;
	self->kept_msg = CkKeepMsg();
	/* Others of our size, so that a block freed too early would be written over. */
	Walker_release(Walker_thisElement(self));
}

void Walker_on_release(Walker *self)
{
	int me = Walker_thisIndex(self), other = CkNodeFirst(CkMyNode()) +
		(CkMyRank() + 1) % CkMyNodeSize();

	if (self->n_in++ < 20) {
		Walker_release(Walker_thisElement(self));
		CkFreeMsg(make(self->n_in));
		return;
	}
	self->n_in = 0;
	CHECK(self->kept[NA - 1] == NA - 1 && strcmp(self->kept_text, text) == 0);
	if (me % 2)
		CkFreeMsg(self->kept_msg);
	else
		Freer_release(Freer_at(freers, other), (uintptr_t)self->kept_msg, NA);
	CkFreeMsg(NULL);
	CkContributeBarrier(self, Main_cb_phase(mainProxy));
}

void Freer_on_new(Freer *self) { self->n = 0; }

void Freer_on_release(Freer *self, uint64_t address, int n)
{
	self->n += n;
	CkFreeMsg((void *)(uintptr_t)address);
}

/* ---- main --------------------------------------------------------------------------------- */

void Walker_on_new(Walker *self) { (void)self; }

void Walker_on_start(Walker *self, int phase)
{
	int me = Walker_thisIndex(self);

	if (phase == 1) {
		Plain *p = Plain_alloc();

		p->hops = 0;
		p->sum = 0;
		Walker_walk(Walker_at(walkers, me), p);
	} else if (phase == 2) {
		Walker_all_all(walkers, make(me));
	} else {
		Walker_again_all(walkers, make(me));
	}
}

static void start(Main *self)
{
	double v[NA];

	for (int i = 0; i < NA; i++)
		v[i] = i;
	if (self->phase == 0)
		Walker_take(Walker_at(walkers, 0), make(42));
	else if (self->phase < 4)
		Walker_start_all(walkers, self->phase);
	else
		Walker_keep_all(walkers, NA, v, text);
}

void Main_on_phase(Main *self)
{
	if (++self->phase < PHASES) {
		start(self);
		return;
	}
	CHECK(self->back);
	CkPrintf("messages: %d phases on %d PEs\n", PHASES, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	walkers = Walker_ckNew(CkDims(CkNumPes()));
	freers = Freer_ckNew();
	start(self);
}

#include "messages.def.h"
