/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_net.c: connections between ckrun and keepers. The key never goes over them: both ends
 * prove by SipHash that they know it, each with a random number of the other's. The proofs cover
 * the public keys, so nobody can put himself between the two.
 */
#include "keeper_words.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

/* ---- sockets ------------------------------------------------------------------------------- */

static int bind_any(int family, uint16_t *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr *at = family == AF_INET6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t n = family == AF_INET6 ? sizeof six : sizeof four;
	const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), no = 0;

	if (fd < 0)
		return -1;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	if (bind(fd, at, n) || listen(fd, SOMAXCONN) || getsockname(fd, at, &n)) {
		close(fd);
		return -1;
	}
	*port = ntohs(family == AF_INET6 ? six.sin6_port : four.sin_port);
	return fd;
}

/* A host without IPv6 has the other family only. */
int keeper_listen(uint16_t *port)
{
	const int fd = bind_any(AF_INET6, port);

	return fd >= 0 ? fd : bind_any(AF_INET, port);
}

/** A connect that has begun. 0, or the reason why there is no connection. */
static int await_connection(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t n = sizeof(int);
	int error = ETIMEDOUT;

	if (poll(&p, 1, timeout_ms) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n))
		error = errno;
	return error;
}

int keeper_call(const struct sockaddr_storage *to, int timeout_ms)
{
	const socklen_t n = to->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
			    sizeof(struct sockaddr_in);
	const int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -1;
	error = connect(fd, (const struct sockaddr *)to, n) ? errno : 0;
	if (error == EINPROGRESS)
		error = await_connection(fd, timeout_ms);
	if (!error && !fcntl(fd, F_SETFL, 0)) {
		keeper_watch(fd);
		return fd;
	}
	close(fd);
	errno = error;
	return -1;
}

/* Both, because the first says nothing while something is on its way, and the second nothing while
 * nothing is. */
