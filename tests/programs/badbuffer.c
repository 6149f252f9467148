/* SPDX-License-Identifier: Apache-2.0 */
/*
 * badbuffer: `badbuffer WHAT` makes one mistake with a buffer on the last PE. badbuffer.cases has the
 * expected output. If the runtime misses the mistake, the exit code is 99.
 */
#include "check.h"

#include "badbuffer.decl.h"

enum what {
	SMALL, NEVER, ARGUMENT, ENDED, WRONG_SIDE, EMPTY, ENDED_THERE, FREED_THERE, TRANSFERS,
	NOTHING = TRANSFERS, MORE, SMALL_POST, POST_TWICE, MATCH_TWICE, MATCH_OUT, EXCLUSIVE, SYNC, LEFT, LEFT_THREAD,
	WHATS
};
static const char *const names[WHATS] = {
	"small", "never", "argument", "ended", "wrong-side", "empty", "ended-there", "freed-there",
	"nothing", "more", "small-post", "post-twice", "match-twice", "match-out", "exclusive", "sync", "left",
	"left-thread"
};

enum { N = 400 };

struct Main { enum what what; CkNcpyBuffer buffer; int *memory; };
struct Side { int v[N]; CkNcpyBuffer buffer; };
struct Shared { int unused; };

static CProxyElement_Side last(void) { return Side_at(sides, CkNumPes() - 1); }

/* ---- get and put ---------------------------------------------------------------------------------- */

void Side_on_new(Side *self)
{
	CkNcpyBufferInit(&self->buffer, self->v, sizeof self->v, CkCallbackIgnore());
}

void Side_on_transfer(Side *self, int what, CkNcpyBuffer there)
{
	CkNcpyBuffer wrong;

	memset(&wrong, 0, sizeof wrong);
	switch ((enum what)what) {
	case SMALL:
		CkNcpyBufferInit(&wrong, self->v, sizeof self->v / 2, CkCallbackIgnore());
		CkNcpyGet(&wrong, &there);
		break;
	case NEVER:
		CkNcpyGet(&self->buffer, &wrong);
		break;
	case ARGUMENT:
		wrong = CkSendBuffer(self->v);
		CkNcpyPut(&wrong, &there);
		break;
	case ENDED:
		CkNcpyBufferDeregister(&self->buffer);
		CkNcpyPut(&self->buffer, &there);
		break;
	case WRONG_SIDE:
		CkNcpyGet(&there, &self->buffer);
		break;
	case EMPTY:
		CkNcpyBufferInit(&wrong, NULL, sizeof self->v, CkCallbackIgnore());
		break;
	default:
		Main_end(mainProxy, what == FREED_THERE);
		return;
	}
	CkExit(99);
}

void Main_on_end(Main *self, bool freed)
{
	CkNcpyBuffer copy = self->buffer;

	if (freed)
		CkRdmaFree(self->memory);
	else
		CkNcpyBufferDeregister(&self->buffer);
	Side_again(last(), copy);
}

void Side_on_again(Side *self, CkNcpyBuffer there)
{
	there.done = Main_cb_ended(mainProxy);
	CkNcpyGet(&self->buffer, &there);
}

void Main_on_ended(Main *self)
{
	(void)self;
	CkExit(99);
}

/* ---- nocopypost --------------------------------------------------------------------------------------- */

void Side_on_call_post(Side *self, int what, int n, int **v, CkNcpyBufferPost *post)
{
	switch ((enum what)what) {
	case NOTHING:
		break;
	case MORE:
		*v = self->v;
		post[0].bytes = (size_t)(n + 1) * sizeof **v;
		break;
	case MATCH_OUT:
		CkMatchBuffer(post, 1, 5);
		break;
	default:
		CkMatchBuffer(post, 0, 5);
		if (what == SMALL_POST)
			CkPostBuffer(self->v, sizeof self->v / 2, 5);
		if (what == LEFT)
			CkExit(0);
	}
}

void Side_on_call(Side *self, int what, int n, int *v)
{
	(void)self, (void)what, (void)n, (void)v;
	CkExit(99);
}

void Side_on_ask(Side *self)
{
	CkExit(Side_answer_sync(Side_thisElement(self), N, CkSendBuffer(self->v)));
}

void Side_on_answer_post(Side *self, int n, int **v, CkNcpyBufferPost *post)
{
	(void)self, (void)n, (void)v;
	CkMatchBuffer(post, 0, 6);
}

int Side_on_answer(Side *self, int n, int *v)
{
	(void)self, (void)n, (void)v;
	return 99;
}

void Side_on_waits_post(Side *self, int n, int **v, CkNcpyBufferPost *post)
{
	(void)self, (void)n, (void)v;
	CkMatchBuffer(post, 0, 8);
	CkExit(0);
}

void Side_on_waits(Side *self, int n, int *v)
{
	(void)self, (void)n, (void)v;
	CkExit(99);
}

void Shared_on_new(Shared *self) { (void)self; }

void Shared_on_call_post(Shared *self, int n, int **v, CkNcpyBufferPost *post)
{
	(void)self, (void)n, (void)v;
	CkMatchNodeBuffer(post, 0, 7);
}

void Shared_on_call(Shared *self, int n, int *v)
{
	(void)self, (void)n, (void)v;
	CkExit(99);
}

static void call(Main *self)
{
	CkNcpyBuffer v = CkSendBuffer(self->memory);

	switch (self->what) {
	case POST_TWICE:
		CkPostBuffer(self->memory, N, 5);
		CkPostBuffer(self->memory, N, 5);
		CkExit(99);
		break;
	case EXCLUSIVE:
		Shared_call(Shared_at(shared, CkNumNodes() - 1), N, v);
		break;
	case SYNC:
		Side_ask(last());
		break;
	case LEFT_THREAD:
		Side_waits(last(), N, v);
		break;
	case MATCH_TWICE:
		Side_call(last(), (int)self->what, N, v);
		/* fall through */
	default:
		Side_call(last(), (int)self->what, N, v);
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	while (self->what < WHATS && strcmp(names[self->what], m->argv[1]) != 0)
		self->what++;
	CHECK(self->what < WHATS);
	mainProxy = Main_thisProxy(self);
	self->memory = CkRdmaAlloc(N * sizeof *self->memory);
	CkNcpyBufferInit(&self->buffer, self->memory, N * sizeof *self->memory, CkCallbackIgnore());
	sides = Side_ckNew();
	shared = Shared_ckNew();
	if (self->what < TRANSFERS)
		Side_transfer(last(), (int)self->what, self->buffer);
	else
		call(self);
}

#include "badbuffer.def.h"
