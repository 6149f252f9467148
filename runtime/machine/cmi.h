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
 * Private to the runtime. A program sees no more of it than cmi_msg.h. It may be included by C++,
 * for a layer above that is written in it.
 */
#ifndef CMI_H
#define CMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/cmi_copy.h"
#include "base/cmi_msg.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cmi;      /* one node's machine */
struct cmi_pe;   /* one PE's wire */

enum { CMI_KEY_MAX = 88, CMI_ADDR_MAX = 1024 };

/* ---- the job ---------------------------------------------------------------------- */

/** Who takes part. Known once cmi_connect has returned (outside a loopback net, and in a shared
 * one, already after cmi_open) and constant from then on. Any thread may read it. */
struct cmi_job {
	int node;            /* this node's rank */
	int n_nodes;
	int n_pes;           /* of the whole job */
	int my_first_pe;     /* global number of this node's PE 0 */
	int my_n_pes;
	int *first_pe;       /* [n_nodes + 1]: first PE of each node, then n_pes */
	int *node_of;        /* [n_pes] */
	uint64_t *host_id;   /* [n_nodes]: equal on one host (same boot, IPC and pid namespace) */
	int pes_on_host;     /* PEs of the job on this host */
	int first_on_host;   /* how many of them have lower numbers than this node's PE 0 */
	uint64_t seal;       /* from cmi_connect on: a number that only the job's nodes know */
};

/** How the processes of a host program meet before they have a network. */
struct cmi_host_boot {
	int rank, size;
	/** Main thread of all processes, in the same order with equal `bytes`: all[r * bytes] gets rank
	 * r's bytes. Not 0: it failed. */
	int (*allgather)(const void *mine, void *all, size_t bytes, void *arg);
	/** Any thread, but no signal handler: end all processes. May return. NULL: this one's exit does
	 * that. */
	void (*abort)(int code, void *arg);
	void *arg;
};

/** What the user asked for, from flags and environment. Copied by cmi_open. */
struct cmi_options {
	int n_pes;                /* PEs of this node, >= 1 */
	bool verbose;
	struct cmi_loop_net *net; /* tests: join this loopback net; NULL: what the environment says */
	int loop_rank;            /* with net: this node's number in it */
	bool guest; /* the process belongs to a host program, whose main thread is not bound, unless
				   * CK_BIND asks; then the binding ends in cmi_close */
	const struct cmi_host_boot *boot; /* NULL: the environment says how nodes meet */
};

/** The head of a put by active message. */
struct cmi_put_head {
	uint32_t channel;     /* receiver's channel number */
	uint32_t generation;  /* guards against a reused number */
	uint64_t iteration;   /* the sender's put count, from 1 */
	uint64_t word;        /* stored last */
};

/** What the machine calls in the layer above. `owner` is what cmi_pe_open was given. All run on the
 * wire's own PE: the last three inside cmi_progress and cmi_flush, the others also inside cmi_send
 * and cmi_put_am. */
struct cmi_client {
	/** Message memory for `size` bytes, head included. Never NULL. For messages that arrive, and
	 * for some that the machine itself sends. */
	struct cmi_msg *(*msg_alloc)(void *owner, size_t size);
	/** cmi_send has finished with this message: take its memory back. */
	void (*msg_free)(void *owner, struct cmi_msg *m);
	/** A message has arrived, and is the callee's from now on. The callee may only queue it: before
	 * msg_arrived has returned not even cmi_release may be called on it. */
	void (*msg_arrived)(void *owner, struct cmi_msg *m);
	/** A put by active message (cmi_put_am) has arrived. `body` is valid until this returns. */
	void (*put_arrived)(void *owner, int src_pe, const struct cmi_put_head *h,
			    const void *body, size_t bytes);
	/** A put by active message comes in pieces, and this is the one whose place in the body is `at`.
	 * They come in order; put_arrived follows the last one, with body NULL and the bytes of all. */
	void (*put_piece)(void *owner, int src_pe, const struct cmi_put_head *h, size_t at,
			  const void *piece, size_t bytes);
};

/** Open this node's machine: join the job through the launcher and choose the back end, which is
 * UCX in a job that a launcher has started and loopback in a process that was started alone.
 * Returns 0, or a negative errno after printing one line with the reason. */
