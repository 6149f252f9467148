/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_sdag.c: prints the bodies of Structured Dagger. A body becomes one C function that runs on a
 * thread, so `if`, `for` and `while` stay those of C, and a `when` becomes a call that waits. The
 * user's text keeps its line and column of the .ci file.
 *
 * If the parts of an `overlap` are plain code or whens around plain code, a loop on the same thread
 * takes the calls in the order in which they come. Other overlaps, and a `forall` that waits, start a
 * thread for each part. Each part's code is a function of its own, and the variables around it are
 * copied into a struct:
 *
 *   struct ck_scope_X_f_N { X *self; int n; const double *v; }
 *   static void ck_part_X_f_N(const void *ck_arg, int ck_i)     one for each part of an overlap
 *   static void ck_each_X_f_N(const void *ck_arg, int i)        one for all parts of a forall
 */
#include "gen.h"
#include "gen_int.h"

#include <string.h>

/* A variable that the user's text may use. The list begins with the innermost one. */
struct scope {
	const struct scope *up;
	const char *type, *name;
};

struct body {
	struct ci_out *o;
	const struct ci_chare *c;
	const struct ci_entry *e;
};

/* ---- the user's text ---------------------------------------------------------------------------- */

static int newlines(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		n += *s == '\n';
	return n;
}

static int column(const struct ci *ci, const struct ci_tok *t)
{
	const char *s = t->at;

	while (s > ci->text && s[-1] != '\n')
		s--;
	return (int)(t->at - s);
}

/* Print the space between two tokens, so that t has the same distance, or the same line and column, as
 * in the file. */
static void gap(struct ci_out *o, const struct ci_tok *before, int line, const struct ci_tok *t)
{
	int n = t->line - line;

	if (strcmp(before->path, t->path) == 0 && n == 0) {
		ci_put(o, "%*s", (int)(t->at - before->at - (ptrdiff_t)before->len), "");
		return;
	}
	ci_put(o, "\n");
	if (n < 0 || n > 8 || strcmp(before->path, t->path) != 0)
		ci_put_line(o, t);
	else
		for (; n > 1; n--)
			ci_put(o, "\n");
	ci_put(o, "%*s", column(o->ci, t), "");
}

/* Print the text on lines of its own. */
static void text(struct ci_out *o, const struct ci_expr *x)
{
	int line = 0;

	if (x->from == x->to)
		return;
	ci_put_line(o, x->from);
	ci_put(o, "%*s", column(o->ci, x->from), "");
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		if (t != x->from)
			gap(o, t - 1, line, t);
		ci_put(o, "%s", t->s);
		line = t->line + newlines(t->s);
	}
	ci_put(o, "\n");
	ci_put_line_back(o);
}

static void indent(struct ci_out *o, int depth)
{
	while (depth-- > 0)
		ci_put(o, "\t");
}

#define PUT(...) (indent(b->o, depth), ci_put(b->o, __VA_ARGS__))

/* ---- what waits ------------------------------------------------------------------------------------ */

static bool waits(const struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		if (x->kind == CI_SDAG_WHEN || x->kind == CI_SDAG_CASE || waits(x->body) ||
		    waits(x->other))
			return true;
	}
	return false;
}

/* Once this part has begun, it runs to its end without waiting. */
static bool is_plain_part(const struct ci_sdag *x)
{
	if (x->kind == CI_SDAG_WHEN)
		return !waits(x->body);
	return x->kind != CI_SDAG_CASE && !waits(x->body) && !waits(x->other);
}

/* The parts of x need threads. */
static bool needs_threads(const struct ci_sdag *x)
{
	if (x->kind == CI_SDAG_FORALL)
		return waits(x->body);
	if (x->kind != CI_SDAG_OVERLAP)
		return false;
	for (x = x->body; x != NULL; x = x->next) {
		if (!is_plain_part(x))
			return true;
	}
	return false;
}

static int count_calls(const struct ci_sdag *when)
{
	int n = 0;

	for (const struct ci_awaited *a = when->calls; a != NULL; a = a->next)
		n++;
	return n;
}

/* ---- when, case, and overlap without threads ---------------------------------------------------- */

static void statements(const struct body *b, const struct ci_sdag *x, int depth);
static void statement(const struct body *b, const struct ci_sdag *x, int depth);

