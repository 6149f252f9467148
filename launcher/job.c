/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c: how a job ends. The first failure decides the exit code and prints the only line; later
 * ones are its consequences.
 *
 *   RUNNING --failure---------------------> KILLED   (all nodes killed at once)
 *   RUNNING --signal, timeout, bad exit---> ENDING --grace over--> KILLED
 *   RUNNING --a death with --replace------> REPLACING --all nodes reaped--> RUNNING (replace.c)
 *   any     --all nodes reaped------------> over
 */
#include "launch.h"
#include "../runtime/machine/tools/one_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	GIVE_UP_MS = 800,     /* a killed process that still exists hangs in the kernel */
	REPORT_MS = 1500,     /* for the nodes' reports; they need a second to detect one that does not
			       * answer */
	LAST_WORDS = 1 << 20, /* bytes to read at most of an ended node; others may still write there */
};

uint64_t launch_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t launch_now_ms(void)
{
	return (int64_t)(launch_now_ns() / 1000000);
}

static void say_args(struct launch_job *job, const char *fmt, va_list args)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "ckrun: ");
	vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
	one_line(line);
	strcat(line, "\n");
	launch_sink_say(job->err, line);
}

void launch_say(struct launch_job *job, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	say_args(job, fmt, args);
	va_end(args);
}

char *launch_node_name(const struct launch_node *n, char *buf, size_t cap)
{
	if (n->launcher)
		snprintf(buf, cap, "%s (pid %d)", n->launcher, (int)n->pid);
	else if (n->n_pes == 1)
		snprintf(buf, cap, "node %d (PE %d, pid %d)", n->rank, n->first_pe, (int)n->pid);
	else
		snprintf(buf, cap, "node %d (PEs %d-%d, pid %d)", n->rank, n->first_pe,
			 n->first_pe + n->n_pes - 1, (int)n->pid);
	return buf;
}

/* ---- ending ------------------------------------------------------------------------- */

static void signal_node(const struct launch_node *n, int sig)
{
	if (!n->ended)
		kill(n->own_group ? -n->pid : n->pid, sig);
}

void launch_signal_nodes(const struct launch_job *job, int sig)
{
	for (int i = 0; i < job->n_nodes; i++)
		signal_node(&job->nodes[i], sig);
}

void launch_kill_nodes(struct launch_job *job, const struct launch_node *spare)
{
	for (int i = 0; i < job->n_nodes; i++)
		if (&job->nodes[i] != spare)
			signal_node(&job->nodes[i], SIGKILL);
}

static void kill_all(struct launch_job *job)
{
	launch_kill_nodes(job, NULL);
	job->phase = LAUNCH_KILLED;
	job->deadline = launch_now_ms() + GIVE_UP_MS;
}

void launch_take_last_words(struct launch_job *job)
{
	for (int i = 0; i < job->n_started; i++)
		for (int k = 0; k < 2; k++)
			launch_stream_read(&job->nodes[i].streams[k], LAST_WORDS);
}

void launch_job_end(struct launch_job *job, int code, int64_t grace_ms,
		    const struct launch_node *spare, const char *fmt, ...)
{
	if (job->phase != LAUNCH_RUNNING && job->phase != LAUNCH_REPLACING)
		return;
	job->phase = LAUNCH_ENDING;
	job->code = code;
	job->deadline = launch_now_ms() + grace_ms;
	if (spare)
		launch_kill_nodes(job, spare);
	else if (grace_ms == 0)
		kill_all(job);
	if (fmt) {
		va_list args;
		launch_take_last_words(job);
		va_start(args, fmt);
		say_args(job, fmt, args);
		va_end(args);
	}
}

/** Stop waiting for nodes that do not end even by SIGKILL now; they die when they can. */
static void give_up(struct launch_job *job)
{
	char name[64];
	for (int i = 0; i < job->n_nodes; i++) {
		struct launch_node *n = &job->nodes[i];
		if (n->ended)
			continue;
		launch_say(job, "%s was killed but is still there; not waiting for it",
			   launch_node_name(n, name, sizeof(name)));
		n->ended = true;
		job->n_alive--;
	}
}

/** What ckrun knows of a node without asking it. */
enum stage { NOT_JOINED, MEETING, AT_WORK, STOPPED, LEFT, ENDED, STAGES };

