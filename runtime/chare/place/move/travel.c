/* SPDX-License-Identifier: Apache-2.0 */
/*
 * travel.c: an element with all that moves along to its next PE, or to its home when it was
 * destroyed. Between PEs of a process a message carries a pointer: the element keeps its address.
 * To another process everything is packed:
 *
 *	| struct packed | holders, padded | element, padded | bodies, padded | waiting calls | late |
 *
 * The element's bytes are those of X_pup (params/element/pup_element.c), and a call's those of
 * wait/along/calls.c.
 */
#include "place_move.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/shape.h"

struct travel *travel_new(const struct collection *c, CkIndex i)
{
	struct travel *t = cmi_alloc_zero(1, sizeof *t, "an element that moves");

	t->coll = c->id;
	t->index = i;
	msg_fifo_init(&t->late);
	obj_calls_init(&t->kept);
	return t;
}

void travel_free(struct travel *t)
{
	free(t->holders);
	free(t);
}

/* ---- under way ------------------------------------------------------------------------------- */

void travel_take_off(struct node *node, struct travel *t)
{
	struct place_node *n = place_node_of(node);

	pthread_mutex_lock(&n->lock);
	t->next = n->flying;
	t->link = &n->flying;
	if (t->next)
		t->next->link = &t->next;
	n->flying = t;
	pthread_mutex_unlock(&n->lock);
}

void travel_land(struct node *node, struct travel *t)
{
	struct place_node *n = place_node_of(node);

	pthread_mutex_lock(&n->lock);
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	pthread_mutex_unlock(&n->lock);
}

/* Messages that it carries are in the PEs' memory, which goes as a whole. */
void travels_free(struct node *node)
{
	struct travel *t = place_node_of(node)->flying, *next;

	for (; t; t = next) {
		next = t->next;
		obj_calls_free(&t->kept);
		free(t->obj);
		travel_free(t);
	}
	pthread_mutex_destroy(&place_node_of(node)->lock);
}

int travels_init(struct node *node)
{
	return -pthread_mutex_init(&place_node_of(node)->lock, NULL);
}

static void send_here(struct pe *pe, int dst_pe, struct travel *t)
{
	struct travel_msg *m = ck_msg_new(pe, PART_PLACE, H_MOVE, 0, sizeof *m);

	m->travel = t;
	travel_take_off(pe->node, t);
	csd_send(pe, dst_pe, &m->head);
}

/* ---- to another process ---------------------------------------------------------------------- */

static size_t holders_bytes(uint32_t n) { return CkGen_align(n * sizeof(int32_t)); }

/* What follows the head; returns the end. */
static char *zero_to(char *from, char *to)
{
	memset(from, 0, (size_t)(to - from));
	return to;
}

static char *holders_pack(const struct travel *t, char *at)
{
	if (t->n_holders)
		memcpy(at, t->holders, t->n_holders * sizeof *t->holders);
	return zero_to(at + t->n_holders * sizeof *t->holders, at + holders_bytes(t->n_holders));
}

/* Then the element is no more on this PE. */
static char *element_leave(struct pe *pe, struct travel *t, size_t n, char *at)
{
	if (!t->obj)
		return at;
	element_pack(pe, t->obj, at, n);
	tell_watches(pe, t->obj, offsetof(struct place_watch, packed));
	element_delete(pe, t->obj);
	element_free(pe, t->obj);
	t->obj = NULL;
	return zero_to(at + n, at + CkGen_align(n));
}

static char *image_leave(struct obj_calls *k, char *at)
{
	const size_t n = k->image_bytes;

	if (n)
		memcpy(at, k->image, n);
	free(k->image);
	k->image = NULL;
	return zero_to(at + n, at + CkGen_align(n));
}

struct packed travel_measure(struct pe *pe, int dst_pe, struct travel *t)
{
	struct packed p = { .coll = t->coll,
			    .index = t->index,
			    .seat = t->seat,
			    .n_contributed = t->n_contributed,
			    .n_holders = t->n_holders,
			    .lives = t->obj != NULL };
	size_t size = CkGen_align(sizeof p) + holders_bytes(t->n_holders);

