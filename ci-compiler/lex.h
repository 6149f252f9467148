/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lex.h: the words of a .ci file.
 */
#ifndef CI_LEX_H
#define CI_LEX_H

#include "ci.h"

enum ci_token_kind {
	TOK_END,
	TOK_NAME,        /* keywords of the .ci language too: they are words by their place */
	TOK_NUMBER,      /* a digit and what sticks to it: "12", "0x1f", "2D" */
	TOK_STRING,      /* with its quotes */
	TOK_PUNCT,
	TOK_DIRECTIVE,   /* a whole preprocessor line */
	TOK_BAD,         /* text that C has no word for; the parser says so where it matters */
};

struct ci_tok {
	enum ci_token_kind kind;
	bool first;          /* on its line */
	int line;
	const char *path;    /* of the file that the line is in */
	const char *at;      /* in the file's text */
	const char *s;       /* the same, NUL-terminated */
	size_t len;
};

/** The whole file as tokens, the last one TOK_END. A comment without its end is reported
 * here, and *cut_p set: what follows it was lost. */
const struct ci_tok *ci_lex(struct ci *ci, bool *cut_p);

#endif
