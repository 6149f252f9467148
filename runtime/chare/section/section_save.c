/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_save.c: sections in checkpoints. At rest no multicast is under way, so a section is its
 * members. Each PE of its tree saves its own, and the root of a restarted job reads all of them,
 * and makes the section again under its id. The record of a PE, whose name has the section's id:
 *
 *	| struct section_image | CkElement [n] | the type's name |
 *
 * The numbers of multicasts and reductions begin again. Branches of groups on PEs that are no more
 * are no members any more.
 */
#include "section_int.h"
#include "../create/create.h"
#include "../../image/image.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

struct section_image {
	uint32_t n, type_bytes;   /* of the name, its zero included */
	uint64_t unused;
};
_Static_assert(sizeof(struct section_image) % 16 == 0, "the members are aligned");

/** On the root, until all records have been read. */
struct section_saved {
	const CkGenChare *type;
	CkElement *list;          /* ours */
	size_t n, room;
};

/* ---- refusing -------------------------------------------------------------------------------- */

void sections_refuse(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&sections_of(pe)->by_id, &i)); i++)
		section_describe_open(pe, (const struct section *)at->value, to);
}

/* ---- writing --------------------------------------------------------------------------------- */

static char *members_put(const struct section *s, char *at)
{
	for (uint32_t k = 0; k < s->n_arrays; k++)
		for (uint32_t i = 0; i < s->arrays[k].n; i++, at += sizeof(CkElement)) {
			const CkElement e = { s->arrays[k].coll->id, s->members[s->arrays[k].first + i].index, 0 };

			memcpy(at, &e, sizeof e);
		}
	return at;
}

static void section_write(struct pe *pe, const struct section *s, struct image_out *out)
{
	const struct image_name name = { IMAGE_SECTION, (uint32_t)pe->id, s->id, { 0, 0, 0 }, 0 };
	const struct section_image head = { s->n_members, (uint32_t)strlen(s->type->name) + 1, 0 };
	char *at = out->add(out, &name, sizeof head + head.n * sizeof(CkElement) + head.type_bytes);

	if (!at)
		return;
	memcpy(at, &head, sizeof head);
	at = members_put(s, at + sizeof head);
	memcpy(at, s->type->name, head.type_bytes);
}

/* A PE without members may know a section, too, but not its type. */
void sections_write(struct pe *pe, struct image_out *out)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&sections_of(pe)->by_id, &i)); i++)
		if (section_known((const struct section *)at->value))
			section_write(pe, (const struct section *)at->value, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* New sections of this PE get the numbers that follow. */
bool section_is_mine(struct pe *pe, const struct image_name *name)
{
	if (section_root(name->coll) == pe->id && section_no(name->coll) > sections_of(pe)->n_made)
		sections_of(pe)->n_made = section_no(name->coll);
	return section_home(pe, name->coll) == pe->id;
}

/* The section is there at once, so that functions of arriving elements can call it: such calls wait
 * for its list. */
static struct section_saved *saved_of(struct pe *pe, uint64_t id)
{
	struct section_saved *s = idmap_get(&sections_of(pe)->saved, id);

	if (s)
		return s;
	s = section_zeroed(1, sizeof *s);
	idmap_add(&sections_of(pe)->saved, id, (uintptr_t)s);
	section_get(pe, id);
	return s;
}

static const char *member_take(struct pe *pe, struct section_saved *s, const CkElement *e)
{
	const struct collection *c = (uint32_t)e->id ? coll_get(pe, e->id) : NULL;

	if (!c || c->type != s->type)
		return "it has an element of another type";
	if (s->type->kind == CKGEN_GROUP && e->index.v[0] >= pe->node->job->n_pes)
		return NULL;
	CMI_ONE_MORE(s->list, s->n, s->room, "a section");
	s->list[s->n++] = *e;
	return NULL;
}

static const CkGenChare *type_of(const struct pe *pe, const char *name)
{
	const CkGenChare *array = type_by_name(ck_node_of(pe->node), name, CKGEN_ARRAY);

	return array ? array : type_by_name(ck_node_of(pe->node), name, CKGEN_GROUP);
}

const char *section_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n)
{
	struct section_image head;
	const char *at = bytes, *type, *why = NULL;
	struct section_saved *s;

	if (!section_is_set(pe, name->coll) || !section_no(name->coll) || n < sizeof head)
		return "it is no section's";
	memcpy(&head, at, sizeof head);
	type = at + sizeof head + (size_t)head.n * sizeof(CkElement);
	if (n - sizeof head != (uint64_t)head.n * sizeof(CkElement) + head.type_bytes ||
	    !head.type_bytes || type[head.type_bytes - 1])
		return "its parts do not lie within it";
	s = saved_of(pe, name->coll);
	s->type = type_of(pe, type);
	if (!s->type)
		return "the program has no chare of that name";
	at += sizeof head;
	for (uint32_t i = 0; i < head.n && !why; i++, at += sizeof(CkElement)) {
		CkElement e;

		memcpy(&e, at, sizeof e);
		why = member_take(pe, s, &e);
	}
	return why;
}

void sections_read_all(struct pe *pe)
{
	struct idmap *all = &sections_of(pe)->saved;
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(all, &i)); i++) {
		struct section_saved *s = (struct section_saved *)at->value;

		section_remake(pe, section_get(pe, at->key), s->type, s->list, (uint32_t)s->n);
		free(s->list);
	}
	idmap_free_all(all);
}