/* Declare a table of the calls of all alternatives, then set the calls' numbers. */
static void wanted(const struct body *b, const struct ci_sdag *first, bool all, int id, int depth)
{
	int n = 0, i = 0, alternative = 0;

	for (const struct ci_sdag *x = first; x != NULL; x = all ? x->next : NULL)
		n += count_calls(x);
	PUT("CkGenWanted ck_w%d[%d] = {", id, n);
	for (const struct ci_sdag *x = first; x != NULL; x = all ? x->next : NULL) {
		if (x->kind != CI_SDAG_WHEN)
			continue;
		for (const struct ci_awaited *a = x->calls; a != NULL; a = a->next)
			ci_put(b->o, "%s{%d, %d, %d, 0, NULL}", i++ != 0 ? ", " : "",
			       a->entry->number, alternative, a->by_number);
		alternative++;
	}
	ci_put(b->o, "};\n");
	PUT("CkGenTook ck_k%d;\n\n", id);
	i = 0;
	for (const struct ci_sdag *x = first; x != NULL; x = all ? x->next : NULL) {
		for (const struct ci_awaited *a = x->calls; a != NULL; a = a->next, i++) {
			if (!a->by_number)
				continue;
			PUT("ck_w%d[%d].number = (int)(\n", id, i);
			text(b->o, &a->number);
			PUT(");\n");
		}
	}
}

/* Print the body of one alternative; its calls begin at ck_w<id>[i]. */
static void taken(const struct body *b, const struct ci_sdag *when, int id, int i, int depth)
{
	for (const struct ci_awaited *a = when->calls; a != NULL; a = a->next, i++) {
		const struct ci_param *in = a->entry->params;

		if (a->params == NULL)
			continue;
		PUT("struct ck_in_%s_%s ck_i%d_%d;\n", b->c->name, a->entry->name, id, i);
		PUT("CkGen_take(&ck_w%d[%d], &ck_i%d_%d);\n", id, i, id, i);
		for (const struct ci_param *q = a->params; q != NULL; q = q->next) {
			PUT("%s%s = ck_i%d_%d.%s;\n", gen_param_type(b->o->ci, q, true), q->name, id,
			    i, in->name);
			PUT("(void)%s;\n", q->name);
			in = in->next;
		}
	}
	statements(b, when->body, depth);
}

static void when(const struct body *b, const struct ci_sdag *x, int depth)
{
	PUT("{\n");
	depth++;
	wanted(b, x, false, x->number, depth);
	PUT("(void)CkGen_await(self, ck_w%d, %d, &ck_k%d);\n", x->number, count_calls(x), x->number);
	PUT("{\n");
	taken(b, x, x->number, 0, depth + 1);
	PUT("}\n");
	PUT("CkGen_done(&ck_k%d);\n", x->number);
	depth--;
	PUT("}\n");
}

/* Wait for the first alternative whose calls have come, and run its body. */
static void alternatives(const struct body *b, const struct ci_sdag *x, int depth)
{
	int alternative = 0, i = 0, n = 0;

	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next)
		n += count_calls(w);
	PUT("const int ck_a%d = CkGen_await(self, ck_w%d, %d, &ck_k%d);\n\n", x->number, x->number, n,
	    x->number);
	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next) {
		if (w->kind != CI_SDAG_WHEN)
			continue;
		PUT("%sif (ck_a%d == %d) {\n", alternative != 0 ? "} else " : "", x->number,
		    alternative);
		taken(b, w, x->number, i, depth + 1);
		alternative++;
		i += count_calls(w);
	}
	PUT("}\n");
	PUT("CkGen_done(&ck_k%d);\n", x->number);
}

static void case_(const struct body *b, const struct ci_sdag *x, int depth)
{
	PUT("{\n");
	wanted(b, x->body, true, x->number, depth + 1);
	alternatives(b, x, depth + 1);
	PUT("}\n");
}

