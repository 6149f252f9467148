/* SPDX-License-Identifier: Apache-2.0 */
/* print.h: CkPrintf and CkError, as the layer ends them. */
#ifndef CK_PRINT_H
#define CK_PRINT_H

#include "part.h"

enum { PART_PRINT = 1 };
extern const struct ck_part print_part;

/** Write lines that are not complete. */
void print_flush(struct pe *pe);

#endif
