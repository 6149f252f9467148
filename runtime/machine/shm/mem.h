/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h: memory that other nodes can write, cut from large chunks that a back end maps. Not a hot
 * path: there is one mutex, first fit, and free neighbours are joined.
 */
#ifndef MEM_H
#define MEM_H

#include <pthread.h>
#include <stddef.h>

#include "cmi.h"

struct mem_block;

/** The beginning of a key that other processes read; the back end's data follows. */
struct mem_key_head {
	uint64_t base;       /* of the chunk; it names the chunk within its node */
	uint64_t shared;     /* share_name_of(base); 0: the host's other nodes have not mapped it */
};

/** One mapping. It is constant once it is in the arena's list. */
struct mem_chunk {
	struct mem_chunk *next;
	char *base;
	size_t bytes;
	uint64_t shared;     /* its name for the other nodes of the host; 0: none */
	void *back;          /* the back end's handle */
	struct cmi_key key;  /* of the whole chunk */
};

struct mem_arena {
	pthread_mutex_t lock;
	struct mem_chunk *chunks;
	struct mem_block *free; /* doubly linked, any order */
	size_t n_used;          /* blocks handed out and not freed */
};

void mem_arena_init(struct mem_arena *a);
/** Unmap all chunks through m's back end. */
void mem_arena_fini(struct mem_arena *a, struct cmi *m);
/** Any thread. The chunk that contains `p`; it lives until the arena ends. NULL: none. */
const struct mem_chunk *mem_chunk_of(struct mem_arena *a, const void *p);

#endif
