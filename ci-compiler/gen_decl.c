/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_decl.c: prints X.decl.h, what a user of the module sees.
 *
 * The order lets each part use those before it: the chares' types need only ck.h, an included
 * header of the user may put them into its structs, and messages may contain those.
 */
#include "gen.h"

#include <string.h>

static void head(struct ci_out *o, const struct ci_module *m)
{
	ci_put(o, "/* Made by ckci from module %s; do not edit. Include it first; include %s.def.h"
	       "\n * at the end of one C file that has the structs of the chares. */\n", m->name,
	       m->name);
	ci_put(o, "#ifndef CK_DECL_%s\n#define CK_DECL_%s\n\n#include \"ck.h\"\n", m->name,
	       m->name);
	if (m->uses_direct)
		ci_put(o, "#include \"ckdirect.h\"\n");
	for (const struct ci_item *x = m->externs; x != NULL; x = x->next)
		ci_put(o, "#include \"%s.decl.h\"\n", x->name);
	ci_put(o, "\n");
}

static void types(struct ci_out *o, const struct ci_module *m)
{
	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next) {
		ci_put(o, "typedef struct %s %s;\n", c->name, c->name);
		ci_put(o, "typedef struct CProxy_%s { CkProxy ck; } CProxy_%s;\n", c->name,
		       c->name);
		if (c->kind != CI_MAINCHARE)
			ci_put(o, "typedef struct CProxyElement_%s { CkElement ck; } "
			       "CProxyElement_%s;\n", c->name, c->name);
	}
	for (const struct ci_message *x = m->messages; x != NULL; x = x->next)
		ci_put(o, "typedef struct %s %s;\n", x->name, x->name);
	if (m->chares != NULL || m->messages != NULL)
		ci_put(o, "\n");
}

static void includes(struct ci_out *o, const struct ci_module *m)
{
	for (const struct ci_item *x = m->includes; x != NULL; x = x->next)
		ci_put(o, "#include %s\n", x->name);
	if (m->includes != NULL)
		ci_put(o, "\n");
}

/* ---- readonlies and messages ---------------------------------------------------------------- */

static bool needs_line(const struct ci_field *f)
{
	return f->type.class_ == CI_USER || !gen_is_plain(&f->dims, NULL);
}

/* `T x[3]` or `T *x`, with #line around it where the C compiler has something to check. */
static void field(struct ci_out *o, const struct ci_field *f, const char *lead)
{
	if (needs_line(f))
		ci_put_line(o, f->tok);
	if (f->kind == CI_FIELD_VAR) {
		ci_put(o, "%s%s *%s;\n", lead, f->type.text, f->name);
	} else {
		ci_put(o, "%s%s %s", lead, f->type.text, f->name);
		gen_expr(o, &f->dims, false);
		ci_put(o, ";\n");
	}
	if (needs_line(f))
		ci_put_line_back(o);
}

static void readonlies(struct ci_out *o, const struct ci_module *m)
{
	if (m->readonlies != NULL)
		ci_put(o, "/* Set in the main chare's constructor, then the same on all PEs. */\n");
	for (const struct ci_field *r = m->readonlies; r != NULL; r = r->next)
		field(o, r, "extern ");
	if (m->readonlies != NULL)
		ci_put(o, "\n");
}

/* The arrays lie behind the struct; pointers into them are made anew where it arrives. */
static void message_fix(struct ci_out *o, const struct ci_message *x)
{
	int i = 0;

	ci_put(o, "/* private: point the arrays into the message */\n");
	ci_put(o, "static inline void ck_message_%s(%s *ck_m)\n{\n", x->name, x->name);
	if (x->n_var == 0)
		ci_put(o, "\t(void)ck_m;\n");
	for (const struct ci_field *f = x->fields; f != NULL; f = f->next) {
		if (f->kind == CI_FIELD_VAR)
			ci_put(o, "\tck_m->%s = (%s *)(void *)((char *)ck_m + "
			       "ck_m->ck_off_[%d]);\n", f->name, f->type.text, i++);
	}
	ci_put(o, "}\n\n");
}

static void message(struct ci_out *o, const struct ci_message *x)
{
	ci_put(o, "/* Message %s: sending gives it away; the handler's is freed after it. */\n",
	       x->name);
	ci_put(o, "struct %s {\n", x->name);
	for (const struct ci_field *f = x->fields; f != NULL; f = f->next)
		field(o, f, "\t");
	if (x->n_var != 0)
		ci_put(o, "\tuint64_t ck_off_[%d]; /* private */\n", x->n_var);
	ci_put(o, "};\n%s *%s_alloc(", x->name, x->name);
	gen_message_params(o, x);
	ci_put(o, ");\nextern const struct CkGenMessage ck_type_%s;\n", x->name);
	message_fix(o, x);
}

/* ---- chares --------------------------------------------------------------------------------- */