static enum stage stage_of(const struct launch_node *n)
{
	return n->ended ? ENDED : n->stopped ? STOPPED : n->left ? LEFT : n->in_fence ? MEETING : n->joined ? AT_WORK : NOT_JOINED;
}

/** Append the numbers of the nodes in this stage, "0-2, 5", truncated to the space; returns how
 * many there are. */
static int add_numbers(const struct launch_job *job, enum stage stage, char *text, size_t cap)
{
	int n = 0;
	size_t used = 0;
	for (int i = 0; i < job->n_nodes; i++) {
		int first = i;
		while (i < job->n_nodes && stage_of(&job->nodes[i]) == stage)
			i++;
		if (i > first && used < cap)
			used += (size_t)snprintf(text + used, cap - used, i > first + 1 ? "%s%d-%d" : "%s%d",
						 n ? ", " : "", first, i - 1);
		n += i - first;
	}
	return n;
}

/** The nodes' stages, in one line: what the job was waiting for, as far as ckrun can see. */
static char *stages_text(const struct launch_job *job, char *text, size_t cap)
{
	static const char *const names[STAGES] = {
		[NOT_JOINED] = "not in the job yet", [MEETING] = "waiting for all nodes to meet",
		[AT_WORK] = "at work", [STOPPED] = "stopped by a signal",
		[LEFT] = "finished but not ended", [ENDED] = "ended",
	};
	size_t used = 0;
	text[0] = '\0';
	for (int s = 0; s < STAGES && used < cap; s++) {
		char numbers[128] = "";
		int n = add_numbers(job, (enum stage)s, numbers, sizeof(numbers));
		if (n)
			used += (size_t)snprintf(text + used, cap - used, "%s%s: %s %s", used ? "; " : "",
						 names[s], n > 1 ? "nodes" : "node", numbers);
	}
	return text;
}

/** Whether the node would handle the signal; the default action of SIGUSR1 would end it. */
static bool handles(const struct launch_node *n, int sig)
{
	char path[64], line[256];
	unsigned long long caught = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)n->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SigCgt: %llx", &caught) == 1)
			break;
	if (f)
		fclose(f);
	return caught >> (sig - 1) & 1;
}

/** Ask the nodes for a report (the runtime's watchdog). False: there is none to ask. */
static bool ask_nodes(struct launch_job *job)
{
	bool any = false;

	for (int i = 0; i < job->n_started; i++) {
		const struct launch_node *n = &job->nodes[i];

		if (stage_of(n) == AT_WORK && handles(n, SIGUSR1))
			any = kill(n->pid, SIGUSR1) == 0 || any;
	}
	return any;
}

/** The time of --timeout is over. True: the end is postponed until the nodes have reported. */
static bool put_off(struct launch_job *job, int64_t now)
{
	if (job->asked || !ask_nodes(job))
		return false;
	job->asked = true;
	job->timeout_at = now + REPORT_MS;
	return true;
}

int launch_deadlines(struct launch_job *job)
{
	int64_t now = launch_now_ms();
	if ((job->phase == LAUNCH_RUNNING || job->phase == LAUNCH_REPLACING) && job->timeout_at >= 0 &&
	    now >= job->timeout_at && !put_off(job, now)) {
		char stages[800];
		launch_job_end(job, 124, job->o.grace_ms, NULL,
			       "the job ran longer than --timeout %g s; it is ended (%s)",
			       (double)job->o.timeout_ms / 1000,
			       job->o.delegate ? "its nodes cannot be asked"
					       : stages_text(job, stages, sizeof(stages)));
		launch_signal_nodes(job, SIGTERM);
	}
	if (job->phase == LAUNCH_REPLACING && now >= job->deadline)
		launch_replace_late(job);
	if (job->phase == LAUNCH_ENDING && now >= job->deadline)
		kill_all(job);
	if (job->phase == LAUNCH_KILLED && now >= job->deadline)
		give_up(job);

	int64_t next = job->phase == LAUNCH_RUNNING ? job->timeout_at : job->deadline;
	if (job->phase == LAUNCH_REPLACING && job->timeout_at >= 0 && job->timeout_at < next)
		next = job->timeout_at;
	if (next < 0 || job->n_alive == 0)
		return -1;
	return next - now > 1000000 ? 1000000 : next > now ? (int)(next - now) : 0;
}

/* ---- deaths ------------------------------------------------------------------------- */

