/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_plain.h: numbers in C's notation, 0.5, even if the program has chosen a locale that writes
 * 0,5. For input from the environment and files, and for all lines of the runtime. CkPrintf uses
 * the program's locale.
 */
#ifndef CMI_PLAIN_H
#define CMI_PLAIN_H

#include <locale.h>
#include <stddef.h>

/** From here to cmi_plain_end this thread uses C's notation. Allocates nothing. */
locale_t cmi_plain_begin(void);
void cmi_plain_end(locale_t before);

/** As strtod. */
double cmi_plain_double(const char *text, char **end_p);
/** As snprintf. */
int cmi_plain_print(char *buf, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
