/* SPDX-License-Identifier: Apache-2.0 */
/* status.c: reads what a job answers to `status`; see ckctl.h. */
#include "ckctl.h"

#include <stdlib.h>
#include <string.h>

const char *status_text(const char *line, const char *name, char *to, size_t cap)
{
	const size_t len = strlen(name);
	const char *end = line + strcspn(line, "\n"), *at = line;

	snprintf(to, cap, "-");
	while ((at = memchr(at, ' ', (size_t)(end - at)))) {
		at++;
		if ((size_t)(end - at) > len && !strncmp(at, name, len) && at[len] == '=') {
			snprintf(to, cap, "%.*s", (int)strcspn(at + len + 1, " \n"), at + len + 1);
			break;
		}
	}
	return to;
}

double status_number(const char *line, const char *name)
{
	char text[64], *end;
	const double x = strtod(status_text(line, name, text, sizeof(text)), &end);

	return end == text || *end ? -1 : x;
}

bool status_is(const char *line, const char *kind)
{
	const size_t n = strlen(kind);

	return !strncmp(line, kind, n) && line[n] == ' ';
}

const char *status_next(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

bool status_is_whole(const char *text)
{
	const size_t n = strlen(text);

	return n > 5 && !strcmp(text + n - 5, "\nend\n");
}
