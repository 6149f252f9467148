/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h: array Ring: a ring of channels, and one that adds up all its elements. When they
 * are saved, the buffers of the ring are in all states. Included once, behind Sum, add() and
 * report(), rings and RINGS, and the program's .decl.h.
 */
#ifndef RING_H
#define RING_H

#include <string.h>

#include "ckchannel.h"

struct Ring {
	Sum s;
	unsigned long ups;        /* of the sums, in their order */
	long in[2], out[2], part[2], total[2];
	CkChannel *from, *to, *rises;
	CkReducing *reduced;      /* element 0 */
};

void Ring_pup(pup_er p, Ring *self)
{
	pup_bytes(p, &self->s, sizeof self->s);
	pup_bytes(p, &self->ups, sizeof self->ups);
	pup_bytes(p, self->in, sizeof self->in);
	pup_bytes(p, self->out, sizeof self->out);
	pup_bytes(p, self->part, sizeof self->part);
	pup_bytes(p, self->total, sizeof self->total);
	pup_channel(p, &self->from, self->in);
	pup_channel(p, &self->to, self->out);
	pup_channel(p, &self->rises, self->part);
	pup_reducing(p, &self->reduced, self->total);
}

void Ring_on_new(Ring *self) { memset(self, 0, sizeof *self); }

void Ring_on_make(Ring *self)
{
	const int i = Ring_thisIndex(self);
	const CProxyElement_Ring before = Ring_at(rings, (i + RINGS - 1) % RINGS),
				 after = Ring_at(rings, (i + 1) % RINGS);
	CkElement all[RINGS];

	for (int k = 0; k < RINGS; k++)
		all[k] = Ring_at(rings, k).ck;
	self->from = Ring_side_from(self, before.ck, 0, self->in, sizeof self->in);
	self->to = Ring_side_to(self, after, 0, self->out, sizeof self->out);
	self->rises = Ring_up_to(self, Ring_at(rings, 0), 0, self->part, sizeof self->part);
	if (i == 0)
		self->reduced = Ring_up_reduced(self, all, RINGS, 0, self->total, sizeof self->total,
						CkReduction_sum_long);
}

void Ring_on_put(Ring *self, long v)
{
	self->out[0] = v;
	self->out[1] = v + 1;
	CkChannelPut(self->to);
}

void Ring_on_rise(Ring *self, long v)
{
	self->part[0] = v;
	self->part[1] = 2 * v;
	CkChannelPut(self->rises);
}

enum { MARKS, READY, HOLDS };     /* what is done with a buffer, by index */

static int way(const Ring *self) { return Ring_thisIndex(self) % 3; }

/* Then the buffer is the sender's but not polled, or the sender's, or still the program's. */
void Ring_on_side(Ring *self, int tag)
{
	(void)tag;
	add(&self->s, self->in[0] + self->in[1]);
	if (way(self) == MARKS)
		CkChannelReadyMark(self->from);
	else if (way(self) == READY)
		CkChannelReady(self->from);
}

void Ring_on_let(Ring *self)
{
	if (way(self) == MARKS)
		CkChannelReadyPollQ(self->from);
	else if (way(self) == HOLDS)
		CkChannelReady(self->from);
}

void Ring_on_up(Ring *self, int tag)
{
	(void)tag;
	self->ups = self->ups * 31 + (unsigned long)(self->total[0] + self->total[1]);
	CkReducingReady(self->reduced);
}

void Ring_on_go(Ring *self, int to) { CkMigrateMe(self, to); }

void Ring_on_report(Ring *self)
{
	Sum s = self->s;

	s.sum += self->ups;
	report(self, &s);
}

#endif
