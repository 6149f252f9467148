/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single_save.c: singleton chares in checkpoints: the table by which kinds/saved/ finds them and
 * makes them anew, and how many chares each PE has made on each other (IMAGE_COUNTS), so that no
 * name is ever used again. There is one such record for each PE that the job ever had; the PE with
 * that number modulo the number of PEs keeps it.
 *
 * All creations have arrived, so both sides of a pair of PEs have the same number. Each has its own
 * in the record of its own PE, so that no PE needs the records of others.
 */
#include "single.h"
#include "../../image/image.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/* ---- chares ---------------------------------------------------------------------------------- */

static void singles_list(struct pe *pe, CkGenKind kind, struct ck_objs *all)
{
	const struct single *s = ck_state(pe, PART_SINGLE);
	const struct idmap_slot *at;

	(void)kind;
	for (size_t i = 0; (at = idmap_each(&s->names, &i)); i++) {
		if (slot_is_early(at))
			continue;
		CMI_ONE_MORE(all->list, all->n, all->room, "a checkpoint");
		all->list[all->n++] = chare_in(at);
	}
}

static void single_name(const struct pe *pe, struct ck_obj *obj, struct image_name *name)
{
	name->coll = single_id(obj);
	name->index[0] = single_pe(pe, obj);
}

/* Both chares and tables: index[0] is the PE that had them. */
static bool single_is_mine(struct pe *pe, const struct image_name *name)
{
	return name->index[0] % pe->node->job->n_pes == pe->id;
}

static const char *single_anew(struct pe *pe, const CkGenChare *type, const struct image_name *name,
			       struct ck_obj **obj_p)
{
	const int fold = name->index[0] / pe->node->job->n_pes;

	if (name->index[0] < 0 || !ck_name_number(name->coll))
		return "no chare has such a name";
	if (fold >> CK_FOLD_BITS)
		return "this job has less than one PE for 256 of its own";
	if (fold && ck_name_number(name->coll) >> CK_FOLD_AT)
		return "one PE has made more than 2^36 chares on another, so this job must have as many PEs";
	if (idmap_find(&single_of(pe)->names, single_key(name->coll, fold)))
		return "it is there twice";
	*obj_p = single_new(pe, type, name->coll, fold);
	return NULL;
}

static void single_there(struct pe *pe, struct ck_obj *obj, const struct image_name *name)
{
	idmap_add(&single_of(pe)->names, single_key(name->coll, single_fold(obj)), (uintptr_t)obj);
	ck_created(pe, obj);
}

static bool single_lives(struct pe *pe, const struct ck_obj *obj)
{
	const uint64_t key = single_key(single_id(obj), single_fold(obj));

	return idmap_get(&single_of(pe)->names, key) == (const void *)obj;
}

const struct ck_saving single_saving = {
	.record = IMAGE_SINGLE,
	.list = singles_list,
	.name = single_name,
	.mine = single_is_mine,
	.anew = single_anew,
	.there = single_there,
	.lives = single_lives,
	.refuse = single_describe,
};

/* ---- how many were made: writing ------------------------------------------------------------- */

/** Then come its rows. */
struct made_image {
	uint32_t n_made, n_born, unused[2];
};

/* A PE's own rows of this job, which it writes to `made` and `born` unless these are NULL. */
static struct made_image rows_of(struct pe *pe, const struct single *s, struct single_row *made,
				 struct single_row *born)
{
	struct made_image n = { 0, 0, { 0, 0 } };

	for (uint64_t p = 0; s->types && p < (uint64_t)pe->node->job->n_pes; p++) {
		const struct single_row m = { p, s->n_made[p] }, b = { p, s->born[p].upto };

		if (m.n && made)
			made[n.n_made] = m;
		if (b.n && born)
			born[n.n_born] = b;
		n.n_made += m.n != 0;
		n.n_born += b.n != 0;
	}
	return n;
}

static const struct single_past *past_of(const struct single *s, uint32_t pe)
{
	const struct single_past *p = s->past;

	while (p && p->pe != pe)
		p = p->next;
	return p;
}

/* The rows of this job, if it has such a PE here, and those of the past. */
static void made_write_of(struct pe *pe, uint32_t of, struct image_out *out)
{
	const struct single *s = ck_state(pe, PART_SINGLE);
	const struct single_past none = { .pe = of }, *past = past_of(s, of);
	const bool here = of == (uint32_t)pe->id;
	const struct image_name name = { .kind = IMAGE_COUNTS, .pe = (uint32_t)pe->id,
					 .index = { (int32_t)of } };
	struct made_image now = { 0, 0, { 0, 0 } }, *to;

	past = past ? past : &none;
	if (here)
		now = rows_of(pe, s, NULL, NULL);
	const size_t n_made = now.n_made + past->n_made, n_born = now.n_born + past->n_born;

	if (!n_made && !n_born)
		return;
	to = out->add(out, &name, sizeof *to + (n_made + n_born) * sizeof(struct single_row));
	if (!to)
		return;
	*to = (struct made_image){ (uint32_t)n_made, (uint32_t)n_born, { 0, 0 } };

	struct single_row *made = (struct single_row *)(void *)(to + 1), *born = made + n_made;

	if (here)
		rows_of(pe, s, made, born);
	memcpy(made + now.n_made, past->rows, past->n_made * sizeof *made);
	memcpy(born + now.n_born, past->rows + past->n_made, past->n_born * sizeof *born);
}

void made_write(struct pe *pe, struct image_out *out)
{
	const struct single *s = ck_state(pe, PART_SINGLE);

	made_write_of(pe, (uint32_t)pe->id, out);
	for (const struct single_past *p = s->past; p; p = p->next)
		if (p->pe != (uint32_t)pe->id)
			made_write_of(pe, p->pe, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Keep the rows that this job has a place for. Returns how many are left, which it writes to
 * `past`. */
static uint32_t made_take(struct pe *pe, bool here, const struct single_row *row, uint32_t n,
			  bool born, struct single_row *past)
{
	const struct single *s = single_of(pe);
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!here || row[i].pe >= (uint64_t)pe->node->job->n_pes)
			past[left++] = row[i];
		else if (born)
			s->born[row[i].pe].upto = row[i].n;
		else
			s->n_made[row[i].pe] = row[i].n;
	}
	return left;
}

bool made_is_mine(struct pe *pe, const struct image_name *name)
{
	return single_is_mine(pe, name);
}

const char *made_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n)
{
	const struct made_image *m = bytes;
	const struct single_row *row = (const struct single_row *)(const void *)(m + 1);
	const bool here = name->index[0] == pe->id;
	struct single *s = single_of(pe);

	if (n < sizeof *m || name->index[0] < 0 ||
	    n != sizeof *m + ((uint64_t)m->n_made + m->n_born) * sizeof *row)
		return "its rows do not lie within it";
	if (past_of(s, (uint32_t)name->index[0]))
		return "it is there twice";

	struct single_past *p = cmi_alloc(sizeof *p + n, "singleton chares");

	p->pe = (uint32_t)name->index[0];
	p->n_made = made_take(pe, here, row, m->n_made, false, p->rows);
	p->n_born = made_take(pe, here, row + m->n_made, m->n_born, true, p->rows + p->n_made);
	p->next = s->past;
	s->past = p;
	return NULL;
}
