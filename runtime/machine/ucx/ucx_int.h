/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_int.h: shared by the files of the UCX back end.
 *
 *   ucx.c     context, workers, progress, open and close; it calls the others
 *   ucx_am.c  messages and puts by active message, both directions
 *   ucx_cut.c large messages in pieces, over tcp
 *   ucx_batch.c  many small ones in one active message
 *   ucx_up.c     urgent messages go among the calls until their own connection is there
 *   ucx_tail.c   a packet behind the last one, by which TCP notices losses
 *   ucx_frame.c  what leaves through the filters of CK_WIRE, and comes through them
 *   ucx_pack.c   datatypes by which UCX copies what is small, over tcp
 *   ucx_mem.c chunks, keys, attached memory
 *   ucx_put.c one-sided puts into attached memory
 *   ucx_ep.c  endpoints; it calls none of the others
 *   ucx_load.c  loads UCX
 *
 * There is one context per node and one worker per PE. Only its PE uses a worker and the worker's
 * endpoints, until all PEs have stopped; then cmi_close destroys them on the main thread.
 */
#ifndef UCX_INT_H
#define UCX_INT_H

#include <pthread.h>

#include "../filter/filter.h"
#include "machine_int.h"
#include "ucx_calls.h"
#include "window.h"

enum { AM_MESSAGE = 1, AM_PUT = 2, AM_BATCH = 3, AM_PIECE = 4, AM_URGENT = 5, AM_FRAME = 6 };

/* Messages and puts over tcp that are larger than this go in pieces of this size. A piece with its
 * header fits into UCX's segment (ucx.c), so UCX delivers it in place; and it is one packet of the
 * kernel. */
enum { UCX_PIECE = 60 << 10 };

struct ucx {
	ucp_context_h context;
	bool true_rma;   /* some transport has RMA */
	bool closing;    /* main thread, after all PEs have stopped */
	pthread_mutex_t lock; /* guards foreign */
	struct foreign *foreign; /* registrations of memory that is not ours */
	ucp_datatype_t packed[AM_FRAME + 1]; /* ucx_pack.c's, by what is sent */
};

/** Over tcp a lost packet holds up all that follows on its connection, and so does what is large.
 * So there each PE has up to three to another one, each made on first use. Elsewhere all streams
 * are the same endpoint. */
enum ucx_stream { UCX_CALLS, UCX_URGENT, UCX_PUTS, UCX_STREAMS };

/** The connection to one remote PE; made on first use. */
struct ucx_ep {
	struct ucx_pe *w;
	int pe;
	enum ucx_stream stream; /* UCX_CALLS where all streams share it */
	uint32_t n_urgent; /* of UCX_URGENT: messages sent. Of UCX_CALLS: how many of them the receiver has
			    * been told of */
	bool rma; /* one of its lanes has RMA */
	bool tcp; /* each send is a system call */
	bool large;      /* a message in pieces has been sent */
	bool up, in_use; /* ucx_up.c's, of UCX_URGENT: the receiver hears it; messages go by it */
	ucp_ep_h ep;
	/* ucx_batch.c's, of an endpoint over tcp: */
	bool open;               /* something was sent since the last pass */
	struct ucx_ep *next_open;
	struct cmi_msg *segment; /* what waits; ours until it is sent. NULL: nothing */
	size_t used;             /* bytes of its records */
	uint64_t since_ns;       /* when its first record came */
	/* ucx_tail.c's: */
	bool tail;               /* it will send one */
	struct ucx_ep *next_tail;
	uint64_t tail_ns;        /* then, unless it sends something before */
	/* ucx_put.c's: puts whose bodies are written, linked by cmi_op.next */
	struct cmi_op *covered;  /* the flush under way covers them; NULL: there is none */
	struct cmi_op *later;    /* those that have come since it began, the last one first */
};

/** Attached memory: one unpacked key of one PE's node. */
struct ucx_remote {
	struct cmi_remote base;
	struct ucx_remote *next;
	struct ucx_ep *e;
	ucp_rkey_h rkey;
	size_t n_users;
	struct cmi_key key;
};

struct late;
struct late_queue;
struct put_pieces;
struct cut_arriving;

struct ucx_pe {
	struct cmi_pe base;
	ucp_worker_h worker;
	int event_fd;
	int poll_period;
	int n_held;              /* receive buffers that contain live messages */
	struct ucx_ep **ep;      /* [n_pes * UCX_STREAMS], NULL until first use; itself NULL until then */
	struct ucx_remote *remotes;
	struct ucx_ep *open;     /* those used since the last pass; a list */
	struct ucx_ep *tails;    /* those that will send one */
	uint64_t tail_ns;        /* when the first of them will, or earlier */
	size_t n_late;           /* arrivals kept back, of all sources together */
	struct late_queue *late; /* [n_pes * UCX_STREAMS], NULL until one arrival is late */
	uint64_t random;         /* CK_RANDOM_DELAY: each stream is late by itself; 0: none is */
	struct put_pieces *pieces; /* [n_pes], NULL until the first piece of a put */
	struct cut_arriving *cuts; /* [2 * n_pes]: calls, urgent; NULL until the first piece of one */
	bool *hellos;            /* [n_pes]: UPs that are owed; NULL until the first HELLO */
	int n_hellos;            /* 0: none is */
	bool ends;               /* the loop has ended: no connection is made any more */
	uint32_t *urgent;        /* [n_pes]: urgent messages that have come; NULL until the first one */
	struct windows windows;
	int came, until_windows; /* large arrivals since the last call of windows_turn, and until the
				  * next */
	unsigned n_sent;         /* active messages since then */
};

