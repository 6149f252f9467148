/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_chare.c: the rules for chares and their entry methods.
 *
 *   chare      := ( 'mainchare' | 'group' | 'array' '[' nD ']' ) name '{' { entry } '}' [';']
 *   entry      := 'entry' [ attributes ] [ 'void' ] name params ';'
 *   attributes := '[' name { ',' name } ']'
 *
 * What Charm++ has and ckci has not is known by name here, so that the user reads what to do
 * instead of a syntax error.
 */
#include "parse_int.h"

#include <string.h>

/* ---- attributes --------------------------------------------------------------------------- */

struct attribute {
	const char *name;
	unsigned flag;           /* 0 with instead NULL: accepted, changes nothing */
	const char *instead;     /* not NULL: refused */
};

static const struct attribute attributes_known[] = {
	{"reductiontarget", CI_REDUCTION_TARGET, NULL},
	{"expedited", CI_EXPEDITED, NULL},
	{"nokeep", 0, NULL},
	{"notrace", 0, NULL},
	{"threaded", 0, "split the handler where it waits; the second half is an entry method "
		"that the answer calls"},
	{"sync", 0, "take a CkCallback parameter and send the answer to it"},
	{"when", 0, "keep early calls in the chare's struct and use them when their turn comes"},
	{"exclusive", 0, "use a group: its entry methods run one at a time anyway"},
	{"immediate", 0, "use [expedited]: it is served before everything queued"},
	{"inline", 0, "take it out: a call on the same PE is cheap; or get the element by "
		"X_ckLocal and call your own function"},
	{"local", 0, "get the element by X_ckLocal and call your own function"},
	{"createhere", 0, "create all elements with X_ckNew"},
	{"createhome", 0, "create all elements with X_ckNew"},
	{"aggregate", 0, "send one call with an array parameter instead of many small ones"},
	{"python", 0, "write an entry method in C and call it from there"},
	{"accel", 0, "start the accelerator's work in the handler"},
	{"whenidle", 0, "take it out and call the entry method again from its own handler"},
	{"memcritical", 0, "take it out"},
	{"appwork", 0, "take it out"},
	{"stacksize", 0, "take it out: handlers run on the PE's own stack"},
	{"iget", 0, "use a CkDirect channel"},
	{"nocopy", 0, "use a CkDirect channel for large data of a fixed size"},
	{"nocopypost", 0, "use a CkDirect channel for large data of a fixed size"},
	{"virtual", 0, "take it out: there is no inheritance"},
	{"migratable", 0, "take it out: elements stay where they were created"},
	{NULL, 0, NULL}
};

static const struct attribute *attribute_find(const char *name)
{
	const struct attribute *a = attributes_known;

	while (a->name != NULL && strcmp(a->name, name) != 0)
		a++;
	return a->name != NULL ? a : NULL;
}

static void attribute_unknown(struct parser *p)
{
	const char *names[sizeof attributes_known / sizeof attributes_known[0]];
	const char *guess;
	size_t i = 0;

	for (; attributes_known[i].name != NULL; i++)
		names[i] = attributes_known[i].name;
	names[i] = NULL;
	guess = ci_nearest(p->t->s, names);
	ci_error(p->ci, p->t->at, guess != NULL ? ci_fmt(p->ci, "did you mean '%s'?", guess) :
		 "ckci knows reductiontarget, expedited, nokeep and notrace",
		 "unknown attribute '%s'", p->t->s);
}

static bool attribute(struct parser *p, struct ci_entry *e)
{
	const struct attribute *a;

	if (p->t->kind != TOK_NAME)
		return p_unexpected(p, "an attribute", NULL);
	a = attribute_find(p->t->s);
	if (a == NULL)
		attribute_unknown(p);
	else if (a->instead != NULL)
		p_later(p, p->t, ci_fmt(p->ci, "the attribute '%s'", a->name), a->instead);
	else
		e->attrs |= a->flag;
	if (a == NULL || a->instead != NULL)
		e->bad = true;
	p->t++;
	if (p_accept(p, "="))
		p->t += p->t->kind == TOK_NUMBER || p->t->kind == TOK_NAME;
	if (p_is(p, "("))
		p_skip_balanced(p);
	return true;
}

static bool attributes(struct parser *p, struct ci_entry *e)
{
	if (!p_accept(p, "["))
		return true;
	do {
		if (!attribute(p, e))
			return false;
	} while (p_accept(p, ","));
	return p_accept(p, "]") || p_missing(p, "',' or ']'", NULL);
}

/* ---- entries ------------------------------------------------------------------------------ */

