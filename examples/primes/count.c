/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c: Legendre's way to count primes. Strike out all multiples of the primes up to p, but not
 * these primes themselves; S(v, p) is how many numbers in 2 .. v are left. Then
 *
 *	S(v, p) = S(v, p - 1) - (S(v / p, p - 1) - S(p - 1, p - 1))	for prime p with p^2 <= v
 *
 * and S(n, root of n) is the count. Only the values v = n / i are ever needed. There are about
 * 2 root(n) of them, and each is replaced in place, the largest first.
 */
#include "count.h"

#include <stdlib.h>

#include "ck.h"

long count_root(long n)
{
	long low = 0, high = 3037000499;        /* the root of the largest long */

	while (low < high) {
		long middle = (low + high + 1) / 2;

		if (middle * middle <= n)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool count_is_prime(long n)
{
	if (n < 2)
		return false;
	for (long d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return true;
}

/* small[v] = S(v, p) and large[i] = S(n / i, p), for v and i up to the root. */
static void strike_out(long n, long root, long p, long *small, long *large)
{
	long below = small[p - 1];

	for (long i = 1; i <= root && p * p <= n / i; i++)
		large[i] -= (i * p <= root ? large[i * p] : small[n / (i * p)]) - below;
	for (long v = root; v >= p * p; v--)
		small[v] -= small[v / p] - below;
}

long count_primes(long n)
{
	long root = count_root(n), count;
	long *small = malloc(2 * (size_t)(root + 1) * sizeof *small), *large = small + root + 1;

	if (!small)
		CkAbort("primes: no memory to count up to %ld", n);
	small[0] = 0;
	for (long i = 1; i <= root; i++) {
		small[i] = i - 1;
		large[i] = n / i - 1;
	}
	for (long p = 2; p <= root; p++)
		if (small[p] != small[p - 1])
			strike_out(n, root, p, small, large);
	count = large[1];
	free(small);
	return count;
}
