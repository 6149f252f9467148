/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misuse_channels: `misuse_channels WHAT` makes one mistake with a channel from PE 0 to the last PE.
 * misuse_channels.cases has what must come of it, by path and mode: the table of docs/CHANNELS.md.
 *
 * The two take some rounds as they should. After the last of them the receiver does the first thing of
 * the mistake, `settle`, in place of its ready. Then come `steps`, in turn on PE 0 and on the last
 * PE, each caused by the one before. If nobody notices, the exit code is
 *
 *	97   the put arrived, as if nothing had been wrong
 *	98   it did not, and the program would wait for ever
 */
#include "check.h"

#include "csd.h"
#include "misuse_channels.decl.h"

enum { WORDS = 8, BYTES = 8 * WORDS, STEPS = 5, PATIENCE_MS = 3000 };
#define OOB 0x7ff81234abcd0001u

struct Main { int unused; };

struct mistake {
	const char *name;
	int rounds;
	bool from_malloc;
	bool race;                             /* see begin_race */
	void (*bind)(Member *self);            /* PE 0; NULL: as it should be */
	void (*settle)(Member *self);          /* the last PE, in its arrival function */
	void (*steps[STEPS])(Member *self);    /* on PE 0 and the last PE in turn */
};

struct Member {
	const struct mistake *mistake;
	CkDirectHandle from, to, copy;
	uint64_t *buf, src[WORDS], other[WORDS];
	int arrivals, expected;
};

static int receiver(void) { return CkNumPes() - 1; }

/* ---- what a mistake is made of --------------------------------------------------------------- */

static void nothing(Member *self) { (void)self; }
static void put(Member *self) { CkDirect_put(&self->to); }
static void ready(Member *self) { CkDirect_ready(&self->from); }
static void mark(Member *self) { CkDirect_readyMark(&self->from); }
static void poll(Member *self) { CkDirect_readyPollQ(&self->from); }
static void destroy(Member *self) { CkDirect_destroyHandle(&self->from); }
static void put_as_receiver(Member *self) { CkDirect_put(&self->from); }
static void ready_as_sender(Member *self) { CkDirect_ready(&self->to); }
static void completed(void *unused) { (void)unused; }
static void put_data(Member *self) { CkDirect_putData(&self->to, completed, NULL, 0); }
static void destroy_sender(Member *self) { CkDirect_destroyHandle(&self->to); }
static void bind(Member *self) { CkDirect_assocLocalBuffer(&self->to, self->src, BYTES); }

static void ready_twice(Member *self)
{
	ready(self);
	ready(self);
}

static void ready_and_spoil(Member *self)
{
	ready(self);
	self->buf[2]++;
}

static void ready_and_free(Member *self)
{
	ready(self);
	if (self->mistake->from_malloc)
		free(self->buf);
	else
		CkDirect_free(self->buf);
}

static void put_and_spoil(Member *self)
{
	put(self);
	self->src[2]++;
}

static void put_data_twice(Member *self)
{
	put_data(self);
	put_data(self);
}

static void put_data_and_destroy(Member *self)
{
	put_data(self);
	destroy_sender(self);
}

static void put_out_of_band(Member *self)
{
	self->src[WORDS - 1] = OOB;
	put(self);
}

static void put_dead(Member *self)
{
	destroy_sender(self);
	put(self);
}

static void put_old_copy(Member *self)
{
	memcpy(self->other, self->src, BYTES);
	CkDirect_rebind(&self->to, self->other, BYTES);
	CkDirect_put(&self->copy);
}

/* The size, which is in the fifth word. */
static void put_altered(Member *self)
{
	CHECK_EQ(self->to.private_[4], BYTES);
	self->to.private_[4] -= 8;
	put(self);
}

static void bind_altered(Member *self)
{
	self->to.private_[20]++;
	bind(self);
}

static void bind_short(Member *self) { CkDirect_assocLocalBuffer(&self->to, self->src, BYTES - 8); }
static void bind_unaligned(Member *self) { CkDirect_assocLocalBuffer(&self->to, (char *)self->src + 4, BYTES); }

static void bind_twice(Member *self)
{
	CkDirectHandle second = self->to;

	bind(self);
	CkDirect_assocLocalBuffer(&second, self->other, BYTES);
}

