/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csd.h: the scheduler layer: PEs and nodes, message memory, queues, the loop, timers.
 *
 * A PE (struct pe) is one scheduler on one thread; a node (struct node) is one process with
 * 1..k PEs. A message is sent to a PE with the number of a handler; the loop of that PE
 * calls the handler, one at a time, to completion. Nothing here knows chares or channels:
 * they are layers (struct csd_layer) that register handlers. Other languages can be built
 * on this header in the same way, as on Converse.
 *
 * Ownership: a message has one owner. csd_send gives it away; the loop gives it to the
 * handler, which frees, keeps or sends it.
 */
#ifndef CSD_H
#define CSD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../machine/cmi.h"

#pragma GCC visibility push(default) /* what programs may use */

struct pe;
struct node;

#define CSD_LIKELY(x) __builtin_expect(!!(x), 1)
#define CSD_UNLIKELY(x) __builtin_expect(!!(x), 0)
enum { CSD_CACHE_LINE = 64 };

/** Takes ownership of `m`. Runs on the PE that the message was sent to. */
typedef void (*CmiHandler)(struct pe *pe, struct cmi_msg *m);
typedef void (*CcdVoidFn)(void *arg);

/* ---- layers and start-up -------------------------------------------------------------- */

/** What a layer above brings along. Called in the order of the table, stop in reverse. */
struct csd_layer {
	const char *name;
	/** Once per node, main thread, before any PE runs: register handlers, add the layer's
	 * tables to node->fingerprint. 0, or a negative errno after printing why. */
	int (*node_start)(struct node *node);
	/** On each PE's thread, job known, before its loop; may send. NULL allowed. */
	void (*pe_start)(struct pe *pe);
	void (*pe_stop)(struct pe *pe);
	void (*node_stop)(struct node *node);
};

struct csd_config {
	int argc;
	char **argv;                        /* the runtime's own flags are removed in place */
	const struct csd_layer *const *layers;
	int n_layers;
	const void *program;                /* for the layers: node->program */
	struct cmi_loop_net *net;           /* tests: several nodes in one process */
	int loop_rank;
};

/** Start this node, run its PEs until csd_exit, stop. Returns the job's exit code. */
int csd_run(struct csd_config *cfg);

/** End the job: every PE leaves its loop after its current handler. Any PE, any time. */
void csd_exit(struct pe *pe, int code);

