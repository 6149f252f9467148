/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_def.c: prints X.def.h, the module's code. Each entry method gets the struct of its payload, the
 * function that packs it, the stubs that send it, and the trampoline that unpacks it and calls the
 * handler. Tables name all of these.
 *
 * A payload, in 16-byte aligned memory:
 *
 *   struct ck_args_X_f { values in order; offset of each array but the first }
 *   first array, string or packed object, 16-aligned
 *   second one, 16-aligned ...
 *
 * An array of 1 kB or more is 64-aligned (CkGen_place), so the offset of the first one depends on
 * its length. If that length is more than one number or one parameter, the struct contains the
 * offset, too.
 *
 * There is no struct when it would be empty. The struct has no lengths, which are values or follow
 * from values, except the number of packed objects in an array. A nocopy array is a value, a
 * CkGenNcpy, and the runtime may append its data to the payload.
 */
#include "gen.h"
#include "gen_int.h"

#include <string.h>

/* ---- readonlies, messages ------------------------------------------------------------------- */

static void readonlies(struct ci_out *o, const struct ci_module *m)
{
	for (const struct ci_field *r = m->readonlies; r != NULL; r = r->next) {
		ci_put(o, "%s %s%s", r->type.text, r->kind == CI_FIELD_MESSAGE ? "*" : "", r->name);
		gen_expr(o, &r->dims, NULL, false);
		ci_put(o, ";\n");
	}
	if (m->readonlies != NULL)
		ci_put(o, "\n");
}

/* Only the program knows the arrays' lengths; the runtime knows where they begin. */
static void message_fits(struct ci_out *o, const struct ci_message *x)
{
	ci_put(o, "static bool ck_fits_%s(const void *ck_m, size_t ck_bytes)\n{\n", x->name);
	if (x->n_var != 0)
		ci_put(o, "\tconst %s *ck_b = (const %s *)ck_m;\n\n", x->name, x->name);
	else
		ci_put(o, "\t(void)ck_m;\n");
	ci_put_line(o, x->tok);
	ci_put(o, "\treturn ck_bytes >= sizeof(%s)", x->name);
	for (int i = 0; i < x->n_var; i++)
		ci_put(o, " &&\n\t\tCkGen_arrayFits(ck_bytes, ck_b->ck_off_[%d], 0, 1)", i);
	ci_put(o, ";\n");
	ci_put_line_back(o);
	ci_put(o, "}\n\n");
}

static void message_table(struct ci_out *o, const struct ci_message *x)
{
	if (x->n_var != 0)
		ci_put(o, "static void ck_fix_%s(void *ck_m)\n{\n\tck_message_%s((%s *)ck_m);\n}\n\n",
		       x->name, x->name, x->name);
	message_fits(o, x);
	ci_put(o, "const CkGenMessage ck_type_%s = {\"%s\", NULL, NULL, %s, ck_fits_%s};\n\n", x->name,
	       x->name, x->n_var != 0 ? ci_fmt(o->ci, "ck_fix_%s", x->name) : "NULL", x->name);
}

/* `message M;`: only the C compiler knows the size. */
static void flat_message(struct ci_out *o, const struct ci_message *x)
{
	const char *n = x->name;

	ci_put(o, "%s *%s_alloc(void)\n{\n\t%s *ck_m;\n\n", n, n, n);
	ci_put_line(o, x->tok);
	ci_put(o, "\tck_m = (%s *)CkGen_allocMsg(sizeof(%s));\n", n, n);
	ci_put_line_back(o);
	ci_put(o, "\tmemset(ck_m, 0, sizeof *ck_m);\n\treturn ck_m;\n}\n\n");
	message_table(o, x);
}

/* `message [packed] M;` */
static void packed_message(struct ci_out *o, const struct ci_message *x)
{
	const char *n = x->name;

	ci_put(o, "%s *%s_alloc(size_t ck_extra)\n{\n\t%s *ck_m;\n\n", n, n, n);
	ci_put(o, "\tif (ck_extra > PTRDIFF_MAX / 2)\n"
	       "\t\tCkAbort(\"%s_alloc: %%zu bytes are too many\", ck_extra);\n", n);
	ci_put_line(o, x->tok);
	ci_put(o, "\tck_m = (%s *)CkGen_allocMsg(sizeof(%s) + ck_extra);\n", n, n);
	ci_put_line_back(o);
	ci_put(o, "\tmemset(ck_m, 0, sizeof *ck_m);\n\treturn ck_m;\n}\n\n");
	ci_put(o, "static void *ck_msgpack_%s(void *ck_m)\n{\n\treturn %s_pack((%s *)ck_m);\n}\n\n", n,
	       n, n);
	ci_put(o, "static void *ck_msgunpack_%s(void *ck_m)\n{\n\treturn %s_unpack(ck_m);\n}\n\n", n,
	       n);
	ci_put(o, "const CkGenMessage ck_type_%s = {\"%s\", ck_msgpack_%s, ck_msgunpack_%s, NULL, NULL};"
	       "\n\n", n, n, n, n);
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
		ci_put(o, "\tck_at[%d] = CkGen_place(ck_end, n_%s * sizeof(%s));\n", i, f->name,
		       f->type.text);
		ci_put(o, "\tck_end = ck_at[%d] + n_%s * sizeof(%s);\n", i, f->name, f->type.text);
		i++;
	}
	ci_put(o, "\tck_m = (%s *)CkGen_allocMsg(%s);\n", x->name, x->n_var != 0 ? "ck_end" :
	       ci_fmt(o->ci, "sizeof(%s)", x->name));
	ci_put(o, "\tmemset(ck_m, 0, sizeof *ck_m);\n");
	for (i = 0; i < x->n_var; i++)
		ci_put(o, "\tck_m->ck_off_[%d] = ck_at[%d];\n", i, i);
	ci_put(o, "\tck_message_%s(ck_m);\n\treturn ck_m;\n}\n\n", x->name);
	message_table(o, x);
}

