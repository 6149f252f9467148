/* SPDX-License-Identifier: Apache-2.0 */
/* csd_int.h: what the scheduler's own files share. */
#ifndef CSD_INT_H
#define CSD_INT_H

#include "pe.h"

/** The PE of a function that is called without one; `what` names the function to a caller on a
 * thread that is none. */
static inline struct pe *pe_here(const char *what)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		csd_no_pe(what);
	return pe;
}

/* The handlers that are registered first, so that their numbers are constants. */
enum own_handler {
	CREDIT_HANDLER,                    /* flow.c's */
	EXIT_HANDLER,                      /* exit.c's */
	WATCH_HANDLER,                     /* watch.c's */
	N_OWN_HANDLERS,
};

/* arrival.c */
void client_arrived(void *owner, struct cmi_msg *m);
void client_arrived_hashed(void *owner, struct cmi_msg *m); /* in checked mode */
void arrival_seal(struct pe *pe, struct cmi_msg *m); /* before it leaves for another process; src_pe is set */
struct cmi_msg *arrival_hash(struct pe *pe, struct cmi_msg *m); /* in checked mode; takes it, may return another one */
void arrival_handle(struct pe *pe, struct cmi_msg *m); /* check, and call the handler */

/* layers.c */
int layers_node_start(struct node *node);
void layers_pe_start(struct pe *pe);
void layers_pe_stop(struct pe *pe);
void layers_node_stop(struct node *node);

/* memory.c */

/* A piece of the machine's message memory, all cut into blocks of one class. Its blocks are where its PE
 * or others have them, or in the PE's free list; when all are free it may be emptied (reclaim.c). */
struct msg_slab {
	char *at;
	uint8_t cls;
	bool counted;                      /* in csd_memory.taken */
	bool hollow;                       /* has no pages, and its blocks are in no list */
	uint32_t n_free;                   /* scratch of a trim */
	uint32_t next;                     /* while hollow: as in msg_pool.hollow */
};

void msg_pool_init(struct msg_pool *pool, int local);
void msg_pool_fini(struct msg_pool *pool);
uint32_t msg_slab_blocks(unsigned cls);
size_t msg_slab_skip(unsigned cls);         /* bytes before the first block */
size_t msg_slab_bytes(unsigned cls);
struct cmi_msg *msg_pool_pop(struct pe *pe, unsigned cls); /* after the returns; NULL: none */
struct cmi_msg *msg_pool_refill(struct pe *pe, unsigned cls, bool counted);
void msg_slab_cut(struct pe *pe, struct msg_slab *slab);   /* all blocks into the free list */
static inline struct cmi_msg *msg_slab_block(const struct msg_slab *slab, uint32_t i)
{
	return (struct cmi_msg *)(void *)(slab->at + msg_slab_skip(slab->cls) + i * msg_class_bytes(slab->cls));
}

/* reclaim.c */
bool pool_trim(struct pe *pe, bool must);  /* whether `taken` is smaller now */
void pool_trim_asked(struct pe *pe);
void pool_ask_others(struct pe *pe);
bool pool_await_others(struct pe *pe);

/* room.c */
void room_register(struct node *node);
void room_limit(struct node *node);        /* main thread, when the job is known */
void room_init(struct pe *pe);

/* report.c */
_Noreturn void report_no_room(struct pe *pe, size_t size);

/* thread.c */
bool thread_runs(const struct pe *pe);
void msg_pool_take_returns_slow(struct pe *pe);
static inline void msg_pool_take_returns(struct pe *pe)
{
	if (CSD_UNLIKELY(msg_stack_any(&pe->returns)))
		msg_pool_take_returns_slow(pe);
}

/* prio.c */
int msg_prio_compare(const struct msg_prio *a, const struct msg_prio *b); /* NULL: a number */

/* The key of a message's priority, of any kind. */
static inline int64_t msg_key(const struct cmi_msg *m)
{
	if (!(m->flags & CMI_F_PRIO))
		return 0;
	return m->flags & CMI_F_WIDE ? msg_prio_of(m)->key : m->prio;
}

