/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost: a job that a test disturbs from outside (tests/rig/loss.py). PE 0 says "ready" when all PEs are there and the
 * job does what it was asked for:
 *
 *	lost idle          waits for ever
 *	lost busy [S]      each PE sends to the next one, for ever, or for S seconds; then the job ends well
 *	lost quiescence    waits for quiescence again and again
 *	lost start S       the main chare's constructor takes S seconds, and all wait for it
 *	lost exit S        a handler of the last PE takes S seconds, while all others want to leave
 *	lost compute S     handlers take S seconds, without any call; then the job ends well
 *
 * What takes time computes: it calls nothing of the runtime, and does not sleep.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lost.decl.h"

struct Main { const char *what; double amount; };
struct Member { char unused; };

static void compute(double seconds)
{
	const double end = CkWallTimer() + seconds;

	while (CkWallTimer() < end)
		continue;
}

static void ready(void)
{
	CkPrintf("ready\n");
	fflush(stdout);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	self->what = m->argc > 1 ? m->argv[1] : "idle";
	self->amount = m->argc > 2 ? atof(m->argv[2]) : 0;
	if (strcmp(self->what, "start") == 0) {
		ready();
		compute(self->amount);
	}
	members = Member_ckNew();
}

void Main_on_there(Main *self)
{
	ready();
	if (strcmp(self->what, "busy") == 0)
		Member_pass(Member_at(members, 0), self->amount > 0 ? CkWallTimer() + self->amount : 0);
	else if (strcmp(self->what, "quiescence") == 0)
		CkStartQD(Main_cb_quiet(mainProxy));
	else if (strcmp(self->what, "compute") == 0)
		Member_compute_all(members, self->amount);
	else if (strcmp(self->what, "exit") == 0) {
		Member_compute(Member_at(members, CkNumPes() - 1), self->amount);
		CkExit(0);
	} else if (strcmp(self->what, "start") == 0)
		CkExit(0);
	else
		CHECK(strcmp(self->what, "idle") == 0);
}

void Main_on_quiet(Main *self)
{
	(void)self;
	Member_wake_all(members);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_done(Main *self)
{
	(void)self;
	CkPrintf("done\n");
	CkExit(0);
}

void Member_on_new(Member *self)
{
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_there(mainProxy));
}

/* `until` is a time of PE 0; 0 is never. */
void Member_on_pass(Member *self, double until)
{
	if (CkMyPe() == 0 && until > 0 && CkWallTimer() > until)
		Main_done(mainProxy);
	else
		Member_pass(Member_at(members, (CkMyPe() + 1) % CkNumPes()), until);
	(void)self;
}

void Member_on_compute(Member *self, double seconds)
{
	compute(seconds);
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_done(mainProxy));
}

void Member_on_wake(Member *self)
{
	(void)self;
}

#include "lost.def.h"