/* ---- stubs ---------------------------------------------------------------------------------- */

/* Print the call that makes the payload: "ck_pack_X_f(n, v)", or an empty message. */
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

/* [inline]: if the element may be called at once, the stub passes its arguments to the handler.
 * `line`: the element is ck_x of collection ck_id. */
static void inline_call(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			bool line)
{
	const bool one_number = gen_is_line(c);

	if (!(e->attrs & CI_INLINE))
		return;
	ci_put(o, "\tCkGenFrame ck_frame;\n");
	ci_put(o, "\t%s *ck_self = (%s *)CkGen_enter%s(&ck_chare_%s, %s, %d, &ck_frame);\n\n",
	       c->name, c->name, one_number ? "Line" : "", c->name, line ? "ck_id, ck_x" :
	       one_number ? "ck_to.ck.id, ck_to.ck.index.v[0]" : "&ck_to.ck", e->number);
	ci_put(o, "\tif (ck_self != NULL) {\n\t\t%s_on_%s(ck_self", c->name, e->name);
	gen_direct_args(o, e);
	ci_put(o, ");\n\t\tCkGen_leave(&ck_frame);\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_NOCOPY)
			ci_put(o, "\t\tCkCallbackSend(%s.done, &%s, sizeof %s);\n", q->name, q->name,
			       q->name);
	}
	ci_put(o, "\t\treturn;\n\t}\n");
}

/* For gen_opens_element: begin the call, perhaps in the queue already, and fill it. */
static void open_element(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "\tif (ck_o == NULL) {\n");
	if (!gen_only_values(e)) {
		ci_put(o, "\t\tck_open_%s_%s(&ck_to.ck, ", c->name, e->name);
		gen_args(o, e, "");
		ci_put(o, ");\n");
	} else {
		ci_put(o, "\t\tconst CkGenOpen ck_c = CkGen_open%s(&ck_chare_%s, &ck_to.ck, %d%s, %s);\n\n",
		       gen_open_kind(e), c->name, e->number, gen_seen(e), e->params == NULL ? "0" :
		       ci_fmt(o->ci, "sizeof(struct ck_args_%s_%s)", c->name, e->name));
		if (e->params != NULL) {
			ci_put(o, "\t\tck_fill_%s_%s(ck_c.payload", c->name, e->name);
			gen_args(o, e, ", ");
			ci_put(o, ");\n");
		}
		ci_put(o, "\t\tif (ck_c.away)\n\t\t\tCkGen_close%s(ck_c);\n", gen_close_kind(e));
	}
	ci_put(o, "\t\treturn;\n\t}\n");
}

static void stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		 const struct gen_form *f)
{
	ci_put(o, "void %s_%s%s_opt(const CkEntryOptions *ck_o, %s%s ck_to", c->name, e->name,
	       f->suffix, f->proxy, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n");
	if (*f->suffix == '\0' && !gen_is_single(c))
		inline_call(o, c, e, false);
	if (gen_opens_element(c, e) && !gen_sends_line(c, e) && *f->suffix == '\0')
		open_element(o, c, e);
	ci_put(o, "\t%s(&ck_chare_%s, %s, %d, ", (e->attrs & CI_AGGREGATE) && *f->suffix == '\0' ?
	       "CkGen_sendAggregate" : f->send, c->name, f->target, e->number);
	payload(o, c, e);
	ci_put(o, ", ck_o);\n}\n\n");
}

/* The head of a stub, or of a part of it, with the parameters of ck_send_X_f. */
static void send_head(struct ci_out *o, const char *what, const struct ci_chare *c,
				const struct ci_entry *e)
{
	ci_put(o, "%s_%s_%s(uint64_t ck_id, int ck_x", what, c->name, e->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n");
}

static void fill_payload(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
				const char *payload_)
{
	if (e->params == NULL)
		return;
	ci_put(o, "\tck_fill_%s_%s(%s", c->name, e->name, payload_);
	gen_args(o, e, ", ");
	ci_put(o, ");\n");
}

/* [count]: calls that wait for each other are many, so the stub makes the usual one itself. */
static void open_here_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	send_head(o, "void ck_send", c, e);
	ci_put(o, "\tvoid *ck_m = CkGen_isHere(ck_id, ck_x) ?\n"
	       "\t\t\tCkGen_openHere(ck_id, ck_x, %d%s, %s, 0) : NULL;\n\n"
	       "\tif (ck_m == NULL) {\n\t\tck_open_%s_%s(ck_id, ck_x", e->number, gen_seen(e),
	       e->params == NULL ? "0" : ci_fmt(o->ci, "sizeof(struct ck_args_%s_%s)", c->name, e->name),
	       c->name, e->name);
	gen_args(o, e, ", ");
	ci_put(o, ");\n\t\treturn;\n\t}\n");
	fill_payload(o, c, e, "ck_m");
	ci_put(o, "}\n\n");
}

/* For gen_opens: a call of one element without options queues the message first and fills it
 * then. */
static void open_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const bool counted = (e->attrs & CI_COUNT) != 0;

	send_head(o, counted ? "static __attribute__((noinline)) void ck_open" : "void ck_send", c, e);
	inline_call(o, c, e, true);
	ci_put(o, "\tconst CkGenOpen ck_c = CkGen_open(&ck_chare_%s, ck_id, ck_x, %d%s, ", c->name,
		e->number,
	       gen_seen(e));
	if (e->params != NULL)
		ci_put(o, "sizeof(struct ck_args_%s_%s));\n\n", c->name, e->name);
	else
		ci_put(o, "0);\n\n");
	fill_payload(o, c, e, "ck_c.payload");
	ci_put(o, "\tif (ck_c.away)\n\t\tCkGen_close(ck_c);\n}\n\n");
	if (counted)
		open_here_stub(o, c, e);
}

