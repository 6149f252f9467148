/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_plain.h: numbers as C writes them, 0.5, where the program has chosen a locale that writes
 * 0,5. For what is read from the environment and from files, and for all lines of the runtime's
 * own. What a program prints with CkPrintf is in its locale.
 */
#ifndef CMI_PLAIN_H
#define CMI_PLAIN_H

#include <locale.h>
#include <stddef.h>

/** From here to cmi_plain_end this thread reads and writes plainly. Allocates nothing. */
locale_t cmi_plain_begin(void);
void cmi_plain_end(locale_t before);

/** As strtod. */
double cmi_plain_double(const char *text, char **end_p);
/** As snprintf. */
int cmi_plain_print(char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
