/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_newborn.c: which multicasts an inserted element does not get: those that its creator had
 * seen when it inserted. A PE has seen a multicast when it has sent it itself, or when a handler of
 * a member has begun there.
 *
 * A multicast is named by the PE that began it and by its number among those of that PE to the
 * section. The root's number is in the head. Those of other PEs first go to the root, with both
 * after the payload. Each PE keeps two sets of each section, a few spans (call/spans.h): what it
 * has seen, and what has come to it as a PE of the tree.
 *
 * An insertion carries the first of these sets, for all sections of its array of which the creator
 * has seen any: it cannot know their members. Multicasts are delivered at the homes of members, and
 * so this is decided there, when the element is about to be made (section_inserted):
 *
 *	a copy that waits for it, in the set      is dropped
 *	in the set, and not come here yet         is noted (struct section_newborn), and passed over when
 *	                                          it comes
 *
 * Every multicast that any PE has seen comes to all PEs of the tree, so each note is removed in the
 * end. But this PE may not be in the tree: a section's list may still be under way. So a PE that
 * learns of an unknown section asks the root (SECTION_HEAR). If it has no members the root says so,
 * and tells it again when the section ends; then the PE forgets the section. The same holds for PEs
 * without members that send multicasts, or where a member is a guest.
 */
#include "section_int.h"
#include "../place/record/place.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* What an element must not get, of one section. */
struct not_for {
	uint64_t section;
	struct spans left;        /* still to come */
};

/** At the home of an element, until all of it has arrived. */
struct section_newborn {
	struct collection *coll;  /* these two: as in struct indexed */
	CkIndex index;
	uint32_t n;
	struct not_for *of;       /* ours: [n] */
};

/* ---- sections without members on this PE ----------------------------------------------------- */

struct section *section_heard_of(struct pe *pe, uint64_t id)
{
	const bool root = section_home(pe, id) == pe->id;
	struct section *s = root ? section_find(pe, id) : section_get(pe, id);

	if (root || s->type || s->hears)
		return s;
	s->hears = true;
	section_post(pe, section_home(pe, id), id, SECTION_HEAR, env_new(pe, 0, 0));
	return s;
}

static bool has_members(const struct section *s, int pe)
{
	for (int i = 0; i < s->n_pes; i++)
		if (s->pes[i] == pe)
			return true;
	return false;
}

void section_hears(struct pe *pe, struct section *s, int from)
{
	if (has_members(s, from))
		return;
	s->outside = cmi_realloc(s->outside, (size_t)s->n_outside + 1, sizeof *s->outside, "a section");
	s->outside[s->n_outside++] = from;
	section_post(pe, from, s->id, SECTION_OUTSIDE, env_new(pe, 0, 0));
}

void section_tell_over(struct pe *pe, const struct section *s)
{
	for (int i = 0; i < s->n_outside; i++)
		section_post(pe, s->outside[i], s->id, SECTION_OVER, env_new(pe, 0, 0));
}

/* ---- what this PE has seen ------------------------------------------------------------------- */

/* Of a member that is a guest here, or for which it has waited at home. */
void section_copy_began(struct pe *pe, CkSection section, int root, uint64_t no)
{
	struct section *s = section_is_set(pe, section.id) ? section_heard_of(pe, section.id) : NULL;

	if (!s || root == pe->id)
		return;
	section_list_seen(pe, s, coll_get(pe, section.coll));
	spans_count(&s->seen, root, no);
}

static void stamp_append(const struct pe *pe, const struct section *s, struct spans *to)
{
	const struct span own = { .root = pe->id, .from = 1, .to = s->n_begun + 1 };
	const uint32_t n_own = s->n_begun != 0;
	uint32_t i = 0;

	if (!(s->seen.n + n_own))
		return;
	spans_append(to, (struct span){ .root = SPANS_OF, .reserved = s->seen.n + n_own, .from = s->id });
	for (; i < s->seen.n && s->seen.list[i].root < pe->id; i++)
		spans_append(to, s->seen.list[i]);
	if (n_own)
		spans_append(to, own);
	for (; i < s->seen.n; i++)
		spans_append(to, s->seen.list[i]);
}

