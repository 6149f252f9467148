/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h: restricts who may connect to the TCP ports of UCX.
 *
 * UCX's tcp transport accepts connections from everybody and trusts what follows the number with
 * which they begin: random bytes there end the process, and anybody who speaks the protocol can
 * send messages. UCX lets us neither choose whom it listens to, nor see by which connection a
 * message came, so we cannot authenticate first. But the kernel can drop the first packet of a
 * connection: with CK_GUARD=1 a filter on each of these sockets accepts connections only from
 * addresses of the job's hosts. Packets of established connections cost two instructions of the
 * filter.
 *
 * It is not the default: where a router rewrites the sender's address, the job's own connections
 * would be dropped.
 */
#ifndef GUARD_H
#define GUARD_H

#include <stddef.h>

struct cmi;
struct sock_filter;

/** Main, when the second meeting is over. Does nothing unless CK_GUARD is 1, as it is by default
 * with CK_WIRE=seal, and the job has several hosts. */
void guard_start(struct cmi *m);

/** For tests: the instructions for n IPv4 addresses in host order; returns their number, 2 * n +
 * 8. */
size_t guard_program(const unsigned *address, size_t n, struct sock_filter *f);

#endif
