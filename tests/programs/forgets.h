/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORGETS_H
#define FORGETS_H

/* The word of the command line. */
typedef struct Words { char s[32]; } Words;

#endif