int cmi_open(const struct cmi_options *o, const struct cmi_client *client, struct cmi **m_p)
	__attribute__((warn_unused_result));

/** Open the wire of local PE `local`: once, on that PE's thread, before cmi_connect. Outside a
 * loopback net it also binds the calling thread to processors, as CK_BIND asks. */
int cmi_pe_open(struct cmi *m, int local, void *owner, struct cmi_pe **w_p)
	__attribute__((warn_unused_result));

/** Exchange addresses with all nodes. Called on the main thread after every local PE has opened its
 * wire and before any of them uses it; the caller has the barrier for that. `fingerprint`, a hash
 * of registration tables and type sizes, must be equal on all nodes; if it is not, the call fails
 * and names two nodes that differ. Bounded in time. */
int cmi_connect(struct cmi *m, uint64_t fingerprint) __attribute__((warn_unused_result));

/** Wait until all nodes have come here. Main thread; slow, because it goes through the launcher. */
int cmi_fence(struct cmi *m) __attribute__((warn_unused_result));

/** Close a wire: on its PE's thread, after a fence, when nothing more is sent to it and no message
 * holds one of its receive buffers. */
void cmi_pe_close(struct cmi_pe *w);

/** Close the machine, after all its wires, and tell the launcher that this node ends well. */
void cmi_close(struct cmi *m);

const struct cmi_job *cmi_job(const struct cmi *m);

/** "ucx" or "loopback". */
const char *cmi_name(const struct cmi *m);

/* ---- sending ---------------------------------------------------------------------- */

/** Send `m` to a PE of another node. `m` lies in message memory (cmi_message_memory) or has
 * arrived; its memory is at least as large as its size rounded up to 16 bytes. It is the machine's
 * from now on, which gives it to client->msg_free when the send is over, perhaps before this
 * returns. Never blocks. What one wire sends to one PE arrives in the order of the sends. */
void cmi_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m);

/** Progress until everything sent before is locally complete. Arrivals are delivered meanwhile. The
 * targets must make progress themselves. */
void cmi_flush(struct cmi_pe *w);

/** Move the network: deliver what has come, finish what was sent. Bounded work. Returns the number
 * of events seen; 0: nothing happened. */
int cmi_progress(struct cmi_pe *w);

/** The same for what comes from nodes of this host through shared memory; never a system call. */
int cmi_progress_near(struct cmi_pe *w);

/** A scheduler pass has ended. Where each send costs a system call, messages and puts of a pass,
 * except the first one for each PE, wait for this call (or for a look at the network in
 * cmi_progress). Returns how long one of them has waited at most, in ns; 0: nothing was sent since
 * the last call. */
uint64_t cmi_pass(struct cmi_pe *w);

/** How many scheduler passes with work a PE makes between two calls of cmi_progress: 1 where a poll
 * costs little (shared memory), more where it costs a system call (tcp). It may change while the
 * job runs. In the passes between them there is cmi_progress_near. An idle PE polls on every
 * pass. */
int cmi_poll_period(const struct cmi_pe *w);

/** Connections that this wire has opened to other PEs so far; for measurements. */
int cmi_n_connections(const struct cmi_pe *w);

/** Whether there are other nodes. If not, the loop may skip cmi_progress. */
bool cmi_has_network(const struct cmi_pe *w);

/** Give back a message of CMI_ORIGIN_WIRE; only on the wire that received it. */
void cmi_release(struct cmi_pe *w, struct cmi_msg *m);

/** Give back a message of CMI_ORIGIN_SHARED; any PE of the node. */
void cmi_give_back(struct cmi *m, struct cmi_msg *msg);

/** Memory for messages: 64-byte aligned, and valid until cmi_close. Pages that nobody touches cost
 * nothing. The other nodes of the host can read it, so messages to them need not be copied. NULL
 * when there is no more. Any thread, after cmi_open. */
void *cmi_message_memory(struct cmi *m, size_t bytes);

/** Give whole pages of such memory, which holds no message, back to the system. The addresses stay
 * the caller's, and are zero when they are used again. False: the pages are as they were. Any
 * thread. */
