/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi.h: the machine layer, everything below the scheduler.
 *
 * A *machine* (struct cmi) is one node's view of the job: who takes part, how to reach
 * them, which memory they may write. A *wire* (struct cmi_pe) is one PE's end of it and
 * belongs to that PE's thread: unless a comment says "any thread", a function that takes
 * a wire may be called by its own PE only.
 *
 * Two back ends stand behind this header: UCX (several nodes) and loopback (one process;
 * for tests several nodes inside it). The layers above cannot tell which one they run on.
 * Calls go up only through struct cmi_client, which the scheduler fills in.
 *
 * Private to the runtime. A program sees no more of it than cmi_msg.h.
 */
#ifndef CMI_H
#define CMI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmi_copy.h"
#include "cmi_msg.h"

struct cmi;      /* one node's machine */
struct cmi_pe;   /* one PE's wire */

enum { CMI_KEY_MAX = 88, CMI_ADDR_MAX = 1024 };

/* ---- the job ---------------------------------------------------------------------- */

/** Who takes part. Filled by cmi_connect, constant afterwards; any thread may read it. */
struct cmi_job {
	int node;            /* this node's rank */
	int n_nodes;
	int n_pes;           /* of the whole job */
	int my_first_pe;     /* global number of this node's PE 0 */
	int my_n_pes;
	int *first_pe;       /* [n_nodes + 1]: first PE of each node, then n_pes */
	int *node_of;        /* [n_pes] */
	uint64_t *host_id;   /* [n_nodes]: equal means same host (boot, IPC and pid namespace) */
	int pes_on_host;     /* PEs of the job on this host */
	int first_on_host;   /* how many of them stand before this node's PE 0 */
};

/** What the user asked for, from flags and environment. Copied by cmi_open. */
struct cmi_options {
	int n_pes;                /* PEs of this node, >= 1 */
	bool verbose;
	struct cmi_loop_net *net; /* loopback: join this net of several nodes; NULL = from the environment */
	int loop_rank;            /* with net: this node's rank in it */
};

/** Head of a put by active message. */
struct cmi_put_head {
	uint32_t channel;     /* receiver's channel number */
	uint32_t generation;  /* guards against a reused number */
	uint64_t iteration;   /* the sender's put count, from 1 */
	uint64_t word;        /* stored last */
};

/** What the machine calls in the layer above. `owner` is what cmi_pe_open was given.
 * All three run on the wire's own PE, inside cmi_progress. */
struct cmi_client {
	/** Message memory for an arriving message of `size` bytes (head included). Never NULL.
	 * The machine also sends from it (cmi_put_am). */
	struct cmi_msg *(*msg_alloc)(void *owner, size_t size);
	/** A message that cmi_send has finished with: put the memory back. */
	void (*msg_free)(void *owner, struct cmi_msg *m);
	/** A message has arrived; ownership passes to the callee. It must only queue it: not
	 * even cmi_release may be called on it before msg_arrived has returned. */
	void (*msg_arrived)(void *owner, struct cmi_msg *m);
	/** A put by active message (cmi_put_am) has arrived. `body` is valid until return. */
	void (*put_arrived)(void *owner, int src_pe, const struct cmi_put_head *h,
			    const void *body, size_t bytes);
};

/** Open this node's machine: choose the back end, join the job through the launcher.
 * A launcher's variables choose the back end (PMI_FD: UCX); without any, loopback.
 * Returns 0, or a negative errno after printing one line with the reason. */
int cmi_open(const struct cmi_options *o, const struct cmi_client *client, struct cmi **m_p)
	__attribute__((warn_unused_result));

/** Open local PE `local`'s wire; called on that PE's thread, once, before cmi_connect.
 * Also binds the calling thread to processors as CK_BIND asks; not in a loopback net. */
int cmi_pe_open(struct cmi *m, int local, void *owner, struct cmi_pe **w_p)
	__attribute__((warn_unused_result));

