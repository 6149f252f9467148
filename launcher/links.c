/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.c: node 0 of a job on several hosts. It may be on any host, so it calls ckrun by TCP
 * (runtime/machine/base/cmi_link.h), and ckrun passes the words of its clients on by these
 * connections: one for each client; node 0 makes the next one when one is used.
 *
 * Anybody may connect to the port. Who does not prove to know the job's key within CALLER_MS gets
 * nothing, and keeps one of CALLERS places for so long.
 */
#include "launch.h"
#include "keeper/keeper_words.h"
#include "../runtime/machine/base/cmi_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLERS = 4, CALLER_MS = 2000 };
_Static_assert(LAUNCH_LINK_POLLS == 1 + CALLERS + 1, "one entry for each");

struct launch_links {
	struct cmi_key128 key;
	uint16_t port;
	int listen_fd;
	int ready;               /* node 0's, not used yet; -1 */
	struct caller {
		int fd;              /* -1: nobody */
		int64_t until_ms;
		struct cmi_link_challenge challenge;
	} callers[CALLERS];
};

void launch_links_start(struct launch_job *job)
{
	struct launch_links *s;

	if (!job->o.delegate || job->control.fd < 0)
		return;
	s = launch_must_have(calloc(1, sizeof(*s)), "the connections of node 0");
	s->ready = -1;
	for (int i = 0; i < CALLERS; i++)
		s->callers[i].fd = -1;
	s->listen_fd = keeper_listen(&s->port);
	if (s->listen_fd < 0 || getrandom(&s->key, sizeof(s->key), 0) != sizeof(s->key)) {
		if (s->listen_fd >= 0)
			close(s->listen_fd);
		free(s);
		return;
	}
	job->links = s;
}

char *launch_links_text(const struct launch_job *job, char *text, size_t cap)
{
	const struct launch_links *s = job->links;
	char addresses[1500] = "";

	launch_addresses(addresses, sizeof(addresses));
	for (char *c = addresses; *c; c++)
		if (*c == ' ')
			*c = ',';
	snprintf(text, cap, CMI_LINK "%016llx%016llx:%u:%s", (unsigned long long)s->key.k[0],
		 (unsigned long long)s->key.k[1], s->port, addresses[0] ? addresses + 1 : "127.0.0.1");
	return text;
}

int launch_links_take(const struct launch_job *job)
{
	struct launch_links *s = job->links;
	const int fd = s ? s->ready : -1;

	if (s)
		s->ready = -1;
	return fd;
}

/* ---- callers ------------------------------------------------------------------------------- */

static void accept_caller(struct launch_links *s)
{
	const int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (int i = 0; fd >= 0 && i < CALLERS; i++) {
		struct caller *c = &s->callers[i];

		if (c->fd >= 0)
			continue;
		if (getrandom(&c->challenge, sizeof(c->challenge), 0) != sizeof(c->challenge) ||
		    send(fd, &c->challenge, sizeof(c->challenge), MSG_NOSIGNAL) != sizeof(c->challenge))
			break;
		c->fd = fd;
		c->until_ms = launch_now_ms() + CALLER_MS;
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void drop(struct caller *c)
{
	close(c->fd);
	c->fd = -1;
}

/** What he says is short: it comes in one piece, or he is none of ours. A newer connection of
 * node 0 counts: the older one may be that of a node that is dead. */
static void hear_caller(struct launch_links *s, struct caller *c)
{
	struct cmi_link_hello h;
	struct cmi_link_welcome w;
	const ssize_t n = recv(c->fd, &h, sizeof(h), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == (ssize_t)sizeof(h) && h.mac == cmi_link_mac_hello(s->key, &c->challenge, &h)) {
		w.mac = cmi_link_mac_welcome(s->key, &h);
		if (send(c->fd, &w, sizeof(w), MSG_NOSIGNAL) == sizeof(w)) {
			if (s->ready >= 0)
				close(s->ready);
			s->ready = c->fd;
			keeper_watch(s->ready);
			c->fd = -1;
			return;
		}
	}
	drop(c);
}

/* ---- turns --------------------------------------------------------------------------------- */

int launch_links_turn(struct launch_job *job, int timeout_ms)
{
	struct launch_links *s = job->links;
	const int64_t now = launch_now_ms();

	for (int i = 0; s && i < CALLERS; i++) {
		struct caller *c = &s->callers[i];

		if (c->fd >= 0 && now >= c->until_ms)
			drop(c);
		if (c->fd >= 0 && (timeout_ms < 0 || timeout_ms > c->until_ms - now))
			timeout_ms = (int)(c->until_ms - now);
	}
	return timeout_ms;
}

void launch_links_poll(const struct launch_job *job, struct pollfd *p)
{
	const struct launch_links *s = job->links;

	for (int i = 0; i < LAUNCH_LINK_POLLS; i++)
		p[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	if (!s)
		return;
	p[0].fd = s->listen_fd;
	p[1].fd = s->ready;
	for (int i = 0; i < CALLERS; i++)
		p[2 + i].fd = s->callers[i].fd;
}

void launch_links_serve(struct launch_job *job, const struct pollfd *p)
{
	struct launch_links *s = job->links;

	if (!s)
		return;
	/* Node 0 says nothing there by itself: it is gone. */
	if (p[1].revents && s->ready == p[1].fd) {
		close(s->ready);
		s->ready = -1;
	}
	for (int i = 0; i < CALLERS; i++)
		if (p[2 + i].revents && s->callers[i].fd == p[2 + i].fd)
			hear_caller(s, &s->callers[i]);
	if (p[0].revents)
		accept_caller(s);
}

void launch_links_end(struct launch_job *job)
{
	struct launch_links *s = job->links;

	if (!s)
		return;
	for (int i = 0; i < CALLERS; i++)
		if (s->callers[i].fd >= 0)
			close(s->callers[i].fd);
	if (s->ready >= 0)
		close(s->ready);
	close(s->listen_fd);
	free(s);
	job->links = NULL;
}
