/* SPDX-License-Identifier: Apache-2.0 */
/* gen_sdag_text.c: the user's text of a body, at its line and column of the .ci file. */
#include "sdag_int.h"

#include <string.h>

static int newlines(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		n += *s == '\n';
	return n;
}

static int column(const struct ci *ci, const struct ci_tok *t)
{
	const char *s = t->at;

	while (s > ci->text && s[-1] != '\n')
		s--;
	return (int)(t->at - s);
}

/* Print the space between two tokens, so that t has the same distance, or the same line and column, as
 * in the file. */
static void gap(struct ci_out *o, const struct ci_tok *before, int line, const struct ci_tok *t)
{
	int n = t->line - line;

	if (strcmp(before->path, t->path) == 0 && n == 0) {
		ci_put(o, "%*s", (int)(t->at - before->at - (ptrdiff_t)before->len), "");
		return;
	}
	ci_put(o, "\n");
	if (n < 0 || n > 8 || strcmp(before->path, t->path) != 0)
		ci_put_line(o, t);
	else
		for (; n > 1; n--)
			ci_put(o, "\n");
	ci_put(o, "%*s", column(o->ci, t), "");
}

/* Print the text on lines of its own. */
void sdag_text(struct ci_out *o, const struct ci_expr *x)
{
	int line = 0;

	if (x->from == x->to)
		return;
	ci_put_line(o, x->from);
	ci_put(o, "%*s", column(o->ci, x->from), "");
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		if (t != x->from)
			gap(o, t - 1, line, t);
		ci_put(o, "%s", t->s);
		line = t->line + newlines(t->s);
	}
	ci_put(o, "\n");
	ci_put_line_back(o);
}

void sdag_indent(struct ci_out *o, int depth)
{
	while (depth-- > 0)
		ci_put(o, "\t");
}
