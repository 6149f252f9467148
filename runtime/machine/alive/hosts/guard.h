/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: who may connect to the TCP ports of UCX.
 *
 * UCX's tcp transport takes connections from everybody. What comes behind the number with which
 * they begin is trusted: random bytes there end the process, and whoever speaks the protocol can
 * send messages. UCX lets us neither choose whom it listens to, nor see by which connection a
 * message came, so no word of ours can be asked for first. But the kernel can drop the first packet
 * of a connection: with CK_GUARD=1 a filter on each of these sockets lets only connections from
 * addresses of the job's hosts begin. Packets of connections that exist cost two instructions of
 * the filter.
 *
 * It is not the default: where a router in between changes the sender's address, the job's own
 * connections would be dropped.
 */
#ifndef GUARD_H
#define GUARD_H

#include <stddef.h>

struct cmi;
struct sock_filter;

/** Main, when the second meeting is over. Does nothing unless CK_GUARD is 1 and the job has several
 * hosts. */
void guard_start(struct cmi *m);

/** For tests: the instructions for n addresses of IPv4, in host order; returns how many they are, 2
 * * n + 8. */
size_t guard_program(const unsigned *address, size_t n, struct sock_filter *f);

#endif
