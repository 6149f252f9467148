/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_sdag_jumps.c: statements around one that waits: `if`, `while` and `for` become jumps.
 * Dispatches each statement to the function that prints it.
 */
#include "sdag_int.h"

#include <string.h>

/* ---- if, while, for ---------------------------------------------------------------------------- */

/* Set ck_go to the truth of the user's condition. */
static void decide(const struct machine *m, const struct scope *scope, const struct ci_expr *x, int depth)
{
	sdag_region(m, scope, depth);
	depth++;
	PUT("ck_go = false;\n");
	PUT("if (\n");
	sdag_text(m->o, x);
	PUT(")\n");
	PUT("\tck_go = true;\n");
	depth--;
	sdag_region_end(m, scope, &(struct printed){.text = x}, depth);
}

static void if_(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	decide(m, at->scope, &x->text, depth);
	PUT("if (!ck_go)\n");
	PUT("\tgoto ck_else%d;\n", x->number);
	sdag_statements(m, x->body, at, depth);
	if (x->other != NULL)
		PUT("goto ck_end%d;\n", x->number);
	ci_put(m->o, "ck_else%d:;\n", x->number);
	if (x->other == NULL)
		return;
	sdag_statements(m, x->other, at, depth);
	ci_put(m->o, "ck_end%d:;\n", x->number);
}

/* Print a loop: its condition, which may be empty, its body, and the step before the next turn. */
static void loop(struct machine *m, const struct ci_sdag *x, const struct ci_expr *until,
		 const struct ci_expr *step, const struct at *at, int depth)
{
	const bool ends = until->from != until->to;

	ci_put(m->o, "ck_top%d:;\n", x->number);
	if (ends) {
		decide(m, at->scope, until, depth);
		PUT("if (!ck_go)\n");
		PUT("\tgoto ck_end%d;\n", x->number);
	}
	sdag_statements(m, x->body, at, depth);
	if (step->from != step->to) {
		sdag_region(m, at->scope, depth);
		sdag_text(m->o, step);
		PUT("\t;\n");
		sdag_region_end(m, at->scope, &(struct printed){.text = step}, depth);
	}
	PUT("goto ck_top%d;\n", x->number);
	if (ends)
		ci_put(m->o, "ck_end%d:;\n", x->number);
}

const char *sdag_local_member(struct ci *ci, const struct ci_sdag *x, const struct ci_local *v)
{
	return ci_fmt(ci, "ck_v%d_%s", x->number, v->name);
}

const struct scope *sdag_with_local(const struct machine *m, const struct ci_sdag *x, const struct ci_local *v,
				    const struct scope *scope)
{
	struct scope *s = ci_alloc(m->o->ci, sizeof *s);

	*s = (struct scope){scope, v->type, v->name, v->dims, sdag_local_member(m->o->ci, x, v), m->level};
	return s;
}

/* The region of a for's beginning has its variables as the user declares them. */
static void for_(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	struct at in = *at;

	for (const struct ci_local *v = x->locals; v != NULL; v = v->next) {
		in.scope = sdag_with_local(m, x, v, in.scope);
		if (strchr(v->type, '*') != NULL)
			in.open = sdag_new_open(m, in.open, -2, -2, in.scope->member, "0",
						ci_fmt(m->o->ci, "NULL, 0, \"%s\"", v->name));
	}
	if (x->text.from != x->text.to) {
		sdag_region(m, at->scope, depth);
		PUT("\t{\n");
		sdag_text(m->o, &x->text);
		PUT("\t\t;\n");
		for (const struct scope *s = in.scope; s != at->scope; s = s->up)
			sdag_store(m, s, depth + 2);
		PUT("\t}\n");
		sdag_region_end(m, at->scope, &(struct printed){.text = &x->text}, depth);
	}
	loop(m, x, &x->high, &x->step, &in, depth);
}

/* ---- all statements ---------------------------------------------------------------------------- */

static void statement(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	static const struct ci_expr none;

	switch (x->kind) {
	case CI_SDAG_BLOCK:
		sdag_statements(m, x->body, at, depth);
		break;
	case CI_SDAG_SERIAL:
		break; /* it does not wait */
	case CI_SDAG_WHEN:
		sdag_when(m, x, at, depth);
		break;
	case CI_SDAG_IF:
		if_(m, x, at, depth);
		break;
	case CI_SDAG_FOR:
		for_(m, x, at, depth);
		break;
	case CI_SDAG_WHILE:
		loop(m, x, &x->text, &none, at, depth);
		break;
	case CI_SDAG_FORALL:
		sdag_forall(m, x, at, depth);
		break;
	case CI_SDAG_OVERLAP:
		sdag_overlap(m, x, at, depth);
		break;
	case CI_SDAG_CASE:
		sdag_case(m, x, at, depth);
		break;
	}
}

/* Statements that do not wait share a region, up to the next one that does. */
void sdag_statements(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	while (x != NULL) {
		const struct ci_sdag *end = x;

		while (end != NULL && !sdag_waits(end))
			end = end->next;
		if (end != x) {
			sdag_region(m, at->scope, depth);
			sdag_plain_statements(m, x, end, depth + 1);
			sdag_region_end(m, at->scope, &(struct printed){.from = x, .end = end}, depth);
		}
		if (end == NULL)
			return;
		statement(m, end, at, depth);
		x = end->next;
	}
}