/* Run the parts that do not wait first, then each `when` as its calls come. */
static void plain_overlap(const struct body *b, const struct ci_sdag *x, int depth)
{
	int n = 0;

	for (const struct ci_sdag *part = x->body; part != NULL; part = part->next) {
		if (part->kind == CI_SDAG_WHEN)
			n++;
		else
			statement(b, part, depth);
	}
	if (n == 0)
		return;
	PUT("{\n");
	wanted(b, x->body, true, x->number, depth + 1);
	depth++;
	PUT("for (int ck_n%d = 0; ck_n%d < %d; ck_n%d++) {\n", x->number, x->number, n, x->number);
	alternatives(b, x, depth + 1);
	PUT("}\n");
	depth--;
	PUT("}\n");
}

/* ---- parts on threads ------------------------------------------------------------------------------- */

static bool hidden(const struct scope *inner, const struct scope *s)
{
	for (; inner != s; inner = inner->up) {
		if (strcmp(inner->name, s->name) == 0)
			return true;
	}
	return false;
}

static void scope_struct(const struct body *b, const struct ci_sdag *x, const struct scope *scope)
{
	ci_put(b->o, "struct ck_scope_%s_%s_%d {\n\t%s *self;\n", b->c->name, b->e->name, x->number,
	       b->c->name);
	for (const struct scope *s = scope; s != NULL; s = s->up) {
		if (!hidden(scope, s))
			ci_put(b->o, "\t%s%s;\n", s->type, s->name);
	}
	ci_put(b->o, "};\n\n");
}

static const char *function_of(const struct ci_sdag *x)
{
	return x->kind == CI_SDAG_FORALL ? "ck_each" : "ck_part";
}

/* Print one part's function. Its name ends in the part's number in an overlap, in the statement's own
 * number in a forall, which has one function for all parts. */
static void part_function(const struct body *b, const struct ci_sdag *x, const struct ci_sdag *part,
			  const struct scope *scope)
{
	const char *i = x->kind == CI_SDAG_FORALL ? x->locals->name : "ck_i";
	const char *c = b->c->name, *e = b->e->name;

	ci_put(b->o, "static void %s_%s_%s_%d(const void *ck_arg, int %s)\n{\n", function_of(x), c, e,
	       x->kind == CI_SDAG_FORALL ? x->number : part->number, i);
	ci_put(b->o, "\tconst struct ck_scope_%s_%s_%d *ck_s = (const struct ck_scope_%s_%s_%d *)ck_arg;"
	       "\n\t%s *const self = ck_s->self;\n", c, e, x->number, c, e, x->number, c);
	for (const struct scope *s = scope; s != NULL; s = s->up) {
		bool constant = strncmp(s->type, "const ", 6) == 0 && strchr(s->type, '*') == NULL;

		if (!hidden(scope, s) && strcmp(s->name, i) != 0)
			ci_put(b->o, "\t%s%s%s = ck_s->%s;\n\t(void)%s;\n", s->type,
			       constant ? "" : "const ", s->name, s->name, s->name);
	}
	ci_put(b->o, "\n\t(void)self;\n\t(void)%s;\n", i);
	statement(b, part, 1);
	ci_put(b->o, "}\n\n");
}

static void parts_of(const struct body *b, const struct ci_sdag *x, const struct scope *scope);

/* Print the functions for all parts inside x. The recursion adds the variables of x to the scope one by
 * one: its locals, then the parameters of its calls. */
static void parts_inside(const struct body *b, const struct ci_sdag *x, const struct ci_local *v,
			 const struct ci_awaited *a, const struct ci_param *q,
			 const struct scope *scope)
{
	struct scope s = {.up = scope};

	if (v != NULL) {
		s.type = v->type;
		s.name = v->name;
		parts_inside(b, x, v->next, a, q, &s);
	} else if (q != NULL) {
		s.type = gen_param_type(b->o->ci, q, true);
		s.name = q->name;
		parts_inside(b, x, NULL, a, q->next, &s);
	} else if (a != NULL) {
		parts_inside(b, x, NULL, a->next, a->params, scope);
	} else {
		parts_of(b, x->body, scope);
		parts_of(b, x->other, scope);
	}
}

/* Print the functions for all parts in these statements, the inner ones first. */
static void parts_of(const struct body *b, const struct ci_sdag *x, const struct scope *scope)
{
	for (; x != NULL; x = x->next) {
		parts_inside(b, x, x->locals, x->calls, NULL, scope);
		if (!needs_threads(x))
			continue;
		scope_struct(b, x, scope);
		for (const struct ci_sdag *part = x->body; part != NULL; part = part->next)
			part_function(b, x, part, scope);
	}
}

