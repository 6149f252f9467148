/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h: the watchdog. */
#ifndef CSD_WATCH_H
#define CSD_WATCH_H

#include <signal.h>
#include <time.h>

#include "../loop/loop.h"

extern const struct csd_layer watch_layer;

enum { WATCH_EXIT_CODE = 125 };
#define WATCH_REPORT "the watchdog's report" /* for lines about memory */
void watch_tell(struct pe *pe, struct csd_told *to); /* what waits on this PE */
void watch_look(struct pe *pe);            /* PE 0, from a signal handler on any thread: make a
					    * report */
/* PE 0; told[PE].at NULL: the PE is silent. The report's text; the caller frees it. */
char *watch_text(const struct pe *pe, const char *why, const struct csd_told *told, int n);

/** One PE. Its thread and the handlers on this thread use it, unless it says otherwise. */
struct csd_signals {
	pid_t thread;              /* constant */
	timer_t timer;
	bool has_timer;
	uint64_t work;             /* the PE's progress at the last tick */
	int n_same;                /* ticks without progress */
	/* How many PEs of the node are in long handlers, this one in the longest: it says so, and ends
	 * the process. Set by a handler on any thread. */
	atomic_int terminated;
};

/* watch_signal.c */

/** Whether the signal was the system's, and is ours now. */
bool signals_install(int sig, void (*fn)(int sig, siginfo_t *info, void *context));
/** What the signal does afterwards, if it is still ours: SIG_DFL or SIG_IGN. */
void signals_uninstall(int sig, void (*fn)(int sig, siginfo_t *info, void *context),
		       void (*then)(int));
/** Async-signal-safe: have the handler of watch_signal.c run on the PE's thread. */
void signals_check(const struct pe *pe);
/** The node whose process this is; NULL: there is none, or this is a forked child. */
const struct node *signals_node(void);
/* Acquire: pairs with the release in signals_pe_start, for handlers on threads of other PEs. */
static inline struct csd_signals *signals_of(const struct pe *pe)
{
	return atomic_load_explicit(&pe->signals, memory_order_acquire);
}

/* watch_term.c */

void term_start(void);
void term_stop(void);
/** In a signal handler on the PE's thread: it was chosen by SIGTERM's. */
void term_say_and_end(struct pe *pe, int n_long);

void signals_start(struct node *node);     /* main thread */
void signals_stop(struct node *node);
void signals_pe_start(struct pe *pe);
void signals_pe_stop(struct pe *pe);

#endif
