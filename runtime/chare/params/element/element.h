/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element.h: the room params/element/: an element of an array as bytes, for types with `pup X;`.
 *
 *	pup_element.c  to bytes and back, to move it between processes
 *	pup_check.c    in checked mode: errors of its pup function
 */
#ifndef CK_ELEMENT_H
#define CK_ELEMENT_H

#include "../pup_er.h"

/** The bytes of the user's struct, packed by X_pup. */
size_t element_size(struct pe *pe, struct ck_obj *obj);
/** The memory of an element, in order, without overlaps: its struct, and what X_pup packs or
 * allocates elsewhere. Returns the number of pieces; *pieces_p is of malloc, and the caller's. */
size_t element_pieces(struct pe *pe, struct ck_obj *obj, struct csd_piece **pieces_p);
/** Pack it to the n bytes at `to`; n is the result of element_size. */
void element_pack(struct pe *pe, struct ck_obj *obj, void *to, size_t n);
/** The bytes of the user's struct alone, in a record whose bytes before `to` are complete; out may
 * be NULL. */
void element_pack_struct(struct pe *pe, struct ck_obj *obj, void *to, size_t n,
			 struct image_out *out);
/** Make it anew in `obj`, which is fresh from obj_new, from the n bytes that element_pack wrote.
 * The caller calls type->on_arrived when the element is in its tables. */
void element_unpack(struct pe *pe, struct ck_obj *obj, const void *from, size_t n);
/** The same from the bytes of the user's struct alone. */
void element_unpack_struct(struct pe *pe, struct ck_obj *obj, const void *from, size_t n);
/** Free memory of pup_alloc. `obj` itself stays, for element_free. */
void element_delete(struct pe *pe, struct ck_obj *obj);
/** Free an element's own memory after element_delete. In checked mode it is quarantined first,
 * filled with a pattern, and a write to it is detected when 64 more have left, or at the end. Takes
 * obj. */
void element_free(struct pe *pe, struct ck_obj *obj);
/** Pack, unpack into a copy full of a pattern, pack again and compare, also the copy's memory with
 * the element's (pup_check.c): abort with the error of X_pup. The element does not change. May be
 * called at any time between its handlers. */
void element_check(struct pe *pe, struct ck_obj *obj);

/* pup_element.c, for pup_check.c */

/** Run the pup function, with no handler running. */
void element_run(struct pe *pe, struct CkPupEr *p, struct ck_obj *obj);
/** The bytes of the user's struct, packed by X_pup. */
size_t element_struct_size(struct pe *pe, struct ck_obj *obj);

#endif
