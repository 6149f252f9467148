/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause: how long a checkpoint in memory stops a job, beside a copy of the same bytes.
 *
 *	ckrun -n 1 build/bench/pause [ELEMENTS BYTES [REPS [DIR]]]
 *	ckrun -n 2 build/bench/pause 26 80000000 5         1 GB a PE
 *
 * Each element has so many bytes, of malloc. With DIR the checkpoints are on disk.
 * Prints `name BYTES value unit`, medians:
 *	pause            us   from the request to the callback
 *	pause-cpu        us   of processor time of PE 0 in it: for machines that do something else, too
 *	pause-first      us   the first one, which touches the image's memory for the first time
 *	pause-first-cpu  us
 *	copy             us   a memcpy of what the elements of a PE have, in memory that was touched
 *	copy-cpu         us
 *	ratio            x    pause-cpu / copy-cpu, the two in turn
 * With CK_RESTART=DIR it prints one line:
 *	restart-cpu      us   of processor time of the process, until all elements are there
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "pause.decl.h"

struct Main {
	int reps, done;
};
struct Block {
	long n;
	char *bytes;
};

/* Of the process of the main chare: not saved. */
static struct {
	size_t state;             /* bytes of the elements of a PE */
	char *from, *to, dir[256];
	double us, cpu_s, first, first_cpu;
	double pause[BENCH_REPEATS_MAX], pause_cpu[BENCH_REPEATS_MAX];
	double copy[BENCH_REPEATS_MAX], copy_cpu[BENCH_REPEATS_MAX], ratio[BENCH_REPEATS_MAX];
} b;

void Block_on_new(Block *self)
{
	self->n = bytes;
	self->bytes = malloc((size_t)bytes);
	if (!self->bytes)
		CkAbort("pause: no memory for %ld bytes", bytes);
	memset(self->bytes, 1, (size_t)bytes);
	CkContributeBarrier(self, Main_cb_filled(mainProxy));
}

static void begin(void)
{
	b.us = bench_now_us();
	b.cpu_s = bench_seconds_taken(true);
}

static void end(double *us, double *cpu_us)
{
	*us = bench_now_us() - b.us;
	*cpu_us = (bench_seconds_taken(true) - b.cpu_s) * 1e6;
}

static void save(void)
{
	begin();
	if (b.dir[0])
		CkStartCheckpoint(b.dir, Main_cb_saved(mainProxy));
	else
		CkStartMemCheckpoint(Main_cb_saved(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const long n = m->argc > 1 ? bench_number("pause", "ELEMENTS", m->argv[1], 1, 10000000) : 10000;

	mainProxy = Main_thisProxy(self);
	bytes = m->argc > 2 ? bench_number("pause", "BYTES", m->argv[2], 1, 1L << 40) : 9600;
	self->reps = 15;
	if (m->argc > 3)
		self->reps = (int)bench_number("pause", "REPS", m->argv[3], 1, BENCH_REPEATS_MAX);
	if (m->argc > 4)
		strncpy(b.dir, m->argv[4], sizeof b.dir - 1);
	b.state = (size_t)((n + CkNumPes() - 1) / CkNumPes() * bytes);
	b.from = bench_alloc(b.state);
	b.to = bench_alloc(b.state);
	blocks = Block_ckNew(CkDims((int)n));
}

void Main_on_filled(Main *self)
{
	self->done = -2;
	save();
}

static void print(const char *name, double value, const char *unit)
{
	CkPrintf("%s %ld %.2f %s\n", name, bytes, value, unit);
}

static void report(int n)
{
	print("pause-first", b.first, "us");
	print("pause-first-cpu", b.first_cpu, "us");
	print("pause", bench_median(b.pause, n), "us");
	print("pause-cpu", bench_median(b.pause_cpu, n), "us");
	print("copy", bench_median(b.copy, n), "us");
	print("copy-cpu", bench_median(b.copy_cpu, n), "us");
	print("ratio", bench_median(b.ratio, n), "x");
}

/* The first two have each a slot that nobody has touched. */
static void note(Main *self)
{
	const int i = self->done++;
	double us, cpu_us;

	end(&us, &cpu_us);
	if (i == -2) {
		b.first = us;
		b.first_cpu = cpu_us;
	}
	if (i < 0)
		return;
	b.pause[i] = us;
	b.pause_cpu[i] = cpu_us;
	begin();
	memcpy(b.to, b.from, b.state);
	end(&b.copy[i], &b.copy_cpu[i]);
	b.ratio[i] = b.pause_cpu[i] / b.copy_cpu[i];
}

void Main_on_saved(Main *self, int status)
{
	if (status == CK_CHECKPOINT_RESTARTED) {
		print("restart-cpu", bench_seconds_taken(false) * 1e6, "us");
		CkExit(0);
		return;
	}
	if (status != CK_CHECKPOINT_SUCCESS)
		CkAbort("pause: there is no checkpoint");
	note(self);
	if (self->done < self->reps) {
		save();
		return;
	}
	report(self->reps);
	CkExit(0);
}

#include "pause.def.h"
