/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c: the images from which the job starts: a folder's, or those in memory that whoever
 * starts the nodes has kept. All are mapped, on each node; what no PE reads costs no memory.
 */
#include "save_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

struct source {
	struct image_set set;        /* on disk */
	struct image_map *maps;      /* ours: [n_nodes] */
	int n_nodes;                 /* mapped */
	struct image_why why;        /* why not all; "": all are */
};

const struct image_in *source_image(const struct node *node, int i)
{
	const struct source *s = save_node_of(node)->source;

	if (s->why.text[0])
		csd_abort(NULL, CANNOT_START "%s", s->why.text);
	return &s->maps[i].in;
}

static bool map_all(struct source *s, struct image_why *why)
{
	s->maps = cmi_alloc_zero(s->set.m.n_nodes, sizeof *s->maps, "a checkpoint");
	for (; s->n_nodes < (int)s->set.m.n_nodes; s->n_nodes++)
		if (!image_set_map(&s->set, (uint32_t)s->n_nodes, &s->maps[s->n_nodes], why))
			return false;
	return true;
}

static void now_known(struct node *node, const struct image_manifest *m)
{
	ck_node_of(node)->restart = (struct ck_restart){ (int)m->n_pes, (int)m->n_nodes, (int)m->most_pes };
	node->earlier_pes = (int)m->most_pes;
	save_node_of(node)->sequence = m->sequence;
	save_node_of(node)->epoch = m->epoch + 1;
	save_node_of(node)->seconds = (double)m->wall;
	node->start_ns -= m->wall * 1000000000u; /* CkWallTimer goes on */
}

static bool open_folder(struct node *node, struct source *s, const char *dir)
{
	char abi[IMAGE_TEXT];
	const struct image_expect expect = { image_abi(abi, sizeof(CkIndex)), save_program_name(node),
					     save_fingerprint(ck_node_of(node)) };

	return image_set_open(&s->set, dir, &expect, &s->why) && map_all(s, &s->why);
}

/* Mostly all nodes find the same error: node 0 says it. If it finds none, the others say theirs
 * when it has sent the readonly variables (source_image). */
void source_open(struct node *node)
{
	const char *dir = getenv("CK_RESTART");
	struct source *s;

	if (!dir)
		return;
	s = save_node_of(node)->source = cmi_alloc_zero(1, sizeof *s, "a checkpoint");
	if (open_folder(node, s, dir))
		now_known(node, &s->set.m);
	else if (!node->job->node)
		csd_abort(NULL, CANNOT_START "%s", s->why.text);
}

bool source_is_there(const struct node *node) { return save_node_of(node)->source; }

void source_close(struct node *node)
{
	struct source *s = save_node_of(node)->source;

	if (!s)
		return;
	while (s->n_nodes)
		image_unmap(&s->maps[--s->n_nodes]);
	image_set_close(&s->set);
	free(s->maps);
	free(s);
}
