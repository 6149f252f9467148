/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idmap.h: the chare layer's hash table: from 64 bits to a pointer or a number that is not 0. Open
 * addressing, 16 bytes a slot, at most three quarters full. Only its owner's thread adds to it. A
 * key may occur several times: a caller that hashes a longer key to 64 bits compares the values
 * found (index.c).
 */
#ifndef CK_IDMAP_H
#define CK_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
	uint64_t key;
	uintptr_t value;          /* 0: free */
};

/** Empty when all zero. idmap_free frees it. */
struct idmap {
	struct idmap_slot *slot;  /* [mask + 1] */
	size_t mask, n;
};

/** Where the search for a key begins. The hash mixes in the upper half, which holds an id's
 * creator. */
static inline size_t idmap_start(const struct idmap *m, uint64_t key)
{
	return (size_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 20) & m->mask;
}

static inline struct idmap_slot *idmap_from(const struct idmap *m, uint64_t key, size_t i)
{
	while (m->slot[i].value && m->slot[i].key != key)
		i = (i + 1) & m->mask;
	return m->slot[i].value ? &m->slot[i] : NULL;
}

/** The first slot with this key, valid until the next addition or removal; NULL: there is none. */
static inline struct idmap_slot *idmap_find(const struct idmap *m, uint64_t key)
{
	return m->n ? idmap_from(m, key, idmap_start(m, key)) : NULL;
}

/** The next slot with the same key, or NULL. */
static inline struct idmap_slot *idmap_next(const struct idmap *m, const struct idmap_slot *s)
{
	return idmap_from(m, s->key, ((size_t)(s - m->slot) + 1) & m->mask);
}

/** The value of the key, as a pointer; NULL: there is none. */
static inline void *idmap_get(const struct idmap *m, uint64_t key)
{
	const struct idmap_slot *s = idmap_find(m, key);

	return s ? (void *)s->value : NULL;
}

/** Add a value to a key. Without memory it ends the job. */
void idmap_add(struct idmap *m, uint64_t key, uintptr_t value);
void idmap_remove(struct idmap *m, struct idmap_slot *s);
void idmap_free(struct idmap *m);
/** The same, and free() all values. */
void idmap_free_all(struct idmap *m);
/** Give back the memory of a table that is empty, and was large. */
void idmap_trim(struct idmap *m);

/** The first occupied slot from *i on; sets *i to its number. NULL: no more. Begin with 0, continue
 * with *i + 1. */
static inline struct idmap_slot *idmap_each(const struct idmap *m, size_t *i)
{
	for (; m->slot && *i <= m->mask; ++*i)
		if (m->slot[*i].value)
			return &m->slot[*i];
	return NULL;
}

#endif
