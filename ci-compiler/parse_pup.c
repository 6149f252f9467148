/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_pup.c: the grammar rules for what a function of the program packs.
 *
 *   pup      := 'pup' packed { ',' packed } ';'
 *   packed   := [ 'struct' | 'union' ] name [ '[' 'on_arrived' ']' ]
 */
#include "parse_int.h"

#include <string.h>

/* `pup X, X;` is harmless, as long as only one of them says more than the name. */
static struct ci_pup *pup_add(struct parser *p, const struct ci_tok *tok)
{
	struct ci_pup **link = &p->module->pups;

	while (*link != NULL && strcmp((*link)->name, tok->s) != 0)
		link = &(*link)->next;
	if (*link == NULL) {
		*link = ci_alloc(p->ci, sizeof **link);
		(*link)->tok = tok;
		(*link)->name = tok->s;
	}
	return *link;
}

static bool attribute(struct parser *p, struct ci_pup *x)
{
	if (!p_accept(p, "["))
		return true;
	x->on_arrived = p->t;
	if (!p_accept(p, "on_arrived"))
		return p_unexpected(p, "'on_arrived'", ci_fmt(p->ci, "pup %s [on_arrived]; has "
				    "%s_on_arrived called where an element has come to", x->name, x->name));
	return p_expect(p, "]");
}

static bool packed(struct parser *p)
{
	const char *tag = p_is(p, "struct") ? "struct " : p_is(p, "union") ? "union " : "";
	const struct ci_tok *name;
	struct ci_pup *x;

	p->t += *tag != '\0';
	if (p_is_basic_type(p) || p_is(p, "enum")) {
		ci_error(p->ci, p->t->at, "take it out",
			 "'%s' needs no packing: it is copied as it is", p->t->s);
		return false;
	}
	name = p_new_name(p, "type");
	if (name == NULL)
		return false;
	x = pup_add(p, name);
	x->text = ci_fmt(p->ci, "%s%s", tag, name->s);
	return attribute(p, x);
}

bool p_pup(struct parser *p)
{
	do {
		if (!packed(p))
			return false;
	} while (p_accept(p, ","));
	return p_expect(p, ";");
}
