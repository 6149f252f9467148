/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_int.h: what the files of this room share.
 *
 *	create.c   arrays and the elements that they begin with
 *	announce.c groups and nodegroups, which all PEs know before anyone can use them
 *	insert.c   inserting and destroying elements; messages that wait for them
 *	closing.c  whether inserting is over: from then on a call of a missing element is an error
 *	ready.c    whether all PEs have constructed the elements of a new array
 *	destroy.c  the end of an object
 *	local.c    elements of this PE
 *	seat.c     elements that are away from their seat, and what they contribute
 *	describe_place.c  calls of elements that do not exist, for the watchdog
 */
#ifndef CK_PLACE_INT_H
#define CK_PLACE_INT_H

#include "place.h"

/* Handlers of PART_PLACE. */
enum {
	H_CREATE, H_INSERT, H_MAKE, H_DESTROY, H_WHERE, H_READY, H_CLOSING,
	H_ANNOUNCE, H_KNOWN, H_BORN, H_SEAT
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

/** Of a collection on a PE. */
struct place_coll {
	struct dynamic *dyn;      /* insert.c; NULL: no element ever came or went here */
	struct closing *closing;  /* closing.c; NULL: nobody asked yet whether inserting is over */
	struct ready *ready;      /* ready.c; NULL: nobody wants to know, or all are constructed */
	struct idmap stubs;       /* seat.c: struct stub by index */
};

static inline struct place_coll *place_of(const struct collection *c)
{
	return coll_state(c, PART_PLACE);
}

/** Kept by the home PE of an index: an element that does not live on this PE. */
struct absent {
	struct collection *coll;
	CkIndex index;
	int32_t pe;               /* where it lives, or will; -1: nowhere */
	bool born;                /* that PE has said that the element exists */
	bool asked;               /* home asked that PE whether it exists, because of a second insertion */
	uint32_t n_sent;          /* calls that home passed on to it */
	uint32_t n_back;          /* once it is gone: how many of those calls come back */
	uint32_t n_came;          /* how many have come back */
	uint32_t since;           /* wave of closing.c before which the first message began to wait */
	struct msg_fifo back;     /* calls that came back; handled before those in `waiting` */
	struct msg_fifo waiting;
};

/** A collection on one PE where elements come and go. */
struct dynamic {
	/* Of a sparse array: what lives here. */
	struct idmap here;        /* struct ck_obj by index */
	uint32_t *n_got;          /* [cap], parallel to elems: calls that reached each element */
	uint64_t cap;             /* of elems */
	uint64_t n_holes;
	/* Of any: */
	struct idmap away;        /* struct absent by index: elements whose home is this PE */
};

/** A message about an element, or about the whole collection. */
enum where_kind {
	WHERE_BORN,               /* made; to its home */
	WHERE_GONE,               /* destroyed, after `count` calls from its home had reached it */
	WHERE_ASK,                /* does it exist? from its home */
	WHERE_EXISTS,             /* yes */
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
void place_describe(struct pe *pe, csd_line_fn line, void *arg);
void describe_waiting(struct pe *pe, const struct collection *c, const struct cmi_msg *m, char *buf, size_t len);
bool closing_is_open(const struct collection *c);

/* insert.c */
struct dynamic *dynamic_get(struct pe *pe, struct collection *c);
void dynamic_create(struct pe *pe, struct collection *c, const struct ck_shape *shape);
void dynamic_constructed(struct collection *c);

/* closing.c. What one PE counts: the inserts that it sent, the inserts that it carried out, and
 * its calls of X_beginInserting and X_doneInserting. */
enum closing_what { INSERTS_SENT, INSERTS_DONE, PHASES_BEGUN, PHASES_DONE };
void closing_count(struct pe *pe, struct collection *c, enum closing_what what);
void closing_open(struct pe *pe, struct collection *c);
uint32_t closing_wave(const struct collection *c);
void closing_missed(struct pe *pe, struct collection *c);
void closing_arrived(struct pe *pe, struct cmi_msg *m);
/* Inserting is over: a call that was already waiting before that wave waits in vain. */
void absent_overdue(struct pe *pe, struct collection *c, uint32_t wave);

/* ready.c; cb is NULL on all PEs but the creator's */
void ready_want(struct collection *c, const CkCallback *cb);
void ready_constructed(struct pe *pe, struct collection *c);
void ready_arrived(struct pe *pe, struct cmi_msg *m);

/* seat.c */
/** Let calls take the fast path, if all elements that the map puts here are here. */
void coll_line_up(struct collection *c);
/** Give an element in elems a bit of OBJ_ODD, or take it away. A guest gets the bit and is not counted. */
void obj_odd(struct ck_obj *obj, uint32_t bit);
void obj_even(struct ck_obj *obj, uint32_t bit);
void seats_fini(struct pe *pe, struct collection *c);
void seat_arrived(struct pe *pe, struct cmi_msg *m);
const char *seat_misfit(struct pe *pe, const struct cmi_msg *m);
struct travel;
/** On the seat of an element that was destroyed while its stub had the slot: it has sent n contributions. True: all
 * are filed, and nothing counts the element any more. Else the call takes `end`, and travel_seat_over gets it then;
 * until then the index cannot be given to a new element. */
bool seat_end(struct pe *pe, struct collection *c, CkIndex i, uint32_t n, struct travel *end);
void travel_seat_over(struct pe *pe, struct collection *c, struct travel *end);
/** The PE that counts a guest. */
int place_seat(const struct pe *pe, const struct ck_obj *guest);

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
