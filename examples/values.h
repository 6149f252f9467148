/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h: the values of options, for programs whose command line is too rich for args.h and that
 * use getopt_long. Each function returns -1 to go on, or the exit code of the program when the
 * value is wrong; then it has printed one line that says what was expected.
 */
#ifndef EXAMPLES_VALUES_H
#define EXAMPLES_VALUES_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ck.h"

static inline int values_complain(const char *program, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static inline int values_complain(const char *program, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	CkError("%s: %s\n", program, text);
	return 1;
}

/** A number at *s, which is moved behind it. */
static inline bool values_take_number(const char **s, int min, int max, int *value_p)
{
	char *end;
	long v;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	v = strtol(*s, &end, 10);
	if (errno || v < min || v > max)
		return false;
	*s = end;
	*value_p = (int)v;
	return true;
}

/** `s` is the value of --name: a number. */
static inline int values_number(const char *program, const char *name, const char *s, int min,
				int max, int *value_p)
{
	const char *p = s;

	if (values_take_number(&p, min, max, value_p) && !*p)
		return -1;
	return values_complain(program, "--%s wants a number from %d to %d, not '%s'", name, min, max,
			       s);
}

/** One of the two or three words in `words`, which NULL ends; *which_p is its place there. */
static inline int values_word(const char *program, const char *name, const char *s,
			      const char *const *words, int *which_p)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(s, words[i])) {
			*which_p = i;
			return -1;
		}
	return words[2] ? values_complain(program, "--%s wants %s, %s or %s, not '%s'", name,
					  words[0], words[1], words[2], s)
			: values_complain(program, "--%s wants %s or %s, not '%s'", name, words[0],
					  words[1], s);
}

#endif
