/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_pup.c: checks what functions of the program pack: its own plain types, and the elements of arrays.
 */
#include "check_int.h"

#include <string.h>

static const struct ci_chare *chare_of(const struct ci_module *m, const char *name)
{
	for (const struct ci_chare *x = m->chares; x != NULL; x = x->next) {
		if (strcmp(x->name, name) == 0)
			return x;
	}
	return NULL;
}

void check_link_pups(struct checker *c)
{
	for (struct ci_module *m = c->modules; m != NULL; m = m->next) {
		for (struct ci_pup *x = m->pups; x != NULL; x = x->next)
			x->chare = chare_of(m, x->name);
	}
}

/* Only elements of arrays change their PE. */
static void check_chare_pup(struct checker *c, const struct ci_pup *x)
{
	static const char *const kinds[] = {"main chare", "array", "group", "chare", "nodegroup"};

	if (x->chare->kind != CI_ARRAY)
		ci_error(c->ci, x->tok->at, "take it out: only elements of arrays move",
			 "%s '%s' is not packed: it stays where it was created",
			 kinds[x->chare->kind], x->name);
}

/* The name of a chare that another module declares is reported, and true returned. */
static bool is_elsewhere(struct checker *c, const struct ci_pup *x)
{
	const char *home = NULL;

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		if (chare_of(m, x->name) != NULL)
			home = m->name;
	}
	if (home == NULL && !check_is_elsewhere(c, x->name))
		return false;
	ci_error(c->ci, x->tok->at,
		 ci_fmt(c->ci, "write 'pup %s;' in %s", x->name, home == NULL ?
			"the module that declares it" : ci_fmt(c->ci, "module '%s'", home)),
		 "another module declares '%s', and only that one can have it packed", x->name);
	return true;
}

static void check_type_pup(struct checker *c, const struct ci_pup *x)
{
	if (is_elsewhere(c, x))
		return;
	if (check_find_message(c, x->name) != NULL)
		ci_error(c->ci, x->tok->at,
			 ci_fmt(c->ci, "write 'message [packed] %s;', %s_pack and %s_unpack", x->name,
				x->name, x->name),
			 "message '%s' has packing functions of its own", x->name);
	else if (strncmp(x->name, "Ck", 2) == 0 || strncmp(x->name, "CProxy", 6) == 0)
		ci_error(c->ci, x->tok->at, "take it out", "'%s' is copied as it is", x->name);
	else if (x->on_arrived != NULL)
		ci_error(c->ci, x->on_arrived->at, "take it out; unpacking can derive the rest",
			 "only elements of arrays arrive, and '%s' is a type", x->name);
}

void check_pup(struct checker *c, const struct ci_pup *x)
{
	check_not_self(c, x->tok);
	if (x->chare != NULL)
		check_chare_pup(c, x);
	else
		check_type_pup(c, x);
}
