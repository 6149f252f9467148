/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_text.c: the lines of a back-trace, by libdw.
 *
 * The program's frames are those that are neither the library's, nor in what ckci generated, nor
 * in libc. A mistake that the library reports is printed from the innermost of them to the
 * outermost; a fault from where it came. Others between them are counted. Where no frame is the
 * program's, a fault has all of them printed, and a mistake has a line that says so.
 *
 * The library, libdw.so.1, is loaded here. Names of C++ are demangled by the program's own
 * libstdc++, or by libstdc++.so.6, which is loaded for the first of them. libdw's headers are
 * needed when this file is compiled; without them there are no such lines.
 */
#include "frames.h"

#if !__has_include(<elfutils/libdwfl.h>)

int frames_text(const struct frames *f, char *text, int room)
{
	(void)f, (void)text, (void)room;
	return 0;
}

#else

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char LIBRARY[] = "libdw.so.1";

/* What is called of it. */
#define DW_EACH(X)                                                                                 \
	X(dwfl_begin) X(dwfl_linux_proc_report) X(dwfl_report_end) X(dwfl_linux_proc_find_elf)     \
	X(dwfl_standard_find_debuginfo) X(dwfl_addrmodule) X(dwfl_module_addrinfo)                 \
	X(dwfl_module_info) X(dwfl_module_addrdie) X(dwfl_module_nextcu) X(dwarf_haspc)            \
	X(dwarf_getsrc_die) X(dwarf_linesrc) X(dwarf_lineno)                                       \
	X(dwarf_getscopes) X(dwarf_getscopes_die) X(dwarf_diename) X(dwarf_tag)                    \
	X(dwarf_attr) X(dwarf_attr_integrate) X(dwarf_formudata) X(dwarf_formstring)               \
	X(dwarf_getsrcfiles) X(dwarf_filesrc)

#define DW_POINTER(name) __typeof__(name) *name;
static struct {
	DW_EACH(DW_POINTER)
} dw;
#undef DW_POINTER

/* Where the library's functions lie, in the program or in libchard.so (order.ld). NULL: each
 * object is linked by itself, as in unit tests, and all functions count as the program's. */
extern const char chard_text_begin[] __attribute__((weak, visibility("hidden")));
extern const char chard_text_end[] __attribute__((weak, visibility("hidden")));

enum whose { PROGRAM, LIBRARY_CHARD, GENERATED, SYSTEM };

/** One line: a function at a place of its source. */
struct line {
	enum whose whose;
	const char *name, *file;      /* NULL: unknown */
	int number;                   /* in the file */
	const char *object;           /* for a name or an address without a file */
	unsigned long offset;         /* from the name, or in the object */
};

enum { LINES_MAX = 2 * FRAMES_MAX };
struct lines {
	int n;
	struct line at[LINES_MAX];
};

/* ---- what libdw knows ------------------------------------------------------------------------ */

static bool load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW);
	bool found = library;

#define DW_FIND(name) found = found && (*(void **)&dw.name = dlsym(library, #name));
	DW_EACH(DW_FIND)
#undef DW_FIND
	return found;
}

