/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.c: the allocator of mem.h.
 *
 * Each block has its head in the 64 bytes before it. The head also knows the size of the block in
 * front, so that free finds both neighbours without a search (boundary tags):
 *
 *   | head | payload ...... | head | payload .. | ... | end head, always "used" |
 *
 * Other nodes write this memory, so their stray writes can hit a head. The magic number turns that
 * into an error message instead of a wild pointer.
 */
#include "mem.h"

#include <stdlib.h>
#include <string.h>

#include "../base/die.h"
#include "machine_int.h"
#include "share.h"

enum {
	ALIGN = 64,              /* a cache line, and enough for SIMD code */
	FIRST_CHUNK = 256 << 10, /* enough for many small programs */
	LATER_CHUNK = 1 << 20,   /* few registrations, few keys to unpack */
};

static const uint64_t MAGIC_USED = 0x64657375636d6966, MAGIC_FREE = 0x65657266636d6966;

struct mem_block {
	uint64_t magic;
	size_t size;      /* this head included; a multiple of ALIGN; 0 in the end head */
	size_t prev_size; /* of the block in front; 0 in the first */
	struct mem_block *next_free, *prev_free; /* while free */
	unsigned char pad[24];
};
_Static_assert(sizeof(struct mem_block) == ALIGN, "payload starts on a cache line");

void mem_arena_init(struct mem_arena *a)
{
	pthread_mutex_init(&a->lock, NULL);
}

void mem_arena_fini(struct mem_arena *a, struct cmi *m)
{
	while (a->chunks) {
		struct mem_chunk *c = a->chunks;

		a->chunks = c->next;
		m->ops->chunk_unmap(m, c);
		free(c);
	}
	pthread_mutex_destroy(&a->lock);
}

static struct mem_block *block_after(struct mem_block *b)
{
	return (struct mem_block *)((char *)b + b->size);
}

static void free_list_push(struct mem_arena *a, struct mem_block *b)
{
	b->magic = MAGIC_FREE;
	b->prev_free = NULL;
	b->next_free = a->free;
	if (a->free)
		a->free->prev_free = b;
	a->free = b;
}

static void free_list_remove(struct mem_arena *a, struct mem_block *b)
{
	if (b->prev_free)
		b->prev_free->next_free = b->next_free;
	else
		a->free = b->next_free;
	if (b->next_free)
		b->next_free->prev_free = b->prev_free;
}

static bool arena_grow(struct mem_arena *a, struct cmi *m, size_t need)
{
	struct mem_chunk *c = calloc(1, sizeof *c);
	size_t least = a->chunks ? LATER_CHUNK : FIRST_CHUNK;
	struct mem_block *b, *end;

	if (!c)
		return false;
	need += sizeof *end;
	c->bytes = need > least ? need : least;
	c->base = share_alloc_named(m->share, c->bytes, &c->shared);
	if (m->ops->chunk_map(m, c)) {
		free(c);
		return false;
	}
	c->next = a->chunks;
	a->chunks = c;
	b = (struct mem_block *)c->base;
	b->size = c->bytes / ALIGN * ALIGN - sizeof *end;
	b->prev_size = 0;
	end = block_after(b);
	end->magic = MAGIC_USED;
	end->size = 0;
	end->prev_size = b->size;
	free_list_push(a, b);
	return true;
}

/** Cut `size` bytes off the front of a block that is in no list, and free the rest. */
static void block_split(struct mem_arena *a, struct mem_block *b, size_t size)
{
	struct mem_block *rest;

	if (b->size - size < 2 * ALIGN)
		return;
	rest = (struct mem_block *)((char *)b + size);
	rest->size = b->size - size;
	rest->prev_size = size;
	b->size = size;
	block_after(rest)->prev_size = rest->size;
	free_list_push(a, rest);
}

static struct mem_block *first_fit(struct mem_arena *a, size_t size)
{
	struct mem_block *b = a->free;

	while (b && b->size < size)
		b = b->next_free;
	return b;
}

void *cmi_mem_alloc(struct cmi *m, size_t bytes)
{
	struct mem_arena *a = &m->arena;
	struct mem_block *b;
	size_t size;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	size = (bytes + ALIGN - 1) / ALIGN * ALIGN + sizeof *b;
	if (size < 2 * ALIGN)
		size = 2 * ALIGN;
	pthread_mutex_lock(&a->lock);
	b = first_fit(a, size);
	if (!b && arena_grow(a, m, size))
		b = first_fit(a, size);
	if (b) {
		free_list_remove(a, b);
		block_split(a, b, size);
		b->magic = MAGIC_USED;
		a->n_used++;
	}
	pthread_mutex_unlock(&a->lock);
	return b ? memset(b + 1, 0, b->size - sizeof *b) : NULL;
}

/** Join `b` with the free blocks on both sides. Returns the block that results. */
static struct mem_block *block_join(struct mem_arena *a, struct mem_block *b)
{
	struct mem_block *after = block_after(b), *before;

	if (after->magic == MAGIC_FREE) {
		free_list_remove(a, after);
		b->size += after->size;
	}
	if (b->prev_size) {
		before = (struct mem_block *)((char *)b - b->prev_size);
		if (before->magic == MAGIC_FREE) {
			free_list_remove(a, before);
			before->size += b->size;
			b->magic = 0; /* so that a second free of it is noticed */
			b = before;
		}
	}
	block_after(b)->prev_size = b->size;
	return b;
}

/** The head of used block `p`; the arena is locked. */
static struct mem_block *block_used(struct cmi *m, const void *p)
{
	struct mem_block *b = (struct mem_block *)(uintptr_t)p - 1;

	if (b->magic != MAGIC_USED)
		machine_die(m, "cmi_mem_free: %p is not allocated, was freed before, or its "
			       "head was overwritten",
			    p);
	return b;
}

size_t cmi_mem_bytes(struct cmi *m, const void *p)
{
	size_t size;

	pthread_mutex_lock(&m->arena.lock);
	size = block_used(m, p)->size;
	pthread_mutex_unlock(&m->arena.lock);
	return size - sizeof(struct mem_block);
}

bool cmi_mem_has(struct cmi *m, const void *p)
{
	return mem_chunk_of(&m->arena, p) != NULL;
}

const void *cmi_mem_chunk(struct cmi *m, const void *p, size_t *bytes_p)
{
	const struct mem_chunk *c = mem_chunk_of(&m->arena, p);

	*bytes_p = c ? c->bytes : 0;
	return c ? c->base : NULL;
}

void cmi_mem_free(struct cmi *m, void *p)
{
	struct mem_arena *a = &m->arena;
	struct mem_block *b;

	if (!p)
		return;
	pthread_mutex_lock(&a->lock);
	b = block_used(m, p);
	a->n_used--;
	free_list_push(a, block_join(a, b));
	pthread_mutex_unlock(&a->lock);
}

const struct mem_chunk *mem_chunk_of(struct mem_arena *a, const void *p)
{
	const char *at = p;
	const struct mem_chunk *c;

	pthread_mutex_lock(&a->lock);
	for (c = a->chunks; c; c = c->next)
		if (at >= c->base && at < c->base + c->bytes)
			break;
	pthread_mutex_unlock(&a->lock);
	return c;
}

void cmi_mem_key(struct cmi *m, const void *addr, size_t bytes, struct cmi_key *key_p)
{
	const struct mem_chunk *c = mem_chunk_of(&m->arena, addr);

	key_p->len = 0;
	if (c)
		*key_p = c->key; /* chunks are constant until cmi_close */
	else
		m->ops->foreign_key(m, addr, bytes, key_p);
}
