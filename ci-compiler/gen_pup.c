/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_pup.c: prints the code of `pup X;`: the declarations of X_pup and X_on_arrived, X_pup itself
 * if there is a list of fields, and the functions by which the runtime calls them.
 *
 * X_on_arrived is called only if the .ci file says so. A weak symbol would not need that, but a
 * weak reference takes no member out of a static library, so a function there would silently never
 * be called. Without the attribute, X_on_arrived is declared as something else, so that a program
 * that defines the function does not compile.
 */
#include "gen.h"
#include "gen_int.h"

#include <string.h>

/* ---- declarations ----------------------------------------------------------------------------- */

static bool has_entry(const struct ci_chare *c, const char *name)
{
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next) {
		if (strcmp(e->name, name) == 0)
			return true;
	}
	return false;
}

static void arrived_declaration(struct ci_out *o, const struct ci_pup *x)
{
	if (x->on_arrived != NULL) {
		ci_put_line(o, x->on_arrived);
		ci_put(o, "void %s_on_arrived(%s *self);\n", x->name, x->name);
	} else if (!has_entry(x->chare, "arrived")) {
		ci_put_line(o, x->tok);
		ci_put(o, "extern struct ck_no_%s_on_arrived %s_on_arrived;\n", x->name, x->name);
	}
}

static void declaration(struct ci_out *o, const struct ci_pup *x)
{
	ci_put_line(o, x->tok);
	ci_put(o, "void %s_pup(pup_er p, %s *%s);\n", x->name, x->text, x->chare != NULL ? "self" : "x");
	if (x->chare != NULL)
		arrived_declaration(o, x);
}

void gen_pup_declarations(struct ci_out *o, const struct ci_module *m)
{
	if (m->pups == NULL)
		return;
	ci_put(o, "/* you write those that 'pup' has no list for: what sizes, packs, unpacks and frees (pup_er in "
	       "ck.h) */\n");
	for (const struct ci_pup *x = m->pups; x != NULL; x = x->next)
		declaration(o, x);
	ci_put_line_back(o);
	ci_put(o, "\n");
}

/* ---- checks by the C compiler ---------------------------------------------------------------- */

/* No macro: gcc would report the macro's position. */
static void check(struct ci_out *o, const struct ci_tok *at, const char *condition, const char *text)
{
	static const char *const assertions[] = {"static_assert", "_Static_assert"};

	for (int i = 0; i < 2; i++) {
		ci_put(o, i == 0 ? "#ifdef __cplusplus\n" : "#else\n");
		ci_put_line(o, at);
		ci_put(o, "%s(%s, \"%s\");\n", assertions[i], condition, text);
	}
	ci_put(o, "#endif\n");
}

/* Each field begins where the previous one ends. */
static void check_place(struct ci_out *o, const struct ci_pup *x, const struct ci_pup_field *before,
			const struct ci_pup_field *f)
{
	const char *t = x->text;

	if (before == NULL) {
		check(o, f->tok, ci_fmt(o->ci, "offsetof(%s, %s) == 0", t, f->name),
		      ci_fmt(o->ci, "%s: a field before '%s' is missing in 'pup %s', or the order is not the "
			     "struct's; name it, or skip it", x->name, f->name, x->name));
		return;
	}
	check(o, f->tok, ci_fmt(o->ci, "offsetof(%s, %s) > offsetof(%s, %s)", t, f->name, t, before->name),
	      ci_fmt(o->ci, "%s: '%s' comes before '%s' in the struct; list the fields of 'pup %s' in the "
		     "struct's order", x->name, f->name, before->name, x->name));
	check(o, f->tok, ci_fmt(o->ci, "offsetof(%s, %s) <= CKGEN_AFTER(%s, %s, %s)", t, f->name, t,
				before->name, f->name),
	      ci_fmt(o->ci, "%s: a field between '%s' and '%s' is missing in 'pup %s'; name it, or skip it",
		     x->name, before->name, f->name, x->name));
}

static void check_end(struct ci_out *o, const struct ci_pup *x, const struct ci_pup_field *last)
{
	check(o, last->tok, ci_fmt(o->ci, "sizeof(%s) == CKGEN_END(%s, %s)", x->text, x->text, last->name),
	      ci_fmt(o->ci, "%s: a field after '%s' is missing in 'pup %s'; name it, or skip it", x->name,
		     last->name, x->name));
}

static bool has_brackets(const struct ci_pup_field *f)
{
	return f->dims.from != f->dims.to;
}

static const char *words(struct ci *ci, const struct ci_expr *x)
{
	const char *all = "";

	for (const struct ci_tok *t = x->from; t != x->to; t++)
		all = ci_fmt(ci, "%s%s ", all, t->s);
	return all;
}

