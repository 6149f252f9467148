/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.c: the grammar rules for files, modules and everything in them except chares.
 *
 *   file     := { module }
 *   module   := ( 'module' | 'mainmodule' ) name ( ';' | '{' { section } '}' [';'] )
 *   section  := chare | readonly | message | extern | include | init | pup | class
 *   class    := 'class' name ';'
 *   readonly := 'readonly' [ 'message' ] fields ';'
 *   message  := 'message' [ '[' word { ',' word } ']' ] name ( ';' | '{' { fields ';' } '}' [';'] )
 *   fields   := type field { ',' field }          field := name { '[' [ length ] ']' }
 *   extern   := 'extern' ( 'module' | 'message' | kind ) name ';'
 *   include  := 'include' string ';'
 *   init     := ( 'initnode' | 'initproc' ) function { ',' function } ';'
 *   function := [ 'void' ] name [ '(' [ 'void' ] ')' ]
 *   pup      see parse_pup.c
 */
#include "parse.h"
#include "parse_int.h"

#include <string.h>

static void item_add(struct parser *p, struct ci_item **link, const struct ci_tok *tok,
		     const char *name)
{
	for (; *link != NULL; link = &(*link)->next) {
		if (strcmp((*link)->name, name) == 0)
			return;   /* naming it twice is harmless */
	}
	*link = ci_alloc(p->ci, sizeof **link);
	(*link)->tok = tok;
	(*link)->name = name;
}

/* ---- readonly and message ------------------------------------------------------------------- */

/* Read `[3][4]`, or `[]` in a message. */
static bool field_dims(struct parser *p, struct ci_field *f, bool in_message)
{
	f->dims.from = p->t;
	while (p_accept(p, "[")) {
		struct ci_expr one;

		if (in_message && p_is(p, "]") && f->dims.from == p->t - 1) {
			f->kind = CI_FIELD_VAR;
			p->t++;
			f->dims.to = f->dims.from;
			return !p_is(p, "[") || p_unexpected(p, "';'", "a variable array has one "
							     "dimension: write x[]");
		}
		if (p_is(p, "]"))
			return p_unexpected(p, "the array's length", "write a number");
		if (!p_length(p, &one))
			return false;
		p->t++;
	}
	f->dims.to = p->t;
	return true;
}

static bool field(struct parser *p, const struct ci_type *type, struct ci_field **list,
		  bool in_message)
{
	struct ci_field *f = ci_alloc(p->ci, sizeof *f);

	f->type = *type;
	while (p_accept(p, "*"))
		f->type.stars++;    /* for the second name in `int a, *b` */
	f->tok = p_new_name(p, in_message ? "member" : "readonly variable");
	if (f->tok == NULL)
		return false;
	f->name = f->tok->s;
	while (*list != NULL)
		list = &(*list)->next;
	*list = f;
	f->bad = true;
	if (!field_dims(p, f, in_message))
		return false;
	if (p_is(p, "(")) {
		ci_error(p->ci, p->t->at, "write the function in C", "%s cannot have functions",
			 in_message ? "a message" : "a module");
		return false;
	}
	if (p_is(p, "=")) {
		ci_error(p->ci, p->t->at, in_message ? "set it after X_alloc" :
			 "assign it in the main chare's constructor; all PEs get that value",
			 "an initial value is not allowed here");
		return false;
	}
	f->bad = false;
	return true;
}

static bool fields(struct parser *p, struct ci_field **list, bool in_message)
{
	struct ci_type type;

	if (!p_type(p, &type))
		return false;
	do {
		if (!field(p, &type, list, in_message))
			return false;
		type.stars = 0;
	} while (p_accept(p, ","));
	return p_expect(p, ";");
}

/* `readonly message M *m;` means the same as without `message`, but then m must be one. */
static bool readonly(struct parser *p)
{
	struct ci_field **list = &p->module->readonlies;
	bool message = p_accept(p, "message");

	while (*list != NULL)
		list = &(*list)->next;
	if (!fields(p, list, false))
		return false;
	for (struct ci_field *f = *list; f != NULL && message; f = f->next) {
		if (f->type.stars == 1)
			continue;
		ci_error(p->ci, f->tok->at, "write 'readonly message M *m;', or remove 'message'",
			 "a readonly message is a pointer to one");
		f->bad = true;
	}
	return true;
}

