/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_int.h: shared by the files of this room.
 *
 * A channel has a name and two ends. Each end is a record that belongs to its element and is kept
 * by the PE where the element lives; while the element moves, by the node (`flying`). In front of
 * the record is an end of the layer of channels (scheduler/ends.h), which does not move: it is
 * ended where the element leaves, and made anew where it arrives.
 *
 * The receiving end alone decides when the two are joined. Words between them are sent to the
 * elements, as calls are:
 *
 *	HELLO(serial, puts)   sender -> receiver   the sender is not joined, and will be only by a JOIN
 *	                                           with this serial; it has made so many puts. When it is
 *	                                           made, has arrived, or was asked
 *	ASK                   receiver -> sender   stop, and say HELLO. When it is made or leaves
 *	JOIN(serial, end)     receiver -> sender   answers the last HELLO, when those puts are consumed
 *	BYE                   both ways            the end is destroyed
 *
 * Each word names the receiving end by a unique number, if its sender knows it: a name may be
 * reused while words of the last channel with that name are still under way.
 *
 * Invariants. (1) From HELLO(serial) to JOIN(serial) the sender makes no put; the program's put
 * waits in a copy. (2) The receiver ends its end of the layer, to leave or to make it anew, only
 * while its last HELLO is not answered and all of that HELLO's puts have landed: so no sender
 * writes into it or knows it. (3) Serials rise, and move with the sending end. A JOIN that answers
 * an older HELLO, and a HELLO that was overtaken, are dropped; a HELLO to another receiving end is
 * answered by ASK. (4) An element that waits for its channels to become idle takes calls, so it
 * answers ASK: two ends that want to leave do not wait for each other. Words are counted, so
 * quiescence waits for a put that waits.
 */
#ifndef CK_NAMED_INT_H
#define CK_NAMED_INT_H

#include <pthread.h>

#include "../ckchannel.h"
#include "named.h"

struct channel_name {
	CkElement from, to;
	int32_t entry;            /* of to's type */
	int32_t tag;
};

/** The ends of one element. */
struct ends {
	struct ck_obj *obj;
	CkChannel *first;
	bool leaving;             /* the element wants to leave: no end is joined */
	bool waits;               /* place/ is to be told when all are idle */
	bool looks;               /* a LOOK is under way to this PE */
};

/** The common state of several receiving ends. */
struct named_group {
	CkGenCall came;           /* called with the group when one of them has its put */
	void (*less)(struct named_group *g); /* called when one of them is freed; frees the group with the
					      * last one */
};

struct CkChannel {
	uint64_t end[CSD_END_BYTES / 8]; /* first: the end for puts and readies. Only while `live` */
	struct ends *of;
	CkChannel *next;
	struct channel_name name;
	bool sends, live;
	bool packed;              /* pup_channel has measured or packed it: it may leave its process */
	bool running, odd;        /* receiving: its function runs; work remains after it */
	bool destroyed; /* the program has destroyed it; receiving: kept while its function runs, or a
				   * sender may be joined to it */
	bool announced;           /* receiving: a sender knows `end` */
	bool answered;            /* receiving: the last HELLO */
	bool asked;               /* receiving: ASK was sent since */
	struct named_group *group; /* receiving: what it is a part of, or NULL */
	CkGenCall call;           /* receiving */
	void *self;               /* receiving: the argument of `call`: the element's struct, or the
				   * group */
	struct csd_receiving in;  /* receiving; state and landed are valid while it is not live */
	const void *buf;          /* sending */
	size_t bytes;
	uint64_t shape[CSD_SHAPE_BYTES / 8]; /* sending, if strided */
	bool strided;
	bool device;              /* the buffer is in a device's memory */
	void *held;               /* sending, while it is not live: ours; the data of a put that waits */
	uint64_t base;            /* puts consumed, or made, before `end` was made */
	uint64_t id;              /* of the receiving end; sending: of the one that asked last, 0: none */
	uint64_t serial;          /* of the last HELLO; receiving, 0: none has come */
	uint64_t puts;            /* receiving: that HELLO's */
	uint64_t told;            /* sending: puts up to the last named_puts_anew */
	uint64_t round;           /* receiving, in a set: the last round in which it has arrived */
};
_Static_assert(offsetof(struct CkChannel, end) == 0, "a CkChannel begins with a CkDirectHandle");

/** On a PE, by the address of struct ck_obj: struct ends. */
struct named_pe {
	struct idmap ends;
	uint64_t n_receivers;     /* made here */
};
struct named_node {
	pthread_mutex_t lock;
	struct idmap flying;      /* as named_pe.ends: of elements between two PEs, or being unpacked */
	_Atomic(uint32_t) n_flying; /* how many; read without the lock */
};

