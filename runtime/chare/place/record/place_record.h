/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_record.h: the room place/record/: a PE's records of a collection whose elements come, go
 * and move.
 *
 *	dynamic.c  the record of a collection, and its slots
 *	away.c     what a home knows of elements that do not live there, and the calls that wait for them
 *	stay.c     what is kept of elements until they have left: who calls them, and what came late
 *	queued.c   calls of an element in the PE's queue
 *	lease.c    the ways of calls to elements that are away from home
 *	closing.c  whether inserting is over: from then on a call of a missing element is an error
 *	newborn.c  which broadcasts an inserted element gets
 *	tell_watch.c  who hears what happens here
 */
#ifndef CK_PLACE_RECORD_H
#define CK_PLACE_RECORD_H

#include <pthread.h>

#include "place.h"
#include "newborn.h"
#include "../../wait/along/along.h"

/* Handlers of PART_PLACE. */
enum {
	H_INSERT, H_MAKE, H_DESTROY, H_WHERE, H_CLOSING, H_INSERTED, H_MISSED,
	H_SWITCH, H_LEAVE, H_MOVE, H_MOVE_PACKED, H_SEAT, H_TELL
};

/** Entries of the table for elements whose calls do not simply go to their home. From WAY_LEASE on
 * it is a PE: calls go there. */
enum {
	WAY_WAITS = 1,
	WAY_CLEAN_HOME = 2,
	WAY_LEASE = 4,
	WAY_USED = 1
}; /* WAY_USED is added to a lease when a call uses it */

static inline uint32_t way_lease(int pe) { return WAY_LEASE + 2 * (uint32_t)pe; }
static inline int way_pe(uint32_t way) { return (int)((way - WAY_LEASE) / 2); }

/** How this PE's calls reach elements that are away from home (lease.c). */
struct ways {
	struct call_route route;  /* first; on the route while the table is not empty */
	struct elemmap at;        /* from elements to WAY_* */
};

/** Of a collection on a PE. */
struct place_coll {
	struct dynamic *dyn;      /* dynamic.c; NULL: no records so far, and not sparse */
	struct closing *closing;  /* closing.c; NULL: no call has missed its element yet */
	uint64_t n_stubs;         /* seat.c: in the slots of elements that are away */
	struct idmap late;        /* seat.c: struct stub by index, of elements that are back before their
				   * contributions */
	struct ways ways;
	struct idmap waits;       /* lease.c: struct waits by index */
	uint64_t n_makes;         /* elements that this PE, their home, has let be made (place_inserts) */
	struct bulk *bulk;        /* bulk.c: ours; NULL: its elements do not move in bulk */
};

static inline struct place_coll *place_of(const struct collection *c)
{
	return coll_state(c, PART_PLACE);
}

/** Kept by the home PE of an index: for an element that does not live on this PE, if more than its
 * PE must be known. */
struct away {
	struct collection *coll;
	CkIndex index;
	int32_t pe;               /* the element's PE, present or next; -1: none */
	bool moving; /* cannot be called now: it is made, about to leave, or moving. Calls wait until its
				   * PE sends BORN, or its last PE its late messages (GONE) */
	int32_t to;               /* while it is about to leave: its destination, or NOWHERE */
	bool asked;               /* home asked that PE whether it exists, because of a second insertion */
	uint32_t since;           /* wave of closing.c before which the first message began to wait */
	uint32_t n_senders, cap_senders;
	struct sender *senders;   /* ours: PEs whose calls pass through here */
	struct msg_fifo waiting;
};

/** A PE whose calls of an element pass through the element's home. */
struct sender {
	int32_t pe;
	uint32_t n;               /* calls since its last SWITCH; OFFER_AT: it has an offer */
};

/** Kept by an element's PE while other PEs have leases of it, or while it is about to leave. */
struct stay {
	struct collection *coll;
	CkIndex index;
	int32_t seat;             /* of the element */
	struct ck_obj *obj;       /* NULL: it was destroyed here */
	int32_t to;               /* its destination; NOWHERE: it was destroyed */
	bool asked;               /* a message to check it is under way to this PE */
	bool pending;             /* it will ask when its threads have ended */
	bool leaving;             /* WANT and RECALL have been sent */
	bool go;                  /* home sends no more (GO) */
	uint32_t n_flushes;       /* holders that may send more */
	uint32_t n_holders, cap_holders;
	int32_t *holders;         /* ours: PEs with a lease; while it leaves: those that want one again */
	uint32_t n_contributed;   /* of a destroyed guest */
	struct msg_fifo late;     /* late calls, in order */
};
enum { NOWHERE = -1 };

