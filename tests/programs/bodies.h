/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BODIES_H
#define BODIES_H

typedef struct Row { int n, *v; } Row;

#endif