/* An array type behind a typedef cannot be in the initializer of check_none_hidden. A pointer type
 * behind one would be copied as bytes. */
static void check_kind(struct ci_out *o, const struct ci_pup *x, const struct ci_pup_field *f)
{
	const char *value = ci_fmt(o->ci, "((%s *)0)->%s", x->text, f->name);

	/* A length that is no constant would do for check_types. */
	if (f->type.stars == 1 && has_brackets(f))
		check(o, f->tok, ci_fmt(o->ci, "sizeof %s == sizeof(void *%s)", value, words(o->ci, &f->dims)),
		      ci_fmt(o->ci, "%s: '%s' has another length in the struct", x->name, f->name));
	else if (f->kind == CI_PUP_SKIP)
		check(o, f->tok, ci_fmt(o->ci, "%sCKGEN_IS_ARRAY(%s)", has_brackets(f) ? "" : "!", value),
		      has_brackets(f) ?
		      ci_fmt(o->ci, "%s: '%s' is not an array; write 'skip %s'", x->name, f->name, f->name) :
		      ci_fmt(o->ci, "%s: '%s' is an array; write 'skip %s[]'", x->name, f->name, f->name));
	else if (f->type.stars == 0 && !has_brackets(f) && f->type.class_ == CI_USER)
		check(o, f->tok, ci_fmt(o->ci, "!CKGEN_IS_POINTER(%s)", value),
		      ci_fmt(o->ci, "%s: '%s' is an array or a pointer behind a typedef; write its brackets or "
			     "its star in 'pup %s', or skip it", x->name, f->name, x->name));
}

static const char *pointee(struct ci *ci, const struct ci_type *type)
{
	return ci_fmt(ci, "%s%s", type->const_ ? "const " : "", type->text);
}

/* The types in the list are those in the struct. */
static void check_types(struct ci_out *o, const struct ci_pup *x)
{
	ci_put(o, "static inline __attribute__((unused)) void ck_types_%s(%s *self)\n{\n", x->name, x->text);
	for (const struct ci_pup_field *f = x->fields; f != NULL; f = f->next) {
		ci_put_line(o, f->tok);
		if (f->kind == CI_PUP_SKIP) {
			ci_put(o, "\t(void)self->%s;\n", f->name);
			continue;
		}
		ci_put(o, "\t{ %s %s", pointee(o->ci, &f->type), f->type.stars == 2 ? "**" : f->type.stars == 1 ?
		       "*" : "");
		ci_put(o, has_brackets(f) ? "(*ck_f)" : "*ck_f");
		gen_text(o, &f->dims);
		ci_put(o, " = &self->%s; (void)ck_f; }\n", f->name);
	}
	ci_put(o, "}\n");
}

/* A small field may hide in what looks like padding: then the struct has more fields than the list.
 * The compiler counts them by position, so it complains about the struct's last fields, which have
 * no value then, and about values that are one field too far; the function's name says what is
 * meant. */
static void check_none_hidden(struct ci_out *o, const struct ci_pup *x)
{
	ci_put(o, "static inline __attribute__((unused)) void ck_%s_has_a_field_that_is_missing_in_pup_%s(%s *self)"
	       "\n{\n\t%s ck_x = {", x->name, x->name, x->text, x->text);
	for (const struct ci_pup_field *f = x->fields; f != NULL; f = f->next) {
		ci_put(o, "\n");
		ci_put_line(o, f->tok);
		ci_put(o, "\t\tCKGEN_SOME(%s)", has_brackets(f) ? "{0}" : ci_fmt(o->ci, "self->%s", f->name));
		ci_put(o, "%s", f->next != NULL ? "," : "};\n");
	}
	ci_put(o, "\t(void)self;\n\t(void)ck_x;\n}\n");
}

static void checks(struct ci_out *o, const struct ci_pup *x)
{
	/* About values that are one field too far. */
	static const char *const quiet[] = {
		"missing-braces", "int-conversion", "incompatible-pointer-types", "conversion", "float-conversion",
		"sign-conversion",
	};
	const struct ci_pup_field *before = NULL;

	for (const struct ci_pup_field *f = x->fields; f != NULL; before = f, f = f->next)
		check_place(o, x, before, f);
	check_end(o, x, before);
	for (const struct ci_pup_field *f = x->fields; f != NULL; f = f->next)
		check_kind(o, x, f);
	ci_put(o, "#pragma GCC diagnostic push\n#ifndef __cplusplus\n"
	       "#pragma GCC diagnostic error \"-Wincompatible-pointer-types\"\n"
	       "#pragma GCC diagnostic error \"-Wpointer-sign\"\n#endif\n");
	check_types(o, x);
	ci_put(o, "#pragma GCC diagnostic pop\n#pragma GCC diagnostic push\n"
	       "#pragma GCC diagnostic error \"-Wmissing-field-initializers\"\n#ifndef __cplusplus\n");
	for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
		ci_put(o, "#pragma GCC diagnostic ignored \"-W%s\"\n", quiet[i]);
	ci_put(o, "#ifndef __clang__\n#pragma GCC diagnostic ignored \"-Wdiscarded-qualifiers\"\n#endif\n"
	       "#endif\n");
	check_none_hidden(o, x);
	ci_put(o, "#pragma GCC diagnostic pop\n");
	ci_put_line_back(o);
	ci_put(o, "\n");
}

