/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance.h: what --lb needs. balance.c has it; balance_none.c takes its place where the library
 * has been built without the room balance.
 */
#ifndef STENCIL_BALANCE_H
#define STENCIL_BALANCE_H

#include "block.h"

extern const bool has_balance;

/** The chare may move now. Its resumeFromSync is called when all of them may, and those that had to
 * move have moved. */
void balance_sync(Block *b);

#endif