static inline struct ucx_pe *ucx_pe(struct cmi_pe *w)
{
	return (struct ucx_pe *)w;
}

/* ucx_ep.c */

struct ucx_ep *ucx_ep_open(struct ucx_pe *w, int pe, enum ucx_stream stream);

/** The endpoint to `pe`; NULL: not used yet. */
static inline struct ucx_ep *ucx_ep_used(const struct ucx_pe *w, int pe, enum ucx_stream stream)
{
	return w->ep ? w->ep[pe * UCX_STREAMS + stream] : NULL;
}

/** Slot i of w->ep is used, and no earlier one of its PE is the same endpoint. */
static inline bool ucx_ep_is_first(const struct ucx_pe *w, int i)
{
	return w->ep[i] && (i % UCX_STREAMS == 0 || w->ep[i] != w->ep[i - i % UCX_STREAMS]);
}

/** The endpoint to `pe`, made now if necessary. Never NULL: a failure ends the job. */
static inline struct ucx_ep *ucx_ep(struct ucx_pe *w, int pe, enum ucx_stream stream)
{
	struct ucx_ep *e = ucx_ep_used(w, pe, stream);

	return __builtin_expect(e != NULL, 1) ? e : ucx_ep_open(w, pe, stream);
}

/** Main, when all PEs have stopped. */
void ucx_eps_close(struct ucx_pe *w);
/** Progress until a request completes; false when it does not in time. */
bool ucx_await(struct ucx_pe *w, ucs_status_ptr_t request);
/** Whether some transport of the context has RMA. */
bool ucx_context_has_rma(ucp_context_h context);

/** End the job because of a failed operation. Returns only while the machine is closing: then
 * failures are ignored, and the layer above may not be called any more. */
void ucx_failed(struct ucx_pe *w, int pe, const char *what, ucs_status_t status);

/* ucx.c */

/** It is time for windows_turn. */
void ucx_windows(struct ucx_pe *w);

/** `bytes` bytes have arrived. */
static inline void ucx_came(struct ucx_pe *w, size_t bytes)
{
	if (bytes > WINDOW_SEGMENT && --w->until_windows == 0)
		ucx_windows(w);
}

/* ucx_am.c */

int ucx_am_open(struct ucx_pe *w, const struct cmi *m);
void ucx_am_close(struct ucx_pe *w);
/** `cb` gets the active messages `id` of this worker. 0, or a negative errno. */
int ucx_am_handler(struct ucx_pe *w, unsigned id, ucp_am_recv_callback_t cb);
void ucx_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m);
void ucx_release(struct cmi_pe *w, struct cmi_msg *m);
bool ucx_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		size_t bytes, struct cmi_op *op);

/** All active messages leave here: a header, which UCX may read until the send is over, and data.
 * Over tcp nothing is larger than UCX_PIECE. `what`: the kind of data, for ucx_pack.c; NULL: it is
 * not to be packed. */
ucs_status_ptr_t ucx_hand_over(struct ucx_ep *e, unsigned id, const void *header,
			       size_t header_len, void *what, const void *data, size_t bytes,
			       ucp_request_param_t *param);
/** Hand `bytes` at `data`, in the block `m`, to UCX; m goes back to the pool when it is sent. */
void ucx_am_send(struct ucx_ep *e, unsigned id, struct cmi_msg *m, const void *data, size_t bytes);
/** End the job if no PE of another node has that number. */
void ucx_check_source(const struct ucx_pe *w, int src_pe);
/** The same for a message of `came` bytes that says it has `said`. */
void ucx_check_message(const struct ucx_pe *w, int src_pe, uint64_t said, size_t came);
/** Deliver an arrival, or queue it after earlier ones of its source. The callee owns the message;
 * the data stays the caller's. */
void ucx_message_deliver(struct ucx_pe *w, int src_pe, struct cmi_msg *m);
/** The same for an urgent one, which waits for nothing. */
void ucx_urgent_deliver(struct ucx_pe *w, int src_pe, struct cmi_msg *m);
/** With CK_RANDOM_DELAY: deliver some of what waits. */
void ucx_late_poll(struct ucx_pe *w);
/** The same for an urgent one that came among the calls. */
void ucx_detour_deliver(struct ucx_pe *w, int src_pe, struct cmi_msg *m);
/** What follows from this source in `stream` waits until so many urgent ones have come. */
void ucx_mark_deliver(struct ucx_pe *w, int src_pe, enum ucx_stream stream, uint32_t n_urgent);
void ucx_put_deliver(struct ucx_pe *w, const struct cmi_put_wire *wire, const void *data,
		     size_t bytes);

