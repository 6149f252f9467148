/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_device: a token goes around a ring from device memory to device memory.
 *
 * Member 0 puts it from host memory into its own device memory, and each member puts it on into
 * that of its right neighbour. The last one's neighbour is member 0's host memory, where the token
 * is compared with what was sent. The program itself needs no call of CUDA, and no compiler of it.
 *
 *	ring_device [members [laps [words]]]
 */
#include <stdlib.h>

#include "ck.h"
#include "ckdevice.h"
#include "ring_device.decl.h"

struct Main {
	int unused;
};

struct Member {
	double *token;            /* in device memory */
	CkDirectHandle from, to;  /* the channel that ends there, and the one that begins there */
	/* Member 0: the token in host memory, as it starts and as it comes home, */
	double *start, *home;
	CkDirectHandle start_to, home_from; /* with a channel each. */
	int lap;
};

static size_t token_bytes(void) { return (size_t)words * sizeof(double); }

/* ---- laps ----------------------------------------------------------------------------------- */

/* The next lap's token comes when this one has been all the way round, so this put is over then. */
static void came(void *data)
{
	Member *self = data;

	CkDirect_put(&self->to);
	CkDirect_ready(&self->from);
}

void Member_on_lap(Member *self)
{
	for (int i = 0; i < words; i++)
		self->start[i] = self->lap * 1000.0 + i;
	CkDirect_put(&self->start_to);
}

static void came_home(void *data)
{
	Member *self = data;

	for (int i = 0; i < words; i++)
		if (self->home[i] != self->start[i])
			CkAbort("lap %d: word %d is %g, not %g", self->lap, i, self->home[i],
				self->start[i]);
	CkDirect_ready(&self->home_from);
	if (++self->lap < laps)
		Member_lap(Member_thisElement(self));
	else
		Main_over(mainProxy);
}

/* ---- joining -------------------------------------------------------------------------------- */

void Member_on_new(Member *self)
{
	self->token = CkDirect_allocDevice(token_bytes());
	if (!self->token)
		CkAbort("no device memory for %d words", words);
	self->from = CkDirect_createHandleDevice(self->token, token_bytes(), came, self);
}

/* Each tells its left neighbour where to put; member 0 is its own for the start. */
void Member_on_join(Member *self)
{
	const int me = Member_thisIndex(self);

	if (me > 0) {
		Member_next(Member_at(ring, me - 1), self->from);
		return;
	}
	self->start = CkDirect_alloc(token_bytes());
	self->home = CkDirect_alloc(token_bytes());
	if (!self->start || !self->home)
		CkAbort("no memory for %d words", words);
	self->start_to = self->from;
	CkDirect_assocLocalBuffer(&self->start_to, self->start, token_bytes());
	self->home_from = CkDirect_createHandleSeq(self->home, token_bytes(), came_home, self);
	Member_next(Member_at(ring, members - 1), self->home_from);
}

void Member_on_next(Member *self, CkDirectHandle h)
{
	self->to = h;
	CkDirect_assocLocalDevice(&self->to, self->token, token_bytes());
	CkContributeBarrier(self, Main_cb_joined(mainProxy));
}

/* ---- main ----------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	members = m->argc > 1 ? atoi(m->argv[1]) : 2 * CkNumPes();
	laps = m->argc > 2 ? atoi(m->argv[2]) : 10;
	words = m->argc > 3 ? atoi(m->argv[3]) : 1000;
	if (members < 1 || laps < 1 || words < 1)
		CkAbort("ring_device [members [laps [words]]]: each at least 1");
	ring = Member_ckNew(CkDims(members));
	Member_join_all(ring);
}

void Main_on_joined(Main *self)
{
	(void)self;
	Member_lap(Member_at(ring, 0));
}

void Main_on_over(Main *self)
{
	(void)self;
	CkPrintf("ring_device: %d laps through the devices' memory of %d members: checked\n", laps,
		 members);
	CkExit();
}

#include "ring_device.def.h"
