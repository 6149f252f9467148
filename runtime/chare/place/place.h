/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: the room place/: where elements live.
 *
 * Owns     making arrays and their elements (create.c), making groups (announce.c), inserting and destroying elements
 *          (insert.c), passing calls on at home (home.c), moving elements (leave.c, travel.c), the ways of calls
 *          to them (route.c), detecting that inserting is over (closing.c), detecting that all elements
 *          are constructed (ready.c), freeing destroyed objects (destroy.c), finding elements of
 *          this PE (local.c), the seats of elements that are away (seat.c).
 * Called   by the rooms above, on the element's PE or its home; by call/ through `seek` and `way` (part.h).
 * Calls    wait/, call/, params/, core/.
 */
#ifndef CK_PLACE_H
#define CK_PLACE_H

#include "../wait/wait.h"

enum { PART_PLACE = 8, PART_DESTROY = 9 };
extern const struct ck_part place_part, destroy_part;

/** Turn the parameters of a constructor into a creation message. The message may go to any PE, so
 * the parameters leave this node's form at once. */
struct ck_env *create_take(struct pe *pe, const CkGenChare *type, void *payload);
/** Create this PE's elements, run their constructors in index order, then handle the messages
 * that arrived too early. The caller keeps the payload. */
void coll_construct(struct pe *pe, struct collection *c, void *payload);

/** The element of this PE, or NULL. */
struct ck_obj *coll_local(const struct collection *c, CkIndex i);
/** Note that elements of the collection come and go, unless this PE knows it already. */
void coll_become_dynamic(struct pe *pe, struct collection *c);

/** Free an object that nobody can find any more, as soon as none of its handlers runs. */
void destroy_later(struct pe *pe, struct ck_obj *obj);

/** The seat of an element of this PE that is a guest. */
int place_seat(const struct pe *pe, const struct ck_obj *guest);

/** Send what one part says about an element to that part where the element lives: its `told` (part.h) gets it, in
 * order with calls of the element. While the element moves it waits. If there is no such element, it is dropped.
 * Takes the message; the part may use the payload. */
void place_tell(struct pe *pe, const CkElement *e, int part, struct ck_env *env);
/** A part whose `leave_later` said true has nothing against it any more. */
void place_may_leave(struct pe *pe, struct ck_obj *obj);

/* ---- seat.c: elements that live on another PE than the one that counts them ------------------------- */

/** What takes an element's slot at its seat while the element is away. */
struct stub {
	struct ck_obj obj;        /* first; n_contributed: reductions to which its contributions have come */
	uint32_t n_filed;         /* contributions that it sent while away and that were filed here */
	uint32_t n_sent;          /* once it is back or destroyed: how many it sent */
	bool back;                /* the element has the slot again: OBJ_LATE */
	struct travel *end;       /* ours; of a destroyed element: what goes on when the last one is filed */
	struct cmi_msg *early;    /* ours: contributions behind one that has not come, by number */
};

/** On the seat: the element leaves. A stub takes its slot, and is returned; obj is in none of the collection's
 * tables any more, and is the caller's. Not while c->walks. */
struct ck_obj *seat_leave(struct pe *pe, struct ck_obj *obj);
/** On the seat: the element is back, from anywhere; obj->coll is this PE's. It replaces its stub. */
void seat_return(struct pe *pe, struct ck_obj *obj);
/** On any other PE: an element comes that has another seat, and leaves again. obj->coll is this PE's. The
 * collection frees the guests that it has at the end of the job. */
void guest_add(struct ck_obj *obj);
void guest_remove(struct ck_obj *obj);
/** An element that is OBJ_AWAY contributes: `env`, made by `part`, becomes a message to its seat, which gives it to
 * that part's `filed` (part.h) when it has filed all that the element contributed before. The part may use the
 * payload and env->more. Takes the message. */
void seat_send(struct pe *pe, struct ck_obj *obj, int part, struct ck_env *env);

#endif
