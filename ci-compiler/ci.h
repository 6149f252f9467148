/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ci.h: shared by all files of ckci: the input text, the memory and the errors found.
 *
 * One struct ci lives for one run over one file. All memory comes from its arena, which is freed as a
 * whole at the end. Nothing else in the compiler frees memory.
 */
#ifndef CI_H
#define CI_H

#include <stdbool.h>
#include <stddef.h>

struct ci_chunk;
struct ci_error;
struct ci_note;

/** A file that the preprocessor read besides the .ci file. */
struct ci_file {
	struct ci_file *next;
	const char *path;
};

struct ci {
	const char *path;           /* as the user wrote it: errors and #line repeat it */
	const char *text;           /* the whole file, NUL-terminated */
	size_t text_bytes;
	struct ci_chunk *chunks;
	struct ci_error *errors;    /* sorted by position in the text */
	int n_errors;
	struct ci_note *notes;      /* one of each kind */
	bool cpp;                   /* the text comes from the preprocessor */
	struct ci_file *files;      /* cpp: the other files that the preprocessor read */
	bool had_directive;         /* the text has #if or the like: doubled names may be alternatives */
};

/* ---- memory (arena.c) ---------------------------------------------------------------- */

/** Zeroed memory that lives until ci_free_all. Never NULL: ckci exits when memory runs out. */
void *ci_alloc(struct ci *ci, size_t bytes);
char *ci_dup(struct ci *ci, const char *s, size_t len);
char *ci_fmt(struct ci *ci, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ci_free_all(struct ci *ci);

/* ---- input (input.c) ----------------------------------------------------------------- */

/** Read ci->path. On failure print why and return false. */
bool ci_read(struct ci *ci);

/** Read ci->path through `${CC:-cc} -E` with n options (-DX, -Idir). */
bool ci_read_cpp(struct ci *ci, const char *const *options, int n);

/** If the line s is a marker of the preprocessor, return the file that it names and store the number
 * of the line after it; else return NULL. */
const char *ci_marker(struct ci *ci, const char *s, int *line_p);

/** The position that an error message shows. */
struct ci_place {
	const char *path;
	int line;
	const char *start, *end;    /* the line, without its newline */
	const char *at;             /* the position, within the line */
};
struct ci_place ci_place_of(struct ci *ci, const char *at);

/* ---- errors (diag.c) ----------------------------------------------------------------- */

/** Print one line that begins with "ckci: ". Control characters of names that it quotes become
 * question marks: a name must neither look like another line, nor control a terminal. */
void ci_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Note an error at `at` (inside ci->text). `help` says what to write instead, or is NULL.
 * A second error at the same position is dropped: it would follow from the first. So is every error
 * after CI_MAX_ERRORS. */
void ci_error(struct ci *ci, const char *at, const char *help, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** After this many errors ckci reads and checks no further. Otherwise a damaged file of n errors would
 * cost time that grows with the square of n. */
enum { CI_MAX_ERRORS = 20 };

static inline bool ci_gave_up(const struct ci *ci)
{
	return ci->n_errors >= CI_MAX_ERRORS;
}

/** Remember a note at `at` about something that is accepted but interpreted differently from what
 * is written. Of all notes with the same `kind`, the first is printed, with their number. */
void ci_note(struct ci *ci, const char *at, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** Print the errors in the order of the file, each with its source line and a caret. */
void ci_print_errors(struct ci *ci);

/** Print the notes in the same way. */
void ci_print_notes(struct ci *ci);

/* ---- names (names.c) ----------------------------------------------------------------- */

bool ci_is_c_keyword(const char *s);
bool ci_is_cpp_keyword(const char *s);  /* keywords of C++ that are none in C */

/** A type of messages of the runtime's own. Callbacks and stubs call entry methods that take one. */
bool ci_is_built_in(const char *s);

/** The word of the NULL-terminated list that the user probably meant by s, or NULL. */
const char *ci_nearest(const char *s, const char *const *words);

#endif
