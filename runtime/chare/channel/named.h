/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.h: the room channel/: channels between elements of arrays, which follow both ends
 * (ckchannel.h).
 *
 * Owns     the records of ends (named.c), joining and stopping them (join.c), ends that move
 *          (follow.c).
 * Called   on the element's PE, by printed code and programs, by balance/, and by place/ through
 *          the tables of the parts.
 * Calls    place/, params/, core/, and the layer of channels through node->up.ends
 *          (scheduler/ends.h).
 */
#ifndef CK_NAMED_H
#define CK_NAMED_H

#include "../place/record/place.h"

enum { PART_NAMED = 16, PART_PATTERN = 17 };
extern const struct ck_part named_part, pattern_part;
/** For the channel layer (ends.h). */
extern const struct csd_end_names named_names;

/** An element has made this many puts into another one. */
typedef void (*named_puts_fn)(struct ck_obj *from, const CkElement *to, uint64_t n, uint64_t bytes);
/** Report to fn the puts of an element of this PE since named_puts_anew was last called for it. */
void named_puts(struct pe *pe, struct ck_obj *obj, named_puts_fn fn);
void named_puts_anew(struct pe *pe, const struct ck_obj *obj);

#endif
