/* SPDX-License-Identifier: Apache-2.0 */
/* unset.c: see unset.h. */
#include "unset.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

static bool is_unset(const CkGenReadonly *r, const char *type)
{
	const char *bytes = r->addr;

	if (strncmp(r->name, type, strlen(type)) != 0)
		return false;
	for (size_t i = 0; i < r->bytes; i++)
		if (bytes[i])
			return false;
	return true;
}

static size_t append(char *names, size_t used, size_t room, const char *name)
{
	const int n = snprintf(names + used, room - used, "%s%s", used ? ", " : "", name);

	return used + (size_t)n < room ? used + (size_t)n : room - 1;
}

static size_t unset_names(const struct ck_node *ck, const char *type, char *names, size_t room)
{
	size_t used = 0;

	for (int m = 0; m < ck->n_modules; m++)
		for (int i = 0; i < ck->modules[m]->n_readonlies; i++)
			if (is_unset(&ck->modules[m]->readonlies[i], type))
				used = append(names, used, room, ck->modules[m]->readonlies[i].name);
	return used;
}

void unset_abort(struct pe *pe, const char *type, const char *why)
{
	char names[256];

	if (unset_names(ck_node_of(pe->node), type, names, sizeof names))
		csd_abort(pe, "%s; not set: readonly %s", why, names);
	csd_abort(pe, "%s", why);
}
