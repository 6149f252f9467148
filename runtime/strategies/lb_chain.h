/* SPDX-License-Identifier: Apache-2.0 */
/* lb_chain.h: cuts.c for other strategies. */
#ifndef CK_LB_CHAIN_H
#define CK_LB_CHAIN_H

#include "../chare/cklb.h"

/** Cut a row of elements into one run per PE, in the order of PEs. order[k] is the k-th element of
 * the row; NULL: index order. */
void lb_chain(const CkLBStats *s, const uint32_t *order, int32_t *to);

#endif
