/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pe.h: one scheduler (struct pe) and the path of a message through it: allocate, send, free,
 * inlined, without malloc, lock or system call. It is the header of this folder for the layers
 * above, so it also includes the node with its layers (node.h), messages for a node and gates
 * (node_queue.h), priorities (prio.h) and trees (tree.h). Private: programs use csd.h.
 *
 * A PE runs on one thread; unless a comment says "any PE", only that PE may call a function that
 * takes a struct pe. A message has one owner: csd_send gives it away; the loop gives it to the
 * handler, which frees, keeps or sends it.
 */
#ifndef CSD_PE_H
#define CSD_PE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csd.h"
#include "../machine/cmi.h"
#include "../machine/base/msg_stack.h"
#include "count/counted.h"
#include "base/hint.h"
#include "node.h"
#include "route/node_queue.h"
#include "queue/prio.h"
#include "queue/queue.h"
#include "trace/traced.h"
#include "base/tree.h"

/* ---- message memory -------------------------------------------------------------------- */

enum {
	MSG_FINE = 1024,                   /* up to here one class per 64 bytes */
	MSG_CLASSES = MSG_FINE / 64 + 64,  /* above: two per doubling, to 4 TiB */
	/* To the largest size_t. These classes have no blocks, but impossible sizes (of a program's wrong
	 * count) have one of them, and allocation finds their lists empty without a check of the size. */
	MSG_CLASSES_ALL = MSG_FINE / 64 + 2 * (64 - 10),
};

struct msg_slab;

/** Freed blocks of another PE of the node, which return together (memory.c). */
enum { MSG_PARCEL = 16 };
struct msg_parcel {
	uint32_t n;
	struct cmi_msg *block[MSG_PARCEL];
};

/** Free blocks of one PE by size class. A block keeps its owner word (home, class, origin) from the
 * moment it is cut: allocating does not write it, freeing compares it. */
struct msg_pool {
	struct cmi_msg *free[MSG_CLASSES_ALL];
	uint32_t owner;                    /* of this PE's blocks, without the class */
	struct msg_slab *slabs;            /* [n_slabs], rising addresses: pieces of the machine's
					    * memory */
	size_t n_slabs, cap_slabs;
	uint32_t hollow[MSG_CLASSES];      /* 1 + the first slab without pages; 0: none (reclaim.c) */
	uint32_t n_full[MSG_CLASSES];      /* slabs with pages */
	struct msg_parcel *parcels;        /* [my_n_pes]; NULL: nothing of others has been freed */
	uint32_t n_parcels;                /* that are not empty */
	uint64_t trim_after_ns;            /* reclaim.c: not before this; counting takes time */
	struct cmi_msg ask;                /* reclaim.c: another PE's request for our free slabs ... */
	atomic_bool asked;                 /* ... is under way */
};

/** The threads of a PE that wait for space in the process's message memory (room.c). */
struct csd_room {
	struct room_waiter *first, **last;
	bool ticks;                        /* a timer checks for them */
};

/* ---- the PE ---------------------------------------------------------------------------- */

struct cmi_dial;
struct csd_timers;
struct csd_hold;
struct csd_hooks;
struct csd_peer;
struct csd_thread;
struct csd_signals;
struct csd_watch;

/** One scheduler. The fields are grouped by who writes them. */
struct pe {
	/* Constant after start. */
	int id;                            /* global number */
	int local;                         /* number within the node */
	struct node *node;
	struct cmi_pe *wire;
	int (*poll)(struct pe *pe);        /* node->up.poll while its layer runs here, else NULL */
	bool network;                      /* other nodes exist */
	int n_layers;                      /* of the node's, those that run here */
	void *layer[CSD_SLOTS];            /* the layers' own, each its slot */