/** A node that is lost to the others, preferably one that never joined; NULL: none. */
static const struct launch_node *find_gone(const struct launch_job *job)
{
	const struct launch_node *gone = NULL;
	for (int i = 0; i < job->n_nodes; i++) {
		const struct launch_node *n = &job->nodes[i];
		if (n->ended && !n->joined)
			return n;
		if (n->ended || n->left)
			gone = n;
	}
	return gone;
}

/** A node of the job that still runs, preferably one that waits in a fence; NULL: none. */
static const struct launch_node *find_waiting(const struct launch_job *job)
{
	const struct launch_node *waiting = NULL;
	for (int i = 0; i < job->n_nodes; i++) {
		const struct launch_node *n = &job->nodes[i];
		if (n->ended || n->left)
			continue;
		if (n->in_fence)
			return n;
		if (n->joined)
			waiting = n;
	}
	return waiting;
}

/* A node that has left normally is missed only in a fence; one that never joined is always
 * missed. */
void launch_check_fence(struct launch_job *job)
{
	const struct launch_node *gone = find_gone(job), *waiting = find_waiting(job);
	if (!gone || !waiting || (gone->joined && !waiting->in_fence))
		return;
	char name[64];
	launch_job_end(job, 1, 0, NULL,
		       "%s has ended%s, but node %d waits for it; the job is ended",
		       launch_node_name(gone, name, sizeof(name)),
		       gone->joined ? "" : " and never joined the job", waiting->rank);
}

/** Judge how a node ended. */
static void node_ended(struct launch_job *job, struct launch_node *n, const siginfo_t *how)
{
	char name[64];
	launch_node_name(n, name, sizeof(name));
	if ((how->si_code != CLD_EXITED || how->si_status != 0) && launch_replace_unseen(job))
		return;
	/* When the job ends normally, the other nodes still flush their output. */
	int64_t grace_ms = n->left ? job->o.grace_ms : 0;
	if (how->si_code != CLD_EXITED)
		launch_job_end(job, 128 + how->si_status, grace_ms, NULL,
			       "%s was killed by signal %d (%s%s); the job is ended", name,
			       how->si_status, strsignal(how->si_status),
			       how->si_code == CLD_DUMPED ? ", core dumped" : "");
	else if (launch_leave_code(job, how->si_status))
		launch_job_end(job, how->si_status, grace_ms, NULL, NULL);
	else if (how->si_status != 0)
		launch_job_end(job, how->si_status, grace_ms, NULL,
			       "%s ended with exit code %d; the job is ended", name,
			       how->si_status);
	else if (n->joined && !n->left)
		launch_job_end(job, 1, 0, NULL, "%s ended with exit code 0 before the job's end "
			       "(_exit, or another program in its place?); the job is ended", name);
	launch_check_fence(job);
}

static struct launch_node *node_of_pid(struct launch_job *job, pid_t pid)
{
	for (int i = 0; i < job->n_nodes; i++)
		if (!job->nodes[i].ended && job->nodes[i].pid == pid)
			return &job->nodes[i];
	return NULL;
}

/** Handle an ended child. It stays a zombie until the end of this function, so the number of its
 * process group is not reused yet. */
static void reap_node(struct launch_job *job, const siginfo_t *how)
{
	struct launch_node *n = node_of_pid(job, how->si_pid);
	if (!n)
		launch_keepers_reaped(job, how->si_pid, how->si_status);
	if (n) {
		launch_exec_failed(job);
		launch_pmi_read(job, n);
		for (int i = 0; i < 2; i++)
			launch_stream_read(&n->streams[i], LAST_WORDS);
		n->ended = true;
		job->n_alive--;
		if (!launch_replace_dead(job, n, how) && !launch_again_dead(job, how) &&
		    job->phase != LAUNCH_REPLACING)
			node_ended(job, n, how);
		if (job->phase != LAUNCH_RUNNING && n->own_group)
			kill(-n->pid, SIGKILL);
	}
	waitpid(how->si_pid, NULL, 0);
	if (job->phase == LAUNCH_REPLACING && job->n_alive == 0)
		launch_replace_reaped(job);
}

static void reap_all(struct launch_job *job)
{
	for (;;) {
		siginfo_t how = { 0 };
		if (waitid(P_ALL, 0, &how, WEXITED | WNOHANG | WNOWAIT) || how.si_pid == 0)
			return;
		reap_node(job, &how);
	}
}

