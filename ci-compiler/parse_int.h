/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_int.h: shared by the files of the parser: the position in the token list, the functions
 * that report errors, and those that continue after an error.
 *
 * A rule that meets an error and cannot continue reports the error and returns false. Its caller's loop
 * over members or statements then skips to the start of the next one.
 */
#ifndef CI_PARSE_INT_H
#define CI_PARSE_INT_H

#include "ast.h"

struct parser {
	struct ci *ci;
	const struct ci_tok *toks;
	const struct ci_tok *t;         /* the next token */
	bool cut;                       /* the text ends in an open comment: report no errors at its end */
	bool nested;                    /* the parser has reported a module inside a module */
	struct ci_item *templates;      /* the templates that have been reported */
	struct ci_module *module;
};

/* ---- parse_util.c -------------------------------------------------------------------- */

bool p_is(const struct parser *p, const char *word);
bool p_next_is(const struct parser *p, const char *word);   /* the token after the next one */
bool p_accept(struct parser *p, const char *word);

/** Report "expected X, found Y" at the next token. Always returns false, for use in `return`. */
bool p_unexpected(struct parser *p, const char *wanted, const char *help);

/** Report what should have followed the last token. If the next token is on another line, the error
 * points to the end of the last token's line. Always returns false. */
bool p_missing(struct parser *p, const char *wanted, const char *help);

/** There is nothing more to read: the text has ended, or had too many errors. */
bool p_at_end(struct parser *p);

/** Take `word` or report it missing. */
bool p_expect(struct parser *p, const char *word);

/** Report "X is not supported yet" or "X needs C++", with what to write instead. */
void p_later(struct parser *p, const struct ci_tok *at, const char *what, const char *instead);
void p_cpp(struct parser *p, const struct ci_tok *at, const char *what, const char *instead);

/** Report a template, or a use of it, unless that template has been reported. */
void p_template(struct parser *p, const struct ci_tok *at, const char *name, const char *what,
		const char *instead);

/** Read the name in a declaration of `what`. Report a keyword or a hyphen, and continue as if the name
 * were good. Report anything else and return NULL. */
const struct ci_tok *p_new_name(struct parser *p, const char *what);

/** The next token opens a bracket: skip past the bracket that closes it. */
void p_skip_balanced(struct parser *p);

/** Skip past the next ; or block, whatever the words in between mean. */
void p_skip_declaration(struct parser *p);

/** Skip the rest of a statement with an error: past its ; or its block, or up to the } of what
 * surrounds it, or up to a line that starts with a word of the .ci language. */
void p_skip_statement(struct parser *p);

bool p_is_section_word(const struct parser *p);   /* the next token starts a module or a section of it */

/* ---- parse_type.c: types, parameters, lengths ----------------------------------------- */

bool p_type(struct parser *p, struct ci_type *type);
bool p_is_basic_type(const struct parser *p);

/** Read a whole-number expression of names, numbers and operators. */
bool p_expression(struct parser *p, struct ci_expr *e);

/** Read `= bytes` after the word stacksize. */
bool p_stacksize(struct parser *p, struct ci_expr *e);

/** Read such an expression; a `]` must follow it. */
bool p_length(struct parser *p, struct ci_expr *e);

/** Read a parameter list, with its parentheses. References are read as values. */
bool p_params(struct parser *p, struct ci_param **list);

/* ---- parse_sdag.c ----------------------------------------------------------------------- */

/** The next token starts a body of Structured Dagger. */
bool p_is_sdag(const struct parser *p);

/** Read that body for e. After an error, skip the rest of the body. */
void p_sdag(struct parser *p, struct ci_chare *c, struct ci_entry *e);

/** Find the entry of each call that a `when` waits for. Add the entries that no `entry` declares. */
void p_sdag_entries(struct parser *p, struct ci_chare *c);

/* ---- parse.c ---------------------------------------------------------------------------- */

/** The next token starts a section that may also stand inside a chare: readonly, initnode, initproc,
 * include, class. */
bool p_is_member_section(const struct parser *p);

/** Read that section. What it declares is C++'s c::name, so it is named c_name in C. */
void p_member_section(struct parser *p, const struct ci_chare *c);

/* ---- parse_pup.c ------------------------------------------------------------------------ */

/** Read what follows the word pup. */
bool p_pup(struct parser *p);

/* ---- parse_chare.c -------------------------------------------------------------------- */

/** Read a chare. The next token is mainchare, chare, array, group or nodegroup. */
void p_chare(struct parser *p);

#endif
