/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_queue.h: messages for a node, which any of its PEs handles, and gates, which hold such
 * messages back without blocking a PE. node_queue.c explains how the PEs share the queue.
 */
#ifndef CSD_NODE_QUEUE_H
#define CSD_NODE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../machine/base/cmi_msg.h"
#include "../../machine/base/msg_stack.h"
#include "../base/hint.h"
#include "../queue/queue.h"

struct node;
struct pe;

/** Messages wait at a closed gate in the order in which they left the queue. A serial gate lets one
 * message pass at a time: it stays closed until csd_gate_open says that the message is over. Any
 * other gate lets nothing pass until it is opened, and then everything. */
struct csd_gate {
	struct cmi_msg opens;              /* represents the opening in the inbox; first */
	struct msg_fifo waiting;
	bool closed, serial;               /* `waiting` and these: of the PE that has set `taken` */
	struct csd_gate *next;
};
enum { CSD_GATE_OPENS = UINT16_MAX };      /* the handler of `opens` */

struct csd_node_queue {
	/* Written by any PE. `n`: messages that can be taken, never too low. */
	_Alignas(CSD_CACHE_LINE) _Atomic int64_t n;
	struct msg_stack inbox;
	_Atomic(struct csd_gate *) gates;  /* all of them */
	/* PEs that sleep, or are about to. */
	_Alignas(CSD_CACHE_LINE) atomic_int n_sleeping;
	/* The PE that has set `taken` owns the following. */
	_Alignas(CSD_CACHE_LINE) atomic_bool taken;
	struct msg_fifo ready, again;      /* let through by gates: serial ones, others */
	struct msgq queue;
};

/** Send `m` to a node: the first of its PEs with time handles it. Messages of one PE to one node
 * leave the node's queue in order of priority and sending; several PEs may then handle them at the
 * same time, unless a gate forbids that. Takes ownership; never blocks. */
void csd_send_node(struct pe *pe, int node, struct cmi_msg *m);

/** Make `g` a gate of this node. The caller owns it; it must live until all PEs have stopped. Any
 * PE. */
void csd_gate_init(struct node *node, struct csd_gate *g, bool serial);

/** How many messages wait at the gate. */
size_t csd_gate_length(struct pe *pe, const struct csd_gate *g);

/** A serial gate: the message that passed is over. Another one: open it, once. Any PE; never
 * waits. */
void csd_gate_open(struct pe *pe, struct csd_gate *g);

#endif
