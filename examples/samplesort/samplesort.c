/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samplesort: sorts random integers. Samples from all parts give the splitters; each key goes to the
 * part whose bucket it belongs to; each part sorts its bucket.
 *
 *	ckrun -n 2 ./samplesort --keys 1000000 --repeat 5
 *
 * Shows   the finest grain there is: every key is one call, which [aggregate] makes affordable. No
 *         part knows how many keys it will get. So each part comes to a fence when it has sent its
 *         own, and the fence ends when all keys have been handled. A long loop of sends is cut into
 *         pieces.
 * Checks  each bucket is in order, no bucket overlaps the one before it, and the keys are those of
 *         the input (number and checksum).
 *
 * It prints the median time from the first sample to the last sorted bucket, first on a line for the
 * benchmarks, which compare it with bench/mpi/samplesort_mpi.c. That program gathers the keys for
 * each destination by hand.
 *
 * Source: S. M. Saunders, "Object-Oriented Abstractions for Communication in Parallel Programs"
 * (ARMI), Texas A&M University 2003, sections II-D and V-D.
 */
#include <stdlib.h>

#include "../args.h"
#include "keys.h"
#include "samplesort.decl.h"

enum { SUM_UNSORTED, SUM_KEYS, SUM_LOW, SUM_HIGH, N_SUMS };

/* Keys that a part sends before it lets its PE handle what has come. More make the queues longer;
 * fewer cost one more call per piece. */
enum { PIECE = 512 };

/* Calls for one PE that travel together. As many as the runtime collects by itself, 512, took a
 * twelfth more time; twice as many as these did not take less. */
enum { BATCH = 1024 };

struct edge {
	long n;
	uint32_t first, last;
};

struct Main {
	struct keys samples;
	long came;              /* parts that have sent their samples, or their edges */
	uint32_t *splitters;
	struct edge *edges;     /* of each part's bucket */
	long run;
	double started;
	double *us;             /* of each run */
	bool summed;
	long sums[N_SUMS];
};

struct Part {
	struct keys input;      /* the same in all runs */
	struct keys bucket;
	uint32_t *splitters;
	long at;                /* the next key of the input */
};

static void need(bool there)
{
	if (!there)
		CkAbort("samplesort: no memory");
}

/* ---- a part -------------------------------------------------------------------------- */

void Part_on_new(Part *self)
{
	need(keys_make(&self->input, seed, keys, Part_thisIndex(self), n_parts));
	self->splitters = malloc((size_t)n_parts * sizeof *self->splitters);
	need(self->splitters);
	CkSetAggregation(BATCH, BATCH * sizeof(uint64_t));
}

/* Keys may come from here on, because another part may get its splitters earlier than this one. */
void Part_on_sample(Part *self)
{
	uint32_t sample[KEYS_SAMPLES];
	int n = keys_sample(&self->input, seed, Part_thisIndex(self), sample);

	self->bucket.n = 0;
	Main_samples(mainProxy, n, sample);
}

void Part_on_distribute(Part *self, int n, const uint32_t *splitters)
{
	memcpy(self->splitters, splitters, (size_t)n * sizeof *splitters);
	self->at = 0;
	Part_on_some(self);
}

void Part_on_some(Part *self)
{
	long end = self->at + PIECE < self->input.n ? self->at + PIECE : self->input.n;

	for (long i = self->at; i < end; i++) {
		uint32_t key = self->input.v[i];

		Part_take(Part_at(parts, keys_bucket(key, self->splitters, (int)n_parts - 1)), key);
	}
	self->at = end;
	if (end < self->input.n)
		Part_some(Part_thisElement(self));
	else
		CkFence(self, Part_cb_sort_all(parts));
}

void Part_on_take(Part *self, uint32_t key)
{
	need(keys_push(&self->bucket, key));
}

void Part_on_sort(Part *self)
{
	need(keys_sort(&self->bucket));
	CkContributeBarrier(self, Main_cb_sorted(mainProxy));
}

/* The halves of the checksums are added up separately, so that no sum overflows. */
void Part_on_check(Part *self)
{
	const struct keys *b = &self->bucket;
	uint64_t checksum = keys_checksum(b);
	const long sums[N_SUMS] = {!keys_in_order(b), b->n, (long)(checksum & UINT32_MAX),
				   (long)(checksum >> 32)};

	Main_edges(mainProxy, Part_thisIndex(self), b->n, b->n ? b->v[0] : 0,
		   b->n ? b->v[b->n - 1] : 0);
	keys_free(&self->input);
	keys_free(&self->bucket);
	free(self->splitters);
	CkContribute(self, sums, N_SUMS, CkReduction_sum_long, Main_cb_sums(mainProxy));
}