/* The arguments of CkGen_itemKind, except the entry. */
static const char *item_shape(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e)
{
	return e->params == NULL ? "0, 1" :
		ci_fmt(ci, "sizeof(struct ck_args_%s_%s),\n\t\t__alignof__(struct ck_args_%s_%s)", c->name,
		       e->name, c->name, e->name);
}

/* [aggregate]: if the batch is known, the call is added to it. All else is a function of its own,
 * for which the usual call would save registers. */
static void batch_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *shape = item_shape(o->ci, c, e);

	send_head(o, "static __attribute__((noinline)) void ck_begin", c, e);
	ci_put(o, "\tconst CkGenOpen ck_c = CkGen_openAggregate(&ck_chare_%s, ck_id, ck_x, %d, %s);\n\n",
		c->name,
	       e->number, shape);
	fill_payload(o, c, e, "ck_c.payload");
	ci_put(o, "\tif (ck_c.away)\n\t\tCkGen_closeAggregate(ck_c);\n}\n\n");

	send_head(o, "CKGEN_INLINED void ck_send", c, e);
	ci_put(o, "\tCkGenBatch *const ck_b = CkGen_batchOf(ck_id, ck_x, %d, %s);\n\tvoid *ck_m;\n\n"
	       "\tif (ck_b == NULL) {\n\t\tck_begin_%s_%s(ck_id, ck_x", e->number, shape, c->name,
		e->name);
	gen_args(o, e, ", ");
	ci_put(o, ");\n\t\treturn;\n\t}\n");
	ci_put(o, "\tck_m = CkGen_itemAppend(ck_b, (uint32_t)ck_x, CkGen_itemKind(%d, %s));\n", e->number,
		shape);
	fill_payload(o, c, e, "ck_m");
	if (e->params == NULL)
		ci_put(o, "\t(void)ck_m;\n");
	ci_put(o, "\tif (ck_b->at == ck_b->stop)\n\t\tCkGen_sendBatch(ck_b);\n}\n\n");
}

static void callback(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		     const struct gen_form *f)
{
	ci_put(o, "CkCallback %s_cb_%s%s(%s%s ck_to)\n{\n", c->name, e->name, f->suffix, f->proxy,
	       c->name);
	ci_put(o, "\treturn %s(&ck_chare_%s, %s, %d);\n}\n\n", f->cb, c->name, f->target, e->number);
}

/* [local]: the stub calls the handler, or aborts if the element is not here. */
static void local_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *result = gen_returns(e) ? ci_fmt(o->ci, "%sck_r = ", gen_answer(o->ci, e)) : "";

	ci_put(o, "%s%s_%s(CProxyElement_%s ck_to", gen_answer(o->ci, e), c->name, e->name, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n\tCkGenFrame ck_frame;\n\t%s *ck_self = (%s *)CkGen_enterLocal("
	       "&ck_chare_%s, &ck_to.ck, %d,\n\t\t\t&ck_frame);\n", c->name, c->name, c->name,
	       e->number);
	ci_put(o, "%s\t%s%s_on_%s(ck_self", *result != '\0' ? "" : "\n", result, c->name, e->name);
	gen_direct_args(o, e);
	ci_put(o, ");\n%s\tCkGen_leave(&ck_frame);\n%s}\n\n", *result != '\0' ? "\n" : "",
	       *result != '\0' ? "\treturn ck_r;\n" : "");
}

/* [sync]: the runtime writes the answer to ck_r before it returns. */
static void sync_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *reply = gen_returns(e) ? "&ck_r" : "NULL";
	const char *target = c->kind == CI_MAINCHARE ? "&ck_e" : gen_forms(c)->target;

	ci_put(o, "%s%s_%s_sync(%s%s ck_to", gen_answer(o->ci, e), c->name, e->name,
	       gen_forms(c)->proxy, c->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n");
	if (c->kind == CI_MAINCHARE)
		ci_put(o, "\tconst CkElement ck_e = {ck_to.ck.id, {{0, 0, 0}}, 0};\n");
	if (gen_returns(e))
		ci_put(o, "\t%sck_r%s;\n\n", gen_answer(o->ci, e), e->answer.stars ? " = NULL" : "");
	ci_put(o, "\t%s(&ck_chare_%s, %s, %d, ", c->kind == CI_CHARE ? "CkGen_syncChare" :
	       "CkGen_sync", c->name, target, e->number);
	payload(o, c, e);
	ci_put(o, ", %s);\n", reply);
	if (e->answer.stars != 0)
		ci_put(o, "\tif (ck_r != NULL)\n\t\tck_message_%s(ck_r);\n", e->answer.text);
	ci_put(o, "%s}\n\n", gen_returns(e) ? "\treturn ck_r;\n" : "");
}

