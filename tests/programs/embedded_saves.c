/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedded_saves DIR NODES PES: a host program in NODES processes, which this one forks, asks for
 * checkpoints of the chares inside it, and starts runs from them in the same processes:
 *
 *	a run computes, is saved after its second step, and computes one more
 *	a run begins from that checkpoint (CK_RESTART), gets the same, and is saved itself
 *	a run begins from that one
 *	a run begins from the beginning, as the first
 *
 * embedded_saves STEPS: one run in the processes that a launcher has started. Node 0's host leads
 * it: it saves the chares in memory before each step, and prints the last sum. When all have been
 * started again (ckrun --replace, --resize, --checkpoint-exit), it goes on from there.
 */
#define CK_NO_MAIN
#include "check.h"
#include "ckembed.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "embedded_saves.decl.h"

enum { CELLS = 13, MOST_NODES = 4, BLOCK = 1 << 18, NONE = -1, ANSWER = 1 << 24 };

struct Main { char dir[256]; int n_told, n_steps; long sum; };
struct Cell { long value; };
struct Teller { int unused; };

/* ---- the chares ------------------------------------------------------------------------------ */

static int done;                            /* for CkRunUntil */
static int least = INT_MIN, most = INT_MAX; /* statuses that the host waits for */
static int last_status;
static long last_sum;

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK(m->argc == 2);
	strncpy(self->dir, m->argv[1], sizeof self->dir - 1);
	main_proxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	tellers = Teller_ckNew();
}

void Main_on_save(Main *self)
{
	if (strcmp(self->dir, "memory") == 0)
		CkStartMemCheckpoint(Main_cb_saved(main_proxy));
	else
		CkStartCheckpoint(self->dir, Main_cb_saved(main_proxy));
}

void Main_on_saved(Main *self, int status)
{
	self->n_told++;
	Teller_tell_all(tellers, status, self->n_told);
}

void Main_on_summed(Main *self, long sum)
{
	self->n_steps++;
	self->sum = sum;
	Teller_tell_all(tellers, NONE, sum);
}

void Main_on_ask(Main *self) { Teller_tell_all(tellers, ANSWER + self->n_steps, self->sum); }

void Cell_on_new(Cell *self) { self->value = Cell_thisIndex(self) + 1; }

void Cell_on_step(Cell *self)
{
	self->value = (long)(check_mix((uint64_t)self->value) % 1000003);
	CkContribute(self, &self->value, 1, CkReduction_sum_long, Main_cb_summed(main_proxy));
}

void Teller_on_new(Teller *self) { (void)self; }

void Teller_on_tell(Teller *self, int status, long sum)
{
	(void)self;
	if (CkMyRank() || status < least || status > most)
		return;
	last_status = status;
	last_sum = sum;
	done = 1;
}

#include "embedded_saves.def.h"

/* ---- processes that meet in memory ----------------------------------------------------------- */

static struct meeting {
	pthread_barrier_t all;
	atomic_int n_came;
	char block[MOST_NODES][BLOCK];
} * meeting;

static int n_nodes, rank, pes;

static void meet(void) { pthread_barrier_wait(&meeting->all); }

static int allgather(const void *mine, void *all, size_t bytes, void *arg)
{
	(void)arg;
	CHECK(bytes <= BLOCK);
	memcpy(meeting->block[rank], mine, bytes);
	meet();
	for (int r = 0; r < n_nodes; r++)
		memcpy((char *)all + (size_t)r * bytes, meeting->block[r], bytes);
	meet();
	return 0;
}

static void meeting_open(void)
{
	pthread_barrierattr_t a;

	meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(meeting != MAP_FAILED);
	pthread_barrierattr_init(&a);
	pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&meeting->all, &a, (unsigned)n_nodes);
	pthread_barrierattr_destroy(&a);
}

/* ---- the host program ------------------------------------------------------------------------ */

/* Without a meeting the processes find each other by their launcher, which asks them by signals. */
static void start(const char *dir)
{
	static char name[] = "embedded_saves", folder[256];
	static char *kept[3];
	char **argv = kept;
	int argc = 2;
	CkBoot boot = { .rank = rank, .size = n_nodes, .allgather = allgather, .pes = pes };

	if (!meeting)
		boot = (CkBoot){ .signals = true };
	strncpy(folder, dir, sizeof folder - 1);
	kept[0] = name;
	kept[1] = folder;
	done = 0;
	CHECK(CkInit(&argc, &argv, &ck_module_embedded_saves, &boot) == 0);
}

