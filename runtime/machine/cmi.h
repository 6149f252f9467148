/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi.h: the machine layer, everything below the scheduler.
 *
 * A *machine* (struct cmi) is one node's view of the job: who takes part, how to reach them, which
 * memory they may write. A *wire* (struct cmi_pe) is one PE's end of it and belongs to that PE's
 * thread: unless a comment says "any thread", only this PE may call a function that takes a wire.
 *
 * Back ends behind this header: UCX (several nodes), the memory of one host, and loopback (one
 * process; for tests several nodes inside it). The layers above cannot tell which one they run on.
 * Calls go up only through struct cmi_client, which the scheduler fills in.
 *
 * Private to the runtime; a program sees only cmi_msg.h. C++ may include it, for a layer above that
 * is written in it.
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
struct cmi_dial; /* base/cmi_dial.h */

enum { CMI_KEY_MAX = 88, CMI_ADDR_MAX = 1024 };

/* ---- the job ---------------------------------------------------------------------- */

/** The members of the job. Known once cmi_connect has returned (in jobs of processes and in shared
 * loopback nets already after cmi_open), and constant from then on. Any thread may read it. */
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
	int cores_on_host;   /* that they may use together: the same number on all nodes of the host */
	int first_on_host;   /* how many of them have lower numbers than this node's PE 0 */
	bool filtered;       /* CK_WIRE changes what the network carries, */
	bool sealed;         /* and seals it */
	uint64_t seal;       /* from cmi_connect on: a number known only to the job's nodes */
};

/** How the processes of a host program exchange data before they have a network. */
struct cmi_host_boot {
	int rank, size;
	/** Main thread of all processes, in the same order with equal `bytes`: all[r * bytes] receives
	 * rank r's bytes. A result other than 0 is a failure. */
	int (*allgather)(const void *mine, void *all, size_t bytes, void *arg);
	/** Any thread, but no signal handler: end all processes. May return. NULL: the exit of this
	 * process does that. */
	void (*abort)(int code, void *arg);
	void *arg;
};

/** What the user asked for, from flags and environment. Copied by cmi_open. */
struct cmi_options {
	int n_pes;                /* PEs of this node, >= 1 */
	bool verbose;
	struct cmi_loop_net *net; /* tests: join this loopback net; NULL: what the environment says */
	int loop_rank;            /* with net: this node's number in it */
	bool guest; /* the process belongs to a host program; its main thread is bound only if CK_BIND is
				   * set, and unbound in cmi_close */
	const struct cmi_host_boot *boot; /* NULL: the environment says how nodes meet */
};

/** The head of a put by active message. */
struct cmi_put_head {
	uint32_t channel;     /* receiver's channel number */
	uint32_t generation;  /* guards against a reused number */
	uint64_t iteration;   /* the sender's put count, from 1 */
	uint64_t word;        /* stored last */
};

/** What order a message needs among those of its pair of PEs. Where each connection delivers in
 * order and a lost packet holds up what follows on it (tcp), a pair has up to three connections:
 * calls, urgent messages, and puts; each is made on first use. */
enum cmi_way {
	CMI_BEHIND_ALL, /* delivered behind all messages that were sent before it, urgent ones too */
	CMI_CALL,       /* behind earlier ones but the urgent */
	CMI_URGENT,     /* behind earlier urgent ones only */
};

/** Calls from the machine to the layer above. `owner` is the argument of cmi_pe_open. All run on
 * the wire's own PE: the last three inside cmi_progress and cmi_flush, the others also inside
 * cmi_send and cmi_put_am. */
