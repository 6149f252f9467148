/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_util.c: prints parameter lists and answers questions about entry methods.
 */
#include "gen.h"

#include <string.h>

const struct ci_entry *gen_first_entry(const struct ci_chare *c)
{
	return c->ctor;
}

const struct ci_entry *gen_next_entry(const struct ci_chare *c, const struct ci_entry *e)
{
	return e == c->ctor ? c->entries : e->next;
}

const struct gen_form *gen_forms(const struct ci_chare *c)
{
	static const struct gen_form main_chare[] = {
		{"CProxy_", "", "CkGen_sendMain", "CkGen_cbMain", "CkGen_main(ck_to.ck)"},
		{NULL, NULL, NULL, NULL, NULL}
	};
	static const struct gen_form single[] = {
		{"CProxy_", "", "CkGen_sendChare", "CkGen_cbChare", "ck_to.ck"},
		{NULL, NULL, NULL, NULL, NULL}
	};
	static const struct gen_form collection[] = {
		{"CProxyElement_", "", "CkGen_send", "CkGen_cb", "&ck_to.ck"},
		{"CProxy_", "_all", "CkGen_sendAll", "CkGen_cbAll", "ck_to.ck"},
		{"CProxySection_", "_section", "CkGen_sendSection", "CkGen_cbSection",
		 "&ck_to.ck"},
		{NULL, NULL, NULL, NULL, NULL}
	};

	return c->kind == CI_MAINCHARE ? main_chare : c->kind == CI_CHARE ? single : collection;
}

bool gen_is_single(const struct ci_chare *c)
{
	return c->kind == CI_MAINCHARE || c->kind == CI_CHARE;
}

const char *gen_param_type(struct ci *ci, const struct ci_param *q, bool handler)
{
	switch (q->kind) {
	case CI_PARAM_VALUE:
		return ci_fmt(ci, q->type.class_ == CI_PUP ? "const %s *" : "%s ", q->type.text);
	case CI_PARAM_NOCOPY:
		if (!handler)
			return "CkNcpyBuffer ";
		if (q->posted)
			return ci_fmt(ci, "%s *", q->type.text);
		break;
	case CI_PARAM_STRING:
		return "const char *";
	case CI_PARAM_MESSAGE:
	case CI_PARAM_ARGS:
		return ci_fmt(ci, "%s *", q->type.text);
	case CI_PARAM_POINTER:
		return ci_fmt(ci, "%s%s %.*s", q->type.const_ ? "const " : "", q->type.text,
			      q->type.stars, "********");
	case CI_PARAM_ARRAY:
	case CI_PARAM_REDUCTION:
		break;
	}
	return ci_fmt(ci, "const %s *", q->type.text);
}

static void params(struct ci_out *o, const struct ci_entry *e, const char *lead, bool handler)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		ci_put(o, "%s%s%s", lead, gen_param_type(o->ci, q, handler), q->name);
		lead = ", ";
	}
}

void gen_params(struct ci_out *o, const struct ci_entry *e, const char *lead)
{
	params(o, e, lead, false);
}

void gen_handler_params(struct ci_out *o, const struct ci_entry *e, const char *lead)
{
	params(o, e, lead, true);
}

void gen_post_handler(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "void %s_on_%s_post(%s *self", c->name, e->name, c->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, ", %s%s%s", gen_param_type(o->ci, q, true), q->posted ? "*" : "", q->name);
	ci_put(o, ", CkNcpyBufferPost *ck_post)");
}

int gen_count_posted(const struct ci_entry *e)
{
	int n = 0;

	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		n += q->posted;
	return n;
}

bool gen_returns(const struct ci_entry *e)
{
	return e->answer.text != NULL && (e->answer.class_ != CI_VOID || e->answer.stars != 0);
}

/* In parentheses: X_f_from is a macro, too (gen_decl.c). */
void gen_channel_from(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, bool oob)
{
	ci_put(o, "CkChannel *(%s_%s_from%s)(%s *self, CkElement ck_from, int ck_tag, "
	       "void *ck_buf, size_t ck_bytes%s)",
	       c->name, e->name, oob ? "_oob" : "", c->name, oob ? ", uint64_t ck_oob" : "");
}

void gen_channel_to(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, bool strided)
{
	ci_put(o, "CkChannel *%s_%s_to%s(const void *self, CProxyElement_%s ck_to, int ck_tag, const void *ck_buf, %s)",
	       c->name, e->name, strided ? "_strided" : "", c->name, strided ? "CkDirectStrides ck_shape" :
	       "size_t ck_bytes");
}

