/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, options, clock, medians, pinning and payloads of the benchmarks: see bench.h. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One run takes about this long: ten of a scheduler's time slices, so that one stolen slice does
 * not decide a run and the median of the runs removes it. */
#define RUN_US 40000.0
/* A run at least this long is good enough to guess the number of iterations from. */
#define PROBE_US 4000.0
#define PROBE_FIRST 16L
#define PROBE_GROWTH 4L
#define RUN_ITERATIONS_MIN 8L
/* Fits an int, which is how MPI counts. */
#define BENCH_BYTES_MAX (1L << 30)

_Noreturn static void usage_error(const char *program, const char *what, const char *text)
{
	fprintf(stderr, "%s: bad %s '%s'\n", program, what, text ? text : "(missing)");
	exit(2);
}

void bench_options_init(struct bench_options *opt)
{
	static const size_t table1[] = {8,     100,   1000,  5000,   10000, 20000,
					30000, 40000, 70000, 100000, 500000};
	memset(opt, 0, sizeof *opt);
	memcpy(opt->bytes, table1, sizeof table1);
	opt->nsizes = sizeof table1 / sizeof table1[0];
	opt->repeats = 7;
	opt->touch = true;
	opt->pin = true;
}

long bench_number(const char *program, const char *what, const char *text, long min, long max)
{
	char *end = NULL;
	long value = text ? strtol(text, &end, 10) : 0;
	if (!text || end == text || *end || value < min || value > max)
		usage_error(program, what, text);
	return value;
}

static void parse_sizes(struct bench_options *opt, const char *program, const char *list)
{
	if (!list)
		usage_error(program, "--sizes", list);
	opt->nsizes = 0;
	for (const char *p = list;; p++) {
		char *end;
		long bytes = strtol(p, &end, 10);
		bool good = end != p && bytes >= 8 && bytes <= BENCH_BYTES_MAX;
		if (!good || (*end && *end != ',') || opt->nsizes == BENCH_SIZES_MAX)
			usage_error(program, "--sizes (8 to 2^30, with commas between)", list);
		opt->bytes[opt->nsizes++] = (size_t)bytes;
		if (!*end)
			return;
		p = end;
	}
}

bool bench_option(struct bench_options *opt, int argc, char **argv, int *i)
{
	const char *name = argv[*i];
	const char *value = *i + 1 < argc ? argv[*i + 1] : NULL;

	if (!strcmp(name, "--no-touch")) {
		opt->touch = false;
	} else if (!strcmp(name, "--no-pin")) {
		opt->pin = false;
	} else if (!strcmp(name, "--sizes")) {
		parse_sizes(opt, argv[0], value);
		++*i;
	} else if (!strcmp(name, "--reps")) {
		opt->repeats = (int)bench_number(argv[0], name, value, 1, BENCH_REPEATS_MAX);
		++*i;
	} else {
		return false;
	}
	return true;
}

size_t bench_largest(const struct bench_options *opt)
{
	size_t largest = 0;
	for (int i = 0; i < opt->nsizes; i++)
		if (opt->bytes[i] > largest)
			largest = opt->bytes[i];
	return largest;
}

double bench_now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

void bench_compute(double us)
{
	const double end = bench_now_us() + us;

	while (bench_now_us() < end)
		;
}

double bench_seconds_taken(bool thread)
{
	struct timespec t;

	clock_gettime(thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double bench_resident_bytes(void)
{
	long total, resident;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &total, &resident) != 2) {
		fprintf(stderr, "cannot read /proc/self/statm\n");
		exit(1);
	}
	fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, compare_doubles);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

void bench_cpus_get(struct bench_cpus *cpus)
{
	cpu_set_t set;
	cpus->n = 0;
	if (sched_getaffinity(0, sizeof set, &set))
		return;
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &set))
			cpus->cpu[cpus->n++] = c;
}

void bench_pin(const struct bench_cpus *cpus, int k)
{
	cpu_set_t set;
	if (!cpus->n)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpus->cpu[k % cpus->n], &set);
	if (sched_setaffinity(0, sizeof set, &set))
		perror("sched_setaffinity");
}

static long iterations_for(size_t bytes, bench_run_fn run, void *context)
{
	long iterations = PROBE_FIRST;
	double probe = run(context, bytes, iterations);

	while (probe < PROBE_US) {
		iterations *= PROBE_GROWTH;
		probe = run(context, bytes, iterations);
	}
	iterations = (long)((double)iterations * RUN_US / probe);
	return iterations < RUN_ITERATIONS_MIN ? RUN_ITERATIONS_MIN : iterations;
}

void bench_sweep(const struct bench_options *opt, const char *name, bench_run_fn run,
		 void *context)
{
	double us[BENCH_SIZES_MAX][BENCH_REPEATS_MAX];
	long iterations[BENCH_SIZES_MAX];

	for (int s = 0; s < opt->nsizes; s++)
		iterations[s] = iterations_for(opt->bytes[s], run, context);
	for (int r = 0; r < opt->repeats; r++)
		for (int s = 0; s < opt->nsizes; s++)
			us[s][r] = run(context, opt->bytes[s], iterations[s]) /
				   (double)iterations[s];
	for (int s = 0; s < opt->nsizes; s++)
		printf("%s %zu %.3f\n", name, opt->bytes[s], bench_median(us[s], opt->repeats));
	fflush(stdout);
}

size_t bench_area_bytes(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

void bench_payload_init(struct bench_payload *p, void *area, size_t bytes)
{
	size_t odd = bytes % 8;

	p->bytes = bytes;
	p->nwords = bytes / 8;
	p->words = (uint64_t *)((unsigned char *)area + bench_area_bytes(bytes)) - p->nwords;
	p->start = (unsigned char *)p->words - odd;
	p->constant = 0;
	p->stamped = 0;
	memset(p->start, 0, odd);
	for (size_t i = 0; i < p->nwords; i++) {
		bool stamped = i % BENCH_LINE_WORDS == 0 || i == p->nwords - 1;
		p->words[i] = stamped ? 0 : i;
		p->constant += p->words[i];
		p->stamped += stamped;
	}
}

/* Four independent sums: reading then runs at the speed of the cache, not of one chain of adds. */
static uint64_t sum_words(const uint64_t *w, size_t n)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		a += w[i];
		b += w[i + 1];
		c += w[i + 2];
		d += w[i + 3];
	}
	for (; i < n; i++)
		a += w[i];
	return a + b + c + d;
}

bool bench_arrived_whole(const struct bench_payload *p, uint64_t stamp)
{
	return sum_words(p->words, p->nwords) == p->constant + p->stamped * stamp;
}

void *bench_alloc(size_t bytes)
{
	const size_t page = 4096;
	void *p = aligned_alloc(page, (bytes + page - 1) / page * page);
	if (!p) {
		fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}
