/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element.c: an element of an array as bytes, by the X_pup of its type: to leave its process, and to arrive in
 * another one.
 *
 *	here                                  there
 *	n = element_size
 *	element_pack(n bytes)        ---->    obj_new, element_unpack(n bytes), on_arrived
 *	element_delete, element_free
 *
 * X_pup runs outside of any handler. It works on the element itself, not on a copy.
 */
#include "pup_int.h"
#include "../../machine/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* Run the pup function, with no handler running. */
static void run(struct pe *pe, struct CkPupEr *p, struct ck_obj *obj)
{
	const struct ck_outer outer = ck_set_aside(pe);

	obj->coll->type->pup(p, self_of(obj));
	ck_go_on(pe, outer);
}

size_t element_size(struct pe *pe, struct ck_obj *obj)
{
	struct CkPupEr p = { .mode = SIZING, .obj = obj };

	run(pe, &p, obj);
	return p.bytes;
}

void element_pack(struct pe *pe, struct ck_obj *obj, void *to, size_t n)
{
	struct CkPupEr p = { .mode = PACKING, .obj = obj, .to = to, .limit = n };

	run(pe, &p, obj);
	if (p.bytes != n)
		pup_fault(&p, "packs %zu bytes, and said %zu when it was sized: it must do the same each "
			  "time", p.bytes, n);
}

void element_unpack(struct pe *pe, struct ck_obj *obj, const void *from, size_t n)
{
	struct CkPupEr p = { .mode = UNPACKING, .obj = obj, .from = from, .limit = n };

	run(pe, &p, obj);
	if (p.bytes != n)
		pup_fault(&p, "unpacks %zu bytes, and packed %zu: it must do the same each time", p.bytes, n);
}

void element_delete(struct pe *pe, struct ck_obj *obj)
{
	struct CkPupEr p = { .mode = DELETING, .obj = obj };

	run(pe, &p, obj);
	pup_free_gone(pe, &p);
}

void element_free(struct pe *pe, struct ck_obj *obj)
{
	(void)pe;
	free(obj);
}

/* ---- checked mode ---------------------------------------------------------------------------------- */

static void compare(struct CkPupEr *p, const unsigned char *a, const unsigned char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			pup_fault(p, "does not restore what it packs: packed again, byte %zu of %zu is 0x%02x "
				  "instead of 0x%02x", i, n, b[i], a[i]);
}

/* Another object that says it is this element: X_pup may ask for its index. */
static struct ck_obj *unset_copy(const struct ck_obj *obj)
{
	const size_t bytes = obj->coll->type->bytes;
	struct ck_obj *copy = cmi_alloc(sizeof *copy + bytes, "a check of an element");

	*copy = *obj;
	memset(self_of(copy), PUP_UNSET, bytes);
	return copy;
}

void element_check(struct pe *pe, struct ck_obj *obj)
{
	struct CkPupEr p = { .obj = obj };
	const size_t n = element_size(pe, obj);
	unsigned char *a = cmi_alloc(n, "a check of an element"), *b = cmi_alloc(n, "a check of an element");
	struct ck_obj *copy = unset_copy(obj);

	element_pack(pe, obj, a, n);
	element_unpack(pe, copy, a, n);
	element_pack(pe, copy, b, n);
	compare(&p, a, b, n);
	element_delete(pe, copy);
	free(copy);
	free(a);
	free(b);
}

void CkPupCheck(void *self)
{
	struct pe *pe = ck_self();
	const CkGenChare *type = obj_of(self)->coll->type;

	if (!type->pup)
		csd_abort(pe, "CkPupCheck: %s is not packed; declare 'pup %s;' in the .ci file", type->name,
			  type->name);
	element_check(pe, obj_of(self));
}
