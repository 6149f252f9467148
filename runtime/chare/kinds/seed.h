/* SPDX-License-Identifier: Apache-2.0 */
/* seed.h: chooses the PE of a chare that is created on CK_PE_ANY. */
#ifndef CK_SEED_H
#define CK_SEED_H

#include "kinds.h"

/** Choose the PE for a chare that this PE creates. */
int seed_place(struct pe *pe);
/** Note that this PE has started a seed that PE src_pe placed here. */
void seed_started(struct pe *pe, int src_pe);

#endif
