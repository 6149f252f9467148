/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c: the job's socket, through which other processes of the same user ask ckrun for
 * something: "control" in the job's folder. Only its owner may connect.
 *
 *	client:  chard 1 WORD ARGUMENTS      one line; 1 is the version of what is said here
 *	ckrun:   ok TEXT                     or: no WHY; one line or more. Then it hangs up
 *
 * Words that need the launcher are ckrun's own; all others go to node 0 (relay.c).
 *
 * A client that says too much or something else is told so. One that is slow or silent keeps its
 * place, of which there are few, and harms nobody: nothing here waits.
 */
#include "launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char GREETING[] = "chard 1 ";

/* ---- answers -------------------------------------------------------------------------------- */

void launch_control_answer(struct launch_client *c, bool ok, const char *fmt, ...)
{
	char line[512];
	va_list args;

	if (!c)
		return;
	int n = snprintf(line, sizeof(line), ok ? "ok " : "no ");
	va_start(args, fmt);
	vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
	va_end(args);
	strcat(line, "\n");
	launch_relay_end(c);
	/* It fits into the socket; if not, the client has not read, and gets nothing. */
	(void)send(c->fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(c->fd);
	c->fd = -1;
}

/* ---- words ---------------------------------------------------------------------------------- */

static void stop(struct launch_job *job, struct launch_client *c, const char *arguments)
{
	(void)arguments;
	launch_control_answer(c, true, "%s", job->o.checkpoint_exit ?
			      "the job is saved, if it can be, and ends" : "the job ends");
	kill(getpid(), SIGTERM);
}

/* All others are node 0's. */
static const struct word {
	const char *name;
	/** Answers at once, or sees to it that the client is answered later. */
	void (*fn)(struct launch_job *job, struct launch_client *c, const char *arguments);
} words[] = {
	{ "resize", launch_resize },
	{ "stop", stop },
};

static void obey(struct launch_job *job, struct launch_client *c)
{
	const char *word = c->line + sizeof(GREETING) - 1;

	if (strncmp(c->line, GREETING, sizeof(GREETING) - 1)) {
		launch_control_answer(c, false, "ckrun expects \"%sWORD\"", GREETING);
		return;
	}
	size_t n = strcspn(word, " ");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].name) == n && !strncmp(words[i].name, word, n)) {
			c->stage = LAUNCH_WAITS;
			words[i].fn(job, c, word + n + (word[n] == ' '));
			return;
		}
	launch_relay_begin(c);
}

/* ---- clients -------------------------------------------------------------------------------- */

void launch_control_hang_up(struct launch_client *c)
{
	launch_relay_end(c);
	close(c->fd);
	c->fd = -1;
}

static void hang_up(struct launch_job *job, struct launch_client *c)
{
	launch_resize_unheard(job, c);
	launch_control_hang_up(c);
}

/** Read until the end of the line. A client that has asked has nothing more to say, but may go. */
static void read_client(struct launch_job *job, struct launch_client *c)
{
	char rest[LAUNCH_LINE];
	const bool says = c->stage == LAUNCH_SAYS;
	char *to = says ? c->line + c->n : rest;
	ssize_t n = recv(c->fd, to, says ? sizeof(c->line) - c->n : sizeof(rest), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(job, c);
		return;
	}
	if (!says)
		return;
	c->n += (size_t)n;
	char *end = memchr(c->line, '\n', c->n);
	if (end) {
		*end = '\0';
		obey(job, c);
	} else if (c->n == sizeof(c->line)) {
		launch_control_answer(c, false, "the line is too long");
	}
}

static void accept_client(struct launch_control *t)
{
	int fd = accept4(t->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (int i = 0; i < LAUNCH_CLIENTS && fd >= 0; i++)
		if (t->clients[i].fd < 0) {
			t->clients[i] = (struct launch_client){ .fd = fd, .node_fd = -1 };
			return;
		}
	if (fd >= 0) {
		struct launch_client late = { .fd = fd, .node_fd = -1 };
		launch_control_answer(&late, false, "too many ask at once; try again");
	}
}

/* ---- the socket ----------------------------------------------------------------------------- */

void launch_control_start(struct launch_job *job)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct launch_control *t = &job->control;

	t->fd = t->node_fd = -1;
	for (int i = 0; i < LAUNCH_CLIENTS; i++)
		t->clients[i].fd = -1;
	if (!job->folder[0] ||
	    snprintf(at.sun_path, sizeof(at.sun_path), "%s/control", job->folder) >=
		    (int)sizeof(at.sun_path))
		return;
	t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->fd < 0)
		return;
	/* The folder keeps others out until the mode is set. */
	if (bind(t->fd, (struct sockaddr *)&at, sizeof(at)) || chmod(at.sun_path, 0600) ||
	    listen(t->fd, LAUNCH_CLIENTS)) {
		close(t->fd);
		t->fd = -1;
	} else if (job->o.verbose) {
		launch_say(job, "the job listens at %s", at.sun_path);
	}
}

void launch_control_stop(struct launch_job *job)
{
	struct launch_control *t = &job->control;

	for (int i = 0; i < LAUNCH_CLIENTS; i++)
		if (t->clients[i].fd >= 0)
			launch_control_answer(&t->clients[i], false, "the job has ended");
	if (t->fd >= 0)
		close(t->fd);
	if (t->node_fd >= 0)
		close(t->node_fd);
	t->fd = t->node_fd = -1;
}

void launch_control_poll(const struct launch_job *job, struct pollfd *p)
{
	const struct launch_control *t = &job->control;

	p[0] = (struct pollfd){ .fd = t->fd, .events = POLLIN };
	for (int i = 0; i < LAUNCH_CLIENTS; i++) {
		p[1 + i] = (struct pollfd){ .fd = t->clients[i].fd, .events = POLLIN };
		p[1 + LAUNCH_CLIENTS + i] = (struct pollfd){ .fd = -1 };
		launch_relay_poll(&t->clients[i], &p[1 + i], &p[1 + LAUNCH_CLIENTS + i]);
	}
}

void launch_control_serve(struct launch_job *job, const struct pollfd *p)
{
	for (int i = 0; i < LAUNCH_CLIENTS; i++) {
		struct launch_client *c = &job->control.clients[i];

		if (c->fd < 0 || c->fd != p[1 + i].fd)
			continue;
		if (p[1 + i].revents && p[1 + i].events == POLLIN)
			read_client(job, c);
		if (c->fd >= 0 && c->stage == LAUNCH_RELAYS)
			launch_relay_serve(c, &p[1 + i], &p[1 + LAUNCH_CLIENTS + i]);
	}
	if (p[0].revents)
		accept_client(&job->control);
}