/* Of a section of several arrays a PE without members knows only one. */
void section_stamp(struct pe *pe, const struct collection *c, struct spans *to)
{
	for (const struct section *s = section_coll_of(c)->seen; s; s = s->next_seen)
		stamp_append(pe, s, to);
	for (const struct section *s = sections_of(pe)->mixed; s; s = s->next_seen)
		if (!s->type || !c->type || s->type == c->type)
			stamp_append(pe, s, to);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void section_newborn_free(struct section_newborn *y)
{
	for (uint32_t i = 0; i < y->n; i++)
		spans_free(&y->of[i].left);
	free(y->of);
	free(y);
}

static struct section_newborn *section_newborn_of(const struct collection *c, CkIndex i)
{
	const struct idmap *all = &section_coll_of(c)->newborns;

	return all->n ? index_find(all, i) : NULL;
}

static void newborn_settled(struct pe *pe, struct section_newborn *y, uint32_t k)
{
	struct section *s = section_find(pe, y->of[k].section);

	if (s)
		s->n_newborns--;
	spans_free(&y->of[k].left);
	y->of[k] = y->of[--y->n];
	if (y->n)
		return;
	index_remove_trim(&section_coll_of(y->coll)->newborns, y->index);
	section_newborn_free(y);
}

static void end_of_section(struct pe *pe, const struct collection *c, CkIndex i, uint64_t section)
{
	struct section_newborn *y = section_newborn_of(c, i);

	for (uint32_t k = 0; y && k < y->n; k++)
		if (y->of[k].section == section) {
			newborn_settled(pe, y, k);
			return;
		}
}

static void end_all(struct pe *pe, const struct collection *c, CkIndex i)
{
	struct section_newborn *y;

	while ((y = section_newborn_of(c, i)))
		newborn_settled(pe, y, 0);
}

static void note(struct collection *c, CkIndex i, struct section *s, struct spans left)
{
	struct section_newborn *y = section_newborn_of(c, i);

	if (!y) {
		y = section_zeroed(1, sizeof *y);
		y->coll = c;
		y->index = i;
		index_add(&section_coll_of(c)->newborns, y);
	}
	y->of = cmi_realloc(y->of, (size_t)y->n + 1, sizeof *y->of, "a section");
	y->of[y->n++] = (struct not_for){ s->id, left };
	s->n_newborns++;
}

bool section_passes_over(struct pe *pe, struct section *s, struct collection *c, CkIndex i,
			 const struct ck_of_all *of)
{
	struct section_newborn *y = section_newborn_of(c, i);

	for (uint32_t k = 0; y && k < y->n; k++) {
		if (y->of[k].section != s->id)
			continue;
		if (!spans_take(&y->of[k].left, (int)of->root, of->no))
			return false;
		if (!y->of[k].left.n)
			newborn_settled(pe, y, k);
		return place_lives(pe, c, i); /* else it waits for the next with this index */
	}
	return false;
}

/* ---- at home: an element is about to be made ------------------------------------------------- */

static bool group_has(const struct span *list, uint32_t n, const struct ck_of_section *of)
{
	for (uint32_t i = 0; i < n; i += 1 + list[i].reserved) {
		const struct spans had = { (struct span *)(uintptr_t)&list[i + 1], list[i].reserved, 0, NULL };

		if (list[i].from == of->section.id)
			return spans_has(&had, (int)of->which.root, of->which.no);
	}
	return false;
}

static bool was_seen(struct pe *pe, const struct cmi_msg *m, const struct span *list, uint32_t n)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const size_t behind = m->flags & CMI_F_WIDE ? msg_prio_of(m)->bytes : 0;
	struct ck_of_section of;

	if (m->handler != ck_handler(pe, PART_CALL, H_ELEMENT) || !(env->more & CK_MORE_NUMBERED) ||
	    m->size < sizeof *env + sizeof of + behind)
		return false;
	memcpy(&of, (const char *)m + m->size - behind - sizeof of, sizeof of);
	return group_has(list, n, &of);
}

static void drop_seen(struct pe *pe, struct msg_fifo *waiting, const struct span *list, uint32_t n)
{
	struct msg_fifo all;

	msg_fifo_move(&all, waiting);
	while (all.head) {
		struct cmi_msg *m = msg_fifo_pop(&all);

		if (was_seen(pe, m, list, n))
			csd_msg_free(pe, m);
		else
			msg_fifo_push(waiting, m);
	}
}

static void note_unknown(struct collection *c, CkIndex i, struct section *s,
			 const struct span *list, uint32_t n)
{
	s->unsure = cmi_realloc(s->unsure, (size_t)s->n_unsure + 1, sizeof *s->unsure, "a section");
	s->unsure[s->n_unsure++] = (CkElement){ c->id, i, 0 };
	note(c, i, s, spans_copy(list, n));
}

static void note_to_come(struct collection *c, CkIndex i, struct section *s,
			 const struct span *list, uint32_t n)
{
	const struct spans seen = { (struct span *)(uintptr_t)list, n, n, NULL };
	struct spans left;

	if (!section_has(s, c, i))
		return;
	left = spans_minus(&seen, &s->came);
	if (left.n)
		note(c, i, s, left);
}

/* If cuts have given the element another home than its first, its multicasts are delivered
 * elsewhere. */
void section_inserted(struct pe *pe, struct collection *c, CkIndex i, const struct span *list,
		      uint32_t n, struct msg_fifo *waiting)
{
	end_all(pe, c, i);
	if (n && waiting && waiting->head)
		drop_seen(pe, waiting, list, n);
	if (n && coll_born_home(pe, c, i) != pe->id)
		return;
	for (uint32_t k = 0; k < n; k += 1 + list[k].reserved) {
		struct section *s = section_heard_of(pe, list[k].from);

		if (section_known(s))
			note_to_come(c, i, s, &list[k + 1], list[k].reserved);
		else if (s && !s->is_outside)
			note_unknown(c, i, s, &list[k + 1], list[k].reserved);
	}
}

/* The list has arrived, before any multicast; or it never will. */
void section_sure(struct pe *pe, struct section *s)
{
	for (uint32_t i = 0; i < s->n_unsure; i++) {
		const struct collection *c = coll_get(pe, s->unsure[i].id);

		if (!section_known(s) || !section_has(s, c, s->unsure[i].index))
			end_of_section(pe, c, s->unsure[i].index, s->id);
	}
	free(s->unsure);
	s->unsure = NULL;
	s->n_unsure = 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

void section_over(struct pe *pe, struct section *s)
{
	section_sure(pe, s);
	if (!section_known(s) && !s->waiting.head)
		section_remove(pe, s);
}

void section_newborns_fini(struct pe *pe, struct collection *c)
{
	struct idmap *all = &section_coll_of(c)->newborns;
	const struct idmap_slot *at;

	(void)pe;
	for (size_t i = 0; (at = idmap_each(all, &i)); i++)
		section_newborn_free((struct section_newborn *)at->value);
	idmap_free(all);
}
