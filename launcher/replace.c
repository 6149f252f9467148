/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replace.c: --replace. When a node is killed, ckrun kills all others, too, and starts all of them
 * again. They go on from the newest checkpoint in memory, which ckrun keeps and no node takes along
 * (runtime/image/image_memory.h). So no node has to live on beside a dead one, and any number of
 * them may die together.
 *
 *   RUNNING ----a node dies----> REPLACING ----all are reaped----> RUNNING
 *   REPLACING --signal, timeout, cannot start--> ENDING (job.c)
 *
 * In REPLACING no word of a node counts. When the nodes start again, ckrun knows nothing of the
 * earlier ones: sockets, pipes, published data and fences are new.
 *
 * What the program itself decides is no death: exit codes, CkAbort, the watchdog's 125.
 */
#include "launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	SPARE_MS = 200,       /* in which a node that aborts may finish its output */
	KILL_MS = 20000,      /* the kernel frees the memory of a large node before it can be reaped */
	AT_ONCE_MS = 1000,    /* a death this soon after the nodes have met is one at once */
	LAST_WORDS = 1 << 20, /* bytes to read at most of an ended node */
};

bool launch_replace_start(struct launch_job *job)
{
	struct image_why why = { "" };

	if (job->o.delegate || image_memory_make(&job->images, &why) || !job->o.replace)
		return true;
	launch_job_end(job, 1, 0, NULL, "--replace: %s", why.text);
	return false;
}

void launch_replace_end(struct launch_job *job)
{
	if (job->images.page)
		image_memory_close(&job->images);
	free(job->first_restart);
}

/* ---- a death ---------------------------------------------------------------------------- */

/** A fault of the program's own; a signal from outside, such as SIGKILL, is not. */
static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGABRT;
}

bool launch_dies_again(struct launch_job *job, bool fault, uint64_t saved, int64_t lived_ms)
{
	const bool again = fault && job->faulted && job->saved_at_death == saved && lived_ms >= 0 &&
			   lived_ms < AT_ONCE_MS;

	job->faulted = fault;
	job->saved_at_death = saved;
	return again;
}

static void note_death(struct launch_job *job)
{
	struct image_info saved = { 0 };

	image_memory_committed(&job->images, &saved);
	image_since_died(&job->images.page->since, saved.at_ns, launch_now_ns());
}

void launch_replace_all(struct launch_job *job, const struct launch_node *spare)
{
	job->phase = LAUNCH_REPLACING;
	job->spared = spare;
	job->deadline = launch_now_ms() + (spare ? SPARE_MS : KILL_MS);
	launch_kill_nodes(job, spare);
}

/** The node has died, or will at once: `what` says how, by signal `sig`. */
static bool replace(struct launch_job *job, const struct launch_node *n, int sig, const char *what,
		    const struct launch_node *spare)
{
	const int64_t lived_ms = job->met_ms ? launch_now_ms() - job->met_ms : -1;
	char name[64], from[300];

	launch_node_name(n, name, sizeof(name));
	if (launch_dies_again(job, is_fault(sig), image_memory_committed(&job->images, NULL),
			      lived_ms)) {
		launch_job_end(job, 128 + sig, 0, NULL,
			       "%s %s, again at once, and nothing was saved in between; the job is ended", name,
			       what);
		return true;
	}
	if (job->n_replaced >= job->o.replace)
		return false;
	note_death(job);
	job->n_replaced++;
	launch_replace_all(job, spare);
	launch_take_last_words(job);
	launch_say(job, "%s %s; starting again from %s (%d of %d)", name, what,
		   launch_restart_from(job, image_memory_committed(&job->images, NULL), from,
				       sizeof(from)), job->n_replaced, job->o.replace);
	return true;
}

static bool is_replaceable(const struct launch_job *job, const struct launch_node *n)
{
	/* Acquire: pairs with PE 0's release: it ends the job now, as it was asked to. */
	return job->o.replace && !job->o.delegate && job->phase == LAUNCH_RUNNING && !n->left &&
	       !atomic_load_explicit(&job->images.page->talk.leaves, memory_order_acquire);
}

