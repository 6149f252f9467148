/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_image.h: for tests that save parts without PART_SAVE: each PE's block of an image, in
 * memory that the jobs of a process share, and its records. The includer defines saved_parts: the
 * numbers of the parts.
 */
#ifndef CHECK_IMAGE_H
#define CHECK_IMAGE_H

#include <stdlib.h>
#include <string.h>

#include "chare_layer.h"

#include "../../runtime/image/image.h"

enum { SAVED_PARTS = sizeof saved_parts / sizeof *saved_parts, BLOCKS = 8 };

struct block { char *at; size_t bytes; };
static struct block blocks[BLOCKS];  /* of each PE */

static inline const struct ck_part *part_of(const struct pe *pe, int i)
{
	return ck_node_of(pe->node)->parts[saved_parts[i]];
}

/* Both passes have the same notes. */
static inline size_t write_all(struct pe *pe, char *to, size_t room, struct image_notes *notes)
{
	struct image_out out = { .add = image_add, .copy = image_copy, .to = to, .room = room,
				 .notes = notes };

	for (int i = 0; i < SAVED_PARTS; i++)
		part_of(pe, i)->save.write(pe, &out);
	return image_added(&out);
}

/** Write the PE's block anew. Returns whether both passes agree. */
static inline bool block_write(struct pe *pe)
{
	struct block *b = &blocks[pe->id];
	struct image_notes notes = { 0 };
	bool agree;

	free(b->at);
	b->bytes = write_all(pe, NULL, 0, &notes);
	b->at = aligned_alloc(16, b->bytes + 16);
	memset(b->at, 0xee, b->bytes);
	agree = write_all(pe, b->at, b->bytes, &notes) == b->bytes;
	free(notes.n);
	return agree;
}

static inline void blocks_forget(void)
{
	for (int p = 0; p < BLOCKS; p++)
		free(blocks[p].at);
	memset(blocks, 0, sizeof blocks);
}

/** The record at *at, which moves on; NULL: there is none. */
static inline const struct image_record *record_next(const struct block *b, size_t *at)
{
	const struct image_record *r = (const struct image_record *)(const void *)(b->at + *at);

	if (*at == b->bytes)
		return NULL;
	*at += sizeof *r + (r->bytes + 15) / 16 * 16;
	return r;
}

/** Whether part i reads this record on this PE. */
static inline bool part_reads(struct pe *pe, int i, const struct image_record *r)
{
	const struct ck_part *p = part_of(pe, i);

	return (p->save.kinds >> r->name.kind & 1) && p->save.mine(pe, &r->name);
}

/** What is wrong with the record ends the job. */
static inline void part_read(struct pe *pe, int i, const struct image_record *r)
{
	const char *why = part_of(pe, i)->save.read(pe, &r->name, r + 1, r->bytes);

	if (why)
		CkAbort("record of kind %u: %s", r->name.kind, why);
}

/** All records are read. */
static inline void parts_end_reading(struct pe *pe)
{
	for (int i = 0; i < SAVED_PARTS; i++)
		if (part_of(pe, i)->save.read_all)
			part_of(pe, i)->save.read_all(pe);
}

#endif
