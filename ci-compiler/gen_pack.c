/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_pack.c: prints the two ends of a call: the packing function and the trampolines. The
 * layout is drawn in gen_def.c.
 */
#include "gen_int.h"

static bool is_block(const struct ci_param *q)
{
	return q->kind == CI_PARAM_ARRAY || q->kind == CI_PARAM_STRING;
}

static const struct ci_param *first_block(const struct ci_entry *e)
{
	const struct ci_param *q = e->params;

	while (q != NULL && !is_block(q))
		q = q->next;
	return q;
}

static const struct ci_param *next_block(const struct ci_param *q)
{
	for (q = q->next; q != NULL && !is_block(q); q = q->next)
		;
	return q;
}

/* Values, or offsets of a second array: there is a struct. */
static bool has_struct(const struct ci_entry *e)
{
	const struct ci_param *b = first_block(e);

	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_VALUE)
			return true;
	}
	return b != NULL && next_block(b) != NULL;
}

bool gen_packs(const struct ci_chare *c, const struct ci_entry *e)
{
	if (e->ctor && c->kind == CI_MAINCHARE)
		return false;
	return e->params != NULL && !gen_takes_reduction(e);
}

const struct ci_param *gen_target_array(const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_ARRAY)
			return q;
	}
	return NULL;
}

static const char *element(const struct ci_param *q)
{
	return q->kind == CI_PARAM_STRING ? "char" : q->type.text;
}

/* ---- packing -------------------------------------------------------------------------------- */

static void payload_struct(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const struct ci_param *b = first_block(e);

	if (!has_struct(e))
		return;
	ci_put(o, "struct ck_args_%s_%s {\n", c->name, e->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_VALUE)
			ci_put(o, "\t%s %s;\n", q->type.text, q->name);
	}
	while (b != NULL && (b = next_block(b)) != NULL)
		ci_put(o, "\tuint64_t ck_off_%s;\n", b->name);
	ci_put(o, "};\n\n");
}

/* const size_t ck_bytes_v = ...; after checking the length. */
static void block_bytes(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			const struct ci_param *q)
{
	if (q->kind == CI_PARAM_STRING) {
		ci_put(o, "\tif (%s == NULL)\n\t\t%s = \"\";\n", q->name, q->name);
		ci_put(o, "\tck_bytes_%s = strlen(%s) + 1;\n", q->name, q->name);
		return;
	}
	if (!gen_is_plain(&q->length, e))
		ci_put_line(o, q->length.from);
	ci_put(o, "\tck_n_%s = ", q->name);
	gen_expr(o, &q->length, true);
	ci_put(o, ";\n");
	if (!gen_is_plain(&q->length, e))
		ci_put_line_back(o);
	ci_put(o, "\tif (ck_n_%s < 0 || ck_n_%s > PTRDIFF_MAX / (long long)sizeof(%s))\n", q->name,
	       q->name, element(q));
	ci_put(o, "\t\tCkGen_badLength(&ck_chare_%s, %d, \"%s\", ck_n_%s);\n", c->name, e->number,
	       q->name, q->name);
	ci_put(o, "\tck_bytes_%s = (size_t)ck_n_%s * sizeof(%s);\n", q->name, q->name, element(q));
}

static void pack_locals(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	for (const struct ci_param *q = first_block(e); q != NULL; q = next_block(q)) {
		if (q->kind == CI_PARAM_ARRAY)
			ci_put(o, "\tlong long ck_n_%s;\n", q->name);
		ci_put(o, "\tsize_t ck_bytes_%s, ck_off_%s;\n", q->name, q->name);
	}
	ci_put(o, "\tvoid *ck_m;\n");
	if (has_struct(e))
		ci_put(o, "\tstruct ck_args_%s_%s *ck_a;\n", c->name, e->name);
	ci_put(o, "\n");
}

static void pack_sizes(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *end = has_struct(e) ? "sizeof *ck_a" : "0";

	for (const struct ci_param *q = first_block(e); q != NULL; q = next_block(q)) {
		block_bytes(o, c, e, q);
		ci_put(o, "\tck_off_%s = CkGen_align(%s);\n", q->name, end);
		end = ci_fmt(o->ci, "ck_off_%s + ck_bytes_%s", q->name, q->name);
	}
	ci_put(o, "\tck_m = CkGen_alloc(%s);\n", end);
}

/* The values. Padding, and the gap up to the first array, are zeroed first: what lay in the
 * memory before must not travel. */
static void pack_values(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const struct ci_param *b = first_block(e);

	if (!has_struct(e))
		return;
	ci_put(o, "\tck_a = (struct ck_args_%s_%s *)ck_m;\n", c->name, e->name);
	ci_put(o, "\tmemset(ck_m, 0, %s);\n", b == NULL ? "sizeof *ck_a" :
	       ci_fmt(o->ci, "ck_off_%s", b->name));
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_VALUE)
			ci_put(o, "\tck_a->%s = %s;\n", q->name, q->name);
	}
	while (b != NULL && (b = next_block(b)) != NULL)
		ci_put(o, "\tck_a->ck_off_%s = ck_off_%s;\n", b->name, b->name);
}

