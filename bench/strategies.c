/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategies: what each strategy makes of statistics that were recorded with CK_LB_DUMP.
 *
 *	strategies bench/stats/stencil.lb
 *
 * For each record one table: what the longest PE takes, in percent of what all PEs would take if work could be cut at
 * will; moved elements, and those of them that leave their process; bytes between PEs and between processes, where the
 * record has edges; and how long the strategy itself took, the least of five calls. A strategy whose library is missing
 * says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lb_read.h"
#include "../runtime/strategies/strategies.h"

enum { CALLS = 5 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void print_row(const char *name, const CkLBStats *s, const struct lb_quality *q, double ms)
{
	printf("  %-10s %7.1f %% %7zu %7zu", name, q->fair > 0 ? 100 * q->max / q->fair : 100, q->n_moved, q->n_moved_far);
	if (s->n_edges)
		printf(" %9.1f %9.1f", (double)q->bytes_cut / 1e3, (double)q->bytes_cut_far / 1e3);
	else
		printf(" %9s %9s", "-", "-");
	if (ms >= 0)
		printf(" %9.3f", ms);
	printf("\n");
}

/* Returns whether the strategy answered. */
static int run_one(const struct lb_strategy *st, const CkLBStats *s, int32_t *to)
{
	const char *missing = st->missing ? st->missing() : NULL;
	struct lb_quality q;
	double least = 1e30;
	size_t which = 0;

	if (missing) {
		printf("  %-10s needs %s\n", st->name, missing);
		return 1;
	}
	for (int k = 0; k < CALLS; k++) {
		double began = now_ms(), took;
		int err = lb_strategy_run(st, s, to, &which);

		took = now_ms() - began;
		least = took < least ? took : least;
		if (err) {
			printf("  %-10s cannot answer: %d\n", st->name, err);
			return 0;
		}
	}
	lb_quality(s, to, &q);
	print_row(st->name, s, &q, least);
	return 1;
}

static int print_record(const char *file, const struct lb_dump *d)
{
	const CkLBStats *s = &d->s;
	int32_t *to = malloc((s->n + 1) * sizeof *to);
	const struct lb_strategy *st;
	struct lb_quality q;
	int right = 1;

	if (!to) {
		fprintf(stderr, "strategies: no memory for %zu elements\n", s->n);
		return 0;
	}
	lb_quality(s, NULL, &q);
	printf("%s: %s, step %llu: %zu elements on %d PEs in %d processes, %zu edges; all PEs alike: %.3f ms, largest element "
	       "%.3f ms\n", file, d->array, (unsigned long long)s->step, s->n, s->n_pes, s->n_nodes, s->n_edges, q.fair * 1e3,
	       q.largest * 1e3);
	printf("  %-10s %9s %7s %7s %9s %9s %9s\n", "strategy", "longest", "moved", "far", "cut kB", "far kB", "ms");
	print_row("(before)", s, &q, -1);
	for (int i = 0; (st = lb_strategy_at(NULL, i)); i++)
		right &= run_one(st, s, to);
	free(to);
	return right;
}

static int print_file(const char *file)
{
	FILE *f = fopen(file, "r");
	struct lb_dump d;
	size_t line = 1;
	char why[200];
	int is, right = 1;

	if (!f) {
		perror(file);
		return 0;
	}
	while ((is = lb_dump_read(f, &line, &d, why, sizeof why)) > 0) {
		right &= print_record(file, &d);
		lb_dump_free(&d);
	}
	if (is < 0)
		fprintf(stderr, "%s: %s\n", file, why);
	fclose(f);
	return right && !is;
}

int main(int argc, char **argv)
{
	int right = 1;

	if (argc < 2) {
		fprintf(stderr, "Usage: strategies FILE...    records of CK_LB_DUMP, for example bench/stats/*.lb\n");
		return 1;
	}
	for (int i = 1; i < argc; i++)
		right &= print_file(argv[i]);
	return right ? 0 : 1;
}
