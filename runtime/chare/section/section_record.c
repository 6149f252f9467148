/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_record.c: a PE's records of sections: by number, with their members here, and the lists
 * of those that insertions mention. Only section_post sends anything here.
 */
#include "section_int.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/* ---- by id ---------------------------------------------------------------------------------- */

uint64_t section_new_id(struct pe *pe)
{
	return (uint64_t)(uint32_t)pe->id << 32 | ++sections_of(pe)->n_made;
}

struct section *section_search(const struct pe *pe, uint64_t id)
{
	struct section *s = idmap_get(&sections_of(pe)->by_id, id);

	if (s)
		*section_recent(pe, id) = s;
	return s;
}

void *section_zeroed(size_t n, size_t bytes)
{
	return cmi_alloc_zero(n, bytes, "a section");
}

struct section *section_get_slow(struct pe *pe, uint64_t id)
{
	struct section *s = section_search(pe, id);

	if (s)
		return s;
	s = section_zeroed(1, sizeof *s);
	s->id = id;
	s->root = section_home(pe, id);
	s->tree.parent = -1;
	s->end = UINT64_MAX;
	msg_fifo_init(&s->waiting);
	idmap_add(&sections_of(pe)->by_id, id, (uintptr_t)s);
	return s;
}

static void unlist(struct section *s)
{
	if (!s->link_seen)
		return;
	*s->link_seen = s->next_seen;
	if (s->next_seen)
		s->next_seen->link_seen = s->link_seen;
	s->link_seen = NULL;
}

void section_free(struct pe *pe, struct section *s)
{
	if (*section_recent(pe, s->id) == s)
		*section_recent(pe, s->id) = NULL;
	while (s->waiting.head)
		csd_msg_free(pe, msg_fifo_pop(&s->waiting));
	reductions_close(pe, &s->reductions);
	unlist(s);
	spans_free(&s->came);
	spans_free(&s->seen);
	free(s->outside);
	free(s->unsure);
	free(s->arrays);
	free(s->members);
	free(s->objs);
	free(s->tree.children);
	free(s->pes);
	free(s);
}

void section_remove(struct pe *pe, struct section *s)
{
	idmap_remove(&sections_of(pe)->by_id, idmap_find(&sections_of(pe)->by_id, s->id));
	section_free(pe, s);
}

/* ---- its members on this PE ---------------------------------------------------------------- */

static int compare_array(const void *key, const void *array)
{
	uint64_t a = ((const struct collection *)key)->id;
	uint64_t b = ((const struct section_array *)array)->coll->id;

	return (a > b) - (a < b);
}

uint32_t section_array_of(const struct section *s, const struct collection *c)
{
	const struct section_array *a = s->arrays;

	if (!s->n_arrays || a->coll != c)
		a = bsearch(c, s->arrays, s->n_arrays, sizeof *a, compare_array);
	return a ? (uint32_t)(a - s->arrays) : s->n_arrays;
}

bool section_has(const struct section *s, const struct collection *c, CkIndex i)
{
	const uint32_t k = section_array_of(s, c);
	const struct section_array *a = &s->arrays[k];

	return k < s->n_arrays && bsearch(&i, s->members + a->first, a->n, sizeof *s->members,
					  index_compare);
}

/* ---- sections that insertions mention ------------------------------------------------------- */

void section_list_seen(struct pe *pe, struct section *s, const struct collection *c)
{
	struct section **list = section_mixed(s->id) ? &sections_of(pe)->mixed : &section_coll_of(c)->seen;

	if (s->link_seen)
		return;
	s->next_seen = *list;
	s->link_seen = list;
	if (s->next_seen)
		s->next_seen->link_seen = &s->next_seen;
	*list = s;
}

/* ---- misuse ---------------------------------------------------------------------------------- */

bool section_is_set(const struct pe *pe, uint64_t id)
{
	return id && csd_can_make(pe->node, id >> 32);
}

_Noreturn void section_unset(struct pe *pe, const char *what)
{
	csd_abort(pe, "%s: the section was used before it was made (by X_ckSection) or handed over "
		  "here; take it as a parameter, or, where a multicast of it runs, from "
		  "CkGetSectionInfo", what);
}

_Noreturn void section_gone(struct pe *pe, uint64_t id, const char *who)
{
	csd_abort(pe, "section %u of PE %d was destroyed, or never made; %s", section_no(id),
		  section_root(id), who);
}

void section_post(struct pe *pe, int dst_pe, uint64_t id, enum section_kind kind,
		  struct ck_env *env)
{
	env->head.handler = ck_handler(pe, PART_SECTION, H_CONTROL);
	env->coll = id;
	env->flags = 0;
	env->section.kind = (uint8_t)kind;
	csd_send(pe, dst_pe, &env->head);
}