/* [whenidle]: no stub sends a call; the element asks for it. */
static void idle_stub(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "void %s_%s_whenIdle(const %s *self)\n{\n\tCkGen_whenIdle(&ck_chare_%s, self, "
	       "%d);\n}\n\n", c->name, e->name, c->name, c->name, e->number);
}

/* [arrival]: no stub sends a call; elements make the two ends of a channel. */
static void channel_stubs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	for (int oob = 0; oob < 2; oob++) {
		gen_channel_from(o, c, e, oob);
		ci_put(o, "\n{\n\treturn CkGen_channelFrom(&ck_chare_%s, self, %d, ck_from, ck_tag, ck_buf, ck_bytes, "
		       "%s);\n}\n\n", c->name, e->number, oob ? "&ck_oob" : "NULL");
	}
	for (int strided = 0; strided < 2; strided++) {
		gen_channel_to(o, c, e, strided);
		ci_put(o, "\n{\n\treturn CkGen_channelTo(&ck_chare_%s, self, %d, ck_to.ck, ck_tag, ck_buf, %s);\n}"
		       "\n\n", c->name, e->number, strided ?
		       "\n\t\t\tck_shape.block_bytes * ck_shape.blocks * (ck_shape.planes ? ck_shape.planes : 1), &ck_shape" :
		       "ck_bytes, NULL");
	}
	gen_channel_from_device(o, c, e);
	ci_put(o, "\n{\n\treturn CkGen_channelFromDevice(&ck_chare_%s, self, %d, ck_from, ck_tag, "
	       "ck_dbuf, ck_bytes);\n}\n\n", c->name, e->number);
	gen_channel_to_device(o, c, e);
	ci_put(o, "\n{\n\treturn CkGen_channelToDevice(&ck_chare_%s, self, %d, ck_to.ck, ck_tag, "
	       "ck_dbuf, ck_bytes);\n}\n\n", c->name, e->number);
	if (gen_is_set(e)) {
		gen_channel_ready(o, c, e);
		ci_put(o, "\n{\n\tCkGen_channelsReady(&ck_chare_%s, self, %d);\n}\n\n", c->name, e->number);
		return;
	}
	gen_channel_reduced(o, c, e);
	ci_put(o, "\n{\n\treturn CkGen_channelReduced(&ck_chare_%s, self, %d, ck_from, ck_n, ck_tag, ck_buf, ck_bytes, "
	       "ck_op);\n}\n\n", c->name, e->number);
}

static void stubs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (e->attrs & CI_ARRIVAL)
		channel_stubs(o, c, e);
	if (e->attrs & CI_WHENIDLE)
		idle_stub(o, c, e);
	if (e->attrs & CI_SYNC)
		sync_stub(o, c, e);
	if (e->attrs & CI_LOCAL)
		local_stub(o, c, e);
	if (gen_opens(c, e))
		(e->attrs & CI_AGGREGATE ? batch_stub : open_stub)(o, c, e);
	if (gen_prepares(c, e))
		gen_prepare(o, c, e);
	for (const struct gen_form *f = gen_forms(c); f->proxy != NULL && gen_has_stub(e); f++)
		stub(o, c, e, f);
	for (const struct gen_form *f = gen_forms(c); f->proxy != NULL && gen_is_target(e); f++)
		callback(o, c, e, f);
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
	ci_put(o, "%s)\n{\n\tCProxy_%s ck_p;\n\n\tck_p.ck = CkGen_new%s(&ck_chare_%s, ",
	       c->ctor->params == NULL ? "void" : "", c->name,
	       c->kind == CI_NODEGROUP ? "Nodegroup" : "Group", c->name);
	payload(o, c, c->ctor);
	ci_put(o, ");\n\treturn ck_p;\n}\n\n");
}

static void chare_creation(struct ci_out *o, const struct ci_chare *c)
{
	ci_put(o, "CProxy_%s %s_ckNew_opt(const CkEntryOptions *ck_o, int ck_pe", c->name, c->name);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ")\n{\n\tCProxy_%s ck_p;\n\n\tck_p.ck = CkGen_newChare(&ck_chare_%s, ck_pe, ",
	       c->name, c->name);
	payload(o, c, c->ctor);
	ci_put(o, ", ck_o);\n\treturn ck_p;\n}\n\n");
	ci_put(o, "CProxy_%s %s_ckNew(int ck_pe", c->name, c->name);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ")\n{\n\treturn %s_ckNew_opt(NULL, ck_pe", c->name);
	gen_args(o, c->ctor, ", ");
	ci_put(o, ");\n}\n\n");
}

