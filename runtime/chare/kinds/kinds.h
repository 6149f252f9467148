/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h: the room kinds/: targets of calls other than arrays, groups and their elements.
 *
 * Owns     singleton chares (single.c) and the choice of their PEs (seed.c); a room of its own has
 *          nodegroups (nodegroup/).
 * Called   by programs; by the rooms below through struct ck_kind and callbacks (part.h).
 * Calls    all rooms below.
 */
#ifndef CK_KINDS_H
#define CK_KINDS_H

#include "../settle/settle.h"

enum { PART_SEED = 18, PART_SINGLE = 19, PART_NODEGROUP = 20 };
extern const struct ck_part seed_part, single_part, nodegroup_part;

/** For the scheduler: the gate that holds back a message of the node's queue, or NULL. Any PE of
 * the node may call it. */
struct csd_gate *nodegroup_gate(struct pe *pe, const struct cmi_msg *m);

#endif