/* Of this process, which is a copy of the one that reports. */
static Dwfl *look_at_us(void)
{
	static Dwfl_Callbacks callbacks;
	Dwfl *dwfl;

	callbacks.find_elf = dw.dwfl_linux_proc_find_elf;
	callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
	dwfl = dw.dwfl_begin(&callbacks);
	if (!dwfl || dw.dwfl_linux_proc_report(dwfl, getpid()) ||
	    dw.dwfl_report_end(dwfl, NULL, NULL))
		return NULL;
	return dwfl;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* libc, its loader, and the libraries of the sanitizers. */
static bool is_systems(const char *object)
{
	static const char *const names[] = {"libc.so", "libpthread.so", "ld-linux", "ld-", "libasan.so",
					    "libtsan.so", "libubsan.so", "libstdc++.so", "[vdso"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(object, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* What ckci generates, and the functions of the public headers. */
static bool is_generated(const char *file)
{
	static const char *const names[] = {"ck.h", "ckchannel.h", "ckglobal.h", "ckgen.h",
					    "ckdirect.h", "csd.h", "cth.h"};

	if (ends_with(file, ".def.h") || ends_with(file, ".decl.h"))
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(base_name(file), names[i]) == 0)
			return true;
	return false;
}

static enum whose whose(uintptr_t at, const struct line *l)
{
	if (at >= (uintptr_t)chard_text_begin && at < (uintptr_t)chard_text_end)
		return LIBRARY_CHARD;
	if (l->object && is_systems(l->object))
		return SYSTEM;
	if (l->file)
		return is_generated(l->file) ? GENERATED : PROGRAM;
	/* Generated functions may have the program's in them: only debug information tells. */
	if (l->name && (strcmp(l->name, "main") == 0 || strcmp(l->name, "_start") == 0))
		return GENERATED;
	return PROGRAM;
}

/* ---- names of C++ ---------------------------------------------------------------------------- */

typedef char *(*demangle_fn)(const char *name, char *buffer, size_t *length, int *status);

static demangle_fn demangler(void)
{
	void *fn = dlsym(RTLD_DEFAULT, "__cxa_demangle");
	void *library = fn ? NULL : dlopen("libstdc++.so.6", RTLD_NOW);
	demangle_fn found;

	if (library)
		fn = dlsym(library, "__cxa_demangle");
	*(void **)&found = fn;
	return found;
}

static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0;
}

/* As the source has it: Block::step(int). Nothing is freed, because the child ends soon. */
static const char *readable(const char *name)
{
	static demangle_fn demangle;
	int status = -1;
	char *text;

	if (!name || !is_mangled(name) || (!demangle && !(demangle = demangler())))
		return name;
	text = demangle(name, NULL, NULL, &status);
	return status == 0 && text ? text : name;
}

/* C++ gives functions a name for the linker, too, which has their class. Those of libc are not the
 * program's word for them, such as __GI_abort. */
static const char *function_name(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dw.dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute))
		name = dw.dwarf_formstring(&attribute);
	return name && is_mangled(name) ? readable(name) : dw.dwarf_diename(function);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_line(struct lines *lines, uintptr_t at, struct line l)
{
	l.whose = whose(at, &l);
	if (lines->n < LINES_MAX)
		lines->at[lines->n++] = l;
}

static int number_of(Dwarf_Die *die, unsigned what)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number = 0;

	if (!dw.dwarf_attr(die, what, &attribute) || dw.dwarf_formudata(&attribute, &number))
		return 0;
	return (int)number;
}

/* `l` becomes the place of the call that was replaced by this copy of a function. */
static void go_to_call(Dwarf_Die *unit, Dwarf_Die *copy, struct line *l)
{
	Dwarf_Files *files;

	l->file = NULL;
	if (dw.dwarf_getsrcfiles(unit, &files, NULL) == 0)
		l->file = dw.dwarf_filesrc(files, (size_t)number_of(copy, DW_AT_call_file), NULL, NULL);
	l->number = number_of(copy, DW_AT_call_line);
}

/* The debug information of an address's source file. NULL: there is none. clang writes no table of
 * addresses, by which dwfl_module_addrdie looks. */
static Dwarf_Die *unit_of(Dwfl_Module *module, uintptr_t look, Dwarf_Addr *bias_p)
{
	Dwarf_Die *unit = dw.dwfl_module_addrdie(module, look, bias_p);

	if (unit)
		return unit;
	while ((unit = dw.dwfl_module_nextcu(module, unit, bias_p)))
		if (dw.dwarf_haspc(unit, look - *bias_p) > 0)
			return unit;
	return NULL;
}

/* The functions at one address that are inlined into one another, and the line of each. false:
 * there is no debug information. */
static bool add_inlined(struct lines *lines, Dwarf_Die *unit, uintptr_t at, Dwarf_Addr look,
			struct line l)
{
	Dwarf_Die *scopes, *around;
	int n = dw.dwarf_getscopes(unit, look, &scopes);

