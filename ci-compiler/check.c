/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c: checks modules, readonlies, messages and chares; check_entry.c checks entry methods.
 */
#include "check.h"
#include "check_int.h"

#include <stdint.h>
#include <string.h>

void check_not_self(struct checker *c, const struct ci_tok *name)
{
	if (strcmp(name->s, "self") == 0)
		ci_error(c->ci, name->at, "choose another name",
			 "'self' is the handler's first parameter: the chare");
}

/* ---- readonlies and messages ---------------------------------------------------------------- */

/* A fixed size is a constant: numbers, or names that a header defines. */
static bool check_dims(struct checker *c, const struct ci_field *f)
{
	for (const struct ci_tok *t = f->dims.from; t != f->dims.to; t++) {
		if (t->kind == TOK_NAME && c->module->includes == NULL && !check_is_capitals(t->s)) {
			ci_error(c->ci, t->at,
				 "write a number, or name the header that defines it: "
				 "include \"header.h\";",
				 "the size of '%s' must be a constant: '%s' is unknown here",
				 f->name, t->s);
			return false;
		}
	}
	return true;
}

static bool may_be_message(const struct checker *c, const struct ci_type *type)
{
	return type->class_ == CI_USER && strncmp(type->text, "Ck", 2) != 0 &&
	       (c->module->externs != NULL || check_is_elsewhere(c, type->text) ||
		check_find_message(c, type->text) != NULL);
}

/* readonly M *m; */
static void check_readonly_message(struct checker *c, struct ci_field *f)
{
	enum ci_param_kind kind;

	f->kind = CI_FIELD_MESSAGE;
	if (check_variable_name(c, f->tok, f->name))
		check_pointer_type(c, &f->type, f->name, &kind);
}

/* Report an address in a readonly or a message, and say what C programs keep there instead. */
static void field_pointer(struct checker *c, const struct ci_field *f, bool in_message)
{
	const char *help = in_message ? NULL : check_pointer_advice(c, &f->type);

	if (in_message)
		help = ci_fmt(c->ci, "write a variable array: %s %s[];", f->type.text, f->name);
	else if (help == NULL && f->type.class_ == CI_USER)
		help = ci_fmt(c->ci, "write the struct itself: %s %s; or declare 'message %s { ... };'",
			      f->type.text, f->name, f->type.tok->s);
	else if (help == NULL)
		help = ci_fmt(c->ci, "write a fixed array: %s %s[64];", f->type.text, f->name);
	ci_error(c->ci, f->type.tok->at, help,
		 "a pointer means nothing on another node: '%s' cannot be %s", f->name,
		 in_message ? "in a message" : "readonly");
}

static void check_field(struct checker *c, struct ci_field *f, bool in_message)
{
	if (f->bad)
		return;
	if (!in_message && f->type.stars == 1 && f->dims.from == f->dims.to &&
	    may_be_message(c, &f->type)) {
		check_readonly_message(c, f);
		return;
	}
	if (!in_message)
		check_not_self(c, f->tok);
	if (f->type.stars != 0) {
		field_pointer(c, f, in_message);
		return;
	}
	if (strcmp(f->name, f->type.text) == 0)
		ci_error(c->ci, f->tok->at, ci_fmt(c->ci, "write %s_, for example", f->name),
			 "'%s' has the name of its type", f->name);
	else if (check_variable_name(c, f->tok, f->name) &&
		 check_value_type(c, &f->type) && check_dims(c, f) && f->type.class_ == CI_PUP)
		ci_error(c->ci, f->type.tok->at,
			 "send it as a parameter of an entry method; that packs it",
			 "'%s' is packed by %s_pup, and %s is copied as it is", f->name,
			 f->type.tok->s, in_message ? "a message" : "a readonly");
}

static void check_message(struct checker *c, struct ci_message *m)
{
	check_not_self(c, m->tok);
	for (struct ci_field *f = m->fields; f != NULL; f = f->next) {
		const struct ci_field *first = m->fields;

		check_field(c, f, true);
		m->n_var += f->kind == CI_FIELD_VAR;
		while (strcmp(first->name, f->name) != 0)
			first = first->next;
		if (first != f)
			ci_error(c->ci, f->tok->at, "choose another name",
				 "message '%s' has two members named '%s'", m->name, f->name);
	}
	if (m->fields == NULL && !m->own && !c->parse_failed)
		ci_error(c->ci, m->tok->at,
			 "add a member; to send no data, write an entry method without parameters",
			 "message '%s' has no members", m->name);
}

/* ---- chares --------------------------------------------------------------------------------- */

