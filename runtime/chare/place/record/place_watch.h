/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_watch.h: what the rooms above place/ hear from it: elements move, collections begin to
 * change, seats move, and other PEs say something about an element. A part joins when its node
 * starts.
 */
#ifndef CK_PLACE_WATCH_H
#define CK_PLACE_WATCH_H

#include "place.h"

/** Each function is called on the PE where the event happens; all may be left out. */
struct place_watch {
	/** An element has come from another PE. / An element is about to go to another PE. */
	void (*arrived)(struct pe *pe, struct ck_obj *obj);
	void (*leaving)(struct pe *pe, struct ck_obj *obj);
	/** An element that was about to leave stays for now. */
	void (*stayed)(struct pe *pe, struct ck_obj *obj);
	/** An element wants to go to another PE. True: not yet; the part calls place_may_leave when it may
	 * ask again. */
	bool (*leave_later)(struct pe *pe, struct ck_obj *obj);
	/** Whether the part has something of the element's that leave_later brings to rest: then the
	 * element does not move together with others (place_bulk). Each sync asks for each element. */
	bool (*alone)(struct pe *pe, struct ck_obj *obj);
	/** Nothing of the element runs from now on, until it has arrived, or `goes_on`: it does not leave
	 * after all, or no longer wants to. */
	void (*rests)(struct pe *pe, struct ck_obj *obj);
	void (*goes_on)(struct pe *pe, struct ck_obj *obj);
	/** The element has been packed for another process: abort if that missed something of the
	 * part's. */
	void (*packed)(struct pe *pe, struct ck_obj *obj);

	/** From now on elements of the collection come and go: c->dynamic is set. */
	void (*dynamic)(struct pe *pe, struct collection *c);
	/** Nothing of the collection is under way (bulk.c): say what that means for moves. */
	void (*rest)(struct pe *pe, struct collection *c, struct place_rest *rest);
	/** Seats have moved at rest: this PE has other elements now, in other slots. `rest` is of all PEs.
	 * / All PEs have done that. */
	void (*reseated)(struct pe *pe, struct collection *c, const struct place_rest *rest);
	void (*reopened)(struct pe *pe, struct collection *c);

	/** What an element of a seat on this PE contributed while it was away, in the order in which it
	 * did: `env` is what this part gave to seat_send; the call takes it. `seat` has the element's
	 * slot: a stub, or the element itself, which is back. `from` is the PE where it was. */
	void (*filed)(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from);
	/** What another PE's part of this number says about an element of this PE (place_tell). The call
	 * takes it. */
	void (*told)(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
	/** For csd_shape.misfit of these two messages, which name a collection that can exist. */
	const char *(*filed_misfit)(struct pe *pe, const struct ck_env *env);
	const char *(*told_misfit)(struct pe *pe, const struct ck_env *env);
};

/** While the node starts: the part hears from now on. The caller keeps `watch` and does not change
 * it. Parts hear in the order of their numbers. */
void place_join(struct node *node, int part, const struct place_watch *watch);

#endif
