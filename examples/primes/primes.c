/* SPDX-License-Identifier: Apache-2.0 */
/*
 * primes: counts the primes up to a limit, by a sieve of Eratosthenes in segments.
 *
 *	ckrun -n 2 ./primes --limit 1000000000 --segments 16
 *
 * Shows   long work in short handlers: a segment sieves one window that fits the cache, then calls
 *         itself for the next one, so that its PE serves others in between. A broadcast that is
 *         kept (CkKeepMsg) instead of copied. Two reductions, one after the other.
 * Checks  the count against one that needs no sieve (count.c), and against the known value if the
 *         limit is a power of ten; the largest prime by division.
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "count.h"
#include "primes.decl.h"

enum { WINDOW = 32 << 10 };     /* numbers, one byte each: the first-level cache of most machines */

struct Main {
	CProxy_Segment all;
	double started;
	int answers;            /* of the two reductions: */
	long count, largest;
};

struct Segment {
	long at, end;           /* what is left: at .. end - 1 */
	const int *primes;      /* up to the root of the limit; in the message that is kept */
	int n_primes;
	void *kept;
	long count, largest;
};

/* ---- a segment ----------------------------------------------------------------------- */

void Segment_on_new(Segment *self)
{
	long i = Segment_thisIndex(self), n = limit - 1;        /* 2 .. limit */

	self->at = 2 + n * i / segments;
	self->end = 2 + n * (i + 1) / segments;
}

/* The array stays where it has arrived. All segments of a PE read the same one. */
void Segment_on_sieve(Segment *self, int n, const int *primes)
{
	self->primes = primes;
	self->n_primes = n;
	self->kept = CkKeepMsg();
	Segment_window(Segment_thisElement(self));
}

/* Mark the multiples of the small primes among at .. at + n - 1. */
static void mark(const Segment *self, long n, unsigned char *composite)
{
	memset(composite, 0, (size_t)n);
	for (int i = 0; i < self->n_primes; i++) {
		long p = self->primes[i], first = (self->at + p - 1) / p * p;

		if (p * p >= self->at + n)
			return;
		if (first < p * p)
			first = p * p;
		for (long j = first - self->at; j < n; j += p)
			composite[j] = 1;
	}
}

static void sieve_window(Segment *self)
{
	unsigned char composite[WINDOW];
	long n = self->end - self->at < WINDOW ? self->end - self->at : WINDOW;

	mark(self, n, composite);
	for (long j = 0; j < n; j++)
		if (!composite[j]) {
			self->count++;
			self->largest = self->at + j;
		}
	self->at += n;
}

void Segment_on_window(Segment *self)
{
	sieve_window(self);
	if (self->at < self->end) {
		Segment_window(Segment_thisElement(self));
		return;
	}
	CkFreeMsg(self->kept);
	CkContribute(self, &self->count, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
	CkContribute(self, &self->largest, 1, CkReduction_max_long, Main_cb_largest(mainProxy));
}

/* ---- the main chare ------------------------------------------------------------------ */

static void broadcast_small_primes(Main *self)
{
	long root = count_root(limit);
	int n = 0, *primes = malloc((size_t)root * sizeof *primes);

	if (!primes)
		CkAbort("primes: no memory for the primes up to %ld", root);
	for (int i = 2; i <= root; i++)
		if (count_is_prime(i))
			primes[n++] = i;
	Segment_sieve_all(self->all, n, primes);
	free(primes);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"limit", &limit, 1000000, 2, 100000000000, "the last number that is looked at"},
		{"segments", &segments, 12, 1, 1000000, "chares that share the numbers"},
	};

	if (!args_read("primes", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->started = CkWallTimer();
	self->all = Segment_ckNew(CkDims((int)segments));
	broadcast_small_primes(self);
}

/* The number of primes up to a power of ten (OEIS A006880); -1 for other limits. */
static long known_count(void)
{
	static const long known[] = {0, 4, 25, 168, 1229, 9592, 78498, 664579, 5761455, 50847534,
				     455052511, 4118054813};
	long power = 1;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++, power *= 10)
		if (limit == power)
			return known[i];
	return -1;
}

static void end(Main *self)
{
	double took = CkWallTimer() - self->started;
	long largest = limit, count = count_primes(limit);
	bool right;

	while (!count_is_prime(largest))
		largest--;
	right = self->count == count && self->largest == largest &&
		(known_count() < 0 || count == known_count());
	CkPrintf("primes: %ld up to %ld, the largest %ld, by %ld segments on %d PEs in %.1f ms: %s\n",
		 self->count, limit, self->largest, segments, CkNumPes(), took * 1e3,
		 right ? "checked" : "WRONG");
	if (!right)
		CkError("primes: there are %ld, and the largest is %ld\n", count, largest);
	CkExit(right ? 0 : 1);
}

/* The two results may come in either order. */
void Main_on_counted(Main *self, long n)
{
	self->count = n;
	if (++self->answers == 2)
		end(self);
}

void Main_on_largest(Main *self, long p)
{
	self->largest = p;
	if (++self->answers == 2)
		end(self);
}

#include "primes.def.h"