/** A collection on one PE with elements that come and go, or move. */
struct dynamic {
	/* Of a sparse array, with its elements by index in c->here: */
	uint64_t cap;             /* of elems */
	uint64_t n_holes;
	/* Of any: */
	struct idmap away;        /* struct away by index: elements whose home is this PE */
	struct elemmap lives;     /* the same, if a struct away would only contain `pe`: that PE + 1 */
	struct idmap stays;       /* struct stay by index: elements that live on this PE */
};

/** A message about an element, or about the whole collection. */
enum where_kind {
	WHERE_BORN,               /* made, or arrived; to its home */
	WHERE_ASK,                /* does it exist? from its home */
	WHERE_EXISTS,             /* yes */
	WHERE_WANT,               /* it is about to leave for PE count[0]; to its home */
	WHERE_GO,                 /* from its home, after all forwarded calls */
	/* Between its PE and the PEs that call it; see lease.c. `count` has further data. */
	WHERE_OFFER, WHERE_GRANT, WHERE_DENY, WHERE_RECALL, WHERE_FLUSH, WHERE_LEASE_AGAIN,
	WHERE_CHECK, WHERE_WAVE, WHERE_SUM, WHERE_VERDICT, /* closing.c */
};

struct where_msg {
	struct cmi_msg head;
	uint64_t coll;
	CkIndex index;
	uint32_t kind;
	uint64_t count[WAVE_SUMS];
};

/** Send a copy of `what`; `flags` are the machine's (CMI_F_*). */
void where_send(struct pe *pe, int dst_pe, int handler, uint8_t flags, struct where_msg what);

/* dynamic.c */
/** A free slot of a sparse array. */
uint64_t dynamic_slot(struct collection *c);
/** The watch of creations (part.h). */
void dynamic_constructed(struct pe *pe, struct collection *c);
/** Empty slots for the n elements of a sparse array, which had none. */
void dynamic_slots(struct collection *c, uint64_t n);
/** Whether the element can still be found, as a guest or at its seat. */
bool element_is_there(const struct ck_obj *obj);

struct dynamic *dynamic_get(struct collection *c);
void fifo_free(struct pe *pe, struct msg_fifo *f);

/** Everything that moves with an element, or the late messages of a destroyed one. */
struct travel {
	uint64_t coll;
	CkIndex index;
	int32_t seat;             /* NOWHERE: it was destroyed, and its seat knows */
	struct ck_obj *obj;       /* ours; NULL: it was destroyed */
	uint32_t n_contributed;   /* of a destroyed guest */
	uint32_t n_holders;
	int32_t *holders;         /* ours: PEs that want a lease again */
	struct obj_calls kept;    /* calls that wait for a condition or a `when` */
	struct msg_fifo late;     /* late calls, in order */
	struct travel *next, **link; /* travels under way within this process */
};
/** On a node. */
struct place_node {
	pthread_mutex_t lock;
	struct travel *flying;    /* between its PEs, for the end of the job */
	const struct newborn_more *more; /* section/, and NULL without that room: see newborn.h */
};
static inline struct place_node *place_node_of(const struct node *node)
{
	return ck_node_state(node, PART_PLACE);
}

/* away.c */
/** Handle a message as on arrival. */
void handle_again(struct pe *pe, struct cmi_msg *m);
/** Take the messages out and handle them again, in order. Those that cannot be handled yet wait
 * again. */
void resume(struct pe *pe, struct msg_fifo *f);
/** The same for messages for an element that is here. A call that destroys it may be among them,
 * followed by an insertion of the next with its index: copies of broadcasts are for this one. */
void resume_of_one(struct pe *pe, struct msg_fifo *f);
/** The element's record; NULL: it lives here or nowhere. The caller ends the record or calls
 * away_rest, or it stays. */
struct away *away_find(struct collection *c, CkIndex i);
/** The table entry of an element without a record; NULL: none. */
struct elemmap_slot *lives_find(const struct collection *c, CkIndex i);
int lives_pe(const struct elemmap_slot *s);
struct away *away_get(struct collection *c, CkIndex i);
/** The element lives elsewhere, and is not about to leave. If no PE's calls pass through here, only
 * its PE is kept. The caller no longer owns the record. */
