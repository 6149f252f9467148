/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGGREGATE_H
#define AGGREGATE_H

/* Aligned to 16, of a size that is no multiple of 8 but for that. */
struct heavy {
	long double x;
	int seq;
};

/* Longer than any batch. */
struct bulk {
	int seq;
	char fill[70000];
};

#endif
