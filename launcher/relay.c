/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c: words of the job's socket that are the job's own: ckrun passes the line on to node 0
 * (runtime/scheduler/steer/), and what node 0 answers back to the client.
 *
 *   AWAITS_NODE ---connected---> RELAYS ---node 0 hangs up---> over
 *   AWAITS_NODE ---too late---> "no"      (node 0 has not begun, or the job starts again)
 *   RELAYS ---node 0 has died, nothing came---> AWAITS_NODE for those who only look, else "no"
 *
 * Node 0 is heard only as fast as the client reads, so nothing is kept here but one piece.
 */
#include "launch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BEGIN_MS = 10000,  /* in which node 0 must listen */
	TRY_MS = 20,
	MOVE_MS = 30000,   /* a client that reads nothing for so long is dropped */
};

void launch_relay_begin(struct launch_client *c)
{
	c->stage = LAUNCH_AWAITS_NODE;
	c->until_ms = launch_now_ms() + BEGIN_MS;
}

void launch_relay_end(struct launch_client *c)
{
	if (c->node_fd >= 0)
		close(c->node_fd);
	free(c->piece);
	c->node_fd = -1;
	c->piece = NULL;
	c->n_piece = c->n_sent = 0;
}

/* ---- to node 0 --------------------------------------------------------------------------- */

int launch_relay_pair(struct launch_job *job)
{
	int pair[2];

	if (job->control.node_fd >= 0)
		close(job->control.node_fd);
	job->control.node_fd = -1;
	if (job->control.fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	job->control.node_fd = pair[0];
	return pair[1];
}

static bool pass(int to, int fd)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } with = { .room = "" };
	char byte = 0;
	struct iovec out = { &byte, 1 };
	struct msghdr m = { .msg_iov = &out, .msg_iovlen = 1, .msg_control = &with,
			    .msg_controllen = sizeof(with) };

	with.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&with.head), &fd, sizeof(fd));
	return sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

/** A connection, whose other end node 0 gets. Before it has joined the job nobody would take it. */
static int call_node(const struct launch_job *job)
{
	int pair[2];
	bool passed;

	if (job->o.delegate)
		return launch_links_take(job);
	if (!job->nodes[0].joined || job->control.node_fd < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -1;
	passed = pass(job->control.node_fd, pair[1]);
	close(pair[1]);
	if (passed)
		return pair[0];
	close(pair[0]);
	return -1;
}

static void try_to_relay(const struct launch_job *job, struct launch_client *c, int64_t now)
{
	const int fd = job->phase == LAUNCH_RUNNING ? call_node(job) : -1;
	char line[LAUNCH_LINE + 1];
	const int n = snprintf(line, sizeof(line), "%s\n", c->line);

	if (fd < 0) {
		if (now >= c->until_ms)
			launch_control_answer(c, false, job->phase == LAUNCH_REPLACING ?
					      "the job starts again just now" :
					      "node 0 does not listen: it is no Chard program, has not begun, "
					      "or has ended");
		return;
	}
	/* A new socket has room for a line. */
	(void)send(fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	c->node_fd = fd;
	c->stage = LAUNCH_RELAYS;
	c->until_ms = 0;
}

/* ---- back -------------------------------------------------------------------------------- */

static bool only_looks(const struct launch_client *c)
{
	return strstr(c->line, " status") || strstr(c->line, " metrics");
}

static void node_hung_up(struct launch_client *c)
{
	const bool any = c->any;

	launch_relay_end(c);
	if (any)
		launch_control_hang_up(c);
	else if (only_looks(c))
		launch_relay_begin(c);
	else
		launch_control_answer(c, false, "node 0 has ended before it answered");
}

static void send_piece(struct launch_client *c)
{
	const ssize_t n = send(c->fd, c->piece + c->n_sent, c->n_piece - c->n_sent,
			       MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		launch_control_hang_up(c);
		return;
	}
	if (n > 0) {
		c->n_sent += (size_t)n;
		c->until_ms = launch_now_ms() + MOVE_MS;
	}
	if (c->n_sent == c->n_piece) {
		c->n_piece = c->n_sent = 0;
		c->until_ms = 0;
	}
}

static void hear_node(struct launch_client *c)
{
	ssize_t n;

	if (!c->piece)
		c->piece = launch_must_have(malloc(LAUNCH_PIECE), "an answer");
	n = recv(c->node_fd, c->piece, LAUNCH_PIECE, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		node_hung_up(c);
		return;
	}
	c->any = true;
	c->n_piece = (size_t)n;
	c->n_sent = 0;
	c->until_ms = launch_now_ms() + MOVE_MS;
	send_piece(c);
}

/* ---- turns ------------------------------------------------------------------------------- */

void launch_relay_poll(const struct launch_client *c, struct pollfd *client, struct pollfd *node)
{
	if (c->stage == LAUNCH_RELAYS && c->n_piece)
		client->events = POLLOUT;
	else if (c->stage == LAUNCH_RELAYS)
		*node = (struct pollfd){ .fd = c->node_fd, .events = POLLIN };
}

void launch_relay_serve(struct launch_client *c, const struct pollfd *client,
			const struct pollfd *node)
{
	if (c->n_piece && client->revents & (POLLOUT | POLLHUP | POLLERR))
		send_piece(c);
	else if (c->stage == LAUNCH_RELAYS && node->revents && node->fd == c->node_fd)
		hear_node(c);
}

int launch_relay_turn(struct launch_job *job, int timeout_ms)
{
	const int64_t now = launch_now_ms();

	for (int i = 0; i < LAUNCH_CLIENTS; i++) {
		struct launch_client *c = &job->control.clients[i];
		int64_t left;

		if (c->fd >= 0 && c->stage == LAUNCH_AWAITS_NODE)
			try_to_relay(job, c, now);
		else if (c->fd >= 0 && c->stage == LAUNCH_RELAYS && c->until_ms && now >= c->until_ms)
			launch_control_hang_up(c);
		if (c->fd < 0 || !c->until_ms)
			continue;
		left = c->stage == LAUNCH_AWAITS_NODE ? TRY_MS : c->until_ms - now;
		timeout_ms = timeout_ms >= 0 && timeout_ms < left ? timeout_ms : left > 0 ? (int)left : 0;
	}
	return timeout_ms;
}
