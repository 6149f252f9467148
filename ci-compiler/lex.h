/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lex.h: the tokens of a .ci file.
 */
#ifndef CI_LEX_H
#define CI_LEX_H

#include "ci.h"

enum ci_token_kind {
	TOK_END,
	TOK_NAME,        /* also the keywords of the .ci language: their place decides */
	TOK_NUMBER,      /* a digit and what follows without a space: "12", "0x1f", "2D" */
	TOK_STRING,      /* with its quotes */
	TOK_PUNCT,
	TOK_DIRECTIVE,   /* a whole preprocessor line */
	TOK_BAD,         /* text that is no token of C; the parser reports it where it matters */
};

struct ci_tok {
	enum ci_token_kind kind;
	bool first;          /* the first token on its line */
	int line;
	const char *path;    /* the file that the line is in */
	const char *at;      /* the token in the file's text */
	const char *s;       /* the same, NUL-terminated */
	size_t len;
};

/** The whole file as tokens, the last one TOK_END. Set *cut_p if the text behind the tokens is lost,
 * because a comment has no end (which is reported) or there were too many errors. */
const struct ci_tok *ci_lex(struct ci *ci, bool *cut_p);

#endif
