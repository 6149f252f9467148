/* SPDX-License-Identifier: Apache-2.0 */
/* named_main.h: what the main chares of named and of named_sets share: the arguments, and the
 * rounds. For use after the program's X.decl.h, whose readonlies it sets. */
#ifndef NAMED_MAIN_H
#define NAMED_MAIN_H

#include "check.h"

/* `program [seed [steps [percent of moves [words of a put [cells]]]]]` */
static inline void begin_cells(const char *program, const CkArgMsg *m)
{
	seed = check_run_seed(m);
	steps = check_argument(m, 2, 60);
	percent = check_argument(m, 3, 30);
	words = check_argument(m, 4, 9);
	n_cells = check_argument(m, 5, 7);
	CkPrintf("%s: seed %llu, %d steps\n", program, (unsigned long long)seed, steps);
	cells = Cell_ckNew(CkDims1(n_cells));
	Cell_begin_all(cells, 0);
}

/* `rounds` of them are over. Begins the next one; false: that was the last. */
static inline bool begin_next_round(int rounds, int all)
{
	if (rounds < all)
		Cell_begin_all(cells, rounds);
	return rounds < all;
}

#endif
