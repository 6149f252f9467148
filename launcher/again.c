/* SPDX-License-Identifier: Apache-2.0 */
/*
 * again.c: --replace for a job on several hosts. Another launcher has started the nodes, and ends
 * all of them when one dies. ckrun then runs that launcher's line again, with CK_RESTART naming the
 * newest checkpoint on disk.
 *
 * The launcher's exit code does not say whether a node has died: srun ends with 137 after CkAbort,
 * too. So the nodes note on disk what the program decides (runtime/machine/base/cmi_note.h), in a
 * folder beside the checkpoints. A launcher that fails without such a note, after the nodes have
 * met, has lost a node. Before their first meeting it is the launcher that fails, and to try again
 * is no use; nor if it fails several times in a row.
 *
 * A host from which no sign of life comes is left out of the next line, if the others have room.
 * The launcher waits for it, perhaps for ever (mpirun), so ckrun ends the launcher then; the other
 * nodes have ended by themselves.
 *
 * So it is if the nodes do not meet: those that live end by themselves when they have waited for
 * CK_BOOT_TIMEOUT. But Open MPI's mpirun 4.1, or its helper on another host, waits for ever for a
 * lock of its own (PMIx 4.2) after a node was killed while it connected.
 */
#include "launch.h"
#include "keeper/keeper_choose.h"
#include "../runtime/image/image_folder.h"
#include "../runtime/image/image_set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LOOK_MS = 300,        /* between two looks at the folder, which may lie on another host */
	ENDS_MS = 1500,       /* in which a launcher may notice itself that it has lost a host */
	KILL_MS = 3000,       /* and then end, when it is told to */
	UNMET_MOST = 3,       /* starts in a row in which the nodes may fail to meet */
	MEET_BOUNDS = 2,      /* CK_BOOT_TIMEOUT is for one meeting of several, the first is the longest */
	HOST = 256,
};

struct launch_again {
	char dir[IMAGE_PATH];        /* of the job's checkpoints */
	char notes[IMAGE_PATH + 64]; /* the folder of the notes */
	int n;                       /* of this start, from 1 */
	uint64_t found;              /* the newest checkpoint before the first start: another job's */
	char **lost;                 /* the hosts that are left out: n_lost names */
	int n_lost;
	int64_t look_ms;             /* the time of the next look at the note */
	int64_t came_ms;             /* when a node was seen to have come; 0: not yet, since this start */
	bool late;                   /* the nodes have not met in time */
	int64_t end_ms;              /* from when on the launcher is told to end; 0: it ends by itself */
	int n_unmet;                 /* starts in a row in which the nodes have not met */
	int told;                    /* the signal that has been sent to the launcher; 0 */
	/* With keepers there are no folders; they hand on what is noted since this start. */
	struct launch_keepers *keepers; /* NULL: checkpoints are on disk */
	bool came, met;
	char noted[512];             /* "": nothing */
	char lost_host[HOST];        /* ""; or the host of a note of a lost one */
	uint64_t newest;             /* checkpoint that any keeper has known of */
};

/** What the nodes have noted. */
struct note {
	enum { NOTHING, DECIDED, FAULT, LOST } kind;
	int number, node;
	char host[HOST];
	long long ms;                /* since the nodes have met */
};

/* ---- before the first start ---------------------------------------------------------------- */

/** The folder of --restart, unless it is one checkpoint. */
static bool dir_of_restart(const struct launch_options *o, char *dir, size_t cap)
{
	char manifest[IMAGE_PATH + 16];

	if (!o->restart || snprintf(dir, cap, "%s", o->restart) >= (int)cap)
		return false;
	snprintf(manifest, sizeof(manifest), "%s/MANIFEST", dir);
	return access(manifest, F_OK) != 0;
}

/** Make a folder for the notes that no other job has, which all hosts see. */
static bool make_notes(struct launch_again *a)
{
	char host[65] = "";

	if (mkdir(a->dir, 0777) && errno != EEXIST)
		return false;
	gethostname(host, sizeof(host) - 1);
	snprintf(a->notes, sizeof(a->notes), "%s/.ckrun-%s-%d-XXXXXX", a->dir, host, (int)getpid());
	return mkdtemp(a->notes) && !chmod(a->notes, 0755);
}

static void name_notes(struct launch_again *a)
{
	char path[sizeof(a->notes) + 16];

	snprintf(path, sizeof(path), "%s/%d", a->notes, ++a->n);
	if (setenv("CK_NOTES", path, true))
		launch_must_have(NULL, "the nodes' environment");
}

/** Whether the job saves itself on disk: CK_CHECKPOINT says so, or nothing else and --restart. */
static bool is_on_disk(const struct launch_options *o, struct launch_again *a)
{
	const char *text = getenv("CK_CHECKPOINT");

	return launch_restart_checkpoints(a->dir, sizeof(a->dir)) ||
	       (!(text && *text) && dir_of_restart(o, a->dir, sizeof(a->dir)));
}