bool launch_replace_dead(struct launch_job *job, const struct launch_node *n, const siginfo_t *how)
{
	char what[64];

	if (!is_replaceable(job, n) || how->si_code == CLD_EXITED)
		return false;
	snprintf(what, sizeof(what), "was killed by signal %d (%s)", how->si_status,
		 strsignal(how->si_status));
	return replace(job, n, how->si_status, what, NULL);
}

bool launch_replace_aborted(struct launch_job *job, const struct launch_node *n, int code)
{
	char what[64];

	if (launch_replace_unseen(job))
		return true;
	if (!is_replaceable(job, n) || code <= 128 || !is_fault(code - 128))
		return false;
	snprintf(what, sizeof(what), "ended by signal %d (%s)", code - 128, strsignal(code - 128));
	return replace(job, n, code - 128, what, n);
}

/* A node that can still answer says what it is in, if it is given the time. */
void launch_replace_hung(struct launch_job *job, const struct launch_node *n, int pe)
{
	char name[64], what[128], why[40] = "a signal has stopped it";

	if (pe >= 0)
		snprintf(why, sizeof(why), "PE %d stays in one handler", pe);
	snprintf(what, sizeof(what), "has not moved for %g s (%s)", (double)job->o.hung_ms / 1000, why);
	if (is_replaceable(job, n) && replace(job, n, SIGKILL, what, pe < 0 ? NULL : n)) {
		kill(n->pid, SIGTERM);
		return;
	}
	launch_job_end(job, 128 + SIGKILL, 0, NULL, "%s %s; the job is ended",
		       launch_node_name(n, name, sizeof(name)), what);
}

/* Survivors notice a death themselves and fail. If ckrun hears of that first, it looks here for the
 * death. */
bool launch_replace_unseen(struct launch_job *job)
{
	for (int i = 0; i < job->n_started && job->o.replace; i++) {
		const struct launch_node *n = &job->nodes[i];
		siginfo_t how = { 0 };

		if (!n->ended && !waitid(P_PID, (id_t)n->pid, &how, WEXITED | WNOHANG | WNOWAIT) &&
		    how.si_pid && launch_replace_dead(job, n, &how))
			return true;
	}
	return false;
}

void launch_replace_late(struct launch_job *job)
{
	if (!job->spared) {
		launch_job_end(job, 1, 0, NULL,
			       "the nodes were killed, but some are still there; the job is ended");
		return;
	}
	job->spared = NULL;
	job->deadline = launch_now_ms() + KILL_MS;
	launch_kill_nodes(job, NULL);
}

/* ---- again ------------------------------------------------------------------------------ */

static void forget_node(struct launch_node *n)
{
	launch_pmi_hang_up(n);
	n->joined = n->left = n->in_fence = n->stopped = false;
	for (int i = 0; i < 2; i++) {
		launch_stream_read(&n->streams[i], LAST_WORDS);
		launch_stream_close(&n->streams[i]);
		launch_sink_end_line(n->streams[i].sink);
	}
}

static void forget(struct launch_job *job)
{
	for (int i = 0; i < job->n_nodes; i++)
		forget_node(&job->nodes[i]);
	launch_progress_forget(job);
	launch_kvs_fini(&job->kvs);
	job->kvs = (struct launch_kvs){ 0 };
	job->n_in_fence = job->n_started = 0;
	job->met_ms = 0;
	job->spared = NULL;
}

void launch_replace_reaped(struct launch_job *job)
{
	struct image_page *page = job->images.page;

	forget(job);
	if (job->o.again) {
		launch_again_reaped(job);
		return;
	}
	/* Relaxed: the nodes are made after it. */
	atomic_fetch_add_explicit(&page->restarts, 1, memory_order_relaxed);
	if (image_memory_committed(&job->images, NULL) && setenv("CK_RESTART", "memory", true))
		launch_must_have(NULL, "the nodes' environment");
	launch_resize_now(job);
	launch_ask_again(job);
	job->phase = LAUNCH_RUNNING;
	launch_spawn_nodes(job);
}
