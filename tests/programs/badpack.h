/* SPDX-License-Identifier: Apache-2.0 */
/* badpack.h: types of badpack.ci. */
#ifndef BADPACK_H
#define BADPACK_H

typedef struct Words { char s[32]; } Words;

typedef struct Bad { int n; void *p; } Bad;

typedef struct Count { int n; double *v; } Count;

#endif