	/* Written by the PE's own thread only. */
	struct msgq queue;
	uint64_t n_created;                /* counted messages and puts sent, for quiescence */
	struct msg_pool pool;
	struct csd_room room;
	uint64_t n_processed;              /* the same, handled */
	uint64_t n_dispatched;             /* all messages handled by whole batches */
	uint32_t armed;                    /* set by a layer: the events for which its `poll` waits wake no
					    * PE, so sleeps are short while this is > 0 */
	bool listens;                      /* the same, of a layer that always waits for such events */
	struct pe *lone;                   /* the PE of this node whose message came alone, or NULL */
	struct inbox_rings *rings;         /* inbox.h; NULL: this node has one PE */
	int n_rings;                       /* that this PE reads */
	bool listens_far;                  /* `network`, or n_rings > 0: one test for both */
	bool stop;                         /* the loop ends; set by exit.c */
	bool leave;                        /* all PEs have stopped: this one may go */
	bool away;                         /* the host program has the thread, between two calls */
	bool frozen;                       /* a layer copies the job's state: no hook is raised */
	struct csd_hold *hold;             /* messages to other PEs are held back; else NULL */
	int exit_acks;                     /* children in PE 0's tree that have stopped */
	int hosts_done;                    /* PE 0: nodes whose host programs want no more */
	uint64_t passes;                   /* roughly: idle.c leaves some out */
	int most;                          /* messages of a pass, at most; 0: as usual */
	size_t n_timers;                   /* set in `timers` */
	size_t n_chatter_timers;           /* of them: csd_chatter_timer */
	uint64_t n_chatter;                /* csd_chatter */
	uint64_t left_out;                 /* csd_leave_out: bytes sent to other nodes minus received */
	struct csd_timers *timers;
	struct pe_threads *threads;
	struct csd_thread *thread;         /* the one that runs; NULL: the PE's own stack */
	struct csd_hooks *hooks;
	struct pe_trace *trace;            /* NULL: without CK_TRACE */
	struct pe_counts *counts;          /* NULL: without CK_STATS and ckrun --progress */
	struct csd_peer **peers;           /* [n_pes], lazily: flow control with other nodes */
	struct csd_watch *watch;           /* watch.c; NULL: off */
	bool at_rest;                      /* the current report is about a quiescent job */
	/* watch_signal.c; NULL: off, signals belong to others, or the PE has not begun. */
	_Atomic(struct csd_signals *) signals;
	struct csd_stack {
		const char *low;           /* its lower end; NULL: not known */
		size_t bytes;
	} stack;                           /* of the PE's own thread */
	struct csd_idle {
		uint64_t since_ns;         /* 0: busy */
		uint64_t since_work;       /* idle_work at that time */
		uint32_t polls, sleeps;
		uint32_t patience;         /* after this many polls without work each includes an expensive
					    * network */
		uint32_t unlooked;         /* passes with work since that was last polled */
		bool oversubscribed;
		uint64_t look_ns;          /* when to check next whether this PE has its core for itself, and
					    * whether somebody looks at its dial */
		bool core_known;           /* the first need not be checked any more */
		bool flagged;              /* the loop ends when a flag is set, perhaps by another thread */
		/* When the clock was read last, and in which pass. Relaxed: other threads only compare the time
		 * with now (watch_term.c). */
		_Atomic uint64_t seen_ns;
		uint64_t seen_passes;
	} idle;
	struct cmi_dial *dial;             /* what others see of this PE, with other writers, too */
	struct csd_dialled {               /* dial.c's */
		bool counts;               /* the same as in *dial */
		int hooks[2];
		uint64_t shown_ns;
	} dialled;

	/* Written by any PE of the node. Two lines, because processors fetch them in pairs. */
	_Alignas(2 * CSD_CACHE_LINE) struct msg_stack inbox;
	struct msg_stack returns;          /* our memory, freed elsewhere */
	atomic_int n_rings_taken;          /* rings to this PE that others have taken, inbox.c */
	/* Written by the owner, read by senders: on a line of its own. */
	_Alignas(CSD_CACHE_LINE) atomic_bool sleeping;
};

