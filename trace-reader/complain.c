/* SPDX-License-Identifier: Apache-2.0 */
/* complain.c: what cktrace says to stderr. */
#include "model.h"

#include <stdarg.h>

#include "../runtime/machine/tools/one_line.h"

void complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	one_line_print("cktrace: ", fmt, args);
	va_end(args);
}
