/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_saves DIR MS [ends]: the job is saved in DIR. Packing an element, unpacking one, and writing
 * the file of the main chare's process to the disk take MS each. Nothing else happens meanwhile, so
 * the watchdog is tempted. While that file is written, the job is asked what it does (SIGUSR1). A
 * job that starts from the checkpoint does the same. ends: the job ends while it is written.
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slow_saves.decl.h"

static atomic_bool asks;   /* in the process of the main chare */
static atomic_int slow_by; /* slow_ms, where no PE runs */
static bool ends;
static atomic_int n_joins; /* of the thread that makes the folder, then of the one that writes */

static void take_long(void)
{
	const int ms = atomic_load(&slow_by);
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t))
		;
}

/* Neither the manifest nor the lock. */
static bool is_of_node(int fd)
{
	char link[64], path[512] = "";

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/node-");
}

/* In place of the C library's: the thread that writes a checkpoint calls it. */
int fdatasync(int fd)
{
	if (atomic_load(&asks) && is_of_node(fd)) {
		kill(getpid(), SIGUSR1);
		while (ends && atomic_load(&n_joins) < 2)
			sched_yield();
		take_long();
	}
	return (int)syscall(SYS_fdatasync, fd);
}

/* In place of the C library's, too: the job that ends calls it. */
int pthread_join(pthread_t thread, void **result)
{
	atomic_fetch_add(&n_joins, 1);
	return pthread_timedjoin_np(thread, result, NULL);
}

static void begin(Main *self)
{
	atomic_store(&asks, true);
	atomic_store(&slow_by, slow_ms);
	CkStartCheckpoint(self->dir, Main_cb_saved(main_proxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK(m->argc == 3 || m->argc == 4);
	strncpy(self->dir, m->argv[1], sizeof self->dir - 1);
	slow_ms = atoi(m->argv[2]);
	main_proxy = Main_thisProxy(self);
	Cell_ckNew(CkDims(2));
	ends = m->argc == 4;
	begin(self);
	if (ends)
		CkStartQD(Main_cb_ends(main_proxy));
}

/* The PEs have thawed, and are at rest once more. */
void Main_on_ends(Main *self)
{
	(void)self;
	CkExit(0);
}

void Main_on_arrived(Main *self)
{
	begin(self);
}

/* When it goes on it is told so, and has asked for another one already. */
void Main_on_saved(Main *self, int status)
{
	(void)self;
	if (status == CK_CHECKPOINT_RESTARTED)
		return;
	CHECK_EQ(status, CK_CHECKPOINT_SUCCESS);
	CkPrintf("slow_saves: saved\n");
	CkExit(0);
}

void Cell_on_new(Cell *self)
{
	self->n = 17;
}

void Cell_pup(pup_er p, Cell *self)
{
	pup_int(p, &self->n);
	if (!pup_isSizing(p)) {
		atomic_store(&slow_by, slow_ms);
		take_long();
	}
}

#include "slow_saves.def.h"
