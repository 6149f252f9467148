/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed: a program with a main() of its own, which has a phase of chares in its middle, twice.
 *
 *	./embed [+p PEs]              one process
 *	ckrun -n 2 ./embed            one run only: a launcher serves one
 *
 * mpi/, cpp/ and python/ have the same for other host programs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ck.h"
#include "embed.h"

enum { LAST = 60000 };

/* Count the primes up to LAST, each process a part of them; whether the sum is right. */
static bool count_once(int rank, int size)
{
	const long first = (long)LAST * rank / size, last = (long)LAST * (rank + 1) / size;

	embed_ask(first, last);
	/* The program may do things of its own meanwhile ... */
	for (int i = 0; i < 10; i++)
		if (CkProgress(1) < 0)
			return false;
	/* ... or wait. */
	return CkRunUntil(&embed_done) && embed_answer == embed_count(0, LAST);
}

int main(int argc, char **argv)
{
	/* ckrun says so; a program with another launcher asks that (mpi/). */
	const char *rank = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
	const int r = rank ? atoi(rank) : 0, n = size ? atoi(size) : 1, n_runs = n == 1 ? 2 : 1;
	CkBoot boot = { .pes = 0 };

	for (int run = 0; run < n_runs; run++) {
		if (CkInit(&argc, &argv, &ck_module_embed, &boot))
			return 1;
		boot.pes = CkMyNodeSize(); /* the first run takes +p out of argv */
		const bool right = count_once(r, n);

		if (CkFinalize() || !right)
			return 1;
		if (r == 0)
			printf("run %d: %ld primes below %d\n", run, embed_answer, LAST);
	}
	if (r == 0)
		printf("embed: %d runs: checked\n", n_runs);
	return 0;
}
