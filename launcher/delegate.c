/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegate.c: a job on several hosts. ckrun cannot start processes there itself; it calls srun,
 * mpiexec.hydra or Open MPI's mpirun, and translates its options. That launcher is then ckrun's
 * only child, and is treated like a node: signals, output, --timeout and the exit code.
 *
 *   ckrun             srun                      mpiexec.hydra           mpirun
 *   the hosts         -w, -N, --ntasks-per-node -hosts a:n,b:n          --host a:n,b:n --map-by slot
 *   -n, --ppn         -n nodes, -c PEs          -n nodes                -n nodes
 *   --tag-output      --label                   -prepend-pattern        --tag-output
 *   environment       all, --export=ALL         all                     -x NAME for each
 *
 * With --replace the line is made again after a death (again.c), without the hosts that are lost.
 *
 * PEs are bound by the nodes themselves (CK_BIND), so srun and mpirun are told to bind nothing.
 */
#include "launch.h"
#include "keeper/keeper_words.h"
#include "../runtime/machine/tools/one_line.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char WHAT[] = "the launcher's command line";

/* ---- the line ------------------------------------------------------------------------- */

/** A command line that grows. Owns its words; ends with NULL. */
struct line {
	char **words;
	size_t n;
};

static void add_owned(struct line *l, char *word)
{
	l->words = launch_must_have(realloc(l->words, (l->n + 2) * sizeof(*l->words)), WHAT);
	l->words[l->n++] = launch_must_have(word, WHAT);
	l->words[l->n] = NULL;
}

static void add(struct line *l, const char *word)
{
	add_owned(l, strdup(word));
}

__attribute__((format(printf, 2, 3))) static void add_text(struct line *l, const char *fmt, ...)
{
	char *word = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&word, fmt, args) < 0)
		word = NULL;
	va_end(args);
	add_owned(l, word);
}

/** The hosts that get nodes, as one word: each with its number of nodes, or repeated for each
 * node. */
static void add_hosts(struct line *l, const struct launch_hosts *h, const char *before, bool numbers, bool repeat)
{
	struct launch_buf b = { 0 };
	char number[16];

	launch_buf_append(&b, before, strlen(before));
	for (int i = 0, n = 0; i < h->n; i++) {
		for (int k = 0; k < (repeat ? h->list[i].nodes : h->list[i].nodes > 0); k++) {
			launch_buf_append(&b, ",", n++ > 0);
			launch_buf_append(&b, h->list[i].name, strlen(h->list[i].name));
		}
		int len = snprintf(number, sizeof(number), ":%d", h->list[i].nodes);
		if (numbers && h->list[i].nodes)
			launch_buf_append(&b, number, (size_t)len);
	}
	launch_buf_append(&b, "", 1);
	add(l, launch_buf_at(&b));
	launch_buf_fini(&b);
}

static void add_program(struct line *l, char *const *argv)
{
	while (*argv)
		add(l, *argv++);
}

/* ---- one function per launcher -------------------------------------------------------- */

/** The request to be translated. */
struct request {
	const struct launch_options *o;
	const struct launch_hosts *hosts; /* n is 0: those of srun's own allocation */
	int n_nodes;
	int n_hosts;                      /* hosts that get nodes */
	bool again;                       /* not the first time */
};

static bool equal_shares(const struct request *r)
{
	for (int i = 0; i < r->hosts->n; i++)
		if (r->hosts->list[i].nodes && r->hosts->list[i].nodes != r->hosts->list[0].nodes)
			return false;
	return true;
}

/** After a death the step before may not be over for Slurm, and a lost host never says that its
 * part of it is. Keepers are a step of their own all the time. */
static void srun_again(struct line *l, const struct request *r)
{
	struct launch_buf b = { 0 };
	const char *host;

	add(l, "--overlap");
	for (int i = 0; (host = launch_again_lost_name(r->o, i)); i++) {
		launch_buf_append(&b, i ? "," : "--exclude=", i ? 1 : 10);
		launch_buf_append(&b, host, strlen(host));
	}
	launch_buf_append(&b, "", 1);
	if (b.len > 1)
		add(l, launch_buf_at(&b));
	launch_buf_fini(&b);
}