extern _Thread_local struct pe *csd_self_ __attribute__((tls_model("initial-exec")));

/** The PE that runs on this thread; NULL on a thread that is none. */
static inline struct pe *csd_self(void) { return csd_self_; }

/** While a node registers its functions, which runs initnode functions: PE 0 of the node, which has
 * no layers, queue or wire to use yet. csd_self() is NULL meanwhile, so that calls that need a
 * running PE end in csd_no_pe. */
extern _Thread_local struct pe *csd_early_;

/** As csd_self(), and in initnode functions csd_early_: for calls that are allowed there. */
static inline struct pe *csd_self_early(void) { return csd_self_ ? csd_self_ : csd_early_; }

/** End the job: `what` was called where no PE runs. */
_Noreturn void csd_no_pe(const char *what) __attribute__((cold));

/* ---- the message path: no malloc, no lock, no system call ---------------------------------- */

struct cmi_msg *csd_msg_alloc_slow(struct pe *pe, size_t size, unsigned cls);
struct cmi_msg *csd_msg_alloc_call_slow(struct pe *pe, size_t size, unsigned cls);
void csd_msg_free_slow(struct pe *pe, struct cmi_msg *m);
void csd_send_away(struct pe *pe, int dst_pe, struct cmi_msg *m);

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

/* With the address sanitizer the memory of free messages is out of bounds, as malloc's would be,
 * and so is the end of a block after its message. The machine's head stays readable, and so does a
 * whole cache line of each message: calls are looked up by its contents before the message's length
 * is checked. */
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
	/* Rings copy 16 bytes at a time. */
	__asan_unpoison_memory_region(m, size < CSD_CACHE_LINE ? CSD_CACHE_LINE :
								 (size + 15) & ~(size_t)15);
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

static inline struct cmi_msg *csd_msg_begin(struct cmi_msg *m, size_t size)
{
	csd_unpoison(m, size);
	m->size = size;
	m->flags = 0;
	m->mark = 0;
	return m;
}

/** Memory for a message of `size` bytes, its head of 32 included. The size is filled in, with no
 * flags; the caller writes handler, priority (if a flag says so) and payload. Never NULL: a lack of
 * memory ends the job. For the runtime's own messages and for arrivals: it never waits, and
 * CK_MESSAGE_MEMORY does not limit it. */
static inline struct cmi_msg *csd_msg_alloc(struct pe *pe, size_t size)
{
	unsigned cls = csd_size_class(size);
	struct cmi_msg *m = pe->pool.free[cls];

	if (CSD_UNLIKELY(!m))
		m = csd_msg_alloc_slow(pe, size, cls);
	else
		pe->pool.free[cls] = m->next;
	return csd_msg_begin(m, size);
}

/** The same for a copy of a message of the program that another PE of the node has sent. It counts
 * for CK_MESSAGE_MEMORY, but is never refused. */
struct cmi_msg *csd_msg_alloc_copy_slow(struct pe *pe, unsigned cls);
static inline struct cmi_msg *csd_msg_alloc_copy(struct pe *pe, size_t size)
{
	unsigned cls = csd_size_class(size);
	struct cmi_msg *m = pe->pool.free[cls];

	if (CSD_UNLIKELY(!m))
		m = csd_msg_alloc_copy_slow(pe, cls);
	else
		pe->pool.free[cls] = m->next;
	return csd_msg_begin(m, size);
}

/** The same for a message of the program. If CK_MESSAGE_MEMORY is used up, a thread waits here,
 * while the PE runs other handlers and threads; code that cannot wait ends the job. */
static inline struct cmi_msg *csd_msg_alloc_call(struct pe *pe, size_t size)
{
	unsigned cls = csd_size_class(size);
	struct cmi_msg *m = pe->pool.free[cls];

	if (CSD_UNLIKELY(!m))
		m = csd_msg_alloc_call_slow(pe, size, cls);
	else
		pe->pool.free[cls] = m->next;
	return csd_msg_begin(m, size);
}

