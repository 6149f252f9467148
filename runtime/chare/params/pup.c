/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup.c: what a function of the program sizes, packs, unpacks and deletes: bytes and memory, and the parameters of
 * calls. The PE keeps the objects that unpacking a parameter makes until their handler has ended.
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

/* ---- faults ------------------------------------------------------------------------------------- */

void pup_fault(const struct CkPupEr *p, const char *fmt, ...)
{
	char what[256], name[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	if (p->obj)
		csd_abort(ck_self(), "%s: %s_pup %s", obj_describe(p->obj, name, sizeof name),
			  p->obj->coll->type->name, what);
	csd_abort(ck_self(), "a pup function %s", what);
}

void pup_must_have(const struct CkPupEr *p, uint64_t n, uint64_t bytes, const char *name)
{
	if (bytes && n > (p->limit - p->bytes) / bytes)
		pup_fault(p, "unpacks more than it packed: %llu of %s, behind %zu of %zu bytes",
			  (unsigned long long)n, name, p->bytes, p->limit);
}

/* Unpacking, in checked mode: what unpacking has not set is a pattern, also as an address. */
static bool is_unset(const struct CkPupEr *p, const void *v)
{
	return p->unset && (uintptr_t)v >> 32 == (UINTPTR_MAX / 255 * PUP_UNSET) >> 32;
}

/* ---- bytes -------------------------------------------------------------------------------------- */

static void unpack(pup_er p, void *v, size_t n)
{
	if (n > p->limit - p->bytes)
		pup_fault(p, "unpacks more than it packed: %zu bytes behind %zu of %zu", n, p->bytes,
			  p->limit);
	if (!v || is_unset(p, v))
		pup_fault(p, "unpacks %zu bytes to a pointer that it has not set; first write x->v = "
			  "pup_alloc(p, x->v, bytes)", n);
	memcpy(v, p->from + p->bytes, n);
	p->bytes += n;
}

static void pack(pup_er p, const void *v, size_t n)
{
	if (n > p->limit - p->bytes)
		pup_fault(p, "packs more than the %zu bytes that it said when it was sized: it must do "
			  "the same each time", p->limit);
	if (!v)
		pup_fault(p, "packs %zu bytes at a pointer that is NULL", n);
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

/* ---- memory ------------------------------------------------------------------------------------- */

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

/* The same memory as CkRdmaAlloc's, zeroed. */
static void *rdma_new(size_t bytes)
{
	struct ck_env *env = env_new(ck_self(), 0, bytes);

	env->head.mark = OWNER_PROGRAM;
	return memset(payload_of(env), 0, bytes);
}

static void rdma_free(struct pe *pe, void *mem)
{
	if (pe->node->check)
		owner_check_free(pe, env_of(mem));
	else
		csd_msg_free(pe, &env_of(mem)->head);
}

static void *memory_new(struct CkPupEr *p, size_t bytes, int memory)
{
	static const char what[] = "an object that is unpacked";

	if (p->made && memory != CKGEN_MALLOC)
		pup_fault(p, "calls pup_alloc_rdma or pup_alloc_direct for a parameter, whose memory is the "
			  "runtime's: call pup_alloc");
	if (p->made)
		return block_new(p->made, bytes);
	switch (memory) {
	case CKGEN_RDMA:
		return rdma_new(bytes);
	case CKGEN_DIRECT:
		return cmi_must_have(cmi_mem_alloc(ck_self()->node->machine, bytes), bytes, what);
	default:
		return cmi_alloc_zero(1, bytes ? bytes : 1, what);
	}
}

static void memory_free(struct pe *pe, const struct pup_gone *g)
{
	switch (g->memory) {
	case CKGEN_MALLOC:
		free(g->p);
		break;
	case CKGEN_RDMA:
		rdma_free(pe, g->p);
		break;
	case CKGEN_DIRECT:
		cmi_mem_free(pe->node->machine, g->p);
		break;
	case GONE_MESSAGE:
		pup_free_message(pe, g->p);
		break;
	}
}

void pup_let_go(struct CkPupEr *p, void *old, size_t bytes, int memory)
{
	if (!old)
		return;
	if (p->n_gone == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->gone = cmi_realloc(p->gone, p->room, sizeof *p->gone, "an element that is deleted");
	}
	p->gone[p->n_gone++] = (struct pup_gone){ old, bytes, memory };
}

static int by_address(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)((const struct pup_gone *)a)->p,
			y = (uintptr_t)((const struct pup_gone *)b)->p;

	return (x > y) - (x < y);
}

/* In checked mode the memory is filled with a pattern first, for whoever still has a pointer to it. */
static void spoil_gone(struct CkPupEr *p)
{
	if (p->n_gone)
		qsort(p->gone, p->n_gone, sizeof *p->gone, by_address);
	for (size_t i = 0; i + 1 < p->n_gone; i++)
		if (p->gone[i].p == p->gone[i + 1].p)
			pup_fault(p, "calls pup_alloc twice for the same memory (%p): two fields cannot share it",
				  p->gone[i].p);
	for (size_t i = 0; i < p->n_gone; i++)
		if (p->gone[i].memory != GONE_MESSAGE)
			memset(p->gone[i].p, PUP_LEFT, p->gone[i].bytes);
}

void pup_free_gone(struct pe *pe, struct CkPupEr *p)
{
	if (pe->node->check)
		spoil_gone(p);
	for (size_t i = 0; i < p->n_gone; i++)
		memory_free(pe, &p->gone[i]);
	free(p->gone);
}

void *pup_alloc_of(struct CkPupEr *p, void *old, size_t bytes, int memory)
{
	if (p->mode == UNPACKING)
		return memory_new(p, bytes, memory);
	if (p->mode == DELETING)
		pup_let_go(p, old, bytes, memory);
	return old;
}

void *pup_alloc(pup_er p, void *old, size_t bytes) { return pup_alloc_of(p, old, bytes, CKGEN_MALLOC); }
void *pup_alloc_rdma(pup_er p, void *old, size_t bytes) { return pup_alloc_of(p, old, bytes, CKGEN_RDMA); }
void *pup_alloc_direct(pup_er p, void *old, size_t bytes) { return pup_alloc_of(p, old, bytes, CKGEN_DIRECT); }

/* ---- parameters --------------------------------------------------------------------------------- */

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

void CkPupDelete(CkPupFn pup, void *obj)
{
	struct CkPupEr p = { .mode = DELETING };

	pup(&p, obj);
	pup_free_gone(ck_self(), &p);
}