static bool constructor_name(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	e->tok = p_new_name(p, "constructor");
	if (e->tok == NULL)
		return false;
	e->ctor = true;
	e->name = "new";
	if (strcmp(e->tok->s, c->name) == 0)
		return true;
	ci_error(p->ci, e->tok->at,
		 ci_fmt(p->ci, "write 'entry %s(...)' for the constructor, 'entry void %s(...)' "
			"for an entry method", c->name, e->tok->s),
		 "'%s' has no return type, so it is a constructor, but the chare is '%s'",
		 e->tok->s, c->name);
	e->bad = true;
	return true;
}

static bool method_name(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	struct ci_type type;

	if (!p_type(p, &type))
		return false;
	e->tok = p_new_name(p, "entry method");
	if (e->tok == NULL)
		return false;
	e->name = e->tok->s;
	if ((type.class_ != CI_VOID || type.stars != 0) && !e->bad) {
		ci_error(p->ci, type.tok->at,
			 ci_fmt(p->ci, "write 'entry void %s(...)'; to answer, take a CkCallback "
				"parameter or call an entry method of the asker", e->name),
			 "entry method '%s' returns '%s%s': a call does not wait for an answer",
			 e->name, type.text, type.stars != 0 ? " *" : "");
		e->bad = true;
	}
	if (strcmp(e->name, c->name) != 0)
		return true;
	if (!e->bad)
		ci_error(p->ci, type.tok->at, ci_fmt(p->ci, "write 'entry %s(...)'", c->name),
			 "the constructor of '%s' has no return type", c->name);
	e->ctor = e->bad = true;
	return true;
}

static bool entry_name(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	if (p_is(p, "~")) {
		ci_error(p->ci, p->t->at, "take it out: a chare lives until the job ends",
			 "a destructor is no entry method");
		return false;
	}
	if (p->t->kind == TOK_NAME && (p_next_is(p, "(") || p_next_is(p, "-")))
		return constructor_name(p, c, e);
	return method_name(p, c, e);
}

/* Structured Dagger: a body, or a body without braces that starts with one of its words. */
static bool sdag_body(struct parser *p)
{
	if (!p_is(p, "{") && !p_is(p, "when") && !p_is(p, "serial") && !p_is(p, "atomic"))
		return false;
	p_later(p, p->t, "a body in the .ci file (Structured Dagger)",
		"end the entry with ';' and write the handler in C; where the body waits with "
		"'when', count arrivals in the chare's struct");
	if (p_is(p, "{"))
		p_skip_balanced(p);
	else
		p_skip_statement(p);
	p_accept(p, ";");
	return true;
}

static void entry_add(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	struct ci_entry **link = &c->entries;

	if (e->ctor && c->ctor == NULL) {
		c->ctor = e;
		return;
	}
	if (e->ctor && p_next_is(p, "CkMigrateMessage")) {
		p_later(p, e->tok, "migration (this constructor)",
			"take it out: elements stay where they were created");
		return;
	}
	if (e->ctor) {
		if (!e->bad && !c->ctor->bad)
			p_cpp(p, e->tok, ci_fmt(p->ci, "a second constructor of '%s'", c->name),
			      "keep one, with all the parameters; an entry method can do the rest");
		return;
	}
	while (*link != NULL)
		link = &(*link)->next;
	*link = e;
}

static bool entry_rest(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	if (!attributes(p, e) || !entry_name(p, c, e))
		return false;
	/* Added before its parameters are read: an error there must not hide the name. */
	entry_add(p, c, e);
	if (!p_params(p, &e->params)) {
		e->bad = true;
		return false;
	}
	for (struct ci_param *q = e->params; q != NULL; q = q->next)
		e->bad |= q->bad;
	if (sdag_body(p)) {
		e->bad = true;
		return true;
	}
	return p_expect(p, ";");
}

static void entry(struct parser *p, struct ci_chare *c)
{
	struct ci_entry *e = ci_alloc(p->ci, sizeof *e);

	p->t++;
	if (!entry_rest(p, c, e))
		p_skip_statement(p);
}

/* ---- members -------------------------------------------------------------------------------- */

/* What stands in a chare without `entry` before it. */
static void other_member(struct parser *p, struct ci_chare *c)
{
	if (p_is(p, "template") || p_is(p, "extern"))
		p_cpp(p, p->t, "a template entry method", "write one entry method per type");
	else if (p_is(p, "initnode") || p_is(p, "initproc"))
		ci_error(p->ci, p->t->at, "move it out of the chare",
			 "'%s' belongs to the module, not to a chare", p->t->s);
	else if (p_is(p, "pup") || p_is(p, "PUPable"))
		p_later(p, p->t, "packing of chares (PUP)", "take it out");
	else
		p_unexpected(p, "'entry' or '}'",
			     ci_fmt(p->ci, "an entry method is 'entry void f(...);'; data members "
				    "go into 'struct %s' in your C file", c->name));
	/* Take one token at least: the loop over members must end. */
	if (!p_is(p, ";"))
		p->t++;
	p_skip_statement(p);
}

