/* SPDX-License-Identifier: Apache-2.0 */
/* What the elements of bench/channels send each other: the plan, and the receiver's figures. */
#ifndef CHARD_BENCH_CHANNELS_H
#define CHARD_BENCH_CHANNELS_H

enum { STEPS_MAX = 24 };

/** Set by the command line. */
struct plan {
	int repeats;
	int n_steps;
	int armed[STEPS_MAX]; /* channels in each step; the first is 0, then growing */
	double enough_us;     /* of repeating one measurement */
};

/** What one burst cost its receiver: nanoseconds per pass or per call, 0 where not measured. */
struct receipt {
	double armed_pass, marked_pass;
	double ready, mark, poll;
};

#endif
