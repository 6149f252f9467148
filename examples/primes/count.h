/* SPDX-License-Identifier: Apache-2.0 */
/* count.h: primes without a sieve, to check it with. */
#ifndef PRIMES_COUNT_H
#define PRIMES_COUNT_H

#include <stdbool.h>

/** The largest r with r * r <= n. */
long count_root(long n);
/** By trial division. */
bool count_is_prime(long n);
/** How many primes there are up to n, in about n^(3/4) steps. */
long count_primes(long n);

#endif
