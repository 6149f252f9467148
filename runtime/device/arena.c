/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c: see arena.h. A chunk is a list of blocks in the order of their addresses; first fit. */
#include "arena.h"
#include "ckdevice.h"

#include <stdlib.h>

#include "../direct/core/direct_rules.h"
#include "../direct/ends/channel.h"
#include "../machine/base/cmi_alloc.h"

enum { ALIGN = 256 };
static const size_t CHUNK_BYTES = (size_t)32 << 20;

struct block {
	struct block *next;
	cu_ptr at;
	size_t bytes;
	bool used;
};

struct device_chunk {
	struct device *device;
	struct block *blocks;
};

static struct block *new_block(struct block *next, cu_ptr at, size_t bytes)
{
	struct block *b = cmi_alloc(sizeof *b, "a device's memory");

	*b = (struct block){ next, at, bytes, false };
	return b;
}

static cu_ptr take(struct block *b, size_t bytes)
{
	if (b->bytes > bytes) {
		b->next = new_block(b->next, b->at + bytes, b->bytes - bytes);
		b->bytes = bytes;
	}
	b->used = true;
	return b->at;
}

static cu_ptr take_from(const struct device_node *dn, const struct device *dev, size_t bytes)
{
	for (int i = 0; i < dn->n_chunks; i++)
		for (struct block *b = dn->chunks[i].blocks; b && dn->chunks[i].device == dev; b = b->next)
			if (!b->used && b->bytes >= bytes)
				return take(b, bytes);
	return 0;
}

static bool add_chunk(struct device_node *dn, struct device *dev, size_t bytes)
{
	const size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	cu_ptr at;

	if (dev->driver->cuMemAlloc_v2(&at, size) != CU_OK)
		return false;
	CMI_ONE_MORE(dn->chunks, dn->n_chunks, dn->max_chunks, "a device's memory");
	dn->chunks[dn->n_chunks++] = (struct device_chunk){ dev, new_block(NULL, at, size) };
	return true;
}

void *device_arena_take(struct pe *pe, size_t bytes)
{
	static const char call[] = "CkDirect_allocDevice";
	struct device *dev = device_to_use(pe, call);
	struct device_node *dn = device_node_of(pe);
	cu_ptr at;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
	pthread_mutex_lock(&dn->lock);
	at = take_from(dn, dev, bytes);
	if (!at && add_chunk(dn, dev, bytes))
		at = take_from(dn, dev, bytes);
	pthread_mutex_unlock(&dn->lock);
	return (void *)(uintptr_t)at;
}

void *CkDirect_allocDevice(size_t bytes)
{
	return device_arena_take(direct_self("CkDirect_allocDevice"), bytes);
}

/** Make one of it and the next, if both are free. */
static void join_next(struct block *b)
{
	struct block *next = b->next;

	if (b->used || !next || next->used)
		return;
	b->bytes += next->bytes;
	b->next = next->next;
	free(next);
}

static bool give_back(struct block *blocks, cu_ptr at)
{
	struct block *before = NULL;

	for (struct block *b = blocks; b; before = b, b = b->next)
		if (b->at == at && b->used) {
			b->used = false;
			join_next(b);
			if (before)
				join_next(before);
			return true;
		}
	return false;
}

void device_arena_give(struct pe *pe, void *dbuf)
{
	static const char call[] = "CkDirect_freeDevice";
	struct device_node *dn = device_node_of(pe);
	bool found = !dbuf;

	if (dbuf && pe->node->check)
		direct_check_free(pe, dbuf, 1);
	pthread_mutex_lock(&dn->lock);
	for (int i = 0; !found && i < dn->n_chunks; i++)
		found = give_back(dn->chunks[i].blocks, (uintptr_t)dbuf);
	pthread_mutex_unlock(&dn->lock);
	if (!found)
		csd_abort(pe, "%s: %p is not from CkDirect_allocDevice, or was freed", call, dbuf);
}

void CkDirect_freeDevice(void *dbuf)
{
	device_arena_give(direct_self("CkDirect_freeDevice"), dbuf);
}

void device_arena_release(struct device_node *dn, bool all_idle)
{
	for (int i = 0; i < dn->n_chunks; i++) {
		struct block *first = dn->chunks[i].blocks, *next;

		if (all_idle)
			dn->driver.cuMemFree_v2(first->at);
		for (struct block *b = first; b; b = next) {
			next = b->next;
			free(b);
		}
	}
	free(dn->chunks);
}
