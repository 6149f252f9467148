/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_memory.h: images in memory. A job has two slots and a page, three memfds however many nodes
 * it has; who starts its nodes keeps them, so they outlive every node. Nothing has a name, so
 * nothing is left behind.
 *
 *	a slot:  node n's image lies at byte n << 40 of a sparse file
 *	checkpoint s is in slot s % 2, so the one before is untouched while s is written
 *
 * A node reserves its region, each of its PEs writes its block, and the head comes last
 * (image_seal). When all nodes have done so, one process commits, by one store into the page. What
 * is reserved is there: without room for it the reservation fails, and no write ends in SIGBUS.
 */
#ifndef IMAGE_MEMORY_H
#define IMAGE_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

#include "image_head.h"
#include "image_talk.h"
#include "image_why.h"

enum {
	IMAGE_SLOTS = 2,
	IMAGE_NODE_SHIFT = 40,   /* an image has at most 1 TiB */
	IMAGE_NODES_MOST = 1 << 22,
};

/** What a checkpoint was: what the manifest is on disk. */
struct image_info {
	uint64_t bytes;          /* of all nodes */
	uint64_t took_ns;
	uint64_t at_ns;          /* CLOCK_MONOTONIC */
	uint32_t n_nodes, n_pes;
	uint32_t most_pes;       /* that the job has ever had: ids name them */
	uint64_t job;            /* as in the heads */
	uint64_t fingerprint;    /* of the program's tables */
	uint64_t epoch;          /* as in a manifest, without `restarts` of the page */
	uint64_t wall_ns;        /* that the job had run, in all epochs */
};

/** What deaths have cost. Who keeps the memory writes it while there is no node, and PE 0 else. On
 * CLOCK_MONOTONIC. */
struct image_since {
	_Atomic uint64_t up_ns;      /* when the program began or went on last; 0: never */
	_Atomic uint64_t died_ns;    /* when its nodes died last; 0: never */
	_Atomic uint64_t lost_ns;    /* from the newest checkpoints, or from when it was up, to deaths */
	_Atomic uint64_t down_ns;    /* from deaths until it was up again */
};

/** The page. The process that commits writes it, everybody reads. */
struct image_page {
	char magic[8];
	_Atomic uint64_t committed;  /* sequence of the newest checkpoint; 0: none */
	struct image_info info[IMAGE_SLOTS]; /* [sequence % 2], written before it is committed */
	_Atomic uint64_t restarts;   /* how often whoever keeps the memory has started all nodes again;
				      * it alone writes it, while there is no node */
	struct image_talk talk;
	struct image_since since;
};

struct image_memory {
	int slot[IMAGE_SLOTS];
	int page_fd;
	struct image_page *page;
};

/** Make all three, empty, with FD_CLOEXEC. */
bool image_memory_make(struct image_memory *m, struct image_why *why);

/** "5,6,7": the value of CK_IMAGES. Returns `to`. */
char *image_memory_text(const struct image_memory *m, char *to, size_t n);

/** In a child that will execute a node: the descriptors stay open. */
bool image_memory_pass(const struct image_memory *m, struct image_why *why);

/** In the node: from the value of CK_IMAGES. The descriptors become ours, with FD_CLOEXEC.
 * image_memory_map comes next. */
bool image_memory_inherit(struct image_memory *m, const char *text, struct image_why *why);

/** Map the page. On failure the caller closes. */
bool image_memory_map(struct image_memory *m, struct image_why *why);

void image_memory_close(struct image_memory *m);

/* ---- the image of a node ------------------------------------------------------------------ */

/** A node's image in one slot, mapped. Zeroed at first. */
struct image_region {
	char *base;              /* NULL: none */
	size_t bytes;            /* of the mapping; whole pages */
};

/** Map memory for this many bytes of node `node` in the slot of checkpoint `sequence`. The region
 * may be that of an earlier checkpoint in this slot: then its pages are used again, and what is no
 * longer needed is given back. Its head is cleared. On failure the region is as it was, and so is
 * every committed image. */
bool image_region_reserve(const struct image_memory *m, struct image_region *r, uint64_t sequence,
			  uint32_t node, size_t bytes, struct image_why *why);

/** All of a block of a region will be written for the first time: its pages are made at once, which
 * takes half of the time that faults take. */
void image_region_touch(char *block, size_t bytes);

/** Map the image that node `node` has written, read-only. *bytes: of the image. Only the sizes of
 * its head have been looked at: image_in_open does the rest. */
bool image_region_read(const struct image_memory *m, struct image_region *r, uint64_t sequence,
		       uint32_t node, size_t *bytes, struct image_why *why);

/** The same for an image that begins at byte `begin` of any file. */
bool image_region_read_at(int fd, uint64_t begin, struct image_region *r, uint64_t sequence,
			  uint32_t node, size_t *bytes, struct image_why *why);

void image_region_unmap(struct image_region *r);

/** Give back what nodes from this number on have in the slot of checkpoint `sequence`: the job has
 * fewer nodes than it had. */
void image_memory_forget(const struct image_memory *m, uint64_t sequence, uint32_t first_node);

/* ---- what is valid ------------------------------------------------------------------------ */

/** The program is up, or its nodes have died; then `saved_ns` is when the newest checkpoint was
 * complete (0: there is none). */
void image_since_up(struct image_since *s, uint64_t now_ns);
void image_since_died(struct image_since *s, uint64_t saved_ns, uint64_t now_ns);

/** All images of checkpoint `sequence` are complete. */
void image_memory_commit(const struct image_memory *m, uint64_t sequence,
			 const struct image_info *info);

/** The newest complete checkpoint; 0: none. `info` may be NULL. */
uint64_t image_memory_committed(const struct image_memory *m, struct image_info *info);

#endif