/** Abort the job with one line "chard: node N PE P in X: ..."; code 1. pe may be NULL. */
_Noreturn void csd_abort(struct pe *pe, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Make `fn` callable from every PE under a number, the same on all nodes because the order
 * of registration is. `name` is part of the start-up hash and must stay valid. Only in a
 * layer's node_start (or an initnode function). */
int csd_register(struct node *node, const char *name, CmiHandler fn);

/** Messages for this handler keep their order among themselves only, not with those for other
 * handlers between the same PEs. It is for the randomised queue, which then breaks it. */
void csd_order_apart(struct node *node, int handler);

/** csd_register for programs on this layer: Converse's CmiRegisterHandler, by name. */
int CmiRegisterHandler(const char *name, CmiHandler fn);

/* ---- message memory -------------------------------------------------------------------- */

enum {
	MSG_FINE = 1024,                   /* up to here one class per 64 bytes */
	MSG_CLASSES = MSG_FINE / 64 + 64,  /* above: two per doubling, to 4 TiB */
};

/** Free blocks of one PE by size class. A block keeps its owner word (home, class, origin) from
 * the day it is cut: allocating writes none of it, freeing compares it. */
struct msg_pool {
	struct cmi_msg *free[MSG_CLASSES];
	uint32_t owner;                    /* of this PE's blocks, without the class */
	uint64_t n_slabs;                  /* pieces taken from the machine's message memory */
};

/* ---- the run queue ----------------------------------------------------------------------- */

struct msg_fifo {
	struct cmi_msg *head, **tail;
};

/** A wide priority (CMI_F_WIDE), at the end of the message; the vector's words stand before it. */
struct msg_prio {
	int64_t key;                       /* a number, or the first 64 bits of a vector */
	uint32_t n_bits;                   /* of the vector; 0: a number */
	uint32_t bytes;                    /* what was appended to the message */
};

struct msg_heap_item {
	int64_t key;                       /* priority, or its first 64 bits; then `wide`, then */
	int64_t order;                     /* of arrival: rises for FIFO, falls for LIFO */
	const struct msg_prio *wide;       /* in the message; NULL: the key is all */
	struct cmi_msg *m;
};

struct msgq_random;

/** What is ready to run on one PE. Order: expedited, priority < 0, plain FIFO (priority 0),
 * priority > 0. Only the owner PE touches it. While `mixed` is false all that is queued is in
 * `plain`, and one test tells so. */
struct msgq {
	struct msg_fifo plain;
	bool mixed;                        /* something is in the three below */
	struct msg_fifo expedited;
	struct msg_heap_item *heap;
	size_t n_heap, cap_heap;
	int64_t stamp;                     /* orders equals in the heap */
	struct msgq_random *random;        /* tests: the randomised policy, else NULL */
};

/* ---- nodes and PEs ------------------------------------------------------------------------ */

/** Messages for a node: any of its PEs handles them (node_queue.c). A gate holds messages back, in
 * order, without blocking a PE: a serial one lets one through at a time, until csd_gate_open
 * says that it is over; another one lets nothing through before it is opened, then everything. */
struct csd_gate {
	struct cmi_msg opens;              /* stands in the inbox for the opening; first */
	struct msg_fifo waiting;
	bool closed, serial;               /* all of these: of whoever holds `taken` */
	struct csd_gate *next;
};
enum { CSD_GATE_OPENS = UINT16_MAX };

struct csd_node_queue {
	/* Written by any PE. `n`: messages that can be taken, never too low. */
	_Alignas(CSD_CACHE_LINE) _Atomic int64_t n;
	_Atomic(struct cmi_msg *) inbox;   /* newest first */
	_Atomic(struct csd_gate *) gates;  /* all of them */
	/* PEs that sleep, or are about to. */
	_Alignas(CSD_CACHE_LINE) atomic_int n_sleeping;
	/* Who holds `taken` owns the rest. */
	_Alignas(CSD_CACHE_LINE) atomic_bool taken;
	struct msg_fifo ready, again;      /* let through by gates, serial ones and others */
	struct msgq queue;
};

enum { CSD_MAX_HANDLERS = 64, CSD_RUNNING_WORDS = 5 };

struct csd_handler {
	const char *name;
	CmiHandler fn;
	bool apart;                        /* csd_order_apart */
};

/** One process. Constant while the loops run, except where a comment says so. */
struct node {
	struct cmi *machine;
	const struct cmi_job *job;
	struct pe **pes;                   /* [job->my_n_pes] */
	struct csd_handler handlers[CSD_MAX_HANDLERS];
	int n_handlers;
	int h_thread;                      /* thread.c's: an awakened thread */
	int h_handled;                     /* flow.c's: handled by another PE */
	uint64_t fingerprint;              /* of all registration tables */
	bool check;                        /* CK_CHECK=1: checked mode */
	bool verbose;
	uint64_t start_ns;
	int cores;                         /* this process may run on, before any binding */
	const struct csd_config *cfg;
	const void *program;
	struct ck_node *ck;                /* chare layer's */
	struct direct_node *direct;        /* channel layer's */
	/** Channel layer: a put by active message has arrived. */
	void (*put_arrived)(struct pe *pe, int src_pe, const struct cmi_put_head *h,
			    const void *body, size_t bytes);
	/** Chare layer: what runs now, "Cell::ghost"; async-signal-safe; may write "". */
	void (*describe)(const struct pe *pe, char *buf, size_t len);
	/** Chare layer: exchange what it thinks runs on this PE with *state; all zero: nothing. */
	void (*swap_running)(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS]);
	/** Chare layer: a message with CMI_F_HERE is about to leave the node. Takes it; returns
	 * one that may. */
	struct cmi_msg *(*leaving)(struct pe *pe, int dst_pe, struct cmi_msg *m);
	/** Chare layer: the gate in the way of a message for the node, or NULL; may look at
	 * `closed`. On whichever PE looks, which may not wait meanwhile. */
	struct csd_gate *(*gate_of)(struct pe *pe, const struct cmi_msg *m);
	atomic_int exit_code;              /* first non-zero wins; relaxed, read after join */
	struct csd_start *start;           /* private to node.c */
	struct csd_node_queue queue;
};