/* ucx_cut.c */

int ucx_cut_open(struct ucx_pe *w);
void ucx_cut_close(struct ucx_pe *w);
/** Send a message that is larger than UCX_PIECE, in pieces. */
void ucx_cut_send(struct ucx_ep *e, struct cmi_msg *m, bool urgent);

/* ucx_pack.c */

/** Make u->packed: datatypes for a struct cmi_msg, a segment of ucx_batch.c, and a struct cmi_op. A
 * send with one of them passes that as its buffer, and 1 as its count. */
int ucx_packs_open(struct ucx *u) __attribute__((warn_unused_result));
void ucx_packs_close(struct ucx *u);

/* ucx_batch.c: endpoints over tcp, and puts where the network cannot write by itself */

/** Append `m` to the batch. True: it is ours no more. False: the caller sends it by itself, and the
 * batch is empty. */
bool ucx_batch_message(struct ucx_ep *e, struct cmi_msg *m, bool urgent);
/** Tell the receiver how many urgent messages come before what follows. */
void ucx_batch_mark(struct ucx_ep *e, uint32_t n_urgent);
/** Greet the receiver by a new connection. */
void ucx_batch_hello(struct ucx_ep *e);
/** Answer that. */
void ucx_batch_up(struct ucx_ep *e);
/** Append an urgent message to the calls. False: it is too large. */
bool ucx_batch_detour(struct ucx_ep *e, struct cmi_msg *m);
/** The same for a put. True: the data has been copied. */
bool ucx_batch_put(struct ucx_ep *e, const struct cmi_put_wire *wire, const void *src,
		   size_t bytes);
/** Send a put, or a piece of one, now, in a segment of its own: from a copy of the data. */
void ucx_batch_put_alone(struct ucx_ep *e, const struct cmi_put_wire *wire, const void *src,
			 size_t bytes);
/** Send `bytes` bytes of records after the head of `m`, which UCX owns from now on. */
void ucx_batch_segment(struct ucx_ep *e, struct cmi_msg *m, size_t bytes);
/** Send the batch for one PE, which may be empty. */
void ucx_batch_send(struct ucx_ep *e);
/** A pass of the scheduler has ended: send all batches. Returns the longest wait in one, in ns, and
 * 1 if nothing has waited. Only while w->holds is set. */
uint64_t ucx_batch_pass(struct cmi_pe *w);
/** The records of a segment. */
void ucx_batch_records(struct ucx_pe *w, const void *data, size_t bytes);
ucs_status_t ucx_batch_arrived(void *arg, const void *header, size_t header_len, void *data,
			       size_t bytes, const ucp_am_recv_param_t *param);

/* ucx_up.c */

/** Send `m` among the calls while e is not there. False: it goes by e, from now on as all do. */
bool ucx_detour(struct ucx_ep *e, struct cmi_msg *m);
/** A HELLO, an UP of this source. */
void ucx_hello_came(struct ucx_pe *w, int src_pe);
void ucx_up_came(struct ucx_pe *w, int src_pe);
/** Only while w->n_hellos is not 0. */
void ucx_hellos_answer(struct ucx_pe *w);

/* ucx_tail.c */

/** Something has left at `now`. */
void ucx_tail_later(struct ucx_ep *e, uint64_t now);
/** For how long a sleep may last, in us; 0: nothing will be sent. */
int64_t ucx_tails_us(const struct ucx_pe *w);
/** Send what is due. Only while w->tails is not NULL. */
void ucx_tails_look(struct ucx_pe *w);

/* ucx_frame.c */

/** What a message, a segment or a put becomes where CK_WIRE is set: its bytes have been copied when
 * this returns. */
void ucx_frames_send(struct ucx_ep *e, const struct item *item);
/** Hear frames only. 0, or a negative errno. */
int ucx_frames_open(struct ucx_pe *w);

/* ucx_mem.c */

int ucx_chunk_map(struct cmi *m, struct mem_chunk *c);
void ucx_chunk_unmap(struct cmi *m, struct mem_chunk *c);
void ucx_foreign_key(struct cmi *m, const void *addr, size_t bytes, struct cmi_key *key_p);
void ucx_foreign_free(struct ucx *u);
struct cmi_remote *ucx_attach(struct cmi_pe *w, int pe, const struct cmi_key *key,
			      uint64_t addr);
void ucx_detach(struct cmi_pe *w, struct cmi_remote *r);
void ucx_remotes_free(struct ucx_pe *w);
void *ucx_remote_ptr(struct cmi_remote *r, uint64_t addr);
bool ucx_remote_rma(const struct cmi_remote *r);
bool ucx_has_rma(const struct cmi *m);

/* ucx_put.c */

bool ucx_put(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes,
	     struct cmi_op *op);
bool ucx_put_naive(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes,
		   struct cmi_op *op);
bool ucx_get(struct cmi_remote *r, uint64_t addr, void *dst, size_t bytes, struct cmi_op *op);
bool ucx_atomic(struct cmi_remote *r, uint64_t addr, enum cmi_atomic what, size_t bytes, uint64_t a,
		uint64_t b, void *old, struct cmi_op *op);

#endif
