/* SPDX-License-Identifier: Apache-2.0 */
/* route.h: how a message gets to its PE or node, and is checked there. */
#ifndef CSD_ROUTE_H
#define CSD_ROUTE_H

#include "../queue/inbox.h"

/* handlers.c */

/* The handlers that are registered first, so that their numbers are constants. */
enum own_handler {
	CREDIT_HANDLER,                    /* flow.c's */
	EXIT_HANDLER,                      /* exit.c's */
};

void arrival_handle(struct pe *pe, struct cmi_msg *m); /* check, and call the handler */

/* csd_own */
static inline bool handler_is_own(const struct node *node, const struct cmi_msg *m)
{
	return m->handler < node->n_handlers && node->handlers[m->handler].own;
}

/* incoming.c */
void client_arrived(void *owner, struct cmi_msg *m);
void client_arrived_hashed(void *owner, struct cmi_msg *m); /* in checked mode */

/* seal.c */
enum { SEAL_HASH_BYTES = 8 }; /* behind each message that leaves its process in checked mode */
void seal_check(struct pe *pe, struct cmi_msg *m);      /* ends the job */
void seal_check_hash(struct pe *pe, struct cmi_msg *m); /* the same, and removes the hash */
void arrival_seal(struct pe *pe, struct cmi_msg *m); /* before it leaves for another process; src_pe
						      * is set */
struct cmi_msg *arrival_hash(struct pe *pe, struct cmi_msg *m); /* in checked mode; takes it, may
								 * return another one */

/* route_pe.c, hold.c, node_queue.c; these take the message, which is complete and counted */
void route_register(struct node *node);
void route_to_pe(struct pe *pe, int dst_pe, struct cmi_msg *m);
void route_to_node(struct pe *pe, int node, struct cmi_msg *m);
void hold_push(struct pe *pe, int to, struct cmi_msg *m);
void hold_fini(struct pe *pe);
size_t hold_length(const struct pe *pe);

/* node_queue.c */
void node_queue_init(struct node *node);
void node_queue_arrived(struct pe *pe, struct cmi_msg *m); /* from the network */
int node_queue_run_slow(struct pe *pe);
static inline int node_queue_run(struct pe *pe) /* how many messages were handled: 0 or 1 */
{
	/* Relaxed: only a hint; taking acquires, and going to sleep checks again. */
	return CSD_LIKELY(!atomic_load_explicit(&pe->node->queue.n, memory_order_relaxed)) ?
		       0 : node_queue_run_slow(pe);
}
/* Add how many counted messages wait at gates, and the bytes of those from other processes. False:
 * another PE has the queue now. */
bool node_queue_held(struct pe *pe, uint64_t *n, uint64_t *bytes);
void node_queue_drop(struct pe *pe);
void node_queue_fini(struct node *node);

/* way.c */
enum cmi_way csd_way(const struct node *node, const struct cmi_msg *m); /* without a hash */
enum cmi_way client_way(void *owner, const struct cmi_msg *m);
enum cmi_way client_way_hashed(void *owner, const struct cmi_msg *m); /* in checked mode */

/* flow.c */
void flow_register(struct node *node);
void flow_register_handled(struct node *node);
void flow_send(struct pe *pe, int dst_pe, struct cmi_msg *m);
void flow_consumed(struct pe *pe, int src_pe, uint64_t bytes);
void flow_consumed_for(struct pe *pe, struct pe *by, int src_pe, uint64_t bytes);
/* Messages that are over budget; their waits, a line for each PE that they go to. */
uint64_t flow_length(const struct pe *pe);
void flow_describe(struct pe *pe, struct csd_told *to);
/* Bytes under way between processes, of all messages but those left out, and of credits: what this
 * PE has sent minus what it has received. It means something only in the sum over all PEs. */
uint64_t flow_under_way(const struct pe *pe);
/* Add what has been sent to each node: [n_nodes]. */
void flow_count_links(const struct pe *pe, struct count_link *links);
/* Bytes of messages to other nodes of this host, and to other hosts. */
void flow_bytes_sent(const struct pe *pe, uint64_t *near, uint64_t *far);
void flow_fini(struct pe *pe);

#endif
