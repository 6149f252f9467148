/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.c: memory of this PE that others use: of CkGlobalAlloc, and the parts of spreads. It lies in
 * memory that the processes of the host share and that is registered with the network.
 *
 * A hash table has the pieces of the program, for CkGlobalFree and for checkpoints. In checked mode
 * a sorted list has all pieces, so that any address in one is found; a piece that is freed stays in
 * it, and is not used again before QUARANTINE others have been freed.
 */
#include "global_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { QUARANTINE = 1024 };

struct piece {
	const char *at;
	size_t bytes;
	bool freed;
};

struct heap {
	struct idmap programs;    /* address -> bytes + 1, of CkGlobalAlloc */

	/* Checked mode. */
	struct piece *pieces;     /* by address */
	size_t n, room;
	void *late[QUARANTINE];   /* a ring of freed pieces */
	uint64_t n_late;
};

static struct heap *heap_of(struct pe *pe)
{
	struct global_pe *o = global_of(pe);

	if (!o->heap)
		o->heap = cmi_alloc_zero(1, sizeof *o->heap, "global memory");
	return o->heap;
}

/* ---- checked mode: pieces by address --------------------------------------------------------- */

/* The number of pieces that begin at p or before. */
static size_t pieces_before(const struct heap *h, const char *p)
{
	size_t low = 0, high = h->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (h->pieces[mid].at <= p)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct piece *piece_at(const struct heap *h, const char *p)
{
	const size_t i = pieces_before(h, p);
	struct piece *s = i ? &h->pieces[i - 1] : NULL;

	return s && p < s->at + s->bytes ? s : NULL;
}

static void piece_add(struct heap *h, const char *p, size_t bytes)
{
	const size_t i = pieces_before(h, p);

	CMI_ONE_MORE(h->pieces, h->n, h->room, "the check of global memory");
	memmove(&h->pieces[i + 1], &h->pieces[i], (h->n - i) * sizeof *h->pieces);
	h->pieces[i] = (struct piece){ p, bytes, false };
	h->n++;
}

static void piece_drop(struct heap *h, const char *p)
{
	const size_t i = pieces_before(h, p);

	h->n--;
	memmove(&h->pieces[i - 1], &h->pieces[i], (h->n - (i - 1)) * sizeof *h->pieces);
}

/* Free what has been in quarantine longest, in place of p. */
static void free_later(struct pe *pe, struct heap *h, void *p)
{
	void **slot = &h->late[h->n_late++ % QUARANTINE];

	piece_at(h, p)->freed = true;
	if (*slot) {
		piece_drop(h, *slot);
		cmi_mem_free(pe->node->machine, *slot);
	}
	*slot = p;
}

bool heap_knows(struct pe *pe, const char *p)
{
	return piece_at(heap_of(pe), p) != NULL;
}

void heap_check(struct pe *pe, const char *p, size_t bytes, const char *call, int for_pe)
{
	const struct piece *s = piece_at(heap_of(pe), p);

	if (!s)
		csd_abort(pe, "%s by PE %d: nothing is allocated at %p of PE %d", call, for_pe, (const void *)p,
			  pe->id);
	if (s->freed)
		csd_abort(pe, "%s by PE %d: the memory at %p of PE %d, %zu bytes, has been freed", call, for_pe,
			  (const void *)s->at, pe->id, s->bytes);
	if (bytes > s->bytes - (size_t)(p - s->at))
		csd_abort(pe, "%s by PE %d: %zu bytes at offset %zu of the %zu that PE %d has allocated at %p",
			  call, for_pe, bytes, (size_t)(p - s->at), s->bytes, pe->id, (const void *)s->at);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

void *heap_new(struct pe *pe, size_t bytes, const char *what)
{
	void *p = cmi_mem_alloc(pe->node->machine, bytes ? bytes : 1);

	if (!p)
		csd_abort(pe, "%s: no memory for %zu bytes", what, bytes);
	if (pe->node->check)
		piece_add(heap_of(pe), p, bytes ? bytes : 1);
	return p;
}

void heap_end(struct pe *pe, void *p, const char *call)
{
	if (pe->node->check) {
		heap_check(pe, p, 0, call, pe->id);
		free_later(pe, heap_of(pe), p);
	} else {
		cmi_mem_free(pe->node->machine, p);
	}
}

uint64_t heap_name(const struct pe *pe, const void *p, size_t bytes)
{
	return cmi_shared_name(pe->wire, p, bytes);
}

CkGlobal CkGlobalAlloc(size_t bytes)
{
	struct pe *pe = ck_self();
	char *p = heap_new(pe, bytes, "CkGlobalAlloc");

	idmap_add(&heap_of(pe)->programs, (uintptr_t)p, bytes + 1);
	return CkGlobalOf(p);
}

void CkGlobalFree(CkGlobal g)
{
	static const char call[] = "CkGlobalFree";
	struct pe *pe = ck_self();
	struct idmap_slot *s;
	char *p;

	if (CkGlobalIsNull(g))
		return;
	if (g.of >= GLOBAL_SPREADS)
		csd_abort(pe, "%s: it points into a spread; CkSpreadFree frees a whole one", call);
	if (g.pe != pe->id)
		csd_abort(pe, "%s: the memory belongs to PE %d, which frees it", call, g.pe);
	p = own_memory(pe, g, 0, call, pe->id);
	s = idmap_find(&heap_of(pe)->programs, (uintptr_t)p);
	if (!s)
		csd_abort(pe, "%s: %p does not come from CkGlobalAlloc, or has been freed", call, (void *)p);
	idmap_remove(&heap_of(pe)->programs, s);
	heap_end(pe, p, call);
}

/* Only memory of ours, and that of channels, has a name: message memory has one, too, but it is
 * given back while others still know the name. */
CkGlobal CkGlobalOf(const void *p)
{
	struct pe *pe = ck_self();
	const uint64_t name = cmi_mem_has(pe->node->machine, p) ? heap_name(pe, p, 1) : 0;

	if (!p)
		return CkGlobalNull();
	if (pe->node->check && !heap_knows(pe, p))
		return (CkGlobal){ pe->id, GLOBAL_FOREIGN, (uintptr_t)p };
	if (name)
		return (CkGlobal){ pe->id, GLOBAL_PLACE, name };
	return (CkGlobal){ pe->id, GLOBAL_ADDRESS, (uintptr_t)p };
}

/* ---- checkpoints, the end -------------------------------------------------------------------- */

void heap_refuse(struct pe *pe, struct csd_told *to)
{
	const struct heap *h = global_of(pe)->heap;
	const struct idmap_slot *s;

	for (size_t i = 0; h && (s = idmap_each(&h->programs, &i)); i++)
		csd_tell(to, NULL, "%zu bytes of CkGlobalAlloc on PE %d cannot be saved: free them before, "
			 "or use a spread", (size_t)s->value - 1, pe->id);
}

/* The pieces themselves end with the machine. */
void heap_stop(struct pe *pe)
{
	struct heap *h = global_of(pe)->heap;

	if (!h)
		return;
	idmap_free(&h->programs);
	free(h->pieces);
	free(h);
	global_of(pe)->heap = NULL;
}
