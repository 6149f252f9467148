/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_keeper.h: images in memory of a job on several hosts. Each host has a keeper, a process of
 * ckrun that outlives the nodes (launcher/keeper/). It owns the host's slots and page
 * (image_memory.h), takes copies of its neighbour's images, and hands on what nodes note about the
 * job's end. This file is what nodes and their keeper say to each other.
 *
 *	CK_IMAGES=@NAME     the keeper listens at this name, an abstract Unix socket of packets; only
 *	                    processes of its own user are heard
 *	CK_NOTES=@NAME/N    the same, for notes (cmi_note.h), at the job's N-th start
 *
 *	HELLO   node -> keeper   I am node `node`. Answer: three descriptors, slots and page
 *	GET     node -> keeper   the image of node `node` of the checkpoint from which the job starts.
 *	                         Answer: a descriptor, and where in it the image lies. If another host
 *	                         has the image, the keeper copies it first
 *	READ    node -> keeper   I have read and unmapped all that I got. No answer
 *	MIRROR  node -> keeper   my image of `sequence` is complete. Answer: when another host has a copy
 *	MET     node 0 -> keeper all nodes have met. No answer
 *	NOTE    node -> keeper   `text` is cmi_note.h's line. No answer
 *
 * A node has one connection for HELLO, GET, READ and MIRROR, one question at a time, and another for
 * MET and NOTE, which wait for nothing. The keeper kills the nodes that are still connected before
 * the job starts again, so no earlier node writes into an image beside its successor.
 */
#ifndef IMAGE_KEEPER_H
#define IMAGE_KEEPER_H

#include "image_memory.h"

enum image_keeper_word {
	IMAGE_KEEPER_HELLO = 1, IMAGE_KEEPER_GET, IMAGE_KEEPER_READ, IMAGE_KEEPER_MIRROR,
	IMAGE_KEEPER_MET, IMAGE_KEEPER_NOTE,
};

enum { IMAGE_KEEPER_VERSION = 1, IMAGE_KEEPER_NAME = 64, IMAGE_KEEPER_TEXT = 400 };

/** One packet. */
struct image_keeper_ask {
	uint32_t version;        /* IMAGE_KEEPER_VERSION */
	uint32_t word;
	uint32_t node;
	uint32_t start;          /* MET, NOTE: the N of CK_NOTES */
	uint64_t sequence;       /* MIRROR */
	struct image_info info;  /* MIRROR, of node 0: of that checkpoint, which is committed */
	char text[IMAGE_KEEPER_TEXT]; /* NOTE: ends with 0 */
};

/** One packet, with descriptors if `ok`. */
struct image_keeper_answer {
	uint32_t ok;
	uint32_t mirrors;        /* HELLO: whether MIRROR is wanted after each checkpoint */
	uint64_t offset, bytes;  /* GET */
	char why[IMAGE_KEEPER_TEXT]; /* not ok; ends with 0 */
};

/** A node's connection. Zeroed at first; then `fd` is valid where `is_open` says so. */
struct image_keeper {
	bool is_open;
	int fd;
	bool mirrors;            /* the keeper wants MIRROR */
	uint32_t node;           /* ours */
};

/** Connect to the keeper "@NAME", and take the host's slots and page. */
bool image_keeper_open(struct image_keeper *k, const char *name, uint32_t node,
		       struct image_memory *m, struct image_why *why);
void image_keeper_close(struct image_keeper *k);

/** As image_region_read, for whichever host has the image. */
bool image_keeper_get(struct image_keeper *k, struct image_region *r, uint64_t sequence,
		      uint32_t node, size_t *bytes, struct image_why *why);

/** All regions that this node got are unmapped. */
void image_keeper_read(struct image_keeper *k);

/** Wait until another host has a copy of our image. `info` NULL: we are not node 0. */
bool image_keeper_mirror(struct image_keeper *k, uint64_t sequence, const struct image_info *info,
			 struct image_why *why);

/** Connect a socket to the keeper "@NAME". -1 with errno: nobody listens there, or not as our
 * user. */
int image_keeper_connect(const char *name);

#endif