/* Create an empty array, and insert and destroy its elements one by one. */
static void insertion(struct ci_out *o, const struct ci_chare *c)
{
	const char *n = c->name;

	ci_put(o, "CProxy_%s %s_ckNewEmpty_opt(const CkArrayOptions *ck_o)\n{\n", n, n);
	ci_put(o, "\tconst CProxy_%s ck_p = {CkGen_newArray(&ck_chare_%s, ck_o, NULL)};\n\n"
	       "\treturn ck_p;\n}\n\n", n, n);
	ci_put(o, "CProxy_%s %s_ckNewEmpty(void)\n{\n\tCkArrayOptions ck_o;\n\n"
	       "\tmemset(&ck_o, 0, sizeof ck_o);\n\treturn %s_ckNewEmpty_opt(&ck_o);\n}\n\n", n, n, n);
	ci_put(o, "void %s_insert(CProxyElement_%s ck_e, int ck_pe", n, n);
	gen_params(o, c->ctor, ", ");
	ci_put(o, ")\n{\n\tCkGen_insert(&ck_chare_%s, &ck_e.ck, ck_pe, ", n);
	payload(o, c, c->ctor);
	ci_put(o, ");\n}\n\n");
	ci_put(o, "void %s_beginInserting(CProxy_%s ck_p)\n{\n"
	       "\tCkGen_beginInserting(ck_p.ck);\n}\n\n", n, n);
	ci_put(o, "void %s_doneInserting(CProxy_%s ck_p)\n{\n"
	       "\tCkGen_doneInserting(ck_p.ck);\n}\n\n", n, n);
	ci_put(o, "void %s_ckDestroy(CProxyElement_%s ck_e)\n{\n"
	       "\tCkGen_destroy(&ck_e.ck);\n}\n\n", n, n);
}

static void creation(struct ci_out *o, const struct ci_chare *c)
{
	switch (c->kind) {
	case CI_MAINCHARE:
		break;
	case CI_GROUP:
	case CI_NODEGROUP:
		group_creation(o, c);
		break;
	case CI_CHARE:
		chare_creation(o, c);
		break;
	case CI_ARRAY:
		if (c->index.text == NULL)
			array_creation(o, c);
		insertion(o, c);
		break;
	}
}

static void this_index(struct ci_out *o, const struct ci_chare *c)
{
	const char *type = c->index.text != NULL ? c->index.text :
		c->nd > 1 ? ci_fmt(o->ci, "CkIndex%dD", c->nd) : "int";

	ci_put(o, "%s %s_thisIndex(const %s *self)\n{\n", type, c->name, c->name);
	if (c->index.text == NULL && c->nd < 2) {
		ci_put(o, "\treturn CkGen_thisIndex(self).v[0];\n}\n\n");
		return;
	}
	/* CkIndex holds the bytes of CkIndexND or of the user's index type, so memcpy converts it. */
	ci_put(o, "\tconst CkIndex ck_i = CkGen_thisIndex(self);\n");
	ci_put(o, "\t%s ck_r;\n\n\tmemcpy(&ck_r, &ck_i, sizeof ck_r);\n\treturn ck_r;\n}\n\n", type);
}

static void this_proxy(struct ci_out *o, const struct ci_chare *c)
{
	ci_put(o, "CProxy_%s %s_thisProxy(const %s *self)\n{\n", c->name, c->name, c->name);
	ci_put(o, "\tconst CProxy_%s ck_p = {%s(self)};\n\n\treturn ck_p;\n}\n\n", c->name,
	       c->kind == CI_CHARE ? "CkGen_thisChare" : c->kind == CI_MAINCHARE ? "CkGen_thisMain" :
	       "CkGen_thisProxy");
}

static void element_functions(struct ci_out *o, const struct ci_chare *c)
{
	const char *n = c->name;

	this_proxy(o, c);
	if (gen_is_single(c))
		return;
	ci_put(o, "CProxyElement_%s %s_thisElement(const %s *self)\n{\n", n, n, n);
	ci_put(o, "\tconst CProxyElement_%s ck_e = {{CkGen_thisProxy(self).id, "
	       "CkGen_thisIndex(self), 0}};\n\n\treturn ck_e;\n}\n\n", n);
	this_index(o, c);
	ci_put(o, "%s *%s_ckLocal(CProxyElement_%s ck_e)\n{\n", n, n, n);
	ci_put(o, "\treturn (%s *)CkGen_ckLocal(&ck_chare_%s, &ck_e.ck);\n}\n\n", n, n);
	if (c->kind == CI_ARRAY)
		ci_put(o, "%s *%s_nextLocal(CProxy_%s ck_p, const %s *ck_after)\n{\n"
		       "\treturn (%s *)CkGen_nextLocal(&ck_chare_%s, ck_p.ck, ck_after);\n}\n\n", n,
		       n, n, n, n, n);
	else
		ci_put(o, "%s *%s_ckLocalBranch(CProxy_%s ck_p)\n{\n"
		       "\treturn (%s *)CkGen_ckLocalBranch(&ck_chare_%s, ck_p.ck);\n}\n\n", n, n, n, n,
		       n);
	ci_put(o, "CProxySection_%s %s_ckSection(CProxy_%s ck_p, const CkIndex *ck_list, "
	       "size_t ck_n)\n{\n\tconst CProxySection_%s ck_s = {CkGen_section(&ck_chare_%s, ck_p.ck, ck_list, "
	       "ck_n)};\n\n\treturn ck_s;\n}\n\n", n, n, n, n, n);
	ci_put(o, "CProxySection_%s %s_ckSectionOf(const CProxyElement_%s *ck_list, size_t ck_n)\n{\n"
	       "\tconst CProxySection_%s ck_s = {CkGen_sectionOf(&ck_chare_%s, (const CkElement *)ck_list, "
	       "ck_n)};\n\n\treturn ck_s;\n}\n\n", n, n, n, n, n);
}

