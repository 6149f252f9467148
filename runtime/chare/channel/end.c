/* SPDX-License-Identifier: Apache-2.0 */
/* end.c: the records of the ends of named channels. */
#include "named_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>

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

void named_call_by(struct node *node, CkGenCall call)
{
	((struct named_node *)ck_node_state(node, PART_NAMED))->call = call;
}

CkGenCall end_call(const struct pe *pe, const struct ck_obj *obj, int entry)
{
	const struct named_node *n = ck_node_state(pe->node, PART_NAMED);

	return n->call ? n->call : obj->coll->type->entries[entry].call;
}