static const struct mistake mistakes[] = {
	{ .name = "none", .rounds = 2, .settle = ready, .steps = { put } },
	{ .name = "put-before-ready", .rounds = 2, .settle = nothing, .steps = { put, ready } },
	{ .name = "put-before-first-ready", .rounds = 1, .settle = nothing, .steps = { put, nothing } },
	{ .name = "put-twice", .rounds = 2, .settle = mark, .steps = { put, nothing, put, poll, nothing } },
	{ .name = "put-into-destroyed", .rounds = 2, .settle = destroy, .steps = { put } },
	{ .name = "handle-altered", .rounds = 2, .settle = ready, .steps = { put_altered } },
	{ .name = "handle-altered-before", .rounds = 1, .bind = bind_altered },
	{ .name = "handle-on-its-way", .race = true },
	{ .name = "handle-dead", .rounds = 2, .settle = ready, .steps = { put_dead } },
	{ .name = "handle-old-copy", .rounds = 2, .settle = ready, .steps = { put_old_copy } },
	{ .name = "unbound", .rounds = 2, .settle = put_as_receiver },
	{ .name = "bound-twice", .rounds = 2, .bind = bind_twice, .settle = ready },
	{ .name = "send-buffer-short", .rounds = 1, .bind = bind_short },
	{ .name = "send-buffer-unaligned", .rounds = 1, .bind = bind_unaligned },
	{ .name = "send-buffer-changed", .rounds = 2, .settle = ready, .steps = { put_and_spoil } },
	{ .name = "receive-buffer-changed", .rounds = 2, .settle = ready_and_spoil, .steps = { put } },
	{ .name = "receive-buffer-freed", .rounds = 2, .settle = ready_and_free, .steps = { put } },
	{ .name = "receive-buffer-freed-malloc", .rounds = 2, .from_malloc = true, .settle = ready_and_free,
	  .steps = { put } },
	{ .name = "out-of-band", .rounds = 2, .settle = ready, .steps = { put_out_of_band } },
	{ .name = "ready-twice", .rounds = 2, .settle = ready_twice, .steps = { put } },
	{ .name = "poll-unmarked", .rounds = 2, .settle = poll },
	{ .name = "wrong-pe", .rounds = 2, .settle = ready, .steps = { ready_as_sender } },
	{ .name = "put-incomplete", .rounds = 2, .settle = ready, .steps = { put_data_twice } },
	{ .name = "destroy-incomplete", .rounds = 2, .settle = ready, .steps = { put_data_and_destroy } },
};

static const struct mistake *mistake_of(const char *name)
{
	for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
		if (strcmp(mistakes[i].name, name) == 0)
			return &mistakes[i];
	CkAbort("no mistake is called %s", name);
}

/* ---- the two ends ------------------------------------------------------------------------------ */

void Member_on_new(Member *self)
{
	for (int i = 0; i < WORDS; i++)
		self->src[i] = 1;
}

/* A mistake with two puts is not noticed when both have arrived. */
static void arrived(void *arg)
{
	Member *self = arg;

	if (++self->arrivals > self->expected) {
		CkExit(97);
	} else if (self->arrivals == self->mistake->rounds) {
		self->mistake->settle(self);
		Member_step(Member_at(members, 0), 0);
	} else if (self->arrivals < self->mistake->rounds) {
		ready(self);
		Member_again(Member_at(members, 0));
	} else {
		ready(self);
	}
}

static int puts_of(const struct mistake *m)
{
	int n = 0;

	for (int i = 0; i < STEPS; i++)
		n += m->steps[i] == put;
	return n;
}

/* ---- the race at the start of the historic stencil ------------------------------------------- */

/* An element computed as soon as it had its neighbours' data, and then put to its neighbours, although
 * it did not have all of their handles yet. Here the handle for PE 0 is a long time on its way; the
 * other PE has all that it needs, and puts. */
static void race_arrived(void *arg)
{
	put(arg);
}

static void send_handle(void *arg)
{
	Member *self = arg;

	Member_take(Member_at(members, 0), self->from);
}

static void begin_race(Member *self)
{
	self->buf = CkDirect_alloc(BYTES);
	CHECK(self->buf && CkNumPes() > 1);
	self->from = CkDirect_createHandle(self->buf, BYTES, OOB, race_arrived, self);
	if (CkMyPe() == 0)
		Member_take(Member_at(members, receiver()), self->from);
	else
		CcdCallFnAfter(send_handle, self, 2 * PATIENCE_MS);
}

/* ---- entry methods --------------------------------------------------------------------------- */

void Member_on_begin(Member *self, const char *what)
{
	self->mistake = mistake_of(what);
	if (self->mistake->race) {
		begin_race(self);
		return;
	}
	if (CkMyPe() != receiver())
		return;
	self->expected = self->mistake->rounds + (puts_of(self->mistake) > 1);
	self->buf = self->mistake->from_malloc ? malloc(BYTES) : CkDirect_alloc(BYTES);
	CHECK(self->buf);
	self->from = CkDirect_createHandle(self->buf, BYTES, OOB, arrived, self);
	Member_take(Member_at(members, 0), self->from);
}

void Member_on_take(Member *self, CkDirectHandle h)
{
	/* The handle may overtake begin. */
	if (!self->mistake) {
		Member_take(Member_thisElement(self), h);
		return;
	}
	self->to = h;
	(self->mistake->bind ? self->mistake->bind : bind)(self);
	self->copy = self->to;
	put(self);
}

void Member_on_again(Member *self) { put(self); }

void Member_on_step(Member *self, int n)
{
	if (!self->mistake->steps[n])
		return;
	self->mistake->steps[n](self);
	if (n + 1 < STEPS)
		Member_step(Member_at(members, n % 2 ? 0 : receiver()), n + 1);
}

static void give_up(void *unused)
{
	(void)unused;
	CkExit(98);
}

void Member_on_late(Member *self)
{
	CcdCallFnAfter(give_up, self, PATIENCE_MS);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	Member_begin_all(members, m->argc > 1 ? m->argv[1] : "none");
	Member_late(Member_at(members, 0));
}

#include "misuse_channels.def.h"
