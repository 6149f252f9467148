/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_decl.c: prints X.decl.h, the module's interface.
 *
 * Each section uses only earlier ones. The chares' types need only ck.h. The user's headers may put
 * these types into structs, and messages may contain those structs.
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
	if (m->uses_direct || m->has_arrivals)
		ci_put(o, "#include \"ckdirect.h\"\n");
	if (m->has_arrivals || gen_has_ends(m))
		ci_put(o, "#include \"ckchannel.h\"\n");
	for (const struct ci_item *x = m->externs; x != NULL; x = x->next)
		ci_put(o, "#include \"%s.decl.h\"\n", x->name);
	ci_put(o, "\n");
}

/* Each chare has proxy types of its own, so a call with another chare's proxy does not compile. */
static void proxy_types(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const parts[][2] = {
		{"CProxyElement_", "CkElement"}, {"CProxySection_", "CkSection"}
	};

	ci_put(o, "typedef struct CProxy_%s { %s ck; } CProxy_%s;\n", c->name,
	       gen_is_single(c) ? "CkChareID" : "CkProxy", c->name);
	for (int i = 0; i < 2 && !gen_is_single(c); i++)
		ci_put(o, "typedef struct %s%s { %s ck; } %s%s;\n", parts[i][0], c->name,
		       parts[i][1], parts[i][0], c->name);
}

