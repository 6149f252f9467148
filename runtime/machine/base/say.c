/* SPDX-License-Identifier: Apache-2.0 */
/* say.c: see say.h. */
#include "say.h"
#include "../tools/cmi_plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void machine_say(const char *format, ...)
{
	char line[512] = "chard: ";
	size_t used = strlen(line), left = sizeof line - used - 1;
	va_list ap;
	int n;

	locale_t before = cmi_plain_begin();

	va_start(ap, format);
	n = vsnprintf(line + used, left, format, ap);
	va_end(ap);
	cmi_plain_end(before);
	used += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* stderr is closed, and there is nothing else to print to */
}
