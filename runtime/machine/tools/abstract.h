/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abstract.h: sockets of packets between processes of one user on one host, for the runtime and
 * ckrun. "@NAME" is an address that is no file, so nothing of it is left behind.
 */
#ifndef ABSTRACT_H
#define ABSTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/** The address "@NAME". Returns its length; 0: it is not such a name, or too long. */
static inline socklen_t abstract_address(struct sockaddr_un *at, const char *name)
{
	const size_t n = strlen(name);

	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (name[0] != '@' || n < 2 || n > sizeof at->sun_path)
		return 0;
	memcpy(at->sun_path + 1, name + 1, n - 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

/** Whether the process at the other end is of our user, as anybody may listen or connect. */
static inline bool abstract_is_ours(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof peer;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.uid == geteuid();
}

/** A socket that is connected to "@NAME", with FD_CLOEXEC. -1: none of our user listens there. */
static inline int abstract_connect(const char *name)
{
	struct sockaddr_un at;
	const socklen_t n = abstract_address(&at, name);
	const int fd = n ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0 || (!connect(fd, (const struct sockaddr *)&at, n) && abstract_is_ours(fd)))
		return fd;
	close(fd);
	return -1;
}

#endif
