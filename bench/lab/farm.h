/* SPDX-License-Identifier: Apache-2.0 */
/*
 * farm.h: what the task farm of farm.c and that of farm_mpi.c have in common: options, and what
 * they print.
 */
#ifndef CHARD_BENCH_FARM_H
#define CHARD_BENCH_FARM_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { FARM_PINGS_MOST = 100000 };

struct farm {
	int tasks, bytes, results; /* so many tasks of so many bytes; bytes of a result */
	int window;                /* tasks that a worker has asked for and does not have */
	int work_us;               /* to compute one */
};

/* Round trips of pings beside the tasks, in us. */
struct farm_pings {
	int n;
	double us[FARM_PINGS_MOST];
};

static inline struct farm farm_options(int argc, char **argv)
{
	struct farm f = { 200, 300000, 1000, 10, 0 };
	const struct { const char *name; int *at; long least, most; } known[] = {
		{"--tasks", &f.tasks, 1, 1000000}, {"--bytes", &f.bytes, 8, 100000000},
		{"--results", &f.results, 8, 10000000}, {"--window", &f.window, 1, 1000},
		{"--work", &f.work_us, 0, 10000000},
	};

	for (int i = 1; i < argc; i++) {
		size_t k = 0;

		if (strcmp(argv[i], "--smoke") == 0) {
			f.tasks = 5;
			continue;
		}
		while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name))
			k++;
		if (k == sizeof known / sizeof *known || i + 1 == argc) {
			fprintf(stderr, "%s: unknown option '%s'\n", argv[0], argv[i]);
			exit(2);
		}
		i++;
		*known[k].at = (int)bench_number(argv[0], argv[i - 1], argv[i], known[k].least,
						 known[k].most);
	}
	return f;
}

static inline void farm_pinged(struct farm_pings *p, double us)
{
	if (p->n < FARM_PINGS_MOST)
		p->us[p->n++] = us;
}

static inline void farm_print(const char *name, const struct farm *f, double us,
			      struct farm_pings *p)
{
	printf("farm-%s %d %.1f ms\n", name, f->bytes, us / 1e3);
	if (p->n == 0)
		return;
	printf("farm-ping-%s %d %.1f us\n", name, f->bytes, bench_median(p->us, p->n));
	printf("farm-ping-p99-%s %d %.1f us\n", name, f->bytes, p->us[(int)(p->n * 0.99)]);
}

#endif