/* ---- the main chare: the phases ------------------------------------------------------ */

static void begin_run(Main *self)
{
	self->came = self->samples.n = 0;
	self->started = CkWallTimer();
	Part_sample_all(parts);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"keys", &keys, 20000, 0, 2000000000, "integers to sort"},
		{"parts", &n_parts, 0, 0, 100000, "chares that share them; 0: one per PE"},
		{"repeat", &repeat, 1, 1, 1000, "sort so many times, the median counts"},
		{"seed", &seed, 1, 0, 1000000000, "which integers"},
	};

	if (!args_read("samplesort", m, args, sizeof args / sizeof *args))
		return;
	if (n_parts == 0)
		n_parts = CkNumPes();
	self->us = calloc((size_t)repeat, sizeof *self->us);
	self->splitters = calloc((size_t)n_parts, sizeof *self->splitters);
	self->edges = calloc((size_t)n_parts, sizeof *self->edges);
	need(self->us && self->splitters && self->edges);
	mainProxy = Main_thisProxy(self);
	parts = Part_ckNew(CkDims((int)n_parts));
	begin_run(self);
}

void Main_on_samples(Main *self, int n, const uint32_t *sample)
{
	for (int i = 0; i < n; i++)
		need(keys_push(&self->samples, sample[i]));
	if (++self->came < n_parts)
		return;
	need(keys_split(&self->samples, n_parts, self->splitters));
	Part_distribute_all(parts, (int)n_parts - 1, self->splitters);
}

void Main_on_sorted(Main *self)
{
	self->us[self->run++] = (CkWallTimer() - self->started) * 1e6;
	if (self->run < repeat) {
		begin_run(self);
		return;
	}
	self->came = 0;
	Part_check_all(parts);
}

/* ---- the main chare: the check ------------------------------------------------------- */

static bool buckets_in_order(const Main *self)
{
	const struct edge *before = NULL;

	for (long i = 0; i < n_parts; i++) {
		const struct edge *e = &self->edges[i];

		if (e->n > 0 && before && before->last > e->first)
			return false;
		if (e->n > 0)
			before = e;
	}
	return true;
}

/* What the parts add up for their buckets, here for all of the input. */
static bool input_is_all_there(const long *sums)
{
	struct keys all = {0};
	uint64_t checksum;

	need(keys_make(&all, seed, keys, 0, 1));
	checksum = keys_checksum(&all);
	keys_free(&all);
	return sums[SUM_KEYS] == keys &&
	       checksum == (uint64_t)sums[SUM_LOW] + ((uint64_t)sums[SUM_HIGH] << 32);
}

static long largest_bucket(const Main *self)
{
	long most = 0;

	for (long i = 0; i < n_parts; i++)
		if (self->edges[i].n > most)
			most = self->edges[i].n;
	return most;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void end(Main *self)
{
	bool sorted = self->sums[SUM_UNSORTED] == 0 && buckets_in_order(self);
	bool there = input_is_all_there(self->sums);

	qsort(self->us, (size_t)repeat, sizeof *self->us, compare_doubles);
	CkPrintf("samplesort %ld %.1f us\n", keys, self->us[repeat / 2]);
	CkPrintf("samplesort: %ld keys, %ld parts on %d PEs, the largest bucket %ld, %.1f ms: %s\n",
		 keys, n_parts, CkNumPes(), largest_bucket(self), self->us[repeat / 2] / 1e3,
		 sorted && there ? "checked" : "WRONG");
	if (!sorted || !there)
		CkError("samplesort: the keys are %ssorted and %s those of the input\n",
			sorted ? "" : "not ", there ? "are" : "are not");
	keys_free(&self->samples);
	free(self->us);
	free(self->splitters);
	free(self->edges);
	CkExit(sorted && there ? 0 : 1);
}

void Main_on_edges(Main *self, int part, long n, uint32_t first, uint32_t last)
{
	self->edges[part] = (struct edge){n, first, last};
	if (++self->came == n_parts && self->summed)
		end(self);
}

void Main_on_sums(Main *self, int n, const long *sum)
{
	memcpy(self->sums, sum, (size_t)n * sizeof *sum);
	self->summed = true;
	if (self->came == n_parts)
		end(self);
}

#include "samplesort.def.h"
