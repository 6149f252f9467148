/* SPDX-License-Identifier: Apache-2.0 */
/* image_why.c: the line that says what is wrong. */
#include "image_why.h"

#include "../machine/tools/one_line.h"

bool image_says(struct image_why *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof why->text, fmt, args);
	va_end(args);
	one_line_mask(why->text);
	return false;
}