int launch_again_start(struct launch_options *o)
{
	struct launch_again *a;

	if (!o->replace)
		return -1;
	a = o->again = launch_must_have(calloc(1, sizeof(*a)), "--replace");
	if (!is_on_disk(o, a)) {
		a->keepers = launch_keepers_new();
		snprintf(a->notes, sizeof(a->notes), "%s", launch_keepers_name(a->keepers));
		name_notes(a);
		return -1;
	}
	if (!make_notes(a)) {
		launch_wrong("--replace: cannot make a folder in %s: %s", a->dir, strerror(errno));
		a->notes[0] = '\0';
		return 1;
	}
	a->found = image_folder_newest(a->dir);
	name_notes(a);
	return -1;
}

/* ---- what the nodes have noted ------------------------------------------------------------- */

static char *note_path(const struct launch_again *a, const char *behind, char *path, size_t cap)
{
	snprintf(path, cap, "%s/%d%s", a->notes, a->n, behind);
	return path;
}

static bool has_come(const struct launch_again *a)
{
	char path[sizeof(a->notes) + 16];

	return a->keepers ? a->came : access(note_path(a, ".came", path, sizeof(path)), F_OK) == 0;
}

static bool have_met(const struct launch_again *a)
{
	char path[sizeof(a->notes) + 16];

	return a->keepers ? a->met : access(note_path(a, ".met", path, sizeof(path)), F_OK) == 0;
}

static void read_file(const struct launch_again *a, char line[512])
{
	char path[sizeof(a->notes) + 16];
	FILE *f = fopen(note_path(a, "", path, sizeof(path)), "re");

	if (!f || !fgets(line, 512, f))
		line[0] = '\0';
	if (f)
		fclose(f);
}

/** A line that is not whole is none. */
static struct note read_note(const struct launch_again *a)
{
	struct note n = { .kind = NOTHING };
	char line[512] = "", word[16];

	if (a->keepers)
		snprintf(line, sizeof(line), "%s", a->noted);
	else
		read_file(a, line);
	if (sscanf(line, "%15s %d %d %255s %lld", word, &n.number, &n.node, n.host, &n.ms) != 5)
		return n;
	n.kind = !strcmp(word, "fault") ? FAULT : !strcmp(word, "lost") ? LOST : DECIDED;
	return n;
}

static void remove_notes(struct launch_again *a)
{
	char path[sizeof(a->notes) + 16];

	a->came = a->met = false;
	a->noted[0] = a->lost_host[0] = '\0';
	if (a->keepers)
		return;
	unlink(note_path(a, "", path, sizeof(path)));
	unlink(note_path(a, ".came", path, sizeof(path)));
	unlink(note_path(a, ".met", path, sizeof(path)));
}

void launch_again_end(struct launch_options *o)
{
	struct launch_again *a = o->again;

	if (!a)
		return;
	if (a->keepers)
		launch_keepers_end(a->keepers);
	if (!a->keepers && a->notes[0])
		launch_folder_delete(a->notes); /* a node may have noted its end after its start was over */
	while (a->n_lost)
		free(a->lost[--a->n_lost]);
	free(a->lost);
	free(a);
}

struct launch_keepers *launch_again_keepers(const struct launch_options *o)
{
	return o->again ? o->again->keepers : NULL;
}

void launch_again_came(struct launch_options *o, uint32_t start)
{
	if (start == (uint32_t)o->again->n)
		o->again->came = true;
}

/* The first note counts, as with files. */
void launch_again_noted(struct launch_options *o, uint32_t start, const char *text)
{
	struct launch_again *a = o->again;
	struct note n;

	if (start != (uint32_t)a->n)
		return;
	if (!text)
		a->met = true;
	else if (!a->noted[0])
		snprintf(a->noted, sizeof(a->noted), "%s", text);
	n = read_note(a);
	snprintf(a->lost_host, sizeof(a->lost_host), "%s", n.kind == LOST ? n.host : "");
}

const char *launch_again_lost_host(const struct launch_options *o)
{
	return o->again->lost_host;
}

/* ---- hosts --------------------------------------------------------------------------------- */

bool launch_same_host(const char *a, const char *b)
{
	const size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return !strcmp(a, b) || (n == m && !strncmp(a, b, n) && (!a[n] || !b[m]));
}

bool launch_again_lost(const struct launch_options *o, const char *host)
{
	for (int i = 0; o->again && i < o->again->n_lost; i++)
		if (launch_same_host(o->again->lost[i], host))
			return true;
	return false;
}

const char *launch_again_lost_name(const struct launch_options *o, int i)
{
	return o->again && i < o->again->n_lost ? o->again->lost[i] : NULL;
}

