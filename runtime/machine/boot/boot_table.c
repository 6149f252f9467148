/* SPDX-License-Identifier: Apache-2.0 */
/* boot_table.c: see boot_table.h. */
#include "boot_table.h"
#include "../base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

void boot_table_add(struct boot_table *t, const char *key, const char *text)
{
	CMI_ONE_MORE(t->entries, t->n, t->cap, "start-up");
	t->entries[t->n++] = (struct boot_entry){
		cmi_must_have(strdup(key), strlen(key) + 1, "start-up"),
		cmi_must_have(strdup(text), strlen(text) + 1, "start-up"),
	};
	t->sorted = false;
}

static int entry_compare(const void *a, const void *b)
{
	const struct boot_entry *x = a, *y = b;
	return strcmp(x->key, y->key);
}

const char *boot_table_find(struct boot_table *t, const char *key)
{
	if (t->n == 0)
		return NULL;
	if (!t->sorted)
		qsort(t->entries, t->n, sizeof(*t->entries), entry_compare);
	t->sorted = true;
	struct boot_entry wanted = { (char *)key, NULL };
	struct boot_entry *e = bsearch(&wanted, t->entries, t->n, sizeof(wanted), entry_compare);
	return e ? e->text : NULL;
}

void boot_table_fini(struct boot_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->entries[i].key);
		free(t->entries[i].text);
	}
	free(t->entries);
	*t = (struct boot_table){ .n = 0 };
}
