/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_sdag.c: prints the bodies of Structured Dagger as state machines. What lives across a `when` lies in
 * a struct, the body's run: parameters, calls that whens have taken, variables of `for`. The function goes
 * on where the run says, until it has to wait again or ends:
 *
 *   struct ck_run_X_f { CkGenRun ck; CkGenSlot ck_slot[n]; struct ck_in_X_f ck_in; ... };
 *   static bool ck_go_X_f(void *ck_self, CkGenRun *ck_run)
 *   static const CkGenBody ck_body_X_f
 *
 * Statements that cannot wait are printed together, in braces, as ordinary C (a region). A region begins
 * with a variable for each one in scope, set from the run, and ends with storing those that it may have
 * changed. Around regions `if`, `while` and `for` become jumps. The user's text keeps its line and column
 * of the .ci file.
 *
 * If the parts of an `overlap` are plain code or whens around plain code, the body itself takes the calls
 * in the order in which they come. Other overlaps, and a `forall` that waits, give each part a run and a
 * function of its own: ck_go_X_f_N. There the variables around it are constant; they stay in the run
 * around it.
 */
#include "gen.h"
#include "gen_int.h"

#include <string.h>

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

#define PUT(...) (indent(m->o, depth), ci_put(m->o, __VA_ARGS__))

/* ---- what waits ------------------------------------------------------------------------------------ */

static bool waits(const struct ci_sdag *x);

static bool any_waits(const struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		if (waits(x))
			return true;
	}
	return false;
}

static bool waits(const struct ci_sdag *x)
{
	return x->kind == CI_SDAG_WHEN || x->kind == CI_SDAG_CASE || any_waits(x->body) ||
	       any_waits(x->other);
}

/* Once this part has begun, it runs to its end without waiting. */
static bool is_plain_part(const struct ci_sdag *x)
{
	return x->kind == CI_SDAG_WHEN ? !any_waits(x->body) : !waits(x);
}

/* The parts of x have runs of their own. */
static bool has_parts(const struct ci_sdag *x)
{
	if (x->kind == CI_SDAG_FORALL)
		return any_waits(x->body);
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

/* The calls of a when, or of all whens of a case or an overlap. */
static int count_all_calls(const struct ci_sdag *x)
{
	int n = 0;

	if (x->kind == CI_SDAG_WHEN)
		return count_calls(x);
	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next)
		n += count_calls(w);
	return n;
}

/* ---- machines ---------------------------------------------------------------------------------------- */

/* A variable that the user's text may use. The list begins with the innermost one. */
struct scope {
	const struct scope *up;
	const char *type, *name;
	const char *dims;         /* "[2]"; mostly "" */
	const char *member;       /* of the run, without what stands before the dot */
	int level;                /* of the machine in whose run it lies */
};

/* A place where the machine waits, in the order of CkGenRun.at. */
struct place {
	struct place *next;
	const struct ci_sdag *x;  /* the statement with the calls; NULL: it waits for parts or buffers */
	int slot, n;
	int line;
	int open;                 /* number of the innermost open thing; -1: none */
};

/* The function of a body, or of a part: of all parts of a forall. */
struct machine {
	struct ci_out *o;
	const struct ci_chare *c;
	const struct ci_entry *e;
	struct machine *next;     /* all of the entry, the outer ones first */
	const struct machine *up; /* around a part; NULL: the body */
	const struct ci_sdag *first;    /* its statements */
	const struct ci_sdag *forall;   /* of which it is a part, or NULL */
	const struct scope *scope;
	int level;
	const char *suffix;       /* "_X_f"; of a part "5_X_f"; of the parts of a forall "e5_X_f" */
	struct place *places, **last;
	int n_places;
	int n_open;
	const char *opens;        /* the printed constants of what is open somewhere */
	const char *parts;        /* the printed table of its parts' bodies */
	int n_parts;
};

/* Where in a machine the printing has got to. */
struct at {
	const struct scope *scope;
	int slot;                 /* the first that is free */
	int around;               /* the slot of the call that runs; -1: the body's own, or the part */
	int open;
};

static int new_place(struct machine *m, const struct ci_sdag *x, const struct at *at, int slot, int n,
		     int line)
{
	struct place *p = ci_alloc(m->o->ci, sizeof *p);

	*p = (struct place){.x = x, .slot = slot, .n = n, .line = line, .open = at->open};
	*m->last = p;
	m->last = &p->next;
	return ++m->n_places;
}

