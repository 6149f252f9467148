/* SPDX-License-Identifier: Apache-2.0 */
/* pollset.c: see pollset.h. The scan is the only loop that matters here. */
#include "pollset.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

void pollset_init(struct pollset *set)
{
	memset(set, 0, sizeof(*set));
}

void pollset_fini(struct pollset *set)
{
	free(set->entry);
	free(set->item);
	pollset_init(set);
}

void pollset_reserve(struct pollset *set, uint32_t n)
{
	uint32_t cap = set->cap ? set->cap : 16;

	if (n <= set->cap)
		return;
	while (cap < n)
		cap *= 2;
	set->entry = cmi_realloc(set->entry, cap, sizeof(*set->entry), "channels");
	set->item = cmi_realloc(set->item, cap, sizeof(*set->item), "channels");
	set->cap = cap;
}

/** The first entry in [i, end) that is no longer idle, or end. */
static inline uint32_t scan_span(const struct pollset_entry *entry, uint32_t i, uint32_t end)
{
	/* relaxed: almost every load finds nothing. pollset_scan pays for ordering when something is
	 * found, which matters on processors where acquire is a stronger instruction. */
	while (i < end && atomic_load_explicit(entry[i].word, memory_order_relaxed) ==
				  entry[i].idle)
		i++;
	return i;
}

/* If `max` stops a scan, the next one continues from there to the end. */
uint32_t pollset_scan(struct pollset *set, struct poll_item **fired, uint32_t max)
{
	uint32_t found = 0;
	uint32_t i = scan_span(set->entry, set->next, set->n);

	while (i < set->n && found < max) {
		struct poll_item *item = set->item[i];

		/* acquire: pairs with the sender's release store of the word. The word changes
		 * once per put, so this load sees the store that the relaxed one saw, or a
		 * later one. The body written before it is visible from here on.
		 * Model: channel.pml, direct_run_polled */
		(void)atomic_load_explicit(item->word, memory_order_acquire);
		pollset_remove(set, item);
		fired[found++] = item;
		/* The entry that has moved into the gap waits for the next scan. It may have been added last: if
		 * scans included it now, items that fire again and again could starve the others. */
		i = scan_span(set->entry, i + 1, set->n);
	}
	set->next = i < set->n ? i : 0;
	return found;
}
