/* SPDX-License-Identifier: Apache-2.0 */
/* image_task.c: the thread that writes while PEs compute. */
#include "image_task.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the thread: it gets 45 parts of a core where a PE that computes gets 1024. PEs that only poll
 * leave it enough. */
enum { NICE = 14 };

static void *task_thread(void *arg)
{
	struct image_task *t = arg;

	if (!t->hurries)
		setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	t->ok = t->run(t->arg, &t->why);
	/* Pairs with the loads in image_task_done and image_task_wait: the result comes before it. */
	atomic_store_explicit(&t->state, IMAGE_TASK_ENDED, memory_order_release);
	return NULL;
}

/* The program's signals are for its own threads. */
static int start_without_signals(struct image_task *t, const pthread_attr_t *attr)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);

	const int e = pthread_create(&t->thread, attr, task_thread, t);

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e;
}

static int start(struct image_task *t, size_t cpus_bytes, const void *cpus)
{
	pthread_attr_t attr;
	int e = pthread_attr_init(&attr);

	if (e)
		return e;
	if (cpus)
		pthread_attr_setaffinity_np(&attr, cpus_bytes, cpus);
	e = start_without_signals(t, &attr);
	pthread_attr_destroy(&attr);
	return e;
}

void image_task_start(struct image_task *t, bool (*run)(void *arg, struct image_why *why), void *arg,
		      size_t cpus_bytes, const void *cpus)
{
	t->run = run;
	t->arg = arg;
	t->why.text[0] = '\0';
	/* Only the caller reads it before the thread is there, whose start orders it. */
	atomic_store_explicit(&t->state, IMAGE_TASK_RUNS, memory_order_relaxed);
	t->has_thread = start(t, cpus_bytes, cpus) == 0;
	if (t->has_thread)
		return;
	t->ok = run(arg, &t->why);
	atomic_store_explicit(&t->state, IMAGE_TASK_ENDED, memory_order_relaxed);
}

static void leave(struct image_task *t)
{
	if (t->has_thread)
		pthread_join(t->thread, NULL);
	atomic_store_explicit(&t->state, IMAGE_TASK_NONE, memory_order_relaxed);
}

bool image_task_done(struct image_task *t)
{
	/* Pairs with the store in task_thread. */
	if (atomic_load_explicit(&t->state, memory_order_acquire) != IMAGE_TASK_ENDED)
		return false;
	leave(t);
	return true;
}

bool image_task_wait(struct image_task *t)
{
	if (atomic_load_explicit(&t->state, memory_order_acquire) == IMAGE_TASK_NONE)
		return false;
	leave(t);
	return true;
}
