/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_head.h: what the image of a process begins with: whose it is, and where its blocks are.
 *
 * The head is written last, and cleared first: without it the bytes behind it are nothing.
 */
#ifndef IMAGE_HEAD_H
#define IMAGE_HEAD_H

#include <stddef.h>
#include <stdint.h>

#define IMAGE_MAGIC "CHARDCK1"

enum {
	IMAGE_VERSION = 1,
	IMAGE_PAGE = 4096,       /* heads and blocks begin at multiples: no two PEs write one page */
	IMAGE_PES_MOST = 1 << 20, /* of a process */
};

/** Where a PE's block is. */
struct image_block {
	uint64_t offset;
	uint64_t bytes;          /* of its records */
	uint64_t stored;         /* in the file: as many, or fewer if zstd has compressed them */
	uint64_t sum;            /* of what zstd has made; else 0, because records have sums */
};

struct image_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes;
	uint32_t node, n_nodes;
	uint32_t first_pe, n_pes;
	uint64_t sequence;       /* of the checkpoint, from 1 */
	uint64_t job;            /* the same in all images of a checkpoint, and in no other job's */
	uint64_t bytes;          /* from the head to the end of the last block */
	uint64_t sum;            /* of head_bytes, in which it is 0 */
	struct image_block block[]; /* of each PE */
};

/** What the head of a process with so many PEs takes. */
size_t image_head_bytes(uint32_t n_pes);

/** From block[].bytes find out where each block goes and how long the image is. The caller has set
 * n_pes, and allocated image_head_bytes(n_pes). */
void image_lay_out(struct image_head *h);

/** The blocks are complete. Sets magic, version, sizes and sum. */
void image_seal(struct image_head *h);

/** The sum that a head should have. */
uint64_t image_head_sum(const struct image_head *h);

#endif
