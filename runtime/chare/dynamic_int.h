/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dynamic_int.h: what the files share that know elements which come and go.
 *
 *	index.c          indices, and tables by index
 *	insert.c         where elements live; inserting and destroying them; messages that wait for them
 *	closing.c        whether inserting is over, so that a call of what does not exist is an error
 *	reduce_change.c  reductions over elements that come and go
 *	ready.c          whether everybody has constructed the elements of a new array
 */
#ifndef DYNAMIC_INT_H
#define DYNAMIC_INT_H

#include "ck_int.h"

/** How anything begins that is found by its index; a struct ck_obj does. */
struct indexed {
	void *any;
	CkIndex index;
};
_Static_assert(offsetof(struct ck_obj, index) == offsetof(struct indexed, index),
	       "an element is found by its index");

/** Open addressing, at most three quarters full. */
struct index_table {
	struct indexed **slot;
	size_t mask, n;
};

uint64_t index_hash(CkIndex i);
uint64_t index_lattice(const struct collection *c, CkIndex i);
void *index_find(const struct index_table *t, CkIndex i);
void index_add(struct pe *pe, struct index_table *t, void *indexed);
void index_remove(struct index_table *t, CkIndex i);

/** On the home PE of an index: an element that does not live here. */
struct absent {
	struct collection *coll;
	CkIndex index;
	int32_t pe;               /* where it lives, or will; -1: nowhere */
	bool born;                /* it is known to exist there */
	bool asked;               /* whether it exists, because it is inserted again */
	uint32_t n_sent;          /* calls passed on to it */
	uint32_t n_back;          /* gone: calls of these that will come back */
	uint32_t n_came;          /* that have come back */
	uint32_t since;           /* wave of closing.c before which the first began to wait */
	struct msg_fifo back;     /* they, then the others, all in order */
	struct msg_fifo waiting;
};

/** A collection on one PE where elements come and go. */
struct dynamic {
	/* Of a sparse array: its lattice, and what lives here. */
	int32_t start[6], step[6];
	struct index_table here;  /* struct ck_obj */
	uint32_t *n_got;          /* [cap], as elems: calls that their home passed on to them */
	uint64_t cap;             /* of elems */
	uint64_t n_holes;
	int busy;                 /* loops over elems that are under way: they keep their places */
	/* Of any: */
	struct index_table away;  /* struct absent: what this PE is the home of */
	/* reduce_change.c: */
	uint32_t n_passed;        /* sparse: reductions that went up the tree, in order */
	uint32_t n_done;          /* this PE's part is complete in all below, ... */
	uint32_t *ahead;          /* ... and in these above */
	size_t n_ahead, cap_ahead;
	uint8_t *child;           /* of PE 0's tree: enum child_state */
	bool odd_empty;           /* the odd PE of this one's pair has lost its elements */
	bool said_empty;          /* our parent knows that we have to be told */
};

/** A message about an element, or about the whole collection. */
enum where_kind {
	WHERE_BORN,               /* made; to its home */
	WHERE_GONE,               /* destroyed, after `count` calls passed on by its home */
	WHERE_ASK,                /* does it exist? from its home */
	WHERE_EXISTS,             /* yes */
	WHERE_READY,              /* ready.c */
	WHERE_FULL, WHERE_EMPTY,  /* reduce_change.c: the sender has elements again, has none left */
	WHERE_CHECK, WHERE_WAVE, WHERE_SUM, WHERE_VERDICT, /* closing.c */
	WHERE_UNCOUNTED = WHERE_CHECK, /* from here on: of no interest to quiescence */
};

struct where_msg {
	struct cmi_msg head;
	uint64_t coll;
	CkIndex index;
	uint32_t kind;
	uint64_t count[4];
};

void where_send(struct pe *pe, int dst_pe, struct where_msg what);

/* insert.c */
struct dynamic *dynamic_get(struct pe *pe, struct collection *c);

/* closing.c. What one PE knows: inserts that left it and were carried out by it, and calls of
 * X_beginInserting and X_doneInserting. */
enum closing_what { INSERTS_SENT, INSERTS_DONE, PHASES_BEGUN, PHASES_DONE, CLOSING_N };
void closing_count(struct pe *pe, struct collection *c, enum closing_what what);
void closing_open(struct pe *pe, struct collection *c);
uint32_t closing_wave(const struct collection *c);
void closing_missed(struct pe *pe, struct collection *c);
void closing_where(struct pe *pe, struct collection *c, const struct where_msg *w);
/* Inserting is over: what waited before that wave waits for nothing. */
void absent_overdue(struct pe *pe, struct collection *c, uint32_t wave);

/* ready.c */
void ready_arrived(struct pe *pe, struct collection *c);

/* reduce_change.c. n_contributed is the element's that has gone. */
void reductions_dynamic(struct pe *pe, struct collection *c);
void reductions_added(struct pe *pe, struct collection *c);
void reductions_removed(struct pe *pe, struct collection *c, uint32_t n_contributed);
void reductions_full(struct pe *pe, struct collection *c);
void reductions_where(struct pe *pe, struct collection *c, const struct where_msg *w);

#endif
