/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wake_host.h: wakes a PE of another process of the host. Each PE has a pipe on which it sleeps.
 * The others open it through /proc, as they open its message memory (share_mem.c), so whoever may
 * write to that memory may wake the PE: the kernel admits only processes of the same user.
 */
#ifndef WAKE_HOST_H
#define WAKE_HOST_H

#include <stdatomic.h>
#include <stdint.h>

/** Where a PE's pipe is; in memory that the host shares. The PE writes it before the second
 * meeting, after which it is constant. Relaxed: the fence of that meeting orders it. */
struct wake_door {
	_Atomic uint64_t inode;  /* 0: there is no pipe */
	atomic_int fd;
};

/** The pipes of others that a PE keeps open; it opens further ones anew each time. */
enum { WAKE_KEPT = 16 };
struct wake_keys {
	struct wake_key {
		const struct wake_door *door; /* NULL: free */
		int fd;
	} kept[WAKE_KEPT];
};

/** PE. Make our pipe and publish it. -1: there is none, and messages wait for the end of a nap. */
int wake_door_open(struct wake_door *door);
/** PE. Forget all wake-ups that have come. */
void wake_door_forget(int fd);

/** PE. Wake PE `pe` of the job, which has this door in process `pid`. */
void wake_host(struct wake_keys *keys, int pe, int pid, const struct wake_door *door);
void wake_keys_close(struct wake_keys *keys);

#endif
