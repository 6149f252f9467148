/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup.c: parameters that a function of the program sizes, packs and unpacks. The PE keeps the objects
 * that unpacking makes until their handler has ended.
 */
#include "pup_int.h"
#include "../../machine/cmi_alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of one pup_alloc; the bytes follow. */
struct pup_block {
	struct pup_block *next;
	uint64_t pad;
};
_Static_assert(sizeof(struct pup_block) == 16, "the object stays 16-aligned");

int pup_isSizing(const pup_er p) { return p->mode == SIZING; }
int pup_isPacking(const pup_er p) { return p->mode == PACKING; }
int pup_isUnpacking(const pup_er p) { return p->mode == UNPACKING; }
int pup_isDeleting(const pup_er p) { return p->mode == DELETING; }

void pup_fault(const struct CkPupEr *p, const char *fmt, ...)
{
	char what[256], name[128] = "a pup function";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	if (p->obj)
		csd_abort(ck_self(), "%s: %s_pup %s", obj_describe(p->obj, name, sizeof name),
			  p->obj->coll->type->name, what);
	csd_abort(ck_self(), "%s %s", name, what);
}

static void unpack(pup_er p, void *v, size_t n)
{
	if (n > p->limit - p->bytes)
		pup_fault(p, "unpacks more than it packed: %zu bytes behind %zu of %zu", n, p->bytes,
			  p->limit);
	memcpy(v, p->from + p->bytes, n);
	p->bytes += n;
}

static void pack(pup_er p, const void *v, size_t n)
{
	if (n > p->limit - p->bytes)
		pup_fault(p, "packs more than the %zu bytes that it said when it was sized: it must do "
			  "the same each time", p->limit);
	memcpy(p->to + p->bytes, v, n);
	p->bytes += n;
}

void pup_bytes(pup_er p, void *v, size_t n)
{
	if (!n)
		return;
	switch (p->mode) {
	case SIZING:
		p->bytes += n;
		break;
	case PACKING:
		pack(p, v, n);
		break;
	case UNPACKING:
		unpack(p, v, n);
		break;
	case DELETING:
		break;
	}
}

static void *block_new(struct pup_block **list, size_t bytes)
{
	struct pup_block *b;

	if (bytes >= PTRDIFF_MAX / 2)
		cmi_no_memory(bytes, "a parameter");
	b = cmi_alloc_zero(1, sizeof *b + bytes, "a parameter");
	b->next = *list;
	*list = b;
	return b + 1;
}

/* Deleting: the memory goes later, because the pup function may still have to look at what is in it. */
static void *let_go(pup_er p, void *old, size_t bytes)
{
	if (!old)
		return old;
	if (p->n_gone == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->gone = cmi_realloc(p->gone, p->room, sizeof *p->gone, "an element that is deleted");
	}
	p->gone[p->n_gone++] = (struct pup_gone){ old, bytes };
	return old;
}

void *pup_alloc(pup_er p, void *old, size_t bytes)
{
	if (p->mode == DELETING)
		return let_go(p, old, bytes);
	if (p->mode != UNPACKING)
		return old;
	if (p->made)
		return block_new(p->made, bytes);
	return cmi_alloc_zero(1, bytes ? bytes : 1, "an object");
}

void pup_forget_until(struct pe *pe, struct pup_block *until)
{
	struct pup_block *b = ck_of(pe)->unpacked, *next;

	ck_of(pe)->unpacked = until;
	for (; b != until; b = next) {
		next = b->next;
		free(b);
	}
}

void pup_forget(struct pe *pe)
{
	pup_forget_until(pe, NULL);
}

/* Size or pack: the function gets a copy of each object, which it may assign to. */
static size_t over_copies(struct CkPupEr *p, CkPupFn pup, const char *objs, size_t bytes, size_t n)
{
	struct pup_block *copies = NULL;
	void *copy = n ? block_new(&copies, bytes) : NULL;

	for (size_t i = 0; i < n; i++) {
		memcpy(copy, objs + i * bytes, bytes);
		pup(p, copy);
	}
	free(copies);
	return p->bytes;
}

size_t CkGen_pupSize(CkPupFn pup, const void *objs, size_t bytes, size_t n)
{
	struct CkPupEr p = { .mode = SIZING };

	return over_copies(&p, pup, objs, bytes, n);
}

/* Checked mode compares both passes: if packing takes more bytes than sizing said, it writes past its
 * place. */
void CkGen_pupPack(CkPupFn pup, const void *objs, size_t bytes, size_t n, void *to)
{
	struct CkPupEr p = { .mode = PACKING, .to = to, .limit = SIZE_MAX };
	struct pe *pe = ck_self();
	size_t sized = pe->node->check ? CkGen_pupSize(pup, objs, bytes, n) : 0;
	size_t packed = over_copies(&p, pup, objs, bytes, n);

	if (pe->node->check && sized != packed)
		csd_abort(pe, "a pup function packs %zu bytes, and said %zu when it was sized: it "
			  "must do the same each time", packed, sized);
}

const void *CkGen_pupUnpack(CkPupFn pup, size_t bytes, size_t n, const void *from, void *payload)
{
	struct pe *pe = ck_self();
	const struct ck_env *env = env_of(payload);
	struct CkPupEr p = {
		.mode = UNPACKING, .made = &ck_of(pe)->unpacked, .from = from,
		.limit = (size_t)((const char *)env + env->head.size - (const char *)from),
	};
	char *objs;

	if (bytes && n > PTRDIFF_MAX / 2 / bytes)
		cmi_no_memory(SIZE_MAX, "the objects of a parameter");
	objs = block_new(p.made, n * bytes);
	for (size_t i = 0; i < n; i++)
		pup(&p, objs + i * bytes);
	return objs;
}

/* ---- for programs ------------------------------------------------------------------------- */

size_t CkPupSize(CkPupFn pup, const void *obj, size_t bytes)
{
	return CkGen_pupSize(pup, obj, bytes, 1);
}

void CkPupPack(CkPupFn pup, const void *obj, size_t bytes, void *to)
{
	CkGen_pupPack(pup, obj, bytes, 1, to);
}

size_t CkPupUnpack(CkPupFn pup, void *obj, size_t bytes, const void *from, size_t n)
{
	struct CkPupEr p = { .mode = UNPACKING, .from = from, .limit = n };

	memset(obj, 0, bytes);
	pup(&p, obj);
	return p.bytes;
}
