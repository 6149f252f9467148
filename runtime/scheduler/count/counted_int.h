/* SPDX-License-Identifier: Apache-2.0 */
/* counted_int.h: shared by the files of count/. */
#ifndef CSD_COUNTED_INT_H
#define CSD_COUNTED_INT_H

#include "../route/msg_route.h"

#include <stdio.h>

int counts_register(struct node *node);
int counts_subtree_ended(struct pe *pe);   /* PE 0: 0, or a negative errno after printing why */

/** On a node that counts. */
struct csd_counting {
	bool report;                   /* CK_STATS: the PEs' counts are combined when the job ends */
	const char *file;              /* CK_STATS=file.json; NULL: a table on stderr */
	char *path;                    /* the same, absolute, on node 0: the program may change the
				        * directory */
	struct gauge *gauges;          /* of the whole job, ckrun's; NULL: none */
	int n_gauges;
	int filtered;                  /* the first of name_filtered's numbers */
	bool counter;
	uint64_t from_ticks, from_ns;  /* one moment by both clocks, when the process began */
	struct count_name *rows, *numbers;
	int n_rows, n_numbers;
	int handler;                   /* of counted_join.c */
	int row_of[CSD_MAX_HANDLERS];  /* of the program's handlers */
	CmiHandler fn[CSD_MAX_HANDLERS];
};

/* The records begin with 64-bit words, which counted_print.c names in this order. */

/** A row, added over several PEs. */
struct count_sum_row {
	uint64_t calls, ns, longest_ns;
	uint64_t longest_pe;           /* if there are calls */
	uint64_t buckets[COUNT_BUCKETS];
};

/** One PE; its numbers follow. Times in ns. */
struct count_pe {
	uint64_t pe, node;
	uint64_t wall_ns, ns[GAUGE_STATES];
	uint64_t sent, handled;        /* messages and puts, without the runtime's own */
	uint64_t dispatched;           /* messages, the runtime's own among them */
	uint64_t pool_bytes;           /* of message memory */
	uint64_t numbers[];
};

struct count_sum_link {
	uint64_t from, to;
	struct count_link link;
};

/** Several PEs: this one and those below it in the tree of PE 0 that have reported. */
struct count_sum {
	struct count_sum_row *rows;    /* [n_rows] */
	char *pes;                     /* [n_pes] of pe_bytes each */
	struct count_sum_link *links;
	uint32_t n_pes, n_links;
	size_t pe_bytes;
};

static inline struct count_pe *count_pe_at(const struct count_sum *s, uint32_t i)
{
	return (struct count_pe *)(void *)(s->pes + i * s->pe_bytes);
}

/* counted_join.c */
void counts_add_own(struct pe *pe, uint64_t to_ticks, uint64_t to_ns);
void counts_sum_free(struct pe_counts *c);

/* counted_print.c: on PE 0, with the counts of all PEs. */
void counts_print(struct pe *pe);
void counts_write_json(FILE *f, struct pe *pe);

/* counted_file.c, on node 0. */
/** Before the program runs: end the process with one line if the file cannot be written. */
void counts_check_file(struct csd_counting *k);
/** 0, or a negative errno after printing why; then no file is left. */
int counts_write(struct pe *pe);

#endif
