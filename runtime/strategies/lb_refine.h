/* SPDX-License-Identifier: Apache-2.0 */
/* lb_refine.h: refine.c for other strategies. */
#ifndef CK_LB_REFINE_H
#define CK_LB_REFINE_H

#include "loads/lb_loads.h"

/** Move as few elements as possible, from where `to` has them, until no PE has more than l->limit
 * or nothing helps. `l` has the loads of `to`, before and after. */
void lb_refine_loads(const CkLBStats *s, struct lb_loads *l, int32_t *to);

#endif
