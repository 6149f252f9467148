/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h: messages between the nodes of one host, through shared memory.
 *
 * All message memory of a node lies in one segment, and the nodes of a host map all of theirs. So a
 * message to one of them need not be copied: the sender pushes a reference to it onto the target
 * PE's inbox, a stack in the target's segment (msg_stack.h). When the receiver is done with the
 * message, it pushes the block onto its owner's stack of returns.
 *
 * Two PEs that communicate often get a ring of their own (ring.h). Small messages go through it by
 * value, which moves one to four cache lines where the stack moves five to eight; of larger ones
 * the reference goes through it. When the ring is full, messages go by the stack.
 *
 * The order within a pair is kept. Each slot says how many messages of the pair went by the stack
 * before it, and is not read until these have arrived. A message from the stack comes after
 * everything that its sender wrote into the ring before, all of which is visible when the message
 * is.
 *
 * The death of a process leaves every stack and ring intact: a push, or the store of a tag, is one
 * atomic operation. So a killed node cannot hang the others, as it can in UCX's shared FIFO.
 */
#ifndef SHARE_H
#define SHARE_H

#include "cmi.h"

struct cmi_dial;
struct share;

/* ---- memory: share_mem.c -------------------------------------------------------------------- */

/** What other nodes need to map our file; sent in the first meeting. pid 0: there is none. */
struct share_name {
	int32_t pid;
	int32_t fd;
	uint64_t bytes;      /* of a segment */
	uint64_t user_ns;    /* hash of the user namespace: others cannot open it */
};

/** Main. Make a file for message memory, which the nodes of the host may map if `offer` and if it
 * is their first node's. */
int share_open(struct cmi *m, bool offer);
const struct share_name *share_name(const struct share *s);

/** Main, when the job is known. Map the segments of this host, or a private one; names is
 * [n_nodes]. */
int share_map(struct cmi *m, const struct share_name *names);
void share_close(struct cmi *m);

/** In a forked child: make this memory read-only, such as the parameters of the handler that
 * forked. */
void share_forked(const struct share *s);
/** Any thread, signal handlers too: whether this address lies in memory that processes share. */
bool share_holds(const struct share *s, const void *at);

/** Main, after the fence that follows share_map. Find out which nodes can be reached: those that
 * have mapped the same file. */
void share_agree(struct cmi *m);
/** Any thread, after share_agree. Whether all nodes of this host reach each other; all of them
 * return the same. */
bool share_whole(const struct cmi *m);
/** Any thread, after share_agree. Whether messages to that node go through shared memory. */
bool share_reaches(const struct share *s, int node);

/** Any thread, after share_agree. The process of a node that is reached. */
int share_pid(const struct share *s, int node);
/** Any thread, before the process ends because a node of this host is dead; and whether a dead node
 * did that. */
void share_flee(const struct share *s);
bool share_has_fled(const struct share *s, int node);

/** Any thread. Message memory, 64-byte aligned and valid until share_close; NULL when it is
 * exhausted. */
void *share_alloc(struct share *s, size_t bytes);
/** Any thread. As cmi_message_memory_back. */
bool share_back(struct share *s, void *p, size_t bytes);

/** Any thread, after share_agree. The same memory, with a name by which other nodes may use it
 * (share_name_of); NULL also when no other node is reached. */
void *share_alloc_named(struct share *s, size_t bytes, uint64_t *name_p);

/* Any thread, after share_agree. As cmi_shared_ref and its neighbours: */
uint64_t share_ref(const struct share *s, int node, const void *p, size_t bytes);
const void *share_ptr(const struct share *s, uint64_t ref);
/** Whether this many bytes lie at a reference that another process wrote, in memory that we have
 * mapped. */
bool share_fits(const struct share *s, uint64_t ref, size_t bytes);
uint64_t share_name_of(const struct share *s, const void *p, size_t bytes);
void *share_at(const struct share *s, int node, uint64_t name);
/* Any PE, when the job is known. As cmi_show and cmi_shown. */
void share_show(const struct cmi_pe *w, const void *p);
void *share_shown(const struct cmi_pe *w, int pe);
/** Any thread, after share_agree. Bytes of message memory that the node has handed out; 0: it is
 * not reached. */
uint64_t share_used(const struct share *s, int node);
/* Any thread, when the job is known. As cmi_dial. */
struct cmi_dial *share_dial(const struct cmi *m, int pe);

/* ---- messages: share.c ---------------------------------------------------------------------- */

/** Main, after share_agree. Allocate what the PEs of this node know about others. */
void share_connect(struct cmi *m);

/** PE. The pipe through which the host's other processes wake this PE; -1 when there are none. */
int share_pe_open(struct cmi *m, int local);
/** Main, when all PEs have stopped. */
void share_pe_close(struct cmi_pe *w);

/* PE. As in cmi.h: */

/** False: that PE's node cannot be reached, and nothing has been done. */
bool share_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m);
bool share_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		  size_t bytes);
int share_progress(struct cmi_pe *w);
/** Any PE of the node. Return a message of CMI_ORIGIN_SHARED to its owner. */
void share_give_back(struct cmi *m, struct cmi_msg *msg);

/** PE. Announce that this PE sleeps; false: a message has arrived, so it must not. */
bool share_sleep_begin(struct cmi_pe *w);
void share_sleep_end(struct cmi_pe *w);

#endif