/* Note that something lies in the run at `member` from here on: the parameters of a call, or a pointer. */
static int new_open(struct machine *m, int up, int slot, int first, const char *member, const char *bytes,
		    const char *pointers)
{
	struct ci *ci = m->o->ci;
	const char *at = member != NULL ? ci_fmt(ci, "(uint32_t)offsetof(struct ck_run%s, %s)", m->suffix,
						 member) : "0";

	m->opens = ci_fmt(ci, "%sstatic const CkGenOpened ck_open%s_%d = {%s, %d, %d, %s, %s, %s};\n", m->opens,
			  m->suffix, m->n_open, up < 0 ? "NULL" : ci_fmt(ci, "&ck_open%s_%d", m->suffix, up), slot,
			  first, at, bytes, pointers);
	return m->n_open++;
}

/* ---- variables ------------------------------------------------------------------------------------------ */

static bool hidden(const struct scope *inner, const struct scope *s)
{
	for (; inner != s; inner = inner->up) {
		if (strcmp(inner->name, s->name) == 0)
			return true;
	}
	return false;
}

static bool is_constant(const struct scope *s)
{
	return strncmp(s->type, "const ", 6) == 0 && strchr(s->type, '*') == NULL;
}

static bool text_names(const struct ci_expr *x, const char *name)
{
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		if (t->kind == TOK_NAME && strcmp(t->s, name) == 0)
			return true;
	}
	return false;
}

static bool statement_names(const struct ci_sdag *x, const char *name);

static bool statements_name(const struct ci_sdag *x, const struct ci_sdag *end, const char *name)
{
	for (; x != end; x = x->next) {
		if (statement_names(x, name))
			return true;
	}
	return false;
}

static bool statement_names(const struct ci_sdag *x, const char *name)
{
	return text_names(&x->text, name) || text_names(&x->high, name) || text_names(&x->step, name) ||
	       statements_name(x->body, NULL, name) || statements_name(x->other, NULL, name);
}

static const char *member_of(const struct machine *m, const struct scope *s)
{
	return s->level == m->level ? ci_fmt(m->o->ci, "ck_r->%s", s->member) :
	       ci_fmt(m->o->ci, "ck_up%d->%s", s->level, s->member);
}

/* Begin a region: declare the variables in scope. Those of the runs around a part are constant. */
static void region(const struct machine *m, const struct scope *scope, int depth)
{
	PUT("{\n");
	depth++;
	for (const struct scope *s = scope; s != NULL; s = s->up) {
		const char *constant = s->level == m->level || is_constant(s) ? "" : "const ";

		if (hidden(scope, s))
			continue;
		if (*s->dims != '\0')
			PUT("%s%s%s;\n", s->type, s->name, s->dims);
		else
			PUT("%s%s%s = %s;\n", s->type, constant, s->name, member_of(m, s));
		if (*s->dims != '\0')
			PUT("memcpy(%s, %s, sizeof %s);\n", s->name, member_of(m, s), s->name);
		PUT("(void)%s;\n", s->name);
	}
}

static void store(const struct machine *m, const struct scope *s, int depth)
{
	if (*s->dims != '\0')
		PUT("memcpy(ck_r->%s, %s, sizeof %s);\n", s->member, s->name, s->name);
	else
		PUT("ck_r->%s = %s;\n", s->member, s->name);
}

/* Whether a text names the variable; the text of what a region has printed. */
struct printed {
	const struct ci_sdag *from, *end;         /* statements */
	const struct ci_expr *text;               /* or one text */
	const struct ci_awaited *calls;           /* or the numbers of calls */
	const struct ci_sdag *forall;             /* or the bounds of a forall */
};

static bool printed_names(const struct printed *p, const char *name)
{
	for (const struct ci_awaited *a = p->calls; a != NULL; a = a->next) {
		if (text_names(&a->number, name))
			return true;
	}
	if (p->forall != NULL)
		return text_names(&p->forall->text, name) || text_names(&p->forall->high, name) ||
		       text_names(&p->forall->step, name);
	return (p->text != NULL && text_names(p->text, name)) || statements_name(p->from, p->end, name);
}

static void store_changed(const struct machine *m, const struct scope *scope, const struct printed *p, int depth)
{
	for (const struct scope *s = scope; s != NULL; s = s->up) {
		if (s->level == m->level && !is_constant(s) && !hidden(scope, s) && printed_names(p, s->name))
			store(m, s, depth);
	}
}

static void region_end(const struct machine *m, const struct scope *scope, const struct printed *p, int depth)
{
	store_changed(m, scope, p, depth + 1);
	PUT("}\n");
}

/* ---- statements that do not wait ------------------------------------------------------------------- */

static void plain_statement(const struct machine *m, const struct ci_sdag *x, int depth);

static void plain_statements(const struct machine *m, const struct ci_sdag *x, const struct ci_sdag *end,
			     int depth)
{
	for (; x != end; x = x->next)
		plain_statement(m, x, depth);
}

