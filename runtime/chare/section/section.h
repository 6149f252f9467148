/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section.h: the room section/: sections of arrays and groups.
 *
 * Owns     the members of a section and its tree (section_make.c), multicasts (section.c),
 *          reductions over the members (section_reduce.c), which multicasts inserted elements get
 *          (section_newborn.c).
 * Called   by programs; by the rooms below through callbacks and the functions of part.h.
 * Calls    reduce/, place/, call/, core/.
 */
#ifndef CK_SECTION_H
#define CK_SECTION_H

#include "../reduce/reduce.h"

enum { PART_SECTION = 21 };
extern const struct ck_part section_part;

#endif
