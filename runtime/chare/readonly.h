/* SPDX-License-Identifier: Apache-2.0 */
/* readonly.h: how the layer sends and awaits the readonly variables. */
#ifndef CK_READONLY_H
#define CK_READONLY_H

#include "core/core.h"

enum { PART_READONLY = 34 };
extern const struct ck_part readonly_part;

/** On PE 0, after the main chares' constructors: send the variables to all PEs. */
void readonly_send(struct pe *pe);
/** On the other PEs: wait for the variables. */
void readonly_await(struct pe *pe);

#endif
