/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup_object.c: objects packed by a function of the program: parameters of calls, and the program's
 * own. The PE keeps the unpacked parameters until their handler has ended.
 *
 *	| bytes of the objects (8) | what their pup function packs, one object behind the other |
 */
#include "pup_er.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

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
	void *copy = n ? pup_block_new(&copies, bytes) : NULL;

	for (size_t i = 0; i < n; i++) {
		memcpy(copy, objs + i * bytes, bytes);
		pup(p, copy);
	}
	free(copies);
	return p->bytes;
}

static size_t size_of(CkPupFn pup, const void *objs, size_t bytes, size_t n)
{
	struct CkPupEr p = { .mode = SIZING };

	return over_copies(&p, pup, objs, bytes, n);
}

size_t CkGen_pupSize(CkPupFn pup, const void *objs, size_t bytes, size_t n)
{
	return sizeof(uint64_t) + size_of(pup, objs, bytes, n);
}

void CkGen_pupPack(CkPupFn pup, const void *objs, size_t bytes, size_t n, void *to, size_t size)
{
	const uint64_t packed = size - sizeof packed;
	struct CkPupEr p = { .mode = PACKING, .to = (char *)to + sizeof packed, .limit = packed };

	memcpy(to, &packed, sizeof packed);
	over_copies(&p, pup, objs, bytes, n);
	pup_check_packed(&p);
}

/* The objects' bytes, which follow their number. The message may come from another process. */
static size_t packed_bytes(const struct CkPupEr *p, const struct ck_env *env)
{
	const size_t there = (size_t)((const char *)env + env->head.size - p->from);
	uint64_t packed = 0;

	if (there >= sizeof packed)
		memcpy(&packed, p->from, sizeof packed);
	if (there < sizeof packed || packed > there - sizeof packed)
		pup_fault(p, "unpacks more than it packed: %llu bytes, and the message has %zu",
			  (unsigned long long)packed, there);
	return packed;
}

const void *CkGen_pupUnpack(CkPupFn pup, size_t bytes, size_t n, const void *from, void *payload)
{
	struct pe *pe = ck_self();
	struct CkPupEr p = { .mode = UNPACKING, .made = &ck_of(pe)->unpacked, .from = from };
	char *objs;

	if (bytes && n > PTRDIFF_MAX / 2 / bytes)
		cmi_no_memory(SIZE_MAX, "the objects of a parameter");
	p.limit = packed_bytes(&p, env_of(payload));
	p.from += sizeof(uint64_t);
	objs = pup_block_new(p.made, n * bytes);
	for (size_t i = 0; i < n; i++)
		pup(&p, objs + i * bytes);
	pup_check_unpacked(&p);
	return objs;
}

/* ---- for programs ------------------------------------------------------------------------- */

size_t CkPupSize(CkPupFn pup, const void *obj, size_t bytes)
{
	return size_of(pup, obj, bytes, 1);
}

/* Sizing again gives the limit for packing. */
void CkPupPack(CkPupFn pup, const void *obj, size_t bytes, void *to)
{
	struct CkPupEr p = { .mode = PACKING, .to = to, .limit = size_of(pup, obj, bytes, 1) };

	over_copies(&p, pup, obj, bytes, 1);
	pup_check_packed(&p);
}

size_t CkPupUnpack(CkPupFn pup, void *obj, size_t bytes, const void *from, size_t n)
{
	struct CkPupEr p = { .mode = UNPACKING, .from = from, .limit = n };

	memset(obj, 0, bytes);
	pup(&p, obj);
	return p.bytes;
}

void CkPupDelete(CkPupFn pup, void *obj)
{
	struct CkPupEr p = { .mode = DELETING };

	pup(&p, obj);
	pup_free_gone(ck_self(), &p);
}
