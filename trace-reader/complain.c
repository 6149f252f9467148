/* SPDX-License-Identifier: Apache-2.0 */
/* complain.c: what cktrace says to stderr. */
#include "model.h"

#include <stdarg.h>
#include <stdlib.h>

#include "../runtime/machine/tools/one_line.h"

void complain(const char *fmt, ...)
{
	char *line;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) >= 0) {
		one_line(line);
		fprintf(stderr, "cktrace: %s\n", line);
		free(line);
	}
	va_end(args);
}
