/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late: elements are called first, then inserted, and inserting is ended at once. The calls wait for elements whose
 * insertions are still on their way when everybody knows that no more are sent. That is no mistake, so no PE may
 * report one. Constructors take their time, so that many insertions are on their way.
 */
#include "check.h"

#include "late.decl.h"

enum { ROUNDS = 8, N = 60 };
static const double CONSTRUCTION_S = 20e-6;

struct Main { int unused; };
struct Slow { int unused; };
struct Hand { long n_hits; };

void Hand_on_new(Hand *self) { (void)self; }

void Slow_on_new(Slow *self)
{
	double start = CkWallTimer();

	(void)self;
	while (CkWallTimer() - start < CONSTRUCTION_S)
		;
}

void Slow_on_hit(Slow *self)
{
	(void)self;
	Hand_ckLocalBranch(hands)->n_hits++;
}

/* Far from PE 0, which looks whether inserting is over. */
void Hand_on_insert(Hand *self, CProxy_Slow a)
{
	(void)self;
	for (int i = 0; i < N; i++)
		Slow_insert(Slow_at(a, i), CK_PE_ANY);
	Slow_doneInserting(a);
}

void Hand_on_report(Hand *self, CkCallback cb)
{
	CkContribute(self, &self->n_hits, 1, CkReduction_sum_long, cb);
}

static long hits(void)
{
	CkFuture f = CkCreateFuture();

	Hand_report_all(hands, CkCallbackFuture(f));
	CkReductionMsg *m = CkWaitReleaseFuture(f);
	long n = *(const long *)CkReductionMsg_data(m);

	CkFreeMsg(m);
	return n;
}

void Main_on_run(Main *self)
{
	(void)self;
	for (int round = 1; round <= ROUNDS; round++) {
		CProxy_Slow a = Slow_ckNewEmpty();

		for (int i = 0; i < N; i++)
			Slow_hit(Slow_at(a, i));
		CkWaitQD();
		CHECK_EQ(hits(), (round - 1) * N);
		Hand_insert(Hand_at(hands, CkNumPes() - 1), a);
		CkWaitQD();
		CHECK_EQ(hits(), round * N);
	}
	CkPrintf("late: all calls were made\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	hands = Hand_ckNew();
	mainProxy = Main_thisProxy(self);
	Main_run(mainProxy);
}

#include "late.def.h"
