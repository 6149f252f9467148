/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_util.c: looks at tokens, reports what is wrong with them, and skips them.
 */
#include "parse_int.h"

#include <string.h>

bool p_is(const struct parser *p, const char *word)
{
	return strcmp(p->t->s, word) == 0;
}

bool p_next_is(const struct parser *p, const char *word)
{
	return p->t->kind != TOK_END && strcmp(p->t[1].s, word) == 0;
}

bool p_accept(struct parser *p, const char *word)
{
	if (!p_is(p, word))
		return false;
	p->t++;
	return true;
}

static void directive_error(struct parser *p)
{
	if (p->ci->cpp)
		ci_error(p->ci, p->t->at, "remove it", "a pragma has no effect in a .ci file");
	else if (!p->ci->had_directive) /* one error for all directives */
		ci_error(p->ci, p->t->at,
			 "run ckci --cpp, with the -D and -I that belong to it; a C header is "
			 "named by: include \"header.h\";",
			 "preprocessor lines are only read with --cpp");
	p->ci->had_directive = true;
}

static void bad_text_error(struct parser *p)
{
	const char *s = p->t->s;

	if (p->t->len > 1 && (*s == '"' || *s == '\''))
		ci_error(p->ci, p->t->at, NULL, "a literal is not allowed here");
	else if (p->t->len > 1)
		ci_error(p->ci, p->t->at, "a name consists of the letters a-z, A-Z, digits and _",
			 "'%.40s' is not a C name", s);
	else
		ci_error(p->ci, p->t->at, NULL, *s >= ' ' && *s < 0x7f ?
			 "the character '%c' is not allowed here" :
			 "the character 0x%02x is not allowed here", *s & 0xff);
}

bool p_unexpected(struct parser *p, const char *wanted, const char *help)
{
	if (p->t->kind == TOK_DIRECTIVE)
		directive_error(p);
	else if (p->t->kind == TOK_BAD)
		bad_text_error(p);
	else if (p->t->kind != TOK_END)
		ci_error(p->ci, p->t->at, help, "expected %s, found '%.40s'", wanted, p->t->s);
	else if (!p->cut)
		ci_error(p->ci, p->t->at, help, "expected %s, found the end of the file", wanted);
	return false;
}

bool p_missing(struct parser *p, const char *wanted, const char *help)
{
	const struct ci_tok *before = p->t - 1;

	if (p->t == p->toks || !p->t->first || p->t->kind == TOK_BAD)
		return p_unexpected(p, wanted, help);
	/* The line ends too early: point to its end, since the next line is right. */
	if (p->t->kind != TOK_END || !p->cut)
		ci_error(p->ci, before->at + before->len, help, "expected %s after '%.40s'",
			 wanted, before->s);
	return false;
}

bool p_at_end(struct parser *p)
{
	if (!ci_gave_up(p->ci))
		return p->t->kind == TOK_END;
	p->cut = true;
	while (p->t->kind != TOK_END)
		p->t++;
	return true;
}

bool p_expect(struct parser *p, const char *word)
{
	return p_accept(p, word) || p_missing(p, ci_fmt(p->ci, "'%s'", word), NULL);
}

void p_later(struct parser *p, const struct ci_tok *at, const char *what, const char *instead)
{
	ci_error(p->ci, at->at, instead, "%s is not supported yet", what);
}

void p_cpp(struct parser *p, const struct ci_tok *at, const char *what, const char *instead)
{
	ci_error(p->ci, at->at, instead, "%s needs C++", what);
}

void p_template(struct parser *p, const struct ci_tok *at, const char *name, const char *what,
		const char *instead)
{
	for (const struct ci_item *x = p->templates; x != NULL; x = x->next) {
		if (strcmp(x->name, name) == 0)
			return;
	}
	p_cpp(p, at, what, instead);
	struct ci_item *x = ci_alloc(p->ci, sizeof *x);

	x->name = name;
	x->next = p->templates;
	p->templates = x;
}

