/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: the command ckci. It reads and checks one .ci file, and writes X.decl.h and X.def.h for each
 * module X in it. With -M it only prints a make rule for these files, with --list what is in the modules.
 */
#include "ci.h"
#include "ast.h"
#include "check.h"
#include "gen.h"
#include "out.h"
#include "parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VERSION "0.1.0"

enum {
	EXIT_REFUSED = 1,                /* errors in the .ci file, or a file cannot be read or written */
	EXIT_USAGE = 2,
};

struct options {
	const char *dir;                 /* NULL: the current directory */
	const char *file;
	bool depend, list, cpp;
	const char **cpp_options;        /* -D, -U and -I, each as one word; has room for argc words */
	int n_cpp_options;
};

static const char help[] =
	"Usage: ckci [-o DIR] [-M] [--list] [--cpp [-DX] [-IDIR]] FILE.ci\n"
	"\n"
	"Writes X.decl.h and X.def.h for each module X of a Chard interface file.\n"
	"\n"
	"  -o DIR      where to write (the current directory)\n"
	"  -M          write nothing; print a make rule: the output depends on FILE.ci\n"
	"  --list      write nothing; print the modules, chares and entry methods\n"
	"  --cpp       run the file through the C preprocessor, ${CC:-cc} -E, first, with\n"
	"              -D NAME[=VALUE], -U NAME and -I DIR\n"
	"  --help      print this\n"
	"  --version   print the version\n";

/* ---- the command line ----------------------------------------------------------------------- */

static int usage_error(const char *what, const char *arg)
{
	ci_complain("%s%s%s%s; try ckci --help", what, *arg != '\0' ? " '" : "", arg,
		    *arg != '\0' ? "'" : "");
	return EXIT_USAGE;
}

/* Read -DX or -D X. False if this is no option for the preprocessor. */
static bool cpp_option(struct ci *ci, struct options *opt, char **argv, int *i)
{
	const char *a = argv[*i];

	if (strchr("DUI", a[1]) == NULL || a[1] == '\0')
		return false;
	if (a[2] == '\0' && argv[*i + 1] != NULL)
		a = ci_fmt(ci, "%s%s", a, argv[++*i]);
	opt->cpp_options[opt->n_cpp_options++] = a;
	return true;
}

static int read_option(struct ci *ci, struct options *opt, char **argv, int *i)
{
	const char *a = argv[*i];

	if (strncmp(a, "-o", 2) == 0) {
		opt->dir = a[2] != '\0' ? a + 2 : argv[*i + 1] != NULL ? argv[++*i] : "";
		return *opt->dir != '\0' ? EXIT_SUCCESS : usage_error("-o needs a directory", "");
	}
	if (strcmp(a, "-M") == 0)
		opt->depend = true;
	else if (strcmp(a, "--list") == 0)
		opt->list = true;
	else if (strcmp(a, "--cpp") == 0)
		opt->cpp = true;
	else if (!cpp_option(ci, opt, argv, i))
		return usage_error("unknown option", a);
	return EXIT_SUCCESS;
}

/* Return the exit code, and set *done_p when nothing is left to do. */
static int read_options(struct ci *ci, struct options *opt, int argc, char **argv, bool *done_p)
{
	bool only_files = false;
	int code = EXIT_SUCCESS;

	opt->cpp_options = ci_alloc(ci, (size_t)argc * sizeof *opt->cpp_options);
	for (int i = 1; i < argc && code == EXIT_SUCCESS; i++) {
		const char *a = argv[i];

		if (only_files || a[0] != '-') {
			if (opt->file != NULL)
				return usage_error("only one file at a time, not also", a);
			opt->file = a;
		} else if (strcmp(a, "--") == 0) {
			only_files = true;
		} else if (strcmp(a, "--help") == 0 || strcmp(a, "--version") == 0) {
			fputs(a[2] == 'h' ? help : "ckci (Chard) " VERSION "\n", stdout);
			*done_p = true;
			return EXIT_SUCCESS;
		} else {
			code = read_option(ci, opt, argv, &i);
		}
	}
	if (code != EXIT_SUCCESS)
		return code;
	if (opt->n_cpp_options != 0 && !opt->cpp)
		return usage_error("allowed only with --cpp:", opt->cpp_options[0]);
	return opt->file != NULL ? EXIT_SUCCESS : usage_error("no .ci file given", "");
}

/* ---- output --------------------------------------------------------------------------------- */

static const char *out_path(struct ci *ci, const struct options *opt, const char *module,
			    const char *suffix)
{
	const char *slash = opt->dir == NULL || opt->dir[strlen(opt->dir) - 1] == '/' ? "" : "/";

	return ci_fmt(ci, "%s%s%s.%s", opt->dir != NULL ? opt->dir : "", slash, module, suffix);
}

