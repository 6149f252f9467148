/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving.h: how the objects of one kind are saved in checkpoints and made anew (kinds/saved/). Each
 * kind but arrays has such a table in its struct ck_kind; elements are saved by place/.
 *
 *	mine, anew     memory in which X_pup unpacks; nobody finds it
 *	there          this PE does
 *	all_arrived    everybody does
 */
#ifndef CK_SAVING_H
#define CK_SAVING_H

#include "../../ckgen.h"

struct csd_told;
struct image_name;
struct ck_obj;
struct pe;

/** Objects of one kind. `list` is of malloc. */
struct ck_objs {
	struct ck_obj **list;
	size_t n, room;
};

struct ck_saving {
	uint32_t record;          /* enum image_kind */
	/** Append the objects that this PE saves, in any order. */
	void (*list)(struct pe *pe, CkGenKind kind, struct ck_objs *all);
	/** Set coll, index and flags of the object's name. They never change. */
	void (*name)(const struct pe *pe, struct ck_obj *obj, struct image_name *name);
	/** Whether this PE keeps it; as save.mine of struct ck_part. */
	bool (*mine)(struct pe *pe, const struct image_name *name);
	/** Set *obj_p to memory for it. Returns NULL, or what is wrong with the name. */
	const char *(*anew)(struct pe *pe, const CkGenChare *type, const struct image_name *name,
			    struct ck_obj **obj_p);
	void (*there)(struct pe *pe, struct ck_obj *obj, const struct image_name *name);
	/** X_on_arrived of all objects of this kind have run on this PE; NULL: nothing to do. */
	void (*all_arrived)(struct pe *pe);
	/** Whether the object has not been destroyed since. NULL: it cannot be. */
	bool (*lives)(struct pe *pe, const struct ck_obj *obj);
	/** Describe what prevents a checkpoint, one record each; NULL: nothing. */
	void (*refuse)(struct pe *pe, struct csd_told *to);
	/** The same for one object; NULL: nothing. */
	void (*refuse_of)(struct pe *pe, struct ck_obj *obj, struct csd_told *to);
};

#endif
