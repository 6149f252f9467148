/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup.c: what a pup function of the program calls: its mode, bytes, memory. pup_object.c and element.c run such
 * functions.
 */
#include "pup_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pup_isSizing(const pup_er p) { return p->mode == SIZING; }
int pup_isPacking(const pup_er p) { return p->mode == PACKING; }
int pup_isUnpacking(const pup_er p) { return p->mode == UNPACKING; }
int pup_isDeleting(const pup_er p) { return p->mode == DELETING; }

struct ck_obj *pup_element(pup_er p) { return (struct ck_obj *)(uintptr_t)p->obj; }

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

/* ---- bytes -------------------------------------------------------------------------------------- */

static void unpack(pup_er p, void *v, size_t n)
{
	if (n > p->limit - p->bytes)
		pup_fault(p, "unpacks more than it packed: %zu bytes behind %zu of %zu", n, p->bytes,
			  p->limit);
	if (!v)
		pup_fault(p, "unpacks %zu bytes to a pointer that is NULL: first write x->v = pup_alloc(p, x->v, "
			  "bytes)", n);
	memcpy(v, p->from + p->bytes, n);
	p->bytes += n;
}

/* Beyond what sizing said, the bytes are only counted. Whoever packs compares the counts. */
static void pack(pup_er p, const void *v, size_t n)
{
	if (!v)
		pup_fault(p, "packs %zu bytes at a pointer that is NULL", n);
	if (p->self && n == sizeof(uintptr_t) && (uintptr_t)v - (uintptr_t)p->self < p->self_bytes)
		pup_look_for_address(p, v);
	if (p->look)
		pup_piece(&p->look->packed, v, n);
	if (p->bytes <= p->limit && n <= p->limit - p->bytes)
		memcpy(p->to + p->bytes, v, n);
	p->bytes += n;
}

void pup_check_packed(const struct CkPupEr *p)
{
	if (p->bytes != p->limit)
		pup_fault(p, "packs %zu bytes, and said %zu when it was sized: it must do the same each time",
			  p->bytes, p->limit);
}

void pup_check_unpacked(const struct CkPupEr *p)
{
	if (p->bytes != p->limit)
		pup_fault(p, "unpacks %zu bytes, and packed %zu: it must do the same each time", p->bytes,
			  p->limit);
}

void pup_bytes(pup_er p, void *v, size_t n)
{
	if (!n)
		return;
	switch (p->mode) {
	case SIZING:
		p->bytes += n;
		if (p->pieces)
			pup_piece(p->pieces, v, n);
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

static void *memory_of_kind(struct CkPupEr *p, size_t bytes, int memory)
{
	static const char what[] = "an object that is unpacked";

	if (p->made && memory != CKGEN_MALLOC)
		pup_fault(p, "calls pup_alloc_rdma or pup_alloc_direct for a parameter, whose memory is the "
			  "runtime's: call pup_alloc");
	if (p->made)
		return pup_block_new(p->made, bytes);
	switch (memory) {
	case CKGEN_RDMA:
		return rdma_new(bytes);
	case CKGEN_DIRECT:
		return cmi_must_have(cmi_mem_alloc(ck_self()->node->machine, bytes), bytes, what);
	default:
		return cmi_alloc_zero(1, bytes ? bytes : 1, what);
	}
}

static void *memory_new(struct CkPupEr *p, size_t bytes, int memory)
{
	void *mem;

	if (p->fill)
		pup_fill_size(p, bytes);
	mem = memory_of_kind(p, bytes, memory);
	if (p->fill)
		pup_fill_new(p, mem);
	return mem;
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
		pup_free_message(pe, g->p, g->type);
		break;
	}
}

void pup_let_go(struct CkPupEr *p, struct pup_gone gone)
{
	if (!gone.p)
		return;
	if (p->n_gone == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->gone = cmi_realloc(p->gone, p->room, sizeof *p->gone, "an element that is deleted");
	}
	p->gone[p->n_gone++] = gone;
}

static int by_address(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)((const struct pup_gone *)a)->p,
			y = (uintptr_t)((const struct pup_gone *)b)->p;

	return (x > y) - (x < y);
}

void pup_check_apart(const struct CkPupEr *p, struct pup_gone *gone, size_t n)
{
	if (n)
		qsort(gone, n, sizeof *gone, by_address);
	for (size_t i = 0; i + 1 < n; i++)
		if (gone[i].p && gone[i].p == gone[i + 1].p)
			pup_fault(p, "calls pup_alloc twice for the same memory (%p): two fields cannot share it", gone[i].p);
}

/* In checked mode the memory is filled with a pattern first, for whoever still has a pointer to it. */
static void spoil_gone(struct CkPupEr *p)
{
	pup_check_apart(p, p->gone, p->n_gone);
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
	if (p->pieces)
		pup_piece(p->pieces, old, bytes);
	if (p->mode == DELETING)
		pup_let_go(p, (struct pup_gone){ .p = old, .bytes = bytes, .memory = memory });
	if (p->look)
		pup_note_block(p, (struct pup_gone){ .p = old, .bytes = bytes, .memory = memory });
	return old;
}

void *pup_alloc(pup_er p, void *old, size_t bytes) { return pup_alloc_of(p, old, bytes, CKGEN_MALLOC); }
void *pup_alloc_rdma(pup_er p, void *old, size_t bytes) { return pup_alloc_of(p, old, bytes, CKGEN_RDMA); }
void *pup_alloc_direct(pup_er p, void *old, size_t bytes) { return pup_alloc_of(p, old, bytes, CKGEN_DIRECT); }