struct cmi_client {
	/** Message memory for `size` bytes, header included, for arriving messages and for some that the
	 * machine sends. Never NULL. */
	struct cmi_msg *(*msg_alloc)(void *owner, size_t size);
	/** cmi_send has finished with this message: free it. */
	void (*msg_free)(void *owner, struct cmi_msg *m);
	/** A message has arrived; the callee owns it. The callee may only queue it: until msg_arrived has
	 * returned, not even cmi_release may be called on it. */
	void (*msg_arrived)(void *owner, struct cmi_msg *m);
	/** A put by active message (cmi_put_am) has arrived. `body` is valid until this returns. */
	void (*put_arrived)(void *owner, int src_pe, const struct cmi_put_head *h,
			    const void *body, size_t bytes);
	/** The order that a message needs which is being sent. Called only where it matters. NULL: all are
	 * CMI_BEHIND_ALL. */
	enum cmi_way (*way)(void *owner, const struct cmi_msg *m);
	/** One piece of a put by active message; `at` is its offset in the body. Pieces come in order;
	 * put_arrived follows the last one, with body NULL and the total number of bytes. */
	void (*put_piece)(void *owner, int src_pe, const struct cmi_put_head *h, size_t at,
			  const void *piece, size_t bytes);
};

/** Open this node's machine: join the job through the launcher and choose the back end: a network's
 * (or the host's memory) in a job that a launcher has started, loopback in a process that was
 * started alone. Returns 0, or a negative errno after printing one line with the reason. */
int cmi_open(const struct cmi_options *o, const struct cmi_client *client, struct cmi **m_p)
	__attribute__((warn_unused_result));

/** Open the wire of local PE `local`: once, on that PE's thread, before cmi_connect. Outside a
 * loopback net it also binds the calling thread to processors, as CK_BIND says. */
int cmi_pe_open(struct cmi *m, int local, void *owner, struct cmi_pe **w_p)
	__attribute__((warn_unused_result));

/** Exchange addresses with all nodes. Called on the main thread after every local PE has opened its
 * wire and before any of them uses it; the caller provides the barrier. `fingerprint`, a hash of
 * registration tables and type sizes, must be equal on all nodes; if it is not, the call fails and
 * names two nodes that differ. Bounded in time. */
int cmi_connect(struct cmi *m, uint64_t fingerprint) __attribute__((warn_unused_result));

/** Barrier of all nodes. Main thread; slow, because it goes through the launcher. */
int cmi_fence(struct cmi *m) __attribute__((warn_unused_result));

/** Close a wire: on its PE's thread, after a fence, when nothing more is sent to it and no message
 * uses one of its receive buffers. */
void cmi_pe_close(struct cmi_pe *w);

/** Close the machine, after all its wires, and tell the launcher that this node ends normally. */
void cmi_close(struct cmi *m);

const struct cmi_job *cmi_job(const struct cmi *m);

/** "ucx" or "loopback". */
const char *cmi_name(const struct cmi *m);

/* ---- sending ---------------------------------------------------------------------- */

/** Send `m` to a PE of another node. `m` lies in message memory (cmi_message_memory) or has
 * arrived; its memory is at least as large as its size rounded up to 16 bytes. The machine owns it
 * from now on, and gives it to client->msg_free when the send is complete, perhaps before this
 * returns. Never blocks. Messages from one wire to one PE arrive in the order of the sends, as far
 * as client->way wants it. */
void cmi_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m);

/** Progress until all earlier sends are locally complete. Arrivals are delivered meanwhile. The
 * targets must make progress themselves. */
void cmi_flush(struct cmi_pe *w);

/** Poll the network: deliver arrivals, complete sends. Bounded work. Returns the number of events;
 * 0: nothing happened. */
int cmi_progress(struct cmi_pe *w);

/** The same for nodes of this host, through shared memory; never a system call. */
int cmi_progress_near(struct cmi_pe *w);

/** A scheduler pass has ended. Where each send costs a system call, messages and puts of a pass,
 * except the first one for each PE, wait for this call (or for a network poll in cmi_progress).
 * Returns the longest wait so far among them, in ns; 0: nothing was sent since the last call. */
uint64_t cmi_pass(struct cmi_pe *w);

/** How many scheduler passes with work a PE makes between two calls of cmi_progress: 1 where a poll
 * is cheap (shared memory), more where it is a system call (tcp). It may change while the job runs.
 * The passes in between call cmi_progress_near. An idle PE polls on every pass. */
