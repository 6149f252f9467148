/* SPDX-License-Identifier: Apache-2.0 */
/* one_line.h: what a user or a file said, in a line of ours; for the runtime and the tools. */
#ifndef ONE_LINE_H
#define ONE_LINE_H

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ONE_LINE_MOST = 600 }; /* bytes of such a text that are shown */

/** In place: ? for each control character. The text must neither look like another line nor control
 * a terminal. */
static inline void one_line_mask(char *text)
{
	for (char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
}

/** The same; and a text longer than ONE_LINE_MOST loses its middle. */
static inline void one_line(char *text)
{
	const size_t most = ONE_LINE_MOST, half = most / 2, n = strlen(text);

	one_line_mask(text);
	if (n <= most)
		return;
	memcpy(text + half, " ... ", 5);
	memmove(text + half + 5, text + n - half, half + 1);
}

/** To stderr: `who`, and such a line. Of the tools. */
static inline void one_line_print(const char *who, const char *fmt, va_list args)
{
	char *line;

	if (vasprintf(&line, fmt, args) < 0)
		return;
	one_line(line);
	fprintf(stderr, "%s%s\n", who, line);
	free(line);
}
#endif
