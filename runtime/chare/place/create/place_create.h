/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_create.h: the room place/create/: creates and destroys objects.
 *
 *	create.c   arrays and the elements that they begin with
 *	announce.c groups and nodegroups, which all PEs know before anyone can use them
 *	ready.c    whether all PEs have constructed the elements of a new array
 *	make.c     elements that are made while the program runs
 *	destroy.c  the end of an object
 */
#ifndef CK_PLACE_CREATE_H
#define CK_PLACE_CREATE_H

#include "../move/place_move.h"

/** A creation that three extents do not describe. It follows the constructor's parameters. */
struct ck_shape {
	CkArrayDims dims;         /* elements per dimension; all 0: none are known in advance */
	int32_t start[6], step[6];
	int32_t map;
	uint8_t sparse;           /* elements have indices and no places */
	uint8_t empty;            /* made without elements */
	uint8_t ready;            /* the creator wants a callback when all are constructed */
};

/* make.c */
/** Create the element. env is an insertion, with the constructor's parameters; NULL: for a call. */
void element_make(struct pe *pe, struct collection *c, CkIndex i, int to, struct ck_env *env);
/** Construct an element of this PE, with the message of its insertion. */
void element_make_here(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env);

void element_destroy(struct pe *pe, struct ck_obj *obj);

/* ready.c; cb is NULL on all PEs but the creator's */
void ready_want(struct collection *c, const CkCallback *cb);
void ready_constructed(struct pe *pe, struct collection *c);
void ready_arrived(struct pe *pe, struct cmi_msg *m);

/* create.c */
void create_arrived(struct pe *pe, struct cmi_msg *m);
struct ck_obj *obj_add(struct collection *c, CkIndex index, uint64_t slot);

/* The errors of such messages from other processes; NULL: none. */
const char *create_misfit(struct pe *pe, const struct cmi_msg *m);
const char *announce_misfit(struct pe *pe, const struct cmi_msg *m);

/** A message about a group. */
struct announce_msg {
	struct cmi_msg head;
	uint64_t id;
	int32_t chare;            /* its number */
};
#define ANNOUNCE_SHAPE CK_SHAPE_STRUCT(struct announce_msg), CK_SHAPE_ID(struct announce_msg, id), \
	CK_SHAPE_MAKER(struct announce_msg, id)

/* announce.c */
void announce_arrived(struct pe *pe, struct cmi_msg *m);
void known_arrived(struct pe *pe, struct cmi_msg *m);
void born_arrived(struct pe *pe, struct cmi_msg *m);
void announce_pe_free(struct pe *pe);

/* Functions of the tables of kinds (part.h). */
void group_announced(struct pe *pe, const CkGenChare *type, struct ck_env *env);
void group_born(struct pe *pe, const CkGenChare *type, uint64_t id);

#endif