/** Report which nodes have been stopped, or continue: a job with a stopped node looks like one that
 * hangs. */
static void note_stops(struct launch_job *job)
{
	char name[64];
	siginfo_t how = { 0 };
	while (!waitid(P_ALL, 0, &how, WSTOPPED | WCONTINUED | WNOHANG) && how.si_pid != 0) {
		struct launch_node *n = node_of_pid(job, how.si_pid);
		bool stopped = how.si_code == CLD_STOPPED;
		if (n && n->stopped != stopped) {
			n->stopped = stopped;
			n->stopped_ms = launch_now_ms();
			launch_say(job, stopped ? "%s was stopped by signal %d (%s), and the job waits for it" :
				   "%s goes on", launch_node_name(n, name, sizeof(name)), how.si_status,
				   strsignal(how.si_status));
		}
		how = (siginfo_t){ 0 };
	}
}

/* ---- signals ------------------------------------------------------------------------ */

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP };

void launch_signals_init(struct launch_job *job)
{
	sigset_t set;
	struct sigaction ignore = { .sa_handler = SIG_IGN }, normal = { .sa_handler = SIG_DFL };
	sigaction(SIGPIPE, &ignore, &job->old_pipe);
	sigaction(SIGCHLD, &normal, &job->old_chld); /* if it were ignored, children could not be waited
						      * for */

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++) {
		struct sigaction old;
		sigaction(forwarded[i], NULL, &old);
		if (old.sa_handler != SIG_IGN) /* it is under nohup, or in a script's background job */
			sigaddset(&set, forwarded[i]);
	}
	sigprocmask(SIG_BLOCK, &set, &job->old_mask);
	job->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (job->sig_fd < 0) {
		fprintf(stderr, "ckrun: cannot watch signals: %s\n", strerror(errno));
		exit(1);
	}
}

/** Forward a signal. One from the terminal has already reached ckrun's own group. SIGUSR1 is a
 * request for a report: it is not sent to a node that it would end, such as one that has just been
 * started. */
static void forward_signal(struct launch_job *job, int sig, bool from_terminal)
{
	for (int i = 0; i < job->n_nodes; i++) {
		const struct launch_node *n = &job->nodes[i];

		if (!n->own_group && from_terminal)
			continue;
		if (sig == SIGUSR1 && !n->ended && !handles(n, sig))
			launch_say(job, "node %d has no handler of SIGUSR1 (yet), so it was not asked", n->rank);
		else
			signal_node(n, sig);
	}
}

/** On Ctrl-Z the nodes stop with us, and go on with us. */
static void stop_together(struct launch_job *job)
{
	launch_progress_hide(job);
	forward_signal(job, SIGSTOP, false);
	raise(SIGSTOP);
	forward_signal(job, SIGCONT, false);
}

static void on_signal(struct launch_job *job, int sig, bool from_terminal)
{
	if (sig == SIGCHLD) {
		note_stops(job);
		reap_all(job);
		return;
	}
	if (sig == SIGTSTP) {
		stop_together(job);
		return;
	}
	if (launch_leave(job, sig))
		return;
	if (sig != SIGINT && sig != SIGTERM && sig != SIGQUIT && sig != SIGHUP) {
		forward_signal(job, sig, from_terminal);
		return;
	}
	if (job->quit) { /* the second time */
		kill_all(job);
		return;
	}
	job->quit = true;
	launch_job_end(job, 128 + sig, job->o.grace_ms, NULL,
		       "got signal %d (%s); the job is ended", sig, strsignal(sig));
	forward_signal(job, sig, from_terminal);
}

bool launch_signals_end(struct launch_job *job)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct timespec none = { 0 };
	sigset_t pending, one;

	sigpending(&pending);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		if (!sigismember(&pending, ending[i]))
			continue;
		sigemptyset(&one);
		sigaddset(&one, ending[i]);
		if (sigtimedwait(&one, NULL, &none) == ending[i])
			on_signal(job, ending[i], false);
	}
	launch_deadlines(job);
	return job->phase == LAUNCH_ENDING || job->phase == LAUNCH_KILLED;
}

void launch_signals_read(struct launch_job *job)
{
	struct signalfd_siginfo info;
	while (read(job->sig_fd, &info, sizeof(info)) == sizeof(info))
		on_signal(job, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
}