/* Print the struct's value: the variables in scope at a statement. */
static void scope_value(const struct body *b, const struct ci_sdag *at, int depth);

static void start_part(const struct body *b, const struct ci_sdag *x, int function, const char *i,
		       int depth)
{
	PUT("CkGen_part(self, &ck_p%d, %d, %s_%s_%s_%d, &ck_s%d, %s);\n", x->number, b->e->number,
	    function_of(x), b->c->name, b->e->name, function, x->number, i);
}

static void threads_head(const struct body *b, const struct ci_sdag *x, int depth)
{
	PUT("CkGenParts ck_p%d;\n", x->number);
	scope_value(b, x, depth);
	PUT("CkGen_split(self, &ck_p%d);\n", x->number);
}

static void overlap(const struct body *b, const struct ci_sdag *x, int depth)
{
	if (!needs_threads(x)) {
		plain_overlap(b, x, depth);
		return;
	}
	PUT("{\n");
	depth++;
	threads_head(b, x, depth);
	for (const struct ci_sdag *part = x->body; part != NULL; part = part->next)
		start_part(b, x, part->number, "0", depth);
	PUT("CkGen_join(&ck_p%d);\n", x->number);
	depth--;
	PUT("}\n");
}

static void bound(const struct body *b, const char *name, int id, const struct ci_expr *x, int depth)
{
	PUT("const int ck_%s%d = (int)(\n", name, id);
	text(b->o, x);
	PUT(");\n");
}

static void forall(const struct body *b, const struct ci_sdag *x, int depth)
{
	const int id = x->number;
	const char *i = ci_fmt(b->o->ci, "ck_l%d + ck_f%d * ck_d%d", id, id, id);

	PUT("{\n");
	depth++;
	bound(b, "l", id, &x->text, depth);
	bound(b, "h", id, &x->high, depth);
	bound(b, "d", id, &x->step, depth);
	PUT("const int ck_n%d = CkGen_steps(ck_l%d, ck_h%d, ck_d%d);\n", id, id, id, id);
	if (needs_threads(x))
		threads_head(b, x, depth);
	PUT("for (int ck_f%d = 0; ck_f%d < ck_n%d; ck_f%d++) {\n", id, id, id, id);
	if (needs_threads(x)) {
		start_part(b, x, id, i, depth + 1);
	} else {
		depth++;
		PUT("const int %s = %s;\n", x->locals->name, i);
		PUT("(void)%s;\n", x->locals->name);
		statements(b, x->body, depth);
		depth--;
	}
	PUT("}\n");
	if (needs_threads(x))
		PUT("CkGen_join(&ck_p%d);\n", id);
	depth--;
	PUT("}\n");
}

/* Walk from x down to the statement `at`, collect the names in scope, and print the struct's value there.
 * False if `at` is not in x. */
static bool names_at(const struct body *b, const struct ci_sdag *x, const struct ci_sdag *at,
		     const struct scope *scope, int depth);

static bool names_inside(const struct body *b, const struct ci_sdag *x, const struct ci_sdag *at,
			 const struct ci_local *v, const struct ci_awaited *a,
			 const struct ci_param *q, const struct scope *scope, int depth)
{
	struct scope s = {.up = scope};

	if (v != NULL) {
		s.name = v->name;
		return names_inside(b, x, at, v->next, a, q, &s, depth);
	}
	if (q != NULL) {
		s.name = q->name;
		return names_inside(b, x, at, NULL, a, q->next, &s, depth);
	}
	if (a != NULL)
		return names_inside(b, x, at, NULL, a->next, a->params, scope, depth);
	return names_at(b, x->body, at, scope, depth) || names_at(b, x->other, at, scope, depth);
}

static void put_scope_value(const struct body *b, const struct ci_sdag *at,
			    const struct scope *scope, int depth)
{
	PUT("const struct ck_scope_%s_%s_%d ck_s%d = {self", b->c->name, b->e->name, at->number,
	    at->number);
	for (const struct scope *s = scope; s != NULL; s = s->up) {
		if (!hidden(scope, s))
			ci_put(b->o, ", %s", s->name);
	}
	ci_put(b->o, "};\n\n");
}

