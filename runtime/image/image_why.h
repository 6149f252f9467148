/* SPDX-License-Identifier: Apache-2.0 */
/* image_why.h: why something about an image went wrong, as one line. It says what and where, and
 * whoever finds it first says it. */
#ifndef IMAGE_WHY_H
#define IMAGE_WHY_H

#include <stdbool.h>

enum { IMAGE_WHY = 700 };

struct image_why {
	char text[IMAGE_WHY];        /* "": nothing */
};

/** As printf. Control characters become ?. Returns false, for `return image_says(...)`. */
__attribute__((format(printf, 2, 3)))
bool image_says(struct image_why *why, const char *fmt, ...);

#endif
