/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sets.c: [arrival, count(n)]: the receiving ends of one entry of an element are a set, whose
 * function runs once for n arrivals. A member is a receiving end like any other, and is joined,
 * stopped and moved as those are. The set has nothing that moves with the element: which members
 * have arrived in the round goes along with each of them, and how many that are follows from it.
 */
#include "named_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <limits.h>
#include <stdlib.h>

struct named_set {
	struct named_group group; /* first */
	uint32_t n_came;          /* members whose round is this one */
	uint32_t n_members;       /* ends that are not freed */
	uint32_t count;           /* at the last arrival that did not complete the round */
	uint64_t round;           /* from 1 */
};

static struct named_set *set_of(struct named_group *g) { return (struct named_set *)g; }

static CkChannel *end_of_tag(void *tag)
{
	return (CkChannel *)((char *)tag - offsetof(CkChannel, name.tag));
}

static const CkGenEntry *entry_of(const CkChannel *c)
{
	return &c->of->obj->coll->type->entries[c->name.entry];
}

int CkGen_channelsCount(const void *self, int entry, long long n)
{
	const struct ck_obj *obj = (const struct ck_obj *)self - 1;
	char who[128], name[128];

	if (CSD_LIKELY(n > 0 && n <= INT_MAX))
		return (int)n;
	csd_abort(ck_self(), "the count of %s is %lld at %s; it must be at least 1 when a put arrives",
		  describe_entry(obj->coll->type, entry, name, sizeof name), n,
		  obj_describe(obj, who, sizeof who));
}

/* ---- a round --------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) void came_twice(struct pe *pe, const CkChannel *c)
{
	char name[END_NAME_MAX];

	csd_abort(pe, "%s: a second put before the others of its set have arrived; arm the set by "
		  "%s_%s_ready, in its function or after it",
		  end_describe(pe, c, name, sizeof name), c->of->obj->coll->type->name,
		  entry_of(c)->name);
}

/* The function may destroy all members, and the set with them. */
static void set_came(void *group, void *tag)
{
	struct named_set *set = group;
	CkChannel *c = end_of_tag(tag);
	struct ck_obj *obj = c->of->obj;
	uint32_t count;

	if (CSD_UNLIKELY(c->round == set->round))
		came_twice(ck_self(), c);
	c->round = set->round;
	count = (uint32_t)entry_of(c)->count->count(self_of(obj), 0);
	if (++set->n_came < count) {
		set->count = count;
		return;
	}
	set->n_came = 0;
	set->round++;
	end_call(ck_self(), obj, c->name.entry)(self_of(obj), tag);
}

static const struct named_set *set_with(const CkChannel *c)
{
	return c->group && c->group->came == set_came ? set_of(c->group) : NULL;
}

bool named_set_has(const CkChannel *c)
{
	return set_with(c) && c->round == set_with(c)->round;
}

bool named_set_misses(const CkChannel *c)
{
	return set_with(c) && set_with(c)->n_came && c->round != set_with(c)->round && !c->destroyed;
}

/* All ends of the set have arrived, and the count asks for more. Such a set waits for ever. */
bool named_set_is_short(const CkChannel *c, struct named_short *s)
{
	const struct named_set *set = set_with(c);

	*s = (struct named_short){ 0 };
	for (const CkChannel *i = set && set->n_came ? c->of->first : NULL; i; i = i->next) {
		if (set_with(i) != set || i->destroyed)
			continue;
		if (!s->n_ends++ && i != c)
			return false; /* the first tells */
		if (i->round != set->round)
			return false;
	}
	s->count = s->n_ends ? (int)set->count : 0;
	return s->count > s->n_ends;
}

void named_set_without(CkChannel *c)
{
	if (!named_set_has(c))
		return;
	c->round = 0;
	set_of(c->group)->n_came--;
}

void CkGen_channelsReady(const CkGenChare *chare, const void *self, int entry)
{
	struct pe *pe = ck_self();
	const struct ends *o = ends_find(pe, obj_of(self));

	(void)chare;
	for (CkChannel *c = o ? o->first : NULL; c; c = c->next)
		if (!c->sends && c->name.entry == entry && !c->destroyed)
			layer_ends(pe)->ready(pe, c->end);
}

/* ---- the beginning and the end --------------------------------------------------------------- */

static void set_less(struct named_group *g)
{
	if (--set_of(g)->n_members == 0)
		free(g);
}

static struct named_set *set_find(const CkChannel *of)
{
	for (const CkChannel *c = of->of->first; c; c = c->next)
		if (set_with(c) && c->name.entry == of->name.entry)
			return set_of(c->group);
	return NULL;
}

static struct named_set *set_new(void)
{
	struct named_set *set = cmi_alloc_zero(1, sizeof *set, "a set of channels");

	set->group = (struct named_group){ set_came, set_less };
	set->round = 1;
	return set;
}

void named_set_join(CkChannel *c, bool came)
{
	struct named_set *set;

	if (!entry_of(c)->count)
		return;
	set = set_find(c);
	if (!set)
		set = set_new();
	set->n_members++;
	set->n_came += came;
	c->round = came ? set->round : 0;
	c->group = &set->group;
}
