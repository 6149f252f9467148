/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_save.c: named channels in checkpoints. The element's pup function packs its ends
 * (pup_channel), as for a move. But the job is at rest: every put has been consumed. So nothing of
 * what the two ends know of each other is needed: a restart makes both anew, with counts from 0, in
 * the state that the program gave them, and they join as new ends do.
 */
#include "named_int.h"
#include "../params/element/element.h"

/* ---- what cannot be saved -------------------------------------------------------------------- */

static const char *end_obstacle(struct pe *pe, const CkChannel *c)
{
	struct csd_receiving now = { 0 };

	if (c->sends)
		return c->held || (c->live && layer_ends(pe)->holds(pe, c->end)) ? "has a put that waits" : NULL;
	end_puts(pe, c, &now);
	return now.landed ? "has a put that is not polled (CkChannelReadyPollQ)" : NULL;
}

static void end_refuse(struct pe *pe, CkChannel *c, struct csd_told *to)
{
	const char *why = end_obstacle(pe, c);
	char name[END_NAME_MAX];

	if (!why && !c->packed)
		why = "is not packed by the element's pup function: call pup_channel for each end";
	if (why)
		csd_tell(to, NULL, "the %s end of %s %s", c->sends ? "sending" : "receiving",
			 end_describe(pe, c, name, sizeof name), why);
}

/* An end that the program has destroyed has no pointer in its element any more. */
static void ends_refuse(struct pe *pe, struct ends *o, struct csd_told *to)
{
	if (!element_has_pup(o->obj->coll->type))
		return; /* place/ says so */
	for (CkChannel *c = o->first; c; c = c->next)
		c->packed = false;
	element_size(pe, o->obj);
	for (CkChannel *c = o->first; c; c = c->next)
		if (!c->destroyed)
			end_refuse(pe, c, to);
}

void named_refuse(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&named_of(pe)->ends, &i)); i++)
		ends_refuse(pe, (struct ends *)s->value, to);
}

/* ---- restart --------------------------------------------------------------------------------- */

static void end_remade(struct pe *pe, CkChannel *c)
{
	c->base = c->told = c->serial = c->puts = 0;
	c->answered = c->asked = false;
	c->id = c->sends ? 0 : named_new_id(pe);
	end_begin(pe, c);
	if (c->sends)
		end_hello(pe, c);
	else
		end_ask(pe, c);
}

void named_remade(struct pe *pe, struct collection *c, const struct place_still *saved)
{
	struct ck_obj *obj;
	struct ends *o;

	(void)saved;
	for (uint64_t at = 0; (obj = coll_each(c, &at));) {
		if (!(o = flying_take(pe->node, obj)))
			continue;
		ends_add(pe, o);
		for (CkChannel *end = o->first; end; end = end->next)
			end_remade(pe, end);
	}
}
