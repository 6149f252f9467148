/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_bodies: elements on a ring whose bodies wait for their neighbours' calls in every step, and that move in most
 * steps. A body goes on where its element arrives, with the calls that are kept for it, since neighbours run ahead.
 * `migrate_bodies [seed]`.
 */
#include "check.h"

#include "migrate_bodies.decl.h"

enum { N = 5, STEPS = 40 };

struct Main { int n_in; };
struct Ring { int i, sum; uint64_t random; };

static int value(int element, int step) { return (int)(check_mix((uint64_t)(1000 * element + step)) % 100); }

void Ring_pup(pup_er p, Ring *self) { pup_bytes(p, self, sizeof *self); }

void Ring_on_new(Ring *self) { self->random = check_mix(seed + (uint64_t)Ring_thisIndex(self)); }

static void send(Ring *self)
{
	const int me = Ring_thisIndex(self), v = value(me, self->i);

	Ring_left(Ring_at(rings, (me + 1) % N), self->i, v);
	Ring_right(Ring_at(rings, (me + N - 1) % N), self->i, v);
	self->random = check_mix(self->random);
	if (self->random % 4)
		CkMigrateMe(self, (int)((self->random >> 33) % (uint64_t)CkNumPes()));
}

static void take(Ring *self, int v, int w)
{
	const int me = Ring_thisIndex(self);

	CHECK_EQ(v, value((me + N - 1) % N, self->i));
	CHECK_EQ(w, value((me + 1) % N, self->i));
	self->sum += v + w;
}

void Main_on_done(Main *self, int sum)
{
	(void)sum;
	if (++self->n_in < N)
		return;
	CkPrintf("%d elements, %d steps\n", N, STEPS);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("migrate_bodies %llu\n", (unsigned long long)seed);
	rings = Ring_ckNew(CkDims(N));
	Ring_run_all(rings);
}

#include "migrate_bodies.def.h"
