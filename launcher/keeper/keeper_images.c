/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_images.c: which images are here. A slot is a sparse file: its data say for which nodes. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static off_t begin_of(uint32_t node)
{
	return (off_t)node << IMAGE_NODE_SHIFT;
}

/** Whether the head is whole: all of it, with the blocks' table. */
static bool sum_is_right(int fd, const struct image_head *h)
{
	struct image_head *all = malloc(h->head_bytes);
	bool ok = false;

	if (all && pread(fd, all, h->head_bytes, begin_of(h->node)) == (ssize_t)h->head_bytes)
		ok = image_head_sum(all) == h->sum;
	free(all);
	return ok;
}

static bool read_head(int fd, uint32_t node, struct image_head *h)
{
	char last;

	return pread(fd, h, sizeof *h, begin_of(node)) == sizeof *h &&
	       !memcmp(h->magic, IMAGE_MAGIC, sizeof h->magic) && h->node == node &&
	       h->node < h->n_nodes && h->n_pes <= IMAGE_PES_MOST &&
	       h->head_bytes == image_head_bytes(h->n_pes) && h->bytes >= h->head_bytes &&
	       h->bytes >= IMAGE_PAGE && h->bytes <= (uint64_t)1 << IMAGE_NODE_SHIFT &&
	       pread(fd, &last, 1, begin_of(node) + (off_t)h->bytes - 1) == 1 && sum_is_right(fd, h);
}

bool keeper_head(const struct image_memory *m, uint64_t sequence, uint32_t node,
		 struct image_head *h)
{
	return read_head(m->slot[sequence % IMAGE_SLOTS], node, h) && h->sequence == sequence;
}

int64_t keeper_next(const struct image_memory *m, int slot, uint32_t from)
{
	const off_t at = from < IMAGE_NODES_MOST ? lseek(m->slot[slot], begin_of(from), SEEK_DATA) : -1;

	return at < 0 ? -1 : at >> IMAGE_NODE_SHIFT;
}

static struct keeper_image *add(struct keeper_image *list, uint32_t *n, struct keeper_image one)
{
	struct keeper_image *more = list;

	if (*n % 64 == 0)
		more = realloc(list, (*n + 64) * sizeof *list);
	if (!more)
		return list; /* it counts as lost */
	more[(*n)++] = one;
	return more;
}

struct keeper_image *keeper_list(const struct image_memory *m, bool mirrored,
				 struct keeper_image *list, uint32_t *n)
{
	for (int slot = 0; slot < IMAGE_SLOTS; slot++)
		for (int64_t i = -1; (i = keeper_next(m, slot, (uint32_t)(i + 1))) >= 0;) {
			struct image_head h;

			if (read_head(m->slot[slot], (uint32_t)i, &h) && h.sequence % IMAGE_SLOTS == (unsigned)slot)
				list = add(list, n, (struct keeper_image){ h.sequence, h.job, h.node, mirrored });
		}
	return list;
}

/* ---- what is no longer needed -------------------------------------------------------------- */

void keeper_clear(const struct image_memory *m, int slot, uint32_t node)
{
	static const struct image_head none;

	if (pwrite(m->slot[slot], &none, sizeof none, begin_of(node)) != sizeof none)
		keeper_drop(m, slot, node);
}

void keeper_drop(const struct image_memory *m, int slot, uint32_t node)
{
	int failed;

	do
		failed = fallocate(m->slot[slot], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin_of(node),
				   (off_t)1 << IMAGE_NODE_SHIFT);
	while (failed && errno == EINTR);
}

static bool is_here(const struct keeper *k, uint32_t node)
{
	return node < k->n_here && k->here[node];
}

/* A later image belongs to a checkpoint that was not chosen. It may be complete, and its number
 * comes again: it must not be taken for the one that bears it then. */
static void tidy_slot(struct keeper *k, const struct image_memory *m, int slot, uint64_t sequence,
		      bool mirrors)
{
	for (int64_t i = -1; (i = keeper_next(m, slot, (uint32_t)(i + 1))) >= 0;) {
		const uint32_t node = (uint32_t)i;
		struct image_head h;

		if (sequence && keeper_head(m, sequence, node, &h) && sequence % IMAGE_SLOTS == (unsigned)slot)
			continue;
		if (mirrors || !is_here(k, node))
			keeper_drop(m, slot, node);
		else
			keeper_clear(m, slot, node);
	}
}

void keeper_tidy_start(struct keeper *k, uint64_t sequence)
{
	for (int slot = 0; slot < IMAGE_SLOTS; slot++) {
		tidy_slot(k, &k->own, slot, sequence, false);
		tidy_slot(k, &k->mirror, slot, sequence, true);
		if (k->mirrored[slot].sequence != sequence)
			k->mirrored[slot].sequence = 0;
	}
	k->tidied_own = k->tidied_mirror = sequence;
}

/** Images of checkpoints that are two or more older. A region without a head is being written. */
static void drop_old(struct keeper *k, const struct image_memory *m, uint64_t sequence,
		     bool mirrors)
{
	for (int slot = 0; slot < IMAGE_SLOTS; slot++)
		for (int64_t i = -1; (i = keeper_next(m, slot, (uint32_t)(i + 1))) >= 0;) {
			struct image_head h;

			if (read_head(m->slot[slot], (uint32_t)i, &h) && h.sequence + 1 < sequence &&
			    (mirrors || !is_here(k, h.node)))
				keeper_drop(m, slot, h.node);
		}
}

void keeper_tidy_own(struct keeper *k, uint64_t sequence)
{
	if (sequence > k->tidied_own)
		drop_old(k, &k->own, k->tidied_own = sequence, false);
}

void keeper_tidy_mirror(struct keeper *k, uint64_t sequence)
{
	if (sequence > k->tidied_mirror)
		drop_old(k, &k->mirror, k->tidied_mirror = sequence, true);
}
