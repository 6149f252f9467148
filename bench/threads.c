/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads: what Cth threads cost, beside ucontext, libc's way to switch stacks.
 *
 *	threads		switch-cth, switch-ucontext: there and back, ns
 *			thread: made, run, ended and its stack given back, ns
 *			yield: through the queue, with another thread that does the same, ns
 *			stack: resident bytes per suspended thread that has called snprintf once
 *			crowd, kept: ns per thread when n are made before one ends, and the
 *			bytes that they leave behind
 *
 * One PE, pinned; medians of 9 runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "bench.h"
#include "pe.h"
#include "cth.h"

enum { SWITCHES = 200000, THREADS = 100000, RUNS = 9, SUSPENDED = 5000 };

static void report(const char *name, double *v, double per)
{
	printf("%s 0 %.4g ns\n", name, bench_median(v, RUNS) * 1000 / per);
}

/* ---- ucontext ----------------------------------------------------------------------------- */

static ucontext_t here, there;

static void ucontext_main(void)
{
	for (;;)
		swapcontext(&there, &here);
}

static void measure_ucontext(void)
{
	double v[RUNS];
	char *stack = bench_alloc(CTH_STACK_MIN);

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = CTH_STACK_MIN;
	makecontext(&there, ucontext_main, 0);
	for (int r = 0; r < RUNS; r++) {
		double t = bench_now_us();

		for (int i = 0; i < SWITCHES; i++)
			swapcontext(&here, &there);
		v[r] = bench_now_us() - t;
	}
	report("switch-ucontext", v, SWITCHES);
}

/* ---- Cth ------------------------------------------------------------------------------------ */

static void suspends(void *arg)
{
	(void)arg;
	for (;;)
		CthSuspend();
}

static void measure_switch(void)
{
	double v[RUNS];
	CthThread t = CthCreate(suspends, NULL, 0);

	for (int r = 0; r < RUNS; r++) {
		double start = bench_now_us();

		for (int i = 0; i < SWITCHES; i++)
			CthResume(t);
		v[r] = bench_now_us() - start;
	}
	report("switch-cth", v, SWITCHES);
}

static void ends(void *arg)
{
	(void)arg;
}

static void measure_life(void)
{
	double v[RUNS];

	for (int r = 0; r < RUNS; r++) {
		double start = bench_now_us();

		for (int i = 0; i < THREADS; i++)
			CthResume(CthCreate(ends, NULL, 0));
		v[r] = bench_now_us() - start;
	}
	report("thread", v, THREADS);
}

static long resident(void)
{
	long total = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &total, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void formats(void *arg)
{
	char line[200];

	snprintf(line, sizeof line, "%p %g", arg, 0.1);
	CthSuspend();
}

static void measure_stack(void)
{
	long before = resident();

	for (int i = 0; i < SUSPENDED; i++)
		CthResume(CthCreate(formats, NULL, 0));
	printf("stack 0 %.0f bytes\n", (double)(resident() - before) / SUSPENDED);
}

static void waits(void *arg)
{
	volatile char some[2000];

	some[0] = *(char *)arg;
	CthSuspend();
	some[1] = some[0];
}

static void measure_crowd(int n)
{
	CthThread *all = bench_alloc((size_t)n * sizeof(CthThread));
	long before = resident();
	double v[RUNS];
	char c = 1;

	for (int r = 0; r < RUNS; r++) {
		double start = bench_now_us();

		for (int i = 0; i < n; i++)
			CthResume(all[i] = CthCreate(waits, &c, 0));
		for (int i = 0; i < n; i++)
			CthResume(all[i]);
		v[r] = bench_now_us() - start;
	}
	printf("crowd %d %.4g ns\n", n, bench_median(v, RUNS) * 1000 / n);
	printf("kept %d %.0f bytes\n", n, (double)(resident() - before) / n);
	free(all);
}

/* Two threads yield in turn; the second run's end ends the job. */
static int n_running;
static double yield_us[RUNS];

static void yields(void *arg)
{
	for (int r = 0; r < RUNS; r++) {
		double start = bench_now_us();

		for (int i = 0; i < SWITCHES / 2; i++)
			CthYield();
		if (arg)
			yield_us[r] = bench_now_us() - start;
	}
	if (--n_running == 0) {
		report("yield", yield_us, SWITCHES);
		csd_exit(csd_self(), 0);
	}
}

static void start_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	measure_ucontext();
	measure_switch();
	measure_life();
	for (int n = 200; n <= 20000; n *= 10)
		measure_crowd(n);
	measure_stack();
	n_running = 2;
	CthAwaken(CthCreate(yields, NULL, 0));
	CthAwaken(CthCreate(yields, &n_running, 0));
}

static int h_start;

static int node_start(struct node *node)
{
	h_start = csd_register(node, "start", start_arrived);
	return 0;
}

static void pe_start(struct pe *pe)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

	m->handler = (uint16_t)h_start;
	csd_send(pe, pe->id, m);
}

int main(int argc, char **argv)
{
	static const struct csd_layer layer = {
		.name = "bench", .node_start = node_start, .pe_start = pe_start,
	};
	const struct csd_layer *layers[] = { &layer };
	struct csd_config cfg = { .argc = argc, .argv = argv, .layers = layers, .n_layers = 1 };
	struct bench_cpus cpus;

	bench_cpus_get(&cpus);
	bench_pin(&cpus, 0);
	return csd_run(&cfg);
}
