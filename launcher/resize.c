/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.c: a job gets another number of PEs while it runs. PE 0 is asked for a checkpoint in
 * memory, after which all PEs stay frozen (ask.c). Then all nodes are killed and started again in
 * the new shape, from that checkpoint, as after a death (replace.c).
 *
 *   asked ---no rest, refused---> as before; the client hears why
 *   asked ---saved---> REPLACING ---all are reaped---> RUNNING in the new shape; all meet: done
 *
 * If a node dies before the job is saved, --replace starts all again anyway: in the new shape.
 */
#include "launch.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- whether it can be ------------------------------------------------------------------ */

/** The number in the client's line; 0: it is none. */
static int read_pes(const char *text)
{
	char *end;
	errno = 0;
	long n = strtol(text, &end, 10);
	return end == text || *end || errno || n < 1 || n > 1000000 ? 0 : (int)n;
}

/** With --bind core each PE has a core of its own, or the job does not start so. */
static bool fits_on_cores(int n_pes, char *why, size_t cap)
{
	const char *bind = getenv("CK_BIND");
	cpu_set_t allowed;

	if (!bind || strcmp(bind, "core") || sched_getaffinity(0, sizeof(allowed), &allowed) ||
	    n_pes <= CPU_COUNT(&allowed))
		return true;
	snprintf(why, cap, "--bind core: %d PEs need as many cores, and %d are allowed", n_pes,
		 CPU_COUNT(&allowed));
	return false;
}

/** Why the job cannot have another shape now; false: it can. */
static bool is_bad_moment(const struct launch_job *job, char *why, size_t cap)
{
	const char *text = job->o.delegate ? "the job is on several hosts" :
			   !job->images.page ? "there is no memory for checkpoints (ulimit -f)" :
			   job->leaving ? "the job is to be saved and to end" :
			   job->phase != LAUNCH_RUNNING && job->phase != LAUNCH_REPLACING ? "the job ends" :
			   NULL;

	if (job->resize.to)
		snprintf(why, cap, "the job gets %d PEs just now", job->resize.to);
	else if (text)
		snprintf(why, cap, "%s", text);
	return job->resize.to || text;
}

static bool is_bad_number(const struct launch_job *job, int n, char *why, size_t cap)
{
	if (n == 0)
		snprintf(why, cap, "resize needs a number of PEs");
	else if (n == job->o.n_pes)
		snprintf(why, cap, "the job has %d PE%s already", n, n == 1 ? "" : "s");
	else if (n % job->o.ppn)
		snprintf(why, cap, "%d is no multiple of the %d PEs of a node (--ppn)", n, job->o.ppn);
	else
		return !fits_on_cores(n, why, cap) || !launch_has_room(n / job->o.ppn, n, why, cap);
	return true;
}

/* ---- stages ------------------------------------------------------------------------------ */

void launch_resize(struct launch_job *job, struct launch_client *c, const char *pes)
{
	const int n = read_pes(pes);
	char why[320];

	if (is_bad_moment(job, why, sizeof(why)) || is_bad_number(job, n, why, sizeof(why))) {
		launch_control_answer(c, false, "%s", why);
		return;
	}
	job->resize = (struct launch_resize){ .from = job->o.n_pes, .to = n, .client = c,
					      .begun_ms = launch_now_ms() };
	launch_ask(job, IMAGE_WISH_STAY);
}

void launch_resize_answered(struct launch_job *job, bool ok, const char *why)
{
	if (!ok) {
		launch_control_answer(job->resize.client, false, "the job goes on with %d PE%s: %s",
				      job->o.n_pes, job->o.n_pes == 1 ? "" : "s", why);
		job->resize = (struct launch_resize){ 0 };
		return;
	}
	job->resize.starts = true;
	launch_replace_all(job, NULL);
	launch_take_last_words(job);
	launch_say(job, "from %d to %d PEs; starting again from checkpoint %llu", job->resize.from,
		   job->resize.to, (unsigned long long)image_memory_committed(&job->images, NULL));
}

static void free_nodes(struct launch_job *job)
{
	for (int i = 0; i < job->n_nodes; i++) {
		launch_buf_fini(&job->nodes[i].in);
		launch_buf_fini(&job->nodes[i].out);
	}
	free(job->nodes);
}

void launch_resize_now(struct launch_job *job)
{
	if (!job->resize.to || job->o.n_pes == job->resize.to)
		return;
	if (job->ask.wish == IMAGE_WISH_STAY)
		job->ask.wish = 0; /* a death was faster */
	job->resize.starts = true;
	free_nodes(job);
	job->o.n_pes = job->resize.to;
	launch_make_nodes(job);
	launch_set_size(job);
	launch_progress_anew(job);
	launch_hung_end(job);
	launch_hung_start(job);
	/* The slot that is written next. */
	image_memory_forget(&job->images, image_memory_committed(&job->images, NULL) + 1,
			    (uint32_t)job->n_nodes);
}

void launch_resize_turn(struct launch_job *job)
{
	const struct launch_resize *r = &job->resize;

	if (!r->starts || job->phase != LAUNCH_RUNNING || !job->met_ms)
		return;
	launch_control_answer(r->client, true, "from %d to %d PEs in %.3f s", r->from, r->to,
			      (double)(job->met_ms - r->begun_ms) / 1000);
	job->resize = (struct launch_resize){ 0 };
}

void launch_resize_unheard(struct launch_job *job, const struct launch_client *c)
{
	if (job->resize.client == c)
		job->resize.client = NULL;
}
