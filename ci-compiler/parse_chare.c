/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_chare.c: the grammar rules for chares and their entry methods.
 *
 *   chare      := kind { '[' 'migratable' ']' } name ( ';' | '{' { member } '}' [';'] )
 *   kind       := 'mainchare' | 'chare' | 'group' | 'nodegroup' | 'array' '[' index ']'
 *   index      := '1D' | '2D' | '3D' | '4D' | '5D' | '6D' | type
 *   member     := entry | readonly | init | include | class
 *   entry      := 'entry' [ attributes ] [ type ] name params [ stacksize ] ( ';' | body [';'] )
 *   stacksize  := 'stacksize' '=' length
 *   body       := Structured Dagger: parse_sdag.c
 *   attributes := '[' attribute { ',' attribute } ']'
 *   attribute  := name | stacksize | ( 'when' | 'count' | 'aggregate' ) '(' anything ')'
 *
 * The parser knows the names of what Charm++ has and ckci lacks, so that its error says what to write
 * instead.
 */
#include "parse_int.h"

#include <string.h>
#include <strings.h>

/* ---- attributes --------------------------------------------------------------------------- */

struct attribute {
	const char *name;
	unsigned flag;           /* 0 and instead is NULL: accepted, without effect */
	const char *instead;     /* not NULL: refused */
};

static const struct attribute attributes_known[] = {
	{"reductiontarget", CI_REDUCTION_TARGET, NULL},
	{"expedited", CI_EXPEDITED, NULL},
	{"threaded", CI_THREADED, NULL},
	{"stacksize", CI_STACKSIZE, NULL},
	{"sync", CI_SYNC, NULL},
	{"when", CI_WHEN, NULL},
	{"whenidle", CI_WHENIDLE, NULL},
	{"arrival", CI_ARRIVAL, NULL},
	{"channel", CI_CHANNEL, NULL},
	{"count", CI_COUNT, NULL},
	{"inline", CI_INLINE, NULL},
	{"local", CI_LOCAL, NULL},
	{"exclusive", CI_EXCLUSIVE, NULL},
	{"immediate", CI_IMMEDIATE, NULL},
	{"createhere", CI_CREATEHERE, NULL},
	{"createhome", CI_CREATEHOME, NULL},
	{"aggregate", CI_AGGREGATE, NULL},
	{"notrace", CI_NOTRACE, NULL},
	{"nokeep", 0, NULL},
	{"appwork", 0, NULL},
	{"memcritical", 0, NULL},
	{"virtual", 0, NULL},
	{"skipsched", 0, "write [expedited]: served before everything queued"},
	{"python", 0, "write an entry method in C and call it from there"},
	{"accel", 0, "start the accelerator's work in the handler"},
	{"iget", 0, "write [sync]; or send a CkFuture along, as a callback, and wait for it later"},
	{"nocopy", 0, "write it before the array, as in 'int n, nocopy double v[n]'"},
	{"nocopypost", 0, "write it before the array, as in 'int n, nocopypost double v[n]'"},
	{"nocopydevice", 0, "write nocopy before the array; the data must be in host memory"},
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
		 "ckci(1) lists the attributes",
		 "unknown attribute '%s'", p->t->s);
}

/* Read `(...)` with any tokens in it. Report a missing `)` and return false. */
static bool attribute_text(struct parser *p, struct ci_expr *e)
{
	const struct ci_tok *open = p->t;

	p_skip_balanced(p);
	e->from = open + 1;
	e->to = p->t - 1;
	if (strcmp(e->to->s, ")") == 0)
		return true;
	if (!p->cut)
		ci_error(p->ci, open->at, NULL, "this '(' is never closed");
	return false;
}

bool p_stacksize(struct parser *p, struct ci_expr *e)
{
	if (!p_accept(p, "="))
		return p_unexpected(p, "'='", "write the size in bytes: [threaded, stacksize=65536]");
	return p_is(p, "]") || p_is(p, ",") || p_is(p, ";") ?
	       p_unexpected(p, "the stack's size", "write [threaded, stacksize=65536]") :
	       p_expression(p, e);
}

