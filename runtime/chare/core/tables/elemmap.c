/* SPDX-License-Identifier: Apache-2.0 */
/* elemmap.c: see elemmap.h. */
#include "elemmap.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>

enum { ELEMMAP_LEAST = 8 };       /* slots */

static void elemmap_put(struct elemmap *m, struct elemmap_slot what)
{
	uint32_t i = elemmap_start(m, elemmap_key(&what));

	while (m->slot[i].no)
		i = elemmap_behind(m, i);
	m->slot[i] = what;
}

static void grow(struct elemmap *m)
{
	const struct elemmap old = *m;

	if (old.size > UINT32_MAX / 5 * 4)
		cmi_no_memory(SIZE_MAX, "a table of elements");
	m->size = old.size + old.size / 4 > ELEMMAP_LEAST ? old.size + old.size / 4 : ELEMMAP_LEAST;
	m->slot = cmi_alloc_zero(m->size, sizeof *m->slot, "a table of elements");
	for (uint32_t i = 0; i < old.size; i++)
		if (old.slot[i].no)
			elemmap_put(m, old.slot[i]);
	free(old.slot);
}

void elemmap_add(struct elemmap *m, struct elem_key k, uint32_t no)
{
	if (m->n >= m->size - m->size / 5)
		grow(m);
	elemmap_put(m, (struct elemmap_slot){ k.a, k.b, no });
	m->n++;
}

/* The distance of a slot from the one where a search begins. */
static uint32_t slot_distance(const struct elemmap *m, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + (m->size - from);
}

/* Later slots move into the hole, unless that puts them before the start of their search, so that
 * no search ends too early. */
void elemmap_remove(struct elemmap *m, struct elemmap_slot *s)
{
	uint32_t hole = (uint32_t)(s - m->slot);

	for (uint32_t i = hole; m->slot[i = elemmap_behind(m, i)].no;) {
		const uint32_t start = elemmap_start(m, elemmap_key(&m->slot[i]));

		if (slot_distance(m, start, i) < slot_distance(m, hole, i))
			continue;
		m->slot[hole] = m->slot[i];
		hole = i;
	}
	m->slot[hole].no = 0;
	m->n--;
}

void elemmap_free(struct elemmap *m)
{
	free(m->slot);
	*m = (struct elemmap){ 0 };
}
