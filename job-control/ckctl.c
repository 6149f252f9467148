/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckctl.c: ckctl JOB WORD [ARGUMENTS]: one line to the job's control socket, and its answer. The
 * words are the job's, but `top`, which is a picture of `status`.
 *
 * Exit codes: 0: ok; 1: the job says no, or there is none; 2: the command line is wrong.
 */
#include "ckctl.h"
#include "../launcher/reach.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CHARD_VERSION
#define CHARD_VERSION "0.1.0"
#endif

enum { EXIT_USAGE = 2, LINE_MOST = 1000 };

static const char help[] =
"usage: ckctl JOB WORD [ARGUMENTS]\n"
"\n"
"See and steer a running Chard job. JOB is the process id of its ckrun, the job's\n"
"folder, or the path of CK_CONTROL.\n"
"\n"
"  status             hosts, nodes and PEs, as NAME=VALUE\n"
"  top                the same for people, each second on a terminal\n"
"  metrics            the same for Prometheus (OpenMetrics)\n"
"  report             what every PE does, or waits for\n"
"  checkpoint [DIR]   save the job now, in DIR or where CK_CHECKPOINT says\n"
"  balance now        balance loads at the next sync\n"
"  trace on|off       record events, in a job with CK_TRACE\n"
"  set NAME=VALUE     CK_LB, CK_LB_PERIOD, CK_LB_TOLERANCE, CK_SYNC_MS,\n"
"                     CK_CHECKPOINT (how often), CK_CHECKPOINT_WAIT\n"
"  resize N           go on with N PEs; the job's ckrun only\n"
"  stop               end the job\n"
"  --help, --version\n";

/** All that comes until the job hangs up; ends with 0. */
static char *read_all(int fd, size_t *n_p)
{
	size_t n = 0, cap = 4096;
	char *text = malloc(cap);

	for (ssize_t got = 1; text && got;) {
		if (n + 1 == cap) {
			char *more = realloc(text, cap *= 2);

			if (!more)
				free(text);
			text = more;
			continue;
		}
		got = read(fd, text + n, cap - 1 - n);
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	if (!text) {
		fputs("ckctl: no memory for the answer\n", stderr);
		exit(1);
	}
	text[n] = '\0';
	*n_p = n;
	return text;
}

char *ask_job(const char *job, const char *words, bool *ok_p)
{
	char line[LINE_MOST + 16], *text;
	size_t n;
	const int fd = reach_job(job);

	if (fd < 0) {
		fprintf(stderr, "ckctl: no job '%s' listens here: %s\n", job, strerror(errno));
		return NULL;
	}
	snprintf(line, sizeof(line), "chard 1 %s\n", words);
	(void)send(fd, line, strlen(line), MSG_NOSIGNAL);
	text = read_all(fd, &n);
	close(fd);
	*ok_p = !strncmp(text, "ok ", 3);
	if (n < 4 || (!*ok_p && strncmp(text, "no ", 3))) {
		fputs("ckctl: the job has ended without an answer\n", stderr);
		free(text);
		return NULL;
	}
	memmove(text, text + 3, n - 2);
	return text;
}

static int wrong(const char *what, const char *which)
{
	fprintf(stderr, "ckctl: %s%s; ckctl --help lists the words\n", what, which);
	return EXIT_USAGE;
}

/** The arguments as one line. False: it is too long, or they are several lines. */
static bool join(char *const *argv, char *line, size_t cap)
{
	size_t n = 0;

	for (; *argv; argv++) {
		n += (size_t)snprintf(line + n, cap - n, "%s%s", n ? " " : "", *argv);
		if (n >= cap || strchr(*argv, '\n'))
			return false;
	}
	return true;
}

/** What is not whole has no meaning for a script. */
static bool is_cut(const char *word, const char *text)
{
	const size_t n = strlen(text);

	if (!strcmp(word, "status"))
		return !status_is_whole(text);
	return !strcmp(word, "metrics") && (n < 6 || strcmp(text + n - 6, "# EOF\n"));
}

static int say_to_job(const char *job, char *const *words)
{
	char line[LINE_MOST], *text;
	bool ok;

	if (!join(words, line, sizeof(line)))
		return wrong("the words are too long", "");
	text = ask_job(job, line, &ok);
	if (!text)
		return 1;
	if (ok && is_cut(words[0], text)) {
		fputs("ckctl: the job has ended while it answered\n", stderr);
		ok = false;
	} else if (ok) {
		fputs(text, stdout);
	} else {
		fprintf(stderr, "ckctl: %s", text);
	}
	free(text);
	return !ok || fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		return fflush(stdout) != 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("ckctl " CHARD_VERSION);
		return 0;
	}
	if (argc > 1 && argv[1][0] == '-')
		return wrong("unknown option ", argv[1]);
	if (argc < 3)
		return wrong(argc < 2 ? "a job is missing" : "a word is missing", "");
	if (!strcmp(argv[2], "top"))
		return argc > 3 ? wrong("top takes no arguments", "") : top(argv[1]);
	return say_to_job(argv[1], argv + 2);
}
