/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near.h: memory of the host's other nodes, attached. All chunks of memory that other nodes write
 * (mem.h) lie in the nodes' segments (share.h), if there are any, and are mapped already; so
 * attaching computes an address, and a put is a copy. No back end takes part.
 */
#ifndef NEAR_H
#define NEAR_H

#include "machine_int.h"

/** Make a key that consists of its head alone. */
void near_key(const struct mem_key_head *head, struct cmi_key *key_p);

/** PE. As cmi_attach; also NULL when the memory is not mapped here, or addr lies outside that
 * node's shared memory. */
struct cmi_remote *near_attach(struct cmi_pe *w, int pe, const struct cmi_key *key, uint64_t addr);
void near_detach(struct cmi_remote *r);

static inline void *near_ptr(const struct cmi_remote *r, uint64_t addr)
{
	return r->here + (addr - r->there);
}

/* PE. As cmi_put and cmi_put_naive; they always return true. */
bool near_put(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes,
	      const struct cmi_op *op);
bool near_put_naive(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes);

#endif
