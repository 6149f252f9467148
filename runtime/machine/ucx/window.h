/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h: keeps TCP's receive windows a little smaller than the kernel's receive buffers.
 *
 * Linux acknowledges data longer than one TCP segment at one of two moments: while it arrives, if
 * the window that the sender knows still fits into the free buffer; otherwise when it is read,
 * before `recv` returns, which took 5 us of a message's 15. By default a window grows until it
 * fills its buffer, so after some time it is always the second. A bound (TCP_WINDOW_CLAMP) below
 * the buffer makes it the first for messages that fit between the two.
 *
 * For a stream without answers the second is better: the sender has more to do than the receiver,
 * and an acknowledgement sent while a message arrives may be handled on the sender's processor. So
 * streams get their whole window back. And UCX's full segments do not fit between a bound and its
 * buffer, which costs 3 to 8 % at 500 kB.
 *
 * When the kernel enlarges a buffer it forgets the bound. So each connection is revisited now and
 * then.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdbool.h>

enum {
	/* Of a receive buffer, in bytes as the kernel counts them, with its own overhead: enough for a
	 * message of 55 kB but not for a packet of UCX's segments, 61 kB (ucx.c). */
	WINDOW_ROOM = 56000,
	/* Fewer bytes fit into one segment with Ethernet's usual MTU, and are acknowledged with the
	 * answer. */
	WINDOW_SEGMENT = 1400,
};

/** The connections of one wire. All 0 at first. */
struct windows {
	struct window {
		int bound;      /* what was set last; 0: nothing, or the whole window */
		int whole;      /* what the kernel allowed before */
		unsigned found; /* the look that found it; unless the last: it is no connection of this wire */
	} *of;                  /* [n], by file descriptor */
	int n, next;            /* next: where the next turn continues */
	unsigned turns, looks;
};

/** Called when something longer than WINDOW_SEGMENT has arrived and a turn is due. Bounds one of
 * the TCP connections watched by `epoll_fd`, or by an epoll that it watches; with `stream`, gives
 * it its whole window back. Some turns look for new connections, and do that for all. Other
 * descriptors are left alone; where /proc is unreadable, all are, silently. Returns how many such
 * arrivals later the next turn is due. */
int windows_turn(struct windows *s, int epoll_fd, bool stream);
void windows_free(struct windows *s);

#endif
