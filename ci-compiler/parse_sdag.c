/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_sdag.c: the grammar rules for the bodies of entry methods, in Structured Dagger.
 *
 *   body      := block | when | serial
 *   block     := '{' { statement } '}'
 *   statement := block | serial | when | ';'
 *              | 'if' '(' C ')' statement [ 'else' statement ]
 *              | 'for' '(' C ';' C ';' C ')' statement
 *              | 'while' '(' C ')' statement
 *              | 'forall' '[' name ']' '(' C ':' C ',' C ')' statement
 *              | 'overlap' '{' { statement } '}'
 *              | 'case' '{' { when } '}'
 *   serial    := ( 'serial' | 'atomic' ) [ string ] '{' C '}'
 *   when      := 'when' call { ',' call } statement
 *   call      := name [ '[' C ']' ] params
 *
 * C is any text of C with paired brackets. It goes to the C compiler unchanged.
 */
#include "parse_int.h"

#include <string.h>

enum { MAX_NESTING = 50 };   /* of statements, since the rules are recursive */

struct sdag_parser {
	struct parser *p;
	struct ci_entry *e;
	int n;                      /* the number of statements so far */
	int depth;
};

static struct ci_sdag *statement(struct sdag_parser *s);

bool p_is_sdag(const struct parser *p)
{
	static const char *const words[] = {
		"{", "when", "serial", "atomic", "overlap", "case", "forall", "for", "while", "if", NULL
	};

	for (const char *const *w = words; *w != NULL; w++) {
		if (p_is(p, *w))
			return true;
	}
	return false;
}

/* ---- C text ------------------------------------------------------------------------------- */

/* The body's '}' is missing if the next token starts an entry method or what may follow the chare, or if
 * the file ends. */
static bool is_behind_body(const struct parser *p)
{
	return p->t->kind == TOK_END ||
	       (p->t->first && (p_is_section_word(p) ||
				(p_is(p, "entry") && p->t[1].kind == TOK_NAME)));
}

/* The next token opens a bracket: skip past the one that closes it. False if none does. */
static bool skip_text(struct parser *p)
{
	int depth = 0;

	do {
		if (p->t->kind == TOK_PUNCT && p->t->len == 1) {
			depth += strchr("([{", *p->t->s) != NULL;
			depth -= strchr(")]}", *p->t->s) != NULL;
		}
		p->t++;
	} while (depth > 0 && !is_behind_body(p));
	return depth == 0;
}

/* The next token opens a bracket: read the text up to the one that closes it, and skip that. Report a
 * missing bracket and return false. */
static bool bracketed(struct parser *p, struct ci_expr *text)
{
	const struct ci_tok *open = p->t;
	bool closed = skip_text(p);

	text->from = open + 1;
	text->to = p->t - 1;
	if (closed)
		return true;
	if (!p->cut)
		ci_error(p->ci, open->at, NULL, "this '%s' is never closed", open->s);
	return false;
}

static bool tok_is(const struct ci_tok *t, const char *word)
{
	return strcmp(t->s, word) == 0;
}

/* The first `word` outside of brackets; `to` if there is none. */
static const struct ci_tok *find(const struct ci_tok *from, const struct ci_tok *to,
				 const char *word)
{
	int depth = 0;

	for (; from != to; from++) {
		if (depth == 0 && tok_is(from, word))
			return from;
		if (from->kind != TOK_PUNCT || from->len != 1)
			continue;
		depth += strchr("([{", *from->s) != NULL;
		depth -= strchr(")]}", *from->s) != NULL;
	}
	return to;
}

/* Report a jump out of serial code: it would skip the end of the `when` around the code. */
static void jump_error(struct sdag_parser *s, const struct ci_tok *t)
{
	static const char *const help[] = {
		"write the condition into an 'if' or 'while' of the body",
		"a body runs to its end: put the rest into 'if (...) { ... }'",
	};

	ci_error(s->p->ci, t->at, help[tok_is(t, "return")],
		 "'%s' cannot leave serial code", t->s);
	s->e->bad = true;
}