bool cmi_message_memory_back(struct cmi *m, void *p, size_t bytes);

/** A name under which the node of `dst_pe` can read this memory (of cmi_message_memory) where it
 * lies, until it is freed here; 0 when that node cannot. */
uint64_t cmi_shared_ref(const struct cmi_pe *w, int dst_pe, const void *p, size_t bytes);
/** What such a name means here; any PE. */
const void *cmi_shared_ptr(const struct cmi *m, uint64_t ref);
/** Whether so many bytes lie where a reference from another process says. */
bool cmi_shared_fits(const struct cmi *m, uint64_t ref, size_t bytes);
/** The same name for a reader who is not known yet; 0: no other node can read the memory. The
 * reader asks cmi_shared_at. */
uint64_t cmi_shared_name(const struct cmi_pe *w, const void *p, size_t bytes);
/** Where memory of `pe`, a PE of another node, is mapped here, to be read and written; NULL when it
 * is not. */
void *cmi_shared_at(const struct cmi_pe *w, int pe, uint64_t name);

/** Now and then, by the PE itself: give up a core that other programs have for much of the time, as
 * bind.c says. False: there is nothing to look at any more. */
bool cmi_look_at_core(struct cmi_pe *w, uint64_t now_ns);

/** Sleep until cmi_wake, a network event, or timeout_us (negative: no limit). It may return early
 * for no reason. The caller has first said that it sleeps and then looked at its queues once
 * more. */
void cmi_sleep(struct cmi_pe *w, int64_t timeout_us);

/** Wake a sleeping PE of this node; any thread. A wake before the sleep is not lost. */
void cmi_wake(struct cmi_pe *w);

/* ---- remote memory ---------------------------------------------------------------- */

/** Names memory of one node for another. Plain bytes, which travel inside a handle. */
struct cmi_key {
	uint8_t len;                   /* 0 = no key: only cmi_put_am can reach the memory */
	uint8_t bytes[CMI_KEY_MAX - 1];
};

struct cmi_remote; /* another node's memory, attached by one wire */

/** Memory that other nodes can write fast, because the processes of a host share it and the network
 * has it registered. 64-byte aligned and zeroed. It is cut from large chunks. NULL when there is no
 * memory. Any thread. */
void *cmi_mem_alloc(struct cmi *m, size_t bytes);
void cmi_mem_free(struct cmi *m, void *p);
/** Bytes at p, which cmi_mem_alloc returned: at least as many as were asked for. */
size_t cmi_mem_bytes(struct cmi *m, const void *p);

/** Make the key of [addr, addr + bytes). Memory of cmi_mem_alloc has its chunk's key. Other memory
 * is registered, until cmi_close, if some transport writes remote memory by itself; if none does,
 * the key is empty. Any thread. */
void cmi_mem_key(struct cmi *m, const void *addr, size_t bytes, struct cmi_key *key_p);

/** Attach memory of `pe`, a PE of another node. NULL when the key is empty or cannot be used from
 * here. Each attachment is detached once. */
struct cmi_remote *cmi_attach(struct cmi_pe *w, int pe, const struct cmi_key *key, uint64_t addr);
void cmi_detach(struct cmi_pe *w, struct cmi_remote *r);

/** Where `addr` of the remote node is mapped here, so that it can be written by stores; NULL when
 * it is not. */
void *cmi_remote_ptr(struct cmi_remote *r, uint64_t addr);

/** Whether the transport writes the memory by itself. Elsewhere cmi_put works, too, but only while
 * the target makes progress. */
bool cmi_remote_rma(const struct cmi_remote *r);

/** One remote operation in flight. It is embedded in the channel, so a put allocates nothing, and
 * is the machine's until done() has been called. */
struct cmi_op {
	void (*done)(struct cmi_op *op); /* in cmi_progress: the source may be reused */
	void *arg;                       /* the caller's */
	/* private to the machine */
	struct cmi_op *next;
	struct cmi_pe *w;
	int pe, state;
	__extension__ union { /* structs without a name are C11, and an extension of C++ */
		struct { /* of cmi_put */
			struct cmi_remote *tail;
			uint64_t tail_addr, word;
		};
		struct { /* of cmi_put_am */
			const void *src;
			size_t bytes;
		};
	};
	struct cmi_put_wire {   /* what a put by active message sends as its header */
		int32_t src_pe;
		uint32_t bytes; /* of all pieces together; 0: it comes in one */
		struct cmi_put_head head;
	} wire;
};

