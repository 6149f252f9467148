/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c: knows which words cannot be names, and guesses what a misspelt word meant.
 *
 * C and C++ compilers read the generated headers, so the keywords of both languages count.
 */
#include "ci.h"

#include <string.h>
#include <strings.h>

static bool in_list(const char *s, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (strcmp(s, *words) == 0)
			return true;
	}
	return false;
}

bool ci_is_c_keyword(const char *s)
{
	static const char *const words[] = {
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double",
		"else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long",
		"register", "restrict", "return", "short", "signed", "sizeof", "static",
		"struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
		"_Alignas", "_Alignof", "_Atomic", "_Bool", "_Complex", "_Generic", "_Imaginary",
		"_Noreturn", "_Static_assert", "_Thread_local", "bool", "asm", "typeof", NULL
	};

	return in_list(s, words);
}

bool ci_is_cpp_keyword(const char *s)
{
	static const char *const words[] = {
		"alignas", "alignof", "and", "and_eq", "bitand", "bitor", "catch", "char8_t",
		"char16_t", "char32_t", "class", "compl", "concept", "constexpr", "consteval",
		"constinit", "const_cast", "co_await", "co_return", "co_yield", "decltype",
		"delete", "dynamic_cast", "explicit", "export", "false", "friend", "mutable",
		"namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
		"or_eq", "private", "protected", "public", "reinterpret_cast", "requires",
		"static_assert", "static_cast", "template", "this", "thread_local", "throw",
		"true", "try", "typeid", "typename", "using", "virtual", "wchar_t", "xor",
		"xor_eq", NULL
	};

	return in_list(s, words);
}

bool ci_is_built_in(const char *s)
{
	static const char *const words[] = {
		"CkDataMsg", "CkQdMsg", "CkArrayCreatedMsg", "CkMessage", NULL
	};

	return in_list(s, words);
}

enum { MAX_WORD = 32 };

/* The Levenshtein distance of two words, ignoring case. */
static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_WORD + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > MAX_WORD || nb > MAX_WORD)
		return MAX_WORD;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			bool same = strncasecmp(a + i - 1, b + j - 1, 1) == 0;
			size_t best = diagonal + (same ? 0 : 1);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[nb];
}

const char *ci_nearest(const char *s, const char *const *words)
{
	const char *best = NULL;
	size_t limit = strlen(s) / 3 + 1;   /* a third of the letters may be wrong */

	for (; *words != NULL; words++) {
		size_t d = distance(s, *words);

		if (d < limit) {
			limit = d;
			best = *words;
		}
	}
	return best;
}
