/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speeds: a PE whose core belongs to another program half of the time gets half as many elements as each of the others, and as
 * many again when that is over.
 *
 * There is no other program: the clock of the processor's time is this program's own. On PE 1 it runs at half of the pace
 * of the clock on the wall, on all others at the full pace. So results do not depend on what else runs on the machine.
 *
 *	CK_LB=cuts CK_LB_TOLERANCE=0.01 speeds        all elements are equal (CkSetLoad)
 *	... speeds even                               speeds must count for nothing: 30 steps in which nothing may move
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { OF_ONE = 40, OF_SLOW = OF_ONE / 2, SLOW_PE = 1, EVEN_STEPS = 30, STEPS_MOST = 2000, SPIN_NS = 500 * 1000 };

static const double SLOW = 0.5;

struct Main {
	bool even;
	int step, slow_at_step;
};
struct Item {
	int unused;
};

#include "speeds.decl.h"

/* ---- the clock --------------------------------------------------------------------------------------- */

/* Of a PE's thread: what it had used when its pace last changed. */
static _Thread_local struct {
	double pace;
	uint64_t used_ns, since_ns;
} mine = { 1, 0, 0 };

static uint64_t wall_ns(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t used_ns(void)
{
	return mine.used_ns + (uint64_t)((double)(wall_ns() - mine.since_ns) * mine.pace);
}

static void set_pace(double pace)
{
	if (pace == mine.pace)
		return;
	mine.used_ns = used_ns();
	mine.since_ns = wall_ns();
	mine.pace = pace;
}

/* In place of libc's, for the runtime, too. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t which, struct timespec *t)
{
	if (which != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, which, t);
	const uint64_t ns = used_ns();

	t->tv_sec = (time_t)(ns / 1000000000u);
	t->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

/* ---- elements ------------------------------------------------------------------------------------------ */

void Item_on_new(Item *self)
{
	(void)self;
	CkContributeBarrier(self, Main_cb_begin(mainProxy));
}

/* What a PE has to do must last long enough for its speed to be known. */
void Item_on_work(Item *self, double pace)
{
	const uint64_t until = wall_ns() + SPIN_NS;

	set_pace(CkMyPe() == SLOW_PE ? pace : 1);
	while (wall_ns() < until)
		;
	CkSetLoad(self, 1);
	CkAtSync(self);
}

void Item_on_resumeFromSync(Item *self)
{
	const long on_slow = CkMyPe() == SLOW_PE;

	CkContribute(self, &on_slow, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------------------ */

static int n_items(void) { return OF_ONE * (CkNumPes() - 1) + OF_SLOW; }

void Main_on_begin(Main *self)
{
	(void)self;
	Item_work_all(items, SLOW);
}

static void end(const Main *self)
{
	CkPrintf("speeds: PE %d is slow after %d steps, and as fast as the others %d steps later\n", SLOW_PE,
		 self->slow_at_step, self->step - self->slow_at_step);
	CkExit(0);
}

static void stays_even(const Main *self, long on_slow)
{
	CHECK_EQ(on_slow, n_items() / CkNumPes());
	if (self->step == EVEN_STEPS)
		CkExit(0);
	else
		Item_work_all(items, SLOW);
}

void Main_on_counted(Main *self, long on_slow)
{
	const bool slow = !self->slow_at_step;

	self->step++;
	if (self->even) {
		stays_even(self, on_slow);
		return;
	}
	if (self->step == STEPS_MOST)
		CkAbort("speeds: after %d steps %ld of %d elements are on PE %d", self->step, on_slow, n_items(), SLOW_PE);
	if (slow && on_slow == OF_SLOW)
		self->slow_at_step = self->step;
	if (!slow && on_slow == n_items() / CkNumPes())
		end(self);
	else
		Item_work_all(items, self->slow_at_step ? 1 : SLOW);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	if (CkNumPes() < 2)
		CkAbort("speeds: two PEs and more");
	if (sysconf(_SC_NPROCESSORS_ONLN) < CkNumPes() && m->argc < 2) {
		CkPrintf("skip speeds: there is no core for each PE\n");
		CkExit(0);
		return;
	}
	self->even = m->argc > 1 && strcmp(m->argv[1], "even") == 0;
	mainProxy = Main_thisProxy(self);
	items = Item_ckNew(CkDims(n_items()));
}

#include "speeds.def.h"