/** Exchange addresses with all nodes and fill in the job. On the main thread, after every
 * local PE has opened its wire and before any of them uses it (the caller's barrier).
 * `fingerprint` (hash of registration tables and type sizes) must be equal on all nodes:
 * a difference names both nodes and fails. Bounded in time. */
int cmi_connect(struct cmi *m, uint64_t fingerprint) __attribute__((warn_unused_result));

/** Wait until all nodes have come here (bootstrap fence, not a hot path). Main thread. */
int cmi_fence(struct cmi *m) __attribute__((warn_unused_result));

/** Close a wire: on its PE's thread, after a fence, when nothing more is sent to it.
 * Held receive buffers must have been released. */
void cmi_pe_close(struct cmi_pe *w);

/** Close the machine, after every wire; tells the launcher that this node ends well. */
void cmi_close(struct cmi *m);

const struct cmi_job *cmi_job(const struct cmi *m);

/** "ucx" or "loopback". */
const char *cmi_name(const struct cmi *m);

/* ---- sending ---------------------------------------------------------------------- */

/** Send `m`, which lies in message memory (cmi_message_memory) or has arrived, to a PE of another
 * node. Takes ownership; frees through client->msg_free when done, perhaps before returning. The
 * memory of a message, received ones too, is as large as its size rounded up to 16 bytes.
 * Never blocks. FIFO per (wire, dst_pe). */
void cmi_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m);

/** Progress until everything sent before is locally complete. The targets must be making
 * progress themselves. Arrivals are delivered meanwhile. */
void cmi_flush(struct cmi_pe *w);

/** Move the network: deliver what has come, finish what was sent. Bounded work.
 * Returns the number of events seen (0 = nothing happened). */
int cmi_progress(struct cmi_pe *w);

/** Scheduler passes between two cmi_progress calls of a busy PE: 1 where a poll costs
 * nothing (shared memory), more where it costs a system call (tcp). May change while
 * running; an idle PE polls on every pass. */
int cmi_poll_period(const struct cmi_pe *w);

/** Connections that this wire has opened to other PEs so far (for measurements). */
int cmi_n_connections(const struct cmi_pe *w);

/** Whether there is a network at all: false lets the loop skip cmi_progress. */
bool cmi_has_network(const struct cmi_pe *w);

/** Give back a message of CMI_ORIGIN_WIRE; only on the wire that received it. */
void cmi_release(struct cmi_pe *w, struct cmi_msg *m);

/** Give back a message of CMI_ORIGIN_SHARED; any PE of the node. */
void cmi_give_back(struct cmi *m, struct cmi_msg *msg);

/** Memory for messages: 64-byte aligned, untouched pages cost nothing, lives until cmi_close.
 * The other nodes of the host can read it, so that messages need not be copied to get
 * there. NULL when there is no more. Any thread, after cmi_open. */
void *cmi_message_memory(struct cmi *m, size_t bytes);

/** A name for memory of cmi_message_memory that a PE of another node can read where it lies: valid in
 * that node until it is freed here. 0: it cannot. */
uint64_t cmi_shared_ref(const struct cmi_pe *w, int dst_pe, const void *p, size_t bytes);
/** What such a name means here; any PE. */
const void *cmi_shared_ptr(const struct cmi *m, uint64_t ref);

/** Sleep until cmi_wake, a network event, or timeout_us (< 0: no limit). May return early
 * at any time. The caller has published that it sleeps and re-checked its queues. */
void cmi_sleep(struct cmi_pe *w, int64_t timeout_us);

/** Wake a sleeping PE of this node; any thread. A wake before the sleep is not lost. */
void cmi_wake(struct cmi_pe *w);

/* ---- remote memory ---------------------------------------------------------------- */

/** Names memory of one node for another; a POD that travels inside a handle. */
struct cmi_key {
	uint8_t len;                   /* 0 = no key: only cmi_put_am can reach the memory */
	uint8_t bytes[CMI_KEY_MAX - 1];
};

struct cmi_remote; /* another node's memory, attached by one wire */

/** Memory that other nodes can write fast: shared between the processes of a host,
 * registered with the network. 64-byte aligned, zeroed, sub-allocated from large chunks;
 * NULL when there is no memory. Any thread. */