	if (t->obj) {
		p.n_contributed = t->obj->n_contributed;
		p.bytes = element_size(pe, t->obj);
		size += CkGen_align(p.bytes);
	}
	p.image_bytes = t->kept.image_bytes;
	size += CkGen_align(p.image_bytes);
	size += calls_leave(pe, dst_pe, &t->kept.when, &p.n_kept);
	size += calls_leave(pe, dst_pe, &t->late, &p.n_late);
	p.head.size = size;
	return p;
}

void travel_write(struct pe *pe, struct travel *t, const struct packed *p, void *to)
{
	char *at = to;

	memcpy(at, p, sizeof *p);
	at = zero_to(at + sizeof *p, at + CkGen_align(sizeof *p));
	at = element_leave(pe, t, p->bytes, holders_pack(t, at));
	at = image_leave(&t->kept, at);
	at = calls_pack(pe, &t->kept.when, at);
	calls_pack(pe, &t->late, at);
	travel_free(t);
}

static void send_packed(struct pe *pe, int dst_pe, struct travel *t)
{
	struct packed p = travel_measure(pe, dst_pe, t);
	struct cmi_msg *m = ck_msg_new(pe, PART_PLACE, H_MOVE_PACKED, 0, p.head.size);

	p.head = *m;
	travel_write(pe, t, &p, m);
	csd_send(pe, dst_pe, m);
}

static bool names_a_pe(const struct pe *pe, int64_t n)
{
	return n >= 0 && n < pe->node->job->n_pes;
}

/* A call of this element, as it could have come by itself. */
static const char *packed_call_misfit(struct pe *pe, const struct packed *p,
				      const struct cmi_msg *m)
{
	const struct collection *c = coll_get(pe, p->coll);
	const struct ck_env *env = (const struct ck_env *)m;

	if (m->handler != ck_handler(pe, PART_CALL, H_ELEMENT) &&
	    m->handler != ck_handler(pe, PART_PLACE, H_DESTROY) &&
	    m->handler != ck_handler(pe, PART_PLACE, H_INSERT) && !is_told(pe, m))
		return "it carries something that is not a call";
	if (!names_a_pe(pe, m->src_pe) || (m->flags & CMI_F_REMOTE) ||
	    ((m->flags & CMI_F_WIDE) && !csd_wide_fits(m)))
		return "it carries a call that nobody can have sent";
	csd_check(pe, m);
	if (env->coll != p->coll)
		return "it carries a call of another collection";
	return m->handler == ck_handler(pe, PART_CALL, H_ELEMENT) ? shape_call_of(pe, c, env) : NULL;
}

static const char *call_take_out(struct pe *pe, const struct packed *p, const char *at,
				 struct msg_fifo *to)
{
	struct cmi_msg *m = call_unpack(pe, &at);
	const char *why = packed_call_misfit(pe, p, m);

	if (why)
		csd_misfit(pe, &p->head, why);
	msg_fifo_push(to, m);
	return at;
}

static const char *calls_unpack(struct pe *pe, const struct packed *p, const char *at, uint32_t n,
				struct msg_fifo *to)
{
	while (n--)
		at = call_take_out(pe, p, at, to);
	return at;
}

/* As they waited: message objects in the form in which the program sees them. */
static void kept_unpack(struct pe *pe, const struct collection *c, const struct packed *p,
			struct msg_fifo *calls, struct obj_calls *kept)
{
	while (calls->head) {
		struct ck_env *env = (struct ck_env *)msg_fifo_pop(calls);

		if (env->head.handler != ck_handler(pe, PART_CALL, H_ELEMENT) ||
		    !(c->type->entries[env->entry].flags & CKGEN_WHEN))
			csd_misfit(pe, &p->head, "it keeps a call that waits for nothing");
		if (env->flags & CK_ENV_PACKED)
			env = message_unpack(pe, c->type->entries[env->entry].message, env);
		msg_fifo_push(&kept->when, &env->head);
	}
}