/* The loops and switches inside serial code, where break and continue do not leave the code. */
struct loops {
	unsigned long in;           /* one bit per open brace: set if the brace belongs to a loop or switch */
	int depth;
	bool next;                  /* the statement of a loop or switch comes next */
};

static void loop_token(struct loops *l, const struct ci_tok *t)
{
	if (tok_is(t, "for") || tok_is(t, "while") || tok_is(t, "do") || tok_is(t, "switch")) {
		l->next = true;
	} else if (tok_is(t, "{")) {
		l->in = l->in << 1 | l->next;
		l->next = false;
		l->depth++;
	} else if (tok_is(t, "}")) {
		l->in >>= 1;
		l->depth--;
	}
}

/* The token jumps out of the code. break and continue are right inside the code's own loops. Code nested
 * deeper than `in` has bits is not checked for them. */
static bool leaves(const struct loops *l, const struct ci_tok *t)
{
	if (tok_is(t, "return") || tok_is(t, "goto"))
		return true;
	return (tok_is(t, "break") || tok_is(t, "continue")) && !l->next && l->in == 0 &&
	       l->depth < 64;
}

static void check_jumps(struct sdag_parser *s, const struct ci_expr *text)
{
	struct loops l = {0};

	for (const struct ci_tok *t = text->from; t != text->to; t++) {
		if (tok_is(t, "(")) {
			const struct ci_tok *close = find(t + 1, text->to, ")");

			t = close != text->to ? close : t;
			continue;
		}
		loop_token(&l, t);
		if (t->kind == TOK_NAME && leaves(&l, t)) {
			jump_error(s, t);
			return;
		}
		if (tok_is(t, ";"))
			l.next = false;
	}
}

/* ---- statements ------------------------------------------------------------------------------ */

static struct ci_sdag *node(struct sdag_parser *s, enum ci_sdag_kind kind)
{
	struct ci_sdag *x = ci_alloc(s->p->ci, sizeof *x);

	x->kind = kind;
	x->tok = s->p->t;
	x->number = s->n++;
	return x;
}

static struct ci_sdag *serial(struct sdag_parser *s)
{
	struct parser *p = s->p;
	struct ci_sdag *x = node(s, CI_SDAG_SERIAL);

	p->t++;
	if (p->t->kind == TOK_STRING)
		p->t++;
	if (!p_is(p, "{")) {
		p_missing(p, "'{'", "write: serial { C code }");
		return NULL;
	}
	if (!bracketed(p, &x->text))
		return NULL;
	check_jumps(s, &x->text);
	return x;
}

/* Read `{ ... }`. only_whens: the list belongs to a case. */
static bool list(struct sdag_parser *s, struct ci_sdag **link, bool only_whens)
{
	struct parser *p = s->p;
	const struct ci_tok *open = p->t;

	if (!p_expect(p, "{"))
		return false;
	while (!p_accept(p, "}")) {
		if (is_behind_body(p)) {
			if (!p->cut)
				ci_error(p->ci, open->at, NULL, "this '{' is never closed");
			return false;
		}
		if (p_accept(p, ";"))
			continue;
		if (only_whens && !p_is(p, "when"))
			return p_unexpected(p, "'when' or '}'", "the alternatives of a case are "
					    "'when f(...) ...'");
		*link = statement(s);
		if (*link == NULL)
			return false;
		link = &(*link)->next;
	}
	return true;
}

static struct ci_sdag *block(struct sdag_parser *s, enum ci_sdag_kind kind)
{
	struct ci_sdag *x = node(s, kind);

	s->p->t += kind != CI_SDAG_BLOCK;
	return list(s, &x->body, kind == CI_SDAG_CASE) ? x : NULL;
}

