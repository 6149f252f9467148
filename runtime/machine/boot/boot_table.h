/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_table.h: texts by key. Append-only, and sorted at a search: additions come in bulk, and then
 * searches in bulk. It owns its strings.
 */
#ifndef BOOT_TABLE_H
#define BOOT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct boot_table {
	struct boot_entry {
		char *key;
		char *text;
	} *entries;
	size_t n, cap;
	bool sorted;
};

/** Both strings are copied. */
void boot_table_add(struct boot_table *t, const char *key, const char *text);
/** NULL when there is none. */
const char *boot_table_find(struct boot_table *t, const char *key);
/** Frees all; the table is empty afterwards. */
void boot_table_fini(struct boot_table *t);

#endif
