/* SPDX-License-Identifier: Apache-2.0 */
/* guide2.h: what guide2.ci includes. */
#ifndef GUIDE2_H
#define GUIDE2_H

typedef struct vec { int n; double *v; } vec;

#endif
