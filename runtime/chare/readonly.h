/* SPDX-License-Identifier: Apache-2.0 */
/* readonly.h: readonly variables, as the layer starts and ends them. */
#ifndef CK_READONLY_H
#define CK_READONLY_H

#include "core/core.h"

enum { PART_READONLY = 31 };
extern const struct ck_part readonly_part;

/** PE 0: the main chares' constructors have run. */
void readonly_send(struct pe *pe);
/** The other PEs: until the variables are here. */
void readonly_await(struct pe *pe);

#endif
