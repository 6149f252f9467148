/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c: reads the .ci file, directly or through the C preprocessor, and maps a position in that
 * text back to the original.
 *
 * The preprocessor prints `# 12 "file"` to give the origin of the next line, and the lexer takes
 * files and line numbers from these markers. The preprocessor also changes spaces and expands
 * macros, so columns differ. For an error, ckci therefore reads the original line again and
 * searches it for the word at the error's position.
 */
#include "ci.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 64 << 20 };     /* no .ci file is so large; it may be /dev/zero by mistake */

static bool read_stream(struct ci *ci, FILE *f, const char **text_p, size_t *bytes_p)
{
	size_t room = 64 * 1024;
	char *text = ci_alloc(ci, room + 1);
	size_t used = 0, n;

	while ((n = fread(text + used, 1, room - used, f)) > 0) {
		used += n;
		if (used == room) {
			char *more = ci_alloc(ci, 2 * room + 1);

			memcpy(more, text, room);
			text = more;
			room *= 2;
		}
		if (used > MAX_FILE_BYTES) {
			errno = EFBIG;
			return false;
		}
	}
	*text_p = text;
	*bytes_p = used;
	return ferror(f) == 0;
}

static bool read_file(struct ci *ci, const char *path, const char **text_p, size_t *bytes_p)
{
	FILE *f = fopen(path, "rb");
	bool ok = f != NULL && read_stream(ci, f, text_p, bytes_p);
	int reason = errno;

	if (f != NULL)
		fclose(f);
	errno = reason;
	return ok;
}

bool ci_read(struct ci *ci)
{
	if (read_file(ci, ci->path, &ci->text, &ci->text_bytes))
		return true;
	ci_complain("cannot read %s: %s", ci->path, strerror(errno));
	return false;
}

/* ---- the preprocessor ----------------------------------------------------------------------- */

/* s in single quotes for the shell. */
static const char *quoted(struct ci *ci, const char *s)
{
	char *q = ci_alloc(ci, 4 * strlen(s) + 3);
	size_t n = 0;

	q[n++] = '\'';
	for (; *s != '\0'; s++) {
		if (*s == '\'') {
			memcpy(q + n, "'\\''", 4);
			n += 4;
		} else {
			q[n++] = *s;
		}
	}
	q[n] = '\'';
	return q;
}

/* -std=c11: otherwise the compiler predefines macros like `linux`, which replace words of the .ci file. */
static const char *command(struct ci *ci, const char *const *options, int n)
{
	const char *cc = getenv("CC");
	const char *line = ci_fmt(ci, "%s -E -x c -std=c11", cc != NULL && *cc != '\0' ? cc : "cc");

	for (int i = 0; i < n; i++)
		line = ci_fmt(ci, "%s %s", line, quoted(ci, options[i]));
	return ci_fmt(ci, "%s %s%s", line, ci->path[0] == '-' ? "./" : "", quoted(ci, ci->path));
}

static const char *next_line(const char *s, const char *end)
{
	const char *e = memchr(s, '\n', (size_t)(end - s));

	return e != NULL ? e + 1 : end;
}

static void note_file(struct ci *ci, const char *path)
{
	struct ci_file **link = &ci->files;

	if (*path == '<' || strcmp(path, ci->path) == 0)
		return;
	for (; *link != NULL; link = &(*link)->next) {
		if (strcmp((*link)->path, path) == 0)
			return;
	}
	*link = ci_alloc(ci, sizeof **link);
	(*link)->path = path;
}

static void note_files(struct ci *ci)
{
	const char *end = ci->text + ci->text_bytes;

	for (const char *s = ci->text; s < end; s = next_line(s, end)) {
		int line;
		const char *path = ci_marker(ci, s, &line);

		if (path != NULL)
			note_file(ci, path);
	}
}

bool ci_read_cpp(struct ci *ci, const char *const *options, int n)
{
	FILE *f;
	bool ok;

	if (!ci_read(ci))       /* its error for a missing file is clearer than the compiler's */
		return false;
	f = popen(command(ci, options, n), "r");
	ok = f != NULL && read_stream(ci, f, &ci->text, &ci->text_bytes);
	if (!ok)
		ci_complain("cannot run the preprocessor: %s", strerror(errno));
	if (f != NULL && pclose(f) != 0 && ok) {
		ci_complain("%s: the preprocessor failed, nothing written", ci->path);
		ok = false;
	}
	ci->cpp = true;
	if (ok)
		note_files(ci);
	return ok;
}

