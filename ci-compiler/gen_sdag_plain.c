/* SPDX-License-Identifier: Apache-2.0 */
/* gen_sdag_plain.c: statements that do not wait, as ordinary C inside a region. */
#include "sdag_int.h"

void sdag_plain_statements(const struct machine *m, const struct ci_sdag *x, const struct ci_sdag *end,
			   int depth)
{
	for (; x != end; x = x->next)
		sdag_plain_statement(m, x, depth);
}

static void braced(const struct machine *m, const struct ci_sdag *x, int depth)
{
	ci_put(m->o, " {\n");
	sdag_plain_statements(m, x, NULL, depth + 1);
	PUT("}");
}

/* Print "while (", the text, ") {", the body, "}". */
static void headed(const struct machine *m, const char *word, const struct ci_sdag *x, int depth)
{
	PUT("%s (\n", word);
	sdag_text(m->o, &x->text);
	PUT(")");
	braced(m, x->body, depth);
	if (x->other != NULL) {
		ci_put(m->o, " else");
		braced(m, x->other, depth);
	}
	ci_put(m->o, "\n");
}

static void plain_for(const struct machine *m, const struct ci_sdag *x, int depth)
{
	const struct ci_expr head = {x->text.from, x->step.to};

	PUT("for (\n");
	sdag_text(m->o, &head);
	PUT(")");
	braced(m, x->body, depth);
	ci_put(m->o, "\n");
}

static void bound(const struct machine *m, const char *name, int id, const struct ci_expr *x, int depth)
{
	PUT("const int ck_%s%d = (int)(\n", name, id);
	sdag_text(m->o, x);
	PUT(");\n");
}

void sdag_bounds(const struct machine *m, const struct ci_sdag *x, int depth)
{
	const int id = x->number;

	bound(m, "l", id, &x->text, depth);
	bound(m, "h", id, &x->high, depth);
	bound(m, "d", id, &x->step, depth);
	PUT("const int ck_n%d = CkGen_steps(ck_l%d, ck_h%d, ck_d%d);\n\n", id, id, id, id);
}

static void plain_forall(const struct machine *m, const struct ci_sdag *x, int depth)
{
	const int id = x->number;

	PUT("{\n");
	depth++;
	sdag_bounds(m, x, depth);
	PUT("for (int ck_f%d = 0; ck_f%d < ck_n%d; ck_f%d++) {\n", id, id, id, id);
	depth++;
	PUT("const int %s = ck_l%d + ck_f%d * ck_d%d;\n", x->locals->name, id, id, id);
	PUT("(void)%s;\n", x->locals->name);
	sdag_plain_statements(m, x->body, NULL, depth);
	depth--;
	PUT("}\n");
	depth--;
	PUT("}\n");
}

void sdag_plain_statement(const struct machine *m, const struct ci_sdag *x, int depth)
{
	switch (x->kind) {
	case CI_SDAG_SERIAL:
		PUT("{\n");
		sdag_text(m->o, &x->text);
		PUT("}\n");
		break;
	case CI_SDAG_IF:
		headed(m, "if", x, depth);
		break;
	case CI_SDAG_FOR:
		plain_for(m, x, depth);
		break;
	case CI_SDAG_WHILE:
		headed(m, "while", x, depth);
		break;
	case CI_SDAG_FORALL:
		plain_forall(m, x, depth);
		break;
	case CI_SDAG_BLOCK:
	case CI_SDAG_OVERLAP:
		sdag_plain_statements(m, x->body, NULL, depth);
		break;
	case CI_SDAG_WHEN:
	case CI_SDAG_CASE:
		break; /* they wait */
	}
}
