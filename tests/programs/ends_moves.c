/* SPDX-License-Identifier: Apache-2.0 */
/* ends_moves: mistakes with elements that move, each the end of the job. `ends_moves MISTAKE`. */
#include "check.h"

#include <stddef.h>
#include <stdlib.h>

#include "ends_moves.decl.h"

enum what {
	NO_PE, NO_PUP, DESTROYED, CHANNEL, HANDLE, HEAP, HEAP_HANDLE, HEAP_SENDER, FUTURE, HEAP_FUTURE, CALLBACK, BACK,
	GROUP, SINGLE, WHATS
};
static const char *const names[WHATS] = {
	"no-pe", "no-pup", "destroyed", "channel", "handle", "heap", "heap-handle", "heap-sender", "future", "heap-future",
	"callback", "callback-back", "group", "single",
};

struct Main { int unused; };
struct Bound { int unused; };
struct Held { double in[4]; CkDirectHandle handle; CkFuture future; };
struct Free { double in[4]; CkDirectHandle handle; CkFuture future; struct Held *held; };
struct Member { int unused; };
struct Lone { int unused; };

static double apart[4];

static void arrived(void *arg) { (void)arg; }

void Bound_on_new(Bound *self) { (void)self; }
void Bound_on_move(Bound *self, int what)
{
	if (what == NO_PE)
		CkMigrateMe(self, CkNumPes());
	if (what == DESTROYED)
		CkDestroy(self);
	CkMigrateMe(self, CkNumPes() - 1); /* in another process */
}

void Free_pup(pup_er p, Free *self)
{
	pup_bytes(p, self, offsetof(Free, held));
	self->held = pup_alloc(p, self->held, sizeof *self->held);
	pup_bytes(p, self->held, sizeof *self->held);
}

void Free_on_new(Free *self) { self->held = calloc(1, sizeof *self->held); }

static CkDirectHandle channel(double *in)
{
	return CkDirect_createHandle(in, sizeof apart, 0x7ff8123412341234u, arrived, NULL);
}

static void told(void *ctx, const CkReductionMsg *m)
{
	(void)m;
	((Free *)ctx)->in[0] = 1;
}

/* What each of them holds: its buffer, or only its handle, or a buffer to send from. */
static void hold(Free *self, enum what what)
{
	CkDirectHandle h;

	switch (what) {
	case CHANNEL:
		self->handle = channel(self->in);
		break;
	case HANDLE:
		self->handle = channel(apart);
		break;
	case HEAP:
		channel(self->held->in);
		break;
	case HEAP_HANDLE:
		self->held->handle = channel(apart);
		break;
	case HEAP_SENDER:
		h = channel(apart);
		CkDirect_assocLocal(&h, self->held->in);
		break;
	case FUTURE:
		self->future = CkCreateFuture();
		break;
	case HEAP_FUTURE:
		self->held->future = CkCreateFuture();
		break;
	default:
		break;
	}
}

void Free_on_move(Free *self, int what)
{
	const int last = CkNumPes() - 1;

	hold(self, (enum what)what);
	if (what == CALLBACK || what == BACK)
		Free_fire(Free_thisElement(self), CkCallbackFunction(told, self), what == BACK ? 2 : 1);
	CkMigrateMe(self, last);
}

/* The callback, whose context is the element, fires when that has moved. */
void Free_on_fire(Free *self, CkCallback cb, int left)
{
	if (--left) {
		CkMigrateMe(self, 0);
		Free_fire(Free_thisElement(self), cb, left);
	} else {
		CkCallbackSend(cb, NULL, 0);
	}
}
void Free_on_hello(Free *self) { (void)self; }

void Member_on_new(Member *self) { (void)self; }
void Member_on_move(Member *self) { CkMigrateMe(self, 0); }
void Lone_on_new(Lone *self) { CkMigrateMe(self, 0); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	int what = 0;

	(void)self;
	mainProxy = Main_thisProxy(self);
	while (what < WHATS && (m->argc < 2 || strcmp(m->argv[1], names[what])))
		what++;
	switch ((enum what)what) {
	case NO_PE:
	case NO_PUP:
	case DESTROYED:
		Bound_move(Bound_at(Bound_ckNew(CkDims(4)), 0), what);
		break;
	case CHANNEL:
	case HANDLE:
	case HEAP:
	case HEAP_HANDLE:
	case HEAP_SENDER:
	case FUTURE:
	case HEAP_FUTURE:
	case CALLBACK:
	case BACK:
		Free_move(Free_at(Free_ckNew(CkDims(4)), 0), what);
		break;
	case GROUP:
		Member_move(Member_at(Member_ckNew(), 0));
		break;
	case SINGLE:
		Lone_ckNew(0);
		break;
	case WHATS:
		CkAbort("which mistake?");
	}
}

#include "ends_moves.def.h"