static void pack_block(struct ci_out *o, const struct ci_param *q, const struct ci_param *before)
{
	const char *n = q->name;

	if (before != NULL) {
		const char *b = before->name;

		ci_put(o, "\tmemset((char *)ck_m + ck_off_%s + ck_bytes_%s, 0,\n"
		       "\t       ck_off_%s - ck_off_%s - ck_bytes_%s);\n", b, b, n, b, b);
	}
	/* memcpy may not be given NULL, even for no bytes; an array of length 0 may be. */
	if (q->kind == CI_PARAM_ARRAY)
		ci_put(o, "\tif (ck_bytes_%s != 0)\n\t", n);
	ci_put(o, "\tmemcpy((char *)ck_m + ck_off_%s, %s, ck_bytes_%s);\n", n, q->name, n);
}

static void pack_message(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *m = e->params->name;

	ci_put(o, "\tif (%s == NULL)\n\t\tCkAbort(\"%s_%s: the message is NULL\");\n", m, c->name,
	       e->name);
	ci_put(o, "\treturn %s;\n}\n\n", m);
}

void gen_pack(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const struct ci_param *before = NULL;

	if (!gen_packs(c, e))
		return;
	ci_put(o, "static void *ck_pack_%s_%s(", c->name, e->name);
	gen_params(o, e, "");
	ci_put(o, ")\n{\n");
	if (gen_takes_message(e)) {
		pack_message(o, c, e);
		return;
	}
	pack_locals(o, c, e);
	pack_sizes(o, c, e);
	pack_values(o, c, e);
	for (const struct ci_param *q = first_block(e); q != NULL; q = next_block(q)) {
		pack_block(o, q, before);
		before = q;
	}
	ci_put(o, "\treturn ck_m;\n}\n\n");
}

/* ---- unpacking ------------------------------------------------------------------------------ */

static void trampoline_head(struct ci_out *o, const char *what, const struct ci_chare *c,
			    const struct ci_entry *e)
{
	ci_put(o, "static void ck_%s_%s_%s(void *ck_self, void *ck_m)\n{\n", what, c->name,
	       e->name);
}

static void handler_head(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "\t%s_on_%s((%s *)ck_self", c->name, e->name, c->name);
}

static void unpack_arg(struct ci_out *o, const struct ci_entry *e, const struct ci_param *q)
{
	if (q->kind == CI_PARAM_VALUE) {
		ci_put(o, ", ck_a->%s", q->name);
		return;
	}
	ci_put(o, ",\n\t\t(const %s *)(const void *)((const char *)ck_m + ", element(q));
	if (q != first_block(e))
		ci_put(o, "ck_a->ck_off_%s)", q->name);
	else
		ci_put(o, "%s)", has_struct(e) ? "CkGen_align(sizeof *ck_a)" : "0");
}

static void call_marshalled(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (has_struct(e))
		ci_put(o, "\tconst struct ck_args_%s_%s *ck_a = (const struct ck_args_%s_%s *)ck_m;"
		       "\n\n", c->name, e->name, c->name, e->name);
	handler_head(o, c, e);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		unpack_arg(o, e, q);
	ci_put(o, ");\n}\n\n");
}

static void call_message(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *type = e->params->type.text;

	ci_put(o, "\t%s *ck_b = (%s *)ck_m;\n\n\tck_message_%s(ck_b);\n", type, type, type);
	handler_head(o, c, e);
	ci_put(o, ", ck_b);\n}\n\n");
}

static void call(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	trampoline_head(o, "call", c, e);
	if (e->params == NULL) {
		ci_put(o, "\t(void)ck_m;\n");
		handler_head(o, c, e);
		ci_put(o, ");\n}\n\n");
		return;
	}
	switch (e->params->kind) {
	case CI_PARAM_MESSAGE:
		call_message(o, c, e);
		break;
	case CI_PARAM_ARGS:
	case CI_PARAM_REDUCTION:
		handler_head(o, c, e);
		ci_put(o, ", (%s%s *)ck_m);\n}\n\n",
		       e->params->kind == CI_PARAM_REDUCTION ? "const " : "",
		       e->params->type.text);
		break;
	default:
		call_marshalled(o, c, e);
		break;
	}
}

/* The runtime has compared type and count with the table, so the data is taken as it is. */
static void reduced_values(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const struct ci_param *array = gen_target_array(e);
	const char *type = array != NULL ? array->type.text : e->params->type.text;
	int i = 0;

	ci_put(o, "\tconst CkReductionMsg *ck_r = (const CkReductionMsg *)ck_m;\n");
	ci_put(o, "\tconst %s *ck_v = (const %s *)CkReductionMsg_data(ck_r);\n\n", type, type);
	handler_head(o, c, e);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (array == NULL)
			ci_put(o, ", ck_v[%d]", i++);
		else if (q == array)
			ci_put(o, ", ck_v");
		else
			ci_put(o, ", (%s)(ck_r->bytes / sizeof *ck_v)", q->type.text);
	}
	ci_put(o, ");\n}\n\n");
}

static void reduced(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	trampoline_head(o, "reduced", c, e);
	if (gen_takes_reduction(e)) {
		handler_head(o, c, e);
		ci_put(o, ", (const CkReductionMsg *)ck_m);\n}\n\n");
	} else if (e->params == NULL) {
		ci_put(o, "\t(void)ck_m;\n");
		handler_head(o, c, e);
		ci_put(o, ");\n}\n\n");
	} else {
		reduced_values(o, c, e);
	}
}

void gen_unpack(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (gen_packs(c, e) && !gen_takes_message(e))
		payload_struct(o, c, e);
	call(o, c, e);
	if (gen_has_cb(e))
		reduced(o, c, e);
}
