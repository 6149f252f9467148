/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MISUSE_H
#define MISUSE_H

#include "ck.h"

/* Its pup function does as `how` says. */
enum { SHIFTY_FAIR, SHIFTY_READS_MORE, SHIFTY_PACKS_MORE };
typedef struct Shifty { int how, pad[20]; } Shifty;

static inline void Shifty_pup(pup_er p, Shifty *x)
{
	pup_int(p, &x->how);
	if ((x->how == SHIFTY_READS_MORE && pup_isUnpacking(p)) ||
	    (x->how == SHIFTY_PACKS_MORE && pup_isPacking(p)))
		pup_ints(p, x->pad, x->how == SHIFTY_READS_MORE ? 20 : 1);
}

#endif
