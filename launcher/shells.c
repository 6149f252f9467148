/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shells.c: the remote shells by which another launcher reaches its hosts. ssh resolves host names,
 * not ckrun, because it knows names that the resolver does not (Host in ssh_config). But ssh may
 * take minutes for a host that does not answer, and mpiexec.hydra 4.0 does not notice that its ssh
 * has failed: it waits for ever after ssh's line. So ssh is told to give up after CK_BOOT_TIMEOUT,
 * and a failed child of hydra, while hydra goes on, ends the job. mpirun and srun notice such ends
 * themselves.
 *
 * The checks stop when the job must have started: once its nodes have met, it does not need ssh.
 */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	BOOT_TIMEOUT_S = 60,   /* as in the nodes (meet.c) */
	BOOT_TIMEOUT_MOST = 1000000,
	SLACK_MS = 5000,       /* for ssh to end after its time */
	LOOK_MS = 250,
	/* A job that fails ends hydra's children, too, but then hydra itself follows: in 0.1 s, later on a busy host. */
	ALONE_MS = 2000,
};

int launch_boot_timeout_s(void)
{
	const char *text = getenv("CK_BOOT_TIMEOUT");
	long s = text ? strtol(text, NULL, 0) : 0;

	return s < 1 || s > BOOT_TIMEOUT_MOST ? BOOT_TIMEOUT_S : (int)s; /* the nodes print what is wrong
									  * with it */
}

static bool is_set(const char *name)
{
	return getenv(name) != NULL;
}

/** Limit the time that ssh takes to connect, unless the user has set a shell, or arguments for
 * it. */
static void bound_ssh(const char *delegate, int s)
{
	char word[40];
	const char *name = NULL;

	if (!strcmp(delegate, "hydra") && !is_set("HYDRA_LAUNCHER") && !is_set("HYDRA_LAUNCHER_EXEC") &&
	    !is_set("HYDRA_BOOTSTRAP") && !is_set("HYDRA_BOOTSTRAP_EXEC"))
		name = "HYDRA_LAUNCHER_EXTRA_ARGS";
	else if (!strcmp(delegate, "mpirun") && !is_set("OMPI_MCA_plm_rsh_agent") && launch_on_path("ssh"))
		name = "OMPI_MCA_plm_rsh_args";
	snprintf(word, sizeof(word), "-oConnectTimeout=%d", s);
	if (name && setenv(name, word, 0))
		launch_must_have(NULL, "the launcher's environment");
}

void launch_shells_start(struct launch_job *job)
{
	const int s = launch_boot_timeout_s();

	if (!job->o.delegate)
		return;
	bound_ssh(job->o.delegate, s);
	if (!strcmp(job->o.delegate, "hydra"))
		job->shells_until = launch_now_ms() + s * (int64_t)1000 + SLACK_MS;
}

/** The failure of a process that has ended and has not been waited for: an exit code, 128 + a
 * signal's number; 0: it runs, or has succeeded. The file has a state after the name, and the
 * status as its last field (proc(5)). */
static int failure_of(long pid)
{
	char path[64], text[1024], *name_end, *last;
	int status = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	name_end = strrchr(text, ')');
	last = strrchr(text, ' ');
	if (name_end && last > name_end && !strncmp(name_end, ") Z ", 4))
		status = atoi(last + 1);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/** The failure of one of a process's children; 0: there is none. */
static int failed_child(pid_t parent)
{
	char path[64];
	long child;
	int code = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "re");
	while (f && !code && fscanf(f, "%ld", &child) == 1)
		code = failure_of(child);
	if (f)
		fclose(f);
	return code;
}

int launch_shells_turn(struct launch_job *job, int timeout_ms)
{
	const struct launch_node *n = &job->nodes[0];
	const int64_t now = launch_now_ms();
	char name[64];
	int code;

	if (now >= job->shells_until || job->phase != LAUNCH_RUNNING || n->ended)
		return timeout_ms;
	code = failed_child(n->pid);
	if (!code)
		job->shell_failed_at = 0;
	else if (!job->shell_failed_at)
		job->shell_failed_at = now;
	else if (now - job->shell_failed_at >= ALONE_MS) {
		launch_job_end(job, code, job->o.grace_ms, NULL, "%s did not reach a host: the command that "
			"starts nodes there has ended with exit code %d; the job is ended", launch_node_name(n, name,
			sizeof(name)), code);
		launch_signal_nodes(job, SIGTERM);
	}
	return timeout_ms < 0 || timeout_ms > LOOK_MS ? LOOK_MS : timeout_ms;
}
