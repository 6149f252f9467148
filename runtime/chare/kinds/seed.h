/* SPDX-License-Identifier: Apache-2.0 */
/* seed.h: where a chare goes that is created on CK_PE_ANY. */
#ifndef CK_SEED_H
#define CK_SEED_H

#include "kinds.h"

/** The PE for a chare that this PE creates. */
int seed_place(struct pe *pe);
/** A seed that PE src_pe placed here has been started. */
void seed_started(struct pe *pe, int src_pe);

#endif
