/* SPDX-License-Identifier: Apache-2.0 */
/* named.c: named channels: functions for programs, the part. */
#include "named_int.h"
#include "../create/place_watch.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

static struct ends *ends_get(struct pe *pe, struct ck_obj *obj)
{
	struct ends *o = ends_find(pe, obj);

	if (!o) {
		o = ends_new(obj);
		ends_add(pe, o);
	}
	return o;
}

/* ---- for programs ---------------------------------------------------------------------------- */

struct ck_obj *check_element(struct pe *pe, const void *self, const char *what)
{
	struct ck_obj *obj = obj_of(self);

	if (!layer_ends(pe))
		csd_abort(pe, "%s: this program has no channels", what);
	if (obj->coll->type->kind != CKGEN_ARRAY)
		csd_abort(pe, "%s: %s is not an array; only elements of arrays are the ends of named channels",
			what,
			  obj->coll->type->name);
	return obj;
}

/* An array may not be known here yet. */
static void check_other(struct pe *pe, const CkElement *e, const char *what)
{
	const struct collection *c = coll_get(pe, e->id);

	if (c->type && c->type->kind != CKGEN_ARRAY)
		csd_abort(
			pe,
			"%s: %s is not an array; only elements of arrays are the ends of named channels",
			what, c->type->name);
	if (c->type && !c->sparse && index_place(c, e->index) == UINT64_MAX)
		index_bad(pe, c, what, e->index);
}

static CkChannel *end_new(struct pe *pe, struct ck_obj *obj, const struct channel_name *n,
			  bool sends)
{
	struct ends *o = ends_get(pe, obj);
	CkChannel *c = cmi_alloc_zero(1, sizeof *c, "a named channel");
	char name[END_NAME_MAX];

	c->of = o;
	c->name = *n;
	c->sends = sends;
	if (end_find(o, n, sends))
		csd_abort(
			pe,
			"%s: the element has its %s end already; choose another tag, or call CkChannelDestroy before",
			end_describe(pe, c, name, sizeof name), sends ? "sending" : "receiving");
	c->next = o->first;
	o->first = c;
	return c;
}

uint64_t named_new_id(struct pe *pe)
{
	return ((uint64_t)pe->id + 1) << 40 | ++named_of(pe)->n_receivers;
}

CkChannel *end_receive(struct pe *pe, struct ck_obj *obj, const struct channel_name *n,
		       struct csd_receiving in, struct named_group *group)
{
	CkChannel *c;

	check_other(pe, &n->from, "the sending end of a channel");
	c = end_new(pe, obj, n, false);
	c->in = in;
	c->in.state = CSD_END_ARMED;
	c->device = in.device;
	c->bytes = in.bytes;
	c->group = group;
	named_set_join(c, false);
	c->id = named_new_id(pe);
	end_begin(pe, c);
	end_ask(pe, c);
	return c;
}

static struct CkChannel *make_from(void *self, int entry, CkElement from, int tag,
				   struct csd_receiving in)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = check_element(pe, self, "a channel's receiving end");
	const struct channel_name name = { from, { obj->coll->id, obj->index, 0 }, entry, tag };

	return end_receive(pe, obj, &name, in, NULL);
}

struct CkChannel *CkGen_channelFrom(const CkGenChare *chare, void *self, int entry, CkElement from,
				    int tag, void *buf, size_t bytes, const uint64_t *oob)
{
	(void)chare;
	return make_from(self, entry, from, tag,
			 (struct csd_receiving){ .buf = buf, .bytes = bytes, .counted = !oob,
						 .oob = oob ? *oob : 0 });
}

struct CkChannel *CkGen_channelFromDevice(const CkGenChare *chare, void *self, int entry,
					  CkElement from, int tag, void *dbuf, size_t bytes)
{
	(void)chare;
	return make_from(self, entry, from, tag,
			 (struct csd_receiving){ .buf = dbuf, .bytes = bytes, .counted = true,
						 .device = true });
}

static struct CkChannel *make_to(const void *self, int entry, CkElement to, int tag,
				 const void *buf, size_t bytes, const struct CkDirectStrides *shape, bool device)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = check_element(pe, self, "a channel's sending end");
	CkChannel *c = end_new(
		pe, obj, &(struct channel_name){ { obj->coll->id, obj->index, 0 }, to, entry, tag },
		true);
	char name[END_NAME_MAX];

	check_other(pe, &to, "the receiving end of a channel");
	if (!buf || !bytes)
		csd_abort(pe, "%s: the send buffer is %s", end_describe(pe, c, name, sizeof name),
			  buf ? "empty" : "NULL");
	c->buf = buf;
	c->bytes = bytes;
	c->device = device;
	c->strided = shape != NULL;
	if (shape)
		memcpy(c->shape, shape, sizeof c->shape);
	end_begin(pe, c);
	end_hello(pe, c);
	return c;
}

struct CkChannel *CkGen_channelTo(const CkGenChare *chare, const void *self, int entry,
				  CkElement to, int tag, const void *buf, size_t bytes,
				  const struct CkDirectStrides *shape)
{
	(void)chare;
	return make_to(self, entry, to, tag, buf, bytes, shape, false);
}