/* queue.c, queue_random.c */
void msgq_init(struct msgq *q);
void msgq_fini(struct pe *pe, struct msgq *q);
void msgq_set_random(struct msgq *q, struct msgq_random *r); /* of an empty queue */
void msgq_push_again(struct msgq *q, struct cmi_msg *m); /* what has been in it before: no record */
struct cmi_msg *msgq_pop_mixed(struct msgq *q);
static inline struct cmi_msg *msgq_pop(struct msgq *q) /* NULL when empty */
{
	if (CSD_UNLIKELY(q->mixed))
		return msgq_pop_mixed(q);
	return q->plain.head ? msg_fifo_pop(&q->plain) : NULL;
}
struct csd_random msgq_random_asked(void);
void msgq_random_print(void);
/* Different for each `salt`. With delays messages of all PEs but `prompt` come late; -1: of all. */
struct msgq_random *msgq_random_create(const struct node *node, int salt, int prompt);
void msgq_random_destroy(struct msgq_random *r);
void msgq_random_push(struct msgq_random *r, struct cmi_msg *m);
/* Take those out of a list, or look for one, that the test accepts. */
void msg_fifo_take(struct msg_fifo *f, csd_msg_test test, const void *arg, struct msg_fifo *to);
bool msg_fifo_has(const struct msg_fifo *f, csd_msg_test test, const void *arg);
bool msgq_random_has(const struct msgq_random *r, csd_msg_test test, const void *arg);
void msgq_random_take(struct msgq_random *r, csd_msg_test test, const void *arg, struct msg_fifo *to);
size_t msgq_random_length(const struct msgq_random *r, size_t most);
struct cmi_msg *msgq_random_pop(struct msgq_random *r); /* NULL: empty, or all is late */
bool msgq_random_waits(const struct msgq_random *r);
static inline bool msgq_late(const struct msgq *q) /* after msgq_pop gave NULL: there is more */
{
	return q->random && msgq_random_waits(q->random);
}
void msgq_random_end_delays(struct msgq_random *r);
/* Late messages come closer by so many looks: others had the core meanwhile. */
void msgq_random_hurry(struct msgq_random *r, unsigned looks);

/** That PE if it is of this node, else NULL. */
static inline struct pe *pe_of_node(const struct pe *pe, int other)
{
	unsigned local = (unsigned)(other - pe->node->job->my_first_pe);

	return local < (unsigned)pe->node->job->my_n_pes ? pe->node->pes[local] : NULL;
}

/* abort.c */
void pe_describe(const struct pe *pe, char *buf, size_t len); /* async-signal-safe */
_Noreturn void abort_no_handler(struct pe *pe, const struct cmi_msg *m);

/* route.c, hold.c, node_queue.c; these take the message, which is complete and counted */
void route_to_pe(struct pe *pe, int dst_pe, struct cmi_msg *m);
void route_to_node(struct pe *pe, int node, struct cmi_msg *m);
void hold_push(struct pe *pe, int to, struct cmi_msg *m);
void hold_fini(struct pe *pe);
size_t hold_length(const struct pe *pe);

/* inbox.c */
void inbox_push(struct pe *to, struct cmi_msg *m);
int inbox_take_slow(struct pe *pe);
static inline int inbox_take(struct pe *pe)
{
	const struct cmi_msg *m = msg_stack_local_top(&pe->inbox);

	if (CSD_LIKELY(!m))
		return 0;
	/* To take it the inbox's line must come from the sender's core; the message's first two lines come
	 * meanwhile, the head to be written, too: a round trip of 8 bytes between threads takes 0.9 of
	 * its time without, a barrier also (Intel Xeon). */
	cmi_own_line(m);
	__builtin_prefetch((const char *)m + CSD_CACHE_LINE);
	return inbox_take_slow(pe);
}

/* node_queue.c */
void node_queue_init(struct node *node);
void node_queue_arrived(struct pe *pe, struct cmi_msg *m); /* from the network */
int node_queue_run_slow(struct pe *pe);
static inline int node_queue_run(struct pe *pe) /* how many messages were handled: 0 or 1 */
{
	/* Relaxed: a look; the taking acquires, and the sleeping looks again. */
	return CSD_LIKELY(!atomic_load_explicit(&pe->node->queue.n, memory_order_relaxed)) ?
		       0 : node_queue_run_slow(pe);
}
/* Add how many messages wait at gates. False: another PE has the queue now. */
bool node_queue_held(struct pe *pe, uint64_t *n);
void node_queue_drop(struct pe *pe);
void node_queue_fini(struct node *node);

/* flow.c */
void flow_register(struct node *node);
void flow_register_handled(struct node *node);
void flow_send(struct pe *pe, int dst_pe, struct cmi_msg *m);
void flow_consumed(struct pe *pe, int src_pe, uint64_t bytes);
void flow_consumed_for(struct pe *pe, struct pe *by, int src_pe, uint64_t bytes);
/* Messages that are over budget; what they wait for, a line for each PE that they go to. */
uint64_t flow_length(const struct pe *pe);
void flow_describe(struct pe *pe, csd_line_fn line, void *arg);
/* Add what has gone to each node: [n_nodes]. */
void flow_count_links(const struct pe *pe, struct count_link *links);
void flow_fini(struct pe *pe);

