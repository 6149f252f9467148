/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollset.h: the words that a PE watches for arrivals: add, remove, scan.
 *
 * A dense array of {address, idle value}, scanned from end to end. Removal moves the last entry
 * into the gap. A scan costs about 1 ns per entry. Up to some 32 entries nothing is faster; with
 * more, the senders ring for their puts (bell.h). A set belongs to one PE: it has no locks, and no
 * function of the user runs inside a scan.
 */
#ifndef POLLSET_H
#define POLLSET_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define POLLSET_OUT UINT32_MAX

/** A watched word. It is embedded in its owner, which must stay valid until the item is removed. */
struct poll_item {
	const _Atomic uint64_t *word; /* 8-aligned; written by another thread or process */
	uint64_t idle;                /* arrived when *word differs */
	uint32_t slot;                /* index in the array; POLLSET_OUT: not watched */
};

struct pollset_entry {
	const _Atomic uint64_t *word;
	uint64_t idle;
};

struct pollset {
	uint32_t n, cap;
	struct pollset_entry *entry;  /* [n]: what a scan reads, 16 bytes each */
	struct poll_item **item;      /* [n]: the owners' items */
	uint32_t next;                /* where a scan begins: not 0 after one that was cut off */
};

void pollset_init(struct pollset *set);
void pollset_fini(struct pollset *set);

/** Make space for `n` items in all; pollset_add makes none. False: no memory. */
void pollset_reserve(struct pollset *set, uint32_t n);

/** Watch `item` (word and idle set, not watched yet); there must be space. */
static inline void pollset_add(struct pollset *set, struct poll_item *item)
{
	uint32_t i = set->n++;

	assert(i < set->cap && item->slot == POLLSET_OUT);
	set->entry[i].word = item->word;
	set->entry[i].idle = item->idle;
	set->item[i] = item;
	item->slot = i;
}

static inline void pollset_remove(struct pollset *set, struct poll_item *item)
{
	uint32_t i = item->slot, last = --set->n;

	assert(i <= last);
	set->entry[i] = set->entry[last];
	set->item[i] = set->item[last];
	set->item[i]->slot = i;
	item->slot = POLLSET_OUT;
}

/** Remove up to `max` items whose word is no longer idle; returns how many. Afterwards everything
 * that the writers stored before they released those words can be read. A scan may miss items that
 * have just arrived; a later one finds them. */
uint32_t pollset_scan(struct pollset *set, struct poll_item **fired, uint32_t max);

#endif
