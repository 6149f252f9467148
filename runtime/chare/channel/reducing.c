/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducing.c: reducing channels: several senders put into one element, each into a slot of its own,
 * and the last arrival combines all slots into the program's buffer. The group's members are
 * receiving ends like any other, and are joined, stopped and moved as those are; this file has only
 * their common state.
 */
#include "named_int.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"
#include "../reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

struct CkReducing {
	struct named_group group;  /* first */
	struct cmi *machine;
	CkChannel **part;         /* ours, [n]: the ends, which are the element's; by the senders' index */
	unsigned char *slots;     /* from cmi_mem_alloc, so that other processes can write it: n slots */
	void *buf;                /* the program's */
	size_t bytes, slot_bytes;
	uint32_t op;
	int32_t n, n_came;
	int32_t n_left;           /* members that are not freed */
};

/* A line apart, because several PEs write them. */
static size_t slot_bytes(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static unsigned char *slot(const CkReducing *r, int i)
{
	return r->slots + (size_t)i * r->slot_bytes;
}

/* An end may be needed longer than the program needs it, and so is its slot. */
static void reducing_less(struct named_group *g)
{
	CkReducing *r = (CkReducing *)g;

	if (--r->n_left)
		return;
	cmi_mem_free(r->machine, r->slots);
	free(r->part);
	free(r);
}

/* ---- a round --------------------------------------------------------------------------------- */

/* In the order of the senders: the first slot, then each other one in turn. */
static void combine(struct pe *pe, const CkReducing *r)
{
	const struct reducer *how = reducer_find(ck_node_of(pe->node), r->op);

	memcpy(r->buf, slot(r, 0), r->bytes);
	for (int i = 1; i < r->n; i++)
		reducer_combine(how, r->buf, slot(r, i), r->bytes / how->value_bytes, false);
}

static void reducing_came(void *group, void *tag)
{
	struct pe *pe = ck_self();
	CkReducing *r = group;
	struct ck_obj *obj = r->part[0]->of->obj;

	if (++r->n_came < r->n)
		return;
	r->n_came = 0;
	combine(pe, r);
	end_call(pe, obj, r->part[0]->name.entry)(self_of(obj), tag);
}

static CkReducing *reducing_new(struct pe *pe, int32_t n, size_t bytes, uint32_t op, void *buf)
{
	CkReducing *r = cmi_alloc_zero(1, sizeof *r, "a reducing channel");

	r->group = (struct named_group){ reducing_came, reducing_less };
	r->machine = pe->node->machine;
	r->part = cmi_alloc_zero((size_t)n, sizeof(CkChannel *), "a reducing channel");
	r->bytes = bytes;
	r->slot_bytes = slot_bytes(bytes);
	r->slots = cmi_must_have(cmi_mem_alloc(pe->node->machine, (size_t)n * r->slot_bytes),
				 (size_t)n * r->slot_bytes, "a reducing channel");
	r->buf = buf;
	r->op = op;
	r->n = r->n_left = n;
	return r;
}

void CkReducingReady(CkReducing *r)
{
	struct pe *pe = ck_self();

	for (int i = 0; i < r->n; i++)
		layer_ends(pe)->ready(pe, r->part[i]->end);
}

/* ---- the beginning and the end --------------------------------------------------------------- */

static int by_index(const void *a, const void *b)
{
	const CkElement *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return index_compare(&x->index, &y->index);
}

static void check_reducing(struct pe *pe, int n, const void *buf, size_t bytes, uint32_t op)
{
	static const char what[] = "a reducing channel";
	const struct reducer *how = reducer_find(ck_node_of(pe->node), op);

	if (n < 1 || !buf)
		csd_abort(pe, "%s: %s", what, buf ? "it has no senders" : "the buffer is NULL");
	if (!how || !how->value_bytes)
		csd_abort(pe, "%s: %s does not combine value by value", what, reducer_name(pe, op));
	if (!bytes || bytes % how->value_bytes)
		csd_abort(pe, "%s: %zu bytes are not a whole number of values of %s, which have %u",
			  what, bytes, how->name, how->value_bytes);
}

struct CkReducing *CkGen_channelReduced(const CkGenChare *chare, void *self, int entry,
					const CkElement *from, int n, int tag, void *buf,
					size_t bytes, CkReduction op)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = check_element(pe, self, "a reducing channel");
	CkElement *sorted;
	CkReducing *r;

	(void)chare;
	check_reducing(pe, n, buf, bytes, (uint32_t)op);
	sorted = cmi_alloc((size_t)n * sizeof *sorted, "a reducing channel");
	memcpy(sorted, from, (size_t)n * sizeof *sorted);
	qsort(sorted, (size_t)n, sizeof *sorted, by_index);
	r = reducing_new(pe, n, bytes, (uint32_t)op, buf);
	for (int i = 0; i < n; i++) {
		const struct channel_name name = { sorted[i], { obj->coll->id, obj->index, 0 }, entry, tag };

		r->part[i] =
			end_receive(pe, obj, &name,
				    (struct csd_receiving){
					    .buf = slot(r, i), .bytes = bytes, .counted = true },
				    &r->group);
	}
	free(sorted);
	return r;
}

void CkReducingDestroy(CkReducing *r)
{
	const int n = r ? r->n : 0;

	for (int i = 0; i < n; i++)
		CkChannelDestroy(r->part[i]);
}

/* ---- as bytes -------------------------------------------------------------------------------- */

/* Deleting the last end deletes the group. */
static void pup_slots(pup_er p, CkReducing *r)
{
	const int n = r->n;

	for (int i = 0; i < n; i++) {
		pup_bytes(p, slot(r, i), r->bytes);
		pup_channel(p, &r->part[i], slot(r, i));
		if (pup_isUnpacking(p))
			r->part[i]->group = &r->group;
	}
}

void pup_reducing(pup_er p, CkReducing **rp, void *buf)
{
	struct { uint64_t bytes; uint32_t op; int32_t n, n_came, unused; } head = { 0 };
	CkReducing *r = pup_isUnpacking(p) ? NULL : *rp;

	if (r) {
		head.bytes = r->bytes;
		head.op = r->op;
		head.n = r->n;
		head.n_came = r->n_came;
	}
	pup_bytes(p, &head, sizeof head);
	if (pup_isUnpacking(p) && head.n) {
		r = reducing_new(ck_self(), head.n, head.bytes, head.op, buf);
		r->n_came = head.n_came;
	}
	*rp = r;
	if (r)
		pup_slots(p, r);
}
