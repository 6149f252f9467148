/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_nodes.c: the nodes of this host. Their socket has an abstract name, so it needs no file,
 * and the kernel says who calls: only our user is heard.
 */
#include "keeper.h"
#include "../../runtime/machine/tools/abstract.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	KILL_MS = 20000,      /* the kernel frees the memory of a large node before it ends */
	LOOK_MS = 20,
	DESCRIPTORS = 3,
};

/* ---- answers ------------------------------------------------------------------------------- */

/** With n descriptors. */
static void answer(const struct keeper_line *n, const struct image_keeper_answer *a, const int *fds,
		   size_t n_fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *)a, sizeof *a };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(n_fds * sizeof(int)),
		};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, n_fds * sizeof(int));
	}
	if (sendmsg(n->link.fd, &m, MSG_NOSIGNAL) < 0)
		shutdown(n->link.fd, SHUT_RDWR); /* it would wait for ever */
}

static void refuse(const struct keeper_line *n, const char *why)
{
	struct image_keeper_answer a = { 0 };

	snprintf(a.why, sizeof a.why, "%s", why);
	answer(n, &a, NULL, 0);
}

/* ---- words --------------------------------------------------------------------------------- */

/** It is a node, or it would not say that. */
static void speak(struct keeper_line *n)
{
	pthread_mutex_lock(&n->k->lock);
	n->has_spoken = true;
	pthread_mutex_unlock(&n->k->lock);
}

/** With the lock: remember that the node is here. */
static bool enter(struct keeper *k, struct keeper_line *n, uint32_t node)
{
	if (!k->runs || node >= k->n_here)
		return false;
	k->here[node] = true;
	n->has_node = true;
	n->has_read = false;
	n->node = node;
	return true;
}

static void hello(struct keeper_line *n, const struct image_keeper_ask *ask)
{
	struct keeper *k = n->k;
	const int fds[DESCRIPTORS] = { k->own.slot[0], k->own.slot[1], k->own.page_fd };
	struct image_keeper_answer a = { .ok = 1 };
	bool ok;

	pthread_mutex_lock(&k->lock);
	ok = enter(k, n, ask->node);
	a.mirrors = k->start.mirror >= 0;
	a.sealed = k->secret.seals;
	pthread_mutex_unlock(&k->lock);
	if (ok)
		answer(n, &a, fds, DESCRIPTORS);
	else
		refuse(n, "the keeper of this host expects no such node now");
}

/** With the lock: where the image of node `node` lies, if it is on this host. */
static bool find_here(const struct keeper *k, uint32_t node, uint64_t *offset, int *fd)
{
	const struct keeper_place *p = &k->places[node];
	const struct image_memory *m = p->mirrored ? &k->mirror : &k->own;
	const uint64_t sequence = k->start.from.sequence;
	struct image_head h;

	if (p->peer != k->start.me || !keeper_head(m, sequence, node, &h))
		return false;
	*offset = (uint64_t)node << IMAGE_NODE_SHIFT;
	*fd = dup(m->slot[sequence % IMAGE_SLOTS]);
	return *fd >= 0;
}

static void get(struct keeper_line *n, const struct image_keeper_ask *ask)
{
	struct keeper *k = n->k;
	struct image_keeper_answer a = { .ok = 1 };
	struct image_why why = { "" };
	bool is_known, found = false;
	int fd = -1;

	pthread_mutex_lock(&k->lock);
	is_known = n->has_node && k->runs && k->start.from.sequence && ask->node < k->start.n_nodes;
	found = is_known && find_here(k, ask->node, &a.offset, &fd);
	pthread_mutex_unlock(&k->lock);
	if (!is_known)
		image_says(&why, "the job does not start from an image of node %u in memory", ask->node);
	else if (!found)
		found = keeper_fetch(n, ask->node, &fd, &why);
	if (found)
		answer(n, &a, &fd, 1);
	else
		refuse(n, why.text);
	if (fd >= 0)
		close(fd);
}

/** With the lock: copies are needed until all nodes have read. */
static bool all_have_read(const struct keeper *k)
{
	for (const struct keeper_line *n = k->nodes; n; n = n->next)
		if (n->has_node && !n->has_read)
			return false;
	return true;
}

static void drop_read_copies(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	if (all_have_read(k))
		keeper_copies_drop(k);
	pthread_mutex_unlock(&k->lock);
}

static void has_read(struct keeper_line *n)
{
	pthread_mutex_lock(&n->k->lock);
	n->has_read = true;
	pthread_mutex_unlock(&n->k->lock);
	drop_read_copies(n->k);
}

static void mirror(struct keeper_line *n, const struct image_keeper_ask *ask)
{
	const struct image_keeper_answer a = { .ok = 1 };
	struct image_why why = { "" };

	if (keeper_mirror(n, ask->sequence, ask->has_info ? &ask->info : NULL, &why))
		answer(n, &a, NULL, 0);
	else
		refuse(n, why.text);
}

/** False: that is no word of a node. */
static bool serve_word(struct keeper_line *n, const struct image_keeper_ask *ask)
{
	speak(n);
	switch (ask->word) {
	case IMAGE_KEEPER_HELLO:
		hello(n, ask);
		return true;
	case IMAGE_KEEPER_GET:
		get(n, ask);
		return true;
	case IMAGE_KEEPER_READ:
		has_read(n);
		return true;
	case IMAGE_KEEPER_MIRROR:
		mirror(n, ask);
		return true;
	default:
		return false;
	}
}

