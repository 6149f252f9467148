/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c: one process per node, with a socket for PMI-1 and pipes for its output.
 *
 * A node dies with its launcher (PR_SET_PDEATHSIG), even when that is killed with -9; the nodes'
 * own children may not. Each node leads a process group, so that its children are killed with it.
 * The exception: when stdin is a terminal, node 0 stays in ckrun's group, because a terminal serves
 * only one group.
 */
#include "launch.h"
#include "../runtime/machine/base/cmi_link.h"
#include "../runtime/machine/tools/cmi_space.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

enum {
	FDS_PER_NODE = 3,        /* its socket and two pipes */
	FDS_OF_OURS = 64,
	BYTES_PER_NODE = 500000, /* used by a process before it does anything */
};

/** What a child writes to the exec pipe. It is less than PIPE_BUF, so it arrives in one piece. */
struct exec_report {
	int rank, error;
};

/** The node's ends, which the parent has open only around the fork. */
struct child_fds {
	int pmi, out, err;
	int control;             /* -1: none */
};

void launch_open_std_fds(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/** Remove another launcher's variables, which would lead our nodes to it, and those of an outer
 * job's nodes, which ours would mistake for their own. */
static void scrub_environment(void)
{
	static const char *const prefixes[] = { "PMI_", "PMIX_", "CK_PES=", "CK_GAUGES=", "CK_UCX_DIR=",
						"CK_IMAGES=", "CK_CONTROL=" };
	static const char settings[] = "PMIX_MCA_"; /* the user's, for mpirun and srun */
	char **to = environ;
	for (char **from = environ; *from; from++) {
		bool keep = true;
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			keep &= strncmp(*from, prefixes[i], strlen(prefixes[i])) != 0;
		keep |= strncmp(*from, settings, strlen(settings)) == 0;
		if (keep)
			*to++ = *from;
	}
	*to = NULL;
}

static void set_variable(const char *name, const char *value, bool over)
{
	if (setenv(name, value, over))
		launch_must_have(NULL, "the nodes' environment");
}

void launch_set_given(const struct launch_options *o)
{
	for (int i = 0; i < o->n_env; i++) {
		char *equals = strchr(o->env[i], '=');
		if (!equals)
			continue;
		*equals = '\0';
		set_variable(o->env[i], equals + 1, true);
		*equals = '=';
	}
}

void launch_set_size(const struct launch_job *job)
{
	char number[16];
	snprintf(number, sizeof(number), "%d", job->n_nodes);
	set_variable("PMI_SIZE", number, true);
}

/** On several hosts node 0 calls ckrun. */
static void set_links(const struct launch_job *job)
{
	char text[1700];

	if (job->links)
		set_variable("CK_CONTROL", launch_links_text(job, text, sizeof(text)), true);
}

/** Set what is the same for all nodes; once, before the forks. A launcher that we call forwards
 * it. */
static void set_job_environment(const struct launch_job *job)
{
	char number[16];
	scrub_environment();
	if (job->o.bind)
		set_variable("CK_BIND", job->o.bind, true);
	if (job->o.verbose)
		set_variable("CK_VERBOSE", "1", true);
	/* UCX reads these when it is loaded. Without the first, it reports errors among the output. */
	set_variable("UCX_LOG_FILE", "stderr", false);
	/* UCX takes SIGHUP to print more; then a node would not end with its terminal. */
	set_variable("UCX_DEBUG_SIGNO", "0", false);
	if (job->o.delegate) {
		set_links(job);
		snprintf(number, sizeof(number), "%d", job->o.ppn);
		set_variable("CK_PES", number, true);
		if (launch_again_keepers(&job->o))
			set_variable("CK_IMAGES", launch_keepers_name(launch_again_keepers(&job->o)), true);
		return;
	}
	launch_set_size(job);
	/* Empty if there is none: elsewhere such files would outlive a killed node. */
	if (!getenv("UCX_POSIX_DIR"))
		set_variable("CK_UCX_DIR", job->for_ucx ? job->folder : "", true);
	/* It would test its hooks with a System V segment, which a node killed just then leaves for ever.
	 * On one host the hooks are not needed. */
	set_variable("UCX_MEM_MMAP_HOOK_MODE", "none", false);
}

static void set_number(const char *name, int value)
{
	char text[16];
	snprintf(text, sizeof(text), "%d", value);
	set_variable(name, text, true);
}

/* ---- in the child ------------------------------------------------------------------- */

void launch_spawn_restore(const struct launch_job *job)
{
	setrlimit(RLIMIT_NOFILE, &job->old_nofile);
	sigaction(SIGPIPE, &job->old_pipe, NULL);
	sigaction(SIGCHLD, &job->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
}

static void pass_images(const struct launch_job *job)
{
	struct image_why why = { "" };
	char text[64];

	if (image_memory_pass(&job->images, &why))
		set_variable("CK_IMAGES", image_memory_text(&job->images, text, sizeof(text)), true);
}

static void pass_control(int fd)
{
	char text[24];

	snprintf(text, sizeof(text), CMI_LINK_PAIR "%d", fd);
	set_variable("CK_CONTROL", text, true);
	fcntl(fd, F_SETFD, 0);
}

_Noreturn static void run_child(const struct launch_job *job, const struct launch_node *n,
				const struct child_fds *fds, int exec_fd, pid_t launcher)
{
	/* Another launcher has nodes to end before it ends itself. */
	prctl(PR_SET_PDEATHSIG, job->o.delegate ? SIGTERM : SIGKILL);
	if (getppid() != launcher)
		_exit(1); /* it died before the line above took effect */
	if (n->own_group)
		setpgid(0, 0);
	if (n->rank != 0) {
		int null = open("/dev/null", O_RDONLY);
		dup2(null, STDIN_FILENO);
		close(null);
	}
	dup2(fds->out, STDOUT_FILENO);
	dup2(fds->err, STDERR_FILENO);
	if (!job->o.delegate) {
		fcntl(fds->pmi, F_SETFD, 0);
		set_number("PMI_FD", fds->pmi);
		set_number("PMI_RANK", n->rank);
		set_number("CK_PES", n->n_pes);
	}
	if (launch_progress_fd(job) >= 0) {
		fcntl(launch_progress_fd(job), F_SETFD, 0);
		set_number("CK_GAUGES", launch_progress_fd(job));
	}
	if (job->images.page)
		pass_images(job);
	if (fds->control >= 0)
		pass_control(fds->control);
	launch_spawn_restore(job);

	execvp(job->o.argv[0], job->o.argv);
	struct exec_report report = { n->rank, errno };
	bool told = write(exec_fd, &report, sizeof(report)) == sizeof(report);
	_exit(told ? 127 : 1);
}

/* ---- in the launcher ---------------------------------------------------------------- */

/** Open a pipe whose reading end is ours and never blocks. */
static int open_output(struct launch_stream *s, int *child_fd_p)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC))
		return -1;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	s->fd = fds[0];
	*child_fd_p = fds[1];
	return 0;
}

