/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_table.h: what all nodes have published under one key, read once per host. Its first node, as
 * the launcher counts (boot_reader), reads the values and writes them into a nameless file, which
 * the others map. So a launcher answers N requests for each host, not for each node. A node that
 * cannot map the file reads by itself. Main thread only.
 */
#ifndef HOST_TABLE_H
#define HOST_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmi;

enum { HOST_TABLES = 2 }; /* one for each meeting of exchange.c */

/** Where the other nodes find the reader's files; it publishes this. */
struct host_table_name {
	int32_t pid;
	int32_t fd[HOST_TABLES];
	uint64_t nonce; /* also in the files: the process of this number may be another one */
};

/** A member of struct cmi; all zero at first. */
struct host_table {
	int reader;  /* rank; -1: no node reads for this one */
	struct host_table_name name;
	bool named;              /* the reader's name is known */
	const char *map;         /* the values of `key`, NULL: there are none */
	size_t bytes;
	const char *key;
};

/** Find out which node reads; the reader makes its files and publishes their name. */
int host_table_open(struct cmi *m);
/** The reader, when all have published: read the values, of at most `cap` bytes each, and write
 * them. */
int host_table_write(struct cmi *m, int which, const char *key, size_t cap);
/** All, when the readers have written. */
void host_table_map(struct cmi *m, int which, const char *key);
/** What `node` has published; -ENODATA: it is not in the table, -EMSGSIZE: it has more than `cap`
 * bytes. */
int host_table_get(const struct cmi *m, int node, const char *key, void *value, size_t cap,
		   size_t *len_p);
void host_table_close(struct cmi *m);

#endif
