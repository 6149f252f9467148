/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_def.c: prints X.def.h, the module's code: for each entry method the struct of its
 * payload, the function that packs it, the stubs that send it and the trampoline that
 * unpacks it and calls the handler; then the tables that name all of it.
 *
 * A payload, in 16-byte aligned memory:
 *
 *   struct ck_args_X_f { values in order; offset of each array but the first }
 *   first array or string, 16-aligned
 *   second array or string, 16-aligned ...
 *
 * The struct is missing when it would be empty. Lengths need no place: they are values, or
 * follow from them.
 */
#include "gen.h"
#include "gen_int.h"

#include <string.h>

/* ---- readonlies, messages ------------------------------------------------------------------- */

static void readonlies(struct ci_out *o, const struct ci_module *m)
{
	for (const struct ci_field *r = m->readonlies; r != NULL; r = r->next) {
		ci_put(o, "%s %s", r->type.text, r->name);
		gen_expr(o, &r->dims, false);
		ci_put(o, ";\n");
	}
	if (m->readonlies != NULL)
		ci_put(o, "\n");
}

static void message_table(struct ci_out *o, const struct ci_message *x)
{
	if (x->n_var != 0)
		ci_put(o, "static void ck_fix_%s(void *ck_m)\n{\n\tck_message_%s((%s *)ck_m);\n}\n\n",
		       x->name, x->name, x->name);
	ci_put(o, "const CkGenMessage ck_type_%s = {\"%s\", NULL, NULL, %s};\n\n", x->name, x->name,
	       x->n_var != 0 ? ci_fmt(o->ci, "ck_fix_%s", x->name) : "NULL");
}

static void message(struct ci_out *o, const struct ci_message *x)
{
	int i = 0;

	ci_put(o, "%s *%s_alloc(", x->name, x->name);
	gen_message_params(o, x);
	ci_put(o, ")\n{\n");
	if (x->n_var != 0)
		ci_put(o, "\tsize_t ck_end = sizeof(%s);\n\tsize_t ck_at[%d];\n", x->name,
		       x->n_var);
	ci_put(o, "\t%s *ck_m;\n\n", x->name);
	for (const struct ci_field *f = x->fields; f != NULL; f = f->next) {
		if (f->kind != CI_FIELD_VAR)
			continue;
		ci_put(o, "\tif (n_%s > PTRDIFF_MAX / %d / sizeof(%s))\n", f->name, x->n_var + 1,
		       f->type.text);
		ci_put(o, "\t\tCkAbort(\"%s_alloc: %s cannot have %%zu elements\", n_%s);\n",
		       x->name, f->name, f->name);
		ci_put(o, "\tck_at[%d] = CkGen_align(ck_end);\n", i);
		ci_put(o, "\tck_end = ck_at[%d] + n_%s * sizeof(%s);\n", i, f->name, f->type.text);
		i++;
	}
	ci_put(o, "\tck_m = (%s *)CkGen_alloc(%s);\n", x->name, x->n_var != 0 ? "ck_end" :
	       ci_fmt(o->ci, "sizeof(%s)", x->name));
	ci_put(o, "\tmemset(ck_m, 0, sizeof *ck_m);\n");
	for (i = 0; i < x->n_var; i++)
		ci_put(o, "\tck_m->ck_off_[%d] = ck_at[%d];\n", i, i);
	ci_put(o, "\tck_message_%s(ck_m);\n\treturn ck_m;\n}\n\n", x->name);
	message_table(o, x);
}

/* ---- stubs ---------------------------------------------------------------------------------- */

/* "ck_pack_X_f(n, v)", or an empty message. */
static void payload(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (!gen_packs(c, e)) {
		ci_put(o, "CkGen_alloc(0)");
		return;
	}
	ci_put(o, "ck_pack_%s_%s(", c->name, e->name);
	gen_args(o, e, "");
	ci_put(o, ")");
}