/* Read the statement that a `when`, an `if` or a loop controls. */
static bool body(struct sdag_parser *s, struct ci_sdag **link)
{
	if (p_accept(s->p, ";"))
		return true;
	*link = statement(s);
	return *link != NULL;
}

static bool call(struct sdag_parser *s, struct ci_awaited **link)
{
	struct parser *p = s->p;
	struct ci_awaited *a = ci_alloc(p->ci, sizeof *a);
	struct ci_param *q;

	a->tok = p_new_name(p, "entry method");
	if (a->tok == NULL)
		return false;
	if (p_is(p, "[")) {
		a->by_number = true;
		if (!bracketed(p, &a->number))
			return false;
		if (a->number.from == a->number.to) {
			ci_error(p->ci, a->number.to->at, "write the number: f[self->iter](...)",
				 "the number that '%s' must have is missing", a->tok->s);
			return false;
		}
	}
	if (!p_is(p, "("))
		return p_missing(p, "'('", "repeat the entry method's parameters: when f(int n)");
	if (!p_params(p, &a->params))
		return false;
	*link = a;
	for (q = a->params; q != NULL && !q->bad; q = q->next)
		;
	return q == NULL;
}

static struct ci_sdag *when(struct sdag_parser *s)
{
	struct ci_sdag *x = node(s, CI_SDAG_WHEN);
	struct ci_awaited **link = &x->calls;

	s->p->t++;
	do {
		if (!call(s, link))
			return NULL;
		link = &(*link)->next;
	} while (p_accept(s->p, ","));
	return body(s, &x->body) ? x : NULL;
}

/* Read `( C )` of an `if` or a `while`. */
static bool condition(struct sdag_parser *s, struct ci_sdag *x)
{
	struct parser *p = s->p;

	if (!p_is(p, "("))
		return p_missing(p, "'('", NULL);
	if (!bracketed(p, &x->text))
		return false;
	if (x->text.from != x->text.to)
		return true;
	ci_error(p->ci, x->text.to->at, NULL, "the condition is empty");
	return false;
}

static struct ci_sdag *if_(struct sdag_parser *s)
{
	struct ci_sdag *x = node(s, CI_SDAG_IF);

	s->p->t++;
	if (!condition(s, x) || !body(s, &x->body))
		return NULL;
	if (p_accept(s->p, "else") && !body(s, &x->other))
		return NULL;
	return x;
}

static struct ci_sdag *while_(struct sdag_parser *s)
{
	struct ci_sdag *x = node(s, CI_SDAG_WHILE);

	s->p->t++;
	return condition(s, x) && body(s, &x->body) ? x : NULL;
}

/* ---- loops with variables ------------------------------------------------------------------ */

static bool starts_type(const struct parser *p)
{
	const struct ci_tok *t = p->t;

	if (p_is_basic_type(p) || p_is(p, "const") || p_is(p, "struct") || p_is(p, "union") ||
	    p_is(p, "enum"))
		return true;
	if (t->kind == TOK_NAME && tok_is(t + 1, "*"))
		return t[2].kind == TOK_NAME && (tok_is(t + 3, "=") || tok_is(t + 3, ","));
	return t->kind == TOK_NAME && t[1].kind == TOK_NAME;
}

/* The next token is a variable's name: the brackets behind it, as text. */
static const char *dims(const struct parser *p, const struct ci_tok *end)
{
	const char *s = "";

	for (const struct ci_tok *t = p->t + 1; t != end && tok_is(t, "[");) {
		const struct ci_tok *close = find(t + 1, end, "]");

		for (; t != end && t != close + 1; t++)
			s = ci_fmt(p->ci, "%s%s", s, t->s);
	}
	return s;
}

