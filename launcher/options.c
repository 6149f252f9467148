/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c: the command line, with ckrun's own options and Charm++'s. ckrun's options come before
 * the program. +pN and ++ppn K may also come among the program's arguments, where users of Charm++
 * write them, and are removed there. "--" ends the options in both positions.
 */
#include "launch.h"
#include "../runtime/machine/base/cmi_charm.h"
#include "../runtime/machine/tools/one_line.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CHARD_VERSION
#define CHARD_VERSION "0.1.0"
#endif

enum {
	EXIT_USAGE = 2,
	MAX_PES = 1000000,       /* to catch typing errors */
	MAX_PPN = 65535,         /* the limit of a node */
	MAX_REPLACE = 1000000,   /* to catch typing errors */
	MAX_SECONDS = 31536000,  /* a year: keeps milliseconds far from overflow */
	DEFAULT_GRACE_MS = 2000,
};

static const char help[] =
"usage: ckrun [options] program [arguments]\n"
"\n"
"Start a Chard program, on this host or through another launcher on several.\n"
"\n"
"  -n N, -np N, +pN   number of PEs (default 1)\n"
"  --ppn K, ++ppn K   PEs per node; a node is one process (default 1)\n"
"  --bind WHERE       bind PEs to cores: core, socket or none\n"
"  --hosts A,B:N,...  run on these hosts; N: slots for PEs there\n"
"  --hostfile FILE    the same, a host per line: A, B:N or B slots=N\n"
"  --local            run on this host only, even in a batch job of several hosts\n"
"  --launcher WHICH   launcher of nodes on other hosts: srun, hydra or mpirun\n"
"  --env NAME=VALUE   set a variable for all nodes; NAME alone passes on its value\n"
"  --timeout S        end the job after S seconds with exit code 124\n"
"  --grace S          seconds between asking a job to end and killing it (default 2)\n"
"  --tag-output       put \"[node] \" before each line of output\n"
"  --progress         show on the terminal, once a second, how busy the PEs are\n"
"  --restart DIR      start from the newest checkpoint in DIR\n"
"  --restart-if-any DIR  the same, or from the beginning while there is none\n"
"  --restart-older DIR  the same, or from the one before if the newest is damaged\n"
"  --replace R        after the death of a node start all again, up to R times\n"
"  --replace-hung S   the same with a node that does not move for S seconds\n"
"  --checkpoint-exit  on SIGTERM and SIGUSR2 save the job, and end it with exit code 75\n"
"  --resize N JOB     no program: have JOB, ckrun's process id, go on with N PEs\n"
"  --verbose          print nodes, PEs and process ids, or the launcher's command\n"
"  --help, --version\n"
"\n"
"In an allocation of several hosts (Slurm, PBS, LSF) the job runs on all of them.\n"
"+pN and ++ppn K may also follow the program; after \"--\" they do not.\n"
"Exit code: the program's; of a failed job, that of the first failure (128 + signal\n"
"number for a signal); 124 timeout, 126 or 127 the program cannot be started, 2 usage.\n"
"See ckrun(1).\n";

/** The arguments and the current position. */
struct cursor {
	char **argv;
	int argc, at;
	bool n_given, ppn_given, replace_given, resize_given; /* a second, different value is an error */
};

int launch_wrong(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	one_line_print("ckrun: ", fmt, args);
	va_end(args);
	return EXIT_USAGE;
}

static int usage(const char *what, const char *arg, const char *why)
{
	return launch_wrong("%s%s%s%s; see ckrun --help", what, arg ? " '" : "", arg ? arg : "",
		     arg ? why : "");
}

/** Whether the argument is this option: alone ("--ppn"), or with its value ("--ppn=2", and "-n2", "+p2",
 * "++ppn2" where the value is a number). *value_p is NULL when the value is the next argument. */
