/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline_stays: the handler of an [inline] call waits on its caller's thread, and its element asks
 * to move meanwhile. It must not before the call has ended: the call counts as a thread of the
 * element. Afterwards it does.
 */
#include "check.h"

#include "cth.h"
#include "inline_stays.decl.h"

enum { PASSES = 20 };

struct Main { int unused; };
struct Mover { bool asked, held; };

void Mover_on_new(Mover *self) { (void)self; }

void Mover_on_hold(Mover *self)
{
	Mover_go(Mover_thisElement(self));
	for (int after = 0; after < PASSES; after += self->asked)
		CthYield();
	CHECK(Mover_ckLocal(Mover_thisElement(self)) == self);
	self->held = true;
}

void Mover_on_go(Mover *self)
{
	self->asked = true;
	CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes());
}

void Mover_on_arrived(Mover *self) { CHECK(self->asked && self->held); }

/* Two movers live on each PE. */
void Mover_on_begin(Mover *self)
{
	Mover_hold(Mover_at(movers, Mover_thisIndex(self) + 1));
}

void Main_on_done(Main *self)
{
	(void)self;
	for (int i = 0; i < CkNumPes(); i++) {
		const Mover *m = Mover_ckLocal(Mover_at(movers, 2 * i + 1));

		CHECK(!m == ((i + 1) % CkNumPes() != CkMyPe()));
		CHECK(!m || m->held);
	}
	CkPrintf("inline_stays: %d movers on %d PEs\n", 2 * CkNumPes(), CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	movers = Mover_ckNew(CkDims(2 * CkNumPes()));
	for (int i = 0; i < CkNumPes(); i++)
		Mover_begin(Mover_at(movers, 2 * i));
	CkStartQD(Main_cb_done(mainProxy));
}

#include "inline_stays.def.h"