/* Bodies need the element in its tables (obj_calls_arrive). */
static const char *image_unpack(struct obj_calls *k, const char *at, size_t n)
{
	if (!n)
		return at;
	k->image = cmi_alloc(n, "an element that moves");
	k->image_bytes = n;
	memcpy(k->image, at, n);
	return at + CkGen_align(n);
}

static struct travel *travel_unpack(struct pe *pe, struct collection *c, const struct packed *p)
{
	struct travel *t = travel_new(c, p->index);
	const char *at = (const char *)p + CkGen_align(sizeof *p);
	struct msg_fifo kept;

	t->seat = p->seat;
	t->n_contributed = p->n_contributed;
	t->n_holders = p->n_holders;
	if (p->n_holders)
		t->holders = cmi_alloc_zero(p->n_holders, sizeof *t->holders, "the callers of an element");
	if (p->n_holders)
		memcpy(t->holders, at, p->n_holders * sizeof *t->holders);
	at += holders_bytes(p->n_holders);
	if (p->lives) {
		t->obj = obj_new(c, p->index);
		t->obj->n_contributed = p->n_contributed;
		element_unpack(pe, t->obj, at, p->bytes);
		at += CkGen_align(p->bytes);
	}
	at = image_unpack(&t->kept, at, p->image_bytes);
	msg_fifo_init(&kept);
	at = calls_unpack(pe, p, at, p->n_kept, &kept);
	calls_unpack(pe, p, at, p->n_late, &t->late);
	kept_unpack(pe, c, p, &kept, &t->kept);
	return t;
}

/* What can be said once the collection's creation has come. */
static void check_arrival(struct pe *pe, const struct collection *c, const struct packed *p)
{
	if (c->type->kind != CKGEN_ARRAY || (!c->sparse && index_place(c, p->index) == UINT64_MAX))
		csd_misfit(pe, &p->head, "it is about no element");
	if (!p->lives)
		return;
	if (!element_has_pup(c->type))
		csd_misfit(pe, &p->head, "its element cannot be packed");
	if (coll_local(c, p->index) || stay_find(c, p->index))
		csd_misfit(pe, &p->head, "its element is here already");
}

struct travel *travel_read(struct pe *pe, struct collection *c, const struct packed *p)
{
	check_arrival(pe, c, p);
	return travel_unpack(pe, c, p);
}

/* ---- what may come from other processes ------------------------------------------------------ */

const char *packed_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct packed *p = (const struct packed *)m;
	const char *at = (const char *)p + CkGen_align(sizeof *p), *end = (const char *)m + m->size;
	int32_t holder;

	if (holders_bytes(p->n_holders) > (size_t)(end - at))
		return "its parts do not lie within it";
	if (p->seat != NOWHERE && !names_a_pe(pe, p->seat))
		return "it names a PE that does not exist";
	for (uint32_t i = 0; i < p->n_holders; i++) {
		memcpy(&holder, at + i * sizeof holder, sizeof holder);
		if (!names_a_pe(pe, holder))
			return "it names a PE that does not exist";
	}
	at += holders_bytes(p->n_holders);
	if (!p->lives && (p->bytes || p->image_bytes || p->n_kept))
		return "it has something of an element that it does not carry";
	if (!lies_within(at, end, p->bytes))
		return "its element does not lie within it";
	at += CkGen_align(p->bytes);
	if (!lies_within(at, end, p->image_bytes))
		return "its bodies do not lie within it";
	return calls_misfit(at + CkGen_align(p->image_bytes), end, (uint64_t)p->n_kept + p->n_late);
}

void travel_send(struct pe *pe, int dst_pe, struct travel *t)
{
	if (pe_is_here(pe, dst_pe))
		send_here(pe, dst_pe, t);
	else
		send_packed(pe, dst_pe, t);
}

