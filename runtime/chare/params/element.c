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
#include <sys/mman.h>
#include <unistd.h>

/* Run the pup function, with no handler running. */
static void run(struct pe *pe, struct CkPupEr *p, struct ck_obj *obj)
{
	const struct ck_outer outer = ck_set_aside(pe);

	obj->coll->type->pup(p, self_of(obj));
	ck_go_on(pe, outer);
}

static size_t size_of_struct(struct pe *pe, struct ck_obj *obj)
{
	struct CkPupEr p = { .mode = SIZING, .obj = obj };

	run(pe, &p, obj);
	return p.bytes;
}

/* What parts keep of the element comes first. */
size_t element_size(struct pe *pe, struct ck_obj *obj)
{
	return obj->coll->more_bytes + size_of_struct(pe, obj);
}

void element_pack(struct pe *pe, struct ck_obj *obj, void *to, size_t n)
{
	const size_t more = obj->coll->more_bytes;
	struct CkPupEr p = { .mode = PACKING, .obj = obj, .to = (char *)to + more, .limit = n - more };

	if (more)
		memcpy(to, obj_more(obj), more);
	run(pe, &p, obj);
	pup_check_packed(&p);
}

void element_unpack(struct pe *pe, struct ck_obj *obj, const void *from, size_t n)
{
	const size_t more = obj->coll->more_bytes;
	struct CkPupEr p = { .mode = UNPACKING, .obj = obj, .from = (const char *)from + more, .limit = n - more };

	if (n < more)
		csd_abort(pe, "an element of %s came with %zu bytes; %zu belong to the runtime", obj->coll->type->name,
			  n, more);
	if (more)
		memcpy(obj_more(obj), from, more);
	run(pe, &p, obj);
	pup_check_unpacked(&p);
}

void element_delete(struct pe *pe, struct ck_obj *obj)
{
	struct CkPupEr p = { .mode = DELETING, .obj = obj };

	run(pe, &p, obj);
	pup_free_gone(pe, &p);
}

void element_free(struct pe *pe, struct ck_obj *obj)
{
	if (pe->node->check)
		owner_free_element(pe, obj);
	else
		free(obj);
}

/* ---- where its memory is ---------------------------------------------------------------------------- */

void pup_piece(struct pup_pieces *all, const void *at, size_t bytes)
{
	if (!at || !bytes)
		return;
	if (all->n == all->room) {
		all->room = all->room ? 2 * all->room : 16;
		all->piece = cmi_realloc(all->piece, all->room, sizeof *all->piece, "the memory of an element");
	}
	all->piece[all->n++] = (struct csd_piece){ at, bytes };
}

static int by_place(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)((const struct csd_piece *)a)->at, y = (uintptr_t)((const struct csd_piece *)b)->at;

	return (x > y) - (x < y);
}

/* Fields of the struct lie in the struct, and parts of an array in the array. */
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
		run(pe, &p, obj);
	*pieces_p = all.piece;
	if (!all.n)
		return 0;
	qsort(all.piece, all.n, sizeof *all.piece, by_place);
	return merge(all.piece, all.n);
}

/* ---- checked mode ---------------------------------------------------------------------------------- */

/* Small numbers may be mapped, too, but are no heap. A page that has never been used is not taken for one that is
 * pointed to: address sanitizers reserve large parts of the address space. */
bool pup_is_address(uintptr_t word)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char used = 0;

	return word >> 32 && !(word >> 47) && !mincore((void *)(word & ~(page - 1)), page, &used) && (used & 1);
}

static void compare(const struct ck_obj *obj, const unsigned char *a, const unsigned char *b, size_t n)
{
	const struct CkPupEr p = { .obj = obj };

	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			pup_fault(&p, "does not restore what it packs: packed again, byte %zu of %zu is 0x%02x "
				  "instead of 0x%02x", i, n, b[i], a[i]);
}

/* Numbers that unpacking has to set become a pattern. Pointers become NULL, which X_pup may rely on: it need not set
 * those for which it packed nothing. What is 0 stays 0. */
static void fill_unset(char *copy, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(uintptr_t)) {
		const size_t n = bytes - i < sizeof(uintptr_t) ? bytes - i : sizeof(uintptr_t);
		uintptr_t word = 0;

		memcpy(&word, copy + i, n);
		memset(copy + i, word && !pup_is_address(word) ? PUP_UNSET : 0, n);
	}
}

/* Another object that says it is this element: X_pup may ask for its index. */
static struct ck_obj *unset_copy(const struct ck_obj *obj)
{
	const size_t bytes = sizeof *obj + obj->coll->type->bytes;
	struct ck_obj *copy = memcpy(cmi_alloc(bytes, "a check of an element"), obj, bytes);

	fill_unset(self_of(copy), obj->coll->type->bytes);
	return copy;
}

static unsigned char *packed(struct pe *pe, struct ck_obj *obj, size_t n, const void *self)
{
	unsigned char *to = cmi_alloc(n, "a check of an element");
	struct CkPupEr p = {
		.mode = PACKING, .obj = obj, .to = (char *)to, .limit = n, .compared = true, .self = self,
		.self_bytes = obj->coll->type->bytes,
	};

	run(pe, &p, obj);
	pup_check_packed(&p);
	pup_check_apart(&p);
	free(p.gone);
	return to;
}

static struct ck_obj *unpacked(struct pe *pe, const struct ck_obj *obj, const unsigned char *from, size_t n)
{
	struct ck_obj *copy = unset_copy(obj);
	struct CkPupEr p = { .mode = UNPACKING, .obj = copy, .from = (const char *)from, .limit = n };

	run(pe, &p, copy);
	pup_check_unpacked(&p);
	return copy;
}

void element_check(struct pe *pe, struct ck_obj *obj)
{
	const size_t n = size_of_struct(pe, obj);
	unsigned char *a = packed(pe, obj, n, self_of(obj));
	struct ck_obj *copy = unpacked(pe, obj, a, n);
	const size_t again = size_of_struct(pe, copy);
	const struct CkPupEr p = { .obj = obj };

	if (again != n)
		pup_fault(&p, "does not restore what it packs: packed again, it takes %zu bytes instead of %zu",
			  again, n);

	unsigned char *b = packed(pe, copy, n, NULL);

	compare(obj, a, b, n);
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
