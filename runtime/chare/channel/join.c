/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: joins and separates the two ends of a named channel: the words of named_int.h. */
#include "named_int.h"
#include "../core/shape.h"

#include <string.h>

enum word_kind {
	WORD_HELLO, WORD_BYE_SENDER, /* to the receiver */
	WORD_ASK, WORD_JOIN, WORD_BYE_RECEIVER, /* to the sender */
	WORD_LOOK, /* to the element itself: check the ends again */
};

struct word {
	struct channel_name name;
	uint32_t kind, unused;
	uint64_t receiver;        /* its id; 0: unknown */
	uint64_t serial, puts;
	uint64_t bytes;
	uint64_t end[CSD_END_BYTES / 8]; /* JOIN only: shorter otherwise */
};

static bool is_for_sender(uint32_t kind) { return kind >= WORD_ASK && kind <= WORD_BYE_RECEIVER; }
static size_t word_bytes(uint32_t kind)
{
	return kind == WORD_JOIN ? sizeof(struct word) : offsetof(struct word, end);
}

static void tell_other_end(struct pe *pe, const CkChannel *c, enum word_kind kind)
{
	struct ck_env *env = env_new(pe, 0, word_bytes(kind));
	struct word *w = payload_of(env);

	w->name = c->name;
	w->kind = kind;
	w->unused = 0;
	w->receiver = c->id;
	w->serial = c->serial;
	w->puts = c->puts;
	w->bytes = c->bytes;
	if (kind == WORD_JOIN)
		memcpy(w->end, c->end, sizeof w->end);
	place_tell(pe, is_for_sender(kind) ? &c->name.from : &c->name.to, PART_NAMED, env);
}

uint64_t end_puts(struct pe *pe, const CkChannel *c, struct csd_receiving *now)
{
	return c->base + (c->sends ? layer_ends(pe)->stop(pe, (void *)(uintptr_t)c->end) :
				     layer_ends(pe)->received(pe, c->end, now));
}

/* ---- the sender ------------------------------------------------------------------------------ */

/* It stops: end_puts. Model: named.pml, end_hello */
void end_hello(struct pe *pe, CkChannel *c)
{
	c->puts = end_puts(pe, c, NULL);
	c->serial++;
	tell_other_end(pe, c, WORD_HELLO);
}

static void check_same_size(struct pe *pe, const CkChannel *c, const struct word *w)
{
	char name[END_NAME_MAX];

	if (w->bytes != c->bytes)
		csd_abort(
			pe,
			"%s: the sending end has %zu bytes, and the receiving end %llu; both must have the same size",
			end_describe(pe, c, name, sizeof name), c->bytes,
			(unsigned long long)w->bytes);
}

/* The receiver has had the sender's last put, but its local completion is not known yet. */
static void join_later(struct pe *pe, const struct word *w)
{
	struct ck_env *env = env_new(pe, 0, sizeof *w);

	memcpy(payload_of(env), w, sizeof *w);
	place_tell(pe, &w->name.from, PART_NAMED, env);
}

/* Model: named.pml, joined */
static void joined(struct pe *pe, CkChannel *c, const struct word *w)
{
	if (w->receiver != c->id || w->serial != c->serial)
		return; /* it has sent HELLO again since */
	check_same_size(pe, c, w);
	if (layer_ends(pe)->busy(pe, c->end)) {
		join_later(pe, w);
		return;
	}
	c->base = end_puts(pe, c, NULL);
	layer_ends(pe)->join(
		pe, c->end, w->end,
		&(struct csd_sending){ c->buf, c->bytes, c->device, c->strided ? c->shape : NULL,
				       NULL, c });
}

/* The receiver's end is gone: puts wait for another one of this name. */
static void left_alone(struct pe *pe, CkChannel *c)
{
	c->puts = end_puts(pe, c, NULL);
	c->serial++;
}

/* ---- the receiver ---------------------------------------------------------------------------- */

void end_ask(struct pe *pe, CkChannel *c)
{
	c->asked = true;
	tell_other_end(pe, c, WORD_ASK);
}

/* A sender counts its puts from 0 when it is joined, and so does the receiver: so the layer's end
 * is made anew. */
