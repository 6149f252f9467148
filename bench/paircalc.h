/* SPDX-License-Identifier: Apache-2.0 */
/* What bench/paircalc is asked for. */
#ifndef CHARD_BENCH_PAIRCALC_H
#define CHARD_BENCH_PAIRCALC_H

/** Set by the command line; the same everywhere. */
struct shape {
	int states, planes, points;
	int block;       /* states that one PairCalculator takes from each side */
	int hops;        /* rounds of the other phase; 0: it is left out */
	int iterations, repeats;
};

#endif