static void handlers(struct ci_out *o, const struct ci_chare *c)
{
	bool lines = false;

	ci_put(o, "/* you write */\n");
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e)) {
		if (gen_has_user_type(e))
			ci_put_line(o, e->tok);
		else if (lines)
			ci_put_line_back(o);
		lines = gen_has_user_type(e);
		ci_put(o, "void %s_on_%s(%s *self", c->name, e->name, c->name);
		gen_params(o, e, ", ");
		ci_put(o, ");\n");
	}
	if (lines)
		ci_put_line_back(o);
}

static void at(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const params[] = {
		"int pe", "int x", "int x, int y", "int x, int y, int z"
	};
	static const char *const values[] = {"pe, 0, 0", "x, 0, 0", "x, y, 0", "x, y, z"};

	ci_put(o, "static inline CProxyElement_%s %s_at(CProxy_%s p, %s)\n{\n", c->name, c->name,
	       c->name, params[c->nd]);
	ci_put(o, "\tCProxyElement_%s e = {{p.ck.id, {{%s}}, 0}};\n\n\treturn e;\n}\n", c->name,
	       values[c->nd]);
}

static void creation(struct ci_out *o, const struct ci_chare *c)
{
	if (c->kind == CI_GROUP) {
		ci_put(o, "CProxy_%s %s_ckNew(", c->name, c->name);
		gen_params(o, c->ctor, "");
		ci_put(o, "%s);\n", c->ctor->params == NULL ? "void" : "");
		return;
	}
	ci_put(o, "CProxy_%s %s_ckNew(CkArrayDims ck_dims", c->name, c->name);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ");\nCProxy_%s %s_ckNew_opt(const CkArrayOptions *options", c->name, c->name);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ");\n");
}

static void element_functions(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const index[] = {"int", "int", "CkIndex2D", "CkIndex3D"};

	ci_put(o, "CProxy_%s %s_thisProxy(const %s *self);\n", c->name, c->name, c->name);
	if (c->kind == CI_MAINCHARE)
		return;
	ci_put(o, "CProxyElement_%s %s_thisElement(const %s *self);\n", c->name, c->name, c->name);
	ci_put(o, "%s %s_thisIndex(const %s *self);\n", index[c->nd], c->name, c->name);
	ci_put(o, "%s *%s_ckLocal(CProxyElement_%s element);\n", c->name, c->name, c->name);
	if (c->kind == CI_GROUP)
		ci_put(o, "%s *%s_ckLocalBranch(CProxy_%s p);\n", c->name, c->name, c->name);
}

/* One stub in its two forms; `to` is the type of the proxy, `all` is "" or "_all". */
static void stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		 const char *to, const char *all)
{
	ci_put(o, "void %s_%s%s_opt(const CkEntryOptions *ck_o, %s%s ck_to", c->name, e->name, all,
	       to, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ");\nstatic inline void %s_%s%s(%s%s ck_to", c->name, e->name, all, to, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n\t%s_%s%s_opt(NULL, ck_to", c->name, e->name, all);
	gen_args(o, e, ", ");
	ci_put(o, ");\n}\n");
}

static void stubs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	bool single = c->kind == CI_MAINCHARE;

	if (gen_has_stub(e))
		stub(o, c, e, single ? "CProxy_" : "CProxyElement_", "");
	if (gen_has_stub(e) && !single)
		stub(o, c, e, "CProxy_", "_all");
	if (gen_has_cb(e))
		ci_put(o, "CkCallback %s_cb_%s(%s%s to);\n", c->name, e->name,
		       single ? "CProxy_" : "CProxyElement_", c->name);
	if (gen_has_cb(e) && !single)
		ci_put(o, "CkCallback %s_cb_%s_all(CProxy_%s to);\n", c->name, e->name, c->name);
}

static void chare(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const kinds[] = {"Main chare", "Array", "Group"};

	ci_put(o, "/* ---- %s %s ---- */\n\n", kinds[c->kind], c->name);
	handlers(o, c);
	ci_put(o, "\n/* you call */\n");
	if (c->kind != CI_MAINCHARE) {
		creation(o, c);
		at(o, c);
	}
	element_functions(o, c);
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next)
		stubs(o, c, e);
	ci_put(o, "\n");
}

void ci_gen_decl(struct ci_out *o, const struct ci_module *m)
{
	head(o, m);
	types(o, m);
	includes(o, m);
	ci_put(o, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
	gen_shadow_begin(o);
	readonlies(o, m);
	for (const struct ci_message *x = m->messages; x != NULL; x = x->next)
		message(o, x);
	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next)
		chare(o, c);
	for (const struct ci_item *f = m->initnodes; f != NULL; f = f->next)
		ci_put(o, "void %s(void); /* you write: runs once per node, first of all */\n",
		       f->name);
	ci_put(o, "extern const struct CkGenModule ck_module_%s;\n", m->name);
	gen_shadow_end(o);
	ci_put(o, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