static void types(struct ci_out *o, const struct ci_module *m)
{
	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next) {
		ci_put(o, "typedef struct %s %s;\n", c->name, c->name);
		proxy_types(o, c);
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

/* `T x[3]` or `T *x`, with #line around it if the C compiler has something to check. */
static void field(struct ci_out *o, const struct ci_field *f, const char *lead)
{
	if (needs_line(f))
		ci_put_line(o, f->tok);
	if (f->kind != CI_FIELD_FIXED) {
		ci_put(o, "%s%s *%s;\n", lead, f->type.text, f->name);
	} else {
		ci_put(o, "%s%s %s", lead, f->type.text, f->name);
		gen_expr(o, &f->dims, NULL, false);
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

/* The arrays follow the struct. The receiver sets the pointers to them again. In a message from the
 * same node they are right already; then the code does not write, and the line stays in both cores'
 * caches. */
static void message_fix(struct ci_out *o, const struct ci_message *x)
{
	int i = 0;

	ci_put(o, "/* private: point the arrays into the message */\n");
	ci_put(o, "static inline void ck_message_%s(%s *ck_m)\n{\n", x->name, x->name);
	if (x->n_var == 0)
		ci_put(o, "\t(void)ck_m;\n");
	for (const struct ci_field *f = x->fields; f != NULL; f = f->next) {
		if (f->kind != CI_FIELD_VAR)
			continue;
		ci_put(o, "\tif ((char *)ck_m->%s != (char *)ck_m + ck_m->ck_off_[%d])\n", f->name, i);
		ci_put(o, "\t\tck_m->%s = (%s *)(void *)((char *)ck_m + ck_m->ck_off_[%d]);\n",
		       f->name, f->type.text, i++);
	}
	ci_put(o, "}\n\n");
}

/* `message M;`: the program defines the struct. With [packed] it also packs what the struct points to. */
static void own_message(struct ci_out *o, const struct ci_message *x)
{
	const char *n = x->name;

	if (!x->packed) {
		ci_put(o, "/* Message %s: you write the struct, which travels as its bytes. Sending gives it "
		       "away; the\n * handler's is freed after it. */\n%s *%s_alloc(void);\n", n, n, n);
		return;
	}
	ci_put(o, "/* Message %s: you write the struct and how it is packed. Both functions free what "
	       "they\n * are given, or return it. `extra_bytes` lie behind the struct. */\n", n);
	ci_put(o, "void *%s_pack(%s *m);\n%s *%s_unpack(void *buffer);\n", n, n, n, n);
	ci_put(o, "%s *%s_alloc(size_t extra_bytes);\n", n, n);
}

/* These are inline because few programs use them. */
static void message_future(struct ci_out *o, const struct ci_message *x)
{
	const char *n = x->name;

	ci_put(o, "static inline void %s_sendToFuture(CkFuture ck_f, %s *ck_m)\n{\n"
	       "\tCkGen_sendToFuture(ck_f, ck_m, &ck_type_%s);\n}\n", n, n, n);
	ci_put(o, "static inline void %s_sendToCallback(CkCallback ck_cb, %s *ck_m)\n{\n"
	       "\tCkGen_sendToCallback(ck_cb, ck_m, &ck_type_%s);\n}\n", n, n, n);
	ci_put(o, "static inline %s *%s_waitFuture(CkFuture ck_f)\n{\n"
	       "\treturn (%s *)CkGen_waitFuture(ck_f, &ck_type_%s);\n}\n\n", n, n, n, n);
}

/* To CkMessage and back. A [packed] message cannot be one: only the table of an entry method has
 * its pack functions, and the entry method does not know the type. */
static void message_untyped(struct ci_out *o, const struct ci_message *x)
{
	const char *n = x->name;

	if (x->packed)
		return;
	ci_put(o, "static inline CkMessage *%s_toMessage(%s *ck_m)\n{\n"
	       "\treturn (CkMessage *)(void *)ck_m;\n}\n", n, n);
	ci_put(o, "static inline %s *%s_fromMessage(CkMessage *ck_u)\n{\n"
	       "\t%s *ck_m = (%s *)(void *)ck_u;\n\n\tck_message_%s(ck_m);\n\treturn ck_m;\n}\n\n", n, n,
	       n, n, n);
}

static void message(struct ci_out *o, const struct ci_message *x)
{
	if (x->own) {
		own_message(o, x);
	} else {
		ci_put(o, "/* Message %s: sending gives it away; the handler's is freed after it. */"
		       "\n", x->name);
		ci_put(o, "struct %s {\n", x->name);
		for (const struct ci_field *f = x->fields; f != NULL; f = f->next)
			field(o, f, "\t");
		if (x->n_var != 0)
			ci_put(o, "\tuint64_t ck_off_[%d]; /* private */\n", x->n_var);
		ci_put(o, "};\n%s *%s_alloc(", x->name, x->name);
		gen_message_params(o, x);
		ci_put(o, ");\n");
	}
	ci_put(o, "void %s_pup(pup_er p, %s **m); /* of an element that keeps one */\n", x->name, x->name);
	ci_put(o, "extern const struct CkGenMessage ck_type_%s;\n", x->name);
	message_fix(o, x);
	message_future(o, x);
	message_untyped(o, x);
}

/* ---- chares --------------------------------------------------------------------------------- */

/* [count]: the struct of one call, and the handler. */
static void counted_handler(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *x = ci_fmt(o->ci, "%s_%s_call", c->name, e->name);

	if (gen_has_call_struct(e)) {
		ci_put(o, "typedef struct %s {", x);
		for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
			if (q != e->round)
				ci_put(o, " %s%s;", gen_param_type(o->ci, q, true), q->name);
		}
		ci_put(o, " } %s;\n", x);
	}
	if (gen_has_user_type(e))
		ci_put_line(o, e->tok);
	gen_counted_handler(o, c, e);
	ci_put(o, ";\n");
}

static void handlers(struct ci_out *o, const struct ci_chare *c)
{
	bool lines = false;

	ci_put(o, "/* you write */\n");
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e)) {
		const bool user = gen_has_user_type(e);

		/* Structured Dagger entries need a declaration only to make the C compiler report unknown
		 * types here, at their line of the .ci file. */
		if (gen_is_sdag(e) && !user && gen_count_posted(e) == 0)
			continue;
		if (user)
			ci_put_line(o, e->tok);
		else if (lines)
			ci_put_line_back(o);
		lines = user;
		if (gen_count_posted(e) != 0) {
			gen_post_handler(o, c, e);
			ci_put(o, ";\n");
		}
		if (gen_is_sdag(e) && !user)
			continue;
		if (gen_counts_calls(e)) {
			counted_handler(o, c, e);
			continue;
		}
		if (user && gen_count_posted(e) != 0)
			ci_put_line(o, e->tok);
		ci_put(o, gen_is_sdag(e) ? "%sck_types_%s_%s(%s *self" : "%s%s_on_%s(%s *self",
		       gen_answer(o->ci, e), c->name, e->name, c->name);
		gen_handler_params(o, e, ", ");
		ci_put(o, ");\n");
	}
	if (lines)
		ci_put_line_back(o);
}