static bool is_option(const char *arg, const char *name, const char **value_p)
{
	size_t n = strlen(name);
	if (strncmp(arg, name, n))
		return false;
	*value_p = NULL;
	if (!arg[n])
		return true;
	bool long_name = name[0] == '-' && name[1] == '-';
	if (arg[n] == '=' && long_name)
		*value_p = arg + n + 1;
	else if (!long_name && strchr("0123456789-", arg[n]))
		*value_p = arg + n;
	return *value_p != NULL;
}

/** Get the option's value, from the same or the next argument. Like all functions below it returns
 * -1 to continue, or an exit code. */
static int take_value(struct cursor *c, const char *name, const char **value_p)
{
	if (*value_p)
		return -1;
	if (c->at + 1 >= c->argc)
		return usage("option", name, "' needs a value");
	*value_p = c->argv[++c->at];
	return -1;
}

/** The beginning of the value's number; "", which is none, if the value begins with a blank. */
static const char *number_text(const char *value)
{
	return isspace((unsigned char)*value) ? "" : value;
}

static int set_count(struct cursor *c, const char *name, const char *value, int most, bool *given, int *out)
{
	int rc = take_value(c, name, &value);
	if (rc >= 0)
		return rc;
	char *end;
	errno = 0;
	const char *text = number_text(value);
	long v = strtol(text, &end, 10);
	if (end == text || *end || errno || v < 1 || v > most)
		return launch_wrong("%s needs a number from 1 to %d, not '%s'; see ckrun --help", name, most, value);
	if (*given && *out != v)
		return launch_wrong("%s %ld contradicts the %d given before", name, v, *out);
	*given = true;
	*out = (int)v;
	return -1;
}

static int set_seconds(struct cursor *c, const char *name, const char *value, double least,
		       int64_t *ms_p)
{
	int rc = take_value(c, name, &value);
	if (rc >= 0)
		return rc;
	char *end;
	const char *text = number_text(value);
	double s = strtod(text, &end);
	if (end == text || *end || !isfinite(s) || s < least || s > MAX_SECONDS)
		return launch_wrong("%s needs a number of seconds%s, not '%s'; see ckrun --help", name,
			     least > 0 ? " above 0" : "", value);
	*ms_p = (int64_t)(s * 1000 + 0.5);
	return -1;
}

static int set_bind(struct cursor *c, const char *value, const char **bind_p)
{
	int rc = take_value(c, "--bind", &value);
	if (rc >= 0)
		return rc;
	if (strcmp(value, "core") && strcmp(value, "socket") && strcmp(value, "none"))
		return usage("--bind needs core, socket or none, not", value, "'");
	*bind_p = value;
	return -1;
}

static int set_text(struct cursor *c, const char *name, const char *value, const char **out)
{
	int rc = take_value(c, name, &value);
	if (rc >= 0)
		return rc;
	if (!*value)
		return usage("option", name, "' needs a value");
	if (*out && strcmp(*out, value))
		return launch_wrong("%s %s contradicts the %s given before", name, value, *out);
	*out = value;
	return -1;
}

static int set_restart(struct cursor *c, const char *option, const char *value,
		       struct launch_options *o)
{
	if (o->restart && strcmp(o->restart_option, option))
		return launch_wrong("%s and %s contradict each other; give one of them", o->restart_option,
				    option);
	o->restart_option = option;
	return set_text(c, option, value, &o->restart);
}

enum { ANOTHER = 1 };

/* ANOTHER: it is none of these. */
static int read_restart(struct cursor *c, const char *arg, struct launch_options *o)
{
	static const char *const options[] = { LAUNCH_RESTART, LAUNCH_RESTART_IF_ANY,
					       LAUNCH_RESTART_OLDER };
	const char *value;

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (is_option(arg, options[i], &value))
			return set_restart(c, options[i], value, o);
	return ANOTHER;
}

