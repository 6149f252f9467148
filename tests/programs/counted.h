/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COUNTED_H
#define COUNTED_H

typedef struct Row {
	int n;
	int *v;
} Row;
typedef struct Parcel {
	int n;
	int *far;
} Parcel;

#endif