struct csd_timers;
struct csd_hooks;
struct csd_peer;

/** One scheduler. Groups of fields by who writes them. */
struct pe {
	/* Constant after start. */
	int id;                            /* global number */
	int local;                         /* number within the node */
	struct node *node;
	struct cmi_pe *wire;
	struct ck_pe *ck;                  /* chare layer's per-PE state */
	struct direct_pe *direct;          /* channel layer's */
	int (*poll_channels)(struct pe *pe); /* returns arrivals found; NULL: no channel layer */
	bool network;                      /* other nodes exist */

	/* Written by the PE's own thread only. */
	struct msgq queue;
	struct msg_pool pool;
	uint64_t n_created;                /* counted messages and puts sent, for quiescence */
	uint64_t n_processed;              /* the same, handled */
	uint64_t n_dispatched;             /* all messages handled by whole batches */
	uint32_t armed;                    /* channels polled: idling is bounded while > 0 */
	struct pe *lone;                   /* who sent what came alone from this node; not ours */
	bool stop;                         /* the loop ends; set by exit.c */
	bool leave;                        /* all PEs have stopped: this one may go */
	int exit_acks;                     /* children in PE 0's tree that have stopped */
	uint64_t passes;
	size_t n_timers;                   /* set in `timers` */
	struct csd_timers *timers;
	struct pe_threads *threads;
	struct csd_hooks *hooks;
	struct csd_peer **peers;           /* [n_pes], lazily: flow control with other nodes */
	struct csd_idle {
		uint64_t since_ns;         /* 0: busy */
		uint32_t polls, sleeps;
		bool oversubscribed;
	} idle;

	/* Written by any PE of the node. */
	_Alignas(CSD_CACHE_LINE) _Atomic(struct cmi_msg *) inbox;   /* newest first */
	_Atomic(struct cmi_msg *) returns;                          /* our memory, freed elsewhere */
	/* Written by the owner, read by senders: on a line of its own. */
	_Alignas(CSD_CACHE_LINE) atomic_bool sleeping;
};

extern _Thread_local struct pe *csd_self_ __attribute__((tls_model("initial-exec")));

/** The PE that runs on this thread; NULL on a thread that is none. */
static inline struct pe *csd_self(void) { return csd_self_; }

/* ---- the message path: no malloc, no lock, no system call ---------------------------------- */

struct cmi_msg *csd_msg_alloc_slow(struct pe *pe, size_t size, unsigned cls);
void csd_msg_free_slow(struct pe *pe, struct cmi_msg *m);
void csd_send_away(struct pe *pe, int dst_pe, struct cmi_msg *m);
void msgq_push_slow(struct msgq *q, struct cmi_msg *m);

/* Everything of the owner word but the size class. */
static inline uint32_t csd_owner_mask(void)
{
	const struct cmi_msg all = { .home = UINT16_MAX, .origin = UINT8_MAX };

	return all.owner;
}

static inline unsigned csd_size_class(size_t size)
{
	if (CSD_LIKELY(size <= MSG_FINE))
		return (unsigned)((size - 1) >> 6);
	unsigned lg = 63u - (unsigned)__builtin_clzll(size - 1);
	return MSG_FINE / 64 + (lg - 10) * 2 + (unsigned)(((size - 1) >> (lg - 1)) & 1);
}

/* With the address sanitizer, memory of messages that are free, and what a block has beyond its
 * message, is out of bounds, as malloc's would be. The machine's head stays readable. */
size_t msg_class_bytes(unsigned cls);
#ifdef __SANITIZE_ADDRESS__
void __asan_poison_memory_region(void const volatile *addr, size_t size);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
static inline void csd_poison(struct cmi_msg *m)
{
	__asan_poison_memory_region(m + 1, msg_class_bytes(m->size_class) - sizeof *m);
}
static inline void csd_unpoison(struct cmi_msg *m, size_t size)
{
	/* Rings copy in steps of 16 bytes. */
	__asan_unpoison_memory_region(m, (size + 15) & ~(size_t)15);
}
static inline void csd_unpoison_block(struct cmi_msg *m)
{
	__asan_unpoison_memory_region(m, msg_class_bytes(m->size_class));
}
#else
static inline void csd_poison(struct cmi_msg *m) { (void)m; }
static inline void csd_unpoison(struct cmi_msg *m, size_t size) { (void)m; (void)size; }
static inline void csd_unpoison_block(struct cmi_msg *m) { (void)m; }
#endif

