/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: the job of which this process is a node; besides cmi_in_child of cmi.h. */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmi;
struct cmi_watcher;

/** Main, before there are other threads (cmi_watch). */
void job_begin(struct cmi *m, const struct cmi_watcher *by, bool signals);
/** The machine is about to be freed: an exit from now on ends only this process. */
void job_end(const struct cmi *m);

/** The node of this process, between job_begin and job_end; NULL: there is none, or this is a
 * forked child. Any thread, and signal handlers; so may the following ones. */
struct cmi *job_here(void);
/** The same; in a forked child the node of its parent. */
struct cmi *job_of_parent(void);
/** Whether this node catches faults by signals. */
bool job_takes_signals(const struct cmi *m);
/** Describe this thread's work; empty if unknown. */
void job_whoami(char *buf, size_t len);
/** Explain a fault, if possible (struct cmi_watcher). */
void job_explain(const void *at, uintptr_t sp, char *buf, size_t len);
/** Called once in a forked child: inform the watcher. */
void job_forked(void);

#endif