void away_rest(struct away *a);
/** The element lives at home now, or nowhere: the record ends, and its messages are handled. */
void away_end(struct pe *pe, struct away *a);
/** The same for a record that is in no table any more. */
void away_drop(struct pe *pe, struct away *a);
/** Send a message about one element. */
void tell_where(struct pe *pe, int dst_pe, struct where_msg what);
/** Whether a message is from place_tell. */
bool is_told(const struct pe *pe, const struct cmi_msg *m);
/** Whether a message is a copy of a broadcast, multicast or result. */
bool is_of_all(const struct pe *pe, const struct cmi_msg *m);
/** Drop such messages. */
void drop_copies(struct pe *pe, struct msg_fifo *f);
void away_fini(struct pe *pe, struct collection *c);
/** Whether a PE asks for a lease with it. */
bool is_switch(const struct pe *pe, const struct ck_env *env);
/** It gets none. Takes the message. */
void deny_switch(struct pe *pe, const struct collection *c, CkIndex i, struct ck_env *env);
/** At home: the element has moved in bulk. */
void away_moved(struct pe *pe, struct collection *c, CkIndex i, int to);
void describe_waiting(struct pe *pe, const struct collection *c, const struct cmi_msg *m, char *buf,
		      size_t len);

/* stay.c */
struct stay *stay_find(const struct collection *c, CkIndex i);
/** The element's record, made if necessary. */
struct stay *stay_get(struct pe *pe, struct ck_obj *obj);
/** With that seat, because it has left its own. */
struct stay *stay_make(struct ck_obj *obj, int seat);
/** End the record. */
void stay_free(struct stay *s);
void stays_fini(struct pe *pe, struct collection *c);
int stay_home(struct pe *pe, const struct stay *s);
/** A message about it, for tell_where. */
struct where_msg where_about(const struct collection *c, CkIndex i, enum where_kind kind);
struct where_msg stay_about(const struct stay *s, enum where_kind kind);
/** The element of `t` has arrived: the holders of its leases move from `t` into its record, which
 * is returned; NULL: there are none. */
struct stay *stay_take_holders(struct pe *pe, struct travel *t);
void stay_drop_holder(struct stay *s, int pe);
/** Tell its former holders that it lives here. */
void stay_lease_again(struct pe *pe, const struct stay *s);
/** A PE asks for a lease of an element that lives here. */
void stay_switch(struct pe *pe, struct ck_obj *obj, int sender);
/** A message for an element that is about to leave. Takes the message. */
void stay_late(struct pe *pe, struct stay *s, struct ck_env *env);

/* queued.c */
/** Take along the calls with a priority that wait in this PE's queue for the element. */
void travel_take_queued(struct pe *pe, struct travel *t);
/** Drop the copies of broadcasts among them: it is destroyed. */
void travel_drop_queued(struct pe *pe, const struct travel *t);
/** Whether there are such calls. */
bool has_queued(struct pe *pe, const struct collection *c, CkIndex i);

/* tell_watch.c */
/** Notify all watches of an element's event: `event` is the offset in struct place_watch of a
 * function that takes a PE and an element. */
void tell_watches(struct pe *pe, struct ck_obj *obj, size_t event);
/** Whether a part wants the element to stay for now. */
bool watches_keep(struct pe *pe, struct ck_obj *obj);
void ask_still(struct pe *pe, struct collection *c, struct place_still *still);
void tell_reseated(struct pe *pe, struct collection *c, const struct place_still *still);
void tell_reopened(struct pe *pe, struct collection *c);

/* lease.c */
void route_arrived(struct pe *pe, struct collection *c, const struct where_msg *w);
/** Drop waiting copies of broadcasts for an element that is destroyed. */
void route_drop_copies(struct pe *pe, struct collection *c, CkIndex i);
void routes_describe(struct pe *pe, const struct collection *c, struct csd_told *to);
void routes_fini(struct pe *pe, struct collection *c);
/** An element with a lease has moved in bulk, and its PE knows this PE. */
void route_moved(struct pe *pe, struct collection *c, CkIndex i, int to);
/** All have, as the cuts say; without leases: no element is away from home any more. */
void routes_moved(struct pe *pe, struct collection *c, const struct cuts *to, bool leases);

/* closing.c. The counts of one PE: the inserts that it sent, the inserts that it carried out, and
 * its calls of X_beginInserting and X_doneInserting. */
enum closing_what { INSERTS_SENT, INSERTS_DONE, PHASES_BEGUN, PHASES_DONE };
void closing_count(struct pe *pe, struct collection *c, enum closing_what what);
void closing_open(struct pe *pe, struct collection *c);
uint32_t closing_wave(const struct collection *c);
void closing_missed(struct pe *pe, struct collection *c);
void closing_arrived(struct pe *pe, struct cmi_msg *m);
bool closing_is_open(const struct collection *c);
/** For checkpoints: this PE's counts. False: inserting has never been under way here. */
bool closing_sums(const struct collection *c, uint64_t sums[WAVE_SUMS]);
/** A restart: PE 0 adds those of all PEs, and continues to look whether inserting is over. */
void closing_add(struct pe *pe, struct collection *c, const uint64_t sums[WAVE_SUMS]);
void closing_goes_on(struct pe *pe, struct collection *c);

#endif
