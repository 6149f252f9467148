/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c: by libpng's simple interface. */
#include "picture.h"

#include <png.h>
#include <string.h>

bool picture_write(const char *path, int width, int height, const unsigned char *rgb,
		   const char **why)
{
	static png_image image;

	memset(&image, 0, sizeof image);
	image.version = PNG_IMAGE_VERSION;
	image.width = (png_uint_32)width;
	image.height = (png_uint_32)height;
	image.format = PNG_FORMAT_RGB;
	*why = image.message;
	return png_image_write_to_file(&image, path, 0, rgb, 0, NULL);
}