static void message_body(struct parser *p, struct ci_message *m)
{
	const struct ci_tok *open = p->t;

	p_accept(p, "{");
	while (!p_is(p, "}")) {
		if (p_at_end(p) || (p->t->first && p_is_section_word(p)) ||
		    p_is(p, "entry")) {
			if (!p->cut)
				ci_error(p->ci, open->at, NULL,
					 "this '{' of message '%s' is never closed", m->name);
			return;
		}
		if (p_is(p, "conditional")) {
			p_later(p, p->t, "a conditional member",
				"use a variable array: it may have length 0");
			p->t++;
		}
		if (p->t->kind == TOK_DIRECTIVE) {
			p_unexpected(p, "", NULL);
			p->t++;
		} else if (!p_accept(p, ";")) {
			const struct ci_tok *start = p->t;

			/* If only a ; is missing, the next line is a member again. */
			if (!fields(p, &m->fields, true) && (p->t == start || !p->t->first))
				p_skip_statement(p);
		}
	}
	p->t++;
	p_accept(p, ";");
}

/* Read `[packed]` or `[varsize]`, Charm++'s words. Without members both say that the program packs the
 * message; with members, `[varsize]` says what they say as well. */
static bool message_attributes(struct parser *p, const struct ci_tok **packed_p, bool *varsize_p)
{
	if (!p_accept(p, "["))
		return true;
	do {
		const struct ci_tok *word = p->t;

		if (p_accept(p, "packed"))
			*packed_p = word;
		else if (p_accept(p, "varsize"))
			*varsize_p = true;
		else
			return p_unexpected(p, "'packed'", "message [packed] M; is a message that the "
					    "program packs by M_pack and M_unpack");
	} while (p_accept(p, ","));
	return p_expect(p, "]");
}

static bool message(struct parser *p)
{
	struct ci_message *m = ci_alloc(p->ci, sizeof *m);
	struct ci_message **link = &p->module->messages;
	const struct ci_tok *packed = NULL;
	bool varsize = false;

	if (!message_attributes(p, &packed, &varsize))
		return false;
	m->tok = p_new_name(p, "message");
	if (m->tok == NULL)
		return false;
	if (p_is(p, "<")) {
		p_template(p, p->t, m->tok->s, "a template message",
			   "write one message per type, with all its members");
		return false;
	}
	m->name = m->tok->s;
	m->module = p->module;
	while (*link != NULL)
		link = &(*link)->next;
	*link = m;
	if (p_is(p, ":")) {
		p_cpp(p, p->t, "inheritance", "write one message with all the members");
		return false;
	}
	m->own = p_accept(p, ";");
	m->packed = m->own && (packed != NULL || varsize);
	if (m->own)
		return true;
	if (packed != NULL)
		ci_error(p->ci, packed->at,
			 ci_fmt(p->ci, "remove it; or write 'message [packed] %s;', and the struct in C",
				m->name),
			 "ckci packs the message '%s', since it knows the members", m->name);
	if (!p_is(p, "{") && !p_missing(p, "'{' or ';'", NULL) && !p_is_basic_type(p))
		return false;
	message_body(p, m);
	return true;
}

/* ---- the small ones ------------------------------------------------------------------------- */

/* Modules of Charm++'s libraries. */
static const struct { const char *name, *note, *refused; } libraries[] = {
	{"CkMulticast", "sections need no manager", NULL},
	{"CkFutures", "futures are in ck.h", NULL},
	{"CkLoop", NULL, "remove it, and call an entry method of a nodegroup for each part of the loop"},
	{"ComlibModule", NULL, "remove it; [aggregate] entry methods collect small calls"},
	{"MeshStreamer", NULL, "remove it, and write [aggregate] for the entry method"},
	{"NDMeshStreamer", NULL, "remove it, and write [aggregate] for the entry method"},
	{"CommonLBs", "CK_LB chooses the load balancer", NULL},
	{"EveryLB", "CK_LB chooses the load balancer", NULL},
	{"CentralLB", NULL, "remove it, and write the strategy as a function for CkLBRegister (cklb.h)"},
	{"completion", "CkCompletion is in ck.h", NULL},
	{"liveViz", NULL, "remove it, and collect the picture by a reduction"},
	{"CkIO", NULL, "remove it, and let each PE write its part of the file with pwrite"},
	{NULL, NULL, NULL}
};

