/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c: see slots.h. */
#include "slots.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "../../../scheduler/pe.h"

enum { SLOTS_LEAST = 64 };

static uint32_t *slot_link(const struct slots *t, uint32_t no)
{
	return slot_at(t, no);
}

static void slots_grow(struct slots *t, const char *what)
{
	uint32_t n = t->n ? t->n * 2 : SLOTS_LEAST;

	if (n <= t->n)
		cmi_no_memory(SIZE_MAX, what);
	char *at = cmi_realloc(t->at, n, t->bytes, what);

	memset(at + (size_t)t->n * t->bytes, 0, (size_t)(n - t->n) * t->bytes);
	t->at = at;
	for (uint32_t i = n - 1; i >= t->n && i > 0; i--)
		slot_give(t, i);
	t->n = n;
}

uint32_t slot_take(struct slots *t, const char *what)
{
	if (CSD_UNLIKELY(!t->first_free))
		slots_grow(t, what);
	uint32_t no = t->first_free;

	t->first_free = *slot_link(t, no);
	return no;
}

void slot_give(struct slots *t, uint32_t no)
{
	*slot_link(t, no) = t->first_free;
	t->first_free = no;
}

void slots_free(struct slots *t)
{
	free(t->at);
	t->at = NULL;
	t->n = t->first_free = 0;
}