/* Only the C compiler knows whether the user's index type fits. */
static void index_assert(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const words[] = {"#ifdef __cplusplus\n", "#else\n"};

	for (int i = 0; i < 2; i++) {
		ci_put(o, "%s", words[i]);
		ci_put_line(o, c->index.tok);
		ci_put(o, "%s(sizeof(%s) <= sizeof(CkIndex),\n"
		       "\t\"the index type %s of array %s has more than 12 bytes\");\n",
		       i == 0 ? "static_assert" : "_Static_assert", c->index.text, c->index.text,
		       c->name);
	}
	ci_put_line_back(o);
	ci_put(o, "#endif\n");
}

/* X_index converts the user's index to the runtime's; X_at makes an element's proxy. */
static void at(struct ci_out *o, const struct ci_chare *c)
{
	static const struct { const char *params, *args, *value; } forms[] = {
		{"int pe", "pe", "{{pe, 0, 0}}"},
		{"int x", "x", "{{x, 0, 0}}"},
		{"int x, int y", "x, y", "{{x, y, 0}}"},
		{"int x, int y, int z", "x, y, z", "{{x, y, z}}"},
		{"int w, int x, int y, int z", "w, x, y, z",
		 "CkIndexShorts(w, x, y, z, 0, 0)"},
		{"int v, int w, int x, int y, int z", "v, w, x, y, z",
		 "CkIndexShorts(v, w, x, y, z, 0)"},
		{"int x1, int y1, int z1, int x2, int y2, int z2", "x1, y1, z1, x2, y2, z2",
		 "CkIndexShorts(x1, y1, z1, x2, y2, z2)"},
	};
	const char *n = c->name;
	const char *params = c->kind == CI_NODEGROUP ? "int node" : forms[c->nd].params;
	const char *args = c->kind == CI_NODEGROUP ? "node" : forms[c->nd].args;
	const char *value = c->kind == CI_NODEGROUP ? "{{node, 0, 0}}" : forms[c->nd].value;

	if (c->index.text != NULL) {
		index_assert(o, c);
		params = ci_fmt(o->ci, "%s index", c->index.text);
		args = "index";
		value = "{{0, 0, 0}}";
	}
	ci_put(o, "static inline CkIndex %s_index(%s)\n{\n\tCkIndex i = %s;\n\n", n, params, value);
	ci_put(o, "%s\treturn i;\n}\n", c->index.text != NULL ?
	       "\tmemcpy(&i, &index, sizeof index);\n" : "");
	ci_put(o, "static inline CProxyElement_%s %s_at(CProxy_%s p, %s)\n{\n", n, n, n, params);
	ci_put(o, "\tCProxyElement_%s e = {{p.ck.id, %s_index(%s), 0}};\n\n\treturn e;\n}\n", n, n,
	       args);
}

/* "CProxy_X X_ckNew(first, parameters);" */
static void creator(struct ci_out *o, const struct ci_chare *c, const char *suffix,
		    const char *first)
{
	ci_put(o, "CProxy_%s %s_ckNew%s(%s", c->name, c->name, suffix, first);
	gen_params(o, c->ctor, *first != '\0' ? ", " : "");
	ci_put(o, "%s);\n", *first == '\0' && c->ctor->params == NULL ? "void" : "");
}

/* Declare the functions that insert and destroy elements one by one. */
static void insertion(struct ci_out *o, const struct ci_chare *c)
{
	const char *n = c->name;

	ci_put(o, "CProxy_%s %s_ckNewEmpty(void);\n", n, n);
	ci_put(o, "CProxy_%s %s_ckNewEmpty_opt(const CkArrayOptions *options);\n", n, n);
	ci_put(o, "void %s_insert(CProxyElement_%s ck_e, int ck_pe", n, n);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ");\nvoid %s_beginInserting(CProxy_%s p);\n", n, n);
	ci_put(o, "void %s_doneInserting(CProxy_%s p);\n", n, n);
	ci_put(o, "void %s_ckDestroy(CProxyElement_%s e);\n", n, n);
}