/** Leave the host out. Whether the others have room for the job. */
static bool leave_out(struct launch_job *job, const char *host)
{
	struct launch_again *a = job->o.again;

	a->lost = launch_must_have(realloc(a->lost, (size_t)(a->n_lost + 1) * sizeof(*a->lost)), "hosts");
	a->lost[a->n_lost++] = launch_must_have(strdup(host), "hosts");
	return launch_delegate_fits(&job->o);
}

/* Before the next start; the line that is made then leaves it out. */
bool launch_again_leave_out(struct launch_job *job, const char *host, const char *why)
{
	if (leave_out(job, host)) {
		launch_say(job, "%s; the job goes on without that host", why);
		return true;
	}
	launch_job_end(job, 1, 0, NULL, "%s, and the others have no room for its nodes; the job is ended",
		       why);
	return false;
}

/* ---- a death ------------------------------------------------------------------------------- */

/** The newest checkpoint that this job has written; 0: none. */
static uint64_t saved(const struct launch_again *a)
{
	if (a->keepers)
		return launch_keepers_choice(a->keepers)->from.sequence;

	const uint64_t newest = image_folder_newest(a->dir);

	return newest > a->found ? newest : 0;
}

/** The time in which nodes that come must have met. */
static int meet_s(void)
{
	return MEET_BOUNDS * launch_boot_timeout_s();
}

/** Whether it is of use to try again when the nodes have not met. */
static bool may_fail_to_meet(const struct launch_job *job)
{
	return job->o.again->n_unmet < (job->n_replaced ? UNMET_MOST : 1);
}

/** What has become of the job, for the line. */
static void describe(const struct launch_job *job, const struct note *n, const siginfo_t *how,
		     char *text, size_t cap)
{
	char from[300];
	int used;

	if (n->kind == FAULT)
		used = snprintf(text, cap, "node %d on %s ended by signal %d (%s)", n->node, n->host,
				n->number, strsignal(n->number));
	else if (n->kind == LOST)
		used = snprintf(text, cap, "node %d is lost, and with it its host %s", n->number, n->host);
	else if (job->o.again->late)
		used = snprintf(text, cap, "the nodes have not met within %d s, and %s has not ended",
				meet_s(), job->o.delegate);
	else
		used = snprintf(text, cap, "a node has died (%s %s %d)", job->o.delegate,
				how->si_code == CLD_EXITED ? "ended with exit code" :
							     "was killed by signal", how->si_status);
	snprintf(text + used, cap - (size_t)used, "; starting again%s from %s%s (%d of %d)",
		 n->kind == LOST ? " without it," : "",
		 launch_restart_from(job, saved(job->o.again), from, sizeof(from)),
		 job->o.again->keepers && saved(job->o.again) ? " in memory" : "", job->n_replaced,
		 job->o.replace);
}

/** There is no way to go on. */
static bool end_again(struct launch_job *job, const struct note *n)
{
	if (launch_dies_again(job, n->kind == FAULT, saved(job->o.again), n->ms))
		launch_job_end(job, 128 + n->number, 0, NULL,
			       "node %d on %s ended by signal %d (%s), again at once, and nothing was saved "
			       "in between; the job is ended", n->node, n->host, n->number,
			       strsignal(n->number));
	else if (n->kind == LOST && job->n_replaced < job->o.replace && !leave_out(job, n->host))
		launch_job_end(job, 1, 0, NULL,
			       "host %s is lost, and the others have no room for its nodes; the job is ended",
			       n->host);
	else if (n->kind != LOST && job->o.again->late &&
		 (job->n_replaced >= job->o.replace || !may_fail_to_meet(job)))
		launch_job_end(job, 1, 0, NULL,
			       "the nodes have not met within %d s, and %s has not ended; the job is ended",
			       meet_s(), job->o.delegate);
	return job->phase != LAUNCH_RUNNING;
}

/* A job that was started from a checkpoint on disk goes on from there. */
bool launch_again_can(struct launch_job *job)
{
	struct launch_again *a = job->o.again;
	const struct keeper_choice *c = launch_keepers_choice(a->keepers);

	if (c->newest > a->newest)
		a->newest = c->newest;
	if (saved(a) || !a->newest || job->first_restart)
		return true;
	if (c->newest)
		launch_job_end(job, 1, 0, NULL,
			       "the image of node %u of checkpoint %llu in memory is lost with its host; the job is "
			       "ended", c->missing, (unsigned long long)c->newest);
	else
		launch_job_end(job, 1, 0, NULL,
			       "all that is known of checkpoint %llu in memory is lost with a host; the job is ended",
			       (unsigned long long)a->newest);
	return false;
}

/** Whether the launcher has ended by itself, and not well. Hydra dies of SIGPIPE when it writes to
 * a node that has died while it joined; nobody else sends that signal. */