static void stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		 const char *to, const char *all, const char *send, const char *target)
{
	ci_put(o, "void %s_%s%s_opt(const CkEntryOptions *ck_o, %s%s ck_to", c->name, e->name, all,
	       to, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n\t%s(&ck_chare_%s, %s, %d, ", send, c->name, target, e->number);
	payload(o, c, e);
	ci_put(o, ", ck_o);\n}\n\n");
}

static void callback(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		     const char *to, const char *all, const char *make, const char *target)
{
	ci_put(o, "CkCallback %s_cb_%s%s(%s%s ck_to)\n{\n", c->name, e->name, all, to, c->name);
	ci_put(o, "\treturn %s(&ck_chare_%s, %s, %d);\n}\n\n", make, c->name, target, e->number);
}

static void stubs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	bool single = c->kind == CI_MAINCHARE;

	if (gen_has_stub(e) && single)
		stub(o, c, e, "CProxy_", "", "CkGen_sendMain", "ck_to.ck");
	if (gen_has_stub(e) && !single) {
		stub(o, c, e, "CProxyElement_", "", "CkGen_send", "&ck_to.ck");
		stub(o, c, e, "CProxy_", "_all", "CkGen_sendAll", "ck_to.ck");
	}
	if (gen_has_cb(e) && single)
		callback(o, c, e, "CProxy_", "", "CkGen_cbMain", "ck_to.ck");
	if (gen_has_cb(e) && !single) {
		callback(o, c, e, "CProxyElement_", "", "CkGen_cb", "&ck_to.ck");
		callback(o, c, e, "CProxy_", "_all", "CkGen_cbAll", "ck_to.ck");
	}
}

/* ---- creation and elements ------------------------------------------------------------------ */

static void array_creation(struct ci_out *o, const struct ci_chare *c)
{
	ci_put(o, "CProxy_%s %s_ckNew_opt(const CkArrayOptions *ck_o", c->name, c->name);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ")\n{\n\tCProxy_%s ck_p;\n\n\tck_p.ck = CkGen_newArray(&ck_chare_%s, ck_o, ",
	       c->name, c->name);
	payload(o, c, c->ctor);
	ci_put(o, ");\n\treturn ck_p;\n}\n\n");
	ci_put(o, "CProxy_%s %s_ckNew(CkArrayDims ck_dims", c->name, c->name);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ")\n{\n\tCkArrayOptions ck_o;\n\n");
	ci_put(o, "\tmemset(&ck_o, 0, sizeof ck_o);\n\tck_o.dims = ck_dims;\n");
	ci_put(o, "\treturn %s_ckNew_opt(&ck_o", c->name);
	gen_args(o, c->ctor, ", ");
	ci_put(o, ");\n}\n\n");
}

static void group_creation(struct ci_out *o, const struct ci_chare *c)
{
	ci_put(o, "CProxy_%s %s_ckNew(", c->name, c->name);
	gen_params(o, c->ctor, "");
	ci_put(o, "%s)\n{\n\tCProxy_%s ck_p;\n\n\tck_p.ck = CkGen_newGroup(&ck_chare_%s, ",
	       c->ctor->params == NULL ? "void" : "", c->name, c->name);
	payload(o, c, c->ctor);
	ci_put(o, ");\n\treturn ck_p;\n}\n\n");
}

static void this_index(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const members[] = {
		"", "", "ck_i.v[0], ck_i.v[1]", "ck_i.v[0], ck_i.v[1], ck_i.v[2]"
	};

	if (c->nd < 2) {
		ci_put(o, "int %s_thisIndex(const %s *self)\n{\n", c->name, c->name);
		ci_put(o, "\treturn CkGen_thisIndex(self).v[0];\n}\n\n");
		return;
	}
	ci_put(o, "CkIndex%dD %s_thisIndex(const %s *self)\n{\n", c->nd, c->name, c->name);
	ci_put(o, "\tconst CkIndex ck_i = CkGen_thisIndex(self);\n");
	ci_put(o, "\tconst CkIndex%dD ck_r = {%s};\n\n\treturn ck_r;\n}\n\n", c->nd,
	       members[c->nd]);
}

