/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance.h: what --lb needs. balance.c has it; balance_none.c takes its place where the library
 * has been built without the room balance.
 */
#ifndef MATMUL_BALANCE_H
#define MATMUL_BALANCE_H

#include "cube.h"

extern const bool has_balance;

/** The chare may move now. Its resumeFromSync is called when all of them may, and those that had to
 * move have moved. */
void balance_sync(Cube *m);

#endif
