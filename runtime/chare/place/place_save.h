/* SPDX-License-Identifier: Apache-2.0 */
/* place_save.h: elements in checkpoints: place_save.c writes them, place_read.c reads them. */
#ifndef CK_PLACE_SAVE_H
#define CK_PLACE_SAVE_H

#include "place_int.h"
#include "../../image/image.h"

/** Begins the record of an element. */
struct elem_image {
	uint64_t bytes;           /* of element_pack, the parts' data included */
	uint32_t calls16;         /* of what waits there, in units of 16 bytes */
	uint16_t more_bytes;      /* of the parts' data, which come first */
	uint16_t waits;           /* until a part calls its resumeFromSync */
};
_Static_assert(sizeof(struct elem_image) == 16, "what follows is aligned");

/** Begins the record of calls that wait for an element which does not exist. */
struct missing_image {
	uint32_t n;
	uint32_t unused[3];
};

/** What such a message is, in place of its handler. */
enum missing_kind { MISSING_NOTHING, MISSING_CALL, MISSING_DESTROY };
enum missing_kind missing_kind(const struct pe *pe, const struct cmi_msg *m);

/* Functions of the part's `save`. */
void place_refuse(struct pe *pe, struct csd_told *to);
void place_write(struct pe *pe, struct image_out *out);
bool place_is_mine(struct pe *pe, const struct image_name *name);
const char *place_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n);
void place_read_all(struct pe *pe);
enum { PLACE_RECORDS = 1 << IMAGE_ELEMENT | 1 << IMAGE_MISSING | 1 << IMAGE_CLOSING };

#endif
