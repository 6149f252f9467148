/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_int.h: what the three files of the parser share: the place in the token list, the
 * words for errors, and the way on after one.
 *
 * A rule returns false when it met an error that it could not step over; it has reported
 * it. The loop over members or statements above then skips to where the next one starts.
 */
#ifndef CI_PARSE_INT_H
#define CI_PARSE_INT_H

#include "ast.h"

struct parser {
	struct ci *ci;
	const struct ci_tok *toks;
	const struct ci_tok *t;         /* the next token */
	bool cut;                       /* the text ends in an open comment: say no more there */
	bool nested;                    /* a module inside a module was reported */
	struct ci_module *module;
};

/* ---- parse_util.c -------------------------------------------------------------------- */

bool p_is(const struct parser *p, const char *word);
bool p_next_is(const struct parser *p, const char *word);   /* the token after the next one */
bool p_accept(struct parser *p, const char *word);

/** "expected X, found Y" at the next token. Always false, for `return`. */
bool p_unexpected(struct parser *p, const char *wanted, const char *help);

/** The same for what should have followed the last token: when the next one is on another
 * line, the end of this line is where to look. */
bool p_missing(struct parser *p, const char *wanted, const char *help);

/** Take `word` or report it missing. */
bool p_expect(struct parser *p, const char *word);

/** "X is not supported yet" / "X needs C++"; with what to write instead. */
void p_later(struct parser *p, const struct ci_tok *at, const char *what, const char *instead);
void p_cpp(struct parser *p, const struct ci_tok *at, const char *what, const char *instead);

/** A name that is being declared; `what` says of what. Keywords and hyphens in it are
 * reported and stepped over. NULL when there is no name. */
const struct ci_tok *p_new_name(struct parser *p, const char *what);

/** Behind the bracket that closes the one which is the next token. */
void p_skip_balanced(struct parser *p);

/** Behind the statement in which an error was: after its ; or its block, or before the } of
 * what surrounds it, or before a line that starts with a word of the language. */
void p_skip_statement(struct parser *p);

bool p_is_section_word(const struct parser *p);   /* starts something at module level */

/* ---- parse_type.c: types, parameters, lengths ----------------------------------------- */

bool p_type(struct parser *p, struct ci_type *type);
bool p_is_basic_type(const struct parser *p);

/** A whole-number expression of names, numbers and operators. */
bool p_expression(struct parser *p, struct ci_expr *e);

/** The same up to a `]`. */
bool p_length(struct parser *p, struct ci_expr *e);

/** `(` ... `)`. */
bool p_params(struct parser *p, struct ci_param **list);

/* ---- parse_sdag.c ----------------------------------------------------------------------- */

/** The next token starts a body of Structured Dagger. */
bool p_is_sdag(const struct parser *p);

/** That body, for e. After an error in it the rest of the body is skipped. */
void p_sdag(struct parser *p, struct ci_chare *c, struct ci_entry *e);

/** The whens of all bodies know their entries; those that no `entry` declares are added. */
void p_sdag_entries(struct parser *p, struct ci_chare *c);

/* ---- parse_chare.c -------------------------------------------------------------------- */

/** mainchare, chare, array, group, nodegroup; the next token is its word. */
void p_chare(struct parser *p);

#endif
