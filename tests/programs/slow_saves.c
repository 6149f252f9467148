/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_saves DIR MS: the job is saved in DIR. Packing an element and unpacking one take MS each,
 * and writing a file to the disk takes half of that. Nothing else happens meanwhile, so the
 * watchdog is tempted. While the file of the main chare's process is written, the job is asked what
 * it does (SIGUSR1). A job that starts from the checkpoint does the same.
 */
#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slow_saves.decl.h"

static atomic_bool asks;   /* in the process of the main chare */
static atomic_int slow_by; /* slow_ms, where no PE runs */

static void take_long(int share)
{
	const int ms = atomic_load(&slow_by) / share;
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t))
		;
}

/* In place of the C library's: the thread that writes a checkpoint calls it. */
int fdatasync(int fd)
{
	if (atomic_load(&asks)) {
		kill(getpid(), SIGUSR1);
		take_long(2);
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void begin(Main *self)
{
	atomic_store(&asks, true);
	atomic_store(&slow_by, slow_ms);
	CkStartCheckpoint(self->dir, Main_cb_saved(main_proxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK(m->argc == 3);
	strncpy(self->dir, m->argv[1], sizeof self->dir - 1);
	slow_ms = atoi(m->argv[2]);
	main_proxy = Main_thisProxy(self);
	Cell_ckNew(CkDims(2));
	begin(self);
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
		take_long(1);
	}
}

#include "slow_saves.def.h"