/* Read the declaration in the head of a for: `int i = 0, *p = q`. */
static bool declared(struct sdag_parser *s, struct ci_sdag *x, const struct ci_tok *end)
{
	struct parser *p = s->p;
	struct ci_local **link = &x->locals;
	struct ci_type type;

	if (!p_type(p, &type))
		return false;
	for (;;) {
		struct ci_local *v = ci_alloc(p->ci, sizeof *v);
		const char *stars = "";

		while (p_accept(p, "*"))
			type.stars++;
		for (int i = 0; i < type.stars; i++)
			stars = ci_fmt(p->ci, "%s*", stars);
		v->type = ci_fmt(p->ci, "%s%s %s", type.const_ ? "const " : "", type.text, stars);
		if (p->t->kind != TOK_NAME)
			return p_unexpected(p, "a variable's name", NULL);
		v->name = p->t->s;
		*link = v;
		link = &v->next;
		type.stars = 0;
		v->dims = dims(p, end);
		p->t = find(p->t, end, ",");
		if (p->t == end)
			return true;
		p->t++;
	}
}

static struct ci_sdag *for_(struct sdag_parser *s)
{
	struct parser *p = s->p;
	struct ci_sdag *x = node(s, CI_SDAG_FOR);
	const struct ci_tok *first, *second, *behind;

	p->t++;
	if (!p_is(p, "(")) {
		p_missing(p, "'('", NULL);
		return NULL;
	}
	if (!bracketed(p, &x->text))
		return NULL;
	behind = p->t;
	first = find(x->text.from, x->text.to, ";");
	second = first != x->text.to ? find(first + 1, x->text.to, ";") : first;
	if (second == x->text.to) {
		ci_error(p->ci, x->text.to->at, "write: for (self->i = 0; self->i < n; self->i++)",
			 "expected ';' in the head of this 'for'");
		return NULL;
	}
	x->high = (struct ci_expr){first + 1, second};
	x->step = (struct ci_expr){second + 1, x->text.to};
	x->text.to = first;
	p->t = x->text.from;
	if (starts_type(p) && !declared(s, x, first))
		return NULL;
	p->t = behind;
	return body(s, &x->body) ? x : NULL;
}

static bool range_error(struct parser *p, const struct ci_tok *at)
{
	ci_error(p->ci, at->at, "write: forall [i] (0 : n - 1, 1); both bounds are included",
		 "a forall has a lower bound, an upper bound and a step");
	return false;
}

/* Read `(low : high, step)`. */
static bool range(struct parser *p, struct ci_sdag *x)
{
	struct ci_expr all;
	const struct ci_tok *colon, *comma;

	if (!p_is(p, "("))
		return p_missing(p, "'('", NULL);
	if (!bracketed(p, &all))
		return false;
	colon = find(all.from, all.to, ":");
	comma = colon != all.to ? find(colon + 1, all.to, ",") : colon;
	if (comma == all.to)
		return range_error(p, all.to);
	x->text = (struct ci_expr){all.from, colon};
	x->high = (struct ci_expr){colon + 1, comma};
	x->step = (struct ci_expr){comma + 1, all.to};
	if (all.from == colon || colon + 1 == comma || comma + 1 == all.to)
		return range_error(p, all.from);
	return true;
}

static struct ci_sdag *forall(struct sdag_parser *s)
{
	struct parser *p = s->p;
	struct ci_sdag *x = node(s, CI_SDAG_FORALL);
	const struct ci_tok *name;

	p->t++;
	if (!p_is(p, "[")) {
		p_missing(p, "'['", "write: forall [i] (0 : n - 1, 1) ...");
		return NULL;
	}
	p->t++;
	name = p_new_name(p, "variable");
	if (name == NULL || !p_expect(p, "]") || !range(p, x))
		return NULL;
	x->locals = ci_alloc(p->ci, sizeof *x->locals);
	x->locals->type = "int ";
	x->locals->name = name->s;
	x->locals->dims = "";
	return body(s, &x->body) ? x : NULL;
}

/* ---- any statement ------------------------------------------------------------------------------ */

