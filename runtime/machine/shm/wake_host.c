/* SPDX-License-Identifier: Apache-2.0 */
/* wake_host.c: see wake_host.h. */
#include "wake_host.h"

#include <sys/stat.h>
#include <unistd.h>

#include "../tools/fd_of.h"

/* Read and write: so there is always a reader, and no process gets SIGPIPE when the other has
 * ended. */
enum { DOOR_FLAGS = O_RDWR | O_NONBLOCK };

int wake_door_open(struct wake_door *door)
{
	struct stat st;
	int ends[2], fd;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	fd = fd_of_process(getpid(), ends[0], DOOR_FLAGS);
	close(ends[0]);
	close(ends[1]);
	if (fd < 0 || fstat(fd, &st))
		return fd;
	atomic_store_explicit(&door->fd, fd, memory_order_relaxed);
	atomic_store_explicit(&door->inode, st.st_ino, memory_order_relaxed);
	return fd;
}

void wake_door_forget(int fd)
{
	char drop[64];

	while (fd >= 0 && read(fd, drop, sizeof drop) > 0)
		;
}

/* The process may have ended, and its pid, or its pipe's inode, may have been reused. */
static int open_door(int pid, const struct wake_door *door)
{
	const uint64_t inode = atomic_load_explicit(&door->inode, memory_order_relaxed);
	int fd = inode ? fd_of_process(pid, atomic_load_explicit(&door->fd, memory_order_relaxed),
				       DOOR_FLAGS) :
			 -1;
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_ino != inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void wake_host(struct wake_keys *keys, int pe, int pid, const struct wake_door *door)
{
	struct wake_key *k = &keys->kept[(unsigned)pe % WAKE_KEPT];

	if (k->door != door) {
		if (k->door)
			close(k->fd);
		k->fd = open_door(pid, door);
		k->door = k->fd < 0 ? NULL : door;
	}
	if (k->door && write(k->fd, "", 1) < 0)
		return; /* EAGAIN: the pipe is full, so the sleeper is awake anyway */
}

void wake_keys_close(struct wake_keys *keys)
{
	for (int i = 0; i < WAKE_KEPT; i++)
		if (keys->kept[i].door)
			close(keys->kept[i].fd);
}
