/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_watch.h: events of the room place/ for the rooms above: elements move, collections begin to
 * change, seats move, and other PEs send messages about an element. A part registers when its node
 * starts. The list stands below place/, so that a part can watch in a library without it.
 */
#ifndef CK_PLACE_WATCH_H
#define CK_PLACE_WATCH_H

#include "create.h"

/** What can move in a quiescent collection (place/bulk/); of one PE, or of several. All zero: of
 * none. */
struct place_still {
	uint32_t lo, hi;          /* the fewest and the most reductions that an element has contributed
				   * to */
	uint32_t scans;           /* scans that each element has called */
	uint32_t syncs;           /* that are over */
	bool any;                 /* there are elements: the numbers are valid */
	bool fixed;               /* seats cannot move: a reduction or a scan is open, or a loop over
				   * elements runs */
	bool dynamic;             /* elements were created or destroyed */
	bool away;                /* elements live on other PEs than their seats */
};

/** Each function is called on the PE of the event; all may be NULL. */
struct place_watch {
	/** An element has arrived from another PE. */
	void (*arrived)(struct pe *pe, struct ck_obj *obj);
	/** An element is about to go to another PE. */
	void (*leaving)(struct pe *pe, struct ck_obj *obj);
	/** An element that was about to leave stays for now. */
	void (*stayed)(struct pe *pe, struct ck_obj *obj);
	/** An element wants to go to another PE. True: not yet; the part calls place_may_leave when it may
	 * ask again. */
	bool (*leave_later)(struct pe *pe, struct ck_obj *obj);
	/** Whether the part has something of the element that leave_later would wait for: then the element
	 * does not move in bulk (place_bulk). Called for each element at each sync. */
	bool (*alone)(struct pe *pe, struct ck_obj *obj);
	/** The element is suspended until it has arrived, or until `goes_on`: it does not leave after all,
	 * or no longer wants to. */
	void (*rests)(struct pe *pe, struct ck_obj *obj);
	void (*goes_on)(struct pe *pe, struct ck_obj *obj);
	/** The element has been packed for another process: abort if that missed something of the
	 * part's. */
	void (*packed)(struct pe *pe, struct ck_obj *obj);

	/** Elements of the collection come and go from now on: c->dynamic is set. */
	void (*dynamic)(struct pe *pe, struct collection *c);
	/** Nothing of the collection is under way (bulk.c): report what that means for moves. */
	void (*still)(struct pe *pe, struct collection *c, struct place_still *still);
	/** Seats have moved in bulk: this PE has other elements now, in other slots. `still` is of all
	 * PEs. */
	void (*reseated)(struct pe *pe, struct collection *c, const struct place_still *still);
	/** A restart: this PE has the elements that it has, for which nothing was under way when they were
	 * saved. `saved`: of all PEs then. */
	void (*remade)(struct pe *pe, struct collection *c, const struct place_still *saved);
	/** All PEs have done that. */
	void (*reopened)(struct pe *pe, struct collection *c);

	/** A contribution of an element with a seat on this PE, made while it was away, in order: `env` is
	 * the part's argument of seat_send; the call takes it. `seat` has the element's slot: a stub, or
	 * the element itself, which is back. `from` is the PE where it was. */
	void (*filed)(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from);
	/** A message from the same part on another PE about an element of this PE (place_tell). The call
	 * takes it. */
	void (*told)(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
	/** For csd_shape.misfit of these two messages, which name a collection that can exist. */
	const char *(*filed_misfit)(struct pe *pe, const struct ck_env *env);
	const char *(*told_misfit)(struct pe *pe, const struct ck_env *env);
};

/** While the node starts: register the part. The caller keeps `watch` and does not change it. Parts
 * are called in the order of their numbers. */
void place_join(struct node *node, int part, const struct place_watch *watch);

/** A part's; NULL: it has not registered, or there is no such part. */
const struct place_watch *watch_of(const struct pe *pe, uint32_t part);
/** The next one, from part *part on; NULL: no more. */
const struct place_watch *watch_next(const struct pe *pe, uint32_t *part);
/** Those that have `alone`, in any order; NULL ends the list. */
const struct place_watch *const *watches_alone(const struct pe *pe);

#endif
