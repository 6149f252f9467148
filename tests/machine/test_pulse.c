/* SPDX-License-Identifier: Apache-2.0 */
/* The packets of heartbeats: who is heard and who is not. What whole jobs do is in tests/rig/loss.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "../../runtime/machine/alive/hosts/pulse_net.h"

/* The example of the paper: the key 00 01 .. 0f, and the text 00 01 .. 0e. */
static void the_hash_is_siphash_2_4(void **state)
{
	struct cmi_key128 key;
	unsigned char bytes[16];

	(void)state;
	for (unsigned char i = 0; i < sizeof bytes; i++)
		bytes[i] = i;
	memcpy(&key, bytes, sizeof key);
	assert_int_equal(cmi_mac(key, bytes, 15), 0xa129ca6149be45e5u);
}

/* Two nodes on this machine, each with one socket on the loopback device. */
struct pair {
	struct pulse_net net[2];
	struct pulse_name name[2];
};

static void pair_open(struct pair *p)
{
	setenv("UCX_NET_DEVICES", "lo", 1);
	for (int i = 0; i < 2; i++) {
		pulse_net_open(&p->net[i], i, &p->name[i]);
		p->net[i].key = (struct cmi_key128){{1, 2}};
		assert_true(p->net[i].n >= 1);
	}
}

static void pair_close(struct pair *p)
{
	pulse_net_close(&p->net[0]);
	pulse_net_close(&p->net[1]);
}

/* Whether node 1 hears something within a second (quiet: at once). */
static bool hears(struct pair *p, bool quiet, struct pulse_packet *q, struct pulse_rail *from)
{
	struct pollfd fd = {.fd = p->net[1].at[0].fd, .events = POLLIN};

	struct pulse_wire wire;
	size_t more;

	poll(&fd, 1, quiet ? 50 : 1000);
	if (!pulse_net_receive(&p->net[1], 0, &wire, &more, from))
		return false;
	*q = wire.head;
	return true;
}

static void a_signed_packet_arrives_and_its_answer_finds_back(void **state)
{
	struct pair p;
	struct pulse_packet q = {.kind = PULSE_ASK, .to = 1, .stamp = 77};
	struct pulse_rail from;
	char text[64];

	(void)state;
	pair_open(&p);
	pulse_net_send(&p.net[0], 0, &p.name[1].rail[0], &q);
	memset(&q, 0, sizeof q);
	assert_true(hears(&p, false, &q, &from));
	assert_int_equal(q.from, 0);
	assert_int_equal(q.stamp, 77);
	assert_int_equal(from.port, p.name[0].rail[0].port);
	pulse_net_print(&from, text, sizeof text);
	assert_true(strlen(text) > 1);
	pair_close(&p);
}

/* Each byte of a packet is signed. */
static void a_changed_packet_is_dropped(void **state)
{
	struct pair p;
	struct pulse_packet q = {.kind = PULSE_LOST, .to = 1, .stamp = 5};
	struct pulse_rail from;
	struct pollfd fd;

	(void)state;
	pair_open(&p);
	/* A packet as it goes over the wire: node 1's own socket shows it before anybody takes it. */
	pulse_net_send(&p.net[0], 0, &p.name[1].rail[0], &q);
	fd = (struct pollfd){.fd = p.net[1].at[0].fd, .events = POLLIN};
	assert_int_equal(poll(&fd, 1, 1000), 1);
	assert_int_equal(recv(fd.fd, &q, sizeof q, 0), sizeof q);
	for (size_t i = 0; i < sizeof q; i++) {
		struct pulse_packet bad = q;
		struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(p.name[1].rail[0].port)};

		((unsigned char *)&bad)[i] ^= 1;
		memcpy(&to.sin_addr, p.name[1].rail[0].bytes, sizeof to.sin_addr);
		assert_int_equal(sendto(p.net[0].at[0].fd, &bad, sizeof bad, 0, (struct sockaddr *)&to, sizeof to),
				 sizeof bad);
	}
	assert_false(hears(&p, true, &q, &from));
	pair_close(&p);
}

static void a_packet_of_another_job_is_dropped(void **state)
{
	struct pair p;
	struct pulse_packet q = {.kind = PULSE_LOST, .to = 1};
	struct pulse_rail from;

	(void)state;
	pair_open(&p);
	p.net[0].key.k[1]++;
	pulse_net_send(&p.net[0], 0, &p.name[1].rail[0], &q);
	assert_false(hears(&p, true, &q, &from));
	pair_close(&p);
}

static struct pulse_rail rail(const char *address, uint8_t prefix)
{
	struct pulse_rail r = {.family = strchr(address, ':') ? 6 : 4, .prefix = prefix};

	assert_int_equal(inet_pton(r.family == 4 ? AF_INET : AF_INET6, address, r.bytes), 1);
	return r;
}

static void a_rail_is_reached_from_its_own_network(void **state)
{
	struct pulse_net net = {.n = 3};
	struct pulse_rail to;

	(void)state;
	net.at[0].rail = rail("10.1.0.1", 16);
	net.at[1].rail = rail("10.2.128.1", 17);
	net.at[2].rail = rail("fd00::1", 64);
	assert_int_equal(pulse_net_way(&net, (to = rail("10.1.200.9", 16), &to)), 0);
	assert_int_equal(pulse_net_way(&net, (to = rail("10.2.200.9", 17), &to)), 1);
	/* Another network, behind a router. */
	assert_int_equal(pulse_net_way(&net, (to = rail("10.2.1.9", 17), &to)), 0);
	assert_int_equal(pulse_net_way(&net, (to = rail("fd00::2", 64), &to)), 2);
	to.family = 0;
	assert_int_equal(pulse_net_way(&net, &to), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_siphash_2_4),
		cmocka_unit_test(a_signed_packet_arrives_and_its_answer_finds_back),
		cmocka_unit_test(a_changed_packet_is_dropped),
		cmocka_unit_test(a_packet_of_another_job_is_dropped),
		cmocka_unit_test(a_rail_is_reached_from_its_own_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