/** For runtime code that takes messages for the program while it must not wait: prepare a message
 * of `size` bytes first. Returns false if one was ready; true means that the caller may have
 * waited, so its data may be stale. */
bool csd_msg_room_slow(struct pe *pe, size_t size);
static inline bool csd_msg_room(struct pe *pe, size_t size)
{
	return CSD_UNLIKELY(!pe->pool.free[csd_size_class(size)]) && csd_msg_room_slow(pe, size);
}

/** Suspend the running thread until ready(pe, arg), which is called about once a millisecond, and
 * by csd_room_wake. Returns false at once if the running code cannot wait. */
bool csd_await_room(struct pe *pe, bool (*ready)(struct pe *pe, const void *arg), const void *arg);
void csd_room_wake(struct pe *pe);

/** End the job because a handler has no space for a message, with a line that lists the waiting
 * ones, `waits`. */
_Noreturn void csd_no_room(struct pe *pe, size_t size, const char *waits);

/** The same without waiting: false if there is no space now. */
bool csd_msg_try_room(struct pe *pe, size_t size);

/** Free a message's memory; on any PE of the node that owns it. */
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

/** The same for messages that are linked by `next`; NULL ends the list. Mostly all are of this PE
 * and of one size, and go to the free ones as they are linked. */
static inline void csd_msg_free_list(struct pe *pe, struct cmi_msg *first)
{
	struct cmi_msg *m = first, *last = first;

	if (CSD_LIKELY(!((first->owner ^ pe->pool.owner) & csd_owner_mask()))) {
		for (; m && m->owner == first->owner; m = m->next) {
			csd_poison(m);
			last = m;
		}
		last->next = pe->pool.free[first->size_class];
		pe->pool.free[first->size_class] = first;
	}
	while (CSD_UNLIKELY(m != NULL)) {
		struct cmi_msg *next = m->next;

		csd_msg_free(pe, m);
		m = next;
	}
}

/* From now on the message is under way, for quiescence. */
static inline void csd_count_sent(struct pe *pe, struct cmi_msg *m)
{
	m->src_pe = pe->id;
	if (!(m->flags & CMI_F_SYSTEM))
		pe->n_created++;
}

/** Send `m` (handler set) to a PE of the job. Takes ownership; never blocks. FIFO per pair of
 * PEs among messages of one priority. */
static inline void csd_send(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	csd_count_sent(pe, m);
	if (dst_pe == pe->id)
		msgq_push(&pe->queue, m);
	else
		csd_send_away(pe, dst_pe, m);
}

/** csd_send for a message that does not wait while the PE holds others back (csd_hold). */
void csd_send_now(struct pe *pe, int dst_pe, struct cmi_msg *m);

/** From now on hold back messages from this PE to others, except by csd_send_now. Returns a number
 * for csd_release, which sends the messages that no earlier csd_hold holds back. */
uint64_t csd_hold(struct pe *pe);
void csd_release(struct pe *pe, uint64_t reason);

/** A hint, to be called a few dozen instructions before a message is sent that may answer the one
 * being handled. If that one came alone from a PE of this node, that PE polls its inbox all the
 * time, and the inbox's cache line is fetched here for writing. If it were fetched earlier, the PE
 * would take it back before the push. Handing a message to and fro between threads takes 0.81 to
 * 0.86 of its time without the hint (AMD EPYC, 7 to 11 runs in turn). */
static inline void csd_may_answer(struct pe *pe)
{
	struct pe *to = pe->lone;

	if (!to)
		return;
	pe->lone = NULL;
	cmi_own_line(&to->inbox);
}

/** csd_send to this PE itself, for a message that has no flags and whose `route` is complete. */
static inline void csd_send_here(struct pe *pe, struct cmi_msg *m)
{
	pe->n_created++;
	if (CSD_LIKELY(!pe->queue.mixed))
		msg_fifo_push(&pe->queue.plain, m);
	else
		msgq_push_slow(&pe->queue, m);
}

