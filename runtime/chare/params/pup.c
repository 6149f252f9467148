/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup.c: parameters that a function of the program sizes, packs and unpacks. The PE keeps the objects
 * that unpacking makes until their handler has ended.
 */
#include "params.h"
#include "../../machine/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum pup_mode { SIZING, PACKING, UNPACKING };

/* Memory of one pup_alloc; the bytes follow. */
struct pup_block {
	struct pup_block *next;
	uint64_t pad;
};
_Static_assert(sizeof(struct pup_block) == 16, "the object stays 16-aligned");

struct CkPupEr {
	enum pup_mode mode;
	struct pup_block **made;  /* unpacking: the running handler's list; NULL: the program's memory */
	char *to;                 /* packing */
	const char *from, *end;   /* unpacking */
	size_t bytes;             /* so far */
};

int pup_isSizing(const pup_er p) { return p->mode == SIZING; }
int pup_isPacking(const pup_er p) { return p->mode == PACKING; }
int pup_isUnpacking(const pup_er p) { return p->mode == UNPACKING; }

void pup_bytes(pup_er p, void *v, size_t n)
{
	if (p->mode == UNPACKING && n > (size_t)(p->end - p->from) - p->bytes)
		csd_abort(ck_self(), "a pup function unpacks more than it packed: %zu bytes behind "
			  "%zu of %zu", n, p->bytes, (size_t)(p->end - p->from));
	if (n && p->mode == PACKING)
		memcpy(p->to + p->bytes, v, n);
	else if (n && p->mode == UNPACKING)
		memcpy(v, p->from + p->bytes, n);
	p->bytes += n;
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

void *pup_alloc(pup_er p, void *old, size_t bytes)
{
	void *mine;

	if (p->mode != UNPACKING)
		return old;
	if (p->made)
		return block_new(p->made, bytes);
	mine = cmi_alloc_zero(1, bytes ? bytes : 1, "an object");
	return mine;
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
	struct CkPupEr p = { .mode = PACKING, .to = to };
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
		.end = (const char *)env + env->head.size,
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
	struct CkPupEr p = { .mode = UNPACKING, .from = from, .end = (const char *)from + n };

	memset(obj, 0, bytes);
	pup(&p, obj);
	return p.bytes;
}
