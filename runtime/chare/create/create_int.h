/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_int.h: shared by the files of this room.
 *
 *	create.c   arrays and the elements that they begin with
 *	announce.c groups and nodegroups, which all PEs know before anyone can use them
 *	ready.c    whether all PEs have constructed the elements of a new array
 *	local.c    elements of this PE
 *	destroy.c  the end of an object
 *	place_watch.c  who hears what happens to elements
 *	create_save.c  collections in checkpoints
 *	branch_save.c  groups and main chares in checkpoints
 *	create_part.c  the part
 */
#ifndef CK_CREATE_INT_H
#define CK_CREATE_INT_H

#include "place_watch.h"

/* Handlers of PART_CREATE. */
enum { H_CREATE, H_READY, H_ANNOUNCE, H_KNOWN, H_BORN };

/** On a node: by part; NULL: it watches nothing. */
struct create_node {
	const struct place_watch *watches[CK_PARTS];
	const struct place_watch *alone[CK_PARTS + 1]; /* those with this function; then NULL */
};

/** A creation that three extents do not describe. It follows the constructor's parameters. */
struct ck_shape {
	CkArrayDims dims;         /* elements per dimension; all 0: none are known in advance */
	int32_t start[6], step[6];
	int32_t map;
	uint8_t sparse;           /* elements have indices and no places */
	uint8_t empty;            /* made without elements */
	uint8_t ready;            /* the creator wants a callback when all are constructed */
};

struct ready;

/** Of a collection on a PE. */
struct create_coll {
	struct ready *ready;      /* NULL: not requested, or all are constructed */
	struct place_still saved; /* a restart: what the image says of all its elements; `any`: read */
};
static inline struct create_coll *create_coll_of(const struct collection *c)
{
	return coll_state(c, PART_CREATE);
}

/** The elements of a PE and all below it are constructed. */
struct ready_msg {
	struct cmi_msg head;
	uint64_t coll;
};

/* ready.c; cb is NULL on all PEs but the creator's */
void ready_want(struct collection *c, const CkCallback *cb);
void ready_constructed(struct pe *pe, struct collection *c);
void ready_arrived(struct pe *pe, struct cmi_msg *m);
void ready_fini(struct pe *pe, struct collection *c);

/* create.c */
void create_arrived(struct pe *pe, struct cmi_msg *m);
/** coll_type for an array that extents alone do not describe. */
void coll_shape(struct pe *pe, struct collection *c, const CkGenChare *type,
		const struct ck_shape *shape);
/** Notify the watchers of the elements of a new collection. */
void tell_created(struct pe *pe, struct collection *c);
/** Whether memory could hold that many places, so that computations with them do not overflow. */
bool extents_fit(const CkArrayDims *dims);

/* create_save.c: functions of the part's `save`. */
void colls_refuse(struct pe *pe, struct csd_told *to);
void colls_write(struct pe *pe, struct image_out *out);
bool coll_is_mine(struct pe *pe, const struct image_name *name);
const char *coll_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n);

/* The errors of such messages from other processes; NULL: none. */
const char *create_misfit(struct pe *pe, const struct cmi_msg *m);
const char *announce_misfit(struct pe *pe, const struct cmi_msg *m);

/** A message about a group. */
struct announce_msg {
	struct cmi_msg head;
	uint64_t id;
	int32_t chare;            /* its number */
};

/* announce.c */
void announce_arrived(struct pe *pe, struct cmi_msg *m);
void known_arrived(struct pe *pe, struct cmi_msg *m);
void born_arrived(struct pe *pe, struct cmi_msg *m);
void announce_pe_free(struct pe *pe);

/* Functions of the tables of kinds (part.h). */
void group_announced(struct pe *pe, const CkGenChare *type, struct ck_env *env);
void group_born(struct pe *pe, const CkGenChare *type, uint64_t id);
struct ck_obj *group_local(struct pe *pe, const CkGenChare *type, const CkElement *e);

/* branch_save.c */
extern const struct ck_saving group_saving, main_saving;

#endif