/* `extern module` of such a library: note that it is not needed, or refuse it. False: it is none. */
static bool library(struct parser *p, const struct ci_tok *name)
{
	int i = 0;

	while (libraries[i].name != NULL && strcmp(libraries[i].name, name->s) != 0)
		i++;
	if (libraries[i].name == NULL)
		return false;
	if (libraries[i].note != NULL)
		ci_note(p->ci, name->at, "library", "module %s of Charm++ is not needed: %s", name->s,
			libraries[i].note);
	else
		ci_error(p->ci, name->at, libraries[i].refused, "module %s of Charm++ is not available",
			 name->s);
	return true;
}

static bool is_chare_word(const struct parser *p)
{
	return p_is(p, "mainchare") || p_is(p, "array") || p_is(p, "group") ||
	       p_is(p, "nodegroup") || p_is(p, "chare");
}

/* `extern message M;`, `extern array [1D] X;`: another file declares it. */
static bool extern_name(struct parser *p)
{
	const struct ci_tok *name;

	p->t++;
	while (p_is(p, "["))
		p_skip_balanced(p);
	name = p_new_name(p, "message or chare");
	if (name == NULL)
		return false;
	item_add(p, &p->module->elsewhere, name, name->s);
	return p_expect(p, ";");
}

static bool extern_module(struct parser *p)
{
	const struct ci_tok *name;

	if (p_is(p, "message") || is_chare_word(p))
		return extern_name(p);
	if (!p_is(p, "module")) {
		p_unexpected(p, "'module'", "'extern module foo;' names a module whose chares this "
			     "one uses");
		return false;
	}
	p->t++;
	name = p_new_name(p, "module");
	if (name == NULL)
		return false;
	if (!library(p, name))
		item_add(p, &p->module->externs, name, name->s);
	return p_expect(p, ";");
}

static bool include(struct parser *p)
{
	const struct ci_tok *t = p->t;

	if (t->kind != TOK_STRING)
		return p_unexpected(p, "a file name in quotes", "write: include \"header.h\";");
	if (t->len == 2) {
		ci_error(p->ci, t->at, "write: include \"header.h\";", "this file name is empty");
		return false;
	}
	p->t++;
	item_add(p, &p->module->includes, t, t->s);
	return p_expect(p, ";");
}

static bool init_function(struct parser *p, const char *word, struct ci_item **list,
			  const char *prefix)
{
	const struct ci_tok *name;

	p_accept(p, "void");
	if (p_is_basic_type(p)) {
		ci_error(p->ci, p->t->at, ci_fmt(p->ci, "write '%s void f(void);'", word),
			 "an %s function returns nothing", word);
		return false;
	}
	name = p_new_name(p, ci_fmt(p->ci, "%s function", word));
	if (name == NULL)
		return false;
	item_add(p, list, name, ci_fmt(p->ci, "%s%s", prefix, name->s));
	if (!p_accept(p, "("))
		return true;
	if (!p_is(p, ")") && !(p_is(p, "void") && p_next_is(p, ")"))) {
		ci_error(p->ci, p->t->at,
			 ci_fmt(p->ci, "write '%s void %s(void);'", word, name->s),
			 "an %s function has no parameters", word);
		return false;
	}
	p_accept(p, "void");
	p->t++;
	return true;
}

/* The functions' names get `prefix` in front. */
static bool init(struct parser *p, const char *word, struct ci_item **list, const char *prefix)
{
	do {
		if (!init_function(p, word, list, prefix))
			return false;
	} while (p_accept(p, ","));
	return p_expect(p, ";");
}

