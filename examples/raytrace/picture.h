/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h: a picture in a file. */
#ifndef RAYTRACE_PICTURE_H
#define RAYTRACE_PICTURE_H

#include <stdbool.h>

/** Write pixels of red, green and blue as PNG. False: it cannot be written, or the program was
 * built without libpng; `why` says so. */
bool picture_write(const char *path, int width, int height, const unsigned char *rgb,
		   const char **why);

#endif
