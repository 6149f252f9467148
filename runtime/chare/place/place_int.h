/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_int.h: what the files of this room share.
 *
 *	create.c   arrays and the elements that they begin with
 *	announce.c groups and nodegroups, which all PEs know before anyone can use them
 *	insert.c   inserting elements
 *	make.c     making and destroying them
 *	dynamic.c  the record and the slots of a collection in which they come and go
 *	home.c     what a home does with calls of elements that do not live there
 *	away.c     what it knows of them, and the calls that wait for them
 *	queued.c   calls of an element in the PE's queue
 *	movable.c  whether an element can move, and what it must not take along
 *	leave.c    elements that leave a PE, to another one or for good
 *	stay.c     what is kept of them until they have left: who calls them, and what came late
 *	arrive.c   elements that arrive
 *	route.c    the ways of calls to elements that are away from home
 *	place_watch.c  who hears what happens here
 *	travel.c   what goes along with an element
 *	closing.c  whether inserting is over: from then on a call of a missing element is an error
 *	ready.c    whether all PEs have constructed the elements of a new array
 *	destroy.c  the end of an object
 *	local.c    elements of this PE
 *	seat.c     elements that are away from their seat, and what they contribute
 *	rest.c     what a collection allows while nothing of it is under way
 *	bulk.c     elements of an array at rest move together, with their seats where that can be
 *	bulk_leave.c  the plan of that is carried out
 *	bulk_come.c   all that were to come have come
 *	batch.c    what goes from one PE to another then
 *	describe_place.c  calls of elements that do not exist, for the watchdog
 */
#ifndef CK_PLACE_INT_H
#define CK_PLACE_INT_H

#include <pthread.h>

#include "place_watch.h"
#include "../call/newborn.h"

/* Handlers of PART_PLACE. */
enum {
	H_CREATE, H_INSERT, H_MAKE, H_DESTROY, H_WHERE, H_READY, H_CLOSING,
	H_ANNOUNCE, H_KNOWN, H_BORN,
	H_SWITCH, H_LEAVE, H_MOVE, H_MOVE_PACKED, H_SEAT, H_BATCH, H_BATCH_PACKED, H_TELL
};

/** A creation that three extents do not describe. It follows the constructor's parameters. */
struct ck_shape {
	CkArrayDims dims;         /* elements per dimension; all 0: none are known in advance */
	int32_t start[6], step[6];
	int32_t map;
	uint8_t sparse;           /* elements have indices and no places */
	uint8_t empty;            /* made without elements */
	uint8_t ready;            /* the creator wants to know when all are constructed */
};

/** What the table of ways has for an element whose calls do not simply go to its home. From WAY_LEASE on it is a PE: they go
 * there. */
enum { WAY_WAITS = 1, WAY_CLEAN_HOME = 2, WAY_LEASE = 4, WAY_USED = 1 }; /* WAY_USED is added to a lease: for a call */

static inline uint32_t way_lease(int pe) { return WAY_LEASE + 2 * (uint32_t)pe; }
static inline int way_pe(uint32_t way) { return (int)((way - WAY_LEASE) / 2); }

/** The ways of this PE's calls to elements that are away from home (route.c). */
struct ways {
	struct call_route route;  /* first; on the route while the table is not empty */
	struct elemmap at;        /* from elements to WAY_* */
};

/** Of a collection on a PE. */
struct place_coll {
	struct dynamic *dyn;      /* insert.c; NULL: no element ever came or went here */
	struct closing *closing;  /* closing.c; NULL: nobody asked yet whether inserting is over */
	struct ready *ready;      /* ready.c; NULL: nobody wants to know, or all are constructed */
	uint64_t n_stubs;         /* seat.c: in the slots of elements that are away */
	struct idmap late;        /* seat.c: struct stub by index, of elements that are back before what they contributed */
	struct ways ways;
	struct idmap waits;       /* route.c: struct waits by index */
	uint64_t n_makes;         /* elements that this PE, their home, has let be made (place_inserts) */
	struct bulk *bulk;        /* bulk.c: ours; NULL: its elements do not move at rest */
};

static inline struct place_coll *place_of(const struct collection *c)
{
	return coll_state(c, PART_PLACE);
}

/** Kept by the home PE of an index: an element that does not live on this PE, while there is more to know of it than
 * where it lives. */