static void braced(const struct machine *m, const struct ci_sdag *x, int depth)
{
	ci_put(m->o, " {\n");
	plain_statements(m, x, NULL, depth + 1);
	PUT("}");
}

/* Print "while (", the text, ") {", the body, "}". */
static void headed(const struct machine *m, const char *word, const struct ci_sdag *x, int depth)
{
	PUT("%s (\n", word);
	text(m->o, &x->text);
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
	text(m->o, &head);
	PUT(")");
	braced(m, x->body, depth);
	ci_put(m->o, "\n");
}

static void bound(const struct machine *m, const char *name, int id, const struct ci_expr *x, int depth)
{
	PUT("const int ck_%s%d = (int)(\n", name, id);
	text(m->o, x);
	PUT(");\n");
}

static void bounds(const struct machine *m, const struct ci_sdag *x, int depth)
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
	bounds(m, x, depth);
	PUT("for (int ck_f%d = 0; ck_f%d < ck_n%d; ck_f%d++) {\n", id, id, id, id);
	depth++;
	PUT("const int %s = ck_l%d + ck_f%d * ck_d%d;\n", x->locals->name, id, id, id);
	PUT("(void)%s;\n", x->locals->name);
	plain_statements(m, x->body, NULL, depth);
	depth--;
	PUT("}\n");
	depth--;
	PUT("}\n");
}

static void plain_statement(const struct machine *m, const struct ci_sdag *x, int depth)
{
	switch (x->kind) {
	case CI_SDAG_SERIAL:
		PUT("{\n");
		text(m->o, &x->text);
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
		plain_statements(m, x->body, NULL, depth);
		break;
	case CI_SDAG_WHEN:
	case CI_SDAG_CASE:
		break; /* they wait */
	}
}

/* ---- jumps ------------------------------------------------------------------------------------------ */

static void statements(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth);

/* Set ck_go to whether what the user wrote is true. */
static void decide(const struct machine *m, const struct scope *scope, const struct ci_expr *x, int depth)
{
	region(m, scope, depth);
	depth++;
	PUT("ck_go = false;\n");
	PUT("if (\n");
	text(m->o, x);
	PUT(")\n");
	PUT("\tck_go = true;\n");
	depth--;
	region_end(m, scope, &(struct printed){.text = x}, depth);
}

static void if_(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	decide(m, at->scope, &x->text, depth);
	PUT("if (!ck_go)\n");
	PUT("\tgoto ck_else%d;\n", x->number);
	statements(m, x->body, at, depth);
	if (x->other != NULL)
		PUT("goto ck_end%d;\n", x->number);
	ci_put(m->o, "ck_else%d:;\n", x->number);
	if (x->other == NULL)
		return;
	statements(m, x->other, at, depth);
	ci_put(m->o, "ck_end%d:;\n", x->number);
}

/* Print a loop: until when it goes on, which may be empty, its body, and what comes before the next turn. */
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
	statements(m, x->body, at, depth);
	if (step->from != step->to) {
		region(m, at->scope, depth);
		text(m->o, step);
		PUT("\t;\n");
		region_end(m, at->scope, &(struct printed){.text = step}, depth);
	}
	PUT("goto ck_top%d;\n", x->number);
	if (ends)
		ci_put(m->o, "ck_end%d:;\n", x->number);
}

static const char *local_member(struct ci *ci, const struct ci_sdag *x, const struct ci_local *v)
{
	return ci_fmt(ci, "ck_v%d_%s", x->number, v->name);
}

static const struct scope *with_local(const struct machine *m, const struct ci_sdag *x, const struct ci_local *v,
				      const struct scope *scope)
{
	struct scope *s = ci_alloc(m->o->ci, sizeof *s);

	*s = (struct scope){scope, v->type, v->name, v->dims, local_member(m->o->ci, x, v), m->level};
	return s;
}

/* The region of a for's beginning has its variables as the user declares them. */
static void for_(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	struct at in = *at;

	for (const struct ci_local *v = x->locals; v != NULL; v = v->next) {
		in.scope = with_local(m, x, v, in.scope);
		if (strchr(v->type, '*') != NULL)
			in.open = new_open(m, in.open, -2, -2, in.scope->member, "0",
					   ci_fmt(m->o->ci, "NULL, 0, \"%s\"", v->name));
	}
	if (x->text.from != x->text.to) {
		region(m, at->scope, depth);
		PUT("\t{\n");
		text(m->o, &x->text);
		PUT("\t\t;\n");
		for (const struct scope *s = in.scope; s != at->scope; s = s->up)
			store(m, s, depth + 2);
		PUT("\t}\n");
		region_end(m, at->scope, &(struct printed){.text = &x->text}, depth);
	}
	loop(m, x, &x->high, &x->step, &in, depth);
}

