/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c: what a layer answers to an order from outside (steer/). */
#include "base.h"
#include "../pe.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void csd_answer(struct pe *pe, uint64_t id, bool ok, const char *fmt, ...)
{
	char *text;
	va_list args;

	if (!pe->node->answer)
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		cmi_no_memory(1, "an answer");
	va_end(args);
	pe->node->answer(pe->node, id, ok, text);
	free(text);
}