/* ---- tables --------------------------------------------------------------------------------- */

static const char *flags(struct ci *ci, const struct ci_entry *e)
{
	static const struct { unsigned attr; const char *flag; } table[] = {
		{CI_EXPEDITED, "EXPEDITED"}, {CI_THREADED, "THREADED"}, {CI_SYNC, "SYNC"},
		{CI_WHEN, "WHEN"}, {CI_EXCLUSIVE, "EXCLUSIVE"}, {CI_IMMEDIATE, "IMMEDIATE"},
		{CI_CREATEHERE, "CREATEHERE"}, {CI_CREATEHOME, "CREATEHOME"},
		{CI_AGGREGATE, "AGGREGATE"}, {CI_NOTRACE, "NOTRACE"}, {CI_ARRIVAL, "ARRIVAL"},
		{CI_COUNT, "COUNT"},
	};
	const char *s = "";

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if ((e->attrs & table[i].attr) && !(table[i].attr == CI_COUNT && gen_is_set(e)))
			s = ci_fmt(ci, "%s | CKGEN_%s", s, table[i].flag);
	}
	s = ci_fmt(ci, "%s%s%s", s, e->body != NULL ? " | CKGEN_BODY" : "", e->awaited != NULL ? " | CKGEN_AWAITED" : "");
	s = ci_fmt(ci, "%s%s%s%s%s%s", s, gen_takes_message(e) ? " | CKGEN_MESSAGE" : "",
		   !e->ctor && e->params == NULL && !(e->attrs & CI_OWN_CALL) ?
		   " | CKGEN_NOARGS" : "", gen_has_cb(e) ? " | CKGEN_REDUCTION" : "",
		   gen_count_nocopy(e) != 0 ? " | CKGEN_NOCOPY" : "",
		   gen_has_pup(e) ? " | CKGEN_PUP" : "");
	return *s != '\0' ? s + 3 : "0";
}

static int want_count(const struct ci_entry *e)
{
	int n = 0;

	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		n++;
	return n;
}

/* "ck_call_X_f", or "NULL" when there is no such function. */
static const char *function(struct ci *ci, bool there, const char *what, const struct ci_chare *c,
			    const struct ci_entry *e)
{
	return there ? ci_fmt(ci, "%s_%s_%s", what, c->name, e->name) : "NULL";
}

/* The CkDataType of a reduction target. If only the C compiler knows the type, an error shows the line of
 * the .ci file. */
static void entry_want(struct ci_out *o, const struct ci_entry *e)
{
	bool open = e->want != NULL && strncmp(e->want, "CKGEN_", 6) == 0;

	if (open) {
		ci_put(o, "\n");
		ci_put_line(o, e->tok);
	}
	ci_put(o, "%s%s,", open ? "\t " : " ", e->want != NULL ? e->want : "CK_NOTYPE");
	if (open) {
		ci_put(o, "\n");
		ci_put_line_back(o);
	}
}

/* The columns about a call's parameters. */
static void entry_call(struct ci_out *o, const struct ci_entry *e)
{
	bool any_count = e->want == NULL || gen_target_array(e) != NULL;

	ci_put(o, "\t %s,", flags(o->ci, e));
	entry_want(o, e);
	ci_put(o, " %d, %d, %d,\n", gen_has_cb(e) && any_count, gen_count_nocopy(e), any_count ? 0 : want_count(e));
	if (e->attrs & CI_STACKSIZE) {
		ci_put_line(o, e->stacksize.from);
		ci_put(o, "\t (uint32_t)(");
		gen_text(o, &e->stacksize);
		ci_put(o, "),\n");
		ci_put_line_back(o);
	} else {
		ci_put(o, "\t 0, ");
	}
	ci_put(o, gen_takes_message(e) ? "&ck_type_%s," : "NULL,", gen_takes_message(e) ?
	       e->params->type.text : "");
}

/* The columns of the answer: its function, its bytes, whether it is a message. */
static void entry_answer(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *bytes = "0";
	bool message = (e->attrs & CI_SYNC) && e->answer.stars != 0;

	if ((e->attrs & CI_SYNC) && gen_returns(e))
		bytes = ci_fmt(o->ci, "(uint32_t)sizeof(%s%s)", e->answer.text, message ? " *" : "");
	ci_put(o, " %s, %s, %d,\n", function(o->ci, e->attrs & CI_SYNC, "ck_answer", c, e), bytes,
	       message);
}

/* The bytes of a plain call. */
static const char *entry_least(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e)
{
	if (!gen_is_call_plain(c, e))
		return "UINT32_MAX";
	return e->params == NULL ? "CKGEN_HEAD" :
	       ci_fmt(ci, "CKGEN_HEAD + sizeof(struct ck_args_%s_%s)", c->name, e->name);
}

/* Who takes the calls of an entry, if one attribute alone says so. */
static const char *taker(const struct ci_entry *e)
{
	const bool counts = (e->attrs & CI_COUNT) && !gen_is_set(e);
	const bool others = (e->attrs & (CI_THREADED | CI_SYNC | CI_WHEN)) || gen_count_nocopy(e) != 0 ||
			    gen_has_pup(e);

	if (others || counts + (e->body != NULL) + (e->awaited != NULL) != 1)
		return "CKGEN_TAKER_ANY";
	return counts ? "CKGEN_TAKER_COUNT" : e->body != NULL ? "CKGEN_TAKER_BODY" : "CKGEN_TAKER_WHEN";
}

