/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collatz.c: which number takes the most steps of Collatz' sequence? A master, workers that move,
 * priorities, and a cache in a group: a branch asks the home branch of a number and waits in a
 * thread for a future. Written from the guide alone (docs/decisions/0105).
 */
#include <stdlib.h>

#include "collatz.decl.h"

enum { CHUNK = 64 };

struct Main { CProxy_Worker workers; long next, limit, best, best_steps; int n_open; };
struct Worker { int n_tasks; };
struct Cache { int *steps; long n_hits, n_misses; };     /* of each number; -1: not known */

static long follow(long n) { return n % 2 ? 3 * n + 1 : n / 2; }

/* What comes first is what later numbers ask for. Questions to the caches come before all tasks. */
static void give(Main *self, int worker)
{
	CkEntryOptions o = {.prio = (int)(self->next / CHUNK) + 1};
	long end = self->next + CHUNK < self->limit ? self->next + CHUNK : self->limit;

	if (self->next >= self->limit)
		return;
	Worker_search_opt(&o, Worker_at(self->workers, worker), self->next, end,
			  Main_cb_done(mainProxy));
	self->next = end;
	self->n_open++;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int n_workers = m->argc > 1 ? atoi(m->argv[1]) : 8;

	self->limit = m->argc > 2 ? atol(m->argv[2]) : 3000;
	n_cached = m->argc > 3 ? atoi(m->argv[3]) : 4096;
	mainProxy = Main_thisProxy(self);
	caches = Cache_ckNew();
	self->workers = Worker_ckNew(CkDims(n_workers));
	self->next = 1;
	for (int i = 0; i < 2 * n_workers; i++)         /* two each, so that none has to wait */
		give(self, i % n_workers);
}

void Main_on_done(Main *self, int n, const long *found)
{
	if (found[2] > self->best_steps || (found[2] == self->best_steps && found[1] < self->best)) {
		self->best = found[1];
		self->best_steps = found[2];
	}
	self->n_open--;
	give(self, (int)found[0]);
	if (self->n_open == 0)
		Cache_count_all(caches);
}

void Main_on_counted(Main *self, long hits, long misses)
{
	long best = 1, most = 0;

	for (long i = 1; i < self->limit; i++) {
		long steps = 0;

		for (long n = i; n != 1; n = follow(n))
			steps++;
		if (steps > most) {
			most = steps;
			best = i;
		}
	}
	CkPrintf("%ld takes %ld steps; %ld hits, %ld misses\n", self->best, self->best_steps, hits,
		 misses);
	CkExit(best == self->best && most == self->best_steps ? 0 : 1);
}

void Cache_on_new(Cache *self)
{
	self->steps = malloc((size_t)n_cached * sizeof *self->steps);
	for (int i = 0; i < n_cached; i++)
		self->steps[i] = -1;
	self->steps[1] = 0;
}

static int ask_home(long n)
{
	CkFuture f = CkCreateFutureTyped(CK_INT);

	Cache_find(Cache_at(caches, (int)(n % CkNumPes())), n, f);
	CkReductionMsg *m = CkWaitReleaseFuture(f);
	int steps = *(const int *)CkReductionMsg_data(m);
	CkFreeMsg(m);
	return steps;
}

/* In threads only: the answer may be elsewhere. */
static int steps_of(long n)
{
	Cache *mine = Cache_ckLocalBranch(caches);
	int before = 0;

	for (; n >= n_cached; n = follow(n))
		before++;
	if (mine->steps[n] >= 0) {
		mine->n_hits++;
		return before + mine->steps[n];
	}
	mine->n_misses++;
	mine->steps[n] = ask_home(n);
	return before + mine->steps[n];
}

void Cache_on_find(Cache *self, long n, CkFuture answer)
{
	int steps = self->steps[n];

	if (steps < 0)
		steps = self->steps[n] = 1 + steps_of(follow(n));
	CkSendToFutureTyped(answer, CK_INT, &steps, 1);
}

void Cache_on_count(Cache *self)
{
	long counts[2] = {self->n_hits, self->n_misses};

	free(self->steps);
	CkContribute(self, counts, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Worker_on_new(Worker *self)
{
	self->n_tasks = 0;
}

void Worker_on_search(Worker *self, long first, long end, CkCallback done)
{
	long found[3] = {Worker_thisIndex(self), first, 0};

	for (long n = first; n < end; n++) {
		int steps = steps_of(n);

		if (steps > found[2]) {
			found[1] = n;
			found[2] = steps;
		}
	}
	if (++self->n_tasks % 3 == 0)
		CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes());
	CkCallbackSendTyped(done, CK_LONG, found, 3);
}

#include "collatz.def.h"
