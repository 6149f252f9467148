/* SPDX-License-Identifier: Apache-2.0 */
/* say.h: lines from the machine layer to the user. */
#ifndef SAY_H
#define SAY_H

/** printf of one line to stderr, with "chard: " before it and a newline behind it. It is one write,
 * so lines of several nodes do not mix. */
void machine_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
