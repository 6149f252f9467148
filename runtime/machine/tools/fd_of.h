/* SPDX-License-Identifier: Apache-2.0 */
/* fd_of.h: open a file that another process of the host, or this one, has open. */
#ifndef FD_OF_H
#define FD_OF_H

#include <fcntl.h>
#include <stdio.h>

/** As open(2): a new descriptor, which is the caller's, or -1. O_CLOEXEC is added. */
static inline int fd_of_process(int pid, int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
	return open(path, flags | O_CLOEXEC);
}

#endif
