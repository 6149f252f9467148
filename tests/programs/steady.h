/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STEADY_H
#define STEADY_H

#include <string.h>

#include "ck.h"

typedef struct Text { char *s; } Text;

static inline void Text_pup(pup_er p, Text *t)
{
	size_t len = pup_isUnpacking(p) ? 0 : strlen(t->s) + 1;

	pup_size_t(p, &len);
	t->s = pup_alloc(p, t->s, len);
	pup_chars(p, t->s, len);
}

#endif