static void missing_brace(struct parser *p, const struct ci_chare *c)
{
	ci_error(p->ci, p->t->at,
		 ci_fmt(p->ci, "write the '}' of '%s', opened in line %d, before it", c->name,
			c->tok->line),
		 "'%s' cannot stand inside a chare", p->t->s);
}

static void members(struct parser *p, struct ci_chare *c, const struct ci_tok *open)
{
	while (!p_is(p, "}")) {
		if (p->t->kind == TOK_END) {
			if (!p->cut)
				ci_error(p->ci, open->at, NULL, "this '{' of '%s' is never closed",
					 c->name);
			return;
		}
		if (p_is(p, "entry")) {
			entry(p, c);
		} else if (p_is_section_word(p)) {
			missing_brace(p, c);
			return;
		} else if (p->t->kind == TOK_DIRECTIVE) {
			p_unexpected(p, "", NULL);
			p->t++;
		} else if (!p_accept(p, ";")) {
			other_member(p, c);
		}
	}
	p->t++;
	p_accept(p, ";");
}

/* ---- chares --------------------------------------------------------------------------------- */

static bool array_dimensions(struct parser *p, struct ci_chare *c)
{
	static const char *const dims[] = {"1D", "2D", "3D", "4D", "5D", "6D"};

	if (!p_accept(p, "["))
		return p_unexpected(p, "'[1D]', '[2D]' or '[3D]'", NULL);
	for (int i = 0; i < 6; i++) {
		if (p_is(p, dims[i]))
			c->nd = i + 1;
	}
	if (c->nd > 3)
		p_later(p, p->t, ci_fmt(p->ci, "an array of %d dimensions", c->nd),
			"use [3D] and put two of the indices into one");
	else if (c->nd == 0 && p->t->kind == TOK_NAME)
		p_later(p, p->t, "an array with an index type of your own",
			"use [1D], [2D] or [3D]");
	else if (c->nd == 0)
		return p_unexpected(p, "1D, 2D or 3D", "an array has 1 to 3 dimensions: [2D]");
	if (c->nd < 1 || c->nd > 3)
		c->kind = CI_LATER;
	p->t++;
	return p_expect(p, "]");
}

static bool chare_kind(struct parser *p, struct ci_chare *c)
{
	const struct ci_tok *word = p->t++;

	if (strcmp(word->s, "array") == 0) {
		c->kind = CI_ARRAY;
		return array_dimensions(p, c);
	}
	c->kind = strcmp(word->s, "mainchare") == 0 ? CI_MAINCHARE :
		  strcmp(word->s, "group") == 0 ? CI_GROUP : CI_LATER;
	if (strcmp(word->s, "nodegroup") == 0)
		p_later(p, word, "'nodegroup'", "use a group: one member per PE");
	else if (strcmp(word->s, "chare") == 0)
		p_later(p, word, "'chare'",
			"use an array [1D]; one element, created with X_ckNew(CkDims(1), ...), "
			"serves as a single chare");
	if (p_is(p, "[")) {
		p_later(p, p->t, ci_fmt(p->ci, "an attribute of a %s", word->s), "take it out");
		p_skip_balanced(p);
	}
	return true;
}

/* `: Base` and `<...>` behind the name. */
static void chare_extras(struct parser *p, const struct ci_chare *c)
{
	if (p_is(p, "<"))
		p_cpp(p, p->t, "a template chare", "write one chare per type");
	else if (p_is(p, ":"))
		p_cpp(p, p->t, "inheritance",
		      ci_fmt(p->ci, "repeat the entry methods in '%s'; its struct may contain "
			     "the base's struct", c->name));
	else
		return;
	while (p->t->kind != TOK_END && !p_is(p, "{") && !p_is(p, ";") && !p_is(p, "}"))
		p->t++;
}

static bool chare_rest(struct parser *p, struct ci_chare *c)
{
	const struct ci_tok *open;

	if (!chare_kind(p, c))
		return false;
	c->tok = p_new_name(p, "chare");
	if (c->tok == NULL)
		return false;
	c->name = c->tok->s;
	chare_extras(p, c);
	if (p_accept(p, ";"))
		return true;
	open = p->t;
	if (!p_expect(p, "{") && !p_is(p, "entry"))
		return false;
	members(p, c, open);
	return true;
}

void p_chare(struct parser *p)
{
	struct ci_chare *c = ci_alloc(p->ci, sizeof *c);
	struct ci_chare **link = &p->module->chares;

	c->module = p->module;
	if (!chare_rest(p, c))
		p_skip_statement(p);
	if (c->name == NULL)
		return;
	while (*link != NULL)
		link = &(*link)->next;
	*link = c;
}
