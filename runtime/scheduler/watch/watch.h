/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h: the watchdog. */
#ifndef CSD_WATCH_H
#define CSD_WATCH_H

#include "../loop/loop.h"

extern const struct csd_layer watch_layer;

enum { WATCH_EXIT_CODE = 125 };
#define WATCH_REPORT "the watchdog's report" /* for lines about memory */
void watch_tell(struct pe *pe, struct csd_told *to); /* what waits on this PE */
void watch_look(struct pe *pe);            /* PE 0, from a signal handler on any thread: make a
					    * report */
/* PE 0; told[PE].at NULL: the PE is silent */
void watch_print(const struct pe *pe, const char *why, const struct csd_told *told, int n);

/* watch_signal.c */


void signals_start(struct node *node);     /* main thread */
void signals_stop(struct node *node);
void signals_pe_start(struct pe *pe);
void signals_pe_stop(struct pe *pe);

#endif