int cmi_poll_period(const struct cmi_pe *w);

/** Connections that this wire has opened to other PEs so far; for measurements. */
int cmi_n_connections(const struct cmi_pe *w);

/** What CK_WIRE has done to what this wire has sent. */
struct cmi_wire_counts {
	uint64_t frames, squeezed;            /* of them */
	uint64_t bytes_before, bytes_after;
};
/** False: nothing is filtered. For statistics. */
bool cmi_wire_counts(const struct cmi_pe *w, struct cmi_wire_counts *counts_p);

/** Whether there are other nodes. If not, the loop may skip cmi_progress. */
bool cmi_has_network(const struct cmi_pe *w);

/** Give back a message of CMI_ORIGIN_WIRE; only on the wire that received it. */
void cmi_release(struct cmi_pe *w, struct cmi_msg *m);

/** Give back a message of CMI_ORIGIN_SHARED; any PE of the node. */
void cmi_give_back(struct cmi *m, struct cmi_msg *msg);

/** Memory for messages: 64-byte aligned, and valid until cmi_close. Untouched pages cost nothing.
 * The other nodes of the host can read it, so messages to them need not be copied. NULL when it is
 * exhausted. Any thread, after cmi_open. */
void *cmi_message_memory(struct cmi *m, size_t bytes);

/** Return whole pages of such memory, which contains no message, to the system. The addresses stay
 * the caller's, and read as zero when they are used again. False: the pages are unchanged. Any
 * thread. */
bool cmi_message_memory_back(struct cmi *m, void *p, size_t bytes);

/** A name under which the node of `dst_pe` can read this memory (of cmi_message_memory) in place,
 * until it is freed here; 0 when that node cannot. */
uint64_t cmi_shared_ref(const struct cmi_pe *w, int dst_pe, const void *p, size_t bytes);
/** The local address of such a name; any PE. */
const void *cmi_shared_ptr(const struct cmi *m, uint64_t ref);
/** Whether `bytes` bytes lie at a reference that another process wrote. */
bool cmi_shared_fits(const struct cmi *m, uint64_t ref, size_t bytes);
/** The same name for a reader that is not known yet; 0: no other node can read the memory. The
 * reader calls cmi_shared_at. */
uint64_t cmi_shared_name(const struct cmi_pe *w, const void *p, size_t bytes);
/** The local address of memory of `pe`, a PE of another node, to be read and written; NULL when it
 * is not mapped here. */
void *cmi_shared_at(const struct cmi_pe *w, int pe, uint64_t name);

/** Show memory of cmi_message_memory to the other PEs of the host, those of this process included:
 * one piece for each PE, written before. */
void cmi_show(const struct cmi_pe *w, const void *p);
/** What `pe` shows, here; NULL: nothing yet, or its memory is not mapped here. */
void *cmi_shown(const struct cmi_pe *w, int pe);

/** The dial of a PE; NULL: it is on another host, or its memory is not mapped here. Any
 * thread, when the job is known. */
struct cmi_dial *cmi_dial(const struct cmi *m, int pe);
/** Somebody looks until then (CLOCK_MONOTONIC): PEs count, and other hosts are asked what is seen
 * there. They answer later, or not at all. One thread at a time. */
void cmi_look(struct cmi *m, uint64_t until_ns);
/** Bytes of what is seen of the host of this node (alive/seen.h). */
size_t cmi_seen_bytes(const struct cmi *m, int node);
/** The last that was seen there; `to` has room for it. Returns when that was, by our clock; 0:
 * nothing yet. As cmi_look. */
uint64_t cmi_seen(struct cmi *m, int node, char *to);
/** The name of the host of this node, until cmi_close. */
const char *cmi_host_name(const struct cmi *m, int node);

/** Called by the PE now and then: unbind it from a core that other programs use for much of the
 * time (bind.c). False: there is nothing more to check. */
bool cmi_look_at_core(struct cmi_pe *w, uint64_t now_ns);