void *cmi_mem_alloc(struct cmi *m, size_t bytes);
void cmi_mem_free(struct cmi *m, void *p);

/** Make the key of [addr, addr + bytes). Memory from cmi_mem_alloc gives its chunk's key;
 * other memory is registered when a transport with true RMA exists, else len = 0.
 * The registration lives until cmi_close. Any thread. */
void cmi_mem_key(struct cmi *m, const void *addr, size_t bytes, struct cmi_key *key_p);

/** Attach memory of `pe` (of another node). NULL when the key is empty or cannot be used
 * from here. Attachments to one chunk are shared and counted. */
struct cmi_remote *cmi_attach(struct cmi_pe *w, int pe, const struct cmi_key *key, uint64_t addr);
void cmi_detach(struct cmi_pe *w, struct cmi_remote *r);

/** Where `addr` of the remote node is mapped here, or NULL: path 1. */
void *cmi_remote_ptr(struct cmi_remote *r, uint64_t addr);

/** Whether the transport itself writes the memory, without the target's help: path 2 is
 * chosen by default only then. Elsewhere cmi_put still works but needs target progress. */
bool cmi_remote_rma(const struct cmi_remote *r);

/** One remote operation in flight. Embedded in the channel, so that a put allocates
 * nothing; the machine's until done() has been called. */
struct cmi_op {
	void (*done)(struct cmi_op *op); /* local completion: source reusable; runs in cmi_progress */
	void *arg;                       /* the caller's */
	/* private to the machine */
	struct cmi_op *next;
	struct cmi_pe *w;
	int pe, state;
	struct cmi_remote *tail;
	uint64_t tail_addr, word;
	struct cmi_put_wire {   /* what a put by active message sends as its header */
		int32_t src_pe;
		uint32_t spare;
		struct cmi_put_head head;
	} wire;
};

/** Path 2: write `bytes` of src to body_addr, wait for remote completion (flush), then
 * write the 8-byte `word` to word_addr. All chained by callbacks; returns at once.
 * Returns true when locally complete already (done is not called), else done follows.
 * body and tail may be the same attachment. */
bool cmi_put(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr, const void *src,
	     size_t bytes, struct cmi_remote *tail, uint64_t word_addr, uint64_t word,
	     struct cmi_op *op);

/** The same without the order: body and tail in one ucp put. Unsafe by design; exists so
 * that bench/torn can show that it is caught. bytes includes the tail. */
bool cmi_put_naive(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr,
		   const void *src, size_t bytes, struct cmi_op *op);

/** Path 3: one active message, head + bytes straight from src, handled by put_arrived on
 * the receiving PE. Ordered with cmi_send on the same pair. Returns as cmi_put does. */
bool cmi_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		size_t bytes, struct cmi_op *op);

/* ---- failure ---------------------------------------------------------------------- */

/** End the whole job now: one line "why", a libunwind back-trace of the caller when asked,
 * tell the launcher, _exit(code). Any thread. m may be NULL (before cmi_open). */
_Noreturn void cmi_abort(struct cmi *m, int code, bool backtrace, const char *why);

/** Report SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT of this process as cmi_abort would,
 * naming node and PE (`whoami` writes "node 1 PE 3 in Cell::ghost" into buf; it must be
 * async-signal-safe). `explain`, NULL or async-signal-safe too, may write what a fault at an address
 * means. Leaves handlers alone that somebody else (a sanitizer) installed. */
void cmi_catch_faults(struct cmi *m, void (*whoami)(char *buf, size_t len),
		      void (*explain)(const void *at, char *buf, size_t len));

/* ---- loopback nets, for tests ------------------------------------------------------ */

/** Several nodes inside one process, joined by queues; `seed` != 0 delays and interleaves
 * deliveries at random, replayably, never breaking the order of one pair. */
struct cmi_loop_net *cmi_loop_net_create(int n_nodes, uint64_t seed);
void cmi_loop_net_destroy(struct cmi_loop_net *net);

#endif
