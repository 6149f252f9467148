/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore.c: the job starts from the images of another one. Every PE looks at all records of all of
 * that job's PEs, and reads those that are its own in this job: `mine` of the parts says so, by
 * arithmetic. So no message is sent, and any number of PEs and nodes will do.
 *
 * The order is that of the records: PE 0's block comes first, and in it the collections. When all
 * are read, X_on_arrived functions are called (read_all of the parts), which may send messages. A
 * PE that still reads keeps them in its queue.
 */
#include "save_int.h"
#include "../core/describe.h"

static void check(struct pe *pe, bool good, const struct image_why *why)
{
	if (!good)
		csd_abort(pe, CANNOT_START "%s", why->text);
}

static void read_record(struct pe *pe, const struct ck_part *p, const struct image_walk *w,
			const struct image_record *r)
{
	struct image_why why = { "" };
	const char *wrong;
	char name[128];

	check(pe, image_walk_check(w, r, &why), &why);
	wrong = p->save.read(pe, &r->name, r + 1, r->bytes);
	if (wrong)
		csd_abort(pe, CANNOT_START "%s: %s: %s", w->in->name,
			  image_name_text(name, sizeof name, &r->name), wrong);
}

static void offer_record(struct pe *pe, const struct image_walk *w, const struct image_record *r)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++) {
		const struct ck_part *p = ck->parts[i];

		if (p && (p->save.kinds >> r->name.kind & 1) && p->save.mine(pe, &r->name))
			read_record(pe, p, w, r);
	}
}

/* kinds: bits 1 << enum image_kind. */
static void read_block(struct pe *pe, const struct image_in *in, uint32_t of_pe, uint32_t kinds)
{
	const struct image_record *r;
	struct image_why why = { "" };
	struct image_walk w;

	check(pe, image_walk_begin(&w, in, of_pe, &why), &why);
	while ((r = image_walk_next(&w, &why)))
		if (r->name.kind < IMAGE_KINDS && (kinds >> r->name.kind & 1))
			offer_record(pe, &w, r);
	check(pe, !why.text[0], &why);
	image_walk_end(&w);
}

static void read_readonly(struct pe *pe)
{
	read_block(pe, source_image(pe->node, 0), 0, UINT32_C(1) << IMAGE_READONLY);
}

/* The PE counts as frozen: the watchdog knows that this takes as long as the state is large. */
static void read_images(struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	(void)source_image(pe->node, 0); /* a node that cannot read does not know how many there are */
	pe->frozen = true;
	for (int n = 0; n < ck->restart.n_nodes; n++) {
		const struct image_in *in = source_image(pe->node, n);

		for (uint32_t p = 0; p < in->head->n_pes; p++)
			read_block(pe, in, in->head->first_pe + p, ~(UINT32_C(1) << IMAGE_READONLY));
	}
	source_read(pe);
	pe->frozen = false;
}

static void read_all(struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	read_images(pe);
	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->save.read_all)
			ck->parts[i]->save.read_all(pe);
	figures_up(pe);
}

const struct ck_restarter save_restarter = { source_open, source_is_there, read_readonly, read_all };