/* ---- when, case, and overlap without parts ------------------------------------------------------ */

/* Set the numbers of the calls, which are evaluated once. */
static void numbers(const struct machine *m, const struct ci_sdag *first, bool all, const struct at *at, int depth)
{
	int slot = at->slot;

	for (const struct ci_sdag *x = first; x != NULL; x = all ? x->next : NULL) {
		for (const struct ci_awaited *a = x->calls; a != NULL; a = a->next, slot++) {
			struct ci_awaited only = *a;

			if (!a->by_number)
				continue;
			only.next = NULL;
			region(m, at->scope, depth);
			PUT("\tck_r->ck_slot[%d].number = (int)(\n", slot);
			text(m->o, &a->number);
			PUT("\t);\n");
			region_end(m, at->scope, &(struct printed){.calls = &only}, depth);
		}
	}
}

static bool has_posted(const struct ci_entry *e)
{
	return gen_count_posted(e) != 0;
}

/* Print how the parameters of one call are taken. For nocopypost arrays this may have to wait. */
static void take(struct machine *m, const struct ci_awaited *a, const char *in, int slot, bool last,
		 const struct at *at, int depth)
{
	if (!has_posted(a->entry)) {
		PUT("CkGen_take(ck_run, %d, &ck_r->%s);\n", slot, in);
		return;
	}
	const int place = new_place(m, NULL, at, slot, last ? 1 : 0, a->tok->line);

	ci_put(m->o, "ck_at%d:;\n", place);
	PUT("if (!CkGen_takePosted(ck_run, %d, &ck_r->%s))\n", place, in);
	PUT("\treturn false;\n");
}

/* Print the body of one alternative; its calls begin at `slot`. */
static void taken(struct machine *m, const struct ci_sdag *when, int slot, const struct at *at, int depth)
{
	struct ci *ci = m->o->ci;
	const int n = count_calls(when);
	struct at in = *at;
	int i = 0;

	in.around = slot + n - 1;
	for (const struct ci_awaited *a = when->calls; a != NULL; a = a->next, i++) {
		const struct ci_param *of = a->entry->params;
		const char *member = ci_fmt(ci, "ck_i%d_%d", when->number, i);
		const char *x = ci_fmt(ci, "%s_%s", m->c->name, a->entry->name);

		in.open = new_open(m, in.open, slot + i, slot, of != NULL ? member : NULL,
				   of != NULL ? ci_fmt(ci, "sizeof(struct ck_in_%s)", x) : "0",
				   gen_has_pointers(a->entry) ? ci_fmt(ci, "ck_pointers_%s, %d, NULL", x,
						gen_count_pointers(a->entry)) : "NULL, 0, NULL");
		if (of != NULL)
			take(m, a, member, slot + i, i == n - 1, &in, depth);
		for (const struct ci_param *q = a->params; q != NULL; q = q->next, of = of->next) {
			struct scope *s = ci_alloc(ci, sizeof *s);

			*s = (struct scope){in.scope, gen_param_type(ci, q, true), q->name, "",
					    ci_fmt(ci, "%s.%s", member, of->name), m->level};
			in.scope = s;
		}
	}
	statements(m, when->body, &in, depth);
	PUT("CkGen_done(ck_run, %d, %d, %d);\n", slot, n, at->around);
}

/* Wait at a place, for the calls of x. */
static void wait_for(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	const int place = new_place(m, x, at, at->slot, count_all_calls(x), x->tok->line);

	PUT("if (!CkGen_wait(ck_run, %d))\n", place);
	PUT("\treturn false;\n");
	ci_put(m->o, "ck_at%d:;\n", place);
}

static void ask(struct machine *m, const struct ci_sdag *first, bool all, int n, const struct at *at, int depth)
{
	numbers(m, first, all, at, depth);
	PUT("CkGen_ask(&ck_r->ck_slot[%d], %d);\n", at->slot, n);
}

static void when(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	struct at in = *at;

	ask(m, x, false, count_calls(x), at, depth);
	wait_for(m, x, at, depth);
	in.slot += count_calls(x);
	taken(m, x, at->slot, &in, depth);
}

/* Wait for the first alternative whose calls have come, and run its body. */
static void alternatives(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	struct at in = *at;
	int i = 0, slot = at->slot;

	wait_for(m, x, at, depth);
	in.slot += count_all_calls(x);
	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next) {
		if (w->kind != CI_SDAG_WHEN)
			continue;
		PUT("if (ck_run->found != %d)\n", i);
		PUT("\tgoto ck_other%d_%d;\n", x->number, i);
		taken(m, w, slot, &in, depth);
		ci_put(m->o, "ck_other%d_%d:;\n", x->number, i);
		slot += count_calls(w);
		i++;
	}
}