static void creation(struct ci_out *o, const struct ci_chare *c)
{
	switch (c->kind) {
	case CI_MAINCHARE:
		break;
	case CI_GROUP:
	case CI_NODEGROUP:
		creator(o, c, "", "");
		break;
	case CI_CHARE:
		creator(o, c, "", "int ck_pe");
		creator(o, c, "_opt", "const CkEntryOptions *ck_o, int ck_pe");
		break;
	case CI_ARRAY:
		if (c->index.text == NULL) {
			creator(o, c, "", "CkArrayDims ck_dims");
			creator(o, c, "_opt", "const CkArrayOptions *options");
		}
		insertion(o, c);
		break;
	}
}

static void element_functions(struct ci_out *o, const struct ci_chare *c)
{
	const char *n = c->name;
	const char *index = c->index.text != NULL ? c->index.text :
		c->nd > 1 ? ci_fmt(o->ci, "CkIndex%dD", c->nd) : "int";

	ci_put(o, "CProxy_%s %s_thisProxy(const %s *self);\n", n, n, n);
	if (gen_is_single(c))
		return;
	ci_put(o, "CProxyElement_%s %s_thisElement(const %s *self);\n", n, n, n);
	ci_put(o, "%s %s_thisIndex(const %s *self);\n", index, n, n);
	ci_put(o, "%s *%s_ckLocal(CProxyElement_%s element);\n", n, n, n);
	if (c->kind == CI_ARRAY)
		ci_put(o, "%s *%s_nextLocal(CProxy_%s p, const %s *after);\n", n, n, n, n);
	else
		ci_put(o, "%s *%s_ckLocalBranch(CProxy_%s p);\n", n, n, n);
	ci_put(o, "CProxySection_%s %s_ckSection(CProxy_%s p, const CkIndex *list, size_t n);\n", n,
	       n, n);
	ci_put(o, "CProxySection_%s %s_ckSectionOf(const CProxyElement_%s *list, size_t n);\n", n,
	       n, n);
}

/* One stub, with options (_opt) and without. */
static void stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		 const struct gen_form *f)
{
	ci_put(o, "void %s_%s%s_opt(const CkEntryOptions *ck_o, %s%s ck_to", c->name, e->name,
	       f->suffix, f->proxy, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ");\nstatic inline void %s_%s%s(%s%s ck_to", c->name, e->name, f->suffix, f->proxy,
	       c->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n\t%s_%s%s_opt(NULL, ck_to", c->name, e->name, f->suffix);
	gen_args(o, e, ", ");
	ci_put(o, ");\n}\n");
}

/* [sync] and [local] entries have one stub each. */
static void answering_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "%s%s_%s%s(%s%s ck_to", gen_answer(o->ci, e), c->name, e->name,
	       e->attrs & CI_SYNC ? "_sync" : "", gen_forms(c)->proxy, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ");\n");
}

/* A stub that calls one element. Its form without options passes the proxy's members separately, in
 * registers. */
static void open_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "void %s_%s_opt(const CkEntryOptions *ck_o, CProxyElement_%s ck_to", c->name,
	       e->name, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ");\nvoid ck_send_%s_%s(uint64_t ck_id, int ck_x", c->name, e->name);
	gen_params(o, e, ", ");
	ci_put(o, ");\nstatic inline void %s_%s(CProxyElement_%s ck_to", c->name, e->name, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n\tck_send_%s_%s(ck_to.ck.id, ck_to.ck.index.v[0]", c->name, e->name);
	gen_args(o, e, ", ");
	ci_put(o, ");\n}\n");
}

static void channel_stubs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	for (int i = 0; i < 3; i++) {
		static const char *const kinds[] = { "", "_oob", "_device" };
		const char *name = ci_fmt(o->ci, "%s_%s_from%s", c->name, e->name, kinds[i]);

		if (i < 2)
			gen_channel_from(o, c, e, i);
		else
			gen_channel_from_device(o, c, e);
		ci_put(o, ";\n#define %s(self, from, ...) %s(self, CkGen_element(from), "
		       "__VA_ARGS__)\n", name, name);
	}
	for (int i = 0; i < 2; i++) {
		gen_channel_to(o, c, e, i);
		ci_put(o, ";\n");
	}
	gen_channel_to_device(o, c, e);
	ci_put(o, ";\n");
	(gen_is_set(e) ? gen_channel_ready : gen_channel_reduced)(o, c, e);
	ci_put(o, ";\n");
}