static bool same_params(const struct ci_entry *a, const struct ci_entry *b)
{
	const struct ci_param *p = a->params;
	const struct ci_param *q = b->params;

	while (p != NULL && q != NULL && p->type.text != NULL && q->type.text != NULL &&
	       strcmp(p->type.text, q->type.text) == 0 && p->type.stars == q->type.stars &&
	       p->kind == q->kind) {
		p = p->next;
		q = q->next;
	}
	return p == NULL && q == NULL;
}

static void check_doubled(struct checker *c, const struct ci_chare *chare, struct ci_entry *e)
{
	const struct ci_entry *first = chare->entries;

	while (strcmp(first->name, e->name) != 0)
		first = first->next;
	if (first == e)
		return;
	e->bad = true;
	if (c->ci->had_directive)
		return;
	if (same_params(first, e))
		ci_error(c->ci, e->tok->at, "remove one of them",
			 "entry method '%s' is declared twice, first on line %d", e->name,
			 first->tok->line);
	else
		ci_error(c->ci, e->tok->at, "give it another name",
			 "a second entry method '%s' (first: line %d) needs C++: there is no "
			 "overloading in C", e->name, first->tok->line);
}

/* `array [Foo]`: a small struct that the C compiler knows. */
static void check_index(struct checker *c, struct ci_chare *chare)
{
	struct ci_type *type = &chare->index;

	if (type->stars != 0)
		ci_error(c->ci, type->tok->at, ci_fmt(c->ci, "write array [%s]", type->text),
			 "an index is a value, not a pointer");
	else if (!check_is_foreign(c, type))
		ci_error(c->ci, type->tok->at,
			 "write [1D] to [6D], or a struct of your own of at most 12 bytes, without "
			 "gaps", "'%s' cannot be the index of an array", type->text);
	else
		check_value_type(c, type);
}

static void check_chare(struct checker *c, struct ci_chare *chare)
{
	int number = 1;

	check_not_self(c, chare->tok);
	if (chare->index.text != NULL)
		check_index(c, chare);
	if (chare->ctor != NULL)
		check_entry(c, chare, chare->ctor);
	else if (!c->parse_failed)
		ci_error(c->ci, chare->tok->at,
			 ci_fmt(c->ci, "write 'entry %s(%s);'", chare->name,
				chare->kind == CI_MAINCHARE ? "CkArgMsg *m" : ""),
			 "'%s' has no constructor", chare->name);
	for (struct ci_entry *e = chare->entries; e != NULL && !ci_gave_up(c->ci); e = e->next) {
		e->number = number++;
		check_entry(c, chare, e);
		check_doubled(c, chare, e);
	}
	check_sdag(c, chare);
	if (number > UINT16_MAX)
		ci_error(c->ci, chare->tok->at, NULL, "'%s' has more than %d entry methods",
			 chare->name, UINT16_MAX - 1);
}

/* ---- modules -------------------------------------------------------------------------------- */

static void check_module(struct checker *c)
{
	for (const struct ci_item *x = c->module->externs; x != NULL; x = x->next) {
		if (strcmp(x->name, c->module->name) == 0)
			ci_error(c->ci, x->tok->at, "remove it",
				 "module '%s' declares itself as extern", x->name);
	}
	for (struct ci_pup *x = c->module->pups; x != NULL; x = x->next)
		check_pup(c, x);
	for (struct ci_field *r = c->module->readonlies; r != NULL; r = r->next)
		check_field(c, r, false);
	for (struct ci_message *m = c->module->messages; m != NULL; m = m->next)
		check_message(c, m);
	for (struct ci_chare *x = c->module->chares; x != NULL && !ci_gave_up(c->ci); x = x->next)
		check_chare(c, x);
}

static void check_one_main(struct checker *c)
{
	const struct ci_module *main_module = NULL;

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		if (m->main && main_module != NULL)
			ci_error(c->ci, m->tok->at,
				 ci_fmt(c->ci, "write 'module %s', and 'extern module %s;' in '%s'",
					m->name, m->name, main_module->name),
				 "a program has one mainmodule, and '%s' (line %d) is it",
				 main_module->name, main_module->tok->line);
		else if (m->main)
			main_module = m;
	}
}

void ci_check(struct ci *ci, struct ci_module *modules)
{
	struct checker c = {.ci = ci, .modules = modules, .parse_failed = ci->n_errors > 0};

	check_one_main(&c);
	check_modules(&c);
	check_link_pups(&c);
	for (c.module = modules; c.module != NULL && !ci_gave_up(ci); c.module = c.module->next)
		check_module(&c);
	if (!ci_gave_up(ci))
		check_collisions(&c);
}