/** Sleep until cmi_wake, a network event, or timeout_us (negative: no limit). May return early for
 * no reason. The caller first announces that it sleeps, and then checks its queues once more. */
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

/** Memory that other nodes can write fast, because the processes of a host share it and it is
 * registered with the network. 64-byte aligned and zeroed, cut from large chunks. NULL when there
 * is no memory. Any thread. */
void *cmi_mem_alloc(struct cmi *m, size_t bytes);
void cmi_mem_free(struct cmi *m, void *p);
/** Usable bytes at p, which cmi_mem_alloc returned: at least as many as were requested. */
size_t cmi_mem_bytes(struct cmi *m, const void *p);
/** Whether p lies in memory that cmi_mem_alloc gives out. Any address is allowed. */
bool cmi_mem_has(struct cmi *m, const void *p);

/** The chunk of such memory that has p: *bytes_p bytes from the result on, all with one key; NULL:
 * none. */
const void *cmi_mem_chunk(struct cmi *m, const void *p, size_t *bytes_p);

/** Make the key of [addr, addr + bytes). Memory of cmi_mem_alloc has its chunk's key. Other memory
 * is registered, until cmi_close, if some transport has RMA in hardware; otherwise the key is
 * empty. Any thread. */
void cmi_mem_key(struct cmi *m, const void *addr, size_t bytes, struct cmi_key *key_p);

/** Attach memory of `pe`, a PE of another node. NULL when the key is empty or unusable here. Each
 * attachment is detached once. */
struct cmi_remote *cmi_attach(struct cmi_pe *w, int pe, const struct cmi_key *key, uint64_t addr);
void cmi_detach(struct cmi_pe *w, struct cmi_remote *r);

/** The local address of `addr` of the remote node, for plain stores; NULL when it is not mapped. */
void *cmi_remote_ptr(struct cmi_remote *r, uint64_t addr);

/** Whether the transport has RMA. Without it cmi_put works too, but only while the target makes
 * progress. */
bool cmi_remote_rma(const struct cmi_remote *r);

/** One remote operation in flight. It is embedded in the channel, so a put allocates nothing; the
 * machine owns it until done() has been called. */
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
		struct { /* the header of a put by active message */
			const void *src;
			size_t bytes;
		};
	};
	struct cmi_put_wire {   /* what a put by active message sends as its header */
		int32_t src_pe;
		uint32_t pieces; /* how many; 0: it comes in one */
		struct cmi_put_head head;
	} wire;
};

/** Write `bytes` of src to body_addr, wait until they are there (flush), then write the 8-byte
 * `word` to word_addr. The steps follow each other in callbacks; the call returns at once. True:
 * locally complete already, done is not called; false: done is called later. body and tail may be
 * the same attachment. */
bool cmi_put(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr, const void *src,
	     size_t bytes, struct cmi_remote *tail, uint64_t word_addr, uint64_t word,
	     struct cmi_op *op);

/** The same in one remote write, with no order between body and tail; `bytes` includes the tail.
 * Unsafe by design: bench/torn uses it to show that torn puts are caught. */
bool cmi_put_naive(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr,
		   const void *src, size_t bytes, struct cmi_op *op);

/** Operations on attached memory of a PE for which cmi_has_rma is true: some transport may have
 * RMA; `emulated`: there is a network, which does without if it must. Each returns the same as
 * cmi_put.
 *
 * cmi_get reads `bytes` bytes to dst. cmi_write writes them, and is complete when they are there.
 * cmi_atomic is one on 4 or 8 bytes, indivisible also for the processors of that host; *old gets
 * the value before. */
enum cmi_atomic { CMI_ADD, CMI_SWAP, CMI_COMPARE_SWAP };
bool cmi_has_rma(const struct cmi_pe *w, int pe, bool emulated);
bool cmi_get(struct cmi_pe *w, struct cmi_remote *r, uint64_t addr, void *dst, size_t bytes,
	     struct cmi_op *op);
bool cmi_write(struct cmi_pe *w, struct cmi_remote *r, uint64_t addr, const void *src, size_t bytes,
	       struct cmi_op *op);
