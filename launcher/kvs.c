/* SPDX-License-Identifier: Apache-2.0 */
/* kvs.c: the nodes' published data: an append-only array with a hash table of its keys. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

static const char WHAT[] = "values that the nodes publish";

/** FNV-1a with 64 bits. */
static size_t key_hash(const char *s)
{
	uint64_t h = 14695981039346656037u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

/** The slot of the key, or the free one for it. */
static uint32_t *kvs_slot(const struct launch_kvs *k, const char *key)
{
	size_t i = key_hash(key) & (k->n_slots - 1);
	while (k->slots[i] && strcmp(k->entries[k->slots[i] - 1].key, key))
		i = (i + 1) & (k->n_slots - 1);
	return &k->slots[i];
}

static void kvs_grow(struct launch_kvs *k)
{
	k->cap = k->cap ? 2 * k->cap : 64;
	k->entries = launch_must_have(realloc(k->entries, k->cap * sizeof(*k->entries)), WHAT);
	free(k->slots);
	k->n_slots = 2 * k->cap;
	k->slots = launch_must_have(calloc(k->n_slots, sizeof(*k->slots)), WHAT);
	for (size_t i = 0; i < k->n; i++)
		*kvs_slot(k, k->entries[i].key) = (uint32_t)i + 1;
}

bool launch_kvs_put(struct launch_kvs *k, const char *key, const char *value)
{
	if (k->n == k->cap)
		kvs_grow(k);
	uint32_t *slot = kvs_slot(k, key);
	if (*slot)
		return false;
	size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
	char *block = launch_must_have(malloc(key_size + value_size), WHAT);
	memcpy(block, key, key_size);
	memcpy(block + key_size, value, value_size);
	k->entries[k->n++] = (struct launch_kv){ block, block + key_size };
	*slot = (uint32_t)k->n;
	return true;
}

const char *launch_kvs_get(const struct launch_kvs *k, const char *key)
{
	if (k->n == 0)
		return NULL;
	uint32_t at = *kvs_slot(k, key);
	return at ? k->entries[at - 1].value : NULL;
}

void launch_kvs_fini(struct launch_kvs *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->entries[i].key);
	free(k->entries);
	free(k->slots);
}
