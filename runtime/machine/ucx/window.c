/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c: see window.h.
 *
 * UCX does not expose its sockets, but its event descriptor is an epoll. /proc/self/fdinfo lists
 * what an epoll watches, a line each ("tfd: 29 events: ..."). So other connections, of a host
 * program say, are never touched.
 */
#include "window.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/cmi_alloc.h"

enum {
	/* The worker's epoll, and inside it that of UCX's tcp transport. */
	DEPTH = 2,
	/* A turn for one connection costs one or two system calls, and this many arrivals of 8 us and more
	 * each. The kernel decides about a window when the first full segment has come, so the first turns
	 * follow each other immediately. */
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

/** The bound: the kernel's window minus the same share as WINDOW_ROOM has of the buffer. */
static int window_below(int window, int buffer)
{
	const int room = WINDOW_ROOM < buffer / 2 ? WINDOW_ROOM : buffer / 2;

	return (int)((long long)window * (buffer - room) / buffer);
}

static bool set(int fd, int window)
{
	return !setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);
}

/* A window that differs from our setting is what the kernel allows now. 0: not connected yet. */
static void adjust(struct window *w, int fd, bool stream)
{
	const int window = option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP);
	int bound;

	if (stream && window > 0 && window == w->bound && set(fd, w->whole))
		w->bound = 0;
	if (stream || window <= 0 || window == w->bound)
		return;
	bound = window_below(window, option(fd, SOL_SOCKET, SO_RCVBUF));
	if (set(fd, bound)) {
		w->bound = bound;
		w->whole = window;
	}
}

static void window_found(struct windows *s, int fd, bool stream)
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
	adjust(&s->of[fd], fd, stream);
}

/** Descriptors other than epolls have no such lines. */
static void look_for_connections(struct windows *s, int epoll_fd, int depth, bool stream)
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
		window_found(s, fd, stream);
		if (depth > 1)
			look_for_connections(s, fd, depth - 1, stream);
	}
	fclose(f);
}

static void next_one(struct windows *s, bool stream)
{
	for (int i = 0; i < s->n; i++) {
		const int fd = s->next++ % s->n;

		s->next %= s->n;
		if (s->of[fd].found != s->looks)
			continue;
		adjust(&s->of[fd], fd, stream);
		return;
	}
}

int windows_turn(struct windows *s, int epoll_fd, bool stream)
{
	const unsigned turn = ++s->turns;

	if ((turn & (turn - 1)) == 0 || turn % LOOK_EACH == 0) {
		s->looks++;
		look_for_connections(s, epoll_fd, DEPTH, stream);
	} else {
		next_one(s, stream);
	}
	return turn < TURN_EACH ? 1 : TURN_EACH;
}

void windows_free(struct windows *s)
{
	free(s->of);
	*s = (struct windows){0};
}
