/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: the job that this process is a node of; with cmi_in_child of cmi.h. */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmi;
struct cmi_watcher;

/** Main, before there are other threads (cmi_watch). */
void job_begin(struct cmi *m, const struct cmi_watcher *by, bool signals);
/** The machine is about to be freed: what happens from now on ends only this process. */
void job_end(const struct cmi *m);

/** The node whose process this is, between job_begin and job_end; NULL: there is none, or this is a
 * forked child. Any thread, and signal handlers, as the next ones. */
struct cmi *job_here(void);
/** The same; in a forked child that of its parent. */
struct cmi *job_of_parent(void);
/** Whether faults of this node are caught by signals. */
bool job_takes_signals(const struct cmi *m);
/** Who runs on this thread; empty if nobody knows. */
void job_whoami(char *buf, size_t len);
/** What a fault means, if that can be told (struct cmi_watcher). */
void job_explain(const void *at, uintptr_t sp, char *buf, size_t len);
/** In a forked child, once: tell who watches. */
void job_forked(void);

#endif