/** Memory for a message of `size` bytes, head included (>= 32). Size and no flags are filled in; handler, priority (if a flag says so) and payload are the caller's to write.
 * Never NULL: no memory ends the job. */
static inline struct cmi_msg *csd_msg_alloc(struct pe *pe, size_t size)
{
	unsigned cls = csd_size_class(size);
	struct cmi_msg *m = pe->pool.free[cls];

	if (CSD_UNLIKELY(!m))
		m = csd_msg_alloc_slow(pe, size, cls);
	else
		pe->pool.free[cls] = m->next;
	csd_unpoison(m, size);
	m->size = size;
	m->flags = 0;
	m->mark = 0;
	return m;
}

/** Give a message's memory back; on any PE of the node that owns it. */
static inline void csd_msg_free(struct pe *pe, struct cmi_msg *m)
{
	if (CSD_UNLIKELY((m->owner ^ pe->pool.owner) & csd_owner_mask())) {
		csd_msg_free_slow(pe, m);
		return;
	}
	csd_poison(m);
	m->next = pe->pool.free[m->size_class];
	pe->pool.free[m->size_class] = m;
}

static inline void msg_fifo_push(struct msg_fifo *f, struct cmi_msg *m)
{
	m->next = NULL;
	*f->tail = m;
	f->tail = &m->next;
}

static inline struct cmi_msg *msg_fifo_pop(struct msg_fifo *f)
{
	struct cmi_msg *m = f->head;

	f->head = m->next;
	if (!f->head)
		f->tail = &f->head;
	return m;
}

static inline void msgq_push(struct msgq *q, struct cmi_msg *m)
{
	if (CSD_LIKELY(!(m->flags & (CMI_F_PRIO | CMI_F_LIFO | CMI_F_EXPEDITED)) && !q->mixed))
		msg_fifo_push(&q->plain, m);
	else
		msgq_push_slow(q, m);
}

/** Send `m` (handler set) to a PE of the job. Takes ownership; never blocks. FIFO per pair of
 * PEs among messages of one priority. */
static inline void csd_send(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	m->src_pe = pe->id;
	if (!(m->flags & CMI_F_SYSTEM))
		pe->n_created++;
	if (dst_pe == pe->id)
		msgq_push(&pe->queue, m);
	else
		csd_send_away(pe, dst_pe, m);
}

/** A hint, a few dozen instructions before a message is sent, perhaps to the PE of this node that sent what
 * is being handled: if that came alone, the PE looks at its inbox all the time, and the line is asked for.
 * Earlier the PE would take it back before it is written to. Handing a message to and fro between threads
 * takes 0.81 to 0.86 of its time without (AMD EPYC, 7 to 11 runs in turn). */
static inline void csd_may_answer(struct pe *pe)
{
	struct pe *to = pe->lone;

	if (!to)
		return;
	pe->lone = NULL;
	cmi_own_line(&to->inbox);
}

/** csd_send to this PE itself, of a message without any flags whose `route` is complete:
 * csd_send without its questions. */
static inline void csd_send_here(struct pe *pe, struct cmi_msg *m)
{
	pe->n_created++;
	if (CSD_LIKELY(!pe->queue.mixed))
		msg_fifo_push(&pe->queue.plain, m);
	else
		msgq_push_slow(&pe->queue, m);
}

/** Give a message a priority, lower first, that only its place in queues depends on: a number, or a
 * vector of bits (bit 0 is the highest of words[0]). Vectors are compared bit by bit, a shorter one
 * before those that begin with it; a number counts as the 64 bits of it with the highest
 * inverted, and no priority as 0. They take the message and return it, perhaps in new memory. */
struct cmi_msg *csd_set_prio(struct pe *pe, struct cmi_msg *m, int64_t number);
struct cmi_msg *csd_set_prio_bits(struct pe *pe, struct cmi_msg *m, const unsigned *words,
				  uint32_t n_bits);
