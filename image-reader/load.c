/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: a checkpoint with all its records. */
#include "ckpt.h"

#include <stdlib.h>

_Noreturn static void is_bad(const struct image_why *why)
{
	complain("%s", why->text);
	exit(2);
}

static void add_record(struct ckpt *c, const struct image_record *r)
{
	if (c->n_records == c->room) {
		c->room = 2 * c->room + 64;
		c->records = need(realloc(c->records, c->room * sizeof *c->records));
	}
	c->records[c->n_records++] = r;
}

static void load_pe(struct ckpt *c, const struct image_in *in, uint32_t pe)
{
	struct image_walk *w = &c->walks[pe];
	const struct image_record *r;
	struct image_why why;

	if (!image_walk_begin(w, in, pe, &why))
		is_bad(&why);
	while ((r = image_walk_next(w, &why)))
		add_record(c, r);
	if (why.text[0])
		is_bad(&why);
}

void ckpt_load(struct ckpt *c, const char *path)
{
	struct image_why why;

	*c = (struct ckpt){ 0 };
	if (!image_set_open(&c->set, path, NULL, &why))
		is_bad(&why);
	c->maps = need(calloc(c->set.m.n_nodes, sizeof *c->maps));
	c->walks = need(calloc(c->set.m.n_pes, sizeof *c->walks));
	for (uint32_t i = 0; i < c->set.m.n_nodes; i++) {
		const struct image_file *f = &c->set.m.files[i];

		if (!image_set_map(&c->set, i, &c->maps[i], &why))
			is_bad(&why);
		for (uint32_t k = 0; k < f->n_pes; k++)
			load_pe(c, &c->maps[i].in, f->first_pe + k);
	}
}

void ckpt_free(struct ckpt *c)
{
	for (uint32_t i = 0; i < c->set.m.n_pes; i++)
		image_walk_end(&c->walks[i]);
	for (uint32_t i = 0; i < c->set.m.n_nodes; i++)
		image_unmap(&c->maps[i]);
	free(c->walks);
	free(c->maps);
	free(c->records);
	image_set_close(&c->set);
}
