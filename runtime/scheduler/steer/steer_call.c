/* SPDX-License-Identifier: Apache-2.0 */
/* steer_call.c: node 0 calls ckrun, which is on another host, perhaps (cmi_link.h). */
#include "steer_int.h"
#include "../../machine/base/cmi_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALL_MS = 2000 };

bool call_parse(const char *text, struct steer_call *c)
{
	unsigned port;
	int used = 0;

	*c = (struct steer_call){ .port = 0 };
	if (sscanf(text, CMI_LINK "%16" SCNx64 "%16" SCNx64 ":%u:%n", &c->key.k[0], &c->key.k[1], &port,
		   &used) != 3 || !used || !port || port > UINT16_MAX)
		return false;
	c->port = (uint16_t)port;
	return snprintf(c->addresses, sizeof c->addresses, "%s", text + used) < (int)sizeof c->addresses;
}

static socklen_t address_of(const char *text, uint16_t port, struct sockaddr_storage *s)
{
	struct sockaddr_in *four = (struct sockaddr_in *)(void *)s;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)s;

	memset(s, 0, sizeof *s);
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		return sizeof *four;
	}
	if (inet_pton(AF_INET6, text, &six->sin6_addr) != 1)
		return 0;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	return sizeof *six;
}

static bool await(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, CALL_MS) == 1;
}

static int connect_to(const struct sockaddr_storage *s, socklen_t n)
{
	const int fd = socket(s->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
	socklen_t len = sizeof(int);
	int error = 0;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)s, n))
		error = errno;
	if (error == EINPROGRESS &&
	    (!await(fd, POLLOUT) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len)))
		error = ETIMEDOUT;
	if (!error) {
		/* A host that is lost is noticed. */
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
		return fd;
	}
	close(fd);
	return -1;
}

/* A few bytes, which come together. */
static bool take(int fd, void *to, size_t n)
{
	return await(fd, POLLIN) && recv(fd, to, n, MSG_DONTWAIT) == (ssize_t)n;
}

static bool greet(int fd, struct cmi_key128 key)
{
	struct cmi_link_challenge c;
	struct cmi_link_hello h;
	struct cmi_link_welcome w;

	if (!take(fd, &c, sizeof c) || getrandom(h.nonce, sizeof h.nonce, 0) != sizeof h.nonce)
		return false;
	h.mac = cmi_link_mac_hello(key, &c, &h);
	return send(fd, &h, sizeof h, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof h && take(fd, &w, sizeof w) &&
	       w.mac == cmi_link_mac_welcome(key, &h);
}

/* The address that has answered before is tried first. */
int call_ckrun(struct steer_call *c)
{
	char addresses[sizeof c->addresses], *rest = addresses, *text;
	struct sockaddr_storage s;
	int fd;

	memcpy(addresses, c->addresses, sizeof addresses);
	while ((text = strsep(&rest, ","))) {
		const socklen_t n = address_of(text, c->port, &s);

		fd = n ? connect_to(&s, n) : -1;
		if (fd >= 0 && greet(fd, c->key)) {
			snprintf(c->addresses, sizeof c->addresses, "%s", text);
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return -1;
}
