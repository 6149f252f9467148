/* SPDX-License-Identifier: Apache-2.0 */
/* job.c: see job.h. */
#include "job.h"

#include <stdatomic.h>
#include <unistd.h>

#include "cmi.h"

/* Written by the main thread before there are others; `machine` again when they have ended. */
static struct {
	/* Release, acquire: a thread that is not ours may call exit at any time, and sees the fields below
	 * when it sees this. NULL: there is no job. */
	_Atomic(struct cmi *) machine;
	pid_t pid; /* its process; a child has a copy */
	struct cmi_watcher by;
	bool signals;
} job;

struct cmi *job_of_parent(void)
{
	return atomic_load_explicit(&job.machine, memory_order_acquire);
}

bool cmi_in_child(void)
{
	return job_of_parent() && getpid() != job.pid;
}

struct cmi *job_here(void)
{
	return cmi_in_child() ? NULL : job_of_parent();
}

bool job_takes_signals(const struct cmi *m)
{
	return job_of_parent() == m && job.signals;
}

void job_whoami(char *buf, size_t len)
{
	buf[0] = 0;
	if (job.by.whoami)
		job.by.whoami(buf, len);
}

void job_explain(const void *at, uintptr_t sp, char *buf, size_t len)
{
	if (job.by.explain)
		job.by.explain(at, sp, buf, len);
}

void job_forked(void)
{
	if (job.by.forked)
		job.by.forked();
}

void job_begin(struct cmi *m, const struct cmi_watcher *by, bool signals)
{
	job.pid = getpid();
	job.by = *by;
	job.signals = signals;
	atomic_store_explicit(&job.machine, m, memory_order_release);
}

void job_end(const struct cmi *m)
{
	if (job_of_parent() == m)
		atomic_store_explicit(&job.machine, NULL, memory_order_release);
}
