/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_damaged.c: the compiler survives damaged files. The test takes each file named on the command line
 * and cuts it off at every byte, leaves out every byte, and replaces every byte by characters that mean
 * something. If the parser still accepts the file, the generators run too. Under the address sanitizer it says
 * more, and takes ten times as long. An alarm catches a parser that does not move on.
 */
#include "check.h"
#include "ci.h"
#include "gen.h"
#include "out.h"
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS_PER_FILE = 120 };

struct count {
	long runs, accepted;
};

/* The text in a block of just its size, so that reading beyond it is noticed. */
static void run(struct count *count, const char *text, size_t len)
{
	/* As the preprocessor leaves it, with its markers. */
	bool cpp = len > 3 && text[0] == '#' && text[2] >= '0' && text[2] <= '9';
	char *copy = malloc(len + 1);
	struct ci ci = {.path = "damaged.ci", .text = copy, .text_bytes = len, .cpp = cpp};
	struct ci_module *modules;

	memcpy(copy, text, len);
	copy[len] = '\0';
	modules = ci_parse(&ci);
	ci_check(&ci, modules);
	count->runs++;
	if (ci.n_errors > 0) {
		ci_print_errors(&ci);
	} else {
		count->accepted++;
		for (struct ci_module *m = modules; m != NULL; m = m->next) {
			struct ci_out decl = ci_out_open(&ci, "m.decl.h");
			struct ci_out def = ci_out_open(&ci, "m.def.h");

			ci_gen_decl(&decl, m);
			ci_gen_def(&def, m);
		}
	}
	ci_free_all(&ci);
	free(copy);
}

static void damage(struct count *count, char *text, size_t len)
{
	static const char instead[] = "{}()[];:,.<>*&-=~#\"'/x1 \n\xc3";

	for (size_t i = 0; i <= len; i++)
		run(count, text, i);
	for (size_t i = 0; i < len; i++) {
		char was = text[i];

		/* One of the characters per place keeps this linear. */
		text[i] = instead[i % (sizeof instead - 1)];
		run(count, text, len);
		text[i] = '\0';
		run(count, text, len);
		text[i] = was;
	}
	for (size_t i = 0; i + 1 < len; i++) {
		char *without = malloc(len);

		memcpy(without, text, i);
		memcpy(without + i, text + i + 1, len - i - 1);
		run(count, without, len - 1);
		free(without);
	}
}

static char *read_file(const char *path, size_t *len_p)
{
	FILE *f = fopen(path, "rb");
	char *text = malloc(1 << 20);

	if (f == NULL) {
		perror(path);
		exit(1);
	}
	*len_p = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
}

int main(int argc, char **argv)
{
	/* Hides the errors of thousands of broken files; a sanitizer writes to descriptor 2. */
	stderr = fopen("/dev/null", "w");
	for (int i = 1; i < argc; i++) {
		struct count count = {0, 0};
		size_t len;
		char *text = read_file(argv[i], &len);

		alarm(SECONDS_PER_FILE);
		damage(&count, text, len);
		printf("ok     damaged: %s (%ld variants, %ld still accepted)\n", argv[i],
		       count.runs, count.accepted);
		free(text);
	}
	fclose(stderr);
	return 0;
}