/** Write `bytes` of src to body_addr, wait until they are there (flush), then write the 8-byte
 * `word` to word_addr. The steps follow each other in callbacks; the call returns at once. True: it
 * is locally complete already, and done is not called; false: done is called later. body and tail
 * may be the same attachment. */
bool cmi_put(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr, const void *src,
	     size_t bytes, struct cmi_remote *tail, uint64_t word_addr, uint64_t word,
	     struct cmi_op *op);

/** The same in one remote write, without any order between body and tail; `bytes` includes the
 * tail. Unsafe by design: bench/torn uses it to show that torn puts are caught. */
bool cmi_put_naive(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr,
		   const void *src, size_t bytes, struct cmi_op *op);

/** Send head and bytes, straight from src, as one active message, which put_arrived handles on the
 * receiving PE. It keeps its order with cmi_send to the same PE. Returns what cmi_put does. */
bool cmi_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		size_t bytes, struct cmi_op *op);

/* ---- failure ---------------------------------------------------------------------- */

/** End the whole job now: print the line `why` and, when asked, a back-trace of the caller, tell
 * the launcher, _exit(code). Any thread. m is NULL before cmi_open. */
__attribute__((noreturn)) void cmi_abort(struct cmi *m, int code, bool backtrace, const char *why);

/** What the layer above says about this process. */
struct cmi_watcher {
	/** Who runs on this thread, into buf ("node 1 PE 3 in Cell::ghost"). Async-signal-safe. */
	void (*whoami)(char *buf, size_t len);
	/** Into buf, if that can be told: what a fault at this address means, the stack pointer being sp.
	 * May be NULL. Async-signal-safe. */
	void (*explain)(const void *at, uintptr_t sp, char *buf, size_t len);
	/** This is a forked child, on the thread that called fork, which is the only one. It is no part of
	 * the job: nothing of it may run here. May be NULL. */
	void (*forked)(void);
};

/** Watch over this process until cmi_close. Main thread, once for a node; *by is copied.
 *
 * Report SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT as cmi_abort would, with node and PE. Handlers
 * that somebody else (a sanitizer) has installed stay. Without `signals` none is installed, and
 * only lines that the runtime itself prints name node and PE.
 *
 * End the job with a line when the process calls exit or quick_exit.
 *
 * A child of fork is on its own: its faults end it as if there were no handler, and its exit is not
 * reported. */
void cmi_watch(struct cmi *m, const struct cmi_watcher *by, bool signals);

/** The PE's thread, when it has joined the job: if the thread ends before cmi_pe_close, the job
 * ends with a line. */
void cmi_pe_watch(struct cmi_pe *w);

/** Whether this is a forked child of the process that cmi_watch watches over. */
bool cmi_in_child(void);

/** In a signal handler on any thread, with the handler's context: print the line, then a back-trace
 * from where the signal came. */
void cmi_signal_trace(const char *line, void *context);

/** The same, and end the job with this exit code. */
void cmi_signal_abort(struct cmi *m, int code, const char *line, void *context);


/* ---- loopback nets, for tests ------------------------------------------------------ */

/** Several nodes inside one process, joined by queues. A seed other than 0 delays and interleaves
 * deliveries at random, the same in every run; the order within one pair of PEs stays. */
struct cmi_loop_net *cmi_loop_net_create(int n_nodes, uint64_t seed);
/** Before any node has joined. The nodes hand messages over in shared memory, as the processes of a
 * host do: over the same code (share.c, ring.h, near.c, host.c) and, because they are one process,
 * at the same addresses. So a tool that watches the memory of one process, as the thread sanitizer
 * does, judges that code. There are no queues then, and no delays. The job is known after cmi_open,
 * which waits for all nodes: each is opened on a thread of its own. */
void cmi_loop_net_share(struct cmi_loop_net *net);
void cmi_loop_net_destroy(struct cmi_loop_net *net);

#ifdef __cplusplus
}
#endif
#endif
