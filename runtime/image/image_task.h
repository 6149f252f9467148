/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_task.h: what a process does for a checkpoint on disk while its PEs compute. A thread of its
 * own does it, because a disk may take seconds for any call. One task at a time.
 */
#ifndef IMAGE_TASK_H
#define IMAGE_TASK_H

#include <pthread.h>
#include <stdatomic.h>

#include "image_why.h"

/** A task of a process. Zeroed at first. */
struct image_task {
	bool (*run)(void *arg, struct image_why *why);
	void *arg;
	pthread_t thread;
	bool has_thread;
	bool hurries;            /* the caller's: with the priority of PEs */
	_Atomic int state;       /* enum image_task_state */
	bool ok;                 /* what `run` has returned, and said */
	struct image_why why;
};

enum image_task_state { IMAGE_TASK_NONE, IMAGE_TASK_RUNS, IMAGE_TASK_ENDED };

/** Run run(arg) on a thread, without signals, and with much less priority than PEs unless it
 * hurries. `arg` is the thread's until the task is done. The thread may run on the processors of
 * `cpus`; NULL: those of the caller. If there is no thread to be had, the caller runs it before
 * this returns. */
void image_task_start(struct image_task *t, bool (*run)(void *arg, struct image_why *why), void *arg,
		      size_t cpus_bytes, const void *cpus);

/** Whether the task has ended; never waits. True once for each start; then `ok` and `why` are the
 * caller's, and another task may start. */
bool image_task_done(struct image_task *t);

/** Wait until it has ended. Without a task it returns false, at once. */
bool image_task_wait(struct image_task *t);

#endif