static bool has_failed(const siginfo_t *how)
{
	return how->si_code == CLD_EXITED ? how->si_status : how->si_status == SIGPIPE;
}

/** Whether the launcher has lost a node, and has not failed itself. */
static bool is_death(const struct launch_job *job, const struct note *n, const siginfo_t *how)
{
	if (!job->o.again || job->phase != LAUNCH_RUNNING)
		return false;
	if (n->kind == LOST || job->o.again->late)
		return true;
	if (!has_failed(how))
		return false;
	return n->kind != DECIDED && may_fail_to_meet(job);
}

/** Have the keepers kill what is left of the nodes, and say what has been noted and saved. False:
 * the job is ended. */
static bool ask_keepers(struct launch_job *job, const siginfo_t *how)
{
	struct launch_again *a = job->o.again;

	if (!a || !a->keepers || job->phase != LAUNCH_RUNNING ||
	    (how->si_code == CLD_EXITED && !how->si_status && read_note(a).kind != LOST))
		return true;
	return launch_keepers_stop(job);
}

bool launch_again_dead(struct launch_job *job, const siginfo_t *how)
{
	struct note n = { .kind = NOTHING };
	char text[800];

	if (!ask_keepers(job, how))
		return true;
	if (job->o.again) {
		n = read_note(job->o.again);
		job->o.again->n_unmet = have_met(job->o.again) ? 0 : job->o.again->n_unmet + 1;
	}
	if (!is_death(job, &n, how))
		return false;
	if (end_again(job, &n))
		return true;
	if (job->n_replaced >= job->o.replace)
		return false;
	if (job->o.again->keepers && !launch_again_can(job))
		return true;
	job->n_replaced++;
	job->phase = LAUNCH_REPLACING;
	job->deadline = INT64_MAX; /* no node is awaited; keepers have bounds of their own */
	describe(job, &n, how, text, sizeof(text));
	launch_say(job, "%s", text);
	return true;
}

static void tell(struct launch_job *job, int sig)
{
	if (job->o.again->told == sig)
		return;
	job->o.again->told = sig;
	launch_signal_nodes(job, sig);
}

/** Whether nodes have come, and have not met in time. Nobody has asked for the note of their
 * meeting before, so no file system can know from then that it is not there. */
static bool are_late(struct launch_again *a, int64_t now)
{
	if (!a->came_ms && has_come(a))
		a->came_ms = now;
	if (!a->came_ms || now - a->came_ms < meet_s() * (int64_t)1000)
		return false;
	a->met = a->met || have_met(a);
	return !a->met;
}

/** From when on the launcher must be told to end; 0: it ends by itself. */
static int64_t when_to_end(struct launch_again *a, int64_t now)
{
	if (read_note(a).kind == LOST)
		return now + ENDS_MS;
	a->late = are_late(a, now);
	return a->late ? now : 0;
}

int launch_again_turn(struct launch_job *job, int timeout_ms)
{
	struct launch_again *a = job->o.again;
	const int64_t now = launch_now_ms();

	if (!a || job->phase != LAUNCH_RUNNING)
		return timeout_ms;
	if (now >= a->look_ms) {
		a->look_ms = now + LOOK_MS;
		launch_keepers_read(job);
		if (!a->end_ms)
			a->end_ms = when_to_end(a, now);
		if (a->end_ms && now >= a->end_ms)
			tell(job, now >= a->end_ms + KILL_MS ? SIGKILL : SIGTERM);
	}
	return timeout_ms < 0 || timeout_ms > LOOK_MS ? LOOK_MS : timeout_ms;
}

/* All nodes read the same checkpoint: its own name does not change, as `latest` does. */
static void set_restart(const struct launch_job *job)
{
	const struct launch_again *a = job->o.again;
	const uint64_t newest = saved(a);
	char path[IMAGE_PATH];
	const char *from = job->first_restart;
	int rc = 0;

	if (newest)
		from = a->keepers ? "memory" : image_folder_path(path, a->dir, newest);
	if (from)
		rc = setenv("CK_RESTART", from, true);
	if (rc)
		launch_must_have(NULL, "the nodes' environment");
}

void launch_again_reaped(struct launch_job *job)
{
	struct launch_again *a = job->o.again;

	remove_notes(a);
	name_notes(a);
	a->came_ms = a->end_ms = a->told = 0;
	a->late = false;
	if (a->keepers && !launch_keepers_go(job))
		return;
	set_restart(job);
	if (launch_delegate_again(&job->o) >= 0) {
		launch_job_end(job, 1, 0, NULL, "the launcher cannot be called again; the job is ended");
		return;
	}
	job->nodes[0].launcher = job->o.argv[0];
	if (job->o.verbose)
		launch_delegate_say(job, job->o.argv);
	launch_shells_start(job);
	job->phase = LAUNCH_RUNNING;
	launch_spawn_nodes(job);
}
