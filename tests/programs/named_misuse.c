/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_misuse: one mistake with a named channel, or one wait; `named_misuse WHAT`. Element 0 sends, the last one, on
 * the last PE, receives.
 */
#include "check.h"
#include "ckchannel.h"

#include "named_misuse.decl.h"

enum what { TWICE, SIZE, TWO_PUTS, NO_PUP, OTHER_BUFFER, INDEX, NO_ARRAY, REDUCE_OP, REDUCE_BYTES, NO_RECEIVER, NO_SENDER,
	    PUT_EARLY, READY_TWICE, PUT_RECEIVING, READY_SENDING, UNPUT,
	    SET_TWICE, SET_WAITS, SET_OF_NONE, SET_SHRINKS, SET_SHORT, WHATS };
static const char *const whats[] = { "twice", "size", "two-puts", "no-pup", "other-buffer", "index", "no-array",
				     "reduce-op", "reduce-bytes", "no-receiver", "no-sender",
				     "put-early", "ready-twice", "put-receiving", "ready-sending", "unput",
				     "set-twice", "set-waits", "set-of-none", "set-shrinks", "set-short" };
_Static_assert(sizeof whats / sizeof *whats == WHATS, "each has a name");

struct Main {
	int turns;
};
struct Branch {
	int unused;
};
struct End {
	double in[6], out[4];
	int what, n;
	CkChannel *from, *to;
};

static int last(void) { return CkNumPes() - 1; }

void End_pup(pup_er p, End *self)
{
	pup_bytes(p, self, offsetof(End, from));
	if (self->what == OTHER_BUFFER)
		pup_channel(p, &self->from, self->out);
}

void End_on_new(End *self)
{
}

void Branch_on_new(Branch *self)
{
}

static void receive(End *self, int what)
{
	const CkElement other = End_at(ends, what == INDEX ? 99 : 0).ck;

	switch ((enum what)what) {
	case TWICE:
		End_side_from(self, other, 7, self->in, 8);
		End_side_from(self, other, 7, self->in, 8);
		break;
	case NO_ARRAY:
		End_side_from(self, Branch_at(branches, 0), 7, self->in, 8);
		break;
	case REDUCE_OP:
		End_side_reduced(self, &other, 1, 7, self->in, 8, CkReduction_concat);
		break;
	case REDUCE_BYTES:
		End_side_reduced(self, &other, 1, 7, self->in, 12, CkReduction_sum_double);
		break;
	case SET_TWICE:
	case SET_WAITS:
	case SET_OF_NONE:
	case SET_SHRINKS:
	case SET_SHORT:
		self->n = what == SET_OF_NONE ? 0 : what >= SET_SHRINKS ? 3 : 2;
		self->from = End_both_from(self, other, 7, self->in, 16);
		End_both_from(self, other, 8, self->in + 2, 16);
		if (what == SET_SHRINKS)
			End_both_from(self, other, 9, self->in + 4, 16);
		break;
	case TWO_PUTS:
	case NO_RECEIVER:
		break;
	default:
		self->from = End_side_from(self, other, 7, self->in, 16);
	}
	if (what == NO_PUP || what == OTHER_BUFFER)
		CkMigrateMe(self, 0);
}

static void send(End *self, int what)
{
	if (what >= SET_TWICE) {
		self->to = End_both_to(self, End_at(ends, last()), 7, self->out, 16);
		CkChannelPut(self->to);
	}
	if (what == SET_SHORT)
		CkChannelPut(End_both_to(self, End_at(ends, last()), 8, self->out, 16));
	if (what != SIZE && what != TWO_PUTS && (what < NO_RECEIVER || what == NO_SENDER || what > UNPUT))
		return;
	self->to = End_side_to(self, End_at(ends, last()), 7, self->out, what == SIZE ? 8 : 16);
	if (what != SIZE && what < READY_TWICE)
		CkChannelPut(self->to);
	if (what == TWO_PUTS)
		CkChannelPut(self->to);
}

void End_on_side(End *self, int tag)
{
	CHECK(self->what == PUT_EARLY); /* otherwise nothing arrives */
}

void End_on_both(End *self)
{
	CkAbort("one of the set is missing");
}

static void misuse(End *self, bool sends, bool receives)
{
	if (sends && self->what == PUT_EARLY)
		CkChannelPut(self->to);
	if (sends && self->what == READY_SENDING)
		CkChannelReady(self->to);
	if (receives && self->what == PUT_RECEIVING)
		CkChannelPut(self->from);
	if (receives && self->what == READY_TWICE)
		CkChannelReady(self->from);
}

/* One of the set has arrived: it alone gets ready for the next put, which comes. Or it ends, and
 * counts no longer when another one comes. */
void End_on_again(End *self, int turn)
{
	const bool shrinks = self->what == SET_SHRINKS;

	if (self->what < SET_TWICE) {
		misuse(self, End_thisIndex(self) == 0, End_thisIndex(self) == last());
		return;
	}
	if (turn == 0 && End_thisIndex(self) == last()) {
		(shrinks ? CkChannelDestroy : CkChannelReady)(self->from);
		self->n -= shrinks;
	}
	if (turn == 1 && End_thisIndex(self) == 0) {
		if (shrinks)
			self->to = End_both_to(self, End_at(ends, last()), 8, self->out, 16);
		CkChannelPut(self->to);
	}
}

void Main_on_quiet(Main *self)
{
	End_again_all(ends, self->turns);
	if (self->turns++ == 0)
		CkStartQD(Main_cb_quiet(mainProxy));
}

void End_on_act(End *self, int what)
{
	self->what = what;
	if (End_thisIndex(self) == 0)
		send(self, what);
	if (End_thisIndex(self) == last())
		receive(self, what);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int what = 0;

	while (what < WHATS && (m->argc < 2 || strcmp(m->argv[1], whats[what]) != 0))
		what++;
	CHECK(what < WHATS);
	mainProxy = Main_thisProxy(self);
	branches = Branch_ckNew();
	ends = End_ckNew(CkDims1(CkNumPes()));
	End_act_all(ends, what);
	if (what == SET_TWICE || what == SET_SHRINKS || (what >= PUT_EARLY && what < UNPUT))
		CkStartQD(Main_cb_quiet(mainProxy));
}

#include "named_misuse.def.h"
