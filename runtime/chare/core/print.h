/* SPDX-License-Identifier: Apache-2.0 */
/* print.h: ends CkPrintf and CkError for the layer. */
#ifndef CK_PRINT_H
#define CK_PRINT_H

#include "objects/part.h"

enum { PART_PRINT = 1 };
extern const struct ck_part print_part;

/** Write out the PE's incomplete lines. */
void print_flush(struct pe *pe);

#endif
