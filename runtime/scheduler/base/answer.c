/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c: orders from outside (steer/): what a layer answers, and variables that it sets. */
#include "base.h"
#include "../pe.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool csd_obey_set(struct pe *pe, const struct csd_order *o, const struct csd_setting *settings,
		  const char *from)
{
	const char *why;

	if (strcmp(o->word, "set"))
		return false;
	while (settings->name && strncmp(o->arguments, settings->name, strlen(settings->name)))
		settings++;
	if (!settings->name)
		return false;
	why = settings->set(pe, o->arguments + strlen(settings->name));
	if (why)
		csd_answer(pe, o->id, false, "%s: %s", o->arguments, why);
	else
		csd_answer(pe, o->id, true, "%s from the next %s on", o->arguments, from);
	return true;
}
