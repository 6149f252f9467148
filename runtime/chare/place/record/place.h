/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: the room place/: elements that come, go and move.
 *
 * Owns     inserting and destroying elements (insert.c, make.c), passing calls on at home (home.c),
 *          which broadcasts new elements get (newborn.c), moving elements (movable.c, leave.c,
 *          stay.c, travel.c, arrive.c), the ways of calls to them (lease.c), detecting that
 *          inserting is over (closing.c), the seats of elements that are away (seat.c), moving many
 *          elements of an array that is at rest (bulk.c).
 * Called   by the rooms above, on the element's PE or its home; by create/ and call/ through
 *          struct ck_kind, the route of a collection (call_route.h), and struct call_newborns,
 *          because the room may be left out.
 * Calls    create/, wait/, call/, params/, core/.
 */
#ifndef CK_PLACE_H
#define CK_PLACE_H

#include "../../create/place_watch.h"

enum { PART_PLACE = 10 };
extern const struct ck_part place_part;

/** The destination of an element that is about to leave (the watch `leaving`); -1: unknown here. */
int place_leaves_to(const struct ck_obj *obj);

/** Insertions that this PE has sent and that it has carried out, and elements that it has let PEs
 * make. If over all PEs both pairs of sums agree, no insertion is under way. */
struct place_inserts {
	uint64_t sent, done, makes;
};
struct place_inserts place_inserts_of(const struct collection *c);

/** Whether the element exists, as far as this PE, its home, knows. */
bool place_lives(struct pe *pe, struct collection *c, CkIndex i);

/** The seat of an element of this PE that is a guest. */
static inline int place_seat(const struct ck_obj *guest)
{
	return guest->coll->guests->list[guest->ordinal].seat;
}

/** Send a part's message about an element to the same part on the element's PE: its `told`
 * (place_watch.h) gets it, in order with calls of the element. While the element moves it waits. If
 * there is no such element, it is dropped. Takes the message; the part may use the payload. */
void place_tell(struct pe *pe, const CkElement *e, int part, struct ck_env *env);
/** A part whose `leave_later` returned true has no further objection. */
void place_may_leave(struct pe *pe, struct ck_obj *obj);

/* ---- seat.c: elements that live on another PE than the one that counts them ------------------ */

/** Occupies an element's slot at its seat while the element is away. */
struct stub {
	struct ck_obj obj;        /* first; n_contributed: reductions to which its contributions have come.
				   * OBJ_STUB, unless the element is back and has the slot again: OBJ_LATE */
	uint32_t n_filed;         /* contributions that it sent while away and that were filed here */
	uint32_t n_sent;          /* once it is back or destroyed: the number that it sent */
	struct travel *end;       /* ours; of a destroyed element: forwarded when the last one is filed */
	struct cmi_msg *early;    /* ours: contributions after one that has not arrived, by number */
};

/** On the seat: the element leaves. A stub takes its slot, and is returned; obj is in none of the
 * collection's tables any more, and is the caller's. Not while `walks`. */
struct ck_obj *seat_leave(struct pe *pe, struct ck_obj *obj);
/** On the seat: the element is back; obj->coll is this PE's. It replaces its stub. */
void seat_return(struct pe *pe, struct ck_obj *obj);
/** On any other PE: an element with another seat arrives; guest_remove: it leaves. obj->coll is
 * this PE's. The collection frees its guests at the end of the job. */
void guest_add(struct ck_obj *obj, int seat);
void guest_remove(struct ck_obj *obj);

/* ---- bulk.c: many elements move at once, while nothing of their array is under way ----------- */
/*
 * All PEs do the same, in this order:
 *
 *	place_close     each PE keeps what it sends to the collection from now on
 *			(wait until nothing is under way: quiescence)
 *	place_still_of  each PE reports what can move; place_still_join combines the reports of all PEs
 *	place_bulk      all PEs, with the same plan
 *			(a barrier, when place_bulk is over on every PE)
 *	place_open      sends what was kept, and calls X_on_arrived
 */

/** An element moves. */
struct place_move {
	CkIndex index;
	int32_t from, to;         /* PEs; not the same */
};

/** The destinations of elements; equal on all PEs. Either cuts, or moves. */
struct place_plan {
	/** [n_pes + 1], rising from 0 to the number of places: the elements cuts[p] .. cuts[p + 1] - 1 in
	 * row-major order go to PE p. Only for arrays with extents. NULL: moves. */
	const uint64_t *cuts;
	const struct place_move *moves; /* each element at most once */
	size_t n_moves;
	struct place_still still; /* of all PEs */
};

/** Keep calls, broadcasts, multicasts, insertions and destructions that this PE sends to the
 * collection. Messages that are under way, and those of PEs that are not closed, still arrive. No
 * effect if it is closed. */
void place_close(struct pe *pe, struct collection *c);
bool place_is_closed(const struct collection *c);
/** This PE's report. Only when quiescent. */
struct place_still place_still_of(struct pe *pe, struct collection *c);
void place_still_join(struct place_still *all, const struct place_still *one);
/** Why the element cannot move now, "it has threads"; NULL: it can. */
const char *place_pinned(struct pe *pe, struct ck_obj *obj);
/** Whether the element can move by CkMigrateMe, but not by place_bulk. */
bool place_moves_alone(struct pe *pe, struct ck_obj *obj);
/** Move elements. The collection is closed on all PEs, and nothing of it is under way: no call, no
 * reduction, no move. Elements that cannot move like this (place_pinned, place_moves_alone) must
 * stay, else the job ends. The plan is the caller's, and may be freed when the call returns. `over`
 * is called when all elements for this PE have arrived, maybe before the call returns.
 *
 * Seats move along in a sparse array, and with cuts, if plan->still allows; then no element of the
 * collection is away from its seat any more, and with cuts none is away from home: the cuts are the
 * collection's map, and calls cost what they cost in an array that never moved. Otherwise elements
 * live there as guests. */
void place_bulk(struct pe *pe, struct collection *c, const struct place_plan *plan,
		void (*over)(struct pe *pe, struct collection *c, void *arg), void *arg);
/** Whether place_bulk with this plan moves seats. */
bool place_plan_moves_seats(const struct collection *c, const struct place_plan *plan);
/** After a place_bulk that is over on all PEs, or instead of one: send what was kept. */
void place_open(struct pe *pe, struct collection *c);

#endif
