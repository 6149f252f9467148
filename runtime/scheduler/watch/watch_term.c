/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_term.c: SIGTERM ends the process as it always does, but first one line says what it
 * interrupts:
 *
 *	chard: node 0: ended by SIGTERM; PE 2 has been in Block::step at Block(3) for 12.3 s
 *
 * Of a node's PEs that is the one whose loop has not read the clock for the longest time, if that
 * is LONG_NS or more. Its own thread says so, because only that may look at what it runs: it gets
 * CHECK_SIGNAL. If the thread does not answer, blocked in the kernel perhaps, the line does without
 * a name. A job of many nodes whose PEs are all idle or in short handlers has one line, of node 0.
 *
 * A SIGTERM that the program handles or ignores is left to it. When a node of the host has reported
 * a mistake, nothing is said: launchers end the other nodes by SIGTERM.
 */
#include "watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const uint64_t LONG_NS = 1000 * 1000 * 1000;

/* Relaxed: see csd_idle. */
static uint64_t unseen_ns(const struct pe *pe, uint64_t now)
{
	const uint64_t seen = atomic_load_explicit(&pe->idle.seen_ns, memory_order_relaxed);

	return now > seen ? now - seen : 0;
}

/* Relaxed: a PE that falls asleep now is seen either way. */
static bool term_is_long(const struct pe *pe, uint64_t now)
{
	return signals_of(pe) && !atomic_load_explicit(&pe->sleeping, memory_order_relaxed) &&
	       unseen_ns(pe, now) >= LONG_NS;
}

/* The PE in the longest handler; NULL: none is in a long one. *n_long: how many are. */
static struct pe *longest(const struct node *node, int *n_long)
{
	const uint64_t now = csd_now_ns();
	struct pe *found = NULL;

	*n_long = 0;
	for (int i = 0; i < node->job->my_n_pes; i++) {
		struct pe *pe = node->pes[i];

		if (!term_is_long(pe, now))
			continue;
		++*n_long;
		if (!found || unseen_ns(pe, now) > unseen_ns(found, now))
			found = pe;
	}
	return found;
}

static const char IDLE[] =
	"chard: node 0: ended by SIGTERM; its PEs are idle, or in handlers of less than 1 s";

/* The line, if any, with the default action after it: in the handler of SIGTERM it waits until that
 * has returned. */
static void term_end(const char *line)
{
	if (line)
		cmi_signal_say(line);
	signal(SIGTERM, SIG_DFL);
	raise(SIGTERM);
}

static void term_say(const struct pe *pe, const char *what, bool exact, int n_long)
{
	const uint64_t tenths = unseen_ns(pe, csd_now_ns()) / (LONG_NS / 10);
	char line[400], others[64] = "";

	if (n_long > 1)
		snprintf(others, sizeof others, ", and %d other PE%s in %s for more than 1 s", n_long - 1,
			 n_long == 2 ? "" : "s", n_long == 2 ? "another" : "others");
	snprintf(line, sizeof line,
		 "chard: node %d: ended by SIGTERM; PE %d has been in %s for %s%" PRIu64 ".%" PRIu64 " s%s",
		 pe->node->job->node, pe->id, what, exact ? "" : "at most ", tenths / 10, tenths % 10,
		 others);
	term_end(line);
}

/* A pass or two may be under way since the clock was read last; more, and the time is not one
 * handler's. */
void term_say_and_end(struct pe *pe, int n_long)
{
	char what[256] = "";

	if (pe->node->up.describe_fully && !pe->away)
		pe->node->up.describe_fully(pe, what, sizeof what);
	term_say(pe, pe->away ? "the host program" : what[0] ? what : "one pass of its loop",
		 pe->passes - pe->idle.seen_passes <= 1, n_long);
}

/* The PE's thread ends the process meanwhile. */
static void wait_for_end(void)
{
	enum { MOST_MS = 200 };
	const struct timespec one_ms = { 0, 1000000 };

	for (int i = 0; i < MOST_MS; i++)
		nanosleep(&one_ms, NULL);
}

static void term_chosen(struct pe *pe, int n_long)
{
	if (pe == csd_self()) {
		term_say_and_end(pe, n_long);
		return;
	}
	/* Release: pairs with the acquire in on_check. */
	atomic_store_explicit(&signals_of(pe)->terminated, n_long, memory_order_release);
	signals_check(pe);
	wait_for_end();
	term_say(pe, "one handler", true, n_long);
}

static void on_term(int sig, siginfo_t *info, void *context)
{
	const struct node *node = signals_node();
	const bool says = node && !cmi_told_frames(node->machine);
	const int kept = errno;
	int n_long = 0;
	struct pe *pe = says ? longest(node, &n_long) : NULL;

	(void)sig, (void)info, (void)context;
	if (pe)
		term_chosen(pe, n_long);
	else
		term_end(says && node->job->node == 0 ? IDLE : NULL);
	errno = kept;
}

void term_start(void)
{
	signals_install(SIGTERM, on_term);
}

void term_stop(void)
{
	signals_uninstall(SIGTERM, on_term, SIG_DFL);
}