/** What a node notes: "N came", "N met", or "N LINE". */
static bool take_note(struct keeper_line *n, const char *text)
{
	unsigned start;
	int used = 0;

	if (sscanf(text, "%u %n", &start, &used) != 1 || !text[used])
		return false;
	speak(n);
	if (!strcmp(text + used, "came"))
		keeper_tell(n->k, KEEPER_CAME, start, "");
	else if (!strcmp(text + used, "met"))
		keeper_tell(n->k, KEEPER_MET, start, "");
	else
		keeper_tell(n->k, KEEPER_NOTE, start, text + used);
	return true;
}

/* ---- connections --------------------------------------------------------------------------- */

/** Take the caller's process. False: it is not our user's. */
static bool take_process(struct keeper_line *n)
{
	struct ucred who;
	socklen_t size = sizeof who;
	int process;

	if (getsockopt(n->link.fd, SOL_SOCKET, SO_PEERCRED, &who, &size) || who.uid != geteuid())
		return false;
	process = who.pid > 0 ? (int)syscall(SYS_pidfd_open, who.pid, 0) : -1;
	pthread_mutex_lock(&n->k->lock);
	n->process = process;
	pthread_mutex_unlock(&n->k->lock);
	return true;
}

/** The next packet. Returns its size, 0: there will be none. */
static size_t take_packet(const struct keeper_line *n, void *to, size_t size)
{
	ssize_t got;

	do
		got = recv(n->link.fd, to, size, 0);
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

static void *serve(void *arg)
{
	struct keeper_line *n = arg;
	struct keeper *k = n->k;
	struct image_keeper_ask ask;

	if (take_process(n))
		while (take_packet(n, &ask, sizeof ask) == sizeof ask && ask.version == IMAGE_KEEPER_VERSION &&
		       serve_word(n, &ask))
			;
	keeper_line_end(&k->nodes, n);
	drop_read_copies(k);
	return NULL;
}

static void *serve_notes(void *arg)
{
	struct keeper_line *n = arg;
	char text[IMAGE_KEEPER_TEXT + 40];
	size_t size;

	if (take_process(n))
		while ((size = take_packet(n, text, sizeof text - 1))) {
			text[size] = '\0';
			text[strcspn(text, "\n")] = '\0';
			if (!take_note(n, text))
				break;
		}
	keeper_line_end(&n->k->nodes, n);
	return NULL;
}

static int listen_at(const char *name, const char *behind)
{
	char text[IMAGE_KEEPER_NAME + 16];
	struct sockaddr_un at;
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(text, sizeof text, "@%s%s", name, behind);
	const socklen_t n = abstract_address(&at, text);

	if (fd >= 0 && n && !bind(fd, (struct sockaddr *)&at, n) && !listen(fd, SOMAXCONN))
		return fd;
	return -1;
}

bool keeper_nodes_listen(struct keeper *k)
{
	k->nodes_fd = listen_at(k->name, "");
	k->notes_fd = k->nodes_fd < 0 ? -1 : listen_at(k->name, ".notes");
	return k->notes_fd >= 0;
}

static bool has_caller(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* With the lock, so that whoever has it sees each caller: in the list, or by has_caller. Only this
 * thread accepts, so that does not block. */
static bool accept_one(struct keeper *k, int from, void *(*serve_one)(void *))
{
	int fd;

	pthread_mutex_lock(&k->lock);
	fd = has_caller(from) ? accept4(from, NULL, NULL, SOCK_CLOEXEC) : -1;
	if (fd >= 0)
		keeper_line_start(&k->nodes, k, fd, serve_one);
	pthread_mutex_unlock(&k->lock);
	return fd >= 0;
}

_Noreturn static void accept_all(struct keeper *k, int from, void *(*serve_one)(void *))
{
	struct pollfd p = { .fd = from, .events = POLLIN };

	for (;;)
		if (poll(&p, 1, -1) == 1 && !accept_one(k, from, serve_one))
			poll(NULL, 0, LOOK_MS); /* too many are open */
}

void *keeper_nodes_serve(void *arg)
{
	struct keeper *k = arg;

	accept_all(k, k->nodes_fd, serve);
}

void *keeper_notes_serve(void *arg)
{
	struct keeper *k = arg;

	accept_all(k, k->notes_fd, serve_notes);
}

/* ---- their end ----------------------------------------------------------------------------- */

static bool has_ended(const struct keeper_line *n)
{
	struct pollfd p = { .fd = n->process, .events = POLLIN };

	return n->process < 0 || poll(&p, 1, 0) == 1;
}

/** With the lock. What a dead node has sent is read before its connection ends. Its children may
 * have the connection open, too, so it is ended here. */
static void kill_one(const struct keeper_line *n)
{
	if (!n->has_spoken || has_ended(n))
		shutdown(n->link.fd, SHUT_RD);
	else
		syscall(SYS_pidfd_send_signal, n->process, SIGKILL, NULL, 0);
	if (n->peer >= 0)
		shutdown(n->peer, SHUT_RDWR);
}

/* A node may have been starting: it is killed as soon as it calls. One may have called, noted
 * something and died before it was heard. */
uint32_t keeper_nodes_kill(struct keeper *k)
{
	uint32_t left = 0;

	pthread_mutex_lock(&k->lock);
	for (int ms = 0; ms < KILL_MS && (k->nodes || has_caller(k->nodes_fd) || has_caller(k->notes_fd));
	     ms += LOOK_MS) {
		for (const struct keeper_line *n = k->nodes; n; n = n->next)
			kill_one(n);
		keeper_wait(k, LOOK_MS);
	}
	for (const struct keeper_line *n = k->nodes; n; n = n->next)
		left += n->has_spoken;
	pthread_mutex_unlock(&k->lock);
	return left;
}
