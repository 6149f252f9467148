/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup_element.c: converts an array element to bytes and back, by the X_pup of its type, to move it
 * between processes.
 *
 *	here                                  there
 *	n = element_size
 *	element_pack(n bytes)        ---->    obj_new, element_unpack(n bytes), on_arrived
 *	element_delete, element_free
 *
 * X_pup runs outside of any handler. It works on the element itself, not on a copy.
 */
#include "element.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

void element_run(struct pe *pe, struct CkPupEr *p, struct ck_obj *obj)
{
	const struct ck_outer outer = ck_set_aside(pe);

	obj->coll->type->pup(p, self_of(obj));
	ck_go_on(pe, outer);
}

size_t element_struct_size(struct pe *pe, struct ck_obj *obj)
{
	struct CkPupEr p = { .mode = SIZING, .obj = obj };

	element_run(pe, &p, obj);
	return p.bytes;
}

/* The data that parts keep of the element comes first. */
size_t element_size(struct pe *pe, struct ck_obj *obj)
{
	return obj->coll->more_bytes + element_struct_size(pe, obj);
}

void element_pack_struct(struct pe *pe, struct ck_obj *obj, void *to, size_t n,
			 struct image_out *out)
{
	struct CkPupEr p = { .mode = PACKING, .obj = obj, .to = to, .limit = n, .out = out };

	element_run(pe, &p, obj);
	pup_check_packed(&p);
}

void element_pack(struct pe *pe, struct ck_obj *obj, void *to, size_t n)
{
	const size_t more = obj->coll->more_bytes;

	if (more)
		memcpy(to, obj_more(obj), more);
	element_pack_struct(pe, obj, (char *)to + more, n - more, NULL);
}

void element_unpack_struct(struct pe *pe, struct ck_obj *obj, const void *from, size_t n)
{
	struct CkPupEr p = { .mode = UNPACKING, .obj = obj, .from = from, .limit = n };

	element_run(pe, &p, obj);
	pup_check_unpacked(&p);
}

void element_unpack(struct pe *pe, struct ck_obj *obj, const void *from, size_t n)
{
	const size_t more = obj->coll->more_bytes;

	if (n < more)
		csd_abort(pe, "an element of %s came with %zu bytes; %zu belong to the runtime",
			  obj->coll->type->name, n, more);
	if (more)
		memcpy(obj_more(obj), from, more);
	element_unpack_struct(pe, obj, (const char *)from + more, n - more);
}

void element_delete(struct pe *pe, struct ck_obj *obj)
{
	struct CkPupEr p = { .mode = DELETING, .obj = obj };

	element_run(pe, &p, obj);
	pup_free_gone(pe, &p);
}

void element_free(struct pe *pe, struct ck_obj *obj)
{
	if (pe->node->check)
		owner_free_element(pe, obj);
	else
		free(obj);
}

/* ---- its memory ------------------------------------------------------------------------------ */

static int by_piece_address(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)((const struct csd_piece *)a)->at,
			y = (uintptr_t)((const struct csd_piece *)b)->at;

	return (x > y) - (x < y);
}

/* Fields lie within their struct, and pieces of an array within the array. */
static size_t merge(struct csd_piece *piece, size_t n)
{
	size_t kept = 0;

	for (size_t i = 1; i < n; i++) {
		struct csd_piece *last = &piece[kept];
		const uintptr_t end = (uintptr_t)last->at + last->bytes, at = (uintptr_t)piece[i].at;

		if (at >= end)
			piece[++kept] = piece[i];
		else if (at + piece[i].bytes > end)
			last->bytes = at + piece[i].bytes - (uintptr_t)last->at;
	}
	return kept + 1;
}

size_t element_pieces(struct pe *pe, struct ck_obj *obj, struct csd_piece **pieces_p)
{
	struct pup_pieces all = { NULL, 0, 0 };
	struct CkPupEr p = { .mode = SIZING, .obj = obj, .pieces = &all };

	pup_piece(&all, self_of(obj), obj->coll->type->bytes);
	if (element_has_pup(obj->coll->type))
		element_run(pe, &p, obj);
	*pieces_p = all.piece;
	if (!all.n)
		return 0;
	qsort(all.piece, all.n, sizeof *all.piece, by_piece_address);
	return merge(all.piece, all.n);
}
