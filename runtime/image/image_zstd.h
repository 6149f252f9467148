/* SPDX-License-Identifier: Apache-2.0 */
/* image_zstd.h: blocks compressed by libzstd, which is loaded when one is met: nothing is linked
 * with it, and building needs none of its headers. */
#ifndef IMAGE_ZSTD_H
#define IMAGE_ZSTD_H

#include <stdbool.h>
#include <stddef.h>

#include "image_why.h"

/** Whether there is a libzstd. */
bool image_zstd_is_there(struct image_why *why);

/** The room that packing needs at most. */
size_t image_zstd_most(size_t bytes);

/** Returns the packed size; 0 if it would not be smaller. */
size_t image_zstd_pack(void *to, size_t room, const void *from, size_t bytes);

/** Into exactly `bytes` bytes. */
bool image_zstd_unpack(void *to, size_t bytes, const void *from, size_t packed,
		       struct image_why *why);

#endif
