/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_sdag.c: prints the bodies of Structured Dagger as state machines. A struct, the body's run,
 * has everything that lives across a `when`: parameters, calls that whens have taken, variables of
 * `for`. The function continues at the run's position, until it has to wait again or ends:
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
 * If the branches of an `overlap` are plain code or whens around plain code, the body itself takes
 * the calls in the order of arrival. Other overlaps, and a `forall` that waits, give each branch a
 * run and a function of its own: ck_go_X_f_N. There the variables around it are constant; they stay
 * in the run around it.
 */
#include "sdag_int.h"

#include <string.h>

/* ---- the functions ----------------------------------------------------------------------------- */

/* At the end, because only then the positions are known. */
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
	return sdag_new_open(m, -1, -1, -1, m->e->params != NULL ? "ck_in" : NULL,
			     m->e->params != NULL ? ci_fmt(ci, "sizeof(struct ck_in_%s)", x) : "0",
			     gen_has_pointers(m->e) ? ci_fmt(ci, "ck_pointers_%s, %d, NULL", x, gen_count_pointers(m->e)) :
			     "NULL, 0, NULL");
}

static void go(struct machine *m)
{
	struct at at = {.scope = m->scope, .around = -1};

	at.open = open_own(m);
	go_head(m);
	if (sdag_any_waits(m->first))
		ci_put(m->o, "\tif (ck_run->at != 0)\n\t\tgoto ck_goes_on;\n");
	sdag_statements(m, m->first, &at, 1);
	ci_put(m->o, "\treturn true;\n");
	if (sdag_any_waits(m->first))
		jumps(m);
	ci_put(m->o, "}\n\n");
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* Only an `int` is compared without the program's function. */
static bool is_by_function(const struct ci_awaited *a)
{
	return a->by_number && gen_has_number(a->entry) &&
	       strcmp(a->entry->params->type.text, "int") != 0;
}

/* How a call with a number is found: CkGenWanted.by_number. */
static const char *by_number(const struct machine *m, const struct ci_awaited *a)
{
	const struct ci_entry *e = a->entry;

	if (!a->by_number)
		return "0";
	if (is_by_function(a))
		return "CKGEN_BY_FUNCTION";
	if (!gen_has_number(e))
		return "CKGEN_REFNUM_AT";
	return ci_fmt(m->o->ci, "CKGEN_HEAD + (int)offsetof(struct ck_args_%s_%s, %s)", m->c->name,
		      e->name, e->params->name);
}

static bool any_twice(const struct ci_awaited *a)
{
	for (; a != NULL; a = a->next) {
		for (const struct ci_awaited *b = a->next; b != NULL; b = b->next) {
			if (b->entry == a->entry)
				return true;
		}
	}
	return false;
}

static const char *kind_of(const struct ci_sdag *when)
{
	for (const struct ci_awaited *a = when->calls; a != NULL; a = a->next) {
		if (is_by_function(a))
			return "CKGEN_HARD";
	}
	if (any_twice(when->calls))
		return "CKGEN_HARD";
	return sdag_count_calls(when) > 1 ? "CKGEN_SEVERAL" : "CKGEN_ALONE";
}

static void wanted(const struct machine *m, const struct place *p, int number)
{
	const bool all = p->x->kind != CI_SDAG_WHEN;
	int alternative = 0, first = 0;

	ci_put(m->o, "static const CkGenWanted ck_wanted%s_%d[] = {", m->suffix, number);
	for (const struct ci_sdag *w = all ? p->x->body : p->x; w != NULL; w = all ? w->next : NULL) {
		if (w->kind != CI_SDAG_WHEN)
			continue;
		for (const struct ci_awaited *a = w->calls; a != NULL; a = a->next)
			ci_put(m->o, "{%d, %s, %d, %s, %d, %d}, ", a->entry->number, kind_of(w),
			       alternative, by_number(m, a), first, sdag_count_calls(w));
		first += sdag_count_calls(w);
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

/* The offset in the run of the runtime's input: the parameters of the call, the number of the
 * branch. */
static const char *input_of(const struct machine *m)
{
	struct ci *ci = m->o->ci;

	if (m->up == NULL && m->e->params != NULL)
		return ci_fmt(ci, "offsetof(struct ck_run%s, ck_in)", m->suffix);
	if (m->forall == NULL)
		return "0";
	return ci_fmt(ci, "offsetof(struct ck_run%s, %s)", m->suffix, sdag_local_member(ci, m->forall, m->forall->locals));
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
	       input_of(m), sdag_slots_in(m->first), m->suffix, m->n_places + 1,
	       m->n_parts != 0 ? ci_fmt(o->ci, "ck_parts%s", m->suffix) : "NULL", m->n_parts);
}

/* The bodies of branches precede the one that starts them. */
static void body_constants(const struct machine *m)
{
	if (m == NULL)
		return;
	body_constants(m->next);
	body_constant(m);
}

/* ---- entries ----------------------------------------------------------------------------------- */

void gen_body(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	struct machine root = {.o = o, .c = c, .e = e, .first = e->body, .opens = "", .parts = "",
			       .suffix = ci_fmt(o->ci, "_%s_%s", c->name, e->name)};

	root.last = &root.places;
	root.scope = with_params(&root, e->params);
	sdag_run_struct(o, c, e, root.suffix, e->body, NULL, false);
	sdag_part_structs(o, c, e, e->body);
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
