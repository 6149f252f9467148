/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ckci.c: the compiler, from a text to the text that it prints. A text that begins with a marker of the
 * preprocessor (# 1 "file") is read as one that the preprocessor has left.
 */
#include "fuzz.h"

#include "../../ci-compiler/check.h"
#include "../../ci-compiler/ci.h"
#include "../../ci-compiler/gen.h"
#include "../../ci-compiler/out.h"
#include "../../ci-compiler/parse.h"

#include <stdlib.h>
#include <string.h>

static bool is_preprocessed(const char *text, size_t size)
{
	return size > 3 && text[0] == '#' && text[1] == ' ' && text[2] >= '0' && text[2] <= '9';
}

static void generate(struct ci *ci, const struct ci_module *m)
{
	struct ci_out decl = ci_out_open(ci, "m.decl.h"), def = ci_out_open(ci, "m.def.h");

	ci_gen_decl(&decl, m);
	ci_gen_def(&def, m);
}

static void compile(struct ci *ci)
{
	struct ci_module *modules = ci_parse(ci);

	ci_check(ci, modules);
	ci_print_errors(ci);
	ci_print_notes(ci);
	if (ci->n_errors == 0)
		for (struct ci_module *m = modules; m != NULL; m = m->next)
			generate(ci, m);
}

static int each(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct ci ci = {.path = "fuzz.ci", .text = text, .text_bytes = size,
			.cpp = is_preprocessed((const char *)data, size)};

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	compile(&ci);
	ci_free_all(&ci);
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	return LLVMFuzzerRunDriver(&argc, &argv, each);
}
