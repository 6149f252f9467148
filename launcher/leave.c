/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leave.c: --checkpoint-exit. A batch system warns by a signal that the time is over soon. PE 0 is
 * then asked for a checkpoint on disk, after which the job ends with exit code 75 (ask.c). If that
 * comes to nothing, and after a second SIGTERM, it ends as it does without the option.
 *
 * Through another launcher SIGUSR2 goes to that launcher, which passes it on to the nodes. hydra
 * does not (delegate.c).
 */
#include "launch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where the checkpoint goes ------------------------------------------------------------ */

/** That of --restart, which may also name one of the checkpoints in it. */
static bool of_restart(char *to, size_t cap, const char *restart)
{
	unsigned no;
	int end = 0;

	if (!restart)
		return false;
	snprintf(to, cap, "%s", restart);
	while (strlen(to) > 1 && to[strlen(to) - 1] == '/')
		to[strlen(to) - 1] = '\0';
	char *slash = strrchr(to, '/'), *name = slash ? slash + 1 : to;
	if (sscanf(name, "ck-%6u%n", &no, &end) == 1 && end == 9 && !name[end])
		strcpy(slash > to ? slash : name, slash ? "" : "."); /* "/ck-000001" leaves "/" */
	return true;
}

int launch_leave_prepare(const struct launch_options *o)
{
	char dir[4096];

	if (!o->checkpoint_exit)
		return -1;
	if (!launch_restart_checkpoints(dir, sizeof(dir)) && !of_restart(dir, sizeof(dir), o->restart))
		return launch_wrong("--checkpoint-exit needs a folder for the checkpoint: --restart-if-any DIR, "
				    "or CK_CHECKPOINT=DIR,60s");
	if (setenv("CK_CHECKPOINT_EXIT", dir, true))
		launch_must_have(NULL, "the nodes' environment");
	return -1;
}

/* ---- the signal ----------------------------------------------------------------------------- */

static bool ask(struct launch_job *job)
{
	if (job->o.delegate) {
		launch_signal_nodes(job, SIGUSR2);
		return true;
	}
	if (!launch_can_ask(job))
		return false;
	launch_ask(job, IMAGE_WISH_EXIT);
	return true;
}

bool launch_leave(struct launch_job *job, int sig)
{
	if (!job->o.checkpoint_exit || (sig != SIGTERM && sig != SIGUSR2) ||
	    (job->phase != LAUNCH_RUNNING && job->phase != LAUNCH_REPLACING))
		return false;
	if (job->leaving)
		return sig == SIGUSR2; /* asked already */
	job->leaving = ask(job);
	return job->leaving;
}

void launch_leave_answered(struct launch_job *job, bool ok, const char *why)
{
	if (ok)
		return; /* the nodes end by themselves */
	job->quit = true;
	launch_job_end(job, 128 + SIGTERM, job->o.grace_ms, NULL,
		       "the job was to be saved and to end, but there is no checkpoint: %s; it is ended", why);
	launch_signal_nodes(job, SIGTERM);
}

bool launch_leave_code(const struct launch_job *job, int code)
{
	return job->o.checkpoint_exit && code == IMAGE_EXIT_CODE;
}
