/* SPDX-License-Identifier: Apache-2.0 */
/* image_keeper.c: the node's end of the connection to its host's keeper. */
#include "image_keeper.h"

#include "../machine/tools/abstract.h"

#include <errno.h>
#include <poll.h>

enum { DESCRIPTORS = IMAGE_SLOTS + 1, MOST = DESCRIPTORS + 1 }; /* one more is too many */

/* ---- the socket ------------------------------------------------------------------------------ */

/* The descriptors that came with a packet. Returns how many. */
static int take_descriptors(struct msghdr *m, int fds[MOST])
{
	int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		const int came = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (int i = 0; i < came; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + (size_t)i * sizeof fd, sizeof fd);
			if (n < MOST)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

/* Exactly n descriptors come with an answer that is ok, none else. */
static bool receive(const struct image_keeper *k, struct image_keeper_answer *a, int *fds, int n,
		    struct image_why *why)
{
	union { char bytes[CMSG_SPACE(MOST * sizeof(int))]; struct cmsghdr align; } control;
	struct iovec to = { a, sizeof *a };
	struct msghdr m = { .msg_iov = &to, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof control };
	int came[MOST], n_came;
	ssize_t got;

	do
		got = recvmsg(k->fd, &m, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return image_says(why, "this host's keeper is gone: %s", got ? strerror(errno) : "it has ended");
	n_came = take_descriptors(&m, came);
	if (got == sizeof *a && a->ok && n_came == n) {
		if (n)
			memcpy(fds, came, (size_t)n * sizeof *fds);
		return true;
	}
	while (n_came)
		close(came[--n_came]);
	a->why[sizeof a->why - 1] = '\0';
	return image_says(why, "%s", got == sizeof *a && !a->ok ? a->why :
			  "this host's keeper is of another version of Chard");
}

static bool tell(const struct image_keeper *k, struct image_keeper_ask ask, struct image_why *why)
{
	ssize_t sent;

	ask.version = IMAGE_KEEPER_VERSION;
	do
		sent = send(k->fd, &ask, sizeof ask, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == sizeof ask || image_says(why, "this host's keeper is gone: %s", strerror(errno));
}

static bool ask(const struct image_keeper *k, struct image_keeper_ask question,
		struct image_keeper_answer *a, int *fds, int n, struct image_why *why)
{
	return tell(k, question, why) && receive(k, a, fds, n, why);
}

/* ---- what nodes say -------------------------------------------------------------------------- */

bool image_keeper_open(struct image_keeper *k, const char *name, uint32_t node,
		       struct image_memory *m, struct image_why *why)
{
	const struct image_keeper_ask hello = { .word = IMAGE_KEEPER_HELLO, .node = node };
	struct image_keeper_answer a;
	int fds[DESCRIPTORS];

	*k = (struct image_keeper){ .node = node, .fd = abstract_connect(name) };
	if (k->fd < 0)
		return false;
	if (!ask(k, hello, &a, fds, DESCRIPTORS, why)) {
		close(k->fd);
		return false;
	}
	k->is_open = true;
	k->mirrors = a.mirrors;
	k->sealed = a.sealed;
	*m = (struct image_memory){ .slot = { fds[0], fds[1] }, .page_fd = fds[2] };
	return true;
}

void image_keeper_close(struct image_keeper *k)
{
	if (k->is_open)
		close(k->fd);
	k->is_open = false;
}

void image_keeper_hang_up(struct image_keeper *k)
{
	if (k->is_open)
		shutdown(k->fd, SHUT_RDWR);
}

bool image_keeper_is_gone(const struct image_keeper *k)
{
	struct pollfd p = { .fd = k->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP));
}

bool image_keeper_get(struct image_keeper *k, struct image_region *r, uint64_t sequence,
		      uint32_t node, size_t *bytes, struct image_why *why)
{
	const struct image_keeper_ask get = { .word = IMAGE_KEEPER_GET, .node = node,
					      .sequence = sequence };
	struct image_keeper_answer a;
	int fd;
	bool mapped;

	if (!ask(k, get, &a, &fd, 1, why))
		return false;
	mapped = image_region_read_at(fd, a.offset, r, sequence, node, bytes, why);
	close(fd);
	return mapped;
}

/* A keeper that is gone keeps nothing. */
void image_keeper_read(struct image_keeper *k)
{
	struct image_why why = { "" };

	tell(k, (struct image_keeper_ask){ .word = IMAGE_KEEPER_READ, .node = k->node }, &why);
}

bool image_keeper_mirror(struct image_keeper *k, uint64_t sequence, const struct image_info *info,
			 struct image_why *why)
{
	struct image_keeper_ask mirror = { .word = IMAGE_KEEPER_MIRROR, .node = k->node,
					   .sequence = sequence, .has_info = info != NULL };
	struct image_keeper_answer a;

	if (info)
		mirror.info = *info;
	return ask(k, mirror, &a, NULL, 0, why);
}
