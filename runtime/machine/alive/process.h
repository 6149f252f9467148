/* SPDX-License-Identifier: Apache-2.0 */
/* process.h: process.c's functions, besides cmi_watch and cmi_pe_watch of cmi.h. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>

struct cmi;

/** Any thread, and signal handlers: whether the address lies in memory shared by this host's
 * nodes. */
bool process_shares(const void *at);

/** cmi_pe_close: the thread may end. */
void process_pe_leaves(void);
/** The machine is about to be freed: an exit from now on ends only this process. */
void process_forget(const struct cmi *m);

#endif