static void close_child_fds(struct child_fds *fds)
{
	int all[] = { fds->pmi, fds->out, fds->err, fds->control };
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] >= 0)
			close(all[i]);
}

/** Open all of a node's descriptors; -1 with errno when there are not enough. */
static int open_node_fds(struct launch_node *n, struct child_fds *fds)
{
	int pair[2];
	*fds = (struct child_fds){ -1, -1, -1, -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	n->pmi_fd = pair[0];
	fds->pmi = pair[1];
	if (open_output(&n->streams[0], &fds->out))
		return -1;
	return open_output(&n->streams[1], &fds->err);
}

static int spawn_node(struct launch_job *job, struct launch_node *n, int exec_fd)
{
	struct child_fds fds;
	pid_t launcher = getpid();
	int rc = open_node_fds(n, &fds);
	if (!rc && n->rank == 0 && !job->o.delegate)
		fds.control = launch_relay_pair(job);
	if (!rc) {
		n->pid = fork();
		if (n->pid == 0)
			run_child(job, n, &fds, exec_fd, launcher);
		rc = n->pid < 0 ? -1 : 0;
	}
	int error = errno;
	close_child_fds(&fds);
	errno = error;
	if (rc)
		return -1;
	if (n->own_group)
		setpgid(n->pid, n->pid); /* both sides do it, so that neither need wait */
	n->ended = false;
	job->n_started++;
	job->n_alive++;
	return 0;
}

/** The number in one of the kernel's files; `otherwise` when there is none. */
static double number_in(const char *path, double otherwise)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return otherwise;
	text[n] = '\0';
	char *end;
	double value = strtod(text, &end);
	return end == text ? otherwise : value; /* "max" */
}

/** The most processes and threads that any limit allows. */
static double most_threads(const char **limit_p)
{
	static const struct { const char *path, *name; } files[] = {
		{ "/proc/sys/kernel/pid_max", "kernel.pid_max" },
		{ "/proc/sys/kernel/threads-max", "kernel.threads-max" },
		{ "/sys/fs/cgroup/pids.max", "pids.max of the control group" },
	};
	struct rlimit own;
	double most = HUGE_VAL;
	if (geteuid() != 0 && !getrlimit(RLIMIT_NPROC, &own) && own.rlim_cur != RLIM_INFINITY) {
		most = (double)own.rlim_cur;
		*limit_p = "ulimit -u";
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		double here = number_in(files[i].path, HUGE_VAL);
		if (here < most) {
			most = here;
			*limit_p = files[i].name;
		}
	}
	return most;
}