/* Skip `class X;`, which only tells C++ that X is a class. */
static bool class_declaration(struct parser *p)
{
	const struct ci_tok *name = p_new_name(p, "class");

	if (name == NULL)
		return false;
	if (p_is(p, ";")) {
		p->t++;
		return true;
	}
	p_cpp(p, p->t, "a class", "write a struct in a header and name it: include \"header.h\";");
	return false;
}

struct refused {
	const char *word;
	bool cpp;
	const char *what, *instead;
};

/* Charm++'s grammar lets a section begin with these words; ckci refuses them. */
static const struct refused refused[] = {
	{"namespace", true, "a namespace", "put the name in front of each name: ns_Foo"},
	{"using", true, "'using'", "remove it"},
	{"PUPable", true, "'PUPable' (objects packed by their class)",
	 "write 'pup X;' and the function 'void X_pup(pup_er p, X *x)' in C"},
	{"pupable", true, "'pupable' (objects packed by their class)",
	 "write 'pup X;' and the function 'void X_pup(pup_er p, X *x)' in C"},
	{"accelblock", false, "'accelblock'", "write it in C"},
	{NULL, false, NULL, NULL}
};

/* After a '}' too many, report all entries up to the chare's own '}' in one error. */
static bool stray_entries(struct parser *p)
{
	p_unexpected(p, "a readonly, message, chare, array, group or '}'",
		     "entry methods belong inside a chare: is there a '}' too many above?");
	while (p_accept(p, "entry"))
		p_skip_statement(p);
	if (p_accept(p, "}"))
		p_accept(p, ";");
	return true;
}

static bool other_section(struct parser *p)
{
	static const char *const words[] = {
		"mainchare", "chare", "group", "nodegroup", "array", "message", "readonly",
		"include", "extern", "initnode", "initproc", NULL
	};
	const char *guess = p->t->kind == TOK_NAME ? ci_nearest(p->t->s, words) : NULL;
	const char *help = "C declarations go into a header: include \"header.h\";";

	for (const struct refused *r = refused; r->word != NULL; r++) {
		if (!p_is(p, r->word))
			continue;
		if (r->cpp)
			p_cpp(p, p->t, r->what, r->instead);
		else
			p_later(p, p->t, r->what, r->instead);
		p->t++;
		return false;
	}
	if (guess != NULL)
		help = ci_fmt(p->ci, "did you mean '%s'?", guess);
	p_unexpected(p, "a readonly, message, chare, array, group or '}'", help);
	p->t++;
	return false;
}

/* ---- modules -------------------------------------------------------------------------------- */

static bool section(struct parser *p)
{
	if (p_accept(p, "readonly"))
		return readonly(p);
	if (p_accept(p, "message"))
		return message(p);
	if (p_accept(p, "extern"))
		return extern_module(p);
	if (p_accept(p, "include"))
		return include(p);
	if (p_accept(p, "initnode") || p_accept(p, "initcall"))
		return init(p, "initnode", &p->module->initnodes, "");
	if (p_accept(p, "initproc"))
		return init(p, "initproc", &p->module->initprocs, "");
	if (p_accept(p, "pup"))
		return p_pup(p);
	if (p_accept(p, "class"))
		return class_declaration(p);
	if (p_is(p, "entry"))
		return stray_entries(p);
	return other_section(p);
}

/* `template <...>` and the declaration behind it. */
static void template(struct parser *p)
{
	const struct ci_tok *start = p->t++;
	const struct ci_tok *last = NULL;
	int angle = 0;

	/* The name of the chare or message stands before its body, its bases or its end. */
	for (; p->t->kind != TOK_END && !p_is(p, "{") && !p_is(p, ";") && !p_is(p, "}"); p->t++) {
		if (angle == 0 && p_is(p, ":"))
			break;
		angle += p_is(p, "<") - (angle > 0 && p_is(p, ">"));
		if (angle == 0 && p->t->kind == TOK_NAME)
			last = p->t;
	}
	p_template(p, start, last != NULL ? last->s : "", "a template",
		   "write one chare or message per type");
	p_skip_declaration(p);
}