static void case_(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	ask(m, x->body, true, count_all_calls(x), at, depth);
	alternatives(m, x, at, depth);
}

/* Run the parts that do not wait first, then each `when` as its calls come. */
static void plain_overlap(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	int n = 0;

	for (const struct ci_sdag *part = x->body; part != NULL; part = part->next) {
		if (part->kind == CI_SDAG_WHEN) {
			n++;
			continue;
		}
		region(m, at->scope, depth);
		plain_statement(m, part, depth + 1);
		region_end(m, at->scope, &(struct printed){.from = part, .end = part->next}, depth);
	}
	if (n == 0)
		return;
	ask(m, x->body, true, count_all_calls(x), at, depth);
	PUT("ck_r->ck_n%d = 0;\n", x->number);
	ci_put(m->o, "ck_top%d:;\n", x->number);
	alternatives(m, x, at, depth);
	PUT("if (++ck_r->ck_n%d < %d)\n", x->number, n);
	PUT("\tgoto ck_top%d;\n", x->number);
}

/* ---- parts ------------------------------------------------------------------------------------------- */

static struct ci_sdag *alone(struct ci *ci, const struct ci_sdag *x)
{
	struct ci_sdag *copy = ci_alloc(ci, sizeof *copy);

	*copy = *x;
	copy->next = NULL;
	return copy;
}

static const char *part_suffix(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e,
			       const struct ci_sdag *forall, const struct ci_sdag *part)
{
	return forall != NULL ? ci_fmt(ci, "e%d_%s_%s", forall->number, c->name, e->name) :
	       ci_fmt(ci, "%d_%s_%s", part->number, c->name, e->name);
}

/* Note the machine of a part, or of the parts of a forall. Returns its number among the parts of m. */
static int new_part(struct machine *m, const struct ci_sdag *forall, const struct ci_sdag *part,
		    const struct scope *scope)
{
	struct ci *ci = m->o->ci;
	struct machine *p = ci_alloc(ci, sizeof *p), *last = m;

	*p = (struct machine){.o = m->o, .c = m->c, .e = m->e, .up = m, .forall = forall, .level = m->level + 1,
			      .suffix = part_suffix(ci, m->c, m->e, forall, part), .opens = "", .parts = ""};
	p->last = &p->places;
	p->first = forall != NULL ? forall->body : alone(ci, part);
	p->scope = forall != NULL ? with_local(p, forall, forall->locals, scope) : scope;
	while (last->next != NULL)
		last = last->next;
	last->next = p;
	m->parts = ci_fmt(ci, "%s\t&ck_body%s,\n", m->parts, p->suffix);
	return m->n_parts++;
}

static void join(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	const int place = new_place(m, NULL, at, 0, 0, x->tok->line);

	PUT("if (!CkGen_join(ck_run, %d))\n", place);
	PUT("\treturn false;\n");
	ci_put(m->o, "ck_at%d:;\n", place);
	PUT("CkGen_joined(ck_run);\n");
}

static void overlap(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	if (!has_parts(x)) {
		plain_overlap(m, x, at, depth);
		return;
	}
	PUT("CkGen_split(ck_run);\n");
	for (const struct ci_sdag *part = x->body; part != NULL; part = part->next)
		PUT("CkGen_part(ck_run, %d, 0);\n", new_part(m, NULL, part, at->scope));
	join(m, x, at, depth);
}

static void forall(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	const int id = x->number;

	region(m, at->scope, depth);
	depth++;
	bounds(m, x, depth);
	store_changed(m, at->scope, &(struct printed){.forall = x}, depth);
	PUT("CkGen_split(ck_run);\n");
	PUT("for (int ck_f%d = 0; ck_f%d < ck_n%d; ck_f%d++)\n", id, id, id, id);
	PUT("\tCkGen_part(ck_run, %d, ck_l%d + ck_f%d * ck_d%d);\n", new_part(m, x, NULL, at->scope), id, id, id);
	depth--;
	PUT("}\n");
	join(m, x, at, depth);
}

/* ---- all statements --------------------------------------------------------------------------------------- */

static void statement(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	static const struct ci_expr none;

	switch (x->kind) {
	case CI_SDAG_BLOCK:
		statements(m, x->body, at, depth);
		break;
	case CI_SDAG_SERIAL:
		break; /* it does not wait */
	case CI_SDAG_WHEN:
		when(m, x, at, depth);
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
		forall(m, x, at, depth);
		break;
	case CI_SDAG_OVERLAP:
		overlap(m, x, at, depth);
		break;
	case CI_SDAG_CASE:
		case_(m, x, at, depth);
		break;
	}
}

