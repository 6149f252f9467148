/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_save.c: elements of arrays in checkpoints. The PE where an element lives writes it, by its
 * name alone: which PE is its seat or its home is for the restart to say (place_read.c). A home
 * writes the calls that wait for elements which do not exist, and each PE its counts of insertions.
 *
 *	element   | struct elem_image | parts' data, and the struct (pup_element.c), padded |
 *	          | what waits there (wait/along/saved.c) |
 *	missing   | struct missing_image | calls (wait/along/calls.c) |
 *
 * Nothing leaves its element: an element without waiting calls costs one pass of its pup function
 * to measure it, and one to write it.
 *
 * The passes over all elements are bound by memory: each requests the elements that come soon.
 */
#include "place_save.h"
#include "../../machine/base/cmi_alloc.h"

#include <string.h>

/* Collections of elements that can be saved. */
static struct collection *next_array(struct pe *pe, size_t *at)
{
	const struct idmap_slot *s;

	for (; (s = idmap_each(&ck_of(pe)->colls, at)); ++*at) {
		struct collection *c = (struct collection *)s->value;

		if (c->type && c->type->kind == CKGEN_ARRAY && c->constructed) {
			++*at;
			return c;
		}
	}
	return NULL;
}

/* coll_each, which requests the head and the first line of the struct of one that comes soon. */
static struct ck_obj *each_ahead(const struct collection *c, uint64_t *at)
{
	enum { AHEAD = 16, LINE = 64 };
	const char *soon = c->elems && *at + AHEAD < c->n_slots ? (void *)c->elems[*at + AHEAD] : NULL;

	if (soon) {
		__builtin_prefetch(soon);
		__builtin_prefetch(soon + LINE);
	}
	return coll_each(c, at);
}

/* ---- what cannot be saved -------------------------------------------------------------------- */

/* ends: has_ends. */
static void refuse_element(struct pe *pe, struct ck_obj *obj, bool ends, struct csd_told *to)
{
	const struct stay *s = stay_find(obj->coll, obj->index);

	if (ends && holds_ends(pe, obj))
		csd_tell(to, NULL, "%s holds ends of channels, which stay on their PEs: end them before "
			 "(CkDirect_destroyHandle)", obj_thing(obj).name);
	if (s && (s->pending || s->leaving || s->asked))
		csd_tell(to, NULL, "%s is about to move, or to end", obj_thing(obj).name);
	if (obj->extra & OBJ_EXTRA)
		sdag_refuse(pe, obj, to);
}

/* Why a message for an element that does not exist cannot be saved. What a part tells an element
 * (place_tell) names ends of this run. */
static const char *missing_obstacle(struct pe *pe, const struct away *a, struct cmi_msg *m)
{
	const enum missing_kind kind = missing_kind(pe, m);

	if (a->pe >= 0 || kind == MISSING_NOTHING)
		return "which does not exist yet";
	return kind == MISSING_CALL && call_is_lent(a->coll->type, (struct ck_env *)m) ?
	       "which does not exist, with a nocopy array, which is its caller's memory" : NULL;
}

static void refuse_away(struct pe *pe, const struct away *a, struct csd_told *to)
{
	for (struct cmi_msg *m = a->waiting.head; m; m = m->next) {
		const char *why = missing_obstacle(pe, a, m);
		char what[128];

		if (!why)
			continue;
		describe_waiting(pe, a->coll, m, what, sizeof what);
		csd_tell(to, NULL, "%s waits for %s, %s", what,
			 element_thing(a->coll->type, a->coll->id, a->index).name, why);
	}
	if (a->moving)
		csd_tell(to, NULL, "%s is on its way", element_thing(a->coll->type, a->coll->id, a->index).name);
}

static void refuse_array(struct pe *pe, struct collection *c, struct csd_told *to)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	const bool ends = has_ends(pe);
	const struct idmap_slot *s;
	struct ck_obj *obj;
	uint64_t at = 0;

	if (!element_has_pup(c->type) && coll_each(c, &at)) {
		csd_tell(to, NULL, "elements of %s cannot be saved: declare 'pup %s;' in the .ci file",
			 coll_thing(c).name, c->type->name);
		return;
	}
	if (call_is_closed(c))
		csd_tell(to, NULL, "elements of %s are about to move", coll_thing(c).name);
	for (at = 0; (obj = each_ahead(c, &at));)
		refuse_element(pe, obj, ends, to);
	for (size_t i = 0; dyn && (s = idmap_each(&dyn->away, &i)); i++)
		refuse_away(pe, (const struct away *)s->value, to);
}

void place_refuse(struct pe *pe, struct csd_told *to)
{
	struct collection *c;

	for (size_t i = 0; (c = next_array(pe, &i));)
		refuse_array(pe, c, to);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* The part that has data in elements, or NULL. */
static const struct ck_part *part_in_elements(const struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->elem_bytes)
			return ck->parts[i];
	return NULL;
}