struct CkChannel *CkGen_channelToDevice(const CkGenChare *chare, const void *self, int entry,
					CkElement to, int tag, const void *dbuf, size_t bytes)
{
	(void)chare;
	return make_to(self, entry, to, tag, dbuf, bytes, NULL, true);
}

static void sender_destroy(struct pe *pe, CkChannel *c)
{
	void *held = c->live ? layer_ends(pe)->leave(pe, c->end) : NULL;

	if (held || c->held)
		pe->n_processed++; /* the put that waits will never be made */
	free(held);
	end_bye(pe, c);
	end_free(c);
}

/* A JOIN may be under way to the sender, or the sender is joined: it sends HELLO or BYE before the
 * end is freed. */
static void receiver_destroy(struct pe *pe, CkChannel *c)
{
	c->destroyed = c->odd = true;
	named_set_without(c);
	layer_ends(pe)->retire(pe, c->end);
	if (c->answered && !c->asked)
		end_ask(pe, c);
	end_over(pe, c);
}

void CkChannelDestroy(CkChannel *c)
{
	struct pe *pe = ck_self();
	struct ends *o;

	if (!c)
		return;
	if (ends_find(pe, c->of->obj) != c->of)
		csd_abort(
			pe,
			"CkChannelDestroy: the channel's end is not on this PE; call it where its element lives");
	o = c->of;
	(c->sends ? sender_destroy : receiver_destroy)(pe, c);
	ends_fewer(pe, o);
}

/* ---- for balance/ ---------------------------------------------------------------------------- */

/* The channel counts its puts anyway, so counting costs a put nothing. */
static uint64_t puts_made(struct pe *pe, const CkChannel *c)
{
	return c->base + (c->live ? layer_ends(pe)->made(pe, c->end) : c->held != NULL);
}

void named_puts(struct pe *pe, struct ck_obj *obj, named_puts_fn fn)
{
	const struct ends *o = ends_find(pe, obj);

	for (const CkChannel *c = o ? o->first : NULL; c; c = c->next) {
		const uint64_t n = c->sends ? puts_made(pe, c) - c->told : 0;

		if (n)
			fn(obj, &c->name.to, n, n * c->bytes);
	}
}

void named_puts_anew(struct pe *pe, const struct ck_obj *obj)
{
	const struct ends *o = ends_find(pe, obj);

	for (CkChannel *c = o ? o->first : NULL; c; c = c->next)
		if (c->sends)
			c->told = puts_made(pe, c);
}

/* ---- the part -------------------------------------------------------------------------------- */

static void ends_free(struct ends *o)
{
	while (o->first)
		end_free(o->first);
	free(o);
}

/* Its element is gone, so it receives no words. */
static void receiver_gone(struct pe *pe, CkChannel *c)
{
	if (c->live && !c->destroyed)
		layer_ends(pe)->retire(pe, c->end);
	else if (!c->live && c->in.landed)
		pe->n_processed++;
	end_bye(pe, c);
	c->answered = false;
	c->destroyed = c->odd = true;
	if (c->live)
		end_over(pe, c);
	else
		end_free(c);
}

/* An element with a running function is not freed before that has ended (place/destroy.c), nor is
 * its end. */
static void element_destroyed(struct pe *pe, struct ck_obj *obj)
{
	struct ends *o = ends_find(pe, obj);
	CkChannel *c, *next;

	if (!o && !(o = flying_take(pe->node, obj)))
		return;
	if (ends_find(pe, obj) != o)
		ends_add(pe, o);
	o->waits = false;
	for (c = o->first; c; c = next) {
		next = c->next;
		(c->sends ? sender_destroy : receiver_gone)(pe, c);
	}
	ends_fewer(pe, o);
}

static void all_ends_free(struct idmap *m)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(m, &i)); i++)
		ends_free((struct ends *)s->value);
	idmap_free(m);
}

static void named_pe_free(struct pe *pe) { all_ends_free(&named_of(pe)->ends); }

static const struct place_watch watch = {
	.arrived = named_arrived,
	.leave_later = named_leave_later,
	.alone = named_alone,
	.rests = named_rests,
	.goes_on = named_goes_on,
	.packed = named_packed,
	.told = named_told,
	.told_misfit = named_told_misfit,
	.remade = named_remade,
};

static int named_node_start(struct node *node)
{
	place_join(node, PART_NAMED, &watch);
	return -pthread_mutex_init(&((struct named_node *)ck_node_state(node, PART_NAMED))->lock, NULL);
}

static void named_node_stop(struct node *node)
{
	struct named_node *n = ck_node_state(node, PART_NAMED);

	all_ends_free(&n->flying);
	pthread_mutex_destroy(&n->lock);
}

const struct ck_part named_part = {
	.name = "named",
	.number = PART_NAMED,
	.pe_bytes = sizeof(struct named_pe),
	.node_bytes = sizeof(struct named_node),
	.watch.destroyed = element_destroyed,
	.node_start = named_node_start,
	.node_stop = named_node_stop,
	.pe_free = named_pe_free,
	.describe = named_describe,
	.save.refuse = named_refuse,
};