static int set_launcher(struct cursor *c, const char *value, const char **launcher_p)
{
	int rc = take_value(c, "--launcher", &value);
	if (rc >= 0)
		return rc;
	if (strcmp(value, "srun") && strcmp(value, "hydra") && strcmp(value, "mpirun"))
		return usage("--launcher needs srun, hydra or mpirun, not", value, "'");
	*launcher_p = value;
	return -1;
}

/** A variable that ckrun itself sets or removes. */
static bool is_ours(const char *name, size_t len)
{
	static const char *const ours[] = { "CK_PES", "CK_BIND", "CK_VERBOSE", "CK_UCX_DIR", "CK_IMAGES",
					    "CK_CONTROL",
					    "CK_CHECKPOINT_EXIT", "CK_NOTES" };
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strlen(ours[i]) == len && !strncmp(ours[i], name, len))
			return true;
	return !strncmp(name, "PMI_", 4) || (!strncmp(name, "PMIX_", 5) && strncmp(name, "PMIX_MCA_", 9));
}

static int add_variable(struct cursor *c, struct launch_options *o, const char *value)
{
	int rc = take_value(c, "--env", &value);
	if (rc >= 0)
		return rc;
	size_t len = strcspn(value, "=");
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)value[i]) && value[i] != '_')
			len = 0;
	if (len == 0 || isdigit((unsigned char)value[0]))
		return usage("--env needs NAME=VALUE or NAME, not", value, "'");
	if (is_ours(value, len))
		return launch_wrong("--env %s: ckrun sets %.*s by itself; see ckrun --help", value, (int)len, value);
	if (!value[len] && !getenv(value))
		return launch_wrong("--env %s: it is not set; give it a value: %s=VALUE", value, value);
	o->env = launch_must_have(realloc(o->env, (size_t)(o->n_env + 1) * sizeof(*o->env)), "the command line");
	o->env[o->n_env++] = (char *)value;
	return -1;
}

/** Take one of Charm++'s options, before or after the program. *taken_p: whether the argument was
 * one. */
static int charm_option(struct cursor *c, struct launch_options *o, bool *taken_p)
{
	const char *arg = c->argv[c->at], *value;
	*taken_p = true;
	if (is_option(arg, "++ppn", &value) || is_option(arg, "+ppn", &value))
		return set_count(c, "++ppn", value, MAX_PPN, &c->ppn_given, &o->ppn);
	if (is_option(arg, "++p", &value) || is_option(arg, "+p", &value))
		return set_count(c, "+p", value, MAX_PES, &c->n_given, &o->n_pes);
	if (!strcmp(arg, "++local")) {
		o->local = true;
		return -1;
	}
	*taken_p = false;
	return -1;
}