static char *pad_to(char *from, char *to)
{
	memset(from, 0, (size_t)(to - from));
	return to;
}

static void element_put(struct pe *pe, struct ck_obj *obj, struct elem_image e, char *at,
			struct image_out *out)
{
	char *own = at + sizeof e;

	if (e.more_bytes) {
		memcpy(own, obj_more(obj), e.more_bytes);
		e.waits = part_in_elements(pe)->save.clear(own);
	}
	memcpy(at, &e, sizeof e);
	element_pack_struct(pe, obj, own + e.more_bytes, e.bytes - e.more_bytes, out);
	at = pad_to(own + e.bytes, own + CkGen_align(e.bytes));
	if (e.calls16)
		obj_calls_copy(pe, obj, at);
}

/* As element_size, but the second pass takes what the first has found. */
static size_t size_noted(struct pe *pe, struct ck_obj *obj, const struct image_out *out)
{
	struct image_notes *notes = out->notes;
	size_t bytes;

	if (out->to && notes->n[notes->taken++] != UINT32_MAX)
		return notes->n[notes->taken - 1];
	bytes = element_size(pe, obj);
	if (out->to)
		return bytes;
	CMI_ONE_MORE(notes->n, notes->count, notes->room, "a checkpoint");
	notes->n[notes->count++] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	return bytes;
}

static void element_write(struct pe *pe, struct ck_obj *obj, struct image_out *out)
{
	const struct collection *c = obj->coll;
	const struct image_name name = { IMAGE_ELEMENT, (uint32_t)pe->id, c->id,
					 { obj->index.v[0], obj->index.v[1], obj->index.v[2] }, 0 };
	const size_t calls = obj->extra & OBJ_EXTRA ? obj_calls_copy(pe, obj, NULL) : 0;
	const struct elem_image e = { size_noted(pe, obj, out), (uint32_t)(calls / 16),
				      (uint16_t)c->more_bytes, false };
	char *at = out->add(out, &name, sizeof e + CkGen_align(e.bytes) + calls);

	if (at)
		element_put(pe, obj, e, at, out);
}

/* ---- calls of elements that do not exist ----------------------------------------------------- */

enum missing_kind missing_kind(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_CALL, H_ELEMENT) ? MISSING_CALL :
	       m->handler == ck_handler(pe, PART_PLACE, H_DESTROY) ? MISSING_DESTROY : MISSING_NOTHING;
}

/* Numbers of handlers are of this run. */
static void missing_put(const struct pe *pe, const struct away *a, uint32_t n, char *at)
{
	const struct missing_image head = { n, { 0, 0, 0 } };

	memcpy(at, &head, sizeof head);
	at += sizeof head;
	for (struct cmi_msg *m = a->waiting.head; m; m = m->next) {
		const uint16_t handler = m->handler;

		m->handler = missing_kind(pe, m);
		at = call_put(m, at);
		m->handler = handler;
	}
}

/* The calls keep the form in which they leave a process: as they would have come from another
 * one. */
static void missing_write(struct pe *pe, struct away *a, struct image_out *out)
{
	const struct image_name name = { IMAGE_MISSING, (uint32_t)pe->id, a->coll->id,
					 { a->index.v[0], a->index.v[1], a->index.v[2] }, 0 };
	uint32_t n = 0;
	size_t bytes;
	char *at;

	if (!a->waiting.head)
		return;
	bytes = calls_leave(pe, -1, &a->waiting, &n);
	at = out->add(out, &name, sizeof(struct missing_image) + bytes);
	if (at)
		missing_put(pe, a, n, at);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void closing_write(struct pe *pe, const struct collection *c, struct image_out *out)
{
	const struct image_name name = { IMAGE_CLOSING, (uint32_t)pe->id, c->id, { 0, 0, 0 },
					 closing_is_open(c) };
	uint64_t sums[WAVE_SUMS];
	char *at;

	if (!closing_sums(c, sums))
		return;
	at = out->add(out, &name, sizeof sums);
	if (at)
		memcpy(at, sums, sizeof sums);
}

static void array_write(struct pe *pe, struct collection *c, struct image_out *out)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	const struct idmap_slot *s;
	struct ck_obj *obj;

	for (uint64_t at = 0; (obj = each_ahead(c, &at));)
		element_write(pe, obj, out);
	for (size_t i = 0; dyn && (s = idmap_each(&dyn->away, &i)); i++)
		missing_write(pe, (struct away *)s->value, out);
	closing_write(pe, c, out);
}

void place_write(struct pe *pe, struct image_out *out)
{
	struct collection *c;

	for (size_t i = 0; (c = next_array(pe, &i));)
		array_write(pe, c, out);
}
