/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted.h: a PE's statistics under CK_STATS and `ckrun --progress`, to which the layers above add
 * theirs.
 *
 * pe->counts is NULL without them. Then nothing here runs, and no path tests for it: counting
 * replaces functions that are called anyway, as the trace (traced.h) does.
 *
 *   entries, handlers     tables of functions, replaced when the node starts
 *   idle, busy            hooks (CcdPROCESSOR_BEGIN_IDLE, ...)
 *   threads               a watch of the scheduler (csd_watch_swaps)
 *   messages to nodes     flow.c, which takes its long way (csd_peer.at_once is 0)
 *   puts, arrivals        direct_sender_hot.not_plain, node->closely
 *
 * A PE is in one of three states (enum gauge_state). At each change the time since the last one is
 * added to the state that ends, and to the row that ran. So the states add up to the PE's time, and
 * the rows to `busy`.
 *
 *   busy       the program's functions run: entry methods, handlers of CmiRegisterHandler,
 *              functions of channels
 *   idle       nothing to do, from the first pass of the loop that found nothing
 *   overhead   all else: the runtime; also timers and C functions that a callback names
 */
#ifndef CSD_COUNTED_H
#define CSD_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

#include "../../machine/base/cmi_gauge.h"

struct cmi_msg;
struct csd_layer;
struct node;
struct pe;

/* Bucket i of a histogram counts calls of 2^i ns or more, but less than 2^(i+1): 1 ns to 18
 * minutes. The first also counts shorter calls, the last longer ones. */
enum { COUNT_BUCKETS = 41 };

/** A kind of work that takes time (an entry method, say) on one PE; in ticks. */
struct count_row {
	uint64_t calls, ticks, longest;
	uint64_t buckets[COUNT_BUCKETS];
};

/** One call, on its caller's stack. */
struct count_run {
	struct count_row *row;
	uint64_t ticks;                /* its own: without its callees, and without what runs while it
				        * waits */
	struct count_run *outer;
};

/** What a PE has sent to a node; puts also to its own. */
struct count_link {
	uint64_t messages, bytes;      /* between nodes only */
	uint64_t puts, put_bytes;
};

/** The unit of a layer's number, and how the table combines those of all PEs. */
enum count_unit { COUNT_TIMES, COUNT_BYTES, COUNT_TICKS, COUNT_TICKS_MOST, COUNT_UNITS };

/** The names of rows and numbers, constant after the node's start. */
struct count_name {
	const char *group, *name;      /* both stay valid: constants of the program or the runtime */
	enum count_unit unit;          /* of a number */
};

struct pe_counts {
	bool counter;                  /* cmi_ticks */
	enum gauge_state base;         /* while no `run`: GAUGE_OVERHEAD or GAUGE_IDLE */
	struct count_run *run;         /* the innermost run */
	struct count_run *set_aside;   /* while idle: the run that called the idle loop */
	struct gauge *gauge;           /* in ckrun's memory, or `own` */
	uint64_t since;                /* as in the gauge */
	uint64_t ns_per_tick;          /* fixed point, 32 fractional bits */
	struct count_row *rows;        /* [n_rows] */
	uint64_t *numbers;             /* [n_numbers] */
	struct count_link *links;      /* [n_nodes] */
	uint64_t from_ticks, from_ns;  /* when the PE began */
	struct count_sum *sum;         /* counted_join.c */
	struct gauge own;
};

extern const struct csd_layer count_layer;

/** Add a row or a number. Only in a layer's node_start, and only while csd_counting(node). The
 * result is its index in pe_counts.rows or numbers, the same on all nodes. */
int csd_count_row(struct node *node, const char *group, const char *name);
int csd_count_number(struct node *node, const char *group, const char *name, enum count_unit unit);
bool csd_counting(const struct node *node);

/** The same calls, and csd_count_begin and the like (below), for layers that work without this
 * room: node->count, NULL unless the node counts. */
struct csd_count {
	int (*row)(struct node *node, const char *group, const char *name);
	int (*number)(struct node *node, const char *group, const char *name, enum count_unit unit);
	void (*begin)(struct pe *pe, struct count_run *run, int row);
	void (*end)(struct pe *pe, struct count_run *run);
	void (*put)(struct pe *pe, int to, uint64_t bytes);
};

/** Around a call, on a PE that counts. They nest; the time of a thread suspended between them is
 * not counted. */
void csd_count_begin(struct pe *pe, struct count_run *run, int row);
void csd_count_end(struct pe *pe, struct count_run *run);

/** A time on another clock, for a number in ticks. */
static inline uint64_t csd_count_ticks(const struct pe_counts *c, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << 32) / (c->ns_per_tick ? c->ns_per_tick : 1));
}

/** A put to a PE of the job. */
void csd_count_put(struct pe *pe, int to, uint64_t bytes);

/** Show a line of the program's (CkProgressLine). Does nothing unless it is displayed. */
bool csd_progress_shown(const struct pe *pe);
void csd_progress_text(struct pe *pe, const char *text);

#endif