/* Read what follows the name of an attribute, if anything. */
static bool attribute_value(struct parser *p, struct ci_entry *e, const struct ci_tok *name,
			    unsigned flag)
{
	struct ci_expr ignored;

	if (flag == CI_STACKSIZE)
		return p_stacksize(p, &e->stacksize);
	if (flag == CI_WHEN && !p_is(p, "("))
		return p_unexpected(p, "'('", "write the condition: [when(n == self->n)]");
	if (flag == CI_COUNT && !p_is(p, "("))
		return p_unexpected(p, "'('", "write how many calls a round has: [count(self->n)]");
	if (p_is(p, "("))
		return attribute_text(p, flag == CI_WHEN ? &e->when : flag == CI_COUNT ? &e->count : &ignored);
	if (!p_is(p, "="))
		return true;
	if (!e->bad)
		ci_error(p->ci, p->t->at, "remove it", "the attribute '%s' takes no value", name->s);
	e->bad = true;
	p->t++;
	return p_expression(p, &ignored);
}

static bool attribute(struct parser *p, struct ci_entry *e)
{
	const struct attribute *a = attribute_find(p->t->s);
	const struct ci_tok *name = p->t;

	if (p->t->kind != TOK_NAME)
		return p_unexpected(p, "an attribute", NULL);
	if (a == NULL)
		attribute_unknown(p);
	else if (strncmp(a->name, "nocopy", 6) == 0)
		ci_error(p->ci, p->t->at, a->instead, "'%s' belongs to a parameter, not to an "
			 "entry method", a->name);
	else if (a->instead != NULL)
		p_later(p, p->t, ci_fmt(p->ci, "the attribute '%s'", a->name), a->instead);
	if (a == NULL || a->instead != NULL)
		e->bad = true;
	p->t++;
	for (unsigned i = 0; a != NULL && i < CI_N_ATTRS; i++) {
		if (a->flag == 1u << i)
			e->attr_at[i] = name;
	}
	e->attrs |= a != NULL ? a->flag : 0;
	return attribute_value(p, e, name, a != NULL ? a->flag : 0);
}

/* After an error in a list of attributes, go behind its ] if it has one, so that the entry method is
 * read as usual. */
static bool skip_attributes(struct parser *p, struct ci_entry *e)
{
	const struct ci_tok *t = p->t;

	while (t->kind != TOK_END && strcmp(t->s, "]") != 0 && strcmp(t->s, "{") != 0 &&
	       strcmp(t->s, "}") != 0 && strcmp(t->s, "entry") != 0 &&
	       !(t->kind == TOK_NAME && strcmp(t[1].s, "(") == 0))
		t++;
	if (strcmp(t->s, "]") == 0)
		p->t = t + 1;
	e->bad = true;
	return strcmp(t->s, "{") != 0 && strcmp(t->s, "}") != 0 && t->kind != TOK_END;
}

static bool attributes(struct parser *p, struct ci_entry *e)
{
	if (!p_accept(p, "["))
		return true;
	do {
		if (!attribute(p, e))
			return skip_attributes(p, e);
	} while (p_accept(p, ","));
	if (p_accept(p, "]"))
		return true;
	p_missing(p, "',' or ']'", NULL);
	return skip_attributes(p, e);
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
	e->answer = type;
	if (strcmp(e->name, c->name) == 0 && type.class_ == CI_VOID && type.stars == 0) {
		e->ctor = true;
		e->name = "new";
		e->answer = (struct ci_type){0};
		return true;
	}
	if (strcmp(e->name, c->name) == 0) {
		if (!e->bad)
			ci_error(p->ci, type.tok->at, ci_fmt(p->ci, "write 'entry %s(...)'", c->name),
				 "the constructor of '%s' has no return type", c->name);
		e->ctor = e->bad = true;
		return true;
	}
	if ((type.class_ != CI_VOID || type.stars != 0) && !e->bad &&
	    (e->attrs & (CI_SYNC | CI_LOCAL | CI_WHENIDLE)) == 0) {
		ci_error(p->ci, type.tok->at, type.class_ != CI_USER && type.stars != 0 ?
			 ci_fmt(p->ci, "write 'entry void %s(...)' and answer through a CkCallback "
				"parameter", e->name) :
			 ci_fmt(p->ci, "write 'entry [sync] %s%s%s(...)' for threads to call; or "
				"'entry void %s(...)' and answer through a CkCallback parameter",
				type.text, type.stars != 0 ? " *" : " ", e->name, e->name),
			 "entry method '%s' returns '%s%s', but its callers do not wait",
			 e->name, type.text, type.stars != 0 ? " *" : "");
		e->bad = true;
	}
	return true;
}

