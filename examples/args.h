/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h: the command line of the small examples: options of one number or one word each.
 *
 *	const struct arg args[] = {{"cells", &cells, 64, 1, 4096, "cells per side"}};
 *
 *	if (!args_read("wave2d", m, args, 1))
 *		return;
 *
 * then reads `--cells 100` and `--help`. Call it in the main chare's constructor: there the values
 * may be readonly variables. A text with bars lists words, and the value is the place of one:
 *
 *	{"mode", &mode, BOTH, 0, BOTH, "chares|futures|both"}
 */
#ifndef EXAMPLES_ARGS_H
#define EXAMPLES_ARGS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ck.h"

struct arg {
	const char *name;               /* without its dashes */
	long *value;
	long usual, least, most;
	const char *what;               /* for --help */
};

static inline bool args_words(const struct arg *arg)
{
	return strchr(arg->what, '|') != NULL;
}

/* The i-th word and its length. */
static inline const char *args_word(const struct arg *arg, long i, size_t *length_p)
{
	const char *word = arg->what;

	while (i--)
		word = strchr(word, '|') + 1;
	*length_p = strcspn(word, "|");
	return word;
}

static inline void args_help(const char *program, const struct arg *args, int n)
{
	CkPrintf("Usage: ckrun -n <PEs> %s [options]\n", program);
	for (int i = 0; i < n; i++) {
		CkPrintf("  --%-10s %s ", args[i].name, args[i].what);
		if (args_words(&args[i])) {
			size_t length;
			const char *word = args_word(&args[i], args[i].usual, &length);

			CkPrintf("(%.*s)\n", (int)length, word);
		} else {
			CkPrintf("(%ld)\n", args[i].usual);
		}
	}
}

static inline const struct arg *args_find(const char *word, const struct arg *args, int n)
{
	for (int i = 0; i < n; i++)
		if (!strncmp(word, "--", 2) && !strcmp(word + 2, args[i].name))
			return &args[i];
	return NULL;
}

static inline bool args_number(const char *text, const struct arg *arg)
{
	char *end;

	errno = 0;
	*arg->value = strtol(text, &end, 10);
	return end > text && !*end && !errno && *arg->value >= arg->least &&
	       *arg->value <= arg->most;
}

static inline bool args_choice(const char *text, const struct arg *arg)
{
	for (long i = arg->least; i <= arg->most; i++) {
		size_t length;
		const char *word = args_word(arg, i, &length);

		if (strlen(text) == length && !strncmp(text, word, length)) {
			*arg->value = i;
			return true;
		}
	}
	return false;
}

static inline bool args_value(const char *text, const struct arg *arg)
{
	return args_words(arg) ? args_choice(text, arg) : args_number(text, arg);
}

/** Set every value: from the command line, or to the usual one. False means that it has printed what
 * to write, that the job is about to end, and that the constructor should return. */
static inline bool args_read(const char *program, const CkArgMsg *m, const struct arg *args, int n)
{
	for (int i = 0; i < n; i++)
		*args[i].value = args[i].usual;
	for (int i = 1; i < m->argc; i += 2) {
		const struct arg *arg = args_find(m->argv[i], args, n);

		if (arg && i + 1 < m->argc && args_value(m->argv[i + 1], arg))
			continue;
		if (!strcmp(m->argv[i], "--help"))
			args_help(program, args, n);
		else if (!arg)
			CkError("%s: no option '%s', see --help\n", program, m->argv[i]);
		else if (args_words(arg))
			CkError("%s: --%s wants %s\n", program, arg->name, arg->what);
		else
			CkError("%s: --%s wants a number from %ld to %ld\n", program, arg->name,
				arg->least, arg->most);
		CkExit(strcmp(m->argv[i], "--help") ? 1 : 0);
		return false;
	}
	return true;
}

#endif