static void element_functions(struct ci_out *o, const struct ci_chare *c)
{
	const char *n = c->name;

	ci_put(o, "CProxy_%s %s_thisProxy(const %s *self)\n{\n", n, n, n);
	ci_put(o, "\tconst CProxy_%s ck_p = {CkGen_thisProxy(self)};\n\n\treturn ck_p;\n}\n\n", n);
	if (c->kind == CI_MAINCHARE)
		return;
	ci_put(o, "CProxyElement_%s %s_thisElement(const %s *self)\n{\n", n, n, n);
	ci_put(o, "\tconst CProxyElement_%s ck_e = {{CkGen_thisProxy(self).id, "
	       "CkGen_thisIndex(self), 0}};\n\n\treturn ck_e;\n}\n\n", n);
	this_index(o, c);
	ci_put(o, "%s *%s_ckLocal(CProxyElement_%s ck_e)\n{\n", n, n, n);
	ci_put(o, "\treturn (%s *)CkGen_ckLocal(&ck_chare_%s, &ck_e.ck);\n}\n\n", n, n);
	if (c->kind == CI_GROUP)
		ci_put(o, "%s *%s_ckLocalBranch(CProxy_%s ck_p)\n{\n"
		       "\treturn %s_ckLocal(%s_at(ck_p, CkMyPe()));\n}\n\n", n, n, n, n, n);
}

/* ---- tables --------------------------------------------------------------------------------- */

static const char *flags(struct ci *ci, const struct ci_entry *e)
{
	const char *s = ci_fmt(ci, "%s%s%s%s",
			       e->attrs & CI_EXPEDITED ? " | CKGEN_EXPEDITED" : "",
			       gen_takes_message(e) ? " | CKGEN_MESSAGE" : "",
			       !e->ctor && e->params == NULL ? " | CKGEN_NOARGS" : "",
			       gen_has_cb(e) ? " | CKGEN_REDUCTION" : "");

	return *s != '\0' ? s + 3 : "0";
}

static int want_count(const struct ci_entry *e)
{
	int n = 0;

	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		n++;
	return n;
}

/* All columns, in the order of CkGenEntry: C++ has no other way to name them. */
static void entry_row(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *reduced = "NULL";
	const char *message = "NULL";
	bool any_count = e->want == NULL || gen_target_array(e) != NULL;

	if (gen_has_cb(e))
		reduced = ci_fmt(o->ci, "ck_reduced_%s_%s", c->name, e->name);
	if (gen_takes_message(e))
		message = ci_fmt(o->ci, "&ck_type_%s", e->params->type.text);
	ci_put(o, "\t{\"%s\", ck_call_%s_%s, %s,\n\t %s, ", e->ctor ? c->name : e->name, c->name,
	       e->name, reduced, flags(o->ci, e));
	ci_put(o, "%s, %d, 0, %d, 0, %s,\n\t NULL, 0, 0, NULL, NULL, NULL},\n",
	       e->want != NULL ? e->want : "CK_NOTYPE", gen_has_cb(e) && any_count,
	       any_count ? 0 : want_count(e), message);
}

static void chare_table(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const kinds[] = {"CKGEN_MAINCHARE", "CKGEN_ARRAY", "CKGEN_GROUP"};
	int n = 0;

	ci_put(o, "static const CkGenEntry ck_entries_%s[] = {\n", c->name);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e)) {
		entry_row(o, c, e);
		n++;
	}
	ci_put(o, "};\nstatic const CkGenChare ck_chare_%s = {\n\t\"%s\", %s, %d,\n", c->name,
	       c->name, kinds[c->kind], c->nd);
	/* An incomplete struct is the user's omission: show the chare's line. */
	ci_put_line(o, c->tok);
	ci_put(o, "\tsizeof(%s),\n", c->name);
	ci_put_line_back(o);
	ci_put(o, "\tck_entries_%s, %d, 0\n};\n\n", c->name, n);
}

