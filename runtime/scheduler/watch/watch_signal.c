/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_signal.c: the watchdog's signals, because a busy PE takes no messages.
 *
 *   SIGUSR1       a request, mostly of ckrun's, for what the job does. PE 0 gets a message, and
 *                 makes a report (watch.c). Each PE of this process gets CHECK_SIGNAL.
 *   CHECK_SIGNAL  to one thread. From its PE's timer (CK_WATCHDOG=S): if the PE has been in one
 *                 handler for S seconds, the job ends. From SIGUSR1's handler: a busy PE prints
 *                 what runs. From SIGTERM's (watch_term.c): it says so, and ends the process.
 *
 * Handlers only read what their own PE has, and call async-signal-safe functions. A signal that the
 * program handles itself is left to the program.
 */
#include "watch.h"
#include "../../machine/base/cmi_alloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICKS = 4 };                /* of a timer, in the time that a handler may take */
#define CHECK_SIGNAL (SIGRTMAX - 5)

/* A handler of SIGUSR1 may run on a thread without a PE. Written when no handler is installed. A
 * forked child, which may get a signal to the process group, has another pid. */
static struct node *watched;
static pid_t watched_process;

const struct node *signals_node(void)
{
	return getpid() == watched_process ? watched : NULL;
}

void signals_check(const struct pe *pe)
{
	tgkill(getpid(), signals_of(pe)->thread, CHECK_SIGNAL);
}

/* ---- in signal handlers ---------------------------------------------------------------------- */

/* Relaxed: of this thread. */
static bool is_asleep(const struct pe *pe)
{
	return atomic_load_explicit(&pe->sleeping, memory_order_relaxed);
}

/* A handler runs, or the loop's last pass found something. */
static bool is_busy(const struct pe *pe)
{
	char what[160] = "";

	if (pe->node->up.describe)
		pe->node->up.describe(pe, what, sizeof what);
	return what[0] || (!is_asleep(pe) && pe->idle.polls == 0);
}

static void tell_busy(const struct pe *pe, void *context)
{
	char who[256], line[320];

	if (pe->stop || (!pe->away && !is_busy(pe)))
		return;
	pe_describe(pe, who, sizeof who);
	snprintf(line, sizeof line, "chard: %s is %s:\n", who, pe->away ? "in the host program" : "busy");
	cmi_signal_trace(line, context);
}

/* A PE that is idle makes passes, or sleeps. One that writes or reads a checkpoint takes as long as
 * the state is large. */
static void watch_tick(struct pe *pe, void *context)
{
	struct csd_signals *s = signals_of(pe);
	const uint64_t work = pe->n_processed + pe->n_dispatched + pe->passes;
	char who[256], line[400];

	if (pe->stop || pe->away || pe->frozen || is_asleep(pe) || work != s->work) {
		s->work = work;
		s->n_same = 0;
		return;
	}
	if (++s->n_same < TICKS)
		return;
	pe_describe(pe, who, sizeof who);
	snprintf(line, sizeof line,
		 "chard: %s has been in one handler for more than %d s (CK_WATCHDOG). The job ends "
		 "with exit code %d\n",
		 who, (int)pe->node->watchdog, WATCH_EXIT_CODE);
	cmi_signal_abort(pe->node->machine, WATCH_EXIT_CODE, line, context);
}

static void on_check(int sig, siginfo_t *info, void *context)
{
	struct pe *pe = csd_self();
	const int kept = errno;

	(void)sig;
	if (pe && signals_of(pe)) {
		/* Acquire: pairs with the release in term_chosen. */
		const int n_long = atomic_load_explicit(&signals_of(pe)->terminated, memory_order_acquire);

		if (n_long)
			term_say_and_end(pe, n_long);
		else if (info->si_code == SI_TIMER)
			watch_tick(pe, context);
		else
			tell_busy(pe, context);
	}
	errno = kept;
}

static void on_ask(int sig, siginfo_t *info, void *context)
{
	const struct node *node = signals_node();
	const int kept = errno;

	(void)sig, (void)info;
	if (!node)
		return;
	for (int i = 0; i < node->job->my_n_pes; i++) {
		const struct pe *pe = node->pes[i];

		if (pe == csd_self() && signals_of(pe))
			tell_busy(pe, context);
		else if (signals_of(pe))
			signals_check(pe);
	}
	if (node->job->node == 0)
		watch_look(node->pes[0]);
	errno = kept;
}

/* ---- start and stop -------------------------------------------------------------------------- */

bool signals_install(int sig, void (*fn)(int sig, siginfo_t *info, void *context))
{
	struct sigaction ours = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK }, now;

	ours.sa_sigaction = fn;
	sigemptyset(&ours.sa_mask);
	return !sigaction(sig, NULL, &now) && now.sa_handler == SIG_DFL && !sigaction(sig, &ours, NULL);
}

void signals_start(struct node *node)
{
	if (!node->watchdog || !uses_signals(node))
		return;
	watched = node;
	watched_process = getpid();
	if (!signals_install(CHECK_SIGNAL, on_check) && node->watchdog > 0)
		csd_abort(NULL, "CK_WATCHDOG=%d: the program uses signal %d itself",
			  (int)node->watchdog, CHECK_SIGNAL);
	signals_install(SIGUSR1, on_ask);
	term_start();
}

void signals_uninstall(int sig, void (*fn)(int sig, siginfo_t *info, void *context),
		       void (*then)(int))
{
	struct sigaction now;

	if (!sigaction(sig, NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == fn)
		signal(sig, then);
}

void signals_stop(struct node *node)
{
	if (!node->watchdog || watched != node)
		return;
	/* No more requests from now on. */
	signals_uninstall(SIGUSR1, on_ask, node->cfg->guest ? SIG_DFL : SIG_IGN);
	signals_uninstall(CHECK_SIGNAL, on_check, node->cfg->guest ? SIG_DFL : SIG_IGN);
	term_stop();
}

static void timer_start(struct pe *pe, struct csd_signals *s)
{
	const uint64_t ns = (uint64_t)pe->node->watchdog * (1000000000 / TICKS);
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = CHECK_SIGNAL };
	struct itimerspec every;

	every.it_value.tv_sec = (time_t)(ns / 1000000000);
	every.it_value.tv_nsec = (long)(ns % 1000000000);
	every.it_interval = every.it_value;
	ev._sigev_un._tid = s->thread;
	if (timer_create(CLOCK_MONOTONIC, &ev, &s->timer))
		csd_abort(pe, "CK_WATCHDOG: cannot make a timer: %s", strerror(errno));
	s->has_timer = true;
	timer_settime(s->timer, 0, &every, NULL);
}

void signals_pe_start(struct pe *pe)
{
	struct csd_signals *s = cmi_alloc_zero(1, sizeof *s, "the watchdog");

	s->thread = gettid();
	/* Relaxed: as in look_at_core. The main chares' constructors run before the first pass. */
	atomic_store_explicit(&pe->idle.seen_ns, csd_now_ns(), memory_order_relaxed);
	pe->passes = IDLE_CORE_PASSES - 1;
	/* Release: a handler on any thread sees it complete or not at all (signals_of). */
	atomic_store_explicit(&pe->signals, s, memory_order_release);
	if (pe->node->watchdog > 0)
		timer_start(pe, s);
}

void signals_pe_stop(struct pe *pe)
{
	struct csd_signals *s = signals_of(pe);

	if (s->has_timer)
		timer_delete(s->timer);
	s->has_timer = false;
}
