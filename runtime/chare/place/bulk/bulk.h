/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.h: the room place/bulk/: moves elements in bulk, while nothing of their array is under way.
 *
 *	still.c    what a collection allows while nothing of it is under way
 *	bulk.c     its elements move together, with their seats where that can be
 *	bulk_leave.c  the plan of that is carried out
 *	bulk_come.c   all that were to come have come
 *	batch.c    what goes from one PE to another then
 *	bulk_part.c   the part
 */
#ifndef CK_BULK_H
#define CK_BULK_H

#include "../move/place_move.h"

enum { PART_BULK = 29 };
/* Its handlers. */
enum { H_BATCH, H_BATCH_PACKED };

/** Of a collection on a PE, from its plan, or from an earlier first batch, until it is open. */
struct bulk {
	bool begun;               /* the plan is here */
	bool seats;               /* seats move along */
	bool over;                /* everything that moves is in its tables */
	struct place_still still;
	size_t n_awaited;         /* PEs whose last batch has not come */
	struct msg_fifo early;    /* ours: batches that came before the plan */
	struct travel **come;     /* ours: the arrived elements */
	size_t n_come, cap_come;
	struct ck_obj **stay;     /* ours until `over`, if seats move: elements that live here and stay */
	size_t n_stay;
	void (*done)(struct pe *pe, struct collection *c, void *arg);
	void *arg;
};

/** Carry out the plan: see bulk_leave.c. The first batches may arrive meanwhile. */
void bulk_leave(struct pe *pe, struct collection *c, struct bulk *b, const struct place_plan *plan);
/** All have arrived. */
void bulk_come(struct pe *pe, struct collection *c, struct bulk *b);

/* batch.c */

/** Precedes the elements of a batch. */
struct batch_msg {
	struct cmi_msg head;
	uint64_t coll;
	uint32_t n;
	uint32_t last;
};
_Static_assert(sizeof(struct batch_msg) % 16 == 0, "images are aligned");

/** Elements for one PE. All zero: none. */
struct batch {
	struct travel **list;     /* ours, and they are */
	struct packed *heads;     /* ours: to another process */
	size_t n, cap, bytes;
	bool expected;            /* the other PE waits for a last message */
};
/** Add an element for a PE, and send the batch when it is long. Takes the travel. */
void batch_add(struct pe *pe, struct collection *c, int to, struct batch *b, struct travel *t);
/** Send the last batch. */
void batch_last(struct pe *pe, struct collection *c, int to, struct batch *b);
void batch_arrived(struct pe *pe, struct cmi_msg *m);
void batch_packed_arrived(struct pe *pe, struct cmi_msg *m);
const char *batch_misfit(struct pe *pe, const struct cmi_msg *m);

/* bulk.c */
/** Whether the message has to wait because this PE has no plan yet. Then the call takes it. */
bool bulk_waits(struct collection *c, struct cmi_msg *m);
/** An element has arrived. Takes it. */
void bulk_take(struct collection *c, struct travel *t);
/** All elements from one PE have arrived. */
void bulk_took_last(struct pe *pe, struct collection *c);
void bulk_fini(struct pe *pe, struct collection *c);
void bulk_describe(const struct collection *c, struct csd_told *to);

#endif
