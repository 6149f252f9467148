/* SPDX-License-Identifier: Apache-2.0 */
/* part: what mains.c relies on comes before it: the init functions, then the main chare. */
#include "part.h"

#include "../check.h"
#include "part.decl.h"

struct PartMain { int n; CProxy_PartGroup group; };
struct PartGroup { int unused; };
struct Guest { int unused; };

atomic_int n_initnode;
_Thread_local int n_initproc;
int n_main, n_guests;

void part_node(void)
{
	CHECK_EQ(atomic_fetch_add(&n_initnode, 1), 0);
}

void part_proc(void)
{
	CHECK_EQ(atomic_load(&n_initnode), 2); /* all initnodes come before */
	CHECK_EQ(n_initproc++, 0);
}

void PartMain_on_new(PartMain *self, CkArgMsg *m)
{
	CHECK_EQ(CkMyPe(), 0);
	CHECK_EQ(n_main++, 0);
	CHECK_EQ(m->argc, 3);
	CHECK(strcmp(m->argv[1], "one") == 0 && strcmp(m->argv[2], "two") == 0 && !m->argv[3]);
	partMain = PartMain_thisProxy(self);
	part_number = 7;
	self->group = PartGroup_ckNew();
	PartGroup_invite_all(self->group);
}

void PartGroup_on_new(PartGroup *self)
{
	(void)self;
	CHECK_EQ(part_number, 7);
	CHECK_EQ(n_initproc, 2);
}

void PartGroup_on_invite(PartGroup *self)
{
	(void)self;
	Guest_ckNew(CK_PE_ANY);
}

void Guest_on_new(Guest *self)
{
	PartMain_arrived(partMain, CkMyPe());
	CkDestroy(self);
}

void PartMain_on_arrived(PartMain *self, int pe)
{
	CHECK(pe >= 0 && pe < CkNumPes());
	n_guests = ++self->n;
}

#include "part.def.h"
