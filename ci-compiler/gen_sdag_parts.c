/* SPDX-License-Identifier: Apache-2.0 */
/* gen_sdag_parts.c: an `overlap` whose branches wait by themselves, and a `forall`: each branch has
 * a machine of its own. */
#include "sdag_int.h"

struct ci_sdag *sdag_alone(struct ci *ci, const struct ci_sdag *x)
{
	struct ci_sdag *copy = ci_alloc(ci, sizeof *copy);

	*copy = *x;
	copy->next = NULL;
	return copy;
}

const char *sdag_part_suffix(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e,
			     const struct ci_sdag *forall, const struct ci_sdag *part)
{
	return forall != NULL ? ci_fmt(ci, "e%d_%s_%s", forall->number, c->name, e->name) :
	       ci_fmt(ci, "%d_%s_%s", part->number, c->name, e->name);
}

/* Note the machine of a branch, or of the branches of a forall. Returns its number among those of
 * m. */
static int new_part(struct machine *m, const struct ci_sdag *forall, const struct ci_sdag *part,
		    const struct scope *scope)
{
	struct ci *ci = m->o->ci;
	struct machine *p = ci_alloc(ci, sizeof *p), *last = m;

	*p = (struct machine){.o = m->o, .c = m->c, .e = m->e, .up = m, .forall = forall, .level = m->level + 1,
			      .suffix = sdag_part_suffix(ci, m->c, m->e, forall, part), .opens = "", .parts = ""};
	p->last = &p->places;
	p->first = forall != NULL ? forall->body : sdag_alone(ci, part);
	p->scope = forall != NULL ? sdag_with_local(p, forall, forall->locals, scope) : scope;
	while (last->next != NULL)
		last = last->next;
	last->next = p;
	m->parts = ci_fmt(ci, "%s\t&ck_body%s,\n", m->parts, p->suffix);
	return m->n_parts++;
}

static void join(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	const int place = sdag_new_place(m, NULL, at, 0, 0, x->tok->line);

	PUT("if (!CkGen_join(ck_run, %d))\n", place);
	PUT("\treturn false;\n");
	ci_put(m->o, "ck_at%d:;\n", place);
	PUT("CkGen_joined(ck_run);\n");
}

void sdag_overlap(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	if (!sdag_has_parts(x)) {
		sdag_plain_overlap(m, x, at, depth);
		return;
	}
	PUT("CkGen_split(ck_run);\n");
	for (const struct ci_sdag *part = x->body; part != NULL; part = part->next)
		PUT("CkGen_part(ck_run, %d, 0);\n", new_part(m, NULL, part, at->scope));
	join(m, x, at, depth);
}

void sdag_forall(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	const int id = x->number;

	sdag_region(m, at->scope, depth);
	depth++;
	sdag_bounds(m, x, depth);
	sdag_store_changed(m, at->scope, &(struct printed){.forall = x}, depth);
	PUT("CkGen_split(ck_run);\n");
	PUT("for (int ck_f%d = 0; ck_f%d < ck_n%d; ck_f%d++)\n", id, id, id, id);
	PUT("\tCkGen_part(ck_run, %d, ck_l%d + ck_f%d * ck_d%d);\n", new_part(m, x, NULL, at->scope), id, id, id);
	depth--;
	PUT("}\n");
	join(m, x, at, depth);
}