void keeper_watch(int fd)
{
	const int yes = 1, idle = KEEPER_SILENT_S / 2, between = 1, tries = KEEPER_SILENT_S / 2;
	const unsigned unheard_ms = KEEPER_SILENT_S * 1000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof unheard_ms);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void keeper_bound(int fd, int seconds)
{
	const struct timeval t = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

void keeper_close(struct keeper_link *l)
{
	keeper_seal_end(l);
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* ---- bytes --------------------------------------------------------------------------------- */

static bool send_all(int fd, const void *data, size_t n)
{
	const char *at = data;

	while (n) {
		const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

static bool take_all(int fd, void *data, size_t n)
{
	char *at = data;

	while (n) {
		const ssize_t got = recv(fd, at, n, MSG_WAITALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static size_t piece_of(size_t n)
{
	return n < KEEPER_FRAME ? n : KEEPER_FRAME;
}

bool keeper_send(struct keeper_link *l, const void *data, size_t n)
{
	const char *at = data;

	if (!l->out)
		return send_all(l->fd, data, n);
	for (size_t piece; n; at += piece, n -= piece) {
		piece = piece_of(n);
		if (!send_all(l->fd, l->out->frame, keeper_seal_frame(l, at, piece)))
			return false;
	}
	return true;
}

static bool send_plain_file(int fd, int from, off_t at, off_t end)
{
	while (at < end) {
		const ssize_t n = sendfile(fd, from, &at, (size_t)(end - at));

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
	}
	return true;
}

/* It is sealed where it is read to. */
bool keeper_send_file(struct keeper_link *l, int from, uint64_t at, uint64_t n)
{
	if (!l->out)
		return send_plain_file(l->fd, from, (off_t)at, (off_t)(at + n));
	for (size_t piece; n; at += piece, n -= piece) {
		piece = piece_of(n);
		if (pread(from, l->out->frame, piece, (off_t)at) != (ssize_t)piece ||
		    !send_all(l->fd, l->out->frame, keeper_seal_frame(l, l->out->frame, piece)))
			return false;
	}
	return true;
}

bool keeper_take(struct keeper_link *l, void *data, size_t n)
{
	char *at = data;

	if (!l->in)
		return take_all(l->fd, data, n);
	for (size_t piece; n; at += piece, n -= piece) {
		piece = piece_of(n);
		if (!take_all(l->fd, l->in->frame, piece + SEAL_TAG) || !keeper_open_frame(l, at, piece))
			return false;
	}
	return true;
}

int keeper_take_now(struct keeper_link *l, void *data, size_t n)
{
	void *to = l->in ? l->in->frame : data;
	const size_t all = l->in ? n + SEAL_TAG : n;
	const ssize_t got = recv(l->fd, to, all, MSG_PEEK | MSG_DONTWAIT);
	struct pollfd p = { .fd = l->fd, .events = POLLRDHUP };

	if (got == (ssize_t)all)
		return keeper_take(l, data, n) ? 1 : -1;
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		return -1;
	return poll(&p, 1, 0) == 1 ? -1 : 0;
}

/* ---- who is there -------------------------------------------------------------------------- */

static uint64_t mac_of_hello(const struct keeper_secret *s, const struct keeper_challenge *c,
			     const struct keeper_hello *hello)
{
	char text[sizeof *c + offsetof(struct keeper_hello, mac)];

	memcpy(text, c, sizeof *c);
	memcpy(text + sizeof *c, hello, sizeof text - sizeof *c);
	return cmi_mac(s->key, text, sizeof text);
}

/* It is of more bytes than what the caller proves, so neither can stand for the other. */
static uint64_t mac_of_welcome(const struct keeper_secret *s, const struct keeper_challenge *c,
			       const struct keeper_hello *hello)
{
	char text[sizeof *c + sizeof *hello];

	memcpy(text, c, sizeof *c);
	memcpy(text + sizeof *c, hello, sizeof *hello);
	return cmi_mac(s->key, text, sizeof text);
}

static bool draw(uint64_t nonce[2])
{
	return getrandom(nonce, 2 * sizeof *nonce, 0) == 2 * sizeof *nonce;
}

bool keeper_greet(struct keeper_link *l, const struct keeper_secret *s, struct keeper_hello *hello)
{
	struct keeper_challenge c;
	struct keeper_welcome w;
	uint8_t secret_key[SEAL_KEY];
	bool ok;

	errno = 0;
	if (!keeper_take(l, &c, sizeof c) || !draw(hello->nonce))
		return false;
	keeper_seal_keys(s, hello->public_key, secret_key, &hello->has_aes);
	hello->mac = mac_of_hello(s, &c, hello);
	ok = keeper_send(l, hello, sizeof *hello) && keeper_take(l, &w, sizeof w) &&
	     w.mac == mac_of_welcome(s, &c, hello) &&
	     keeper_seal(l, s, true, &c, hello, secret_key);
	explicit_bzero(secret_key, sizeof secret_key);
	errno = EPERM;
	return ok;
}

bool keeper_challenge(struct keeper_link *l, const struct keeper_secret *s,
		      struct keeper_greeting *g)
{
	*g = (struct keeper_greeting){ .challenge = { .unused = 0 } };
	keeper_seal_keys(s, g->challenge.public_key, g->secret_key, &g->challenge.has_aes);
	return draw(g->challenge.nonce) && keeper_send(l, &g->challenge, sizeof g->challenge);
}

bool keeper_welcome(struct keeper_link *l, const struct keeper_secret *s,
		    const struct keeper_greeting *g, const struct keeper_hello *hello)
{
	const struct keeper_welcome w = { mac_of_welcome(s, &g->challenge, hello) };

	return hello->mac == mac_of_hello(s, &g->challenge, hello) && !hello->host[KEEPER_NAME - 1] &&
	       !hello->name[KEEPER_NAME - 1] && keeper_send(l, &w, sizeof w) &&
	       keeper_seal(l, s, false, &g->challenge, hello, g->secret_key);
}

/* ---- clocks -------------------------------------------------------------------------------- */

uint64_t keeper_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A host that has been up for less long than that was ago: then the earliest time that it knows. */
uint64_t keeper_time(uint64_t at_ns, uint64_t theirs, uint64_t ours)
{
	const uint64_t ago = theirs > at_ns ? theirs - at_ns : 0;

	return !at_ns ? 0 : ours > ago ? ours - ago : 1;
}

struct keeper_since keeper_since_here(struct keeper_since s, uint64_t theirs, uint64_t ours)
{
	s.up_ns = keeper_time(s.up_ns, theirs, ours);
	s.died_ns = keeper_time(s.died_ns, theirs, ours);
	return s;
}
