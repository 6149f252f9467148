/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.h: the room channel/: channels between elements of arrays, which follow both ends (ckchannel.h).
 *
 * Owns     the records of ends (named.c), joining and stopping them (join.c), ends that move (follow.c).
 * Called   on the element's PE, by printed code and programs, and by place/ through the tables of the parts.
 * Calls    place/, params/, core/, and the layer of channels through node->up.ends (scheduler/ends.h).
 */
#ifndef CK_NAMED_H
#define CK_NAMED_H

#include "../place/place.h"

enum { PART_NAMED = 15, PART_PATTERN = 16 };
extern const struct ck_part named_part, pattern_part;

#endif