/* timers.c */
void timers_init(struct pe *pe);
void timers_fini(struct pe *pe);
int timers_run_slow(struct pe *pe);
static inline int timers_run(struct pe *pe) /* how many were due */
{
	return CSD_LIKELY(!pe->n_timers) ? 0 : timers_run_slow(pe);
}
uint64_t timers_next_ns(const struct pe *pe); /* UINT64_MAX: none */
bool hooks_any(const struct pe *pe, int condition);
void hooks_raise(struct pe *pe, int condition);

/* loop.c, idle.c */
void loop_register(struct node *node);
void loop_run(struct pe *pe);
int loop_some(struct pe *pe, int n);       /* csd_step */
bool loop_until(struct pe *pe, const volatile int *flag); /* csd_until */
int loop_receive(struct pe *pe);           /* inbox and network into the queue */
void loop_dispatch(struct pe *pe, struct cmi_msg *m);
void loop_taken(struct pe *pe, struct cmi_msg *m);
uint32_t idle_patience(const struct cmi_job *job); /* for pe->idle */
void idle_step(struct pe *pe);
void idle_look(struct pe *pe);             /* the same for a pass of a host program's: it never sleeps or yields */
void idle_end_slow(struct pe *pe);
/** Now and then: whether other programs run on this PE's core (cmi_look_at_core). */
void idle_look_at_core(struct pe *pe);
static inline void idle_end(struct pe *pe)
{
	if (CSD_UNLIKELY(pe->idle.polls != 0))
		idle_end_slow(pe);
}

/* thread.c */
void thread_register(struct node *node);
void threads_init(struct pe *pe);
void threads_know_job(struct pe *pe);      /* its thread */
struct csd_stack thread_stack(const struct pe *pe); /* of the thread that runs; its `low` is NULL: none does */
void threads_fini(struct pe *pe);

/* child.c */
void child_begins(void);                   /* in a forked child, on its only thread */

/* overflow.c */
bool overflow_guards_are_free(void);       /* below stacks: they take nothing but address space, and that has no limit */
void overflow_know_stack(struct pe *pe);   /* its thread */
/* In a signal handler: what a fault at this address means, the stack pointer being `sp`. */
void overflow_explain(const void *at, uintptr_t sp, char *buf, size_t len);

/* watch.c, watch_text.c */
enum { WATCH_EXIT_CODE = 125 };
#define WATCH_REPORT "the watchdog's report" /* for lines about memory */
void watch_register(struct node *node);
void watch_pe_start(struct pe *pe);        /* job known */
void watch_pe_stop(struct pe *pe);
/* The PE is about to sleep. True: it has done something, perhaps sent itself a message, and must look again. */
bool watch_idle(struct pe *pe, uint64_t now);
/* For how long at most; -1: for as long as others like. */
int64_t watch_sleep_us(const struct pe *pe, uint64_t now);
void watch_leaving(struct pe *pe);         /* csd_exit was called */
char *watch_text(struct pe *pe);           /* what waits on this PE; the caller frees it */
void watch_look(struct pe *pe);            /* PE 0, from a signal handler on any thread: make a report */
void watch_fini(struct pe *pe);            /* main thread, after all PEs */
void watch_print(const struct pe *pe, const char *why, const char *const *texts, int n);

/* watch_signal.c */

/* Signals belong to the process: not to one of several nodes in it, nor to a guest that was not asked to take them. */
static inline bool uses_signals(const struct node *node)
{
	return !node->cfg->net && (!node->cfg->guest || node->cfg->signals);
}

void signals_start(struct node *node);     /* main thread */
void signals_stop(struct node *node);
void signals_forked(void);                 /* in a forked child */
void signals_pe_start(struct pe *pe);
void signals_pe_stop(struct pe *pe);
/* traced.c */
void traced_node_start(struct node *node);
void traced_pe_start(struct pe *pe);
void traced_pe_stop(struct pe *pe);
void traced_queued(struct pe *pe, struct cmi_msg *m);
void traced_sent(struct pe *pe, int to, struct cmi_msg *m, uint8_t flags); /* to another PE */

/* counted.c, counted_join.c */
struct csd_counting *counts_asked(void);   /* NULL: neither CK_STATS nor CK_GAUGES */
void counts_register(struct node *node);
void counts_node_start(struct node *node);
void counts_know_job(struct node *node);   /* main thread */
void counts_pe_start(struct pe *pe);       /* job known */
void counts_loop_ended(struct pe *pe);
bool counts_handle(const struct pe *pe, int handler); /* whether it is for counts that come up the tree */
int counts_subtree_ended(struct pe *pe);   /* PE 0: 0, or a negative errno after printing why */
void counts_pe_stop(struct pe *pe);
void counts_node_stop(struct node *node);

/* exit.c */
void exit_register(struct node *node);
void exit_drain(struct pe *pe);
void exit_host_done(struct pe *pe);        /* the host program of this node wants no more */

#endif