/* ---- X_pup from a list ------------------------------------------------------------------------------ */

/* All of T x; T x[3]; T x[3][4]; one by one */
static void each(struct ci_out *o, const struct ci_pup_field *f, const char *function)
{
	const char *t = f->type.text;

	ci_put(o, "\tfor (size_t ck_i = 0; ck_i < sizeof self->%s / sizeof(%s); ck_i++)\n", f->name, t);
	ci_put(o, "\t\t%s(ck_p, (%s *)(void *)&self->%s + ck_i);\n", function, t, f->name);
}

static const char *plain_name(const struct ci_type *type)
{
	const char *space = strchr(type->text, ' ');

	return space != NULL ? space + 1 : type->text;
}

/* `at`: the pointer, or one of a row. */
static void pointed(struct ci_out *o, const struct ci_module *m, const struct ci_pup_field *f,
		    const char *at)
{
	static const char *const memory[] = {"CKGEN_MALLOC", "CKGEN_RDMA", "CKGEN_DIRECT"};
	const char *function = f->type.class_ == CI_PUP ?
		ci_fmt(o->ci, "ck_pup_%s_%s", m->name, plain_name(&f->type)) :
		strcmp(f->type.text, "CkCallback") == 0 ? "CkGen_pupCallback" : "NULL";

	ci_put(o, "\t%s = (%s *)CkGen_pupPointed(ck_p, (void *)(uintptr_t)%s, (long long)(", at,
	       pointee(o->ci, &f->type), at);
	gen_text(o, &f->count);
	ci_put(o, "),\n\t\tsizeof *%s, %s, %s, \"%s\");\n", at, function, memory[f->memory], f->name);
}

static void without_star(struct ci_out *o, const struct ci_pup_field *f)
{
	if (f->kind == CI_PUP_SKIP)
		ci_put(o, "\tpup_skip(ck_p, &self->%s, sizeof self->%s);\n", f->name, f->name);
	else if (f->kind == CI_PUP_BYTES)
		ci_put(o, "\tpup_bytes(ck_p, &self->%s, sizeof self->%s);\n", f->name, f->name);
	else
		each(o, f, f->kind == CI_PUP_CALLBACKS ? "pup_callback" :
		     ci_fmt(o->ci, "%s_pup", plain_name(&f->type)));
}

/* No conversion to void *, so that the compiler complains about a number. */
static void channel_end(struct ci_out *o, const struct ci_pup_field *f, const char *at)
{
	ci_put(o, "\t{ const volatile void *ck_b = ");
	gen_text(o, &f->buffer);
	ci_put(o, "; %s(ck_p, &%s, (void *)(uintptr_t)ck_b); }\n",
	       strcmp(f->type.text, "CkChannel") == 0 ? "pup_channel" : "pup_reducing", at);
}

static void one_pointer(struct ci_out *o, const struct ci_module *m, const struct ci_pup_field *f,
			const char *at)
{
	if (f->kind == CI_PUP_END)
		channel_end(o, f, at);
	else if (f->kind == CI_PUP_POINTED)
		pointed(o, m, f, at);
	else if (f->kind == CI_PUP_STRING)
		ci_put(o, "\t%s = CkGen_pupString(ck_p, %s);\n", at, at);
	else
		ci_put(o, "\t%s = (%s *)CkGen_pupMessage(ck_p, (void *)(uintptr_t)%s, &ck_type_%s);\n", at,
		       f->type.text, at, f->type.text);
}

/* A row of pointers, in the struct or behind a pointer: what is packed for each may name i. */
static void with_star(struct ci_out *o, const struct ci_module *m, const struct ci_pup_field *f)
{
	const char *n = f->name;

	if (f->type.stars == 1 && !has_brackets(f)) {
		one_pointer(o, m, f, ci_fmt(o->ci, "self->%s", n));
		return;
	}
	if (f->type.stars == 2) {
		ci_put(o, "\tself->%s = (%s **)CkGen_pupRow(ck_p, (void *)self->%s, (long long)(", n,
		       pointee(o->ci, &f->type), n);
		gen_text(o, &f->row);
		ci_put(o, "), \"%s\");\n\tfor (int i = 0; self->%s != NULL && i < (int)(", n, n);
		gen_text(o, &f->row);
	} else {
		ci_put(o, "\tfor (int i = 0; i < (int)(sizeof self->%s / sizeof self->%s[0]", n, n);
	}
	ci_put(o, "); i++) {\n");
	ci_put_line(o, f->tok);
	one_pointer(o, m, f, ci_fmt(o->ci, "self->%s[i]", n));
	ci_put(o, "\t}\n");
}

