/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_new: an element may move in its constructor, to a PE that has not heard of its array yet, and so may calls
 * come early. Arrays are made ten at a time, their elements move at once, and all PEs call all of them. Each call must
 * come, at the PE where its element asked to be. `migrate_new [seed [rounds]]`.
 */
#include "check.h"

#include <stdlib.h>

#include "migrate_new.decl.h"

enum { N = 6, AT_ONCE = 10, OTHERS = 64 };

struct Main { int rounds; long n; };
struct Line { int to; };
struct Other { int unused; };
struct Hand { int unused; };

void Line_pup(pup_er p, Line *self) { pup_int(p, &self->to); }

void Line_on_new(Line *self, int no)
{
	uint64_t random = check_mix(seed + (uint64_t)(no * N + Line_thisIndex(self)));

	self->to = (int)(random % (uint64_t)CkNumPes());
	CkMigrateMe(self, self->to);
}

void Line_on_step(Line *self)
{
	CHECK_EQ(CkMyPe(), self->to);
	Main_called(mainProxy);
}

/* Its calls name it by its index, and leave message memory behind that says so. */
void Other_on_new(Other *self) { (void)self; }

void Other_on_step(Other *self) { (void)self; }

void Hand_on_new(Hand *self) { (void)self; }

void Hand_on_call(Hand *self, CProxy_Line lines)
{
	(void)self;
	for (int i = 0; i < OTHERS; i++)
		Other_step(Other_at(others, i));
	for (int i = 0; i < N; i++)
		Line_step(Line_at(lines, i));
}

/* A proxy may be faster than its array's creation. */
static void make(Main *self)
{
	self->n = (long)AT_ONCE * N * CkNumPes();
	for (int i = 0; i < AT_ONCE; i++)
		Hand_call_all(hands, Line_ckNew(CkDims(N), self->rounds * AT_ONCE + i));
}

void Main_on_called(Main *self)
{
	if (--self->n)
		return;
	if (--self->rounds) {
		make(self);
		return;
	}
	CkPrintf("all calls have come\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	self->rounds = m->argc > 2 ? atoi(m->argv[2]) : 20;
	CkPrintf("migrate_new %llu\n", (unsigned long long)seed);
	hands = Hand_ckNew();
	others = Other_ckNew_opt(&(CkArrayOptions){ .start = { 0 }, .end = { OTHERS } });
	make(self);
}

#include "migrate_new.def.h"