bool p_is_member_section(const struct parser *p)
{
	return p_is(p, "readonly") || p_is(p, "include") || p_is(p, "class") ||
	       p_is(p, "initnode") || p_is(p, "initproc") || p_is(p, "initcall");
}

void p_member_section(struct parser *p, const struct ci_chare *c)
{
	const char *prefix = ci_fmt(p->ci, "%s_", c->name);
	struct ci_field **readonlies = &p->module->readonlies;
	bool ok;

	while (*readonlies != NULL)
		readonlies = &(*readonlies)->next;
	if (p_accept(p, "initnode") || p_accept(p, "initcall"))
		ok = init(p, "initnode", &p->module->initnodes, prefix);
	else if (p_accept(p, "initproc"))
		ok = init(p, "initproc", &p->module->initprocs, prefix);
	else
		ok = section(p);
	for (struct ci_field *r = *readonlies; r != NULL; r = r->next)
		r->name = ci_fmt(p->ci, "%s%s", prefix, r->name);
	if (!ok)
		p_skip_statement(p);
}

static void sections(struct parser *p, const struct ci_tok *open)
{
	while (!p_is(p, "}")) {
		if (p_at_end(p)) {
			if (!p->cut)
				ci_error(p->ci, open->at, NULL,
					 "this '{' of module '%s' is never closed",
					 p->module->name);
			return;
		}
		if (p_is(p, "module") || p_is(p, "mainmodule")) {
			ci_error(p->ci, p->t->at,
				 ci_fmt(p->ci, "close '%s', opened on line %d, with '}' first; to "
					"use another module's chares write 'extern module foo;'",
					p->module->name, open->line),
				 "a module is not allowed inside a module");
			p->nested = true;
			return;
		}
		if (p->t->kind == TOK_DIRECTIVE) {
			p_unexpected(p, "", NULL);
			p->t++;
		} else if (is_chare_word(p)) {
			p_chare(p);
		} else if (p_is(p, "template")) {
			template(p);
		} else if (!p_accept(p, ";") && !section(p)) {
			p_skip_statement(p);
		}
	}
	p->t++;
	p_accept(p, ";");
}

static bool module(struct parser *p, struct ci_module **list)
{
	struct ci_module *m = ci_alloc(p->ci, sizeof *m);
	const struct ci_tok *open;

	m->main = p_is(p, "mainmodule");
	p->t++;
	m->tok = p_new_name(p, "module");
	if (m->tok == NULL)
		return false;
	m->name = m->tok->s;
	while (*list != NULL)
		list = &(*list)->next;
	*list = m;
	p->module = m;
	if (p_accept(p, ";"))
		return true;
	open = p->t;
	if (!p_expect(p, "{") && !p_is_section_word(p))
		return false;
	sections(p, open);
	return true;
}

static void outside_modules(struct parser *p, bool any)
{
	/* The error for a nested module has covered the '}' of the module around it. */
	if (!p->nested || !p_is(p, "}"))
		p_unexpected(p, "'module' or 'mainmodule'", any ?
			     "is there a '}' too many above?" :
			     "everything belongs inside a module: mainmodule foo { ... }");
	p->nested = false;
	/* `extern module foo;` does not start a module. */
	while (p->t->kind != TOK_END && !p_is(p, "mainmodule") &&
	       !(p_is(p, "module") && strcmp(p->t[-1].s, "extern") != 0))
		p->t++;
}

struct ci_module *ci_parse(struct ci *ci)
{
	struct ci_module *list = NULL;
	struct parser p = {.ci = ci};

	p.toks = p.t = ci_lex(ci, &p.cut);
	while (!p_at_end(&p)) {
		if (p.t->kind == TOK_DIRECTIVE) {
			p_unexpected(&p, "", NULL);
			p.t++;
		} else if (!p_is(&p, "module") && !p_is(&p, "mainmodule")) {
			outside_modules(&p, list != NULL);
		} else if (!module(&p, &list)) {
			p_skip_statement(&p);
		}
	}
	if (list == NULL && ci->n_errors == 0)
		ci_error(ci, p.t->at, "write: mainmodule foo { ... }", "this file has no module");
	return list;
}