/* Those that do not wait, up to the next one that does, share a region. */
static void statements(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	while (x != NULL) {
		const struct ci_sdag *end = x;

		while (end != NULL && !waits(end))
			end = end->next;
		if (end != x) {
			region(m, at->scope, depth);
			plain_statements(m, x, end, depth + 1);
			region_end(m, at->scope, &(struct printed){.from = x, .end = end}, depth);
		}
		if (end == NULL)
			return;
		statement(m, end, at, depth);
		x = end->next;
	}
}

/* ---- the run's struct ---------------------------------------------------------------------------------- */

static void members_of_calls(struct ci_out *o, const struct ci_chare *c, const struct ci_sdag *x)
{
	int i = 0;

	for (const struct ci_awaited *a = x->calls; a != NULL; a = a->next, i++) {
		if (a->entry->params != NULL)
			ci_put(o, "\tstruct ck_in_%s_%s ck_i%d_%d;\n", c->name, a->entry->name, x->number, i);
	}
}

static void members_of_locals(struct ci_out *o, const struct ci_sdag *x)
{
	for (const struct ci_local *v = x->locals; v != NULL; v = v->next) {
		const struct scope s = {.type = v->type};

		ci_put_line(o, x->tok);
		ci_put(o, "\t%s%s%s;\n", v->type + (is_constant(&s) ? 6 : 0), local_member(o->ci, x, v), v->dims);
		ci_put_line_back(o);
	}
}

/* What lives across a when, in these statements; but not in those of parts. */
static void members(struct ci_out *o, const struct ci_chare *c, const struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		if (!waits(x) || has_parts(x))
			continue;
		members_of_calls(o, c, x);
		if (x->kind == CI_SDAG_FOR)
			members_of_locals(o, x);
		if (x->kind == CI_SDAG_OVERLAP)
			ci_put(o, "\tint ck_n%d;\n", x->number);
		members(o, c, x->body);
		members(o, c, x->other);
	}
}

static int slots_in(const struct ci_sdag *x);

static int slots_of(const struct ci_sdag *x)
{
	int in = slots_in(x->body), other = slots_in(x->other);

	if (x->kind == CI_SDAG_WHEN)
		return count_calls(x) + in;
	if (x->kind != CI_SDAG_CASE && x->kind != CI_SDAG_OVERLAP)
		return in > other ? in : other;
	in = 0;
	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next) {
		const int inside = slots_in(w->body);

		in = inside > in ? inside : in;
	}
	return count_all_calls(x) + in;
}

/* The slots that the calls of these statements need at a time. */
static int slots_in(const struct ci_sdag *x)
{
	int most = 0;

	for (; x != NULL; x = x->next) {
		const int n = waits(x) && !has_parts(x) ? slots_of(x) : 0;

		most = n > most ? n : most;
	}
	return most;
}

static void run_struct(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, const char *suffix,
		       const struct ci_sdag *first, const struct ci_sdag *forall, bool is_part)
{
	const int n_slots = slots_in(first);

	ci_put(o, "struct ck_run%s {\n\tCkGenRun ck;\n", suffix);
	if (n_slots != 0)
		ci_put(o, "\tCkGenSlot ck_slot[%d];\n", n_slots);
	if (!is_part && e->params != NULL)
		ci_put(o, "\tstruct ck_in_%s_%s ck_in;\n", c->name, e->name);
	if (forall != NULL)
		members_of_locals(o, forall);
	members(o, c, first);
	ci_put(o, "};\n\n");
}

static void part_structs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			 const struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		part_structs(o, c, e, x->body);
		part_structs(o, c, e, x->other);
		if (!has_parts(x))
			continue;
		if (x->kind == CI_SDAG_FORALL) {
			run_struct(o, c, e, part_suffix(o->ci, c, e, x, NULL), x->body, x, true);
			continue;
		}
		for (const struct ci_sdag *part = x->body; part != NULL; part = part->next)
			run_struct(o, c, e, part_suffix(o->ci, c, e, NULL, part), alone(o->ci, part), NULL, true);
	}
}

/* ---- the functions ------------------------------------------------------------------------------------ */

/* At the end, because the places are known only there. */
static void jumps(const struct machine *m)
{
	int i = 0;

	ci_put(m->o, "ck_goes_on:;\n\tswitch (ck_run->at) {\n");
	for (const struct place *p = m->places; p != NULL; p = p->next) {
		i++;
		ci_put(m->o, "\tcase %d:\n\t\tgoto ck_at%d;\n", i, i);
	}
	ci_put(m->o, "\tdefault:\n\t\treturn true;\n\t}\n");
}

