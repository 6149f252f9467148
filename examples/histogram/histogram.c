/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: many chares make values, a group counts them.
 *
 *	ckrun -n 2 ./histogram --sources 64 --values 1000000
 *
 * Shows   a group as memory that the chares of one PE share: X_ckLocalBranch gives a plain pointer
 *         to this PE's member, and nobody needs a lock because the handlers of a PE run one at a
 *         time. Then a reduction over the group adds up one array per PE, not one per chare.
 * Checks  the total, and every bin against a serial count.
 *
 * After Charm++'s exercise "histogram with a group".
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "../random.h"
#include "histogram.decl.h"

struct Main {
	double started;
	long generated;
};
struct Source { int unused; };
struct Bins { long *count; };

static long *alloc_bins(void)
{
	long *count = calloc((size_t)n_bins, sizeof *count);

	if (!count)
		CkAbort("histogram: no memory for %ld bins", n_bins);
	return count;
}

/* The bin of value i of a source. The sum of four random numbers is distributed like a bell. */
static long bin_of(long source, long i)
{
	uint64_t at = 4 * (uint64_t)(source * values + i);
	long sum = 0;

	for (uint64_t j = 0; j < 4; j++)
		sum += random_below((uint64_t)seed, at + j, n_bins);
	return sum / 4;
}

/* ---- one per PE ---------------------------------------------------------------------- */

void Bins_on_new(Bins *self)
{
	self->count = alloc_bins();
}

void Bins_on_report(Bins *self)
{
	CkContribute(self, self->count, (size_t)n_bins, CkReduction_sum_long,
		     Main_cb_totals(mainProxy));
	free(self->count);      /* a contribution is copied */
	self->count = NULL;
}

/* ---- many per PE --------------------------------------------------------------------- */

void Source_on_new(Source *self)
{
	(void)self;
}

/* Whoever knows a group finds its member on this PE. */
void Source_on_generate(Source *self)
{
	Bins *here = Bins_ckLocalBranch(bins);

	for (long i = 0; i < values; i++)
		here->count[bin_of(Source_thisIndex(self), i)]++;
	CkContribute(self, &values, 1, CkReduction_sum_long, Main_cb_generated(mainProxy));
}

/* ---- the main chare ------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"sources", &sources, 20, 1, 1000000, "chares that make values"},
		{"values", &values, 2000, 0, 100000000, "values of each"},
		{"bins", &n_bins, 50, 1, 1000000, "bins that are counted"},
		{"seed", &seed, 1, 0, 1000000000, "which values"},
	};

	if (!args_read("histogram", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->started = CkWallTimer();
	bins = Bins_ckNew();
	Source_generate_all(Source_ckNew(CkDims((int)sources)));
}

/* Every source has contributed after its last value, so all bins are final. */
void Main_on_generated(Main *self, long n)
{
	self->generated = n;
	Bins_report_all(bins);
}

static long wrong_bins(const long *count)
{
	long *serial = alloc_bins(), wrong = 0;

	for (long s = 0; s < sources; s++)
		for (long i = 0; i < values; i++)
			serial[bin_of(s, i)]++;
	for (long b = 0; b < n_bins; b++)
		wrong += serial[b] != count[b];
	free(serial);
	return wrong;
}

void Main_on_totals(Main *self, int n, const long *count)
{
	double took = CkWallTimer() - self->started;
	long total = 0, wrong = wrong_bins(count);
	int fullest = 0;
	bool right;

	for (int b = 0; b < n; b++) {
		total += count[b];
		if (count[b] > count[fullest])
			fullest = b;
	}
	right = wrong == 0 && total == sources * values && total == self->generated;
	CkPrintf("histogram: %ld values of %ld chares on %d PEs in %.1f ms, most (%ld) in bin %d of "
		 "%d: %s\n",
		 total, sources, CkNumPes(), took * 1e3, count[fullest], fullest, n,
		 right ? "checked" : "WRONG");
	if (!right)
		CkError("histogram: %ld bins are wrong; %ld values made, %ld counted\n", wrong,
			self->generated, total);
	CkExit(right ? 0 : 1);
}

#include "histogram.def.h"
