/* SPDX-License-Identifier: Apache-2.0 */
/* process.h: the job that this process is a node of, and what the process does behind its back; with cmi_watch,
 * cmi_pe_watch and cmi_in_child of cmi.h. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmi;

/** The node whose process this is, between cmi_watch and cmi_close; NULL: there is none, or this is a forked child. Any
 * thread, and signal handlers, as the next ones. */
struct cmi *process_job(void);
/** Whether faults of this node are caught by signals. */
bool process_signals(const struct cmi *m);
/** Who runs on this thread; empty if nobody knows. */
void process_whoami(char *buf, size_t len);
/** What a fault means, if that can be told (struct cmi_watcher). */
void process_explain(const void *at, uintptr_t sp, char *buf, size_t len);
/** Whether the address is in memory that the nodes of this host share. */
bool process_shares(const void *at);

/** cmi_pe_close: the thread may end. */
void process_pe_leaves(void);
/** The machine is about to be freed: what happens from now on ends only this process. */
void process_forget(const struct cmi *m);

#endif
