/* SPDX-License-Identifier: Apache-2.0 */
/* end.c: the records of the ends of named channels. */
#include "named_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ends *ends_find(const struct pe *pe, const struct ck_obj *obj)
{
	return idmap_get(&named_of(pe)->ends, (uintptr_t)obj);
}

struct ends *ends_new(struct ck_obj *obj)
{
	struct ends *o = cmi_alloc_zero(1, sizeof *o, "named channels");

	o->obj = obj;
	return o;
}

void ends_add(struct pe *pe, struct ends *o)
{
	idmap_add(&named_of(pe)->ends, (uintptr_t)o->obj, (uintptr_t)o);
}

void ends_remove(struct pe *pe, const struct ends *o)
{
	struct idmap *m = &named_of(pe)->ends;

	idmap_remove(m, idmap_find(m, (uintptr_t)o->obj));
}

static bool same_element(const CkElement *a, const CkElement *b)
{
	return a->id == b->id && !((a->index.v[0] ^ b->index.v[0]) | (a->index.v[1] ^ b->index.v[1]) |
				   (a->index.v[2] ^ b->index.v[2]));
}

CkChannel *end_find(const struct ends *o, const struct channel_name *n, bool sends)
{
	CkChannel *c = o ? o->first : NULL;

	while (c && !(c->sends == sends && c->name.tag == n->tag && c->name.entry == n->entry &&
		      !c->destroyed && same_element(&c->name.to, &n->to) &&
		      same_element(&c->name.from, &n->from)))
		c = c->next;
	return c;
}

void end_free(CkChannel *c)
{
	CkChannel **p = &c->of->first;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	if (c->group)
		c->group->less(c->group);
	free(c->held);
	free(c);
}

static const char *end_element(struct pe *pe, const CkElement *e, char *buf, size_t len)
{
	const struct collection *c = coll_get(pe, e->id);

	if (c->type)
		return element_describe(c->type, e->index, buf, len);
	snprintf(buf, len, "an element of an array that is not known here yet");
	return buf;
}

const char *end_describe(struct pe *pe, const CkChannel *c, char *buf, size_t len)
{
	const struct collection *to = coll_get(pe, c->name.to.id);
	char entry[128] = "a channel", from[128], dest[128];

	if (to->type && c->name.entry < to->type->n_entries)
		describe_entry(to->type, c->name.entry, entry, sizeof entry);
	snprintf(buf, len, "channel %s(%d) from %s to %s", entry, c->name.tag,
		 end_element(pe, &c->name.from, from, sizeof from),
		 end_element(pe, &c->name.to, dest, sizeof dest));
	return buf;
}

/* Tells the observers of the collection (observe/). */
static void arrival_observed(void *self, void *payload)
{
	const struct ck_running *now = &ck_of(ck_self())->now;

	now->obj->coll->entries[now->entry].call(self, payload);
}

CkGenCall end_call(const struct pe *pe, const struct ck_obj *obj, int entry)
{
	return ck_node_of(pe->node)->observers ? arrival_observed : obj->coll->entries[entry].call;
}

/* ---- for the channel layer ------------------------------------------------------------------- */

static const char *describe_owner(struct pe *pe, const void *owner, char *buf, size_t len)
{
	return end_describe(pe, owner, buf, len);
}

/* Only for errors: all ends of the PE are searched. */
static const void *owner_of(struct pe *pe, const void *end)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&named_of(pe)->ends, &i)); i++)
		for (const CkChannel *c = ((const struct ends *)s->value)->first; c; c = c->next)
			if (c->end == end)
				return c;
	return NULL;
}

static const char *own_function(const char *name)
{
	static const char *const own[][2] = {
		{ "CkDirect_put", "CkChannelPut" },
		{ "CkDirect_ready", "CkChannelReady" },
		{ "CkDirect_readyMark", "CkChannelReadyMark" },
		{ "CkDirect_readyPollQ", "CkChannelReadyPollQ" },
		{ "CkDirect_destroyHandle", "CkChannelDestroy" },
	};

	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		if (strcmp(own[i][0], name) == 0)
			return own[i][1];
	return NULL;
}

const struct csd_end_names named_names = {
	.describe = describe_owner,
	.owner_of = owner_of,
	.function = own_function,
};
