/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_net.c: see pulse_net.h. */
#include "pulse_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAGIC = 0x434b5031 };

_Static_assert(sizeof(struct pulse_packet) == 40, "wire format");
_Static_assert(sizeof(struct pulse_name) == 80, "wire format");

/* ---- addresses ---------------------------------------------------------------------- */

static socklen_t to_socket(const struct pulse_rail *r, struct sockaddr_storage *s)
{
	struct sockaddr_in *four = (struct sockaddr_in *)s;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)s;

	memset(s, 0, sizeof *s);
	if (r->family == 4) {
		four->sin_family = AF_INET;
		four->sin_port = htons(r->port);
		memcpy(&four->sin_addr, r->bytes, sizeof four->sin_addr);
		return sizeof *four;
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(r->port);
	memcpy(&six->sin6_addr, r->bytes, sizeof six->sin6_addr);
	return sizeof *six;
}

static struct pulse_rail from_socket(const struct sockaddr *s)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)s;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)s;
	struct pulse_rail r = {.family = s->sa_family == AF_INET ? 4 : 6};

	if (r.family == 4) {
		r.port = ntohs(four->sin_port);
		memcpy(r.bytes, &four->sin_addr, sizeof four->sin_addr);
	} else {
		r.port = ntohs(six->sin6_port);
		memcpy(r.bytes, &six->sin6_addr, sizeof six->sin6_addr);
	}
	return r;
}

static int bits_of(const struct pulse_rail *mask)
{
	int n = 0;

	for (size_t i = 0; i < sizeof mask->bytes; i++)
		n += __builtin_popcount(mask->bytes[i]);
	return n;
}

static bool same_network(const struct pulse_rail *a, const struct pulse_rail *b)
{
	int whole = a->prefix / 8, rest = a->prefix % 8;

	if (a->family != b->family || a->prefix > 128 || memcmp(a->bytes, b->bytes, (size_t)whole))
		return false;
	return rest == 0 || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0;
}

void pulse_net_print(const struct pulse_rail *r, char *text, size_t cap)
{
	if (!inet_ntop(r->family == 4 ? AF_INET : AF_INET6, r->bytes, text, (socklen_t)cap))
		snprintf(text, cap, "?");
}

/* ---- which devices ------------------------------------------------------------------- */

/** Whether a comma-separated list contains the word. */
static bool lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, n) == 0 && (at[n] == 0 || at[n] == ','))
			return true;
	}
	return false;
}

/** Whether it is a global address of a device that is up, is in `only`, and is a loopback or not,
 * as requested. */
static bool rail_usable(const struct ifaddrs *a, const char *only, bool loopback)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a->ifa_addr;

	if (!a->ifa_addr || !a->ifa_netmask || !(a->ifa_flags & IFF_UP))
		return false;
	if (only ? !lists(only, a->ifa_name) : !(a->ifa_flags & IFF_LOOPBACK) != !loopback)
		return false;
	if (a->ifa_addr->sa_family == AF_INET)
		return true;
	return a->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

static bool has_rail(const struct pulse_net *net, const char *device)
{
	for (int i = 0; i < net->n; i++)
		if (strcmp(net->at[i].device, device) == 0)
			return true;
	return false;
}