static void go_head(const struct machine *m)
{
	const char *from = "ck_run";

	ci_put(m->o, "static bool ck_go%s(void *ck_self, CkGenRun *ck_run)\n{\n"
	       "\t%s *const self = (%s *)ck_self;\n"
	       "\tstruct ck_run%s *const ck_r = (struct ck_run%s *)(void *)ck_run;\n", m->suffix, m->c->name,
	       m->c->name, m->suffix, m->suffix);
	for (const struct machine *up = m->up; up != NULL; up = up->up) {
		ci_put(m->o, "\tconst struct ck_run%s *const ck_up%d = (const struct ck_run%s *)(void *)%s%sup;\n",
		       up->suffix, up->level, up->suffix, from, strcmp(from, "ck_run") == 0 ? "->" : "->ck.");
		from = ci_fmt(m->o->ci, "ck_up%d", up->level);
	}
	ci_put(m->o, "\tbool ck_go = false;\n\n\t(void)self;\n\t(void)ck_r;\n\t(void)ck_go;\n");
	for (const struct machine *up = m->up; up != NULL; up = up->up)
		ci_put(m->o, "\t(void)ck_up%d;\n", up->level);
}

static const struct scope *with_params(const struct machine *m, const struct ci_param *q)
{
	const struct scope *scope = NULL;

	for (; q != NULL; q = q->next) {
		struct scope *s = ci_alloc(m->o->ci, sizeof *s);

		*s = (struct scope){scope, gen_param_type(m->o->ci, q, true), q->name, "",
				    ci_fmt(m->o->ci, "ck_in.%s", q->name), 0};
		scope = s;
	}
	return scope;
}

/* What is open in all of the body: its own call. */
static int open_own(struct machine *m)
{
	struct ci *ci = m->o->ci;
	const char *x = ci_fmt(ci, "%s_%s", m->c->name, m->e->name);

	if (m->up != NULL)
		return -1;
	return new_open(m, -1, -1, -1, m->e->params != NULL ? "ck_in" : NULL,
			m->e->params != NULL ? ci_fmt(ci, "sizeof(struct ck_in_%s)", x) : "0",
			gen_has_pointers(m->e) ? ci_fmt(ci, "ck_pointers_%s, %d, NULL", x, gen_count_pointers(m->e)) :
			"NULL, 0, NULL");
}