const char *ci_marker(struct ci *ci, const char *s, int *line_p)
{
	long line = 0;
	char *path;
	size_t n = 0;

	if (!ci->cpp || s[0] != '#' || s[1] != ' ' || !isdigit((unsigned char)s[2]))
		return NULL;
	for (s += 2; isdigit((unsigned char)*s) && line < 100000000; s++)
		line = 10 * line + (*s - '0');
	if (s[0] != ' ' || s[1] != '"')
		return NULL;
	path = ci_alloc(ci, strcspn(s + 2, "\n") + 1);
	for (s += 2; *s != '"'; s++) {
		if (*s == '\\' && s[1] != '\0')
			s++;
		if (*s == '\n' || *s == '\0')
			return NULL;
		path[n++] = *s;
	}
	*line_p = (int)line;
	return path;
}

/* ---- positions ------------------------------------------------------------------------------- */

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The length of the word at s; 1 if s starts no word. */
static size_t word_length(const char *s, const char *end)
{
	size_t n = 0;

	while (s + n < end && word_char(s[n]))
		n++;
	return n != 0 ? n : 1;
}

/* The end of the k-th occurrence (from 0) in the line of the word w of n bytes; NULL if there is none. */
static const char *behind_word(const char *s, const char *end, const char *w, size_t n, int k)
{
	while (s < end) {
		size_t len = word_length(s, end);

		if (len == n && memcmp(s, w, n) == 0 && k-- == 0)
			return s + n;
		s += len;
	}
	return NULL;
}

static int count_words(const char *s, const char *to, const char *end, const char *w, size_t n)
{
	int k = 0;

	while (s < to) {
		size_t len = word_length(s, end);

		k += len == n && memcmp(s, w, n) == 0;
		s += len;
	}
	return k;
}

/* The start of the word, or of the single character, that ends before w, spaces aside. */
static const char *word_before(const char *s, const char *w)
{
	while (w > s && isspace((unsigned char)w[-1]))
		w--;
	if (w > s && !word_char(w[-1]))
		return w - 1;
	while (w > s && word_char(w[-1]))
		w--;
	return w;
}

/* Find the position `at` of the line s .. end in the original line p->start .. p->end, and set
 * p->at. */
static void find_column(struct ci_place *p, const char *s, const char *end, const char *at)
{
	bool behind = at == end || isspace((unsigned char)*at);
	const char *w = behind ? word_before(s, at) : at;
	size_t n = word_length(w, end);
	const char *found = behind_word(p->start, p->end, w, n, count_words(s, w, end, w, n));

	if (found != NULL) {
		p->at = behind ? found : found - n;
		return;
	}
	p->at = p->start;       /* the word comes from a macro: point at the start of the line */
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
}

static const char *line_end(const char *s, const char *end)
{
	while (s < end && *s != '\n' && *s != '\r')
		s++;
	return s;
}

/* Set *p to the original line, if its file can still be read. */
static void original(struct ci *ci, struct ci_place *p)
{
	const char *s, *e, *text;
	size_t bytes;

	if (!read_file(ci, p->path, &text, &bytes))
		return;
	e = text + bytes;
	s = text;
	for (int i = 1; i < p->line && s < e; i++)
		s = next_line(s, e);
	if (s < e) {
		struct ci_place was = *p;

		p->start = s;
		p->end = line_end(s, e);
		find_column(p, was.start, was.end, was.at);
	}
}

struct ci_place ci_place_of(struct ci *ci, const char *at)
{
	const char *end = ci->text + ci->text_bytes;
	struct ci_place p = {.path = ci->path, .line = 1, .start = ci->text, .at = at};

	for (;;) {
		const char *newline = memchr(p.start, '\n', (size_t)(end - p.start));
		const char *path;

		if (newline == NULL || at <= newline)
			break;
		path = ci_marker(ci, p.start, &p.line);
		if (path != NULL)
			p.path = path;
		else
			p.line++;
		p.start = newline + 1;
	}
	p.end = line_end(p.start, end);
	if (ci->cpp)
		original(ci, &p);
	return p;
}