static bool entry_name(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	if (p_is(p, "~")) {
		ci_error(p->ci, p->t->at, "remove it: free what the struct points to where you call "
			 "CkDestroy(self)",
			 "a destructor is not an entry method");
		return false;
	}
	if (p->t->kind == TOK_NAME && (p_next_is(p, "(") || p_next_is(p, "-")))
		return constructor_name(p, c, e);
	return method_name(p, c, e);
}

/* Skip `[ ... ] { ... } name;`, which follows [accel]. That attribute has been refused. */
static void accel_body(struct parser *p)
{
	while (p_is(p, "[") || p_is(p, "{"))
		p_skip_balanced(p);
	p->t += p->t->kind == TOK_NAME && p_next_is(p, ";");
	p_accept(p, ";");
}

static void entry_add(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	struct ci_entry **link = &c->entries;

	if (e->ctor && c->ctor == NULL) {
		c->ctor = e;
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

/* `stacksize=N` may also stand behind the parameters. */
static bool late_stacksize(struct parser *p, struct ci_entry *e)
{
	if (!p_is(p, "stacksize"))
		return true;
	if (e->attrs & CI_STACKSIZE)
		return p_unexpected(p, "';'", "remove it: the attributes have a stacksize");
	e->attrs |= CI_STACKSIZE;
	for (int i = 0; i < CI_N_ATTRS; i++) {
		if (CI_STACKSIZE == 1 << i)
			e->attr_at[i] = p->t;
	}
	p->t++;
	return p_stacksize(p, &e->stacksize);
}

/* What may stand behind the parameters in C++, but not here. */
static void after_params(struct parser *p, const struct ci_chare *c, struct ci_entry *e)
{
	if (!p_is(p, "const"))
		return;
	ci_error(p->ci, p->t->at,
		 ci_fmt(p->ci, "remove it: the handler gets the chare as '%s *self'", c->name),
		 "'const' is not allowed here");
	e->bad = true;
	p->t++;
}

/* `entry X(CkMigrateMessage *m);` tells C++ how to make an element that arrives. C needs no such
 * constructor. */
static bool migration_constructor(struct parser *p, const struct ci_entry *e)
{
	const struct ci_tok *t = p->t;

	if (!e->ctor || !p_is(p, "(") || !p_next_is(p, "CkMigrateMessage"))
		return false;
	p_skip_balanced(p);
	if (p_accept(p, ";"))
		return true;
	p->t = t;
	return false;
}

static bool entry_rest(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	if (!attributes(p, e) || !entry_name(p, c, e))
		return false;
	if (migration_constructor(p, e))
		return true;
	/* Add the entry before reading its parameters: an error in these must not hide the name. */
	entry_add(p, c, e);
	if (!p_params(p, &e->params)) {
		e->bad = true;
		return false;
	}
	if (!late_stacksize(p, e)) {
		e->bad = true;
		return false;
	}
	after_params(p, c, e);
	for (struct ci_param *q = e->params; q != NULL; q = q->next)
		e->bad |= q->bad;
	if (e->bad && p_is(p, "["))
		accel_body(p);
	else if (p_is_sdag(p))
		p_sdag(p, c, e);
	else
		return p_expect(p, ";");
	return true;
}

static void entry(struct parser *p, struct ci_chare *c)
{
	struct ci_entry *e = ci_alloc(p->ci, sizeof *e);

	p->t++;
	if (!entry_rest(p, c, e))
		p_skip_statement(p);
}

/* ---- members -------------------------------------------------------------------------------- */

/* Refuse a member that does not begin with `entry`. */
static void other_member(struct parser *p, struct ci_chare *c)
{
	if (p_is(p, "template") || p_is(p, "extern"))
		p_cpp(p, p->t, "a template entry method", "write one entry method per type");
	else if (p_is(p, "pup") || p_is(p, "PUPable"))
		p_unexpected(p, "'entry' or '}'", ci_fmt(p->ci, "write 'pup %s;' outside of its braces, "
			     "and the function %s_pup in C", c->name, c->name));
	else
		p_unexpected(p, "'entry' or '}'",
			     ci_fmt(p->ci, "an entry method is 'entry void f(...);'; data members "
				    "go into 'struct %s' in your C file", c->name));
	/* Take at least one token, so that the loop over members ends. */
	if (!p_is(p, ";"))
		p->t++;
	p_skip_statement(p);
}

static void missing_brace(struct parser *p, const struct ci_chare *c)
{
	ci_error(p->ci, p->t->at,
		 ci_fmt(p->ci, "write the '}' of '%s', opened on line %d, before it", c->name,
			c->tok->line),
		 "'%s' is not allowed inside a chare", p->t->s);
}

static void members(struct parser *p, struct ci_chare *c, const struct ci_tok *open)
{
	while (!p_is(p, "}")) {
		if (p_at_end(p)) {
			if (!p->cut)
				ci_error(p->ci, open->at, NULL, "this '{' of '%s' is never closed",
					 c->name);
			return;
		}
		if (p_is(p, "entry")) {
			entry(p, c);
		} else if (p_is_member_section(p)) {
			p_member_section(p, c);
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

/* `migratable` is accepted. Refuse the other attributes of Charm++, and read on in the list. */
static bool chare_attribute(struct parser *p, const char *kind)
{
	if (!p_is(p, "migratable"))
		p_later(p, p->t, ci_fmt(p->ci, "the %s attribute '%s'", kind, p->t->s),
			"remove it");
	p->t++;
	return true;
}

static bool array_index(struct parser *p, struct ci_chare *c)
{
	static const char *const dims[] = {"1D", "2D", "3D", "4D", "5D", "6D"};

	if (p_is(p, "migratable") || p_is(p, "python"))
		return chare_attribute(p, "array");
	if (c->nd != 0 || c->index.text != NULL)
		return p_unexpected(p, "']'", "an array has one index: [2D]");
	for (int i = 0; i < 6; i++) {
		if (strcasecmp(p->t->s, dims[i]) == 0) {
			c->nd = i + 1;
			p->t++;
			return true;
		}
	}
	if (p->t->kind == TOK_NAME)
		return p_type(p, &c->index);
	return p_unexpected(p, "1D to 6D, or a type", "an array has 1 to 6 dimensions: [2D]");
}

static bool array_dimensions(struct parser *p, struct ci_chare *c)
{
	do {
		if (!p_accept(p, "["))
			return p_unexpected(p, "'[1D]' to '[6D]'", NULL);
		do {
			if (!array_index(p, c))
				return false;
		} while (p_accept(p, ","));
		if (!p_expect(p, "]"))
			return false;
	} while (c->nd == 0 && c->index.text == NULL);  /* [migratable] [1D] */
	return true;
}

static bool chare_attributes(struct parser *p, const char *kind)
{
	if (!p_accept(p, "["))
		return true;
	do {
		if (p->t->kind != TOK_NAME)
			return p_unexpected(p, "a name", strcmp(kind, "array") == 0 ? NULL :
					    "only an array has dimensions");
		chare_attribute(p, kind);
	} while (p_accept(p, ","));
	return p_expect(p, "]");
}

static bool chare_kind(struct parser *p, struct ci_chare *c)
{
	static const char *const kinds[] = {"mainchare", "array", "group", "chare", "nodegroup"};
	const char *word = p->t++->s;

	while (strcmp(kinds[c->kind], word) != 0)
		c->kind++;
	if (c->kind == CI_ARRAY && !array_dimensions(p, c))
		return false;
	return chare_attributes(p, word);
}

/* Refuse `: Base` after the name. */
static void chare_extras(struct parser *p, const struct ci_chare *c)
{
	if (p_is(p, ":") && p_next_is(p, "CkArrayMap"))
		p_cpp(p, p->t, "inheritance",
		      "a map is a C function: give it a name with CkRegisterMap in an initnode "
		      "function");
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
	if (p_is(p, "<")) {
		p_template(p, p->t, c->tok->s, "a template chare", "write one chare per type");
		p_skip_declaration(p);
		return true;
	}
	c->name = c->tok->s;
	chare_extras(p, c);
	if (p_accept(p, ";"))
		return true;
	open = p->t;
	if (!p_expect(p, "{") && !p_is(p, "entry"))
		return false;
	members(p, c, open);
	p_sdag_entries(p, c);
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
