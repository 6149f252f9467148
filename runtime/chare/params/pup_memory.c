/* SPDX-License-Identifier: Apache-2.0 */
/* pup_memory.c: allocates and frees memory for pup functions. */
#include "pup_er.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

void *pup_block_new(struct pup_block **list, size_t bytes)
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
		p->checks->fill_size(p, bytes);
	mem = memory_of_kind(p, bytes, memory);
	if (p->fill)
		p->checks->fill_new(p, mem);
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

/* M_pack frees what the message points to. */
void pup_free_message(struct pe *pe, void *msg, const CkGenMessage *type)
{
	struct ck_env *env = env_of(msg);

	owner_let_go(env);
	if (type) {
		env = message_pack(pe, type, env);
		env->head.mark = OWNER_PROGRAM;
	}
	if (pe->node->check)
		owner_check_free(pe, env);
	else
		env_unref(pe, env);
}

void pup_let_go(struct CkPupEr *p, struct pup_gone gone)
{
	if (!gone.p)
		return;
	CMI_ONE_MORE(p->gone, p->n_gone, p->room, "an element that is deleted");
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
			pup_fault(
				p,
				"calls pup_alloc twice for the same memory (%p): two fields cannot share it",
				gone[i].p);
}

/* In checked mode the memory is filled with a pattern first, to detect stale pointers to it. */
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

void pup_piece(struct pup_pieces *all, const void *at, size_t bytes)
{
	if (!at || !bytes)
		return;
	CMI_ONE_MORE(all->piece, all->n, all->room, "the memory of an element");
	all->piece[all->n++] = (struct csd_piece){ at, bytes };
}

/* Each kind of memory is freed by another function, which would crash, or damage the heap. */
static void check_memory_kind(const struct CkPupEr *p, const void *old, int memory)
{
	const bool direct = memory == CKGEN_DIRECT;

	if (!old || memory == CKGEN_RDMA || cmi_mem_has(ck_self()->node->machine, old) == direct)
		return;
	if (direct)
		pup_fault(p, "calls pup_alloc_direct for memory (%p) that is not of CkDirect_alloc: call "
			  "pup_alloc, or take 'direct' from the field in the list", old);
	pup_fault(p, "calls pup_alloc for memory (%p) of CkDirect_alloc: call pup_alloc_direct, or write "
		  "'direct' before the field in the list", old);
}

void *pup_alloc_of(struct CkPupEr *p, void *old, size_t bytes, int memory)
{
	if (p->mode == UNPACKING)
		return memory_new(p, bytes, memory);
	if (p->mode == DELETING || p->look)
		check_memory_kind(p, old, memory);
	if (p->pieces)
		pup_piece(p->pieces, old, bytes);
	if (p->mode == DELETING)
		pup_let_go(p, (struct pup_gone){ .p = old, .bytes = bytes, .memory = memory });
	if (p->look)
		p->checks->note_block(p, (struct pup_gone){ .p = old, .bytes = bytes, .memory = memory });
	return old;
}

void *pup_alloc(pup_er p, void *old, size_t bytes)
{
	return pup_alloc_of(p, old, bytes, CKGEN_MALLOC);
}
void *pup_alloc_rdma(pup_er p, void *old, size_t bytes)
{
	return pup_alloc_of(p, old, bytes, CKGEN_RDMA);
}
void *pup_alloc_direct(pup_er p, void *old, size_t bytes)
{
	return pup_alloc_of(p, old, bytes, CKGEN_DIRECT);
}

void pup_skip(pup_er p, const void *at, size_t n)
{
	if (p->look)
		pup_piece(&p->look->skipped, at, n);
}
