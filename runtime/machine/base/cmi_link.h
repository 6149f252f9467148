/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_link.h: how ckrun passes on to node 0 what it is asked (launcher/relay.c,
 * runtime/scheduler/steer/). CK_CONTROL says how:
 *
 *	fd:N                                   on one host
 *	tcp:KEY:PORT:ADDRESS,ADDRESS...        on several; KEY: 32 hexadecimal digits
 *
 * On one host node 0 has inherited descriptor N, one end of a pair. For each of its clients ckrun
 * sends one byte and a descriptor, which is a connection. So no node has a socket with a name.
 *
 * On several hosts node 0 calls ckrun by TCP:
 *
 *	ckrun    challenge  a random number
 *	node 0   hello      proves with it that it knows the key, and gives a number
 *	ckrun    welcome    proves the same
 *
 * The key never goes over the connection. Then the connection is that of a client who has not said
 * his line yet. When ckrun has used it, node 0 makes the next one.
 */
#ifndef CMI_LINK_H
#define CMI_LINK_H

#include <stdint.h>

#include "../tools/cmi_mac.h"

#define CMI_LINK "tcp:"
#define CMI_LINK_PAIR "fd:"

struct cmi_link_challenge {
	uint64_t nonce[2];
};

struct cmi_link_hello {
	uint64_t nonce[2];
	uint64_t mac;
};

struct cmi_link_welcome {
	uint64_t mac;
};

/* Each proof has its own number, so neither can stand for the other. */
static inline uint64_t cmi_link_mac_hello(struct cmi_key128 key, const struct cmi_link_challenge *c,
					  const struct cmi_link_hello *h)
{
	const uint64_t all[5] = { 1, c->nonce[0], c->nonce[1], h->nonce[0], h->nonce[1] };

	return cmi_mac(key, all, sizeof all);
}

static inline uint64_t cmi_link_mac_welcome(struct cmi_key128 key, const struct cmi_link_hello *h)
{
	const uint64_t all[3] = { 2, h->nonce[0], h->nonce[1] };

	return cmi_mac(key, all, sizeof all);
}

#endif
