/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: what ckpt prints, in pieces. */
#include "ckpt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../runtime/machine/tools/one_line.h"

void complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	one_line_print("ckpt: ", fmt, args);
	va_end(args);
}

void *need(void *p)
{
	if (p)
		return p;
	complain("no memory");
	exit(2);
}

char *bytes_text(char to[CKPT_BYTES_TEXT], uint64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double n = (double)bytes / 1000;
	size_t unit = 0;

	for (; n >= 999.5 && unit < 5; unit++)
		n /= 1000;
	if (bytes < 1000)
		snprintf(to, CKPT_BYTES_TEXT, "%d B", (int)bytes);
	else
		snprintf(to, CKPT_BYTES_TEXT, "%.*f %s", n < 9.95, n, units[unit]);
	return to;
}

char *time_text(char to[CKPT_TIME_TEXT], uint64_t seconds)
{
	const time_t t = (time_t)seconds;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(to, CKPT_TIME_TEXT, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(to, CKPT_TIME_TEXT, "?");
	return to;
}
