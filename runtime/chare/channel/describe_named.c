/* SPDX-License-Identifier: Apache-2.0 */
/* describe_named.c: what the named channels of a PE wait for, for the watchdog. */
#include "named_int.h"

#include <stdio.h>

/* NULL: it waits for nothing but puts and readies, of which the layer of channels tells. */
static const char *waits_for(struct pe *pe, const CkChannel *c)
{
	if (!c->sends)
		return c->serial ? NULL : "its sending end has not been made";
	return layer_ends(pe)->holds(pe, c->end) ? "a put waits until the receiving end is joined" : NULL;
}

static void describe_ends(struct pe *pe, const struct ends *o, csd_line_fn line, void *arg)
{
	char name[END_NAME_MAX];

	for (const CkChannel *c = o->first; c; c = c->next) {
		const char *why = c->live ? waits_for(pe, c) : NULL;

		if (why)
			say_line(line, arg, "%s, %s end: %s", end_describe(pe, c, name, sizeof name),
				 c->sends ? "sending" : "receiving", why);
	}
}

void named_describe(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct named_pe *n = ck_state(pe, PART_NAMED);
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&n->ends, &i)); i++)
		describe_ends(pe, (const struct ends *)s->value, line, arg);
}