static void go(struct machine *m)
{
	struct at at = {.scope = m->scope, .around = -1};

	at.open = open_own(m);
	go_head(m);
	if (any_waits(m->first))
		ci_put(m->o, "\tif (ck_run->at != 0)\n\t\tgoto ck_goes_on;\n");
	statements(m, m->first, &at, 1);
	ci_put(m->o, "\treturn true;\n");
	if (any_waits(m->first))
		jumps(m);
	ci_put(m->o, "}\n\n");
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static void wanted(const struct machine *m, const struct place *p, int number)
{
	const bool all = p->x->kind != CI_SDAG_WHEN;
	int alternative = 0;

	ci_put(m->o, "static const CkGenWanted ck_wanted%s_%d[] = {", m->suffix, number);
	for (const struct ci_sdag *w = all ? p->x->body : p->x; w != NULL; w = all ? w->next : NULL) {
		if (w->kind != CI_SDAG_WHEN)
			continue;
		for (const struct ci_awaited *a = w->calls; a != NULL; a = a->next)
			ci_put(m->o, "{%d, %d, %d}, ", a->entry->number, alternative, a->by_number);
		alternative++;
	}
	ci_put(m->o, "};\n");
}

static void place_row(const struct machine *m, const struct place *p, int number)
{
	struct ci *ci = m->o->ci;

	ci_put(m->o, "\t{%s, %d, %d, %d, %s},\n", p->x != NULL ? ci_fmt(ci, "ck_wanted%s_%d", m->suffix, number) :
	       "NULL", p->n, p->slot, p->line, p->open < 0 ? "NULL" :
	       ci_fmt(ci, "&ck_open%s_%d", m->suffix, p->open));
}

static void place_table(const struct machine *m)
{
	int number = 0;

	for (const struct place *p = m->places; p != NULL; p = p->next) {
		number++;
		if (p->x != NULL)
			wanted(m, p, number);
	}
	ci_put(m->o, "static const CkGenPlace ck_places%s[] = {\n\t{NULL, 0, 0, %d, NULL},\n", m->suffix,
	       m->e->tok->line);
	number = 0;
	for (const struct place *p = m->places; p != NULL; p = p->next)
		place_row(m, p, ++number);
	ci_put(m->o, "};\n");
}

/* Where the runtime finds what it puts into the run: the parameters of the call, the number of the part. */
static const char *input_of(const struct machine *m)
{
	struct ci *ci = m->o->ci;

	if (m->up == NULL && m->e->params != NULL)
		return ci_fmt(ci, "offsetof(struct ck_run%s, ck_in)", m->suffix);
	if (m->forall == NULL)
		return "0";
	return ci_fmt(ci, "offsetof(struct ck_run%s, %s)", m->suffix, local_member(ci, m->forall, m->forall->locals));
}

static void body_constant(const struct machine *m)
{
	struct ci_out *o = m->o;
	const char *file = strrchr(m->e->tok->path, '/');

	ci_put(o, "%s", m->opens);
	place_table(m);
	if (m->n_parts != 0)
		ci_put(o, "static const CkGenBody *const ck_parts%s[] = {\n%s};\n", m->suffix, m->parts);
	ci_put(o, "static const CkGenBody ck_body%s = {\n\tck_go%s, \"", m->suffix, m->suffix);
	for (const char *s = file != NULL ? file + 1 : m->e->tok->path; *s != '\0'; s++)
		ci_put(o, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	ci_put(o, "\", %d, sizeof(struct ck_run%s), %s, %d,\n\tck_places%s, %d, %s, %d\n};\n\n", m->e->number, m->suffix,
	       input_of(m), slots_in(m->first), m->suffix, m->n_places + 1,
	       m->n_parts != 0 ? ci_fmt(o->ci, "ck_parts%s", m->suffix) : "NULL", m->n_parts);
}

/* The bodies of parts stand before the one that starts them. */
static void body_constants(const struct machine *m)
{
	if (m == NULL)
		return;
	body_constants(m->next);
	body_constant(m);
}

/* ---- entries --------------------------------------------------------------------------------------------- */

void gen_body(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	struct machine root = {.o = o, .c = c, .e = e, .first = e->body, .opens = "", .parts = "",
			       .suffix = ci_fmt(o->ci, "_%s_%s", c->name, e->name)};

	root.last = &root.places;
	root.scope = with_params(&root, e->params);
	run_struct(o, c, e, root.suffix, e->body, NULL, false);
	part_structs(o, c, e, e->body);
	for (struct machine *m = &root; m != NULL; m = m->next)
		go(m);
	body_constants(&root);
}

bool gen_bodies(struct ci_out *o, const struct ci_chare *c)
{
	bool any = false;

	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next)
		any |= e->body != NULL;
	if (!any)
		return false;
	ci_put(o, "static const CkGenBody *const ck_bodies_%s[] = {\n", c->name);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e))
		ci_put(o, e->body != NULL ? "\t&ck_body_%s_%s,\n" : "\tNULL,\n", c->name, e->name);
	ci_put(o, "};\n");
	return true;
}

static bool is_pointer(const struct ci_param *q)
{
	return q->kind != CI_PARAM_VALUE || q->type.class_ == CI_PUP;
}

int gen_count_pointers(const struct ci_entry *e)
{
	int n = 0;

	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		n += is_pointer(q);
	return n;
}

bool gen_has_pointers(const struct ci_entry *e)
{
	return gen_count_pointers(e) != 0;
}

/* The members of struct ck_in_X_f that point into a call. */
static void pointers(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static const CkGenPointer ck_pointers_%s_%s[] = {\n", c->name, e->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (is_pointer(q))
			ci_put(o, "\t{offsetof(struct ck_in_%s_%s, %s), %s, \"%s\"},\n", c->name, e->name, q->name,
			       q->posted ? "CKGEN_OF_PROGRAM" : q->type.class_ == CI_PUP ? "CKGEN_OF_PUP" :
			       q->kind == CI_PARAM_NOCOPY ? "CKGEN_OF_CALLER" : "CKGEN_OF_CALL", q->name);
	}
	ci_put(o, "};\n");
}

void gen_inputs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (e->params == NULL)
		return;
	ci_put(o, "struct ck_in_%s_%s {\n", c->name, e->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, "\t%s%s;\n", gen_param_type(o->ci, q, true), q->name);
	ci_put(o, "};\n");
	if (gen_has_pointers(e))
		pointers(o, c, e);
	ci_put(o, "\nstatic void ck_take_%s_%s(struct ck_in_%s_%s *ck_to", c->name, e->name, c->name, e->name);
	gen_handler_params(o, e, ", ");
	ci_put(o, ")\n{\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, "\tck_to->%s = %s;\n", q->name, q->name);
	ci_put(o, "}\n\n");
}