static inline const struct csd_ends *layer_ends(const struct pe *pe) { return pe->node->up.ends; }

static inline struct named_pe *named_of(const struct pe *pe) { return ck_state(pe, PART_NAMED); }

/* ---- end.c ---- */
struct ends *ends_find(const struct pe *pe, const struct ck_obj *obj);
struct ends *ends_new(struct ck_obj *obj);
void ends_add(struct pe *pe, struct ends *o);
void ends_remove(struct pe *pe, const struct ends *o);
CkChannel *end_find(const struct ends *o, const struct channel_name *n, bool sends);
/** Take it out of its element's list and free it. */
void end_free(CkChannel *c);
/** The function for an arrival of an entry of this element. */
CkGenCall end_call(const struct pe *pe, const struct ck_obj *obj, int entry);
/** "channel Block::side(2) from Block(0, 0) to Block(0, 1)" */
const char *end_describe(struct pe *pe, const CkChannel *c, char *buf, size_t len);
enum { END_NAME_MAX = 400 };

/* ---- end_run.c ---- */
/** Make the layer's end, in the record's state. */
void end_begin(struct pe *pe, CkChannel *c);
/** End it; the record keeps the state. Only when idle. */
void end_rest(struct pe *pe, CkChannel *c);
/** Free a receiving end that the program has destroyed if it is no longer needed. Returns whether
 * it was. */
bool end_over(struct pe *pe, CkChannel *c);
/** An end for which the element has waited may be gone; without ends it needs no record. */
void ends_fewer(struct pe *pe, struct ends *o);

/* ---- named.c ---- */
/** Make a receiving end that is armed. */
CkChannel *end_receive(struct pe *pe, struct ck_obj *obj, const struct channel_name *n,
		       struct csd_receiving in, struct named_group *group);
/** A number for a receiving end, which no other one of the job has. */
uint64_t named_new_id(struct pe *pe);
/** The element whose struct this is; aborts unless it can have channels. */
struct ck_obj *check_element(struct pe *pe, const void *self, const char *what);

/* ---- join.c ---- */
/** Puts so far: consumed, or made. `now` is for receiving ends. */
uint64_t end_puts(struct pe *pe, const CkChannel *c, struct csd_receiving *now);
void end_hello(struct pe *pe, CkChannel *c);
void end_ask(struct pe *pe, CkChannel *c);
/** The receiving end answers the last HELLO if it can. */
void end_join(struct pe *pe, CkChannel *c);
void end_bye(struct pe *pe, const CkChannel *c);
/** Check the element's ends again, from the queue. */
void ends_look(struct pe *pe, struct ends *o);
void named_told(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
const char *named_told_misfit(struct pe *pe, const struct ck_env *env);

/* ---- follow.c ---- */
/** Something has changed: if the element wants to leave and all its ends are idle, it may. */
void ends_may_leave(struct pe *pe, struct ends *o);
bool named_alone(struct pe *pe, struct ck_obj *obj);
bool named_leave_later(struct pe *pe, struct ck_obj *obj);
void named_rests(struct pe *pe, struct ck_obj *obj);
void named_goes_on(struct pe *pe, struct ck_obj *obj);
void named_arrived(struct pe *pe, struct ck_obj *obj);
void named_packed(struct pe *pe, struct ck_obj *obj);
/** The ends of an element that is moving or being unpacked, removed from the table; NULL: it has
 * none. */
struct ends *flying_take(struct node *node, const struct ck_obj *obj);

/* ---- pup_device.c ---- */
/** Pack or unpack what lies in a device's memory, through host memory. */
void named_stage(pup_er p, void *dbuf, size_t bytes);

/* ---- named_save.c, for checkpoints ---- */
/** Of the part's `save`, and of the watch. */
void named_refuse(struct pe *pe, struct csd_told *to);
void named_remade(struct pe *pe, struct collection *c, const struct place_still *saved);

/* ---- sets.c ---- */
/** A receiving end, which its element has already: if its entry counts, it joins the element's set.
 * `came`: it has had its put in the present round. */
void named_set_join(CkChannel *c, bool came);
/** Whether it is in a set that waits for others after it: its data are still needed. */
bool named_set_has(const CkChannel *c);
/** Whether the set waits for it, and has some of the others. */
bool named_set_misses(const CkChannel *c);
/** Whether all ends of the set that `c` begins have arrived, and its count asked for more. */
struct named_short {
	int n_ends, count;
};
bool named_set_is_short(const CkChannel *c, struct named_short *s);
/** It is destroyed. */
void named_set_without(CkChannel *c);

/* ---- describe_named.c ---- */
void named_describe(struct pe *pe, struct csd_told *to);

#endif