static double hard_files(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_max == RLIM_INFINITY ? HUGE_VAL : (double)files.rlim_max;
}

static double space_gib(void)
{
	struct rlimit space;

	getrlimit(RLIMIT_AS, &space);
	return space.rlim_cur == RLIM_INFINITY ? HUGE_VAL : (double)space.rlim_cur / (1 << 30);
}

/** What a job may need too much of: it needs so much, and the host has so much. The text says who
 * needs what (%d: how many, %.0f: how much), and what is there. */
struct launch_limit {
	double needs, has;
	int who;                 /* needs it */
	const char *text;
	const char *name;        /* of a limit, for the text */
};

/** Only the minimum that the nodes need is counted. */
bool launch_has_room(int n_nodes, int n_pes, char *what, size_t cap)
{
	const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	const char *of_threads = "";
	const double threads = most_threads(&of_threads);
	const struct launch_limit limits[] = {
		{ (double)n_nodes * FDS_PER_NODE + FDS_OF_OURS, hard_files(), n_nodes,
		  "%d nodes need %.0f open files of ckrun, which may have %.0f (%s)", "ulimit -n" },
		{ n_pes, threads, n_pes,
		  "%d PEs need %.0f threads, and only %.0f are allowed (%s)", of_threads },
		{ (double)n_nodes * BYTES_PER_NODE / 1e6, memory / 1e6, n_nodes,
		  "%d nodes need at least %.0f MB of memory, but the host has %.0f%s", "" },
		{ CMI_SPACE_GIB, space_gib(), 1,
		  "%d node needs %.0f GiB of address space, and only %.1f are allowed (%s)", "ulimit -v" },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct launch_limit *l = &limits[i];
		if (l->needs <= l->has)
			continue;
		snprintf(what, cap, l->text, l->who, l->needs, l->has, l->name);
		return false;
	}
	return true;
}

static void raise_fd_limit(struct launch_job *job)
{
	getrlimit(RLIMIT_NOFILE, &job->old_nofile);
	struct rlimit all = { job->old_nofile.rlim_max, job->old_nofile.rlim_max };
	setrlimit(RLIMIT_NOFILE, &all);
}

void launch_spawn_all(struct launch_job *job)
{
	char what[256];
	if (!job->o.delegate && !launch_has_room(job->n_nodes, job->o.n_pes, what, sizeof(what))) {
		launch_job_end(job, 1, 0, NULL, "%s; nothing is started", what);
		return;
	}
	raise_fd_limit(job);
	set_job_environment(job);
	if (!launch_again_keepers(&job->o) || launch_keepers_start(job))
		launch_spawn_nodes(job);
}

void launch_spawn_nodes(struct launch_job *job)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC)) {
		launch_job_end(job, 1, 0, NULL, "cannot open a pipe: %s", strerror(errno));
		return;
	}
	if (job->exec_fd >= 0)
		close(job->exec_fd);
	job->exec_fd = fds[0];
	fcntl(job->exec_fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < job->n_nodes; i++) {
		struct launch_node *n = &job->nodes[i];
		if (spawn_node(job, n, fds[1])) {
			launch_job_end(job, 1, 0, NULL,
				       "cannot start node %d: %s; the job is ended", i,
				       strerror(errno));
			break;
		}
		if (job->o.verbose) {
			char name[64];
			launch_say(job, "%s started", launch_node_name(n, name, sizeof(name)));
		}
	}
	close(fds[1]);
}

/** A hint about the two usual mistakes. */
static const char *exec_hint(const char *program, int error)
{
	bool here = access(program, F_OK) == 0;
	if (error == ENOENT && here && !strchr(program, '/'))
		return " (in this folder: write ./ before it)";
	if (error == ENOENT && here)
		return " (its interpreter is missing)";
	return "";
}

void launch_exec_failed(struct launch_job *job)
{
	struct exec_report report;
	const char *program = job->o.argv[0];
	if (job->exec_fd < 0)
		return;
	ssize_t n = read(job->exec_fd, &report, sizeof(report));
	if (n < 0)
		return;
	if (n == 0) { /* every child has executed */
		close(job->exec_fd);
		job->exec_fd = -1;
		return;
	}
	launch_job_end(job, report.error == ENOENT ? 127 : 126, 0, NULL, "cannot start '%s': %s%s",
		       program, strerror(report.error), exec_hint(program, report.error));
}
