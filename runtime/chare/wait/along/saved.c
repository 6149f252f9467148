/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved.c: what waits at an object, as bytes in a checkpoint; the object keeps it. An object is an
 * element, or a branch of a group.
 *
 *	| struct calls_image | bodies (sdag_pack.c), padded | waiting calls (calls.c) |
 *
 * A body that waits can only be packed by taking it apart. So it is made anew at once, from the
 * same bytes that a restart would read: a checkpoint tries out the restart of what waits. Most
 * objects have nothing that waits, and no code here runs for them.
 *
 * Nothing may leave the PE meanwhile, not even the callback of a nocopy array. So calls with such
 * arrays that are still the caller's are refused (wait_part.c).
 */
#include "along.h"
#include "../extra.h"
#include "../../core/shape.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

struct calls_image {
	uint64_t image_bytes;     /* of its bodies */
	uint32_t n_when, unused;
};

/* ---- bodies ---------------------------------------------------------------------------------- */

/* The caller frees it. NULL: there are none. */
static void *bodies_image(struct pe *pe, struct ck_obj *obj, size_t *n_p)
{
	struct obj_calls k;

	obj_calls_init(&k);
	obj_calls_pack(pe, obj, &k);
	*n_p = k.image_bytes;
	if (k.image)
		sdag_unpack(pe, obj, k.image, k.image_bytes);
	return k.image;
}

/* ---- calls with a condition ------------------------------------------------------------------ */

/* The condition reads a message as the program sees it. */
static struct cmi_msg *call_returns(struct pe *pe, const struct ck_obj *obj, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;

	return env->flags & CK_ENV_PACKED ?
		       &message_unpack(pe, obj->coll->type->entries[env->entry].message, env)->head : m;
}

/* Their bytes, which are written to `to` unless it is NULL. */
static size_t when_copy(struct pe *pe, struct ck_obj *obj, char *to, uint32_t *n_p)
{
	struct msg_fifo *f = &extra_of(pe, obj)->waiting, all;
	size_t bytes = 0;

	*n_p = 0;
	for (msg_fifo_move(&all, f); all.head; ++*n_p) {
		struct cmi_msg *was = msg_fifo_pop(&all);
		const uint8_t mark = was->mark;
		struct cmi_msg *m = &call_for_others(pe, obj, (struct ck_env *)was)->head;

		bytes += CkGen_align(m->size);
		to = to ? call_put(m, to) : NULL;
		m = call_returns(pe, obj, m);
		m->mark = mark;
		msg_fifo_push(f, m);
	}
	return bytes;
}

/* ---- both ------------------------------------------------------------------------------------ */

size_t obj_calls_copy(struct pe *pe, struct ck_obj *obj, void *to)
{
	struct calls_image head = { 0, 0, 0 };
	size_t n, when;
	void *image;
	char *at = to;

	if (!(obj->extra & OBJ_EXTRA))
		return 0;
	image = bodies_image(pe, obj, &n);
	head.image_bytes = n;
	when = when_copy(pe, obj, at ? at + sizeof head + CkGen_align(n) : NULL, &head.n_when);
	if (at) {
		memcpy(at, &head, sizeof head);
		memset(at + sizeof head + n, 0, CkGen_align(n) - n);
		if (n)
			memcpy(at + sizeof head, image, n);
	}
	free(image);
	return n || when ? sizeof head + CkGen_align(n) + when : 0;
}

/* It was a call of this object. Numbers of handlers and PEs are of the job that wrote it. */
static const char *when_take_back(struct pe *pe, struct ck_obj *obj, struct cmi_msg *m,
				  struct msg_fifo *to)
{
	const CkGenChare *type = obj->coll->type;
	struct ck_env *env = (struct ck_env *)m;

	m->handler = ck_handler(pe, PART_CALL, H_ELEMENT);
	m->src_pe %= pe->node->job->n_pes;
	/* A singleton's collection has no id, because it is its type's. */
	if ((obj->coll->id && env->coll != obj->coll->id) || env->entry >= type->n_entries ||
	    !(type->entries[env->entry].flags & CKGEN_WHEN) ||
	    shape_call(pe, type, env->entry, env)) {
		csd_msg_free(pe, m);
		return "it has a call that waits for nothing";
	}
	if (env->flags & CK_ENV_PACKED)
		m = &message_unpack(pe, type->entries[env->entry].message, env)->head;
	msg_fifo_push(to, m);
	return NULL;
}

const char *obj_calls_remake(struct pe *pe, struct ck_obj *obj, const void *from, size_t n)
{
	const char *at = from, *end = at + n, *why;
	struct calls_image head;
	struct msg_fifo when;

	if (!n)
		return NULL;
	if (n < sizeof head)
		return "what waits there does not lie within it";
	memcpy(&head, at, sizeof head);
	at += sizeof head;
	if (!lies_within(at, end, head.image_bytes))
		return "its bodies do not lie within it";
	why = calls_misfit(at + CkGen_align(head.image_bytes), end, head.n_when);
	if (why)
		return why;
	sdag_unpack(pe, obj, at, head.image_bytes);
	at += CkGen_align(head.image_bytes);
	msg_fifo_init(&when);
	while (head.n_when-- && !why)
		why = when_take_back(pe, obj, call_unpack(pe, &at), &when);
	when_give(pe, obj, &when);
	return why;
}