static struct ci_sdag *unknown(struct sdag_parser *s)
{
	static const char *const words[] = {
		"serial", "atomic", "when", "if", "for", "while", "forall", "overlap", "case", NULL
	};
	const char *guess = s->p->t->kind == TOK_NAME ? ci_nearest(s->p->t->s, words) : NULL;

	if (p_is(s->p, "else"))
		p_unexpected(s->p, "a statement", "an 'else' must directly follow the statement "
			     "of its 'if'");
	else
		p_unexpected(s->p, "a statement", guess != NULL ?
			     ci_fmt(s->p->ci, "did you mean '%s'?", guess) :
			     "C code belongs in 'serial { ... }'; around it: when, if, for, while, "
			     "forall, overlap, case");
	return NULL;
}

static struct ci_sdag *any(struct sdag_parser *s)
{
	struct parser *p = s->p;

	if (p_is(p, "{"))
		return block(s, CI_SDAG_BLOCK);
	if (p_is(p, "serial") || p_is(p, "atomic"))
		return serial(s);
	if (p_is(p, "when"))
		return when(s);
	if (p_is(p, "if"))
		return if_(s);
	if (p_is(p, "for"))
		return for_(s);
	if (p_is(p, "while"))
		return while_(s);
	if (p_is(p, "forall"))
		return forall(s);
	if (p_is(p, "overlap"))
		return block(s, CI_SDAG_OVERLAP);
	if (p_is(p, "case"))
		return block(s, CI_SDAG_CASE);
	return unknown(s);
}

static struct ci_sdag *statement(struct sdag_parser *s)
{
	struct ci_sdag *x;

	if (++s->depth > MAX_NESTING) {
		ci_error(s->p->ci, s->p->t->at, "move a part into an entry method of its own",
			 "statements nested too deeply");
		return NULL;
	}
	x = any(s);
	s->depth--;
	return x;
}

void p_sdag(struct parser *p, struct ci_chare *c, struct ci_entry *e)
{
	struct sdag_parser s = {.p = p, .e = e};
	const struct ci_tok *open = p->t;
	struct ci_sdag *body = node(&s, CI_SDAG_BLOCK);

	if (e->ctor) {
		ci_error(p->ci, open->at,
			 ci_fmt(p->ci, "write 'entry void run() { ... };' and call it from %s_on_new",
				c->name), "a constructor cannot wait, so it has no body here");
		e->bad = true;
	}
	body->body = statement(&s);
	if (body->body != NULL) {
		e->body = body;
		p_accept(p, ";");
		return;
	}
	e->bad = true;
	if (is_behind_body(p))
		return;
	p->t = open;
	if (!p_is(p, "{"))
		p_skip_statement(p);
	else if (skip_text(p))
		p_accept(p, ";");
}

/* ---- the entries that are waited for ----------------------------------------------------------- */

static struct ci_entry *entry_of(struct parser *p, struct ci_chare *c, struct ci_awaited *a)
{
	struct ci_entry **link = &c->entries;

	for (; *link != NULL; link = &(*link)->next) {
		if (strcmp((*link)->name, a->tok->s) == 0)
			return *link;
	}
	*link = ci_alloc(p->ci, sizeof **link);
	(*link)->tok = a->tok;
	(*link)->name = a->tok->s;
	(*link)->answer = (struct ci_type){.tok = a->tok, .text = "void"};
	(*link)->params = a->params;
	return *link;
}

static void find_entries(struct parser *p, struct ci_chare *c, struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		for (struct ci_awaited *a = x->calls; a != NULL; a = a->next) {
			a->entry = entry_of(p, c, a);
			if (a->entry->awaited == NULL)
				a->entry->awaited = a->tok;
		}
		find_entries(p, c, x->body);
		find_entries(p, c, x->other);
	}
}

void p_sdag_entries(struct parser *p, struct ci_chare *c)
{
	for (struct ci_entry *e = c->entries; e != NULL; e = e->next)
		find_entries(p, c, e->body);
}
