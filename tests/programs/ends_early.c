/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends_early: a PE inserts an element outside the extents of an array, of which it may know only the proxy.
 * The job must end with a line that says so. If the runtime misses the mistake, the exit code is 99.
 */
#include "check.h"

#include "csd.h"
#include "ends_early.decl.h"

struct Main { int unused; };
struct Dense { int unused; };
struct Member { int unused; };

static void not_caught(void *ctx)
{
	(void)ctx;
	CkExit(99);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Member members = Member_ckNew();

	(void)m;
	Member_act(Member_at(members, CkNumPes() - 1), Dense_ckNew(CkDims(3, 4)));
	CcdCallFnAfter(not_caught, self, 60e3);
}

void Dense_on_new(Dense *self) { (void)self; }
void Member_on_new(Member *self) { (void)self; }

void Member_on_act(Member *self, CProxy_Dense dense)
{
	(void)self;
	Dense_ckDestroy(Dense_at(dense, 0, 0));
	Dense_insert(Dense_at(dense, 0, 0), CkNumPes() - 1);
}

#include "ends_early.def.h"