static bool names_at(const struct body *b, const struct ci_sdag *x, const struct ci_sdag *at,
		     const struct scope *scope, int depth)
{
	for (; x != NULL; x = x->next) {
		if (x == at) {
			put_scope_value(b, at, scope, depth);
			return true;
		}
		if (names_inside(b, x, at, x->locals, x->calls, NULL, scope, depth))
			return true;
	}
	return false;
}

static bool names_of_entry(const struct body *b, const struct ci_sdag *at, const struct ci_param *q,
			   const struct scope *scope, int depth)
{
	struct scope s = {.up = scope};

	if (q == NULL)
		return names_at(b, b->e->body, at, scope, depth);
	s.name = q->name;
	return names_of_entry(b, at, q->next, &s, depth);
}

static void scope_value(const struct body *b, const struct ci_sdag *at, int depth)
{
	names_of_entry(b, at, b->e->params, NULL, depth);
}

/* ---- the other statements ---------------------------------------------------------------------------- */

static void braced(const struct body *b, const struct ci_sdag *x, int depth)
{
	ci_put(b->o, " {\n");
	statements(b, x, depth + 1);
	PUT("}");
}

/* Print "while (", the text, ") {", the body, "}". */
static void headed(const struct body *b, const char *word, const struct ci_sdag *x, int depth)
{
	PUT("%s (\n", word);
	text(b->o, &x->text);
	PUT(")");
	braced(b, x->body, depth);
	if (x->other != NULL) {
		ci_put(b->o, " else");
		braced(b, x->other, depth);
	}
	ci_put(b->o, "\n");
}

static void statement(const struct body *b, const struct ci_sdag *x, int depth)
{
	switch (x->kind) {
	case CI_SDAG_BLOCK:
		statements(b, x->body, depth);
		break;
	case CI_SDAG_SERIAL:
		PUT("{\n");
		text(b->o, &x->text);
		PUT("}\n");
		break;
	case CI_SDAG_WHEN:
		when(b, x, depth);
		break;
	case CI_SDAG_IF:
		headed(b, "if", x, depth);
		break;
	case CI_SDAG_FOR:
		headed(b, "for", x, depth);
		break;
	case CI_SDAG_WHILE:
		headed(b, "while", x, depth);
		break;
	case CI_SDAG_FORALL:
		forall(b, x, depth);
		break;
	case CI_SDAG_OVERLAP:
		overlap(b, x, depth);
		break;
	case CI_SDAG_CASE:
		case_(b, x, depth);
		break;
	}
}

static void statements(const struct body *b, const struct ci_sdag *x, int depth)
{
	for (; x != NULL; x = x->next)
		statement(b, x, depth);
}

/* ---- the functions ------------------------------------------------------------------------------------ */

void gen_body_declaration(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static void %s_on_%s(%s *self", c->name, e->name, c->name);
	gen_handler_params(o, e, ", ");
	ci_put(o, ");\n\n");
}

static void parts_of_entry(const struct body *b, const struct ci_param *q, const struct scope *scope)
{
	struct scope s = {.up = scope};

	if (q == NULL) {
		parts_of(b, b->e->body, scope);
		return;
	}
	s.type = gen_param_type(b->o->ci, q, true);
	s.name = q->name;
	parts_of_entry(b, q->next, &s);
}

void gen_body(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const struct body b = {o, c, e};

	parts_of_entry(&b, e->params, NULL);
	ci_put(o, "static void %s_on_%s(%s *self", c->name, e->name, c->name);
	gen_handler_params(o, e, ", ");
	ci_put(o, ")\n{\n\t(void)self;\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, "\t(void)%s;\n", q->name);
	statements(&b, e->body, 1);
	ci_put(o, "}\n\n");
}

void gen_awaited(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (e->params == NULL)
		return;
	ci_put(o, "struct ck_in_%s_%s {\n", c->name, e->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, "\t%s%s;\n", gen_param_type(o->ci, q, true), q->name);
	ci_put(o, "};\n\nstatic void ck_take_%s_%s(struct ck_in_%s_%s *ck_to", c->name, e->name, c->name,
	       e->name);
	gen_handler_params(o, e, ", ");
	ci_put(o, ")\n{\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, "\tck_to->%s = %s;\n", q->name, q->name);
	ci_put(o, "}\n\n");
}