/* The text of the condition, for reports about calls that wait. */
static void entry_condition(struct ci_out *o, const struct ci_entry *e)
{
	if (!(e->attrs & CI_WHEN)) {
		ci_put(o, "\t NULL,");
		return;
	}
	ci_put(o, "\t \"");
	for (const struct ci_tok *t = e->when.from; t != e->when.to; t++) {
		bool apart = t > e->when.from && t[-1].at + t[-1].len != t->at;

		ci_put(o, "%s", apart ? " " : "");
		for (const char *c = t->s; *c; c++)
			ci_put(o, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	}
	ci_put(o, "\",");
}

/* All columns stand in the order of CkGenEntry, since C++17 has no designated initializers. */
static void entry_row(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	bool message = (e->attrs & CI_SYNC) && e->answer.stars != 0;

	ci_put(o, "\t{\"%s\", %s, %s,\n", e->ctor ? c->name : e->name,
	       function(o->ci, !(e->attrs & CI_OWN_CALL & ~(unsigned)CI_ARRIVAL), "ck_call", c, e),
	       function(o->ci, gen_has_cb(e), gen_is_reduced(e) ? "ck_reduced" : "ck_call", c, e));
	entry_call(o, e);
	entry_answer(o, c, e);
	ci_put(o, "\t %s, %s, %s,\n", gen_has_number(e) ? function(o->ci, true, "ck_number", c, e) :
	       function(o->ci, e->attrs & CI_WHEN, "ck_when", c, e),
	       function(o->ci, gen_count_nocopy(e) != 0, "ck_ncpy", c, e),
	       message ? ci_fmt(o->ci, "&ck_type_%s", e->answer.text) : "NULL");
	ci_put(o, "\t %s, %s, %s, %s,\n", entry_least(o->ci, c, e), taker(e), gen_fits(o->ci, c, e),
	       function(o->ci, gen_has_came(c, e), "ck_came", c, e));
	entry_condition(o, e);
	ci_put(o, " %s},\n", function(o->ci, e->attrs & CI_COUNT, "&ck_counted", c, e));
}

static void handle_while(struct ci_out *o, const char *next, const struct ci_chare *c,
			 const struct ci_entry *e)
{
	ci_put(o, "\t\twhile (%s(&ck_c, ck_kind))\n\t\t\tck_call_%s_%s(ck_c.self, ck_c.payload);\n",
	       next, c->name, e->name);
}

/* The loops over the calls of a batch, in which the C compiler can inline the handler: without
 * places and with them. */
static void handle_all(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static const char *ck_all_%s_%s(const CkGenCalls *ck_calls)\n{\n"
	       "\tconst uint64_t ck_kind = CkGen_itemKind(%d, %s);\n\tCkGenCalls ck_c = *ck_calls;\n\n"
	       "\tif (ck_c.kind != ck_kind)\n\t\treturn ck_c.at;\n\tif (ck_c.of_one)\n", c->name, e->name,
	       e->number, item_shape(o->ci, c, e));
	handle_while(o, "CkGen_nextOfOne", c, e);
	ci_put(o, "\telse\n");
	handle_while(o, "CkGen_nextCall", c, e);
	ci_put(o, "\treturn ck_c.at;\n}\n\n");
}

static bool has_all(const struct ci_chare *c, const struct ci_entry *e)
{
	return (e->attrs & CI_AGGREGATE) && gen_is_call_plain(c, e);
}

static bool is_idle(const struct ci_chare *c, const struct ci_entry *e)
{
	(void)c;
	return (e->attrs & CI_WHENIDLE) != 0;
}

static void handle_idle(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static bool ck_idle_%s_%s(void *ck_self)\n{\n\treturn %s_on_%s((%s *)ck_self);\n}\n\n",
	       c->name, e->name, c->name, e->name, c->name);
}

/* Functions that some entries have, and their table by entry. */
struct by_entry {
	const char *type, *name;
	bool (*has)(const struct ci_chare *c, const struct ci_entry *e);
	void (*put)(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);
};
static const struct by_entry alls = {"CkGenAll", "ck_all", has_all, handle_all};
static const struct by_entry idles = {"CkGenIdle", "ck_idle", is_idle, handle_idle};

/* Returns what the chare's table has of it. */
static const char *entry_table(struct ci_out *o, const struct ci_chare *c, const struct by_entry *t)
{
	bool any = false;

	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next) {
		if (t->has(c, e))
			t->put(o, c, e);
		any |= t->has(c, e);
	}
	if (!any)
		return "NULL";
	ci_put(o, "static const %s %s_%s[] = {\n", t->type, t->name, c->name);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e))
		ci_put(o, "\t%s,\n", function(o->ci, t->has(c, e), t->name, c, e));
	ci_put(o, "};\n");
	return ci_fmt(o->ci, "%s_%s", t->name, c->name);
}