static void renew(struct pe *pe, CkChannel *c, uint64_t puts)
{
	layer_ends(pe)->take(pe, c->end);
	c->base = puts;
	c->in.landed = false;
	end_begin(pe, c);
}

/* Model: named.pml, end_join */
void end_join(struct pe *pe, CkChannel *c)
{
	uint64_t puts;

	if (!c->serial || c->answered || c->of->leaving || c->destroyed)
		return;
	puts = end_puts(pe, c, &c->in);
	if (puts != c->puts) {
		c->odd = true; /* repeated after the next arrival */
		return;
	}
	if (c->announced || puts != c->base)
		renew(pe, c, puts);
	c->announced = c->answered = true;
	tell_other_end(pe, c, WORD_JOIN);
}

/* The sender is not joined. */
static void stopped(struct pe *pe, CkChannel *c)
{
	struct ends *o = c->of;

	c->answered = c->asked = false;
	if (!end_over(pe, c))
		end_join(pe, c);
	ends_fewer(pe, o);
}

/* Model: named.pml, heard */
static void hello_heard(struct pe *pe, CkChannel *c, const struct word *w)
{
	if (w->receiver != c->id) {
		end_ask(pe, c); /* it does not know this end yet */
		return;
	}
	if (w->serial <= c->serial)
		return; /* it was overtaken */
	c->serial = w->serial;
	c->puts = w->puts;
	stopped(pe, c);
}

static void sender_gone(struct pe *pe, CkChannel *c)
{
	c->serial = 0;
	stopped(pe, c);
}

/* ---- words that arrive ----------------------------------------------------------------------- */

void end_bye(struct pe *pe, const CkChannel *c)
{
	tell_other_end(pe, c, c->sends ? WORD_BYE_SENDER : WORD_BYE_RECEIVER);
}

void ends_look(struct pe *pe, struct ends *o)
{
	if (o->looks)
		return;
	o->looks = true;

	const CkElement self = { o->obj->coll->id, o->obj->index, 0 };
	struct CkChannel c = { .name = { self, self, 0, 0 } };

	tell_other_end(pe, &c, WORD_LOOK);
}

static void act(struct pe *pe, CkChannel *c, const struct word *w)
{
	switch ((enum word_kind)w->kind) {
	case WORD_HELLO:
		hello_heard(pe, c, w);
		break;
	case WORD_BYE_SENDER:
		if (w->receiver == c->id)
			sender_gone(pe, c);
		break;
	case WORD_ASK:
		c->id = w->receiver;
		end_hello(pe, c);
		break;
	case WORD_JOIN:
		joined(pe, c, w);
		break;
	case WORD_BYE_RECEIVER:
		if (w->receiver == c->id)
			left_alone(pe, c);
		break;
	case WORD_LOOK:
		break;
	}
}

/* The end that a word is for, perhaps one that the program has destroyed and that still waits for
 * it. */
static CkChannel *end_meant(const struct ends *o, const struct word *w)
{
	CkChannel *c = o->first;

	if (is_for_sender(w->kind))
		return end_find(o, &w->name, true);
	while (c && (c->sends || c->id != w->receiver))
		c = c->next;
	return c ? c : end_find(o, &w->name, false);
}

/* Words for an end that is not made yet are dropped: it sends its own when it is made. */
void named_told(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	const struct word *w = payload_of(env);
	struct ends *o = ends_find(pe, obj);
	CkChannel *c = o && w->kind != WORD_LOOK ? end_meant(o, w) : NULL;

	if (c) {
		act(pe, c, w);
	} else if (o && w->kind == WORD_LOOK) {
		o->looks = false;
		ends_may_leave(pe, o);
	}
	csd_msg_free(pe, &env->head);
}

const char *named_told_misfit(struct pe *pe, const struct ck_env *env)
{
	const struct word *w = payload_of((struct ck_env *)(uintptr_t)env);
	const size_t room = env->head.size - sizeof *env;

	if (!pe->node->up.ends || room < offsetof(struct word, end) || w->kind > WORD_LOOK ||
	    room != word_bytes(w->kind))
		return "it says nothing about a channel";
	return shape_id(pe, w->name.from.id) ? shape_id(pe, w->name.from.id) : shape_id(pe, w->name.to.id);
}
