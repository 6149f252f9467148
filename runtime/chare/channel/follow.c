/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c: moves named channels with their elements. An element leaves when its ends are idle:
 *
 *	sending       its last put is locally complete
 *	receiving     the sender has stopped, and each put that it made has been consumed; or the last
 *	              one lies in the buffer of an end that is marked and not polled, and goes along
 *
 * Then the channel layer's ends are ended here. The records move with the element: as they are
 * within a process, packed by pup_channel to another one.
 */
#include "named_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- idle ends ------------------------------------------------------------------------------- */

static bool sender_rests(struct pe *pe, CkChannel *c)
{
	if (!layer_ends(pe)->busy(pe, c->end))
		return true;
	ends_look(pe, c->of);
	return false;
}

static bool receiver_rests(struct pe *pe, CkChannel *c)
{
	struct csd_receiving now;
	uint64_t puts;

	if (!c->serial)
		return true; /* it has no sender */
	if (c->answered) {
		if (!c->asked)
			end_ask(pe, c);
		return false;
	}
	puts = end_puts(pe, c, &now);
	if (puts == c->puts || (now.state == CSD_END_MARKED && now.landed && puts + 1 == c->puts))
		return true;
	if (now.state == CSD_END_MARKED)
		ends_look(pe, c->of); /* nothing else checks */
	else
		c->odd = true;
	return false;
}

/* Each is asked, so that all their senders stop at the same time. */
static bool all_rest(struct pe *pe, struct ends *o)
{
	bool rest = true;

	for (CkChannel *c = o->first; c; c = c->next)
		if (c->destroyed || !(c->sends ? sender_rests : receiver_rests)(pe, c))
			rest = false;
	return rest;
}

void ends_may_leave(struct pe *pe, struct ends *o)
{
	if (!o->waits || !all_rest(pe, o))
		return;
	o->waits = false;
	place_may_leave(pe, o->obj);
}

bool named_alone(struct pe *pe, struct ck_obj *obj) { return ends_find(pe, obj) != NULL; }

bool named_leave_later(struct pe *pe, struct ck_obj *obj)
{
	struct ends *o = ends_find(pe, obj);

	if (!o)
		return false;
	o->leaving = true;
	return o->waits = !all_rest(pe, o);
}

/* ---- between two PEs ------------------------------------------------------------------------- */

static struct named_node *flying_of(const struct node *node)
{
	return ck_node_state(node, PART_NAMED);
}

static void fly(struct node *node, struct ends *o)
{
	struct named_node *n = flying_of(node);

	pthread_mutex_lock(&n->lock);
	idmap_add(&n->flying, (uintptr_t)o->obj, (uintptr_t)o);
	atomic_fetch_add_explicit(&n->n_flying, 1, memory_order_relaxed);
	pthread_mutex_unlock(&n->lock);
}

/* Mostly none fly. Then PEs that destroy many chares do not meet at the lock. If the ends of `obj`
 * fly, this PE sees them counted, because it got the element after fly(). */
struct ends *flying_take(struct node *node, const struct ck_obj *obj)
{
	struct named_node *n = flying_of(node);
	struct idmap_slot *at;
	struct ends *o;

	if (CSD_LIKELY(!atomic_load_explicit(&n->n_flying, memory_order_relaxed)))
		return NULL;
	pthread_mutex_lock(&n->lock);
	at = idmap_find(&n->flying, (uintptr_t)obj);
	o = at ? (struct ends *)at->value : NULL;
	if (at) {
		idmap_remove(&n->flying, at);
		atomic_fetch_sub_explicit(&n->n_flying, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&n->lock);
	return o;
}

/* Model: named.pml, named_rests */
void named_rests(struct pe *pe, struct ck_obj *obj)
{
	struct ends *o = ends_find(pe, obj);

	if (!o)
		return;
	for (CkChannel *c = o->first; c; c = c->next)
		end_rest(pe, c);
	o->leaving = o->waits = o->looks = false;
	ends_remove(pe, o);
	fly(pe->node, o);
}

/* The ends are made anew, and their other ends are told. Model: named.pml, named_arrived */
void named_arrived(struct pe *pe, struct ck_obj *obj)
{
	struct ends *o = flying_take(pe->node, obj);

	if (!o)
		return;
	ends_add(pe, o);
	for (CkChannel *c = o->first; c; c = c->next) {
		end_begin(pe, c);
		if (c->sends)
			end_hello(pe, c);
		else
			end_join(pe, c);
	}
}

void named_goes_on(struct pe *pe, struct ck_obj *obj)
{
	struct ends *o = ends_find(pe, obj);

	if (!o) {
		named_arrived(pe, obj);
		return;
	}
	o->leaving = o->waits = false;
	for (CkChannel *c = o->first; c; c = c->next)
		if (!c->sends)
			end_join(pe, c);
}

/* ---- as bytes -------------------------------------------------------------------------------- */

/* Of the buffer. */
enum { IN_ONE_PIECE, STRIDED, IN_DEVICE };

struct image {
	struct channel_name name;
	uint8_t sends, layout, counted, state;
	uint8_t landed;           /* receiving: the data follow */
	uint8_t held;             /* sending: the data of a put that waits follow */
	uint8_t answered;
	uint8_t came;             /* receiving: it waits for others of its set; the data follow */
	uint64_t bytes, oob, base, id, serial, puts, told;
	uint64_t shape[CSD_SHAPE_BYTES / 8];
};

/* Of an element that stays, only to try its pup function or to list its memory: its senders
 * continue. Whether a put has landed may change between sizing and packing: it does not count. */
static struct image image_of_end(struct pe *pe, const CkChannel *c)
{
	struct csd_receiving now = c->in;
	const uint64_t base = c->live && !c->sends ? end_puts(pe, c, &now) : c->base;
	struct image im = {
		.name = c->name,
		.sends = c->sends,
		.layout = c->device ? IN_DEVICE : c->strided ? STRIDED : IN_ONE_PIECE,
		.counted = c->in.counted,
		.state = now.state,
		.landed = now.landed && !c->live,
		.held = c->held != NULL,
		.answered = c->answered,
		.came = named_set_has(c),
		.bytes = c->bytes,
		.oob = c->in.oob,
		.base = base,
		.id = c->id,
		.serial = c->serial,
		.puts = c->puts,
		.told = c->told,
	};