static bool adjacent(const struct ci_tok *t)
{
	return t[0].at + t[0].len == t[1].at;
}

/* Report the name foo-bar and continue as if it were foo_bar. */
static const struct ci_tok *hyphenated(struct parser *p, const char *what)
{
	const struct ci_tok *start = p->t;
	struct ci_tok *fixed;
	char *s;
	size_t len;

	while (p->t->kind != TOK_END && adjacent(p->t) &&
	       (p->t[1].kind == TOK_NAME || p->t[1].kind == TOK_NUMBER || p_next_is(p, "-")))
		p->t++;
	len = (size_t)(p->t->at + p->t->len - start->at);
	p->t++;
	fixed = ci_alloc(p->ci, sizeof *fixed);
	*fixed = *start;
	s = ci_dup(p->ci, start->at, len);
	for (char *c = s; *c != '\0'; c++) {
		if (*c == '-')
			*c = '_';
	}
	fixed->s = s;
	fixed->len = len;
	ci_error(p->ci, start[1].at, ci_fmt(p->ci, "write %s", s),
		 "%s '%.*s': '-' is not allowed in a name", what, (int)len, start->at);
	return fixed;
}

const struct ci_tok *p_new_name(struct parser *p, const char *what)
{
	const struct ci_tok *t = p->t;

	if (t->kind != TOK_NAME) {
		p_unexpected(p, ci_fmt(p->ci, "the name of the %s", what),
			     t->kind == TOK_NUMBER ? "a name starts with a letter" : NULL);
		return NULL;
	}
	if (p_is(p, "operator")) {
		p_cpp(p, t, "an operator", "give the entry method a name");
		return NULL;
	}
	if (p_next_is(p, "-") && adjacent(t))
		return hyphenated(p, what);
	if (p_next_is(p, "::")) {
		p_cpp(p, t, ci_fmt(p->ci, "the qualified name '%s::'", t->s),
		      "C has no classes and namespaces: write the plain name");
		return NULL;
	}
	if (ci_is_c_keyword(t->s))
		ci_error(p->ci, t->at, ci_fmt(p->ci, "write %s_, for example", t->s),
			 "%s '%s': this is a keyword of C", what, t->s);
	p->t++;
	return t;
}

void p_skip_balanced(struct parser *p)
{
	int depth = 0;

	do {
		if (p_is(p, "(") || p_is(p, "[") || p_is(p, "{"))
			depth++;
		else if (p_is(p, ")") || p_is(p, "]") || p_is(p, "}"))
			depth--;
		if (p->t->kind != TOK_END)
			p->t++;
	} while (depth > 0 && p->t->kind != TOK_END);
}

bool p_is_section_word(const struct parser *p)
{
	static const char *const words[] = {
		"module", "mainmodule", "mainchare", "chare", "group", "nodegroup", "array",
		"message", "readonly", "include", NULL
	};

	for (const char *const *w = words; *w != NULL; w++) {
		if (p->t->kind == TOK_NAME && p_is(p, *w))
			return true;
	}
	return p_is(p, "extern") && p_next_is(p, "module");
}

static bool starts_line_with_word(const struct parser *p)
{
	return p->t->first && (p_is(p, "entry") || p_is(p, "initnode") || p_is(p, "initproc") ||
			       p_is(p, "pup") || p_is_section_word(p));
}

/* Skip past the next ; or block. False if neither ends here. */
static bool skip_end(struct parser *p)
{
	if (p_accept(p, ";"))
		return true;
	if (!p_is(p, "{"))
		return false;
	p_skip_balanced(p);
	p_accept(p, ";");
	return true;
}

void p_skip_statement(struct parser *p)
{
	while (p->t->kind != TOK_END && !p_is(p, "}") && !starts_line_with_word(p)) {
		if (skip_end(p))
			return;
		p->t++;
	}
}

void p_skip_declaration(struct parser *p)
{
	while (p->t->kind != TOK_END && !p_is(p, "}") && !skip_end(p))
		p->t++;
}
