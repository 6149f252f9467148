/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.h: one process (struct node), the layers that run on it, and its start and end.
 *
 * This folder does not know the layers above. Each layer is a constant table (struct csd_layer),
 * and the program's start-up code lists the tables in struct csd_config.
 */
#ifndef CSD_NODE_H
#define CSD_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csd.h"
#include "base/ends.h"
#include "base/tell.h"
#include "../machine/tools/clock.h"
#include "../machine/cmi.h"
#include "route/node_queue.h"
#include "trace/traced.h"

/* ---- layers and start-up -------------------------------------------------------------- */

enum { CSD_RUNNING_WORDS = 5, CSD_SWAP_WATCHES = 4, CSD_SLOTS = 4, CSD_LAYERS = 9 };

/** A piece of memory. */
struct csd_piece {
	const void *at;
	size_t bytes;
};

/** Calls from the scheduler to the layers while their PEs run. At most one layer of a job
 * implements each; two that do end the job at start. */
struct csd_upcalls {
	/** In every pass of the loop: find what has arrived without a message and run it. Returns how
	 * many. Bounded work; between the layer's pe_start and its pe_stop. */
	int (*poll)(struct pe *pe);
	/** A put by active message (cmi_put_am) has arrived. `body` is valid until return. */
	void (*put_arrived)(struct pe *pe, int src_pe, const struct cmi_put_head *h,
			    const void *body, size_t bytes);
	/** A piece of a put has arrived; see struct cmi_client. */
	void (*put_piece)(struct pe *pe, int src_pe, const struct cmi_put_head *h, size_t at,
			  const void *piece, size_t bytes);
	/** Write what runs on the PE now, as "Cell::ghost", or "". Async-signal-safe. */
	void (*describe)(const struct pe *pe, char *buf, size_t len);
	/** The same with the element, as "Cell::ghost at Cell(3)". */
	void (*describe_fully)(const struct pe *pe, char *buf, size_t len);
	/** A thread takes or leaves the PE: exchange the record of what runs there with `state`, which is
	 * all zero while nothing does. csd_watch_swaps observes this. */
	void (*swap_running)(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS]);
	/** A message with CMI_F_HERE is about to leave the node. Takes it; returns one that may leave. */
	struct cmi_msg *(*leaving)(struct pe *pe, int dst_pe, struct cmi_msg *m);
	/** Whether the code on this thread may be suspended where it makes a message. */
	bool (*may_wait)(const struct pe *pe);
	/** Write what a message of the layer's is, as "call of Cell::ghost", or "". Returns the PE that it
	 * is for, or -1 if unknown. The message may be damaged. */
	int (*describe_message)(struct pe *pe, const struct cmi_msg *m, char *buf, size_t len);
	/** The gate for a message to the node, or NULL; may read `closed`. Called on any PE; must not
	 * wait. */
	struct csd_gate *(*gate_of)(struct pe *pe, const struct cmi_msg *m);
	/** How many things of the layer's that cannot leave this PE depend on these pieces of memory;
	 * `name` gets the first one's name. Without pieces: how many there are in total, and no name. */
	size_t (*inside)(struct pe *pe, const struct csd_piece *pieces, size_t n, char *name, size_t len);
	/** The ends of channels; a table, not a function. */
	const struct csd_ends *ends;
	/** And the names of those that move; a table, too. */
	const struct csd_end_names *end_names;
	/** Whether head.word of a message for a handler with CSD_TRACE_WORD is in use. */
	bool (*word_in_use)(const struct cmi_msg *m);
};

/** What somebody outside the job asks for. */
struct csd_order {
	const char *word, *arguments;      /* valid until `obey` returns; arguments may be "" */
	uint64_t id;                       /* for the answer */
};

