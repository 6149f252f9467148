/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h: a trace in numbers: the time of each PE and of each entry, durations of entries, and the
 * traffic between PEs, and the critical path. Its owner calls sums_free, path_free, and free for a
 * matrix.
 */
#ifndef SUMS_H
#define SUMS_H

#include "model.h"

enum { BUCKETS = 24 };               /* powers of two from BUCKET_FIRST ns; the last has all that are longer */
enum { BUCKET_FIRST = 128 };

struct entry_sum {
	uint64_t n, pieces;
	int64_t own, total, longest;     /* own: without what is inside it */
	uint64_t bucket[BUCKETS];
};

/* A span with only idle ones around it. */
struct top {
	int64_t start, end;
	uint32_t record;
	enum span_kind kind;
	unsigned what;
};

struct pe_sum {
	int64_t entries, puts, handlers, idle;
	struct top *tops;
	size_t n, cap;
};

struct sums {
	const struct job *j;
	const struct pe_trace *p;
	struct pe_sum *pe, *pes;
	struct entry_sum *entries;       /* by number; puts at 0 */
	size_t n_entries;
	unsigned inner;                  /* the last entry that ran inside the running handler; 0: none */
};

void sums_take(struct sums *t, const struct job *j);
void sums_free(struct sums *t);
/** "(functions of puts)" for 0. */
const char *sums_entry_name(const struct sums *t, size_t entry);

struct cell {
	uint64_t n, bytes;
};

/** Messages and puts, from row to column. */
struct matrix {
	bool by_node;                    /* there are more than `most` PEs: rows are nodes */
	int n;
	struct cell *cells;              /* [n * n] */
};

struct matrix sums_matrix(const struct job *j, int most);

/** The critical path (path.c), from its end to its beginning. */
struct path_stay {
	int pe;
	int64_t from, until;
};

struct path {
	int64_t run, way, gap;           /* ns in handlers, in messages, between handlers of one PE */
	uint64_t n_messages;
	int64_t *by_entry;               /* [n_entries]; 0: puts, and the runtime's handlers */
	struct path_stay *stays;
	size_t n, cap;
};

void path_find(const struct sums *t, struct path *path);
void path_free(struct path *path);

#endif