bool gen_has_ends(const struct ci_module *m)
{
	for (const struct ci_pup *x = m->pups; x != NULL; x = x->next) {
		for (const struct ci_pup_field *f = x->fields; f != NULL; f = f->next) {
			if (f->kind == CI_PUP_END)
				return true;
		}
	}
	return false;
}

/* Counts depend on fields without a star, and buffers of ends on those with one. */
static int turn(const struct ci_pup_field *f)
{
	return f->kind == CI_PUP_END ? 2 : f->type.stars != 0;
}

/* `pup X { }`: nothing is packed, and X_on_arrived makes what is needed. */
static void empty_definition(struct ci_out *o, const struct ci_pup *x)
{
	ci_put(o, "void %s_pup(pup_er ck_p, %s *self)\n{\n\tpup_skip(ck_p, self, sizeof *self);\n}\n\n",
	       x->name, x->text);
}

static void definition(struct ci_out *o, const struct ci_module *m, const struct ci_pup *x)
{
	if (x->fields == NULL) {
		empty_definition(o, x);
		return;
	}
	checks(o, x);
	ci_put(o, "#pragma GCC diagnostic push\n#ifndef __cplusplus\n"
	       "#pragma GCC diagnostic error \"-Wint-conversion\"\n#endif\n");
	ci_put(o, "void %s_pup(pup_er ck_p, %s *self)\n{\n\t(void)ck_p;\n\t(void)self;\n", x->name, x->text);
	for (int now = 0; now < 3; now++) {
		for (const struct ci_pup_field *f = x->fields; f != NULL; f = f->next) {
			if (turn(f) != now)
				continue;
			ci_put_line(o, f->tok);
			now == 0 ? without_star(o, f) : with_star(o, m, f);
		}
	}
	ci_put_line_back(o);
	ci_put(o, "}\n#pragma GCC diagnostic pop\n\n");
}

void gen_message_pup(struct ci_out *o, const struct ci_message *x)
{
	ci_put(o, "void %s_pup(pup_er ck_p, %s **ck_m)\n{\n"
	       "\t*ck_m = (%s *)CkGen_pupMessage(ck_p, *ck_m, &ck_type_%s);\n}\n\n", x->name, x->name,
	       x->name, x->name);
}

/* ---- called by the runtime ------------------------------------------------------------------- */

/* Inline, since it may be unused. */
void gen_pups(struct ci_out *o, const struct ci_module *m)
{
	for (const struct ci_pup *x = m->pups; x != NULL; x = x->next) {
		ci_put(o, "static inline void ck_pup_%s_%s(pup_er ck_p, void *ck_x)\n{\n"
		       "\t%s_pup(ck_p, (%s *)ck_x);\n}\n\n", m->name, x->name, x->name, x->text);
		if (x->chare != NULL)
			ci_put(o, "CKGEN_CLEAR_PADDING(%s)\n", x->name);
		if (x->on_arrived != NULL)
			ci_put(o, "static void ck_arrived_%s(void *ck_x)\n{\n\t%s_on_arrived((%s *)ck_x);"
			       "\n}\n\n", x->name, x->name, x->name);
	}
	for (const struct ci_pup *x = m->pups; x != NULL; x = x->next) {
		if (x->open != NULL)
			definition(o, m, x);
	}
}

static const struct ci_pup *pup_of(const struct ci_chare *c)
{
	const struct ci_pup *x = c->module->pups;

	while (x != NULL && x->chare != c)
		x = x->next;
	return x;
}

const char *gen_chare_pup(struct ci *ci, const struct ci_chare *c)
{
	return pup_of(c) == NULL ? "NULL" : ci_fmt(ci, "ck_pup_%s_%s", c->module->name, c->name);
}

const char *gen_chare_padding(struct ci *ci, const struct ci_chare *c)
{
	return pup_of(c) == NULL ? "NULL" : ci_fmt(ci, "CKGEN_CLEARS_PADDING(%s)", c->name);
}

const char *gen_chare_arrived(struct ci *ci, const struct ci_chare *c)
{
	const struct ci_pup *x = pup_of(c);

	return x == NULL || x->on_arrived == NULL ? "NULL" : ci_fmt(ci, "ck_arrived_%s", c->name);
}
