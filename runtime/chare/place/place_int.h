/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_int.h: what the files of this folder share. They are above its rooms, record < move; bulk/
 * lies upon move/, and nothing here calls it.
 *
 *	insert.c   inserting elements; the part
 *	make.c     makes elements, and ends them
 *	home.c     calls of elements that do not live at their home
 *	describe_place.c  calls of elements that do not exist, for the watchdog
 *	place_save.c  elements in checkpoints; place_read.c reads them
 */
#ifndef CK_PLACE_INT_H
#define CK_PLACE_INT_H

#include "move/place_move.h"

/* make.c */
/** Create the element. env is an insertion, with the constructor's parameters; NULL: for a call. */
void element_make(struct pe *pe, struct collection *c, CkIndex i, int to, struct ck_env *env);
/** Construct an element of this PE, with the message of its insertion. */
void element_make_here(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env);

void element_destroy(struct pe *pe, struct ck_obj *obj);

/* describe_place.c */
void place_describe(struct pe *pe, struct csd_told *to);

/* home.c */
void home_arrived(struct pe *pe, struct collection *c, const struct where_msg *w);
void seek(struct pe *pe, struct collection *c, struct ck_env *env);
const char *told_misfit(struct pe *pe, const struct cmi_msg *m);
_Noreturn void inserted_twice(struct pe *pe, const struct collection *c, CkIndex i, int from);

#endif