/** All nodes end when one fails (-K1). An uneven distribution requires naming a host once for each
 * node. */
static void srun_line(struct line *l, const struct request *r)
{
	const bool own = r->hosts->n == 0, even = own || equal_shares(r);

	add(l, "srun");
	add(l, "--mpi=pmi2");
	add(l, "--kill-on-bad-exit=1");
	add(l, "--export=ALL");
	add(l, "--cpu-bind=none");
	add_text(l, "--nodes=%d", r->n_hosts);
	add_text(l, "--ntasks=%d", r->n_nodes);
	if (even)
		add_text(l, "--ntasks-per-node=%d", (r->n_nodes + r->n_hosts - 1) / r->n_hosts);
	add_text(l, "--cpus-per-task=%d", r->o->ppn);
	add(l, even ? "--distribution=block" : "--distribution=arbitrary");
	if (!own)
		add_hosts(l, r->hosts, "--nodelist=", false, !even);
	if (r->again || launch_again_keepers(r->o))
		srun_again(l, r);
	if (r->o->tag_output)
		add(l, "--label");
}

static void hydra_line(struct line *l, const struct request *r)
{
	add(l, "mpiexec.hydra");
	add(l, "-hosts");
	add_hosts(l, r->hosts, "", true, false);
	add(l, "-n");
	add_text(l, "%d", r->n_nodes);
	if (r->o->tag_output) {
		add(l, "-prepend-pattern");
		add(l, "[%r] ");
	}
}

/** Let mpirun export a variable, once. */
static void export_name(struct line *l, const char *name, size_t len)
{
	for (size_t i = 0; i + 1 < l->n; i++)
		if (!strcmp(l->words[i], "-x") && !strncmp(l->words[i + 1], name, len) && !l->words[i + 1][len])
			return;
	add(l, "-x");
	add_text(l, "%.*s", (int)len, name);
}

/** mpirun exports only its own variables to other hosts, unless it is told their names. */
static void export_environment(struct line *l, const struct launch_options *o)
{
	static const char *const always[] = { "CK_CONTROL", "CK_PES", "UCX_LOG_FILE", "UCX_DEBUG_SIGNO" };

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		export_name(l, always[i], strlen(always[i]));
	if (o->bind)
		export_name(l, "CK_BIND", strlen("CK_BIND"));
	if (o->verbose)
		export_name(l, "CK_VERBOSE", strlen("CK_VERBOSE"));
	if (launch_again_keepers(o)) {
		export_name(l, "CK_IMAGES", strlen("CK_IMAGES"));
		export_name(l, "CK_NOTES", strlen("CK_NOTES"));
	}
	for (int i = 0; i < o->n_env; i++)
		export_name(l, o->env[i], strcspn(o->env[i], "="));
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "CK_", 3) || !strncmp(*e, "UCX_", 4) || !strncmp(*e, "LD_LIBRARY_PATH=", 16))
			export_name(l, *e, strcspn(*e, "="));
}

static void mpirun_line(struct line *l, const struct request *r)
{
	add(l, launch_on_path("mpirun.openmpi") ? "mpirun.openmpi" : "mpirun");
	add(l, "--host");
	add_hosts(l, r->hosts, "", true, false);
	add(l, "-n");
	add_text(l, "%d", r->n_nodes);
	add(l, "--map-by");
	add(l, "slot");
	add(l, "--bind-to");
	add(l, "none");
	if (r->o->tag_output)
		add(l, "--tag-output");
	export_environment(l, r->o);
}

/* ---- the same for keepers -------------------------------------------------------------- */

