/* SPDX-License-Identifier: Apache-2.0 */
/* top.c: ckctl JOB top: the picture of `status`, written anew each second on a terminal. Elsewhere
 * it is written once. */
#include "ckctl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_ROWS = 24, USUAL_COLUMNS = 80 };

static volatile sig_atomic_t over;

static void on_signal(int sig)
{
	(void)sig;
	over = 1;
}

/** One column and one row less: some terminals scroll after the last one. */
static void size_of_terminal(int *rows, int *columns)
{
	struct winsize w;
	const bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row > 1 && w.ws_col > 1;

	*rows = (known ? w.ws_row : USUAL_ROWS) - 1;
	*columns = (known ? w.ws_col : USUAL_COLUMNS) - 1;
}

/** The answer, or NULL after saying why there is none. */
static char *ask_status(const char *job)
{
	bool ok;
	char *text = ask_job(job, "status", &ok);

	if (text && ok && status_is_whole(text))
		return text;
	if (text)
		fprintf(stderr, "ckctl: %s\n", ok ? "the job has ended while it answered" : text);
	free(text);
	return NULL;
}

/* Home, the picture, and what is left of the one before is erased; in one write. */
static void show(const char *status)
{
	char *text;
	size_t n;
	int rows, columns;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return;
	size_of_terminal(&rows, &columns);
	picture(out, status, rows, columns);
	fclose(out);
	fputs("\033[H", stdout);
	for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1)
		printf("%.*s\033[K\n", (int)(end - at), at);
	fputs("\033[J", stdout);
	fflush(stdout);
	free(text);
}

static int once(const char *job)
{
	char *status = ask_status(job);

	if (!status)
		return 1;
	picture(stdout, status, 0, 0);
	free(status);
	return 0;
}

int top(const char *job)
{
	struct sigaction end = { .sa_handler = on_signal };
	const struct timespec second = { .tv_sec = 1 };
	const char *term = getenv("TERM");
	char *status;

	if (!isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb"))
		return once(job);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	fputs("\033[2J", stdout);
	while (!over && (status = ask_status(job))) {
		show(status);
		free(status);
		nanosleep(&second, NULL);
	}
	return !over;
}
