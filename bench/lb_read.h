/* SPDX-License-Identifier: Apache-2.0 */
/* lb_read.h: statistics as text (lb_dump.h), read back: for bench/strategies and for tests. */
#ifndef BENCH_LB_READ_H
#define BENCH_LB_READ_H

#include "../runtime/chare/cklb.h"

#include <stdio.h>

/** A record that was read. */
struct lb_dump {
	CkLBStats s;              /* s.element and so on belong to this struct */
	char array[64];
};

/** Read the next record of the file; *line is the number of the line that comes next, 1 at first.
 * Returns 1; 0: the file has ended; -1: it is damaged, and `why` says where and how. Only after 1
 * the caller owns *d. */
int lb_dump_read(FILE *f, size_t *line, struct lb_dump *d, char *why, size_t len)
	__attribute__((warn_unused_result));

/** Free what lb_dump_read gave. */
void lb_dump_free(struct lb_dump *d);

#endif