static void open_one(struct pulse_net *net, const struct ifaddrs *a)
{
	struct sockaddr_storage s;
	socklen_t len = sizeof s;
	struct pulse_rail r = from_socket(a->ifa_addr);
	const struct pulse_rail mask = from_socket(a->ifa_netmask);
	int fd = socket(a->ifa_addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	r.port = 0;
	len = to_socket(&r, &s);
	if (bind(fd, (struct sockaddr *)&s, len) ||
	    (len = sizeof s, getsockname(fd, (struct sockaddr *)&s, &len))) {
		close(fd);
		return;
	}
	r = from_socket((struct sockaddr *)&s);
	r.prefix = (uint8_t)bits_of(&mask);
	net->at[net->n].fd = fd;
	net->at[net->n].rail = r;
	snprintf(net->at[net->n].device, IFNAMSIZ, "%s", a->ifa_name);
	net->n++;
}

/** One address for each device: IPv4 if it has one. */
static void open_all(struct pulse_net *net, const struct ifaddrs *all, const char *only,
		     bool loopback)
{
	static const int families[] = {AF_INET, AF_INET6};

	for (int f = 0; f < 2; f++)
		for (const struct ifaddrs *a = all; a && net->n < PULSE_RAILS; a = a->ifa_next)
			if (rail_usable(a, only, loopback) && a->ifa_addr->sa_family == families[f] &&
			    !has_rail(net, a->ifa_name))
				open_one(net, a);
}

void pulse_net_open(struct pulse_net *net, int node, struct pulse_name *name_p)
{
	struct ifaddrs *all;

	*net = (struct pulse_net){.node = node};
	memset(name_p, 0, sizeof *name_p);
	if (getifaddrs(&all))
		return;
	if (getenv("UCX_NET_DEVICES"))
		open_all(net, all, getenv("UCX_NET_DEVICES"), false);
	if (net->n == 0)
		open_all(net, all, NULL, false);
	/* Two halves of a job on one machine without a network, as in tests. */
	if (net->n == 0)
		open_all(net, all, NULL, true);
	freeifaddrs(all);
	for (int i = 0; i < net->n; i++)
		name_p->rail[i] = net->at[i].rail;
}

void pulse_net_close(struct pulse_net *net)
{
	for (int i = 0; i < net->n; i++)
		close(net->at[i].fd);
	net->n = 0;
}

/* ---- packets ------------------------------------------------------------------------- */

int pulse_net_way(const struct pulse_net *net, const struct pulse_rail *to)
{
	for (int i = 0; i < net->n; i++)
		if (same_network(&net->at[i].rail, to))
			return i;
	for (int i = 0; i < net->n; i++)
		if (net->at[i].rail.family == to->family)
			return i;
	return -1;
}

/* Of all but itself. */
static uint64_t mac_of(const struct pulse_net *net, const struct pulse_packet *p, const char *more,
		       size_t n)
{
	char all[sizeof(struct pulse_wire)];
	const size_t head = sizeof *p - sizeof p->mac;

	memcpy(all, p, head);
	if (n)
		memcpy(all + head, more, n);
	return cmi_mac(net->key, all, head + n);
}

static void sign(const struct pulse_net *net, struct pulse_packet *p, const char *more, size_t n)
{
	p->magic = MAGIC;
	p->from = net->node;
	p->mac = mac_of(net, p, more, n);
}

static void send_bytes(const struct pulse_net *net, int way, const struct pulse_rail *to,
		       const void *data, size_t n)
{
	struct sockaddr_storage s;
	socklen_t len = to_socket(to, &s);

	while (sendto(net->at[way].fd, data, n, MSG_NOSIGNAL, (struct sockaddr *)&s, len) < 0 &&
	       errno == EINTR)
		continue;
}

void pulse_net_send(const struct pulse_net *net, int way, const struct pulse_rail *to,
		    struct pulse_packet *p)
{
	sign(net, p, NULL, 0);
	send_bytes(net, way, to, p, sizeof *p);
}

void pulse_net_send_more(const struct pulse_net *net, int way, const struct pulse_rail *to,
			 struct pulse_wire *q, size_t n)
{
	sign(net, &q->head, q->more, n);
	send_bytes(net, way, to, q, sizeof q->head + n);
}

/** Whether n bytes are a packet for this node, and no stranger's. Only one kind has more. */
static bool is_ours(const struct pulse_net *net, const struct pulse_wire *q, ssize_t n)
{
	const size_t head = sizeof q->head;

	if (n < (ssize_t)head || n > (ssize_t)sizeof *q || q->head.magic != MAGIC ||
	    q->head.to != net->node || ((size_t)n > head) != (q->head.kind == PULSE_SEEN))
		return false;
	return q->head.mac == mac_of(net, &q->head, q->more, (size_t)n - head);
}

bool pulse_net_receive(const struct pulse_net *net, int way, struct pulse_wire *q, size_t *n_p,
		       struct pulse_rail *from_p)
{
	/* Bounded, because a flood of rubbish must not keep the caller here. */
	for (int i = 0; i < 64; i++) {
		struct sockaddr_storage s;
		socklen_t len = sizeof s;
		ssize_t n = recvfrom(net->at[way].fd, q, sizeof *q, MSG_TRUNC, (struct sockaddr *)&s, &len);

		if (n < 0 && (errno == EAGAIN || errno == EBADF || errno == ENOTSOCK))
			return false;
		if (!is_ours(net, q, n))
			continue; /* or the network's error for an earlier packet */
		*n_p = (size_t)n - sizeof q->head;
		*from_p = from_socket((struct sockaddr *)&s);
		return true;
	}
	return false;
}
