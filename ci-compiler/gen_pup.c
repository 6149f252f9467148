/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_pup.c: prints what belongs to `pup X;`: the declarations of X_pup and X_on_arrived, which the program
 * writes, and the functions by which the runtime calls them.
 *
 * X_on_arrived is called only if the .ci file says so. A weak symbol would need no word there, but a weak
 * reference takes no member out of a static library, so a function there would never be called, silently.
 * Without the word, X_on_arrived is declared as something else, so that a program that writes the function
 * all the same does not compile.
 */
#include "gen.h"
#include "gen_int.h"

#include <string.h>

/* ---- declarations ----------------------------------------------------------------------------- */

static bool has_entry(const struct ci_chare *c, const char *name)
{
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next) {
		if (strcmp(e->name, name) == 0)
			return true;
	}
	return false;
}

static void arrived_declaration(struct ci_out *o, const struct ci_pup *x)
{
	if (x->on_arrived != NULL) {
		ci_put_line(o, x->on_arrived);
		ci_put(o, "void %s_on_arrived(%s *self);\n", x->name, x->name);
	} else if (!has_entry(x->chare, "arrived")) {
		ci_put_line(o, x->tok);
		ci_put(o, "extern struct ck_no_%s_on_arrived %s_on_arrived;\n", x->name, x->name);
	}
}

void gen_pup_declarations(struct ci_out *o, const struct ci_module *m)
{
	if (m->pups == NULL)
		return;
	ci_put(o, "/* you write: what sizes, packs, unpacks and frees (pup_er in ck.h) */\n");
	for (const struct ci_pup *x = m->pups; x != NULL; x = x->next) {
		ci_put_line(o, x->tok);
		ci_put(o, "void %s_pup(pup_er p, %s *%s);\n", x->name, x->text, x->chare != NULL ?
		       "self" : "x");
		if (x->chare != NULL)
			arrived_declaration(o, x);
	}
	ci_put_line_back(o);
	ci_put(o, "\n");
}

/* ---- definitions ------------------------------------------------------------------------------- */

/* Inline, since it may be unused. */
void gen_pups(struct ci_out *o, const struct ci_module *m)
{
	for (const struct ci_pup *x = m->pups; x != NULL; x = x->next) {
		ci_put(o, "static inline void ck_pup_%s_%s(pup_er ck_p, void *ck_x)\n{\n"
		       "\t%s_pup(ck_p, (%s *)ck_x);\n}\n\n", m->name, x->name, x->name, x->text);
		if (x->on_arrived != NULL)
			ci_put(o, "static void ck_arrived_%s(void *ck_x)\n{\n\t%s_on_arrived((%s *)ck_x);"
			       "\n}\n\n", x->name, x->name, x->name);
	}
}

static const struct ci_pup *pup_of(const struct ci_chare *c)
{
	const struct ci_pup *x = c->module->pups;

	while (x != NULL && x->chare != c)
		x = x->next;
	return x;
}

const char *gen_chare_pup(struct ci *ci, const struct ci_chare *c)
{
	return pup_of(c) == NULL ? "NULL" : ci_fmt(ci, "ck_pup_%s_%s", c->module->name, c->name);
}

const char *gen_chare_arrived(struct ci *ci, const struct ci_chare *c)
{
	const struct ci_pup *x = pup_of(c);

	return x == NULL || x->on_arrived == NULL ? "NULL" : ci_fmt(ci, "ck_arrived_%s", c->name);
}