static bool check_dir(const struct options *opt)
{
	struct stat st;

	if (opt->dir == NULL)
		return true;
	if (stat(opt->dir, &st) != 0)
		ci_complain("-o %s: %s", opt->dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		ci_complain("-o %s: not a directory", opt->dir);
	else
		return true;
	return false;
}

static bool write_modules(struct ci *ci, const struct options *opt, const struct ci_module *modules)
{
	struct ci_out *outs, **files;
	int n = 0;

	for (const struct ci_module *m = modules; m != NULL; m = m->next)
		n += 2;
	outs = ci_alloc(ci, (size_t)n * sizeof *outs);
	files = ci_alloc(ci, (size_t)n * sizeof *files);
	n = 0;
	for (const struct ci_module *m = modules; m != NULL; m = m->next) {
		outs[n] = ci_out_open(ci, out_path(ci, opt, m->name, "decl.h"));
		ci_gen_decl(&outs[n], m);
		outs[n + 1] = ci_out_open(ci, out_path(ci, opt, m->name, "def.h"));
		ci_gen_def(&outs[n + 1], m);
		files[n] = &outs[n];
		files[n + 1] = &outs[n + 1];
		n += 2;
	}
	return check_dir(opt) && ci_out_write(files, n);
}

/* Print a file name as a make rule needs it. */
static void print_make_name(const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '$')
			putchar('$');
		if (*s == ' ' || *s == '#')
			putchar('\\');
		putchar(*s);
	}
}

static void print_depend(struct ci *ci, const struct options *opt, const struct ci_module *modules)
{
	for (const struct ci_module *m = modules; m != NULL; m = m->next) {
		print_make_name(out_path(ci, opt, m->name, "decl.h"));
		putchar(' ');
		print_make_name(out_path(ci, opt, m->name, "def.h"));
		fputs(m->next != NULL ? " " : ": ", stdout);
	}
	print_make_name(opt->file);
	for (const struct ci_file *f = ci->files; f != NULL; f = f->next) {
		putchar(' ');
		print_make_name(f->path);
	}
	putchar('\n');
}

/* ---- --list --------------------------------------------------------------------------------- */

static void print_attributes(const struct ci_entry *e)
{
	const char *lead = "[";

	for (int i = 0; i < CI_N_ATTRS; i++) {
		if (e->attrs & 1u << i) {
			printf("%s%s", lead, e->attr_at[i]->s);
			lead = ", ";
		}
	}
	if (*lead != '[')
		printf("] ");
}

static void print_chare(struct ci *ci, const struct ci_chare *c)
{
	static const char *const kinds[] = {"mainchare", "array", "group", "chare", "nodegroup"};

	printf("  %s ", kinds[c->kind]);
	if (c->index.text != NULL)
		printf("[%s] ", c->index.text);
	else if (c->kind == CI_ARRAY)
		printf("[%dD] ", c->nd);
	printf("%s\n", c->name);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e)) {
		struct ci_out line = ci_out_open(ci, "");

		printf("    %d ", e->number);
		print_attributes(e);
		ci_put(&line, "%s%s(", gen_returns(e) ? gen_answer(ci, e) : "",
		       e->ctor ? c->name : e->name);
		gen_params(&line, e, "");
		printf("%s)\n", line.text);
	}
}

static void print_items(const char *what, const struct ci_item *list)
{
	for (const struct ci_item *x = list; x != NULL; x = x->next)
		printf("  %s %s\n", what, x->name);
}

static void print_list(struct ci *ci, const struct ci_module *modules)
{
	for (const struct ci_module *m = modules; m != NULL; m = m->next) {
		printf("%s %s\n", m->main ? "mainmodule" : "module", m->name);
		print_items("extern module", m->externs);
		print_items("initnode", m->initnodes);
		print_items("initproc", m->initprocs);
		for (const struct ci_pup *x = m->pups; x != NULL; x = x->next)
			printf("  pup %s%s\n", x->name, x->on_arrived != NULL ? " [on_arrived]" : "");
		for (const struct ci_field *r = m->readonlies; r != NULL; r = r->next)
			printf("  readonly %s %s%s\n", r->type.text,
			       r->kind == CI_FIELD_MESSAGE ? "*" : "", r->name);
		for (const struct ci_message *x = m->messages; x != NULL; x = x->next)
			printf("  message %s%s\n", x->name, x->packed ? ", packed by the program" :
			       x->own ? ", a struct of the program" : "");
		for (const struct ci_chare *c = m->chares; c != NULL; c = c->next)
			print_chare(ci, c);
	}
}

/* ---- the stages ----------------------------------------------------------------------------- */

static int compile(struct ci *ci, const struct options *opt)
{
	struct ci_module *modules;

	if (opt->cpp ? !ci_read_cpp(ci, opt->cpp_options, opt->n_cpp_options) : !ci_read(ci))
		return EXIT_REFUSED;
	modules = ci_parse(ci);
	ci_check(ci, modules);
	if (ci->n_errors > 0) {
		ci_print_errors(ci);
		return EXIT_REFUSED;
	}
	ci_print_notes(ci);
	if (opt->depend)
		print_depend(ci, opt, modules);
	if (opt->list)
		print_list(ci, modules);
	if (!opt->depend && !opt->list && !write_modules(ci, opt, modules))
		return EXIT_REFUSED;
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options opt = {0};
	struct ci ci = {0};
	bool done = false;
	int code = read_options(&ci, &opt, argc, argv, &done);

	ci.path = opt.file;
	if (!done && code == EXIT_SUCCESS)
		code = compile(&ci, &opt);
	ci_free_all(&ci);
	if (fflush(stdout) != 0) {
		ci_complain("cannot write to standard output: %s", strerror(errno));
		return EXIT_REFUSED;
	}
	return code;
}
