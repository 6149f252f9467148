/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse_net.h: the sockets and packets of pulse.h: one UDP socket on each address of this host that
 * others may reach, and short packets signed with the job's key.
 *
 * A *rail* of a node is one such address. A packet to a rail leaves from our address in the same
 * network, so that a pair of rails is one path through the cables.
 */
#ifndef PULSE_NET_H
#define PULSE_NET_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../tools/cmi_mac.h"

enum { PULSE_RAILS = 4 }; /* at most; of more addresses the first are used */

/** Where a node listens; sent as it is. */
struct pulse_rail {
	uint8_t family; /* 4 or 6: of IP; 0: there is no such rail */
	uint8_t prefix; /* bits of the address that name the network */
	uint16_t port;
	uint8_t bytes[16];
};

/** What other nodes need to know; sent in the second meeting. */
struct pulse_name {
	struct pulse_rail rail[PULSE_RAILS];
};

enum pulse_kind {
	PULSE_ASK = 1,  /* do you live? `stamp` is the question's number */
	PULSE_HERE = 2, /* the answer, with the same stamp */
	PULSE_CLAIM = 3, /* node `about` is lost, and node `stamp` is about to print that */
	PULSE_LOST = 4,  /* the loss has been printed, and I end */
	PULSE_BYE = 5,   /* I leave in good order */
	PULSE_LOOK = 6,  /* what is seen on your host? `stamp` is the question's number */
	PULSE_SEEN = 7,  /* the answer's part number `about`, with the same stamp, and what it has */
};

struct pulse_packet {
	uint32_t magic;
	uint8_t kind;
	uint8_t rail; /* the receiver's rail on which the question was sent */
	uint16_t spare;
	int32_t from, to, about;
	uint32_t frames; /* PULSE_ASK: how many the sender has sent (../traffic.h) */
	uint64_t stamp;
	uint64_t mac; /* of all before it */
};

/** Of a packet that has more, which goes into the mac, too. One that no network cuts in pieces. */
enum { PULSE_MORE = 1200 };
struct pulse_wire {
	struct pulse_packet head;
	char more[PULSE_MORE];
};

struct pulse_net {
	int n;
	int node; /* this one */
	struct cmi_key128 key;
	struct {
		int fd;
		struct pulse_rail rail;
		char device[IFNAMSIZ];
	} at[PULSE_RAILS];
};

/** Open a socket on each address, and fill in *name_p. The key is still to be set. UCX_NET_DEVICES
 * limits the devices, if it names any of them. Without addresses n is 0. */
void pulse_net_open(struct pulse_net *net, int node, struct pulse_name *name_p);
void pulse_net_close(struct pulse_net *net);

/** The socket that reaches that rail: in the same network, else in the same family; -1: none. */
int pulse_net_way(const struct pulse_net *net, const struct pulse_rail *to);

/** Sign a packet and send it. A packet that cannot be sent is lost, which the receiver notices. */
void pulse_net_send(const struct pulse_net *net, int way, const struct pulse_rail *to,
		    struct pulse_packet *p);

/** The same with n bytes of `more`. */
void pulse_net_send_more(const struct pulse_net *net, int way, const struct pulse_rail *to,
			 struct pulse_wire *q, size_t n);

/** Take the next packet for this node from a socket; false: there is none. *n_p: bytes of `more`;
 * *from_p: where to send the answer. Packets without a valid signature are dropped. */
bool pulse_net_receive(const struct pulse_net *net, int way, struct pulse_wire *q, size_t *n_p,
		       struct pulse_rail *from_p);

/** A rail's address as text. */
void pulse_net_print(const struct pulse_rail *r, char *text, size_t cap);

#endif
