/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h: TCP's receive windows, a little smaller than the kernel's receive buffers.
 *
 * Linux acknowledges what is longer than one TCP segment at one of two moments: while it comes in,
 * if the window that the sender knows of still fits into what is left of the buffer; otherwise when
 * it is read, before `recv` returns, which took 5 us of a message's 15. Left to itself a window
 * grows until it fills its buffer, so after some time it is always the second one. A bound
 * (TCP_WINDOW_CLAMP) below the buffer makes it the first one for messages that fit between the two.
 *
 * Where data streams one way, without answers, it had better be the second one: the sender has more
 * to do then than the receiver, and an acknowledgement that is sent while a message comes in may be
 * handled on the sender's processor. So streams get their whole window back. And UCX's full
 * segments do not fit between a bound and its buffer, which is 3 to 8 % at 500 kB.
 *
 * When the kernel makes a buffer larger it forgets the bound. So somebody has to come back to each
 * connection now and then.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdbool.h>

enum {
	/* Of a receive buffer, in bytes as the kernel counts them, with its own overhead: room for a
	 * message of 55 kB and not for one of the packets of UCX's segments, 61 kB (ucx.c). */
	WINDOW_ROOM = 56000,
	/* What has fewer bytes fits into one segment with Ethernet's usual MTU, and is acknowledged with
	 * the answer. */
	WINDOW_SEGMENT = 1400,
};

/** The connections of one wire. All 0 at first. */
struct windows {
	struct window {
		int bound;      /* what was set last; 0: nothing, or the whole window */
		int whole;      /* what the kernel allowed before */
		unsigned found; /* in which look; any but the last one: it is no connection of this wire */
	} *of;                  /* [n], by file descriptor */
	int n, next;            /* next: where the next turn goes on */
	unsigned turns, looks;
};

/** To be called when something longer than WINDOW_SEGMENT has come, if it is its turn. Bounds one
 * of the TCP connections that are watched by `epoll_fd`, or by an epoll that it watches; or gives
 * it its whole window back, where `stream`. In some turns, which look for new ones, all of them.
 * What else the epolls watch is left alone; so is all, without a word, where /proc does not tell.
 * Returns how many such arrivals later the next turn comes. */
int windows_turn(struct windows *s, int epoll_fd, bool stream);
void windows_free(struct windows *s);

#endif
