/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved.h: the room kinds/saved/: main chares, singleton chares, groups and nodegroups in
 * checkpoints.
 *
 * Owns     nothing: it walks through the objects of all kinds (core/objects/saving.h).
 * Called   by save/, through the part's table.
 * Calls    params/element/ and wait/along/, which make bytes of objects and of what waits at them;
 *          the kinds, through their tables.
 */
#ifndef CK_SAVED_H
#define CK_SAVED_H

#include "../kinds.h"

enum { PART_SAVED = 31 };
extern const struct ck_part saved_part;

#endif
