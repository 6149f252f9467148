/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MIGRATE_COUNTED_H
#define MIGRATE_COUNTED_H

typedef struct Row {
	int n;
	int *v;
} Row;

enum { ELEMENTS = 5 };

#endif