	memcpy(im.shape, c->shape, sizeof im.shape);
	return im;
}

static CkChannel *end_of_image(const struct image *im, void *buf)
{
	CkChannel *c = cmi_alloc_zero(1, sizeof *c, "a named channel");

	c->name = im->name;
	c->sends = im->sends;
	c->strided = im->layout == STRIDED;
	c->device = im->layout == IN_DEVICE;
	c->bytes = im->bytes;
	c->base = im->base;
	c->id = im->id;
	c->serial = im->serial;
	c->puts = im->puts;
	c->told = im->told;
	c->answered = im->answered;
	c->buf = buf;
	c->in = (struct csd_receiving){ .buf = buf,
					.bytes = im->bytes,
					.oob = im->oob,
					.counted = im->counted,
					.device = im->layout == IN_DEVICE,
					.landed = im->landed,
					.state = im->state };
	memcpy(c->shape, im->shape, sizeof c->shape);
	if (im->held)
		c->held = cmi_alloc(im->bytes, "a put that waits");
	return c;
}

static void check_same_buffer(pup_er p, const CkChannel *c, const void *buf)
{
	char name[END_NAME_MAX];

	if (buf != (c->sends ? c->buf : c->in.buf))
		pup_fault(p, "calls pup_channel with another buffer (%p) than the end has (%p): %s; it keeps "
			  "the one that it was made with, also when the program swaps two pointers", buf,
			  c->sends ? c->buf : c->in.buf, end_describe(ck_self(), c, name, sizeof name));
}

static void end_data(pup_er p, void *buf, size_t bytes, bool device)
{
	if (device)
		named_stage(p, buf, bytes);
	else
		pup_bytes(p, buf, bytes);
}

static void write_end(pup_er p, CkChannel *c, void *buf)
{
	struct image im = image_of_end(ck_self(), c);

	check_same_buffer(p, c, buf);
	/* The buffer of an end that waits for a put, or that has put, need not be kept. */
	if (!c->strided && !c->device && (c->sends || im.state != CSD_END_CONSUMED))
		pup_skip(p, buf, im.bytes);
	pup_bytes(p, &im, sizeof im);
	if (im.landed || im.came)
		end_data(p, buf, im.bytes, c->device);
	if (im.held)
		pup_bytes(p, c->held, im.bytes);
	c->packed |= pup_isPacking(p) || pup_isSizing(p);
}

static CkChannel *read_end(pup_er p, struct ck_obj *obj, void *buf)
{
	struct node *node = ck_self()->node;
	struct ends *o = flying_take(node, obj);
	struct image im;
	CkChannel *c, **last;

	pup_bytes(p, &im, sizeof im);
	c = end_of_image(&im, buf);
	if (im.landed || im.came)
		end_data(p, buf, im.bytes, c->device);
	if (im.held)
		pup_bytes(p, c->held, im.bytes);
	if (!o)
		o = ends_new(obj);
	c->of = o;
	if (!c->sends)
		named_set_join(c, im.came);
	for (last = &o->first; *last; last = &(*last)->next)
		;
	*last = c;
	fly(node, o);
	return c;
}

static void delete_end(CkChannel *c)
{
	struct ends *o = c->of;

	end_free(c);
	if (o->first)
		return;
	flying_take(ck_self()->node, o->obj);
	free(o);
}

void pup_channel(pup_er p, CkChannel **c, void *buf)
{
	bool there = *c != NULL && !pup_isUnpacking(p);
	struct ck_obj *obj = pup_element(p);

	if (!obj)
		pup_fault(p, "calls pup_channel for a parameter; only elements have the ends of channels");
	pup_bool(p, &there);
	if (pup_isDeleting(p) && there)
		delete_end(*c);
	else if (pup_isUnpacking(p))
		*c = there ? read_end(p, obj, buf) : NULL;
	else if (there)
		write_end(p, *c, buf);
}

void named_packed(struct pe *pe, struct ck_obj *obj)
{
	struct named_node *n = flying_of(pe->node);
	char who[128], name[END_NAME_MAX];
	const struct ends *o;

	pthread_mutex_lock(&n->lock);
	o = idmap_get(&n->flying, (uintptr_t)obj);
	pthread_mutex_unlock(&n->lock);
	for (const CkChannel *c = o ? o->first : NULL; c; c = c->next)
		if (!c->packed)
			csd_abort(pe, "%s: %s_pup does not pack the %s end of %s: call pup_channel for each end",
				  obj_describe(obj, who, sizeof who), obj->coll->type->name,
				  c->sends ? "sending" : "receiving", end_describe(pe, c, name, sizeof name));
}