/** ckrun itself, as its file is called. */
static void add_keeper(struct line *l)
{
	char path[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	add(l, n > 0 ? path : "ckrun");
	add(l, KEEPER_OPTION);
}

/** One step on all hosts (host is NULL), or on one. It goes on when a host is lost. */
static void srun_keepers(struct line *l, const char *host, int n)
{
	add(l, "srun");
	add(l, "--mpi=none");
	add(l, "--overlap");
	add(l, "--no-kill");
	add(l, "--kill-on-bad-exit=0");
	add(l, "--wait=0");
	add(l, "--input=none");
	add(l, "--export=ALL");
	add(l, "--cpu-bind=none");
	add_text(l, "--nodes=%d", n);
	add_text(l, "--ntasks=%d", n);
	add(l, "--ntasks-per-node=1");
	if (host)
		add_text(l, "--nodelist=%s", host);
}

static void hydra_keeper(struct line *l, const char *host, int n)
{
	add(l, "mpiexec.hydra");
	add(l, "-hosts");
	add(l, host);
	add(l, "-n");
	add_text(l, "%d", n);
}

static void mpirun_keeper(struct line *l, const char *host, int n)
{
	static const char *const needed[] = { "CK_WIRE_KEY", "LD_LIBRARY_PATH" };

	add(l, launch_on_path("mpirun.openmpi") ? "mpirun.openmpi" : "mpirun");
	add(l, "--host");
	add(l, host);
	add(l, "-n");
	add_text(l, "%d", n);
	add(l, "--bind-to");
	add(l, "none");
	export_name(l, KEEPER_VARIABLE, strlen(KEEPER_VARIABLE));
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (getenv(needed[i]))
			export_name(l, needed[i], strlen(needed[i]));
}

/* ---- which launcher ------------------------------------------------------------------- */

enum kind { SRUN, HYDRA, MPIRUN, KINDS };

static const struct {
	const char *option, *programs[2];
	void (*line)(struct line *l, const struct request *r);
	void (*keeper)(struct line *l, const char *host, int n);
} launchers[KINDS] = {
	[SRUN] = { "srun", { "srun" }, srun_line, srun_keepers },
	[HYDRA] = { "hydra", { "mpiexec.hydra" }, hydra_line, hydra_keeper },
	[MPIRUN] = { "mpirun", { "mpirun.openmpi", "mpirun" }, mpirun_line, mpirun_keeper },
};

bool launch_on_path(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	for (const char *at = path; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		int n = snprintf(file, sizeof(file), "%.*s/%s", (int)strcspn(at, ":"), at, program);
		if (n < (int)sizeof(file) && !access(file, X_OK))
			return true;
	}
	return false;
}

static bool is_installed(enum kind kind)
{
	for (int i = 0; i < 2; i++)
		if (launchers[kind].programs[i] && launch_on_path(launchers[kind].programs[i]))
			return true;
	return false;
}

static bool in_slurm(void)
{
	return getenv("SLURM_JOB_ID") != NULL;
}

/** The one that the user names; srun in a Slurm allocation; else the first that is installed. */
static int choose(const struct launch_options *o, enum kind *kind_p)
{
	static const enum kind order[] = { HYDRA, MPIRUN };

	for (int k = 0; k < KINDS; k++) {
		if (!o->launcher || strcmp(o->launcher, launchers[k].option))
			continue;
		*kind_p = (enum kind)k;
		return is_installed(*kind_p) ? -1
			: launch_wrong("--launcher %s: there is no %s on PATH", o->launcher, launchers[k].programs[0]);
	}
	*kind_p = SRUN;
	if (in_slurm())
		return is_installed(SRUN) ? -1 : launch_wrong("this is a job of Slurm, but there is no srun on PATH");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (is_installed(*kind_p = order[i]))
			return -1;
	return launch_wrong("a job on several hosts needs srun, mpiexec.hydra (MPICH) or mpirun (Open MPI), and neither of the "
		      "last two is on PATH");
}

/* ---- which hosts ---------------------------------------------------------------------- */

/** The number of hosts of Slurm's allocation, or 0. A process started by srun must not start
 * another job there; the shells of salloc and sbatch count as steps, too, with numbers from the
 * top. */
static int hosts_of_slurm(void)
{
	enum { FIRST_SPECIAL = 0xfffffff0u };
	const char *step = getenv("SLURM_STEP_ID"), *hosts = getenv("SLURM_JOB_NUM_NODES");

	if (!in_slurm() || !hosts || (step && strtoul(step, NULL, 10) < (unsigned long)FIRST_SPECIAL))
		return 0;
	return atoi(hosts);
}

static bool is_text(const char *s)
{
	return s && *s;
}

/** Find the hosts: named ones, or those of an allocation of several. *several_p: whether there are
 * several. */
static int find_hosts(const struct launch_options *o, struct launch_hosts *h, bool *several_p)
{
	int rc = -1;

	*several_p = true;
	if (o->hosts)
		return launch_hosts_of_list(h, o->hosts);
	if (o->hostfile)
		return launch_hosts_of_file(h, o->hostfile);
	/* A launcher has started us: this is one process of its job, and runs jobs of its own on this
	 * host. */
	const bool started = getenv("PMI_FD") || getenv("PMIX_RANK") || getenv("OMPI_COMM_WORLD_RANK");
	if (!started && hosts_of_slurm() > 1)
		return -1; /* srun knows them */
	if (!started && !in_slurm() && is_text(getenv("PBS_NODEFILE")))
		rc = launch_hosts_of_pbs(h, getenv("PBS_NODEFILE"));
	else if (!started && !in_slurm() && is_text(getenv("LSB_HOSTS")))
		rc = launch_hosts_of_lsf(h, getenv("LSB_HOSTS"));
	*several_p = h->n > 1;
	return rc;
}

/** Remove those that are lost. Returns how many have been in the list. */
static int drop_lost(const struct launch_options *o, struct launch_hosts *h)
{
	int n = 0;

	for (int i = h->n - 1; i >= 0; i--)
		if (launch_again_lost(o, h->list[i].name)) {
			launch_hosts_remove(h, i);
			n++;
		}
	return n;
}

static int n_lost(const struct launch_options *o)
{
	int n = 0;

	while (launch_again_lost_name(o, n))
		n++;
	return n;
}

/* ---- the whole ------------------------------------------------------------------------ */

/** Fill in the numbers. */
static int place(struct request *r, struct launch_hosts *h)
{
	const int all = hosts_of_slurm() - n_lost(r->o);
	int rc = -1;

	r->n_nodes = r->o->n_pes / r->o->ppn;
	if (r->o->n_pes % r->o->ppn)
		return launch_wrong("on several hosts all nodes must have the same number of PEs: "
			"-n %d is not a multiple of --ppn %d",
				    r->o->n_pes, r->o->ppn);
	if (r->o->hung_ms)
		return launch_wrong("--replace-hung watches the nodes of one host; remove it, or add --local");
	if (h->n == 0)
		r->n_hosts = r->n_nodes < all ? r->n_nodes : all;
	else
		rc = launch_hosts_place(h, r->n_nodes, r->o->ppn);
	for (int i = 0; i < h->n; i++)
		r->n_hosts += h->list[i].nodes > 0;
	return rc;
}

static int translate(struct launch_options *o, struct launch_hosts *h)
{
	struct request r = { .o = o, .hosts = h, .again = o->program };
	struct line l = { 0 };
	enum kind kind;
	int rc = place(&r, h);

	if (rc < 0)
		rc = choose(o, &kind);
	if (rc >= 0)
		return rc;
	if (h->n == 0 && kind != SRUN)
		return launch_wrong("--launcher %s: in a job of Slurm it needs --hosts or --hostfile", o->launcher);
	if (o->checkpoint_exit && kind == HYDRA)
		return launch_wrong("--checkpoint-exit needs --launcher srun or mpirun: SIGUSR2 ends "
				    "mpiexec.hydra, and reaches no node");
	rc = r.again ? -1 : launch_again_start(o);
	if (rc < 0 && kind == SRUN && launch_again_keepers(o) && !hosts_of_slurm())
		rc = launch_wrong("--replace with checkpoints in memory needs an allocation of Slurm, to "
				  "which its steps belong: run ckrun in salloc or sbatch, or save on disk: "
				  "CK_CHECKPOINT=DIR,60s");
	if (rc >= 0)
		return rc;
	launchers[kind].line(&l, &r);
	if (!r.again)
		o->program = o->argv;
	add_program(&l, o->program);
	o->argv = l.words;
	o->delegate = launchers[kind].option;
	return -1;
}

int launch_delegate(struct launch_options *o)
{
	struct launch_hosts h = { 0 };
	bool several;
	int rc;

	unsetenv("CK_NOTES"); /* an outer job's */
	if (o->local)
		return -1;
	rc = find_hosts(o, &h, &several);
	if (rc < 0 && several)
		rc = translate(o, &h);
	else if (rc < 0 && o->launcher)
		rc = launch_wrong("--launcher %s needs hosts: --hosts, --hostfile, or an allocation of several", o->launcher);
	launch_hosts_fini(&h);
	return rc;
}

/** The i-th host of the list. NULL: there is none. */
static const char *nth_host(const struct launch_hosts *h, int i)
{
	return i < h->n ? h->list[i].name : NULL;
}

char **launch_delegate_keeper(const struct launch_options *o, int i, const char *only, char *host,
			      size_t cap, int *n)
{
	struct launch_hosts h = { 0 };
	struct line l = { 0 };
	enum kind kind;
	bool several;
	const char *at = only;

	*n = 1;
	if (find_hosts(o, &h, &several) < 0 && choose(o, &kind) < 0) {
		const bool all = kind == SRUN && h.n == 0; /* one line for all, whose names Slurm knows */

		if (!only && all)
			*n = i == 0 ? hosts_of_slurm() : 0;
		else if (!only)
			at = nth_host(&h, i);
		if (*n > 0 && (at || all)) {
			launchers[kind].keeper(&l, at, *n);
			add_keeper(&l);
		}
	}
	snprintf(host, cap, "%s", at ? at : "");
	launch_hosts_fini(&h);
	return l.words;
}

void launch_delegate_line_free(char **line)
{
	for (char **w = line; *w; w++)
		free(*w);
	free(line);
}

int launch_delegate_again(struct launch_options *o)
{
	struct launch_hosts h = { 0 };
	char **before = o->argv;
	bool several;
	int rc = find_hosts(o, &h, &several);

	drop_lost(o, &h);
	if (rc < 0)
		rc = translate(o, &h);
	launch_hosts_fini(&h);
	if (rc >= 0)
		return rc;
	launch_delegate_line_free(before);
	return -1;
}

bool launch_delegate_fits(const struct launch_options *o)
{
	struct launch_hosts h = { 0 };
	const int lost = n_lost(o), n_nodes = o->n_pes / o->ppn;
	bool several, fits = find_hosts(o, &h, &several) < 0;

	/* Slurm may give the job no more processors on a host than it has there already. */
	if (fits && h.n == 0)
		fits = hosts_of_slurm() - lost >= (n_nodes < hosts_of_slurm() ? n_nodes : hosts_of_slurm());
	else if (fits)
		fits = drop_lost(o, &h) == lost && launch_hosts_fit(&h, n_nodes, o->ppn);
	launch_hosts_fini(&h);
	return fits;
}

/** A word quoted for a shell. */
static void append_quoted(struct launch_buf *b, const char *word)
{
	bool plain = *word;

	for (const char *s = word; *s; s++)
		plain &= isalnum((unsigned char)*s) || strchr("-_=+,.:/@%", *s);
	if (plain) {
		launch_buf_append(b, word, strlen(word));
		return;
	}
	launch_buf_append(b, "'", 1);
	for (const char *s = word; *s; s++)
		if (*s == '\'')
			launch_buf_append(b, "'\\''", 4);
		else
			launch_buf_append(b, s, 1);
	launch_buf_append(b, "'", 1);
}

void launch_delegate_say(struct launch_job *job, char *const *line)
{
	struct launch_buf b = { 0 };

	launch_buf_append(&b, "ckrun: runs", 11);
	for (char *const *w = line; *w; w++) {
		launch_buf_append(&b, " ", 1);
		append_quoted(&b, *w);
	}
	launch_buf_append(&b, "", 1);
	one_line_mask(launch_buf_at(&b));
	launch_sink_say(job->err, launch_buf_at(&b));
	launch_sink_say(job->err, "\n");
	launch_buf_fini(&b);
}
