/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_plain.c: see cmi_plain.h. */
#include "cmi_plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* In libc "C" for all categories is a static object, which needs no memory and is never freed. */
locale_t cmi_plain_begin(void)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	return c ? uselocale(c) : (locale_t)0;
}

void cmi_plain_end(locale_t before)
{
	if (before)
		freelocale(uselocale(before));
}

double cmi_plain_double(const char *text, char **end_p)
{
	locale_t before = cmi_plain_begin();
	double x = strtod(text, end_p);

	cmi_plain_end(before);
	return x;
}

int cmi_plain_print(char *buf, size_t len, const char *fmt, ...)
{
	locale_t before = cmi_plain_begin();
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(buf, len, fmt, ap);

	va_end(ap);
	cmi_plain_end(before);
	return n;
}