/** COMPARE_SWAP: `a` is what it compares with, `b` what it stores. */
bool cmi_atomic(struct cmi_pe *w, struct cmi_remote *r, uint64_t addr, enum cmi_atomic what,
		size_t bytes, uint64_t a, uint64_t b, void *old, struct cmi_op *op);

/** Send head and bytes, straight from src, as one active message, for which the receiving PE calls
 * put_arrived. Puts to one PE keep their order among themselves, but none with messages. Returns
 * the same as cmi_put. */
bool cmi_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		size_t bytes, struct cmi_op *op);

/* ---- failure ---------------------------------------------------------------------- */

/** End the whole job now: print the line `why` and, if requested, a back-trace of the caller, tell
 * the launcher, _exit(code). Any thread. m is NULL before cmi_open. */
__attribute__((noreturn)) void cmi_abort(struct cmi *m, int code, bool backtrace, const char *why);

/** Any end of this process but SIGKILL and the like removes this file. Main thread, once; the text
 * is copied. A caller that ends in good order removes it itself. */
void cmi_remove_at_end(struct cmi *m, const char *path);

/** What the layer above knows about this process. */
struct cmi_watcher {
	/** Describe the work of this thread in buf ("node 1 PE 3 in Cell::ghost"). Async-signal-safe. */
	void (*whoami)(char *buf, size_t len);
	/** Explain in buf, if possible, a fault at this address with stack pointer sp. May be NULL.
	 * Async-signal-safe. */
	void (*explain)(const void *at, uintptr_t sp, char *buf, size_t len);
	/** Called in a forked child, on its only thread. The child is not part of the job, so nothing of
	 * the job may run there. May be NULL. */
	void (*forked)(void);
};

/** Watch this process until cmi_close. Main thread, once for a node; *by is copied.
 *
 * Report SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT as cmi_abort would, with node and PE. Existing
 * handlers (a sanitizer's) stay. Without `signals` none is installed, and only lines that the
 * runtime itself prints name node and PE.
 *
 * End the job with a line when the process calls exit or quick_exit. A forked child is on its own:
 * its faults end it as if there were no handler, and its exit is not reported. */
void cmi_watch(struct cmi *m, const struct cmi_watcher *by, bool signals);

/** On the PE's thread, when it has joined the job: if the thread ends before cmi_pe_close, the job
 * ends with a line. */
void cmi_pe_watch(struct cmi_pe *w);

/** Whether this is a forked child of the process that called cmi_watch. */
bool cmi_in_child(void);

/** Whether a node of this host has printed its frames, and so ends the job. Async-signal-safe. */
bool cmi_told_frames(const struct cmi *m);

/** In a signal handler on any thread: print the line. */
void cmi_signal_say(const char *line);

/** In a signal handler on any thread, with the handler's context: print the line, then a back-trace
 * from the interrupted instruction. */
void cmi_signal_trace(const char *line, void *context);

/** The same, and end the job with this exit code. */
void cmi_signal_abort(struct cmi *m, int code, const char *line, void *context);


/* ---- loopback nets, for tests ------------------------------------------------------ */

/** Several nodes inside one process, joined by queues. A seed other than 0 delays and interleaves
 * deliveries pseudo-randomly and reproducibly; of one pair of PEs calls, urgent messages and puts
 * are delayed independently, and the order that they need stays. */
struct cmi_loop_net *cmi_loop_net_create(int n_nodes, uint64_t seed);
/** Called before any node has joined. The nodes then exchange messages in shared memory, as the
 * processes of a host do: with the same code (share.c, ring.h, near.c, host.c) and, in one process,
 * at the same addresses, so that the thread sanitizer can check that code. There are no queues
 * then, and no delays. The job is known after cmi_open, which waits for all nodes: each is opened
 * on a thread of its own. */
void cmi_loop_net_share(struct cmi_loop_net *net);
void cmi_loop_net_destroy(struct cmi_loop_net *net);

#ifdef __cplusplus
}
#endif
#endif