void gen_channel_from_device(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "CkChannel *(%s_%s_from_device)(%s *self, CkElement ck_from, int ck_tag, "
	       "void *ck_dbuf, size_t ck_bytes)", c->name, e->name, c->name);
}

void gen_channel_to_device(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "CkChannel *%s_%s_to_device(const void *self, CProxyElement_%s ck_to, int ck_tag, "
	       "const void *ck_dbuf, size_t ck_bytes)", c->name, e->name, c->name);
}

void gen_channel_reduced(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "CkReducing *%s_%s_reduced(%s *self, const CkElement *ck_from, int ck_n, int ck_tag, void *ck_buf, "
	       "size_t ck_bytes,\n\t\tCkReduction ck_op)", c->name, e->name, c->name);
}

void gen_channel_ready(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "void %s_%s_ready(const %s *self)", c->name, e->name, c->name);
}

const char *gen_answer(struct ci *ci, const struct ci_entry *e)
{
	const char *stars = "";

	if (!gen_returns(e))
		return "void ";
	for (int i = 0; i < e->answer.stars; i++)
		stars = ci_fmt(ci, "%s*", stars);
	return ci_fmt(ci, "%s%s %s", e->answer.const_ && e->answer.stars != 0 ? "const " : "",
		      e->answer.text, stars);
}

void gen_args(struct ci_out *o, const struct ci_entry *e, const char *lead)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		ci_put(o, "%s%s", lead, q->name);
		lead = ", ";
	}
}

bool gen_has_user_type(const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if ((q->type.class_ == CI_USER && q->kind != CI_PARAM_STRING) ||
		    q->type.class_ == CI_PUP)
			return true;
	}
	return e->answer.class_ == CI_USER;
}

static bool is_pointer(const struct ci_entry *e, const char *name)
{
	const struct ci_param *q = e != NULL ? e->params : NULL;

	while (q != NULL && strcmp(q->name, name) != 0)
		q = q->next;
	return q != NULL && q->type.class_ == CI_PUP;
}

void gen_text(struct ci_out *o, const struct ci_expr *x)
{
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		bool apart = t > x->from && t[-1].at + t[-1].len != t->at;

		ci_put(o, "%s%s", apart ? " " : "", t->s);
	}
}

void gen_expr(struct ci_out *o, const struct ci_expr *x, const struct ci_entry *e, bool wide)
{
	const char *space = "";

	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		bool member = t > x->from && strcmp(t[-1].s, ".") == 0;

		if (strcmp(t->s, ".") == 0 && is_pointer(e, t[-1].s))
			ci_put(o, "->");
		else if (strcmp(t->s, ".") == 0 || member)
			ci_put(o, "%s", t->s);
		else if (t->kind == TOK_NAME && wide)
			ci_put(o, "%s(long long)%s", space, t->s);
		else
			ci_put(o, "%s%s", wide ? space : "", t->s);
		space = strcmp(t->s, "(") == 0 ||
			(t + 1 != x->to && strcmp(t[1].s, ")") == 0) ? "" : " ";
	}
}

bool gen_takes_message(const struct ci_entry *e)
{
	return e->params != NULL && e->params->kind == CI_PARAM_MESSAGE;
}

bool gen_takes_reduction(const struct ci_entry *e)
{
	return e->params != NULL && e->params->kind == CI_PARAM_REDUCTION;
}

bool gen_takes_built_in(const struct ci_entry *e)
{
	return gen_takes_message(e) && ci_is_built_in(e->params->type.text);
}

bool gen_has_stub(const struct ci_entry *e)
{
	return !e->ctor && (e->attrs & CI_OWN_CALL) == 0;
}

bool gen_is_sdag(const struct ci_entry *e)
{
	return e->body != NULL || e->awaited != NULL;
}

const char *gen_seen(const struct ci_entry *e)
{
	return gen_is_sdag(e) || (e->attrs & CI_COUNT) ? " | CKGEN_SEEN" : "";
}

bool gen_is_reduced(const struct ci_entry *e)
{
	return gen_has_cb(e) && !gen_takes_built_in(e) && !(e->attrs & CI_COUNT);
}

bool gen_is_set(const struct ci_entry *e)
{
	return (e->attrs & CI_ARRIVAL) != 0 && (e->attrs & CI_COUNT) != 0;
}

bool gen_counts_calls(const struct ci_entry *e)
{
	return (e->attrs & CI_COUNT) != 0 && !gen_is_set(e);
}