/* As a barrier, but messages of others that need this process to go on their way do so. */
static void meet_running(void)
{
	const int target = (atomic_fetch_add(&meeting->n_came, 1) / n_nodes + 1) * n_nodes;

	while (atomic_load(&meeting->n_came) < target)
		CHECK(CkProgress(1) >= 0);
}

/* All processes hear of it before the next thing begins. */
static void await(void)
{
	CHECK(CkRunUntil(&done));
	meet_running();
	done = 0;
	meet_running();
}

static long step(void)
{
	if (rank == 0)
		Cell_step_all(cells);
	await();
	CHECK_EQ(last_status, NONE);
	return last_sum;
}

static void save(int n_told)
{
	if (rank == 0)
		Main_save(main_proxy);
	await();
	CHECK_EQ(last_status, CK_CHECKPOINT_SUCCESS);
	CHECK_EQ(last_sum, n_told);
}

/* What was saved had not been told of its own checkpoint yet. */
static void goes_on(unsigned long long sequence, unsigned long long epoch, int n_told)
{
	CkRestart from;

	await();
	CHECK_EQ(last_status, CK_CHECKPOINT_RESTARTED);
	CHECK_EQ(last_sum, n_told);
	CHECK(CkRestartedFrom(&from));
	CHECK(from.sequence == sequence && from.epoch == epoch && from.pes == CkNumPes());
}

static void end(void)
{
	CHECK_EQ(CkFinalize(), 0);
	meet();
}

static int host(const char *dir)
{
	start(dir);
	CHECK(!CkRestartedFrom(NULL));
	const long first = step();
	step();
	save(1);
	const long third = step(), fourth = step();
	end();

	setenv("CK_RESTART", dir, 1);
	start(dir);
	goes_on(1, 1, 1);
	CHECK_EQ(step(), third);
	save(2);
	end();

	start(dir);
	goes_on(2, 2, 2);
	CHECK_EQ(step(), fourth);
	end();

	unsetenv("CK_RESTART");
	start(dir);
	CHECK(!CkRestartedFrom(NULL));
	CHECK_EQ(step(), first);
	end();
	if (rank == 0)
		printf("embedded_saves: checked\n");
	return 0;
}

/* ---- with a launcher ------------------------------------------------------------------------- */

/* When the run goes on from a checkpoint, the chares may tell what nobody waits for. False: the run
 * has ended, because it was asked to. */
static bool hear(int from, int to)
{
	least = from;
	most = to;
	done = 0;
	return CkRunUntil(&done);
}

/* The host's own variables are not saved: it asks the chares how far they are. */
static bool ask(void)
{
	Main_ask(main_proxy);
	return hear(ANSWER, INT_MAX);
}

static bool lead(int steps)
{
	if (!ask())
		return false;
	for (int n = last_status - ANSWER; n < steps; n++) {
		Main_save(main_proxy);
		if (!hear(CK_CHECKPOINT_SUCCESS, CK_CHECKPOINT_SUCCESS))
			return false;
		Cell_step_all(cells);
		if (!hear(NONE, NONE))
			return false;
	}
	return ask();
}

static int launched(int steps)
{
	start("memory");
	if (CkMyNode()) {
		CHECK(!CkRunUntil(NULL));
	} else if (lead(steps)) {
		printf("embedded_saves: %d steps, %ld\n", steps, last_sum);
		CkExit(0);
	}
	return CkFinalize();
}

int main(int argc, char **argv)
{
	int status, worst = 0;

	if (argc == 2)
		return launched(atoi(argv[1]));
	CHECK(argc == 4);
	n_nodes = atoi(argv[2]);
	pes = atoi(argv[3]);
	meeting_open();
	for (rank = 0; rank < n_nodes; rank++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(host(argv[1]));
		}
	for (int r = 0; r < n_nodes; r++)
		if (wait(&status) > 0 && status)
			worst = 1;
	return worst;
}
