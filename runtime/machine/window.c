/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c: see window.h.
 *
 * UCX does not hand out its sockets, but its event descriptor is an epoll. /proc/self/fdinfo says, a line for each, what
 * an epoll watches ("tfd: 29 events: ..."). So connections of others, of a host program say, are never touched.
 */
#include "window.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cmi_alloc.h"

enum {
	/* The worker's epoll, and in it the one of UCX's tcp transport. */
	DEPTH = 2,
	/* A turn for one connection is a system call or two, against so many arrivals of 8 us and more each. The kernel decides about
	 * a window when the first full segment has come, so the first turns follow each other. */
	TURN_EACH = 16,
	/* Turns, a power of 2. A look takes 20 us, and 1 us for each connection. */
	LOOK_EACH = 256,
};

static int option(int fd, int level, int name)
{
	int value = 0;
	socklen_t size = sizeof value;

	return getsockopt(fd, level, name, &value, &size) ? 0 : value;
}

/** What the window may be: as much less than the kernel allows as the room is of the buffer. */
static int below(int window, int buffer)
{
	const int room = WINDOW_ROOM < buffer / 2 ? WINDOW_ROOM : buffer / 2;

	return (int)((long long)window * (buffer - room) / buffer);
}

static void bound_window(struct window *w, int fd)
{
	const int window = option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP);
	int value;

	if (window <= 0 || window == w->bound) /* not connected yet, or as we left it */
		return;
	value = below(window, option(fd, SOL_SOCKET, SO_RCVBUF));
	if (!setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &value, sizeof value))
		w->bound = value;
}

static void found(struct windows *s, int fd)
{
	if (option(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP)
		return;
	if (fd >= s->n) {
		const int n = fd + 16;

		s->of = cmi_realloc(s->of, (size_t)n, sizeof *s->of, "connections");
		memset(s->of + s->n, 0, (size_t)(n - s->n) * sizeof *s->of);
		s->n = n;
	}
	s->of[fd].found = s->looks;
	bound_window(&s->of[fd], fd);
}

/** What is no epoll has no such lines. */
static void look(struct windows *s, int epoll_fd, int depth)
{
	char path[40], line[128];
	int fd;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll_fd);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "tfd: %d", &fd) != 1)
			continue;
		found(s, fd);
		if (depth > 1)
			look(s, fd, depth - 1);
	}
	fclose(f);
}

static void next_one(struct windows *s)
{
	for (int i = 0; i < s->n; i++) {
		const int fd = s->next++ % s->n;

		s->next %= s->n;
		if (s->of[fd].found != s->looks)
			continue;
		bound_window(&s->of[fd], fd);
		return;
	}
}

int windows_turn(struct windows *s, int epoll_fd)
{
	const unsigned turn = ++s->turns;

	if ((turn & (turn - 1)) == 0 || turn % LOOK_EACH == 0) {
		s->looks++;
		look(s, epoll_fd, DEPTH);
	} else {
		next_one(s);
	}
	return turn < TURN_EACH ? 1 : TURN_EACH;
}

void windows_free(struct windows *s)
{
	free(s->of);
	*s = (struct windows){0};
}
