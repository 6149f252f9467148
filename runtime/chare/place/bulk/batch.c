/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c: the elements that move in bulk from one PE to another (bulk.c). Between PEs of a process
 * a message has pointers; to another process it has the images of single elements (travel.c),
 * concatenated:
 *
 *	| struct batch_msg | image | image | ...
 *
 * A message ends when it is BATCH_BYTES long, so that no PE has all of its elements twice. The last
 * one of a PE is marked, and may be empty: the other PE knows which PEs send one.
 */
#include "bulk.h"
#include "../../core/shape.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_BYTES = 1 << 20, BATCH_MOST = 4096 };

struct batch_here {
	struct batch_msg m;
	struct travel *list[];    /* its receiver's; until then the node's (travel_take_off) */
};

/* ---- it leaves ------------------------------------------------------------------------------- */

static struct batch_msg *batch_new(struct pe *pe, const struct collection *c, const struct batch *b,
				   int handler, size_t bytes, bool last)
{
	struct batch_msg *m = ck_msg_new(pe, PART_BULK, handler, 0, bytes);

	m->coll = c->id;
	m->n = (uint32_t)b->n;
	m->last = last;
	return m;
}

static struct batch_msg *all_here(struct pe *pe, const struct collection *c, const struct batch *b,
				  bool last)
{
	struct batch_here *m = (struct batch_here *)batch_new(
		pe, c, b, H_BATCH, sizeof *m + b->n * sizeof *m->list, last);

	for (size_t i = 0; i < b->n; i++) {
		travel_take_off(pe->node, b->list[i]);
		m->list[i] = b->list[i];
	}
	return &m->m;
}

static struct batch_msg *all_packed(struct pe *pe, const struct collection *c,
				    const struct batch *b, bool last)
{
	struct batch_msg *m = batch_new(pe, c, b, H_BATCH_PACKED, sizeof *m + b->bytes, last);
	char *at = (char *)(m + 1);

	for (size_t i = 0; i < b->n; i++) {
		travel_write(pe, b->list[i], &b->heads[i], at);
		at += b->heads[i].head.size;
	}
	return m;
}

static void batch_send(struct pe *pe, struct collection *c, int to, struct batch *b, bool last)
{
	struct batch_msg *m = pe_is_here(pe, to) ? all_here(pe, c, b, last) : all_packed(pe, c, b, last);

	b->n = b->bytes = 0;
	csd_send(pe, to, &m->head);
}

static void batch_grow(struct batch *b, bool packed)
{
	b->cap = b->cap ? 2 * b->cap : 16;
	b->list = cmi_realloc(b->list, b->cap, sizeof *b->list, "elements that move");
	if (packed)
		b->heads = cmi_realloc(b->heads, b->cap, sizeof *b->heads, "elements that move");
}

void batch_add(struct pe *pe, struct collection *c, int to, struct batch *b, struct travel *t)
{
	const bool packed = !pe_is_here(pe, to);

	if (b->n == b->cap)
		batch_grow(b, packed);
	if (packed) {
		b->heads[b->n] = travel_measure(pe, to, t);
		b->bytes += b->heads[b->n].head.size;
	}
	b->list[b->n++] = t;
	if (b->bytes >= BATCH_BYTES || b->n == BATCH_MOST)
		batch_send(pe, c, to, b, false);
}

void batch_last(struct pe *pe, struct collection *c, int to, struct batch *b)
{
	batch_send(pe, c, to, b, true);
	free(b->list);
	free(b->heads);
	*b = (struct batch){ 0 };
}

/* ---- it arrives ------------------------------------------------------------------------------ */

static void batch_over(struct pe *pe, struct collection *c, struct batch_msg *m)
{
	const bool last = m->last;

	csd_msg_free(pe, &m->head);
	if (last)
		bulk_took_last(pe, c);
}

void batch_arrived(struct pe *pe, struct cmi_msg *head)
{
	struct batch_here *m = (struct batch_here *)head;
	struct collection *c = coll_get(pe, m->m.coll);

	if (bulk_waits(c, head))
		return;
	for (uint32_t i = 0; i < m->m.n; i++) {
		travel_land(pe->node, m->list[i]);
		bulk_take(c, m->list[i]);
	}
	batch_over(pe, c, &m->m);
}

/* Errors in an image name the message that brought it. */
static struct packed *batch_image(const struct batch_msg *m, char *at)
{
	struct packed *p = (struct packed *)(void *)at;
	const uint64_t size = p->head.size;

	p->head = m->head;
	p->head.size = size;
	return p;
}

void batch_packed_arrived(struct pe *pe, struct cmi_msg *head)
{
	struct batch_msg *m = (struct batch_msg *)head;
	struct collection *c = coll_get(pe, m->coll);
	char *at = (char *)(m + 1);

	if (bulk_waits(c, head))
		return;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct packed *p = batch_image(m, at);

		bulk_take(c, travel_read(pe, c, p));
		at += p->head.size;
	}
	batch_over(pe, c, m);
}

const char *batch_misfit(struct pe *pe, const struct cmi_msg *head)
{
	const struct batch_msg *m = (const struct batch_msg *)head;
	const char *at = (const char *)(m + 1), *end = (const char *)m + head->size, *why;

	if (!coll_get(pe, m->coll)->type)
		return "its collection does not exist yet";
	for (uint32_t i = 0; i < m->n; i++) {
		const struct packed *p = (const struct packed *)(const void *)at;

		if ((size_t)(end - at) < CkGen_align(sizeof *p) || p->head.size < CkGen_align(sizeof *p) ||
		    p->head.size > (size_t)(end - at) || p->head.size % 16)
			return "its elements do not lie within it";
		if (p->coll != m->coll)
			return "it carries an element of another collection";
		why = packed_misfit(pe, &p->head);
		if (why)
			return why;
		at += p->head.size;
	}
	return at == end && m->last <= 1 ? NULL : "it contains more than its elements";
}
