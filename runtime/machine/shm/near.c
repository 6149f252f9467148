/* SPDX-License-Identifier: Apache-2.0 */
/* near.c: see near.h. */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cmi_alloc.h"
#include "share.h"

void near_key(const struct mem_key_head *head, struct cmi_key *key_p)
{
	memcpy(key_p->bytes, head, sizeof *head);
	key_p->len = sizeof *head;
}

struct cmi_remote *near_attach(struct cmi_pe *w, int pe, const struct cmi_key *key, uint64_t addr)
{
	struct mem_key_head head;
	struct cmi_remote *r;
	uint64_t offset;
	char *here;

	if (key->len < sizeof head)
		return NULL;
	memcpy(&head, key->bytes, sizeof head);
	offset = addr - head.base;
	here = head.shared ? share_at(w->m->share, w->m->job.node_of[pe], head.shared + offset) : NULL;
	if (!here)
		return NULL;
	r = cmi_alloc(sizeof *r, "attached memory");
	*r = (struct cmi_remote){.w = w, .pe = pe, .here = here, .there = addr};
	return r;
}

void near_detach(struct cmi_remote *r)
{
	free(r);
}

bool near_put_naive(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes)
{
	if (bytes)
		memcpy(near_ptr(body, body_addr), src, bytes);
	return true;
}

bool near_put(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes,
	      const struct cmi_op *op)
{
	_Atomic uint64_t *word = near_ptr(op->tail, op->tail_addr);

	near_put_naive(body, body_addr, src, bytes);
	/* release: pairs with the acquire of the node that polls the word, which then sees the body. */
	atomic_store_explicit(word, op->word, memory_order_release);
	return true;
}
