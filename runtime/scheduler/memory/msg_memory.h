/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: message memory: slabs, and their return to the system. */
#ifndef CSD_MEMORY_H
#define CSD_MEMORY_H

#include "../base/base.h"

/* memory.c */

/* A piece of the machine's message memory, cut into blocks of one class. Each block is in use or in
 * the free list of its PE; when all are free it may be emptied (reclaim.c). */
struct msg_slab {
	char *at;
	uint8_t cls;
	bool counted;                      /* in csd_memory.taken */
	bool hollow;                       /* has no pages, and its blocks are in no list */
	uint32_t n_free;                   /* scratch of a trim */
	uint32_t next;                     /* while hollow: as in msg_pool.hollow */
};

void msg_pool_init(struct msg_pool *pool, int local);
void msg_pool_fini(struct msg_pool *pool);
uint32_t msg_slab_blocks(unsigned cls);
size_t msg_slab_skip(unsigned cls);         /* bytes before the first block */
size_t msg_slab_bytes(unsigned cls);
struct cmi_msg *msg_pool_pop(struct pe *pe, unsigned cls); /* after the returns; NULL: none */
struct cmi_msg *msg_pool_refill(struct pe *pe, unsigned cls, bool counted);
void msg_slab_cut(struct pe *pe, struct msg_slab *slab);   /* all blocks into the free list */
static inline struct cmi_msg *msg_slab_block(const struct msg_slab *slab, uint32_t i)
{
	return (struct cmi_msg *)(void *)(slab->at + msg_slab_skip(slab->cls) +
					  i * msg_class_bytes(slab->cls));
}

void msg_pool_take_returns_slow(struct pe *pe);
static inline void msg_pool_take_returns(struct pe *pe)
{
	if (CSD_UNLIKELY(msg_stack_any(&pe->returns)))
		msg_pool_take_returns_slow(pe);
}

/** Return the freed blocks of other PEs that wait for a full parcel. */
void msg_pool_send_parcels_slow(struct pe *pe);
static inline void msg_pool_send_parcels(struct pe *pe)
{
	if (CSD_UNLIKELY(pe->pool.n_parcels != 0))
		msg_pool_send_parcels_slow(pe);
}

/* reclaim.c */
bool pool_trim(struct pe *pe, bool must);  /* whether `taken` is smaller now */
void pool_trim_asked(struct pe *pe);
void pool_ask_others(struct pe *pe);
bool pool_await_others(struct pe *pe);

#endif
