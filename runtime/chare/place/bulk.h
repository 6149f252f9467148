/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.h: what bulk.c, bulk_leave.c and bulk_come.c share. */
#ifndef CK_BULK_H
#define CK_BULK_H

#include "place_int.h"

/** Of a collection on a PE, from its plan, or from the first batch that comes before it, until it is open. */
struct bulk {
	bool begun;               /* the plan is here */
	bool seats;               /* they move along */
	bool over;                /* all that moves is in its tables */
	struct place_rest rest;
	size_t n_awaited;         /* PEs whose last batch has not come */
	struct msg_fifo early;    /* ours: batches that came before the plan */
	struct travel **come;     /* ours: what has come */
	size_t n_come, cap_come;
	struct ck_obj **stay;     /* ours until `over`, where seats move: elements that live here and stay */
	size_t n_stay;
	void (*done)(struct pe *pe, struct collection *c, void *arg);
	void *arg;
};

/** Carry out the plan: see bulk_leave.c. The first batches may come meanwhile. */
void bulk_leave(struct pe *pe, struct collection *c, struct bulk *b, const struct place_plan *plan);
/** All have come. */
void bulk_come(struct pe *pe, struct collection *c, struct bulk *b);

#endif
