/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_move.h: the room place/move/: elements that go to another PE.
 *
 *	movable.c  whether an element can move, and what it must not take along
 *	leave.c    elements that leave a PE, to another one or for good
 *	travel.c   what goes along with an element
 *	arrive.c   elements that arrive
 *	seat.c     elements that are away from their seat, and what they contribute
 */
#ifndef CK_PLACE_MOVE_H
#define CK_PLACE_MOVE_H

#include "../record/place_record.h"
#include "../../params/element/element.h"

/* movable.c */
/** End the job unless the element may move to the PE. */
void check_move(struct pe *pe, struct ck_obj *obj, int to);
/** End the job if it would take along what must stay here. */
void check_leaving(struct pe *pe, struct ck_obj *obj);
/** Whether there are ends of channels on this PE at all. */
bool has_ends(struct pe *pe);
/** Whether ends of channels lie in the element's memory. */
bool holds_ends(struct pe *pe, struct ck_obj *obj);

/* leave.c */
/** Notify all watches: it is about to leave this PE; aborts if it cannot. */
void tell_leaving(struct pe *pe, struct ck_obj *obj);
/** It has arrived. */
void tell_arrived(struct pe *pe, struct ck_obj *obj);
/** For an element that has just been destroyed here, and whose home is another PE or whose seat is:
 * let its last calls arrive, then tell them. */
void stay_gone(struct pe *pe, struct ck_obj *obj, int seat);
/** Whether the element lives here, or is about to leave: not if it is destroyed, or a waiting call
 * does that. */
bool element_exists(const struct pe *pe, const struct collection *c, CkIndex i);
void stay_arrived(struct pe *pe, struct collection *c, const struct where_msg *w);
void leave_arrived(struct pe *pe, struct cmi_msg *m);

/* travel.c */

struct travel *travel_new(const struct collection *c, CkIndex i);
void travel_free(struct travel *t);
/** Send it to a PE. Takes it. */
void travel_send(struct pe *pe, int dst_pe, struct travel *t);
/** Within a process: it is sent as it is. */
struct travel_msg {
	struct cmi_msg head;
	struct travel *travel;
};
void travel_arrived(struct pe *pe, struct cmi_msg *m);
/** Its element is back on its seat, or a guest. */
void travel_take_seat(struct pe *pe, struct collection *c, struct travel *t);

/** The head of a travel's image. */
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
/** The head, with the image's size; the calls are then in the form that leaves a process. */
struct packed travel_measure(struct pe *pe, int dst_pe, struct travel *t);
/** Write the image, and take the travel. */
void travel_write(struct pe *pe, struct travel *t, const struct packed *p, void *to);
/** Make it anew. */
struct travel *travel_read(struct pe *pe, struct collection *c, const struct packed *p);
/** Within a process: list it, for the end of the job. */
void travel_take_off(struct node *node, struct travel *t);
/** It has arrived. */
void travel_land(struct node *node, struct travel *t);
void packed_arrived(struct pe *pe, struct cmi_msg *m);
const char *packed_misfit(struct pe *pe, const struct cmi_msg *m);
int travels_init(struct node *node);
void travels_free(struct node *node);

/* seat.c */
/** Whether elements are away from their seats here. */
bool seats_away(const struct collection *c);
/** A restart: this PE is the seat of an element that lives elsewhere, in an array with extents. Not
 * if its slot is taken: the caller finds that there are two of them. */
void seat_stub(struct collection *c, CkIndex i);
/** After a move in bulk with seats: no stub remains. */
void stubs_drop(struct collection *c);
/** Set a bit of OBJ_ODD of an element in elems, or clear it. A guest gets the bit and is not
 * counted. */
void obj_odd(struct ck_obj *obj, uint32_t bit);
void obj_even(struct ck_obj *obj, uint32_t bit);
/** On its seat: the element is destroyed, and its slot becomes empty. */
void seat_gone(struct pe *pe, struct collection *c, CkIndex i);
/** See seat_send (create.h). */
void send_to_seat(struct pe *pe, struct ck_obj *obj, int part, struct ck_env *env);
void seats_fini(struct pe *pe, struct collection *c);
void seat_arrived(struct pe *pe, struct cmi_msg *m);
const char *seat_misfit(struct pe *pe, const struct cmi_msg *m);
/** On the seat of an element that was destroyed while its stub had the slot: it has sent n
 * contributions. True: all are filed, and nothing counts the element any more. Otherwise the call
 * takes `end`, which travel_seat_over gets then; until then the index cannot be given to a new
 * element. */
bool seat_end(struct pe *pe, struct collection *c, CkIndex i, uint32_t n, struct travel *end);
void travel_seat_over(struct pe *pe, struct collection *c, struct travel *end);

#endif