	n = n > 0 ? dw.dwarf_getscopes_die(&scopes[0], &around) : 0;
	for (int i = 0; i < n; i++) {
		const int tag = dw.dwarf_tag(&around[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		l.name = function_name(&around[i]);
		add_line(lines, at, l);
		if (tag == DW_TAG_subprogram)
			return true;
		go_to_call(unit, &around[i], &l);
	}
	return false;
}

static void find_line(Dwarf_Die *unit, Dwarf_Addr look, struct line *l)
{
	Dwarf_Line *line = dw.dwarf_getsrc_die(unit, look);

	if (line && dw.dwarf_lineno(line, &l->number) == 0)
		l->file = dw.dwarf_linesrc(line, NULL, NULL);
}

/* A return address may be the next function's, so the call is looked up before it. */
static void add_frame(struct lines *lines, Dwfl *dwfl, uintptr_t at, bool exact)
{
	const uintptr_t look = exact ? at : at - 1;
	Dwfl_Module *module = dw.dwfl_addrmodule(dwfl, look);
	struct line l = {.offset = at};
	const char *path = NULL;
	Dwarf_Addr start = 0;
	GElf_Off offset = 0;
	Dwarf_Addr bias;
	Dwarf_Die *unit;
	GElf_Sym symbol;

	if (!module) {
		add_line(lines, at, l);
		return;
	}
	path = dw.dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	l.object = path ? base_name(path) : NULL;
	l.offset = at - start;
	unit = unit_of(module, look, &bias);
	if (unit)
		find_line(unit, look - bias, &l);
	if (l.file && add_inlined(lines, unit, at, look - bias, l))
		return;
	/* A symbol without a size may be that of another function. */
	l.name = dw.dwfl_module_addrinfo(module, look, &offset, &symbol, NULL, NULL, NULL);
	if (l.name && symbol.st_size == 0)
		l.name = NULL;
	if (l.name)
		l.offset = offset + (at - look);
	l.name = readable(l.name);
	add_line(lines, at, l);
}

/* ---- text ------------------------------------------------------------------------------------ */

struct text {
	char *at;
	int used, room;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->at + t->used, (size_t)(t->room - t->used), format, ap);
	va_end(ap);
	t->used += n < t->room - t->used ? n : t->room - t->used - 1;
}

/* Relative to the folder in which the program runs, if it is there. */
static const char *short_path(const char *path)
{
	char here[PATH_MAX];
	size_t n;

	if (!getcwd(here, sizeof here))
		return path;
	n = strlen(here);
	return strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void put_line(struct text *t, int number, const struct line *l)
{
	put(t, "chard:   #%d ", number);
	if (l->name && l->file)
		put(t, "%s at %s:%d\n", l->name, short_path(l->file), l->number);
	else if (l->name)
		put(t, "%s+%#lx in %s\n", l->name, l->offset, l->object);
	else if (l->object || l->offset)
		put(t, "%#lx in %s\n", l->offset, l->object ? l->object : "no file");
	else
		put(t, "address 0: a function pointer that is NULL was called, or the stack is damaged\n");
}

static void put_left_out(struct text *t, int n)
{
	if (n > 0)
		put(t, "chard:      ... %d of Chard's\n", n);
}

/* From one line to another; those of the library and of what is generated are counted. */
static void put_lines(struct text *t, const struct lines *lines, int from, int to, bool all)
{
	int number = 0, left_out = 0;

	for (int i = from; i <= to; i++) {
		const struct line *l = &lines->at[i];

		if (!all && i > from && (l->whose == LIBRARY_CHARD || l->whose == GENERATED)) {
			left_out++;
			continue;
		}
		put_left_out(t, left_out);
		left_out = 0;
		put_line(t, number++, l);
	}
}

/* The library found the mistake later than it was made, when it handled a message or a put. Or the
 * call with the mistake was a function's last act, and the compiler has made it a jump. */
static void put_none(struct text *t)
{
	put(t, "chard:   no function of the program is on the stack; one whose last act was this call "
	       "may have left it (CK_BACKTRACE=all prints Chard's)\n");
}

int frames_text(const struct frames *f, char *text, int room)
{
	struct text t = {.at = text, .room = room};
	struct lines lines = {.n = 0};
	int first = 0, last;
	Dwfl *dwfl;

	if (!load() || !(dwfl = look_at_us()))
		return 0;
	for (int i = 0; i < f->n; i++)
		add_frame(&lines, dwfl, f->at[i], f->exact[i]);
	for (last = lines.n - 1; last >= 0 && lines.at[last].whose != PROGRAM; last--)
		;
	while (first <= last && lines.at[first].whose != PROGRAM)
		first++;
	if (f->wanted == FRAMES_ALL || (last < 0 && f->by_fault))
		put_lines(&t, &lines, 0, lines.n - 1, true);
	else if (last < 0)
		put_none(&t);
	else
		put_lines(&t, &lines, f->by_fault ? 0 : first, last, false);
	return t.used;
}

#endif