bool gen_has_call_struct(const struct ci_entry *e)
{
	if (!gen_counts_calls(e) || gen_takes_message(e))
		return false;
	return e->params != NULL && (e->params != e->round || e->params->next != NULL);
}

void gen_counted_handler(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "void %s_on_%s(%s *self, int number, int n", c->name, e->name, c->name);
	if (gen_takes_message(e))
		ci_put(o, ", %s **messages", e->params->type.text);
	else if (gen_has_call_struct(e))
		ci_put(o, ", const %s_%s_call *calls", c->name, e->name);
	ci_put(o, ")");
}

bool gen_only_values(const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind != CI_PARAM_VALUE || q->type.class_ == CI_PUP)
			return false;
	}
	return true;
}

bool gen_is_line(const struct ci_chare *c)
{
	return (c->kind == CI_ARRAY && c->nd == 1) || c->kind == CI_GROUP;
}

bool gen_opens(const struct ci_chare *c, const struct ci_entry *e)
{
	const unsigned may = CI_REDUCTION_TARGET | CI_INLINE | CI_COUNT |
			     (gen_is_sdag(e) ? 0 : CI_AGGREGATE);

	return gen_is_line(c) && gen_has_stub(e) && gen_only_values(e) && (e->attrs & ~may) == 0;
}

static bool is_copied(const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if ((q->kind != CI_PARAM_VALUE && q->kind != CI_PARAM_ARRAY && q->kind != CI_PARAM_STRING) ||
		    q->type.class_ == CI_PUP)
			return false;
	}
	return true;
}

bool gen_opens_element(const struct ci_chare *c, const struct ci_entry *e)
{
	return c->kind == CI_ARRAY && gen_has_stub(e) && !gen_opens(c, e) && is_copied(e) &&
	       (e->attrs & ~(unsigned)(CI_REDUCTION_TARGET | CI_CHANNEL | CI_INLINE | CI_COUNT)) == 0;
}

bool gen_sends_line(const struct ci_chare *c, const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_STRING)
			return false;
	}
	return gen_opens_element(c, e) && c->nd == 1 && (e->attrs & (CI_CHANNEL | CI_INLINE)) == 0;
}

bool gen_prepares(const struct ci_chare *c, const struct ci_entry *e)
{
	bool arrays = false;

	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_STRING)
			return false;
		arrays = arrays || q->kind == CI_PARAM_ARRAY;
	}
	return arrays && (e->attrs & CI_CHANNEL) && gen_opens_element(c, e);
}

void gen_prepare_head(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "CkPrepared %s_%s_prepare(CProxyElement_%s ck_to", c->name, e->name, c->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, ", %s%s%s", q->type.text, q->kind == CI_PARAM_ARRAY ? " **" : " ", q->name);
	ci_put(o, ")");
}

bool gen_has_cb(const struct ci_entry *e)
{
	if (e->ctor || (e->attrs & CI_OWN_CALL) != 0)
		return false;
	return e->params == NULL || gen_takes_reduction(e) || gen_takes_built_in(e) ||
	       (e->attrs & CI_REDUCTION_TARGET) != 0;
}

bool gen_is_target(const struct ci_entry *e)
{
	return gen_has_cb(e) ||
	       (!e->ctor && (e->attrs & CI_OWN_CALL) == 0 && gen_takes_message(e));
}

bool gen_is_plain(const struct ci_expr *x, const struct ci_entry *e)
{
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		const struct ci_param *q = e != NULL ? e->params : NULL;

		while (q != NULL && strcmp(q->name, t->s) != 0)
			q = q->next;
		if (t->kind == TOK_NAME && (q == NULL || q->type.class_ != CI_INTEGER))
			return false;
	}
	return true;
}

void gen_message_params(struct ci_out *o, const struct ci_message *x)
{
	const char *lead = "";

	for (const struct ci_field *f = x->fields; f != NULL; f = f->next) {
		if (f->kind == CI_FIELD_VAR) {
			ci_put(o, "%ssize_t n_%s", lead, f->name);
			lead = ", ";
		}
	}
	if (*lead == '\0')
		ci_put(o, "void");
}

void gen_shadow_begin(struct ci_out *o)
{
	ci_put(o, "/* A parameter may have the name of a global of the program. */\n"
	       "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wshadow\"\n\n");
}

void gen_shadow_end(struct ci_out *o)
{
	ci_put(o, "\n#pragma GCC diagnostic pop\n");
}
