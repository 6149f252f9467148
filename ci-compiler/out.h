/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h: generated text, kept in memory until all of it is there, then written in one act.
 */
#ifndef CI_OUT_H
#define CI_OUT_H

#include "lex.h"

struct ci_out {
	struct ci *ci;
	const char *path;       /* where it will go */
	const char *tmp_path;   /* where it is until all files are written */
	char *text;
	size_t len, room;
	int line;               /* that the next character stands in */
};

struct ci_out ci_out_open(struct ci *ci, const char *path);

void ci_put(struct ci_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** #line: what follows is told to the user as standing where `tok` stands. */
void ci_put_line(struct ci_out *o, const struct ci_tok *tok);

/** #line: what follows stands in the generated file itself. */
void ci_put_line_back(struct ci_out *o);

/** Write all `n` files, or none: each under a temporary name, then renamed. false after
 * saying why not. */
bool ci_out_write(struct ci_out *const *files, int n);

#endif