struct away {
	struct collection *coll;
	CkIndex index;
	int32_t pe;               /* where it lives, or will; -1: nowhere */
	bool moving;              /* not to be called now: it is made, about to leave, or on its way. Calls wait
				   * until its place says BORN, or its last place what it had (GONE) */
	int32_t to;               /* while it is about to leave: the PE that it wants to go to, or NOWHERE */
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

/** Kept by an element's place while other PEs have leases of it, or while it is about to leave. */
struct stay {
	struct collection *coll;
	CkIndex index;
	int32_t seat;             /* of the element */
	struct ck_obj *obj;       /* NULL: it was destroyed here */
	int32_t to;               /* where it goes; NOWHERE: it was destroyed */
	bool asked;               /* a message to look at it is on its way to this PE */
	bool pending;             /* it asks when its threads have ended */
	bool leaving;             /* WANT and RECALL have been sent */
	bool go;                  /* home sends no more (GO) */
	uint32_t n_flushes;       /* holders that may send more */
	uint32_t n_holders, cap_holders;
	int32_t *holders;         /* ours: PEs with a lease; while it leaves: those that want one again */
	uint32_t n_contributed;   /* of a destroyed guest */
	struct msg_fifo late;     /* calls that came meanwhile, in order */
};
enum { NOWHERE = -1 };

/** A collection on one PE where elements come and go, or move. */
struct dynamic {
	/* Of a sparse array: what lives here, and has its seat here. */
	struct idmap here;        /* struct ck_obj by index */
	uint64_t cap;             /* of elems */
	uint64_t n_holes;
	/* Of any: */
	struct idmap away;        /* struct away by index: elements whose home is this PE */
	struct elemmap lives;     /* the same, where a struct away would say no more than `pe`: that PE + 1 */
	struct idmap stays;       /* struct stay by index: elements whose place is this PE */
};

/** A message about an element, or about the whole collection. */
enum where_kind {
	WHERE_BORN,               /* made, or arrived; to its home */
	WHERE_ASK,                /* does it exist? from its home */
	WHERE_EXISTS,             /* yes */
	WHERE_WANT,               /* it is about to leave for PE count[0]; to its home */
	WHERE_GO,                 /* from its home, behind all that home has passed on */
	/* Between its place and the PEs that call it; see route.c. `count` has what else there is to say. */
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

/* describe_place.c, and what it asks insert.c and closing.c */
void place_describe(struct pe *pe, struct csd_told *to);
void describe_waiting(struct pe *pe, const struct collection *c, const struct cmi_msg *m, char *buf, size_t len);
bool closing_is_open(const struct collection *c);

/* make.c */
/** Create the element. env is an insertion, which has the constructor's parameters; NULL: a call makes it. */
void element_make(struct pe *pe, struct collection *c, CkIndex i, int to, struct ck_env *env);
/** Construct an element of this PE, with the message of its insertion. */
void element_make_here(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env);

/* dynamic.c */
/** A free slot of a sparse array. */
uint64_t dynamic_slot(struct collection *c);
void dynamic_constructed(struct collection *c);
/** Empty slots for the n elements of a sparse array, which had none. */
void dynamic_slots(struct collection *c, uint64_t n);
/** Whether the element can still be found, as a guest or at its seat. */
bool element_is_there(const struct ck_obj *obj);

struct dynamic *dynamic_get(struct collection *c);
void fifo_free(struct pe *pe, struct msg_fifo *f);

/* away.c */
/** Handle a message as when it came. */
void handle_again(struct pe *pe, struct cmi_msg *m);
/** Take the messages out and handle them again, in order. Those that cannot be handled yet wait again. */
void resume(struct pe *pe, struct msg_fifo *f);
/** The same of messages for an element that is here. A call that destroys it may be among them, and behind it an insertion of
 * the next with its index: copies of what has gone to all are for this one. */
void resume_of_one(struct pe *pe, struct msg_fifo *f);
/** The element's record; NULL: it lives here or nowhere. The caller ends the record or lets it rest, or it stays. */
struct away *away_find(struct collection *c, CkIndex i);
/** Where an element without a record lives that has its number in the table; NULL: it has none. */
struct elemmap_slot *lives_find(const struct collection *c, CkIndex i);
int lives_pe(const struct elemmap_slot *s);
struct away *away_get(struct collection *c, CkIndex i);
/** The element lives elsewhere, and is not about to leave. If no PE's calls pass through here, only note where it lives.
 * The record is the caller's no more. */
void away_rest(struct away *a);
/** The element lives at home now, or nowhere: the record ends, and its messages are handled. */
void away_end(struct pe *pe, struct away *a);
/** The same of a record that is in no table any more. */
void away_drop(struct pe *pe, struct away *a);
/** What came for an element that does not live on this PE, its home. Takes the message. */
void home_sought(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env);
void home_arrived(struct pe *pe, struct collection *c, const struct where_msg *w);
/** Send a message about one element. */
void tell_where(struct pe *pe, int dst_pe, struct where_msg what);
void seek(struct pe *pe, struct collection *c, struct ck_env *env);
/** Whether a message is from place_tell. */
bool is_told(const struct pe *pe, const struct cmi_msg *m);
/** Whether a message is a copy of what has gone to all elements. / Drop such messages. */
bool is_of_all(const struct pe *pe, const struct cmi_msg *m);
void drop_copies(struct pe *pe, struct msg_fifo *f);
/** Whether a message is a copy of a multicast. */
bool is_of_section(const struct pe *pe, const struct cmi_msg *m);
const char *told_misfit(struct pe *pe, const struct cmi_msg *m);
/** A call, a destruction, a SWITCH or what a part tells has found its element. */
void act_on(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
_Noreturn void inserted_twice(struct pe *pe, const struct collection *c, CkIndex i, int from);
void away_fini(struct pe *pe, struct collection *c);
/** Whether a PE asks for a lease with it. / It gets none. Takes the message. */
bool is_switch(const struct pe *pe, const struct ck_env *env);
void deny_switch(struct pe *pe, const struct collection *c, CkIndex i, struct ck_env *env);
/** At home: the element has moved at rest. */
void away_moved(struct pe *pe, struct collection *c, CkIndex i, int to);

/* stay.c */
struct stay *stay_find(const struct collection *c, CkIndex i);
/** The element's record, which it gets if it has none. / With that seat, because it has left its own. / End the record. */
struct stay *stay_get(struct pe *pe, struct ck_obj *obj);
struct stay *stay_make(struct ck_obj *obj, int seat);
void stay_free(struct stay *s);
void stays_fini(struct pe *pe, struct collection *c);
int stay_home(struct pe *pe, const struct stay *s);
/** A message about it, for tell_where. */
struct where_msg where_about(const struct collection *c, CkIndex i, enum where_kind kind);
struct where_msg stay_about(const struct stay *s, enum where_kind kind);
/** The element of `t` has come: who holds leases of it moves from `t` into its record, which is returned; NULL: nobody. */
struct stay *stay_take_holders(struct pe *pe, struct travel *t);
void stay_drop_holder(struct stay *s, int pe);
/** Tell its former holders that it lives here. */
void stay_lease_again(struct pe *pe, const struct stay *s);
/** A PE asks for a lease of an element that lives here. */
void stay_switch(struct pe *pe, struct ck_obj *obj, int sender);
/** What came for an element that is about to leave. Takes the message. */
void stay_late(struct pe *pe, struct stay *s, struct ck_env *env);

/* movable.c */
/** End the job unless the element may move to the PE. / Or if it would take along what must stay here. */
void check_move(struct pe *pe, struct ck_obj *obj, int to);
void check_leaving(struct pe *pe, struct ck_obj *obj);
/** Whether ends of channels lie in the element's memory. */
bool holds_ends(struct pe *pe, struct ck_obj *obj);

/* place_watch.c */
/** A part's; NULL: it has not joined, or there is no part of that number. */
const struct place_watch *watch_of(const struct pe *pe, uint32_t part);
/** Tell all who have joined of what happens to an element: `event` is the offset in struct place_watch of a function
 * that takes a PE and an element. */
void tell_watches(struct pe *pe, struct ck_obj *obj, size_t event);
/** Whether a part wants the element to stay for now. */
bool watches_keep(struct pe *pe, struct ck_obj *obj);
void tell_dynamic(struct pe *pe, struct collection *c);
void ask_rest(struct pe *pe, struct collection *c, struct place_rest *rest);
void tell_reseated(struct pe *pe, struct collection *c, const struct place_rest *rest);
void tell_reopened(struct pe *pe, struct collection *c);

/* leave.c */
/** Tell all who want to know: it is about to leave this PE, and aborts if it cannot. / It has come. */
void tell_leaving(struct pe *pe, struct ck_obj *obj);
void tell_arrived(struct pe *pe, struct ck_obj *obj);
/** Of an element that has just been destroyed here, and whose home is another PE or whose seat is: let its last
 * calls come, then tell them. */
void stay_gone(struct pe *pe, struct ck_obj *obj, int seat);
/** Whether the element lives here, or is about to leave: not if it is destroyed, or a call that waits does it. */
bool element_exists(const struct pe *pe, const struct collection *c, CkIndex i);
void stay_arrived(struct pe *pe, struct collection *c, const struct where_msg *w);
void leave_arrived(struct pe *pe, struct cmi_msg *m);

/* route.c */
void route_arrived(struct pe *pe, struct collection *c, const struct where_msg *w);
/** Drop copies for an element that is destroyed of what has gone to all, which wait for their way. */
void route_drop_copies(struct pe *pe, struct collection *c, CkIndex i);
void routes_describe(struct pe *pe, const struct collection *c, struct csd_told *to);
void routes_fini(struct pe *pe, struct collection *c);
/** An element that is called straight has moved at rest, and its place knows this PE. / All have, to where the cuts
 * say; without leases: no element is away from home any more. */
void route_moved(struct pe *pe, struct collection *c, CkIndex i, int to);
void routes_moved(struct pe *pe, struct collection *c, const struct cuts *to, bool leases);

/* travel.c */

/** What goes along with an element that leaves, or what its last place had when it was destroyed. */
struct travel {
	uint64_t coll;
	CkIndex index;
	int32_t seat;             /* NOWHERE: it was destroyed, and its seat knows */
	struct ck_obj *obj;       /* ours; NULL: it was destroyed */
	uint32_t n_contributed;   /* of a destroyed guest */
	uint32_t n_holders;
	int32_t *holders;         /* ours: PEs that want a lease again */
	struct obj_calls kept;    /* calls that wait for a condition or a `when` */
	struct msg_fifo late;     /* calls that came too late, in order */
	struct travel *next, **link; /* travels under way within this process */
};
/** On a node: the travels between its PEs, for the end of the job. */
struct place_node {
	pthread_mutex_t lock;
	struct travel *flying;
	const struct place_watch *watches[CK_PARTS]; /* place_watch.c: by part; NULL: it hears nothing */
};
static inline struct place_node *place_node_of(const struct node *node) { return ck_node_state(node, PART_PLACE); }
struct travel *travel_new(const struct collection *c, CkIndex i);
void travel_free(struct travel *t);
/** Take along the calls with a priority that wait in this PE's queue for the element. */
void travel_take_queued(struct pe *pe, struct travel *t);
/** Drop those of them that have gone to all elements: it is destroyed. */
void travel_drop_queued(struct pe *pe, const struct travel *t);
/** Send it to a PE. Takes it. */
void travel_send(struct pe *pe, int dst_pe, struct travel *t);
/** Within a process: it travels as it is. */
struct travel_msg {
	struct cmi_msg head;
	struct travel *travel;
};
void travel_arrived(struct pe *pe, struct cmi_msg *m);

/** The head of its image, with the image's size; its calls are in the form that leaves a process then. / Write the image,
 * and take the travel. / Make it anew. */
struct packed {
	struct cmi_msg head;
	uint64_t coll;
	CkIndex index;
	int32_t seat;
	uint32_t n_contributed, n_holders, n_kept, n_late;
	uint16_t lives;           /* an element comes along */
	uint16_t reserved;
	uint64_t bytes;           /* of the element */
	uint64_t image_bytes;     /* of its bodies of Structured Dagger */
};
_Static_assert(sizeof(struct packed) % 16 == 0, "what follows is aligned");
struct packed travel_measure(struct pe *pe, int dst_pe, struct travel *t);
void travel_write(struct pe *pe, struct travel *t, const struct packed *p, void *to);
struct travel *travel_read(struct pe *pe, struct collection *c, const struct packed *p);
/** Within a process: so that the end of the job finds it. / It has come. */
void travel_take_off(struct node *node, struct travel *t);
void travel_land(struct node *node, struct travel *t);
void packed_arrived(struct pe *pe, struct cmi_msg *m);
const char *packed_misfit(struct pe *pe, const struct cmi_msg *m);
/** arrive.c: it has come. Takes it. */
void travel_end(struct pe *pe, struct collection *c, struct travel *t);
int travels_init(struct node *node);
void travels_free(struct node *node);
/** Whether there are such calls. */
bool has_queued(struct pe *pe, const struct collection *c, CkIndex i);

/* closing.c. What one PE counts: the inserts that it sent, the inserts that it carried out, and
 * its calls of X_beginInserting and X_doneInserting. */
enum closing_what { INSERTS_SENT, INSERTS_DONE, PHASES_BEGUN, PHASES_DONE };
void closing_count(struct pe *pe, struct collection *c, enum closing_what what);
void closing_open(struct pe *pe, struct collection *c);
uint32_t closing_wave(const struct collection *c);
void closing_missed(struct pe *pe, struct collection *c);
void closing_arrived(struct pe *pe, struct cmi_msg *m);

/* ready.c; cb is NULL on all PEs but the creator's */
void ready_want(struct collection *c, const CkCallback *cb);
void ready_constructed(struct pe *pe, struct collection *c);
void ready_arrived(struct pe *pe, struct cmi_msg *m);

/* batch.c */

/** In front of the elements of a batch. */
struct batch_msg {
	struct cmi_msg head;
	uint64_t coll;
	uint32_t n;
	uint32_t last;
};
_Static_assert(sizeof(struct batch_msg) % 16 == 0, "images are aligned");

/** What goes to one PE. All zero: nothing. */
struct batch {
	struct travel **list;     /* ours, and they are */
	struct packed *heads;     /* ours: to another process */
	size_t n, cap, bytes;
	bool expected;            /* the other PE waits for a last message */
};
/** Add to what goes to a PE, and send it when it is long. Takes the travel. */
void batch_add(struct pe *pe, struct collection *c, int to, struct batch *b, struct travel *t);
/** Send the rest. */
void batch_last(struct pe *pe, struct collection *c, int to, struct batch *b);
void batch_arrived(struct pe *pe, struct cmi_msg *m);
void batch_packed_arrived(struct pe *pe, struct cmi_msg *m);
const char *batch_misfit(struct pe *pe, const struct cmi_msg *m);

/* bulk.c */
/** Whether the message has to wait because this PE has no plan yet. Then the call takes it. */
bool bulk_waits(struct collection *c, struct cmi_msg *m);
/** It has come. Takes it. / So has all that its PE had for this one. */
void bulk_take(struct collection *c, struct travel *t);
void bulk_took_last(struct pe *pe, struct collection *c);
void bulk_fini(struct pe *pe, struct collection *c);
void bulk_describe(const struct collection *c, struct csd_told *to);

/* seat.c */
/** Whether elements are away from their seats here. / At rest, when seats move: no stub is left. */
bool seats_away(const struct collection *c);
void stubs_drop(struct collection *c);
/** Let calls take the fast path, if all elements that the map puts here are here. */
void coll_line_up(struct collection *c);
/** Give an element in elems a bit of OBJ_ODD, or take it away. A guest gets the bit and is not counted. */
void obj_odd(struct ck_obj *obj, uint32_t bit);
void obj_even(struct ck_obj *obj, uint32_t bit);
/** On its seat: the element is destroyed, and its slot becomes empty. */
void seat_gone(struct pe *pe, struct collection *c, CkIndex i);
void seats_fini(struct pe *pe, struct collection *c);
void seat_arrived(struct pe *pe, struct cmi_msg *m);
const char *seat_misfit(struct pe *pe, const struct cmi_msg *m);
/** On the seat of an element that was destroyed while its stub had the slot: it has sent n contributions. True: all
 * are filed, and nothing counts the element any more. Else the call takes `end`, and travel_seat_over gets it then;
 * until then the index cannot be given to a new element. */
bool seat_end(struct pe *pe, struct collection *c, CkIndex i, uint32_t n, struct travel *end);
void travel_seat_over(struct pe *pe, struct collection *c, struct travel *end);

/* create.c */
void create_arrived(struct pe *pe, struct cmi_msg *m);
struct ck_obj *obj_add(struct collection *c, CkIndex index, uint64_t slot);

/* What does not fit of such messages of other processes; NULL: all fits. */
const char *create_misfit(struct pe *pe, const struct cmi_msg *m);
const char *closing_misfit(struct pe *pe, const struct cmi_msg *m);
const char *announce_misfit(struct pe *pe, const struct cmi_msg *m);
const char *known_misfit(struct pe *pe, const struct cmi_msg *m);
const char *born_misfit(struct pe *pe, const struct cmi_msg *m);

/** A message about a group. */
struct announce_msg {
	struct cmi_msg head;
	uint64_t id;
	int32_t chare;            /* its number */
};
#define ANNOUNCE_SHAPE CK_SHAPE_STRUCT(struct announce_msg)

/* announce.c */
void announce_arrived(struct pe *pe, struct cmi_msg *m);
void known_arrived(struct pe *pe, struct cmi_msg *m);
void born_arrived(struct pe *pe, struct cmi_msg *m);
void announce_pe_free(struct pe *pe);

/* insert.c, announce.c, local.c: functions of the tables of kinds (part.h) */
void group_announced(struct pe *pe, const CkGenChare *type, struct ck_env *env);
void group_born(struct pe *pe, const CkGenChare *type, uint64_t id);
void element_destroy(struct pe *pe, struct ck_obj *obj);
struct ck_obj *array_local(struct pe *pe, const CkGenChare *type, const CkElement *e);
struct ck_obj *group_local(struct pe *pe, const CkGenChare *type, const CkElement *e);

#endif