/** Answer an order: `ok`, or why not. PE 0. */
void csd_answer(struct pe *pe, uint64_t id, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** A variable that may change while the job runs, for csd_obey_set. */
struct csd_setting {
	const char *name;                  /* with "="; NULL ends a table */
	const char *(*set)(struct pe *pe, const char *text); /* NULL, or why not */
};

/** Obey "set NAME=VALUE" if the table has this name; the answer says that it holds from the next
 * `from` on. False: it is another order. PE 0. */
bool csd_obey_set(struct pe *pe, const struct csd_order *o, const struct csd_setting *settings,
		  const char *from);

/** A layer above. The starts are called in the order of the configuration's table, the stops in
 * reverse. Members may be NULL. */
struct csd_layer {
	const char *name;
	/** First of all, before the job is known: read the layer's environment variables. */
	void (*asked)(struct node *node);
	/** Once per node, main thread, before any PE runs: register handlers, add the layer's tables to
	 * node->fingerprint. 0, or a negative errno after printing why. */
	int (*node_start)(struct node *node);
	/** The same, after every layer's node_start. */
	void (*ready)(struct node *node);
	/** Main thread, job known, before any pe_start. */
	void (*know_job)(struct node *node);
	/** On each PE's thread, job known, before its loop; may send. */
	void (*pe_start)(struct pe *pe);
	/** The PE's loop has ended; the job's end goes up the tree of PE 0. */
	void (*loop_ended)(struct pe *pe);
	/** This PE and all below it in that tree have ended. 0, or a negative errno after printing why. */
	int (*all_ended)(struct pe *pe);
	void (*pe_stop)(struct pe *pe);
	/** Main thread, after every PE's thread has ended. */
	void (*node_stop)(struct node *node);
	/** Describe what is open on this PE and what it waits for, one record each, for the watchdog. */
	void (*describe)(struct pe *pe, struct csd_told *to);
	/** The job is at rest, to be saved: describe what cannot be, one record each. */
	void (*refuse)(struct pe *pe, struct csd_told *to);
	/** The PE is idle, at `now` ns: note the start of each wait, for `describe`. Called some times a
	 * second while the PE sleeps and wakes up, and never while it works. */
	void (*look)(struct pe *pe, uint64_t now);
	/** The PE is about to sleep, at `now` ns: check what passes do not check. Returns the longest
	 * sleep in us, -1: no limit; 0: it has done something, perhaps sent itself a message, and the loop
	 * must check again. Between pe_start and pe_stop. */
	int64_t (*nap)(struct pe *pe, uint64_t now);
	/** csd_exit was called on this PE. */
	void (*exiting)(struct pe *pe);
	/** In a forked child (loop/child.c), on its only thread, which was that of this PE: what the child
	 * calls must not take it for one. */
	void (*forked)(struct pe *pe);
	/** PE 0: somebody outside asks for something (steer/). False: the layer does not know the word.
	 * Else it answers once, now or later, by csd_answer. */
	bool (*obey)(struct pe *pe, const struct csd_order *o);
	/** PE 0: nothing will ever happen again. True: the layer has given up something of its own that
	 * waited for the job to come to rest, so the job may go on. */
	bool (*let_go)(struct pe *pe);
	/** Add the bytes that the PE has sent to other nodes without a message: to those of this host, and
	 * of others. Called some times a second while somebody looks (ckctl). */
	void (*bytes_sent)(const struct pe *pe, uint64_t *near, uint64_t *far);
	/** How much of what quiescence counts as under way waits on this PE for the program to act. */
	uint64_t (*held)(struct pe *pe);
	struct csd_upcalls up;
	/** The layer's state is in node->layer[slot] and pe->layer[slot]. A constant, so that access costs
	 * one load; 1 to CSD_SLOTS - 1, different for all layers of a job. 0: none. */
	int slot;
};

struct csd_config {
	int argc;
	char **argv;                        /* the runtime's own flags are removed in place */
	const struct csd_layer *const *layers;
	int n_layers;
	const void *program;                /* for the layers: node->program */
	struct cmi_loop_net *net;           /* tests: several nodes in one process */
	int loop_rank;
	/* For a host program, which continues after the run. */
	int pes;                            /* not 0: PEs of this node, unless +p gives another number */
	bool guest;                         /* the process and its main thread are not ours */
	bool signals;                       /* but its signals are, while the run lasts */
	const struct cmi_host_boot *boot;   /* how its processes meet; NULL: by the environment's
					     * launcher */
};

/** Start this node, run its PEs until csd_exit, stop. Returns the job's exit code. */
int csd_run(struct csd_config *cfg);

/** The same in stages, for a host program, whose thread is the node's first PE from csd_start to
 * csd_stop; all are called on that thread, outside handlers. *cfg must stay valid. csd_start
 * returns when the layers have started: 0, or an exit code after printing why, when nothing is left
 * of the run. */
int csd_start(struct csd_config *cfg, struct node **node_p) __attribute__((warn_unused_result));
/** Up to n passes of the loop, without sleeping. Returns how much work they found; -1: the run has
 * ended. */
int csd_step(struct node *node, int n);
/** The loop, until *flag is not 0. False: the run has ended first. NULL: until the end. */
bool csd_until(struct node *node, const volatile int *flag);
/** Run the loop until the job ends, by csd_exit or because all its host programs have called this,
 * then stop and free the node. Returns the job's exit code. */
int csd_stop(struct node *node);

/** End the job: every PE leaves its loop after its current handler. Any PE, any time. */
void csd_exit(struct pe *pe, int code);

/** Abort the job with one line "chard: node N PE P in X: ..."; code 1. pe may be NULL. */
_Noreturn void csd_abort(struct pe *pe, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Make `fn` callable from every PE under a number, which is the same on all nodes because they
 * register in the same order. `name` is part of the fingerprint and must stay valid. Only in a
 * layer's node_start, and functions called from it. */
int csd_register(struct node *node, const char *name, CmiHandler fn);

/** A message's direction in the tree of a root (tree.h): from the parent, a child, to the root. */
enum csd_way { CSD_NO_WAY, CSD_DOWN, CSD_UP, CSD_TO_ROOT };

/** The valid shape of a handler's messages from other processes. The scheduler checks them just
 * before the handler runs (handlers.c), and ends the job with one line if one does not fit. */
struct csd_shape {
	uint32_t least;                    /* bytes, head included. 0: such messages do not leave their
					    * process */
	bool exact;                        /* it has exactly this many */
	uint8_t always, may;               /* CMI_F_*: flags that all of them have, and that some have */
	/** Between processes these 4 bytes, at this offset, hold a hash of the message (seal.c); 0:
	 * head.word. Afterwards they are `open` again. */
	uint16_t seal_at;
	uint32_t open;
	/** Offset of an id, which is a number followed by the PE that has made the named thing; 0: none.
	 * `nobody`: the error if no PE can have made it. */
	uint16_t id_at;
	const char *nobody;
	/** Each kind, 4 bytes at this offset, has one direction; other kinds are errors. Without kind_at
	 * ways[0] holds for all of them; if that is not set either, they come from any PE. */
	uint16_t kind_at;
	uint16_t root_at;                  /* the root of the tree, 4 bytes; 0: it is PE 0 */
	uint8_t ways[16];                  /* enum csd_way */
	const char *astray;                /* the error then; NULL: handlers.c's text */
	uint8_t order;                     /* enum csd_ordering */
	/** Any other error, as the end of "...does not fit: "; NULL: none. May be called again for a
	 * message that has waited. NULL: no further check. */
	const char *(*misfit)(struct pe *pe, const struct cmi_msg *m);
};

/** What a message to another host must not overtake (way.c). A handler without a shape is the
 * program's, and has CSD_ORDER_PRIORITY. */
enum csd_ordering {
	CSD_ORDER_ALL,      /* anything that was sent to that PE before */
	CSD_ORDER_PRIORITY, /* earlier ones of its priority: calls of the program */
	CSD_ORDER_OWN,      /* earlier ones for its handler */
};

enum { CSD_F_QUEUEING = CMI_F_PRIO | CMI_F_WIDE | CMI_F_LIFO | CMI_F_EXPEDITED };

/** State the shape of a handler's messages; *s must stay valid. With `arrived` the scheduler calls
 * that function for a message of another process without a check: the function checks the message
 * and handles it. There can be one such handler. Its messages without flags are the plain calls,
 * which are sent without a hash. In a layer's node_start. */
void csd_expect(struct node *node, int handler, const struct csd_shape *s, CmiHandler arrived);

/** Check a message from another process: end the job if its handler does not exist, or if it does
 * not have what the handler's shape says of all messages (size, flags, sender). */
void csd_check_form(struct pe *pe, const struct cmi_msg *m);

/** csd_check_form, and what the shape says of a message now (csd_shape.misfit). */
void csd_check(struct pe *pe, const struct cmi_msg *m);

/** End the job: the message, which came from another process, is invalid; `why` is the error. */
_Noreturn void csd_misfit(struct pe *pe, const struct cmi_msg *m, const char *why);

/** Messages for this handler keep their order among themselves only, not with messages for other
 * handlers between the same PEs. The randomised queue then breaks that order. */
void csd_order_apart(struct node *node, int handler);

/** Messages for this handler are handled even while a PE waits for another (csd_wait_for). The
 * handler runs no code of the program. */
void csd_handle_early(struct node *node, int handler);

/** The handler is the scheduler's: its messages are not traced, and are still handled while the job
 * ends. */
void csd_own(struct node *node, int handler);

/** Called when a thread takes or leaves the PE, before up.swap_running and after it, with the same
 * words, which are unique among current threads, and one more for the watches. */
typedef void (*csd_swap_fn)(struct pe *pe, uint64_t running[CSD_RUNNING_WORDS + 1], bool after);
/** While the node starts, when up.swap_running is known: call fn from now on. Functions nest: the
 * last one is called first before the swap, and last after it. */
void csd_watch_swaps(struct node *node, csd_swap_fn fn);

/** Mix bytes into the node's fingerprint. */
void csd_fingerprint(struct node *node, const void *data, size_t bytes);

/** Monotonic. */
static inline uint64_t csd_now_ns(void)
{
	return machine_now_ns();
}

/* ---- the node -------------------------------------------------------------------------- */

enum { CSD_MAX_HANDLERS = 128 };

struct csd_handler {
	const char *name;
	CmiHandler fn;
	CmiHandler arrived;                /* for messages of other processes */
	const struct csd_shape *shape;     /* NULL: the handler checks what it gets */
	bool apart;                        /* csd_order_apart */
	bool early;                        /* csd_handle_early */
	bool own;                          /* csd_own */
	uint8_t trace;                     /* CSD_TRACE_* */
};

/** The message memory that the PEs of a process use for the program's messages (room.c). */
struct csd_memory {
	uint64_t most;                     /* CK_MESSAGE_MEMORY */
	uint64_t asked;                    /* its value there; 0: not set */
	_Alignas(CSD_CACHE_LINE) _Atomic uint64_t taken; /* bytes of slabs; relaxed: only a sum */
};

/** One process. Constant while the loops run, except where a comment says so. */
struct node {
	struct cmi *machine;
	const struct cmi_job *job;
	struct pe **pes;                   /* [job->my_n_pes] */
	struct csd_handler handlers[CSD_MAX_HANDLERS];
	int n_handlers;
	int h_thread;                      /* thread.c's: an awakened thread */
	uint32_t plain;                    /* low word of `route` of a plain call (csd_expect) */
	int h_held;                        /* loop.c's: a message that was kept while the PE waited for
					    * another */
	int h_handled;                     /* flow.c's: handled by another PE */
	int h_watch;                       /* watch.c's */
	int h_ring;                        /* inbox.c's: the offer of a ring */
	bool complete;                     /* all handlers are registered; no more are taken */
	int earlier_pes;                   /* a restarted job: the most PEs that it had before; else 0 */
	struct csd_epoch {                 /* what a layer knows of this start of the job (know_job) */
		uint64_t no;               /* how often the job had been started again before; 0: never */
		uint64_t checkpoint;       /* from which it goes on; 0: from the beginning */
	} epoch;
	uint64_t fingerprint;              /* of all registration tables */
	bool check;                        /* CK_CHECK=1: checked mode */
	bool closely;                      /* checked mode, a trace or counts: for layers, one test for
					    * all */
	bool verbose;
	uint64_t start_ns;
	uint64_t flow_bytes;               /* CK_FLOW_BYTES, for flow.c */
	int64_t watchdog;                  /* CK_WATCHDOG: 0: off; -1: on; else the most seconds that a
					    * handler may run */
	struct csd_memory memory;
	struct csd_random {                /* tests: CK_RANDOM_QUEUE, CK_RANDOM_DELAY */
		bool order, delays;
		uint64_t seed;
	} random;
	const struct csd_config *cfg;
	const struct csd_layer *layers[CSD_LAYERS]; /* the scheduler's own, then those of *cfg */
	int n_layers;
	const void *program;
	void *layer[CSD_SLOTS];            /* the layers' own, each its slot */
	struct csd_upcalls up;             /* of all layers together */
	struct csd_node_trace {
		struct trace_options asked;
		size_t names_bytes;        /* added by layers in node_start: space for their names */
		/* The functions called by `handlers`. Not in struct csd_handler, whose index is multiplied by its
		 * size: 40 bytes save an instruction per message. */
		CmiHandler fn[CSD_MAX_HANDLERS], arrived[CSD_MAX_HANDLERS];
	} trace;
	struct csd_swaps {                 /* thread.c's */
		/* With watches: what up.swap_running was. */
		void (*layer)(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS]);
		csd_swap_fn watches[CSD_SWAP_WATCHES];
		int n;
	} swaps;
	atomic_int exit_code;              /* first non-zero wins; relaxed, read after join */
	/* What csd_answer calls, and steer/'s own; NULL: nobody can ask. */
	void (*answer)(struct node *node, uint64_t id, bool ok, const char *text);
	struct steer *steer;
	struct csd_saved {                 /* the last complete checkpoint, by PE 0 (a layer's) */
		/* Written last, with release, and read first, with acquire: the others are of this one or of a
		 * newer one. They are relaxed. */
		_Atomic uint64_t sequence;     /* 0: none */
		_Atomic uint64_t bytes, took_ns, at_ns;
	} saved;
	const struct csd_count *count;     /* what counts (counted.h); NULL: nothing does */
	struct csd_counting *counting;     /* counted.c's; NULL: without CK_STATS and ckrun --progress */
	struct csd_start *start;           /* private to node.c */
	struct csd_node_queue queue;
};

/** Whether an id can name this PE as its maker: a PE, or one that there was before a restart. */
static inline bool csd_can_make(const struct node *node, uint64_t pe)
{
	return pe < (uint64_t)node->job->n_pes || pe < (uint64_t)node->earlier_pes;
}

#endif