static int own_option(struct cursor *c, struct launch_options *o)
{
	const char *arg = c->argv[c->at], *value;
	bool taken;
	int rc = charm_option(c, o, &taken);
	if (taken)
		return rc;
	if (is_option(arg, "-np", &value) || is_option(arg, "-n", &value))
		return set_count(c, "-n", value, MAX_PES, &c->n_given, &o->n_pes);
	if (is_option(arg, "--ppn", &value))
		return set_count(c, "--ppn", value, MAX_PPN, &c->ppn_given, &o->ppn);
	if (is_option(arg, "--bind", &value))
		return set_bind(c, value, &o->bind);
	if (is_option(arg, "--hosts", &value))
		return set_text(c, "--hosts", value, &o->hosts);
	if (is_option(arg, "--hostfile", &value))
		return set_text(c, "--hostfile", value, &o->hostfile);
	if (is_option(arg, "--launcher", &value))
		return set_launcher(c, value, &o->launcher);
	if (is_option(arg, "--env", &value))
		return add_variable(c, o, value);
	if (is_option(arg, "--timeout", &value))
		return set_seconds(c, "--timeout", value, 0.001, &o->timeout_ms);
	if (is_option(arg, "--grace", &value))
		return set_seconds(c, "--grace", value, 0, &o->grace_ms);
	if (is_option(arg, "--replace", &value))
		return set_count(c, "--replace", value, MAX_REPLACE, &c->replace_given, &o->replace);
	if (is_option(arg, "--replace-hung", &value))
		return set_seconds(c, "--replace-hung", value, 0.001, &o->hung_ms);
	if (is_option(arg, "--resize", &value))
		return set_count(c, "--resize", value, MAX_PES, &c->resize_given, &o->resize);
	const int restart = read_restart(c, arg, o);

	if (restart != ANOTHER)
		return restart;
	if (!strcmp(arg, "--tag-output"))
		o->tag_output = true;
	else if (!strcmp(arg, "--progress"))
		o->progress = true;
	else if (!strcmp(arg, "--checkpoint-exit"))
		o->checkpoint_exit = true;
	else if (!strcmp(arg, "--verbose"))
		o->verbose = true;
	else if (!strcmp(arg, "--local"))
		o->local = true;
	else if (!strcmp(arg, "--help") || !strcmp(arg, "-h"))
		return fputs(help, stdout) < 0;
	else if (!strcmp(arg, "--version"))
		return puts("ckrun (chard) " CHARD_VERSION) < 0;
	else if (cmi_charm_option(arg))
		return launch_wrong("%s is an option of Charm++: here %s; see ckrun --help", arg, cmi_charm_option(arg));
	else
		return usage("unknown option", arg, "'");
	return -1;
}

/** Take the program and its arguments, without Charm++'s options. */
static int program(struct cursor *c, struct launch_options *o)
{
	int n = 0;
	bool ours = true;
	o->argv = launch_must_have(calloc((size_t)(c->argc - c->at) + 1, sizeof(*o->argv)), "the command line");
	o->argv[n++] = c->argv[c->at++];
	for (; c->at < c->argc; c->at++) {
		char *arg = c->argv[c->at];
		bool taken = false;
		if (ours && !strcmp(arg, "--"))
			ours = false;
		int rc = ours ? charm_option(c, o, &taken) : -1;
		if (rc >= 0)
			return rc;
		if (!taken)
			o->argv[n++] = arg;
	}
	return -1;
}

/** Check for options that exclude each other. */
static int check_together(const struct launch_options *o)
{
	if (o->resize && o->argv[1])
		return launch_wrong("--resize %d needs one job, and nothing after it", o->resize);
	if (o->hosts && o->hostfile)
		return launch_wrong("--hosts and --hostfile both name hosts; give one of them");
	if (o->local && (o->hosts || o->hostfile || o->launcher))
		return launch_wrong("--local contradicts %s", o->hosts ? "--hosts" : o->hostfile ? "--hostfile" : "--launcher");
	if (o->hung_ms && !o->replace)
		return launch_wrong("--replace-hung needs --replace R: how often");
	return -1;
}

void launch_options_fini(struct launch_options *o)
{
	for (char **w = o->argv; o->delegate && *w; w++)
		free(*w);
	free(o->argv);
	free(o->program);
	free(o->env);
	launch_again_end(o);
}

int launch_parse(int argc, char **argv, struct launch_options *o)
{
	struct cursor c = { .argv = argv, .argc = argc, .at = 1 };
	*o = (struct launch_options){
		.n_pes = 1, .ppn = 1, .timeout_ms = -1, .grace_ms = DEFAULT_GRACE_MS,
	};
	for (; c.at < argc; c.at++) {
		const char *arg = argv[c.at];
		if (!strcmp(arg, "--")) {
			c.at++;
			break;
		}
		if (arg[0] != '-' && arg[0] != '+')
			break;
		int rc = own_option(&c, o);
		if (rc >= 0)
			return rc;
	}
	if (c.at >= argc)
		return usage(o->resize ? "no job to resize" : "no program to start", NULL, NULL);
	int rc = program(&c, o);
	return rc < 0 ? check_together(o) : rc;
}
