/* SPDX-License-Identifier: Apache-2.0 */
/* balance_none.c: nothing is balanced. options.c refuses --lb, so no chare syncs. */
#include "balance.h"

const bool has_balance = false;

void balance_sync(Block *b) { (void)b; }