static void chare_table(struct ci_out *o, const struct ci_chare *c)
{
	static const char *const kinds[] = {
		"CKGEN_MAINCHARE", "CKGEN_ARRAY", "CKGEN_GROUP", "CKGEN_CHARE", "CKGEN_NODEGROUP"
	};
	const bool bodies = gen_bodies(o, c);
	const char *all = entry_table(o, c, &alls), *idle = entry_table(o, c, &idles);
	int n = 0, resume = 0;

	ci_put(o, "static const CkGenEntry ck_entries_%s[] = {\n", c->name);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e)) {
		entry_row(o, c, e);
		if (c->kind == CI_ARRAY && !e->ctor && strcmp(e->name, "resumeFromSync") == 0)
			resume = n;
		n++;
	}
	ci_put(o, "};\nstatic const CkGenChare ck_chare_%s = {\n\t\"%s\", %s, %d, %s,\n", c->name,
	       c->name, kinds[c->kind], c->nd, bodies ? ci_fmt(o->ci, "ck_bodies_%s", c->name) : "NULL");
	/* If the user has not defined the struct, the C compiler's error shows the chare's line. */
	ci_put_line(o, c->tok);
	ci_put(o, "\tsizeof(%s),\n", c->name);
	ci_put_line_back(o);
	ci_put(o, "\tck_entries_%s, %d, %s,\n\t%s, %s, %s, %d, %s, %s\n};\n\n", c->name, n,
		c->index.text != NULL ?
	       ci_fmt(o->ci, "(int)sizeof(%s)", c->index.text) : "0", gen_chare_pup(o->ci, c),
	       gen_chare_padding(o->ci, c), gen_chare_arrived(o->ci, c), resume,
	       all, idle);
}

static void chare(struct ci_out *o, const struct ci_chare *c)
{
	ci_put(o, "/* ---- %s ---- */\n\n", c->name);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e))
		gen_unpack(o, c, e);
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next) {
		if (e->body != NULL)
			gen_body(o, c, e);
	}
	chare_table(o, c);
	for (const struct ci_entry *e = gen_first_entry(c); e != NULL; e = gen_next_entry(c, e))
		gen_pack(o, c, e);
	creation(o, c);
	element_functions(o, c);
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next)
		stubs(o, c, e);
}

/* ---- the module ----------------------------------------------------------------------------- */

/* Print one list of the module's table and return its length. C has no empty arrays: for an empty list
 * print nothing, and list_member prints NULL. */
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
		ci_put(o, "\t{\"%s %s%s\", &%s, sizeof %s, %s},\n", r->type.text,
		       r->kind == CI_FIELD_MESSAGE ? "*" : "", r->name, r->name, r->name,
		       r->kind == CI_FIELD_MESSAGE ? ci_fmt(o->ci, "&ck_type_%s", r->type.text) :
		       "NULL");
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
	int initprocs = name_list(o, ci_fmt(o->ci, "static void (*const ck_initprocs_%s[])(void)",
					    m->name), "", m->initprocs);
	int externs = name_list(o, ci_fmt(o->ci, "static const CkGenModule *const ck_externs_%s[]",
					  m->name), "&ck_module_", m->externs);

	ci_put(o, "const CkGenModule ck_module_%s = {\n\t\"%s\",\n", m->name, m->name);
	list_member(o, "chares", m->name, chares);
	list_member(o, "readonlies", m->name, readonly);
	list_member(o, "initnodes", m->name, initnodes);
	list_member(o, "initprocs", m->name, initprocs);
	list_member(o, "externs", m->name, externs);
	ci_put(o, "};\n");
}

static bool has_mainchare(const struct ci_module *m)
{
	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next)
		if (c->kind == CI_MAINCHARE)
			return true;
	return false;
}

/* A `module` with a main chare was perhaps meant to be the mainmodule. If no other module is,
 * the linker misses this name besides main. */
static void needs_mainmodule(struct ci_out *o, const struct ci_module *m)
{
	static const char name[] = "ck_no_module_of_the_program_is_a_mainmodule";

	if (m->main)
		ci_put(o, "\nextern const char %s[] __attribute__((weak));\nconst char %s[] = \"\";\n",
		       name, name);
	else if (has_mainchare(m))
		ci_put(o, "\n#ifndef CK_NO_MAIN\nextern const char %s[];\n"
		       "static const char *const ck_needs_main_%s __attribute__((used)) =\n\t%s;\n#endif\n",
		       name, m->name, name);
}

/* A chare may be called `main`. C has no type and function of one name, so the function is called
 * ck_main, and only the linker knows it as main. */
static void main_function(struct ci_out *o, const struct ci_module *m)
{
	ci_put(o, "\n#ifndef CK_NO_MAIN\n/* the program's main() */\n");
	ci_put(o, "%sint ck_main(int argc, char **argv) __asm__(\"main\");\n",
	       "#ifdef __cplusplus\nextern \"C\"\n#endif\n");
	ci_put(o, "int ck_main(int argc, char **argv)\n{\n\treturn CkMain(argc, argv, &ck_module_%s);"
	       "\n}\n#endif\n", m->name);
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
	gen_pups(o, m);
	for (const struct ci_message *x = m->messages; x != NULL; x = x->next) {
		x->packed ? packed_message(o, x) : x->own ? flat_message(o, x) : message(o, x);
		gen_message_pup(o, x);
	}
	for (const struct ci_chare *c = m->chares; c != NULL; c = c->next)
		chare(o, c);
	module_table(o, m);
	ci_put(o, "\nconst char %s_def_h_is_included_in_no_file[] = \"\";\n", m->name);
	needs_mainmodule(o, m);
	if (m->main)
		main_function(o, m);
	gen_shadow_end(o);
	ci_put(o, "#endif\n");
}
