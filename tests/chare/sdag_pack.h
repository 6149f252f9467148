/* SPDX-License-Identifier: Apache-2.0 */
/* A parameter that a function packs, and a message that the program packs. */
#ifndef SDAG_PACK_H
#define SDAG_PACK_H

typedef struct Row { int n, *v; } Row;
typedef struct Own { int *far; } Own;

#endif
