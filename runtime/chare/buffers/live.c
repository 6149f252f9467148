/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c: in checked mode, the CkNcpyBuffers of this process that have not ended. Copies of a
 * buffer are sent, so only its own process knows whether it is still valid. Without CK_CHECK=1
 * nothing calls this file.
 */
#include "buffers.h"
#include "../../machine/base/cmi_alloc.h"

#include <pthread.h>
#include <stdlib.h>

struct live {
	const char *ptr;
	size_t bytes;
};

/** On a node. */
struct lives {
	pthread_mutex_t lock;     /* held while a PE uses the members below */
	struct idmap by_number;
	uint64_t last;            /* number */
};

static struct lives *lives_of(const struct pe *pe)
{
	return ck_node_state(pe->node, PART_LIVE);
}

uint64_t live_begin(struct pe *pe, const void *ptr, size_t bytes)
{
	struct lives *all = lives_of(pe);
	struct live *b = cmi_alloc(sizeof *b, "the check of a buffer");
	uint64_t number;

	*b = (struct live){ ptr, bytes };
	pthread_mutex_lock(&all->lock);
	number = ++all->last;
	idmap_add(&all->by_number, number, (uintptr_t)b);
	pthread_mutex_unlock(&all->lock);
	return number;
}

void live_check(struct pe *pe, const char *call, const char *side, const CkNcpyBuffer *b)
{
	struct lives *all = lives_of(pe);

	pthread_mutex_lock(&all->lock);
	const bool lives = idmap_find(&all->by_number, b->number);

	pthread_mutex_unlock(&all->lock);
	if (!lives)
		csd_abort(pe, "%s: the %s, %zu bytes at %p of PE %d, has ended: it was given to "
			  "CkNcpyBufferDeregister, or its memory to CkRdmaFree", call, side, b->bytes,
			  b->ptr, b->pe);
}

void live_end(struct pe *pe, const CkNcpyBuffer *b)
{
	struct lives *all = lives_of(pe);

	live_check(pe, "CkNcpyBufferDeregister", "buffer", b);
	pthread_mutex_lock(&all->lock);
	struct idmap_slot *s = idmap_find(&all->by_number, b->number);

	if (s) {
		free((void *)s->value);
		idmap_remove(&all->by_number, s);
	}
	pthread_mutex_unlock(&all->lock);
}

static bool live_lies_in(const struct live *b, const char *p, size_t bytes)
{
	return b->ptr >= p && b->ptr < p + bytes;
}

void live_freed(struct pe *pe, const void *p, size_t bytes)
{
	struct lives *all = lives_of(pe);
	struct idmap_slot *s;

	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; (s = idmap_each(&all->by_number, &i));) {
		if (!live_lies_in((struct live *)s->value, p, bytes)) {
			i++;
			continue;
		}
		/* Another slot may move into this one: check it again. A slot that moves from the end to the
		 * front has been checked. */
		free((void *)s->value);
		idmap_remove(&all->by_number, s);
	}
	pthread_mutex_unlock(&all->lock);
}

static int live_node_start(struct node *node)
{
	struct lives *all = ck_node_state(node, PART_LIVE);

	return -pthread_mutex_init(&all->lock, NULL);
}

static void live_node_stop(struct node *node)
{
	struct lives *all = ck_node_state(node, PART_LIVE);

	idmap_free_all(&all->by_number);
	pthread_mutex_destroy(&all->lock);
}

const struct ck_part live_part = {
	.name = "live",
	.number = PART_LIVE,
	.node_bytes = sizeof(struct lives),
	.node_start = live_node_start,
	.node_stop = live_node_stop,
};
