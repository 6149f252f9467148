/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance.h: the room balance/: lets the elements of an array come together now and then
 * (CkAtSync), and moves some of them to other PEs, so that all PEs have as much to do.
 *
 * Owns     who has called CkAtSync (at_sync.c, lb_element.c), what elements and PEs take
 *          (measure.c), the step, in which elements move (step.c), which strategy says where to
 *          (choose.c). The strategies themselves are functions of what was measured (strategies/).
 * Called   by programs on the element's PE; by layer.c and stats/ at the start. It watches elements
 *          (part.h).
 * Calls    place/, wait/, call/, params/, core/, strategies/.
 *
 * Without CK_LB the part is off: nothing is measured, no element has a record, and CkAtSync makes a
 * call.
 */
#ifndef CK_BALANCE_H
#define CK_BALANCE_H

#include "../place/record/place.h"

enum { PART_BALANCE = 26 };
extern const struct ck_part balance_part;

/** When the program's strategies are known: choose. 0. */
int balance_program(struct node *node);

#endif
