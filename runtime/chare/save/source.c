/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.c: the images from which the job starts: a folder's, or those in memory that whoever
 * starts the nodes has kept. All are mapped, on each node; what no PE reads costs no memory.
 */
#include "save_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	struct image_set set;        /* on disk */
	struct image_info info;      /* in memory */
	uint64_t sequence;
	struct image_map *maps;      /* ours: [n_nodes] */
	int n_nodes;                 /* mapped */
	_Atomic int n_read;          /* PEs that have read all */
	struct image_why why;        /* why not all; "": all are */
};

const struct image_in *source_image(const struct node *node, int i)
{
	const struct source *s = save_node_of(node)->source;

	if (s->why.text[0])
		csd_abort(NULL, CANNOT_START "%s", s->why.text);
	return &s->maps[i].in;
}

/* ---- on disk --------------------------------------------------------------------------------- */

static bool map_files(struct source *s, struct image_why *why)
{
	s->maps = cmi_alloc_zero(s->set.m.n_nodes, sizeof *s->maps, "a checkpoint");
	for (; s->n_nodes < (int)s->set.m.n_nodes; s->n_nodes++)
		if (!image_set_map(&s->set, (uint32_t)s->n_nodes, &s->maps[s->n_nodes], why))
			return false;
	return true;
}

/* Checked mode: all bytes are as they were written, also those that nobody reads. The nodes share
 * the files. */
static bool check_files(const struct node *node, struct source *s)
{
	uint32_t i = (uint32_t)node->job->node;

	while (i < s->set.m.n_nodes && image_set_check(&s->set, i, &s->why))
		i += (uint32_t)node->job->n_nodes;
	return i >= s->set.m.n_nodes;
}

/* In the words of those that memory has. */
static void take_manifest(struct source *s)
{
	const struct image_manifest *m = &s->set.m;

	s->sequence = m->sequence;
	s->info = (struct image_info){
		.n_pes = m->n_pes, .n_nodes = m->n_nodes, .most_pes = m->most_pes, .job = m->job,
		.epoch = m->epoch + 1, .wall_ns = m->wall * 1000000000u,
	};
}

static bool open_folder(struct node *node, struct source *s, const char *dir)
{
	char abi[IMAGE_TEXT];
	const struct image_expect expect = { image_abi(abi, sizeof(CkIndex)), save_program_name(node),
					     save_fingerprint(ck_node_of(node)) };

	if (!image_set_open(&s->set, dir, &expect, &s->why) || !map_files(s, &s->why))
		return false;
	if (node->check && !check_files(node, s))
		return false;
	take_manifest(s);
	return true;
}

/* ---- in memory ------------------------------------------------------------------------------- */

static bool head_fits(const struct image_info *info, const struct image_map *m, uint32_t i,
		      struct image_why *why)
{
	const struct image_head *h = m->in.head;

	return (h->job == info->job && h->node == i && h->n_nodes == info->n_nodes) ||
	       image_says(why, "%s is of another job", m->name);
}

static bool map_memory(const struct node *node, struct source *s, uint32_t i)
{
	struct image_map *m = &s->maps[i];
	struct image_region r = { 0 };
	size_t bytes;

	snprintf(m->name, sizeof m->name, "memory, checkpoint %llu, node %u",
		 (unsigned long long)s->sequence, i);
	if (!store_read(node, &r, s->sequence, i, &bytes, &s->why))
		return false;
	m->base = r.base;
	m->bytes = r.bytes;
	s->n_nodes++;
	return image_in_open(&m->in, m->name, r.base, bytes, &s->why) &&
	       head_fits(&s->info, m, i, &s->why);
}

static bool open_memory(struct node *node, struct source *s)
{
	const struct image_memory *memory = store_kept(node);

	if (!memory)
		return image_says(&s->why, "CK_RESTART=memory is for ckrun, which has kept it");
	s->sequence = image_memory_committed(memory, &s->info);
	if (!s->sequence)
		return image_says(&s->why, "there is none in memory");
	if (s->info.fingerprint != save_fingerprint(ck_node_of(node)))
		return image_says(&s->why, "the one in memory is of another version of the program");
	s->maps = cmi_alloc_zero(s->info.n_nodes, sizeof *s->maps, "a checkpoint");
	for (uint32_t i = 0; i < s->info.n_nodes; i++)
		if (!map_memory(node, s, i))
			return false;
	return true;
}

/* ---- both ------------------------------------------------------------------------------------ */

static uint64_t restarts(const struct node *node)
{
	const struct image_memory *memory = store_kept(node);

	/* Relaxed: it was written before this process was made. */
	return memory ? atomic_load_explicit(&memory->page->restarts, memory_order_relaxed) : 0;
}

static void now_known(struct node *node, const struct source *s)
{
	const struct image_info *i = &s->info;
	struct save_node *n = save_node_of(node);

	ck_node_of(node)->restart = (struct ck_restart){ (int)i->n_pes, (int)i->n_nodes,
							 (int)i->most_pes };
	node->earlier_pes = (int)i->most_pes;
	n->sequence = s->sequence;
	n->restarts = restarts(node);
	n->epoch = i->epoch + n->restarts;
	node->epoch = (struct csd_epoch){ n->epoch, s->sequence };
	n->seconds = (double)i->wall_ns / 1e9;
	node->start_ns -= i->wall_ns; /* CkWallTimer goes on */
}

/* Mostly all nodes find the same error: node 0 says it. If it finds none, the others say theirs
 * when it has sent the readonly variables (source_image). */
void source_open(struct node *node)
{
	const char *dir = getenv("CK_RESTART");
	struct source *s;

	node->epoch.no = restarts(node);
	if (!dir)
		return;
	s = save_node_of(node)->source = cmi_alloc_zero(1, sizeof *s, "a checkpoint");
	if (strcmp(dir, "memory") ? open_folder(node, s, dir) : open_memory(node, s))
		now_known(node, s);
	else if (!node->job->node)
		csd_abort(NULL, CANNOT_START "%s", s->why.text);
}

bool source_is_there(const struct node *node) { return save_node_of(node)->source; }

static void unmap_all(struct source *s)
{
	while (s->n_nodes)
		image_unmap(&s->maps[--s->n_nodes]);
}

/* Release: the PE's reads come before its count. Acquire: the last one unmaps after all of them. */
void source_read(struct pe *pe)
{
	struct source *s = save_node_of(pe->node)->source;

	if (atomic_fetch_add_explicit(&s->n_read, 1, memory_order_acq_rel) + 1 < pe->node->job->my_n_pes ||
	    s->set.m.n_nodes || !store_copies(pe->node))
		return;
	unmap_all(s);
	store_all_read(pe->node);
}

void source_close(struct node *node)
{
	struct source *s = save_node_of(node)->source;

	if (!s)
		return;
	unmap_all(s);
	image_set_close(&s->set);
	free(s->maps);
	free(s);
}
