/* SPDX-License-Identifier: Apache-2.0 */
/* direct_inside.h: ends of channels that depend on a piece of memory, for objects that want to
 * move. */
#ifndef DIRECT_INSIDE_H
#define DIRECT_INSIDE_H

#include "core/direct_state.h"

/** How many ends of channels of this PE depend on these pieces of memory, which are in order and do
 * not overlap: the receive buffer, the send buffer, the function's argument, or a handle lies
 * there. `name` gets the name of the first. No pieces: how many ends there are. */
size_t direct_inside(struct pe *pe, const struct csd_piece *pieces, size_t n, char *name,
		     size_t len);
/** csd_layer.refuse: ends of this PE that no element takes along. */
void direct_refuse(struct pe *pe, struct csd_told *to);

#endif
