/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newborn.h: which broadcasts an inserted element gets. See newborn.c.
 */
#ifndef CK_NEWBORN_H
#define CK_NEWBORN_H

#include "../../create/place_watch.h"

/** The last bytes of an insertion, behind `n` spans: the broadcasts that its creator had seen, and
 * up to its home what else (section/section_newborn.c). */
struct stamp {
	uint64_t params;          /* bytes of the constructor's parameters */
	uint64_t epoch;           /* the creator's: names the broadcasts that it keeps for this
				   * insertion */
	int32_t creator;          /* a PE */
	uint32_t n;
};

/** What sections add, which alone have multicasts (section/section_newborn.c). */
struct newborn_more {
	/** This PE inserts an element: append what it has seen besides broadcasts. */
	void (*stamp)(struct pe *pe, const struct collection *c, struct spans *to);
	/** The PE is the element's home and lets it be made: what its creator appended, and what waits for
	 * the element here, from which copies may be dropped. */
	void (*inserted)(struct pe *pe, struct collection *c, CkIndex i, const struct span *list,
			 uint32_t n,
			 struct msg_fifo *waiting);
};

/** An element that is being made on this PE. */
struct newborn_birth {
	CkIndex index;
	int32_t creator;
	uint64_t epoch;
	uint64_t no;              /* of its record; 0: it needs none */
};

/** Before an insertion leaves: write behind the parameters what this PE has seen, and keep from now
 * on what it sees until the insertion is carried out. Takes the message and returns another. */
struct ck_env *newborn_stamp(struct pe *pe, struct collection *c, struct ck_env *env);
/** At home, where the element is about to be made: what its creator had seen of multicasts comes
 * off the stamp, and copies of them among what waits are dropped. */
void newborn_at_home(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env,
		     struct msg_fifo *waiting);
const char *newborn_misfit(struct pe *pe, const struct cmi_msg *m);
/** The same behind its home. */
const char *newborn_make_misfit(struct pe *pe, const struct cmi_msg *m);
/** The element is in its tables and not constructed: take the stamp off its insertion, and compare
 * it with what this PE has delivered. */
struct newborn_birth newborn_begin(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
/** It is constructed, or destroyed already: tell its creator what it has missed. */
void newborn_made(struct pe *pe, struct collection *c, const struct newborn_birth *b);
/** Its slot has another object now: its stub, or the element that is back. */
void newborn_slot(struct ck_obj *obj);
/** It is destroyed, and its slot is empty. */
void newborn_gone(struct pe *pe, struct collection *c, CkIndex i);

/** Its functions for call/. */
extern const struct call_newborns newborn_calls;

void newborn_inserted_arrived(struct pe *pe, struct cmi_msg *m);
void newborn_missed_arrived(struct pe *pe, struct cmi_msg *m);
const char *newborn_inserted_misfit(struct pe *pe, const struct cmi_msg *m);
const char *newborn_missed_misfit(struct pe *pe, const struct cmi_msg *m);
/** A PE has carried out another's insertion. */
struct inserted_msg {
	struct cmi_msg head;
	uint64_t coll;
	uint64_t epoch, no;
	CkIndex index;
	uint32_t n;
	struct span missed[];
};
/** The creator's answer: a broadcast, without its machine's head. */
struct missed_msg {
	struct cmi_msg head;
	uint64_t coll;
	uint64_t no;
	CkIndex index;
	int32_t prio;
	uint8_t flags;            /* of the broadcast: CSD_F_QUEUEING */
	uint8_t reserved[7];
};

/* ---- what a PE keeps; all of it goes again --------------------------------------------------- */

/** On the seat of an element that was inserted: what it does not get as the others there do. */
struct newborn {
	struct ck_obj *at;        /* what has its slot: the element, or a stub */
	CkIndex index;            /* these two: as in struct indexed */
	uint64_t no;              /* names it in this PE's part of the collection: never twice */
	struct spans seen;        /* by its creator; they are still to come here */
	struct spans missed;      /* delivered here before it was made; its creator hands them on */
	struct ck_env **held;     /* ours, referred to: of roots of which it misses some */
	uint32_t n_held, cap_held;
};

/** A broadcast that this PE has delivered while insertions of its own were under way. */
struct kept_bcast {
	struct ck_env *env;       /* ours: a copy */
	uint64_t n_open;          /* insertions under way that were made before it was delivered, and after
				   * the one before */
};

/** What this PE, a creator, still has to hand on to an element when it sees it. */
struct debt {
	int32_t place;
	CkIndex index;
	uint64_t no;
	struct spans missed;
};

/** Of a collection on a PE; none if all of it is empty. */
struct newborns {
	struct idmap by_index;    /* struct newborn */
	struct kept_bcast *kept;  /* in order; number i is that of epoch `first` + i */
	uint64_t first, n_open;   /* n_open: insertions since the last one of kept; they have epoch first +
				   * n_kept */
	struct debt *debts;
	struct spans ahead;       /* guests here have got them, and this PE is still to deliver them */
	uint32_t n_kept, cap_kept, n_debts, cap_debts;
};
/** Describe them for the watchdog. */
void newborns_describe(const struct collection *c, struct csd_told *to);
/** Free them at the end of the job. */
void newborns_fini(struct pe *pe, struct collection *c);

#endif
