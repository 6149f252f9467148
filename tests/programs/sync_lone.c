/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_lone: the only element of an array leaves for another PE and calls CkAtSync before it goes, in the same handler. No PE
 * may have an element when they are asked, and yet resumeFromSync comes.
 */
#include "check.h"

struct Main { int unused; };
struct Lone { int round; };

#include "sync_lone.decl.h"

enum { ROUNDS = 10 };

void Lone_on_new(Lone *self) { (void)self; }

void Lone_on_go(Lone *self)
{
	CkMigrateMe(self, (CkMyPe() + 1 + self->round % 2) % CkNumPes());
	CkAtSync(self);
}

void Lone_on_resumeFromSync(Lone *self)
{
	if (++self->round < ROUNDS) {
		Lone_on_go(self);
		return;
	}
	CkPrintf("sync_lone: %d rounds\n", self->round);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self, (void)m;
	Lone_go_all(Lone_ckNew(CkDims(1)));
}

#include "sync_lone.def.h"