/** A copy of `m`, owned by the caller. */
struct cmi_msg *csd_msg_copy(struct pe *pe, const struct cmi_msg *m);

/* ---- the loop and the threads, for layers ---------------------------------------------------- */

/** The number of ready messages on this PE, without expedited ones, counted up to `most`. Takes
 * time in proportion to the result. */
size_t csd_queue_length(const struct pe *pe, size_t most);
/** Some of them, at most `most`, the first ones first; returns how many. They stay queued. */
size_t csd_queue_some(const struct pe *pe, const struct cmi_msg **some, size_t most);
/** "calls of X::f" or the like, into buf: what such messages are. Returns their PE, -1: unknown. */
int csd_message_kind(struct pe *pe, const struct cmi_msg *m, char *buf, size_t len);

/** For a layer's pe_start: receive until a message for `handler` has been handled. Other messages
 * keep their order and wait for the loop, except those of csd_handle_early. Returns false when the
 * job ends meanwhile. */
bool csd_wait_for(struct pe *pe, int handler);

/** Take those messages out of the queue that the test accepts and that may be overtaken there: all
 * but plain ones, which keep their order. `to` gets them by priority, then in order of arrival.
 * They count as handled; the caller sends them if they are to be handled later. */
typedef bool (*csd_msg_test)(const struct cmi_msg *m, const void *arg);
void csd_queue_take(struct pe *pe, csd_msg_test test, const void *arg, struct msg_fifo *to);
/** Whether there is such a message. */
bool csd_queue_has(const struct pe *pe, csd_msg_test test, const void *arg);

/** Call fn for each thread of the PE that has not ended and does not run, with its state. */
void csd_each_thread(struct pe *pe,
		     void (*fn)(struct pe *pe, const uint64_t running[CSD_RUNNING_WORDS], void *arg), void *arg);

/** The thread has begun something that uses that memory and ends later; all of it has ended. */
void csd_thread_owes(struct csd_thread *t, const void *memory);
void csd_thread_paid(struct csd_thread *t);
/** The running thread is about to end: wait until all that it has begun has ended. Ends the job if
 * that uses its stack, as the frame is gone. */
void csd_thread_settle(struct pe *pe);
/** Whether it waits so. */
bool csd_thread_settles(struct csd_thread *t);

/** For a report: the state of a suspended thread of this PE. The caller reports what it waits
 * for. */
const uint64_t *csd_thread_tell(struct csd_thread *t);
/** The threads that have not been reported since the last call: `begun`, they are suspended; else
 * they were made and never awakened. */
void csd_each_silent_thread(struct pe *pe,
			    void (*fn)(void *arg, const uint64_t running[CSD_RUNNING_WORDS],
				       bool begun),
			    void *arg);
/** As CcdCallFnAfter and CcdCallOnCondition, of the runtime: checkpoints do not refuse them. */
void csd_timer(CcdVoidFn fn, void *arg, double ms);
int csd_hook(int condition, CcdVoidFn fn, void *arg, bool keep);
/** Describe the program's timers and hooks, which a checkpoint cannot save. */
void csd_refuse(const struct pe *pe, struct csd_told *to);
/** For detections that repeat waves until they succeed: a message of one is being handled, or n of
 * its timers were set (n < 0: are over). The watchdog does not count these as work. The
 * sender of such a message tells its bytes to csd_leave_out: nobody waits for it. */
void csd_chatter(struct pe *pe, const struct cmi_msg *m);
void csd_leave_out(struct pe *pe, int other, uint64_t bytes);
static inline void csd_chatter_timer(struct pe *pe, int n) { pe->n_chatter_timers += (size_t)n; }
/** While a layer describes: the job is quiescent, so that no other PE of the node works
 * meanwhile. */
static inline bool csd_at_rest(const struct pe *pe) { return pe->at_rest; }

#endif