void csd_clear_prio(struct cmi_msg *m);
/** What a priority takes behind a payload, at the most. */
size_t csd_prio_bytes(uint32_t n_bits);
/** Whether csd_set_prio_bits (0: csd_set_prio) would leave the message where it is. */
bool csd_prio_fits(const struct cmi_msg *m, uint32_t n_bits);
/** A wide priority kept beside its message, while that changes its form; restoring frees it. */
struct msg_prio *csd_save_prio(struct pe *pe, const struct cmi_msg *m);
struct cmi_msg *csd_restore_prio(struct pe *pe, struct cmi_msg *m, struct msg_prio *saved);
static inline const struct msg_prio *msg_prio_of(const struct cmi_msg *m) /* with CMI_F_WIDE */
{
	return (const struct msg_prio *)(const void *)((const char *)m + m->size) - 1;
}

/** Send `m` to a node: one of its PEs handles it, whichever comes first. What one PE sends to one
 * node leaves the node's queue in order of priority and sending; several PEs may then handle it
 * at the same time, unless a gate forbids. */
void csd_send_node(struct pe *pe, int node, struct cmi_msg *m);

/** A gate of this node; `g` is the caller's and lives until all PEs have stopped. Any PE. */
void csd_gate_init(struct node *node, struct csd_gate *g, bool serial);
/** Serial: the message that went through is over. Else: once. Any PE. */
void csd_gate_open(struct pe *pe, struct csd_gate *g);

/** Messages ready on this PE without the expedited ones, counted up to `most`; takes time in
 * proportion. */
size_t csd_queue_length(const struct pe *pe, size_t most);

/** A copy of `m`, owned by the caller. */
struct cmi_msg *csd_msg_copy(struct pe *pe, const struct cmi_msg *m);

/* ---- threads within a PE: cth.h; for layers: ------------------------------------------------- */

/** Call fn for each thread of the PE that has not ended and does not run, with what runs on it. */
void csd_each_thread(struct pe *pe,
		     void (*fn)(struct pe *pe, const uint64_t running[CSD_RUNNING_WORDS]));

/* ---- spanning trees -------------------------------------------------------------------------- */

enum { CSD_TREE_ARITY = 4 };

/** The tree over all PEs that is rooted at `root`: nodes form a 4-ary tree around root's node,
 * the PE through which a node is reached serves its other PEs. */
int csd_tree_parent(const struct pe *pe, int root);      /* -1 for the root */
int csd_tree_parent_of(const struct pe *pe, int other, int root); /* the same for any PE */
int csd_tree_n_children(const struct pe *pe, int root);
int csd_tree_child(const struct pe *pe, int root, int i);
/** Of these children the first so many are on other nodes; the others are leaves. */
int csd_tree_n_nodes(const struct pe *pe, int root);

/* ---- the loop ---------------------------------------------------------------------------------- */

/** Run the scheduler of this PE: n < 0 until csd_exit, else until n messages have been handled
 * or nothing is ready. Converse's CsdScheduler; not from inside a handler. */
void CsdScheduler(int n);

/** For a layer's pe_start: receive until a message for `handler` has been handled; others keep
 * their order and wait for the loop. Returns false when the job ends meanwhile. */
bool csd_wait_for(struct pe *pe, int handler);

/* ---- timers and hooks: Converse's conditional callbacks ------------------------------------------ */

/** Call fn(arg) on this PE once, `ms` milliseconds from now, between two handlers. */
void CcdCallFnAfter(CcdVoidFn fn, void *arg, double ms);

enum {
	CcdPROCESSOR_BEGIN_IDLE, CcdPROCESSOR_STILL_IDLE, CcdPROCESSOR_BEGIN_BUSY,
	CcdPERIODIC_10ms, CcdPERIODIC_100ms, CcdPERIODIC_1s, CCD_N_CONDITIONS
};

/** Call fn(arg) on this PE when the condition is raised next. Returns a number for
 * CcdCancelCallOnCondition. */
int CcdCallOnCondition(int condition, CcdVoidFn fn, void *arg);
/** The same, every time. */
int CcdCallOnConditionKeep(int condition, CcdVoidFn fn, void *arg);
void CcdCancelCallOnCondition(int condition, int id);

/* ---- small things ------------------------------------------------------------------------------- */

uint64_t csd_now_ns(void); /* monotonic */

/** Mix bytes into the node's fingerprint. */
void csd_fingerprint(struct node *node, const void *data, size_t bytes);

#pragma GCC visibility pop

#endif
