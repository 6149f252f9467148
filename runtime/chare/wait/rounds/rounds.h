/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.h: the room wait/rounds/: [count] entry methods, whose handler runs once for several
 * calls.
 *
 * Owns     what a round does: it begins with its first call, and its handler runs when the last one
 *          has come (rounds.c). The rounds themselves hang on the record of their element, as other
 *          calls that wait do (wait/round.c), and move with it (wait/along/).
 * Called   by call/, through the attribute, on the element's PE.
 * Calls    wait/, call/, params/, core/.
 */
#ifndef CK_ROUNDS_H
#define CK_ROUNDS_H

#include "../wait.h"

enum { PART_ROUNDS = 30 };
extern const struct ck_part rounds_part;

#endif
