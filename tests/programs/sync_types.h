/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYNC_TYPES_H
#define SYNC_TYPES_H

typedef struct Big {
	double v[40];
	char text[16];
	int n;
} Big;

#endif
