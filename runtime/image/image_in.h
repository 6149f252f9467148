/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_in.h: reads the image of a process from bytes that may be damaged, foreign or hostile. What
 * is wrong is said with file, offset and the name of the record. Nothing outside of the bytes is
 * read, whatever they say.
 *
 * Threads may walk different blocks of one image at the same time.
 */
#ifndef IMAGE_IN_H
#define IMAGE_IN_H

#include "image.h"
#include "image_head.h"
#include "image_why.h"

/** An image that is being read. */
struct image_in {
	const char *name;        /* of the file, for what is said; the caller's */
	const char *base;        /* 16-aligned; the caller's */
	size_t bytes;
	const struct image_head *head;
};

/** Check the head and where the blocks are. */
bool image_in_open(struct image_in *in, const char *name, const void *base, size_t bytes,
		   struct image_why *why);

/** The records of a PE, one after the other. */
struct image_walk {
	const struct image_in *in;
	const struct image_block *block;
	const char *records;     /* of the block, uncompressed */
	char *unpacked;          /* the same, if they were compressed; ours */
	uint64_t at;             /* of the next record, in the block */
	uint32_t pe;
};

/** Begin with the records of a PE, one of first_pe to first_pe + n_pes - 1 of the head. A compressed
 * block is uncompressed into memory, which the end gives back. */
bool image_walk_begin(struct image_walk *w, const struct image_in *in, uint32_t pe,
		      struct image_why *why);

/** The next record; its bytes follow it, and no sum has been looked at. NULL after the last one,
 * and when the block is damaged: then `why` says so, whose text was "" before. */
const struct image_record *image_walk_next(struct image_walk *w, struct image_why *why);

/** Whether the record is as it was written. It may take as long as reading its bytes. */
bool image_walk_check(const struct image_walk *w, const struct image_record *r,
		      struct image_why *why);

void image_walk_end(struct image_walk *w);

/** "element", "readonly variables" ...; what no kind is: "?". */
const char *image_kind_name(uint32_t kind);

/** "element (3, 0, 0) of collection 5 of PE 1", cut to n bytes. Returns `to`. */
char *image_name_text(char *to, size_t n, const struct image_name *name);

#endif
