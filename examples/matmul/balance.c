/* SPDX-License-Identifier: Apache-2.0 */
/* balance.c: chares that CK_LB may move. */
#include "balance.h"

const bool has_balance = true;

void balance_sync(Cube *m) { CkAtSync(m); }
