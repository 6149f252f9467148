/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h: keeps generated text in memory until it is complete, then writes all files at once.
 */
#ifndef CI_OUT_H
#define CI_OUT_H

#include "lex.h"

struct ci_out {
	struct ci *ci;
	const char *path;       /* the final file */
	const char *tmp_path;   /* the temporary file, until all files are written */
	char *text;
	size_t len, room;
	int line;               /* the line of the next character */
};

struct ci_out ci_out_open(struct ci *ci, const char *path);

void ci_put(struct ci_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Print #line, so that the C compiler reports the following at the position of `tok`. */
void ci_put_line(struct ci_out *o, const struct ci_tok *tok);

/** Print #line, so that the C compiler reports the following in the generated file itself. */
void ci_put_line_back(struct ci_out *o);

/** Write all `n` files, or none: write each under a temporary name, then rename them all. On failure
 * print why and return false. */
bool ci_out_write(struct ci_out *const *files, int n);

#endif
