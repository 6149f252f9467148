/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_keeper.h: images in memory of a job on several hosts. Each host has a keeper, a process of
 * ckrun that outlives the nodes (launcher/keeper/). It owns the host's slots and page
 * (image_memory.h), and takes copies of its neighbour's images. This file is what nodes and their
 * keeper say to each other. CK_IMAGES=@NAME: the keeper listens at this name, an abstract Unix
 * socket of packets, where it hears only processes of its own user.
 *
 *	HELLO   node -> keeper   I am node `node`. Answer: three descriptors, slots and page
 *	GET     node -> keeper   the image of node `node` of the checkpoint from which the job starts.
 *	                         Answer: a descriptor, and where in it the image lies. If another host
 *	                         has the image, the keeper copies it first
 *	READ    node -> keeper   I have read and unmapped all that I got. No answer
 *	MIRROR  node -> keeper   my image of `sequence` is complete. Answer: when another host has a copy
 *
 * A node has one connection, and one question at a time. The keeper kills the nodes that are still
 * connected before the job starts again, so no earlier node writes into an image beside its
 * successor. What nodes note about the job's end goes to another socket of the keeper (cmi_note.h).
 */
#ifndef IMAGE_KEEPER_H
#define IMAGE_KEEPER_H

#include "image_memory.h"

enum image_keeper_word {
	IMAGE_KEEPER_HELLO = 1, IMAGE_KEEPER_GET, IMAGE_KEEPER_READ, IMAGE_KEEPER_MIRROR,
};

enum { IMAGE_KEEPER_VERSION = 2, IMAGE_KEEPER_NAME = 64, IMAGE_KEEPER_TEXT = 400 };

/** One packet. */
struct image_keeper_ask {
	uint32_t version;        /* IMAGE_KEEPER_VERSION */
	uint32_t word;
	uint32_t node;
	uint32_t has_info;       /* MIRROR, of node 0: `info` is that of the checkpoint */
	uint64_t sequence;       /* MIRROR */
	struct image_info info;
};

/** One packet, with descriptors if `ok`. */
struct image_keeper_answer {
	uint32_t ok;
	uint32_t mirrors;        /* HELLO: whether MIRROR is wanted after each checkpoint */
	uint32_t sealed;         /* HELLO: whether what leaves the host is encrypted */
	uint32_t unused;
	uint64_t offset;         /* GET: where in the descriptor's file the image begins */
	char why[IMAGE_KEEPER_TEXT]; /* not ok; ends with 0 */
};

/** A node's connection. Zeroed at first. */
struct image_keeper {
	bool is_open;
	bool mirrors;            /* the keeper wants MIRROR */
	bool sealed;             /* and seals what it sends to others */
	uint32_t node;           /* ours */
	int fd;
};

/** Connect to the keeper "@NAME", and take the host's slots and page, unmapped. False without
 * `why`: nobody listens there. */
bool image_keeper_open(struct image_keeper *k, const char *name, uint32_t node,
		       struct image_memory *m, struct image_why *why);
void image_keeper_close(struct image_keeper *k);

/** Ask no more: a question under way fails at once, and so do later ones. Any thread. */
void image_keeper_hang_up(struct image_keeper *k);

/** The keeper has ended. It is no loss to a running node, which has the memory; ckrun says so. */
bool image_keeper_is_gone(const struct image_keeper *k);

/** As image_region_read, for whichever host has the image. */
bool image_keeper_get(struct image_keeper *k, struct image_region *r, uint64_t sequence,
		      uint32_t node, size_t *bytes, struct image_why *why);

/** All regions that this node got are unmapped. */
void image_keeper_read(struct image_keeper *k);

/** Wait until another host has a copy of our image. `info` NULL: we are not node 0. */
bool image_keeper_mirror(struct image_keeper *k, uint64_t sequence, const struct image_info *info,
			 struct image_why *why);

#endif
