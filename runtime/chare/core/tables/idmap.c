/* SPDX-License-Identifier: Apache-2.0 */
/* idmap.c: see idmap.h. */
#include "idmap.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>

enum { IDMAP_LEAST = 16 };        /* slots */

static void idmap_put(struct idmap *m, struct idmap_slot what)
{
	size_t i = idmap_start(m, what.key);

	while (m->slot[i].value)
		i = (i + 1) & m->mask;
	m->slot[i] = what;
}

static void idmap_grow(struct idmap *m)
{
	struct idmap old = *m;

	m->mask = old.slot ? old.mask * 2 + 1 : IDMAP_LEAST - 1;
	m->slot = cmi_alloc_zero(m->mask + 1, sizeof *m->slot, "a table");
	for (size_t i = 0; old.slot && i <= old.mask; i++)
		if (old.slot[i].value)
			idmap_put(m, old.slot[i]);
	free(old.slot);
}

void idmap_add(struct idmap *m, uint64_t key, uintptr_t value)
{
	if (!m->slot || m->n >= m->mask / 4 * 3)
		idmap_grow(m);
	idmap_put(m, (struct idmap_slot){ key, value });
	m->n++;
}

/* Later slots move into the hole, unless that puts them before the start of their search, so that
 * no search ends too early. */
void idmap_remove(struct idmap *m, struct idmap_slot *s)
{
	size_t hole = (size_t)(s - m->slot);

	for (size_t i = hole; m->slot[i = (i + 1) & m->mask].value;) {
		size_t start = idmap_start(m, m->slot[i].key);

		if (((i - start) & m->mask) < ((i - hole) & m->mask))
			continue;
		m->slot[hole] = m->slot[i];
		hole = i;
	}
	m->slot[hole].value = 0;
	m->n--;
}

void idmap_free(struct idmap *m)
{
	free(m->slot);
	*m = (struct idmap){ 0 };
}

void idmap_free_all(struct idmap *m)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(m, &i)); i++)
		free((void *)s->value);
	idmap_free(m);
}

void idmap_trim(struct idmap *m)
{
	if (!m->n && m->mask >= IDMAP_LEAST)
		idmap_free(m);
}
