/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diag.c: collects errors and prints them in the order of the file.
 *
 * The checks that need the whole file run after the parser, so ckci finds errors out of order. The
 * user should read them from top to bottom.
 */
#include "ci.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/machine/tools/one_line.h"

enum {
	WINDOW = 120,        /* how many bytes of a long line are shown */
};

struct ci_error {
	struct ci_error *next;
	const char *at;
	const char *text;
	const char *help;
};

struct ci_note {
	struct ci_note *next;
	const char *at;      /* of the first one */
	const char *kind;
	const char *text;
	int n;
};

void ci_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	one_line_print("ckci: ", fmt, ap);
	va_end(ap);
}

/* About a place, whose name stands in the place of ours. */
static void __attribute__((format(printf, 1, 2))) complain_of(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	one_line_print("", fmt, ap);
	va_end(ap);
}

void ci_error(struct ci *ci, const char *at, const char *help, const char *fmt, ...)
{
	struct ci_error **link = &ci->errors;
	struct ci_error *e;
	char text[1024];
	va_list ap;

	if (ci_gave_up(ci))
		return;
	while (*link != NULL && (*link)->at < at)
		link = &(*link)->next;
	if (*link != NULL && (*link)->at == at)
		return;
	ci->n_errors++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	e = ci_alloc(ci, sizeof *e);
	e->at = at;
	e->text = ci_dup(ci, text, strlen(text));
	e->help = help;
	e->next = *link;
	*link = e;
}

void ci_note(struct ci *ci, const char *at, const char *kind, const char *fmt, ...)
{
	struct ci_note **link = &ci->notes;
	struct ci_note *n;
	char text[1024];
	va_list ap;

	while (*link != NULL && strcmp((*link)->kind, kind) != 0)
		link = &(*link)->next;
	n = *link;
	if (n != NULL) {
		n->n++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	n = ci_alloc(ci, sizeof *n);
	*n = (struct ci_note){.at = at, .kind = kind, .text = ci_dup(ci, text, strlen(text)), .n = 1};
	*link = n;
}

/* Columns count characters, not bytes: continuation bytes of UTF-8 do not count. */
static bool starts_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static int column_of(const char *line_start, const char *at)
{
	int col = 1;

	for (const char *s = line_start; s < at; s++)
		col += starts_character(*s);
	return col;
}

/* Both lines keep their tabs, so the caret is in the right place at any tab width. */
static void print_source(const char *start, const char *end, const char *at)
{
	const char *from = start;
	const char *to = end;

	if (end - start > WINDOW) {
		if (at - start > WINDOW / 2)
			from = at - WINDOW / 2;
		if (to - from > WINDOW)
			to = from + WINDOW;
		while (from < at && !starts_character(*from))
			from++;
		while (to > at && to < end && !starts_character(*to))
			to--;
	}
	if (start == end)
		return;
	fputs("    ", stderr);
	for (const char *s = from; s < to; s++)
		fputc((unsigned char)*s < ' ' && *s != '\t' ? ' ' : *s, stderr);
	fputs("\n    ", stderr);
	for (const char *s = from; s < at; s++) {
		if (starts_character(*s))
			fputc(*s == '\t' ? '\t' : ' ', stderr);
	}
	fputs("^\n", stderr);
}

static void print_place(struct ci *ci, const char *at, const char *what, const char *text)
{
	const struct ci_place p = ci_place_of(ci, at);

	complain_of("%s:%d:%d: %s: %s", p.path, p.line, column_of(p.start, p.at), what, text);
	print_source(p.start, p.end, p.at);
}

void ci_print_errors(struct ci *ci)
{
	for (const struct ci_error *e = ci->errors; e != NULL; e = e->next) {
		print_place(ci, e->at, "error", e->text);
		if (e->help != NULL)
			fprintf(stderr, "  help: %s\n", e->help);
	}
	if (ci_gave_up(ci))
		ci_complain("%s: stopped after %d errors, nothing written", ci->path, ci->n_errors);
	else
		ci_complain("%s: %d error%s, nothing written", ci->path, ci->n_errors,
			    ci->n_errors == 1 ? "" : "s");
}

void ci_print_notes(struct ci *ci)
{
	for (const struct ci_note *n = ci->notes; n != NULL; n = n->next) {
		const char *more = n->n == 1 ? "" : ci_fmt(ci, " (and %d more of this kind)", n->n - 1);

		print_place(ci, n->at, "note", ci_fmt(ci, "%s%s", n->text, more));
	}
}
