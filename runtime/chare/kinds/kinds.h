/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h: the room kinds/: targets that are no elements of arrays and groups.
 *
 * Owns     singleton chares (single.c) and where they go (seed.c), nodegroups (nodegroup.c), sections
 *          and their reductions (section.c, section_reduce.c).
 * Called   by programs; by the rooms below through struct ck_kind and callbacks (part.h).
 * Calls    all rooms below.
 */
#ifndef CK_KINDS_H
#define CK_KINDS_H

#include "../settle/settle.h"

enum { PART_SEED = 16, PART_SINGLE = 17, PART_NODEGROUP = 18, PART_SECTION = 19 };
extern const struct ck_part seed_part, single_part, nodegroup_part, section_part;

/** The scheduler's: the gate in the way of a message for the node, or NULL. On whichever PE looks. */
struct csd_gate *nodegroup_gate(struct pe *pe, const struct cmi_msg *m);

#endif