static void stubs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (e->attrs & CI_ARRIVAL)
		channel_stubs(o, c, e);
	if (e->attrs & (CI_SYNC | CI_LOCAL))
		answering_stub(o, c, e);
	if (e->attrs & CI_WHENIDLE)
		ci_put(o, "void %s_%s_whenIdle(const %s *self);\n", c->name, e->name, c->name);
	for (const struct gen_form *f = gen_forms(c); f->proxy != NULL && gen_has_stub(e); f++) {
		if (f == gen_forms(c) && (gen_opens(c, e) || gen_sends_line(c, e)))
			open_stub(o, c, e);
		else
			stub(o, c, e, f);
	}
	if (gen_prepares(c, e)) {
		gen_prepare_head(o, c, e);
		ci_put(o, ";\n");
	}
	for (const struct gen_form *f = gen_forms(c); f->proxy != NULL && gen_is_target(e); f++)
		ci_put(o, "CkCallback %s_cb_%s%s(%s%s to);\n", c->name, e->name, f->suffix,
		       f->proxy, c->name);
}

static void chare(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const kinds[] = {"Main chare", "Array", "Group", "Chare", "Nodegroup"};

	ci_put(o, "/* ---- %s %s ---- */\n\n", kinds[c->kind], c->name);
	handlers(o, c);
	ci_put(o, "\n/* you call */\n");
	creation(o, c);
	if (!gen_is_single(c))
		at(o, c);
	element_functions(o, c);
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next)
		stubs(o, c, e);
	ci_put(o, "\n");
}

/* A handler has `self` whether it needs it or not. Neither gcc nor clang applies `unused` of a
 * prototype's parameter to the definition, so only a pragma spares the program a "(void)self;" in
 * such handlers. It holds for the following code in the same file; other files of the program keep
 * the warning. */
static void unused_self(struct ci_out *o)
{
	ci_put(o, "/* Handlers need not use their parameters. To be warned of unused ones all the same, define\n"
	       " * CK_WARN_UNUSED_PARAMETERS before this header. */\n"
	       "#ifndef CK_WARN_UNUSED_PARAMETERS\n"
	       "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n#endif\n");
}

/* Without the other header the linker misses every function of it. This name tells why, in the last
 * line. */
static void needs_def(struct ci_out *o, const struct ci_module *m)
{
	ci_put(o, "/* The linker misses this name if no file of the program includes %s.def.h. */\n",
	       m->name);
	ci_put(o, "extern const char %s_def_h_is_included_in_no_file[];\n", m->name);
	ci_put(o, "static const char *const ck_needs_def_%s __attribute__((used)) =\n"
	       "\t%s_def_h_is_included_in_no_file;\n", m->name, m->name);
}

void ci_gen_decl(struct ci_out *o, const struct ci_module *m)
{
	head(o, m);
	types(o, m);
	includes(o, m);
	ci_put(o, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
	gen_shadow_begin(o);
	gen_pup_declarations(o, m);
	readonlies(o, m);
	for (const struct ci_message *x = m->messages; x != NULL; x = x->next)
		message(o, x);
	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next)
		chare(o, c);
	for (const struct ci_item *f = m->initnodes; f != NULL; f = f->next)
		ci_put(o, "void %s(void); /* you write: runs once per node, first of all */\n",
		       f->name);
	for (const struct ci_item *f = m->initprocs; f != NULL; f = f->next)
		ci_put(o, "void %s(void); /* you write: runs once per PE, after the initnodes */\n",
		       f->name);
	ci_put(o, "extern const struct CkGenModule ck_module_%s;\n", m->name);
	needs_def(o, m);
	gen_shadow_end(o);
	unused_self(o);
	ci_put(o, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
