/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lex.c: turns the whole text into tokens at once.
 *
 * Words that cannot be C become TOK_BAD. The lexer does not report them, since they do no harm inside a
 * body that the parser skips.
 */
#include "lex.h"

#include <ctype.h>
#include <string.h>

struct lexer {
	struct ci *ci;
	const char *s;           /* the next character */
	const char *end;
	const char *path;
	int line;
	bool first;              /* only space on this line so far */
	bool cut;
	struct ci_tok *toks;
	size_t n, room;
};

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* C does not allow this character in a name, but the user probably meant it as part of one. */
static bool foreign_char(char c)
{
	return (unsigned char)c >= 0x80 || c == '$' || c == '@';
}

static struct ci_tok *tok_add(struct lexer *x, enum ci_token_kind kind, size_t len)
{
	struct ci_tok *t;

	if (x->n == x->room) {
		size_t room = x->room != 0 ? 2 * x->room : 512;
		struct ci_tok *toks = ci_alloc(x->ci, room * sizeof *toks);

		if (x->n != 0)
			memcpy(toks, x->toks, x->n * sizeof *toks);
		x->toks = toks;
		x->room = room;
	}
	t = &x->toks[x->n++];
	t->kind = kind;
	t->first = x->first;
	t->path = x->path;
	t->line = x->line;
	t->at = x->s;
	t->s = ci_dup(x->ci, x->s, len);
	t->len = len;
	x->first = false;
	x->s += len;
	return t;
}

static void newline(struct lexer *x)
{
	x->s++;
	x->line++;
	x->first = true;
}

static void block_comment(struct lexer *x)
{
	const char *start = x->s;

	x->s += 2;
	while (x->s < x->end && !(x->s[0] == '*' && x->s[1] == '/')) {
		if (*x->s == '\n')
			newline(x);
		else
			x->s++;
	}
	if (x->s < x->end) {
		x->s += 2;
		return;
	}
	ci_error(x->ci, start, "write */ where it ends", "this comment has no end");
	x->cut = true;
}

static void line_comment(struct lexer *x)
{
	while (x->s < x->end && *x->s != '\n')
		x->s++;
}

/* A marker of the preprocessor says where the next line comes from. Any other directive goes up to the
 * end of the line, and continues on the next line after a backslash. */
static void directive(struct lexer *x)
{
	const char *e = x->s;
	const char *path = ci_marker(x->ci, e, &x->line);
	int lines = 0;

	if (path != NULL) {
		x->path = path;
		x->line--;
		line_comment(x);
		return;
	}
	while (e < x->end && (*e != '\n' || e[-1] == '\\')) {
		lines += *e == '\n';
		e++;
	}
	tok_add(x, TOK_DIRECTIVE, (size_t)(e - x->s));
	x->line += lines;
}

static void word(struct lexer *x)
{
	const char *e = x->s;
	bool foreign = false;
	enum ci_token_kind kind = isdigit((unsigned char)*e) ? TOK_NUMBER : TOK_NAME;

	while (e < x->end && (word_char(*e) || foreign_char(*e) ||
			      (kind == TOK_NUMBER && *e == '.'))) {
		foreign |= foreign_char(*e);
		e++;
	}
	tok_add(x, foreign ? TOK_BAD : kind, (size_t)(e - x->s));
}

/* A string or character literal, which ends on its line. */
static void quoted(struct lexer *x)
{
	char quote = *x->s;
	const char *e = x->s + 1;

	while (e < x->end && *e != quote && *e != '\n')
		e += *e == '\\' && e + 1 < x->end && e[1] != '\n' ? 2 : 1;
	if (e < x->end && *e == quote) {
		tok_add(x, quote == '"' ? TOK_STRING : TOK_BAD, (size_t)(e + 1 - x->s));
		return;
	}
	ci_error(x->ci, x->s, NULL, "this %s has no closing %c on its line",
		 quote == '"' ? "string" : "character", quote);
	tok_add(x, TOK_BAD, (size_t)(e - x->s));
}

static void punct(struct lexer *x)
{
	static const char *const longer[] = {
		"...", "::", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", NULL
	};

	for (const char *const *p = longer; *p != NULL; p++) {
		size_t n = strlen(*p);

		if ((size_t)(x->end - x->s) >= n && memcmp(x->s, *p, n) == 0) {
			tok_add(x, TOK_PUNCT, n);
			return;
		}
	}
	if (*x->s != '\0' && strchr("{}()[];:,.<>=+-*/%&|^~!?", *x->s) != NULL)
		tok_add(x, TOK_PUNCT, 1);
	else
		tok_add(x, TOK_BAD, 1);
}

static void one(struct lexer *x)
{
	char c = *x->s;

	if (c == '\n')
		newline(x);
	else if (isspace((unsigned char)c))
		x->s++;
	else if (c == '/' && x->s[1] == '/')
		line_comment(x);
	else if (c == '/' && x->s[1] == '*')
		block_comment(x);
	else if (c == '#' && x->first)
		directive(x);
	else if (word_char(c) || foreign_char(c))
		word(x);
	else if (c == '"' || c == '\'')
		quoted(x);
	else
		punct(x);
}

const struct ci_tok *ci_lex(struct ci *ci, bool *cut_p)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct lexer x = {
		.ci = ci, .s = ci->text, .end = ci->text + ci->text_bytes, .line = 1,
		.first = true, .path = ci->path,
	};

	if (ci->text_bytes >= 3 && memcmp(ci->text, bom, 3) == 0)
		x.s += 3;
	while (x.s < x.end && !ci_gave_up(ci))
		one(&x);
	x.cut |= ci_gave_up(ci);
	tok_add(&x, TOK_END, 0);
	*cut_p = x.cut;
	return x.toks;
}