static void chare(struct ci_out *o, const struct ci_chare *c)
{
	ci_put(o, "/* ---- %s ---- */\n\n", c->name);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e))
		gen_unpack(o, c, e);
	chare_table(o, c);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e))
		gen_pack(o, c, e);
	if (c->kind == CI_ARRAY)
		array_creation(o, c);
	if (c->kind == CI_GROUP)
		group_creation(o, c);
	element_functions(o, c);
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next)
		stubs(o, c, e);
}

/* ---- the module ----------------------------------------------------------------------------- */

/* One list of the module's table; C has no empty arrays, so an empty one is NULL. */
static int name_list(struct ci_out *o, const char *head, const char *prefix,
		     const struct ci_item *items)
{
	int n = 0;

	for (const struct ci_item *x = items; x != NULL; x = x->next) {
		if (n++ == 0)
			ci_put(o, "%s = {\n", head);
		ci_put(o, "\t%s%s,\n", prefix, x->name);
	}
	if (n != 0)
		ci_put(o, "};\n");
	return n;
}

static int chare_list(struct ci_out *o, const struct ci_module *m)
{
	int n = 0;

	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next) {
		if (n++ == 0)
			ci_put(o, "static const CkGenChare *const ck_chares_%s[] = {\n", m->name);
		ci_put(o, "\t&ck_chare_%s,\n", c->name);
	}
	if (n != 0)
		ci_put(o, "};\n");
	return n;
}

static int readonly_list(struct ci_out *o, const struct ci_module *m)
{
	int n = 0;

	for (const struct ci_field *r = m->readonlies; r != NULL; r = r->next) {
		if (n++ == 0)
			ci_put(o, "static const CkGenReadonly ck_readonlies_%s[] = {\n", m->name);
		ci_put(o, "\t{\"%s\", &%s, sizeof %s, NULL},\n", r->name, r->name, r->name);
	}
	if (n != 0)
		ci_put(o, "};\n");
	return n;
}

static void list_member(struct ci_out *o, const char *list, const char *module, int n)
{
	if (n == 0)
		ci_put(o, "\tNULL, 0,");
	else
		ci_put(o, "\tck_%s_%s, %d,", list, module, n);
	ci_put(o, " /* %s */\n", list);
}

static void module_table(struct ci_out *o, const struct ci_module *m)
{
	int chares = chare_list(o, m);
	int readonly = readonly_list(o, m);
	int initnodes = name_list(o, ci_fmt(o->ci, "static void (*const ck_initnodes_%s[])(void)",
					    m->name), "", m->initnodes);
	int externs = name_list(o, ci_fmt(o->ci, "static const CkGenModule *const ck_externs_%s[]",
					  m->name), "&ck_module_", m->externs);

	ci_put(o, "const CkGenModule ck_module_%s = {\n\t\"%s\",\n", m->name, m->name);
	list_member(o, "chares", m->name, chares);
	list_member(o, "readonlies", m->name, readonly);
	list_member(o, "initnodes", m->name, initnodes);
	list_member(o, "initprocs", m->name, 0);
	list_member(o, "externs", m->name, externs);
	ci_put(o, "};\n");
}

void ci_gen_def(struct ci_out *o, const struct ci_module *m)
{
	ci_put(o, "/* Made by ckci from module %s; do not edit. Include it in one C file, behind "
	       "the\n * structs of the chares. */\n", m->name);
	ci_put(o, "#ifndef CK_DEF_%s\n#define CK_DEF_%s\n\n#include <string.h>\n\n"
	       "#include \"%s.decl.h\"\n\n", m->name, m->name, m->name);
	gen_shadow_begin(o);
	ci_put(o, "#include \"ckgen.h\"\n\n");
	readonlies(o, m);
	for (const struct ci_message *x = m->messages; x != NULL; x = x->next)
		message(o, x);
	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next)
		chare(o, c);
	module_table(o, m);
	if (m->main)
		ci_put(o, "\n#ifndef CK_NO_MAIN\nint main(int argc, char **argv)\n{\n"
		       "\treturn CkMain(argc, argv, &ck_module_%s);\n}\n#endif\n", m->name);
	gen_shadow_end(o);
	ci_put(o, "#endif\n");
}
