/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_pack.c: prints the two ends of a call: the packing function and the trampolines. gen_def.c
 * draws the layout.
 */
#include "gen_int.h"

#include <string.h>

static bool is_pup(const struct ci_param *q)
{
	return q->type.class_ == CI_PUP;
}

/* Only the call knows the parameter's size, so it follows the struct. */
static bool is_block(const struct ci_param *q)
{
	return q->kind == CI_PARAM_ARRAY || q->kind == CI_PARAM_STRING || is_pup(q);
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

/* The number of objects does not follow from the bytes, so the struct has it. */
static bool has_count(const struct ci_param *q)
{
	return is_pup(q) && q->kind == CI_PARAM_ARRAY;
}

/* CkGen_place, or CkGen_placePut, chooses the parameter's alignment by its size. */
static bool is_placed(const struct ci_param *q)
{
	return q->kind == CI_PARAM_ARRAY && !is_pup(q);
}

static const char *place_function(const struct ci_entry *e)
{
	return e->attrs & CI_CHANNEL ? "CkGen_placePut" : "CkGen_place";
}

/* The length is one number or one integer parameter. */
static bool is_length_simple(const struct ci_entry *e, const struct ci_param *q)
{
	return q->length.from + 1 == q->length.to && gen_is_plain(&q->length, e);
}

/* The struct has the block's offset if the handler's side cannot easily compute it: another block
 * precedes it, or its offset depends on a length that is more than one number or parameter. */
static bool is_offset_stored(const struct ci_entry *e, const struct ci_param *q)
{
	return q != first_block(e) || (is_placed(q) && !is_length_simple(e, q));
}

/* There are values or offsets, so there is a struct. */
static bool has_struct(const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (!is_block(q) || has_count(q) || is_offset_stored(e, q))
			return true;
	}
	return false;
}

bool gen_packs(const struct ci_chare *c, const struct ci_entry *e)
{
	if ((e->ctor && c->kind == CI_MAINCHARE) || (e->attrs & (CI_LOCAL | CI_WHENIDLE | CI_ARRIVAL)))
		return false;
	return e->params != NULL;
}

bool gen_has_number(const struct ci_entry *e)
{
	return e->awaited != NULL && e->params != NULL && e->params->kind == CI_PARAM_VALUE &&
	       e->params->type.class_ == CI_INTEGER;
}

bool gen_has_pup(const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (is_pup(q))
			return true;
	}
	return false;
}

int gen_count_nocopy(const struct ci_entry *e)
{
	int n = 0;

	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		n += q->kind == CI_PARAM_NOCOPY;
	return n;
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

/* "ck_pup_module_T": the function that calls T_pup. */
static const char *pup_name(struct ci *ci, const struct ci_chare *c, const struct ci_param *q)
{
	const char *space = strrchr(q->type.text, ' ');

	return ci_fmt(ci, "ck_pup_%s_%s", c->module->name, space != NULL ? space + 1 : q->type.text);
}

/* ---- packing -------------------------------------------------------------------------------- */

/* What a packing function makes: the payload alone; a call that it opens; a call on its own PE. */
enum packing { PAYLOAD, OPENS, HERE };

static void payload_struct(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const struct ci_param *b = first_block(e);

	if (!has_struct(e))
		return;
	ci_put(o, "struct ck_args_%s_%s {\n", c->name, e->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_NOCOPY)
			ci_put(o, "\tCkGenNcpy %s;\n", q->name);
		else if (has_count(q))
			ci_put(o, "\tuint64_t ck_n_%s;\n", q->name);
		else if (!is_block(q))
			ci_put(o, "\t%s %s;\n", q->type.text, q->name);
	}
	for (; b != NULL; b = next_block(b))
		if (is_offset_stored(e, b))
			ci_put(o, "\tuint64_t ck_off_%s;\n", b->name);
	ci_put(o, "};\n\n");
}

/* Compute ck_n_v, the length, in 64 bits, and check it, so that no number of bytes overflows. */
static void array_length(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			 const struct ci_param *q, enum packing how)
{
	if (!gen_is_plain(&q->length, e))
		ci_put_line(o, q->length.from);
	ci_put(o, "\tck_n_%s = ", q->name);
	gen_expr(o, &q->length, e, true);
	ci_put(o, ";\n");
	if (!gen_is_plain(&q->length, e))
		ci_put_line_back(o);
	if (how == HERE) /* ck_open_X_f checks it */
		return;
	ci_put(o, "\tif (ck_n_%s < 0 || ck_n_%s > PTRDIFF_MAX / (long long)sizeof(%s))\n", q->name,
	       q->name, element(q));
	ci_put(o, "\t\tCkGen_badLength(&ck_chare_%s, %d, \"%s\", ck_n_%s);\n", c->name, e->number,
	       q->name, q->name);
}

/* Compute ck_bytes_v, the bytes that the parameter takes. */
static void block_bytes(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			const struct ci_param *q, enum packing how)
{
	const char *n = q->name;

	if (q->kind == CI_PARAM_STRING) {
		ci_put(o, "\tif (%s == NULL)\n\t\t%s = \"\";\n", n, n);
		ci_put(o, "\tck_bytes_%s = strlen(%s) + 1;\n", n, n);
		return;
	}
	if (q->kind == CI_PARAM_VALUE)
		ci_put(o, "\tif (%s == NULL)\n\t\tCkAbort(\"%s_%s: '%s' is NULL\");\n", n, c->name,
		       e->name, n);
	else
		array_length(o, c, e, q, how);
	if (is_pup(q))
		ci_put(o, "\tck_bytes_%s = CkGen_pupSize(%s, %s, sizeof(%s), %s);\n", n,
		       pup_name(o->ci, c, q), n, element(q),
		       has_count(q) ? ci_fmt(o->ci, "(size_t)ck_n_%s", n) : "1");
	else
		ci_put(o, "\tck_bytes_%s = (size_t)ck_n_%s * sizeof(%s);\n", n, n, element(q));
	if (q->kind == CI_PARAM_NOCOPY)
		ci_put(o, "\tif (%s.ptr == NULL && ck_bytes_%s != 0)\n"
		       "\t\tCkAbort(\"%s_%s: the buffer '%s' is NULL\");\n", n, n, c->name, e->name,
		       n);
}

static void pack_locals(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			enum packing how)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_ARRAY || q->kind == CI_PARAM_NOCOPY)
			ci_put(o, "\tlong long ck_n_%s;\n", q->name);
		if (q->kind == CI_PARAM_NOCOPY)
			ci_put(o, "\tsize_t ck_bytes_%s;\n", q->name);
		else if (is_block(q))
			ci_put(o, "\tsize_t ck_bytes_%s, ck_off_%s;\n", q->name, q->name);
	}
	ci_put(o, "\tvoid *ck_m;\n%s", how == OPENS ? "\tCkGenOpen ck_c;\n" : "");
	if (has_struct(e))
		ci_put(o, "\tstruct ck_args_%s_%s *ck_a;\n", c->name, e->name);
	ci_put(o, "\n");
}

/* A call whose index is one number is opened like calls with values only (gen_opens). */
static void open_call(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		      const char *to, const char *bytes)
{
	const bool one_number = c->nd == 1 && !(e->attrs & CI_CHANNEL);

	if (one_number && !gen_sends_line(c, e))
		to = ci_fmt(o->ci, "%s->id, %s->index.v[0]", to, to);
	ci_put(o, "\tck_c = CkGen_open%s(&ck_chare_%s, %s, %d%s, %s);\n\tck_m = ck_c.payload;\n",
	       gen_sends_line(c, e) ? "Away" : one_number ? "" : gen_open_kind(e), c->name, to,
	       e->number, gen_seen(e), bytes);
}

/* Or else leave it to ck_open_X_f. */
static void open_here(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		      const char *bytes)
{
	const char *lengths = "0";

	for (const struct ci_param *q = first_block(e); q != NULL; q = next_block(q))
		lengths = ci_fmt(o->ci, "%s%s(uint64_t)ck_n_%s", q == first_block(e) ? "" : lengths,
				 q == first_block(e) ? "" : " | ", q->name);
	ci_put(o, "\tck_m = CkGen_openHere(ck_id, ck_x, %d%s, %s, %s);\n", e->number,
	       gen_seen(e), bytes, lengths);
	ci_put(o, "\tif (ck_m == NULL) {\n\t\tck_open_%s_%s(ck_id, ck_x", c->name, e->name);
	gen_args(o, e, ", ");
	ci_put(o, ");\n\t\treturn;\n\t}\n");
}

/* `to`: the expression of the element whose call it opens. */
static void pack_sizes(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			enum packing how, const char *to)
{
	const char *end = has_struct(e) ? "sizeof *ck_a" : "0";

	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (!is_block(q) && q->kind != CI_PARAM_NOCOPY)
			continue;
		block_bytes(o, c, e, q, how);
		if (!is_block(q))
			continue;
		if (is_placed(q) && how != HERE) /* there they are all small */
			ci_put(o, "\tck_off_%s = %s(%s, ck_bytes_%s);\n", q->name, place_function(e), end,
			       q->name);
		else
			ci_put(o, "\tck_off_%s = CkGen_align(%s);\n", q->name, end);
		end = ci_fmt(o->ci, "ck_off_%s + ck_bytes_%s", q->name, q->name);
	}
	if (how == OPENS)
		open_call(o, c, e, to, end);
	else if (how == HERE)
		open_here(o, c, e, end);
	else
		ci_put(o, "\tck_m = CkGen_alloc(%s);\n", end);
}

static void pack_value(struct ci_out *o, const struct ci_param *q)
{
	const char *n = q->name;

	if (q->kind == CI_PARAM_NOCOPY)
		ci_put(o, "\tck_a->%s.ptr = ck_a->%s.own = %s.ptr;\n\tck_a->%s.bytes = ck_bytes_%s;\n"
		       "\tck_a->%s.done = %s.done;\n", n, n, n, n, n, n, n);
	else if (has_count(q))
		ci_put(o, "\tck_a->ck_n_%s = (uint64_t)ck_n_%s;\n", n, n);
	else if (!is_block(q))
		ci_put(o, "\tck_a->%s = %s;\n", n, n);
}

/* Zero the padding and the gap before the first array, then store the values. The memory's old
 * contents must not be sent. */
static void pack_values(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			enum packing how)
{
	const struct ci_param *b = first_block(e);

	if (!has_struct(e))
		return;
	ci_put(o, "\tck_a = (struct ck_args_%s_%s *)ck_m;\n", c->name, e->name);
	ci_put(o, "\tmemset(ck_m, 0, %s);\n", b ? "CkGen_align(sizeof *ck_a)" : "sizeof *ck_a");
	if (b != NULL && is_placed(b) && how != HERE)
		ci_put(o, "\tCkGen_zeroToLine(ck_m, CkGen_align(sizeof *ck_a), ck_off_%s);\n", b->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		pack_value(o, q);
	for (; b != NULL; b = next_block(b))
		if (is_offset_stored(e, b))
			ci_put(o, "\tck_a->ck_off_%s = ck_off_%s;\n", b->name, b->name);
}

/* Zero the gap between two blocks. */
static void pack_gap(struct ci_out *o, const struct ci_param *q, const struct ci_param *before)
{
	const char *n = q->name;

	if (before != NULL) {
		const char *b = before->name;

		ci_put(o, "\tCkGen_zero((char *)ck_m + ck_off_%s + ck_bytes_%s,\n"
		       "\t\t   ck_off_%s - ck_off_%s - ck_bytes_%s);\n", b, b, n, b, b);
	}
}

static void pack_block(struct ci_out *o, const struct ci_chare *c, const struct ci_param *q,
		       enum packing how)
{
	const char *n = q->name;

	if (is_pup(q)) {
		ci_put(o, "\tCkGen_pupPack(%s, %s, sizeof(%s), %s,\n\t\t      (char *)ck_m + "
		       "ck_off_%s, ck_bytes_%s);\n", pup_name(o->ci, c, q), n, element(q),
		       has_count(q) ? ci_fmt(o->ci, "(size_t)ck_n_%s", n) : "1", n, n);
		return;
	}
	if (how == HERE) {
		ci_put(o, "\tCkGen_copyHere((char *)ck_m + ck_off_%s, %s, ck_bytes_%s);\n", n, n, n);
		return;
	}
	/* An array of length 0 may be NULL, but memcpy does not take NULL even for 0 bytes. */
	if (q->kind == CI_PARAM_ARRAY)
		ci_put(o, "\tif (ck_bytes_%s != 0)\n\t", n);
	ci_put(o, "\tCkGen_copy%s(char *)ck_m + ck_off_%s, %s, ck_bytes_%s);\n",
	       how == OPENS ? "To(ck_c.away == 0, " : "(", n, q->name, n);
}

static void pack_message(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *m = e->params->name;

	ci_put(o, "\tif (%s == NULL)\n\t\tCkAbort(\"%s_%s: the message is NULL\");\n", m, c->name,
	       e->name);
	ci_put(o, "\treturn %s;\n}\n\n", m);
}

static void pack_result(struct ci_out *o, const struct ci_entry *e)
{
	ci_put(o, "\treturn CkGen_copyResult(%s);\n}\n\n", e->params->name);
}

/* With values only, the struct is the whole payload. ck_fill_X_f fills memory that the caller provides,
 * for open_stub in gen_def.c. */
static void pack_fixed(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static void ck_fill_%s_%s(void *ck_m", c->name, e->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n\tstruct ck_args_%s_%s *ck_a = (struct ck_args_%s_%s *)ck_m;\n\n", c->name,
	       e->name, c->name, e->name);
	ci_put(o, "\tmemset(ck_m, 0, sizeof *ck_a);\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		pack_value(o, q);
	ci_put(o, "}\n\nstatic void *ck_pack_%s_%s(", c->name, e->name);
	gen_params(o, e, "");
	ci_put(o, ")\n{\n\tvoid *ck_m = CkGen_alloc(sizeof(struct ck_args_%s_%s));\n\n", c->name,
	       e->name);
	ci_put(o, "\tck_fill_%s_%s(ck_m", c->name, e->name);
	gen_args(o, e, ", ");
	ci_put(o, ");\n\treturn ck_m;\n}\n\n");
}

static void packing_head(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			enum packing how)
{
	static const char *const what[] = {
		[PAYLOAD] = "void *ck_pack", [OPENS] = "void ck_open", [HERE] = "void ck_here"
	};
	const bool line = how != PAYLOAD && gen_sends_line(c, e);

	ci_put(o, "static %s%s_%s_%s(%s", line ? "__attribute__((noinline)) " : "", what[how], c->name,
	       e->name, line ? "uint64_t ck_id, int ck_x, " :
	       how == OPENS ? "const CkElement *ck_to, " : "");
	gen_params(o, e, "");
	ci_put(o, ")\n{\n");
}

static void packing_body(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			enum packing how)
{
	const struct ci_param *before = NULL;

	pack_sizes(o, c, e, how, gen_sends_line(c, e) ? "ck_id, ck_x" : "ck_to");
	pack_values(o, c, e, how);
	for (const struct ci_param *q = first_block(e); q != NULL; q = next_block(q)) {
		pack_gap(o, q, before);
		pack_block(o, c, q, how);
		before = q;
	}
}

/* PAYLOAD: ck_pack_X_f, which returns the payload. OPENS: ck_open_X_f, which sends a call of one
 * element; it is filled in the queue, or closed then. HERE: ck_here_X_f, the same for an element of
 * this PE. */
static void pack_params(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			enum packing how)
{
	packing_head(o, c, e, how);
	pack_locals(o, c, e, how);
	packing_body(o, c, e, how);
	if (how == OPENS)
		ci_put(o, "\tif (ck_c.away)\n\t\tCkGen_close%s(ck_c);\n", gen_close_kind(e));
	else if (how == PAYLOAD)
		ci_put(o, "\treturn ck_m;\n");
	ci_put(o, "}\n\n");
}

/* ck_send_X_f chooses between the two. */
static void send_line(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	static const char *const what[] = {
		"if (CkGen_isHere(ck_id, ck_x))\n\t\tck_here", "else\n\t\tck_open"
	};

	pack_params(o, c, e, HERE);
	ci_put(o, "void ck_send_%s_%s(uint64_t ck_id, int ck_x", c->name, e->name);
	gen_params(o, e, ", ");
	ci_put(o, ")\n{\n");
	for (int i = 0; i < 2; i++) {
		ci_put(o, "\t%s_%s_%s(ck_id, ck_x", what[i], c->name, e->name);
		gen_args(o, e, ", ");
		ci_put(o, ");\n");
	}
	ci_put(o, "}\n\n");
}

void gen_prepare(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const struct ci_param *before = NULL;

	gen_prepare_head(o, c, e);
	ci_put(o, "\n{\n");
	pack_locals(o, c, e, OPENS);
	pack_sizes(o, c, e, OPENS, "&ck_to.ck");
	pack_values(o, c, e, OPENS);
	for (const struct ci_param *q = first_block(e); q != NULL; q = next_block(q)) {
		pack_gap(o, q, before);
		ci_put(o, "\t*%s = (%s *)(void *)((char *)ck_m + ck_off_%s);\n", q->name, element(q), q->name);
		before = q;
	}
	ci_put(o, "\treturn CkGen_prepared(ck_c);\n}\n\n");
}

void gen_pack(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (!gen_packs(c, e))
		return;
	if (!gen_takes_message(e) && gen_only_values(e)) {
		pack_fixed(o, c, e);
		return;
	}
	if (!gen_takes_message(e) && !gen_takes_reduction(e)) {
		pack_params(o, c, e, PAYLOAD);
		if (gen_opens_element(c, e))
			pack_params(o, c, e, OPENS);
		if (gen_sends_line(c, e))
			send_line(o, c, e);
		return;
	}
	ci_put(o, "static void *ck_pack_%s_%s(", c->name, e->name);
	gen_params(o, e, "");
	ci_put(o, ")\n{\n");
	if (gen_takes_message(e))
		pack_message(o, c, e);
	else
		pack_result(o, e);
}

void gen_direct_args(struct ci_out *o, const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_STRING)
			ci_put(o, ", %s != NULL ? %s : \"\"", q->name, q->name);
		else if (q->kind == CI_PARAM_NOCOPY)
			ci_put(o, ", (const %s *)%s.ptr", element(q), q->name);
		else
			ci_put(o, ", %s", q->name);
	}
}

/* ---- unpacking ------------------------------------------------------------------------------ */

static void trampoline_head(struct ci_out *o, const char *what, const struct ci_chare *c,
			    const struct ci_entry *e)
{
	ci_put(o, "static void ck_%s_%s_%s(void *ck_self, void *ck_m%s)\n{\n", what, c->name,
	       e->name, strcmp(what, "answer") == 0 ? ", void *ck_reply" : "");
}

static void handler_head(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	if (gen_counts_calls(e)) {
		ci_put(o, "\tck_take_%s_%s((%s_%s_call *)ck_self", c->name, e->name, c->name, e->name);
		return;
	}
	if (gen_is_sdag(e) && e->params == NULL) {
		ci_put(o, "\t(void)(ck_self");
		return;
	}
	if (gen_is_sdag(e)) {
		ci_put(o, "\tck_take_%s_%s((struct ck_in_%s_%s *)ck_self", c->name, e->name, c->name,
		       e->name);
		return;
	}
	ci_put(o, "\t%s%s_on_%s((%s *)ck_self",
	       gen_returns(e) ? ci_fmt(o->ci, "%sck_r = ", gen_answer(o->ci, e)) : "", c->name,
	       e->name, c->name);
}

/* Print what follows the arguments: the end of the call and of the function. */
static void handler_tail(struct ci_out *o, const struct ci_entry *e)
{
	ci_put(o, ");\n");
	if (gen_returns(e))
		ci_put(o, "\n\tmemcpy(ck_reply, &ck_r, sizeof ck_r);\n");
	else if (e->attrs & CI_SYNC)
		ci_put(o, "\t(void)ck_reply;\n");
	ci_put(o, "}\n\n");
}

/* An expression for the address of a block: "(const char *)ck_m + ...". */
static const char *block_at(struct ci *ci, const struct ci_entry *e, const struct ci_param *q)
{
	const struct ci_tok *n = q->length.from;

	if (is_offset_stored(e, q))
		return ci_fmt(ci, "(const char *)ck_m + ck_a->ck_off_%s", q->name);
	if (!has_struct(e))
		return "(const char *)ck_m";
	if (!is_placed(q))
		return "(const char *)ck_m + CkGen_align(sizeof *ck_a)";
	return ci_fmt(ci, "(const char *)ck_m +\n\t\t\t%s(sizeof *ck_a, (size_t)%s%s * "
		      "sizeof(%s))", place_function(e), n->kind == TOK_NAME ? "ck_a->" : "", n->s, element(q));
}

/* The number of a nocopypost array among those of its entry. */
static int posted_before(const struct ci_entry *e, const struct ci_param *posted)
{
	int n = 0;

	for (const struct ci_param *q = e->params; q != posted; q = q->next)
		n += q->posted;
	return n;
}

/* Print a parameter's value as an expression of ck_m, ck_a and ck_p. */
static void unpacked(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		     const struct ci_param *q)
{
	const char *n = q->name;

	if (is_pup(q))
		ci_put(o, "(const %s *)CkGen_pupUnpack(%s, sizeof(%s), %s,\n\t\t\t%s, ck_m)",
		       element(q), pup_name(o->ci, c, q), element(q), has_count(q) ?
		       ci_fmt(o->ci, "(size_t)ck_a->ck_n_%s", n) : "1", block_at(o->ci, e, q));
	else if (q->posted)
		ci_put(o, "(%s *)ck_p[%d].ptr", element(q), posted_before(e, q));
	else if (q->kind == CI_PARAM_NOCOPY)
		ci_put(o, "(const %s *)(ck_a->%s.at != 0 ?\n\t\t\t(const void *)((const char *)ck_m + "
		       "ck_a->%s.at) : ck_a->%s.ptr)", element(q), n, n, n);
	else if (q->kind == CI_PARAM_VALUE)
		ci_put(o, "ck_a->%s", n);
	else
		ci_put(o, "(const %s *)(const void *)(%s)", element(q), block_at(o->ci, e, q));
}

static void args_pointer(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "\tconst struct ck_args_%s_%s *ck_a = (const struct ck_args_%s_%s *)ck_m;\n",
	       c->name, e->name, c->name, e->name);
}

/* Ask for the buffers of the nocopypost arrays. A call that has to wait for one is kept and run
 * again. */
static void call_post(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "\tCkNcpyBufferPost ck_p[%d];\n\n\t(void)ck_a;\n"
	       "\tif (!CkGen_post(&ck_posts_%s_%s, ck_m, ck_p))\n\t\treturn;\n", gen_count_posted(e), c->name, e->name);
}

static void call_marshalled(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const bool posted = gen_count_posted(e) != 0;

	if (has_struct(e)) {
		args_pointer(o, c, e);
		ci_put(o, posted ? "" : "\n");
	}
	if (posted)
		call_post(o, c, e);
	handler_head(o, c, e);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		ci_put(o, is_block(q) || q->kind == CI_PARAM_NOCOPY ? ",\n\t\t" : ", ");
		unpacked(o, c, e, q);
	}
	handler_tail(o, e);
}

static void call_message(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *type = e->params->type.text;

	ci_put(o, "\t%s *ck_b = (%s *)ck_m;\n\n\tCkGen_mayAnswer();\n\tck_message_%s(ck_b);\n", type,
	       type, type);
	handler_head(o, c, e);
	ci_put(o, ", ck_b");
	handler_tail(o, e);
}

/* ---- checks of calls from other processes ---------------------------------------------------- */

/* The offset of a block, as in block_at. */
static const char *block_offset(struct ci *ci, const struct ci_entry *e, const struct ci_param *q)
{
	const struct ci_tok *n = q->length.from;

	if (is_offset_stored(e, q))
		return ci_fmt(ci, "ck_a->ck_off_%s", q->name);
	if (!has_struct(e))
		return "0";
	if (!is_placed(q))
		return "CkGen_align(sizeof *ck_a)";
	return ci_fmt(ci, "%s(sizeof *ck_a, (size_t)%s%s * sizeof(%s))", place_function(e),
		      n->kind == TOK_NAME ? "ck_a->" : "", n->s, element(q));
}

static bool has_length(const struct ci_param *q)
{
	return q->kind == CI_PARAM_NOCOPY || is_placed(q);
}

static bool names_param(const struct ci_expr *x, const struct ci_entry *e)
{
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
			if (t->kind == TOK_NAME && strcmp(q->name, t->s) == 0)
				return true;
		}
	}
	return false;
}

/* All names are readonlies, on which all PEs agree before any call is handled; creations may come
 * before. */
static bool is_readonly(const struct ci_expr *x, const struct ci_module *m)
{
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		const struct ci_field *r = m->readonlies;

		while (r != NULL && strcmp(r->name, t->s) != 0)
			r = r->next;
		if (t->kind == TOK_NAME && (r == NULL || r->type.class_ != CI_INTEGER))
			return false;
	}
	return true;
}

/* The length, as an expression of locals. It may also be a constant of the program, which only the
 * C compiler knows. Other variables may differ between PEs, and the handler's side does not need
 * them; then only the position is checked. */
static void fits_length(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			const struct ci_param *q)
{
	if (gen_is_plain(&q->length, e) || (!e->ctor && is_readonly(&q->length, c->module))) {
		gen_expr(o, &q->length, e, true);
	} else if (names_param(&q->length, e)) {
		ci_put(o, "0");
	} else {
		ci_put(o, "(__builtin_constant_p(");
		gen_expr(o, &q->length, e, true);
		ci_put(o, ") ? (");
		gen_expr(o, &q->length, e, true);
		ci_put(o, ") : 0)");
	}
}

/* As many objects were packed as the length says: the handler goes by the length. */
static void fits_count(struct ci_out *o, const struct ci_entry *e, const struct ci_param *q)
{
	if (!gen_is_plain(&q->length, e))
		return;
	ci_put(o, " &&\n\t\tck_a->ck_n_%s == (uint64_t)(", q->name);
	gen_expr(o, &q->length, e, true);
	ci_put(o, ")");
}

static void fits_param(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		       const struct ci_param *q)
{
	if (!is_block(q) && (q->kind != CI_PARAM_NOCOPY || !gen_is_plain(&q->length, e)))
		return;
	if (q->kind == CI_PARAM_STRING) {
		ci_put(o, " &&\n\t\tCkGen_stringFits(ck_m, ck_bytes, %s)", block_offset(o->ci, e, q));
		return;
	}
	if (q->kind == CI_PARAM_NOCOPY)
		ci_put(o, " &&\n\t\tCkGen_ncpyFits(&ck_a->%s, ", q->name);
	else
		ci_put(o, " &&\n\t\tCkGen_arrayFits(ck_bytes, %s, ", block_offset(o->ci, e, q));
	if (has_length(q))
		fits_length(o, c, e, q);
	else
		ci_put(o, "0"); /* reading the objects ends at the message's end (pup.c) */
	ci_put(o, ", sizeof(%s))", has_length(q) ? element(q) : "char");
	if (has_count(q))
		fits_count(o, e, q);
}

/* Lengths are expressions of parameters, by their names. */
static void fits_locals(struct ci_out *o, const struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_VALUE && q->type.class_ == CI_INTEGER)
			ci_put(o, "\tconst %s %s = ck_a->%s;\n", q->type.text, q->name, q->name);
	}
	ci_put(o, "\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_VALUE && q->type.class_ == CI_INTEGER)
			ci_put(o, "\t(void)%s;\n", q->name);
	}
}

static bool is_marshalled(const struct ci_chare *c, const struct ci_entry *e)
{
	return gen_packs(c, e) && !gen_takes_message(e) && !gen_takes_reduction(e);
}

/* Delivery must see one of its attributes. */
static bool is_seen(const struct ci_entry *e)
{
	return (e->attrs & (CI_OWN_CALL | CI_THREADED | CI_WHEN | CI_COUNT)) != 0 ||
	       e->awaited != NULL || e->body != NULL ||
	       gen_count_nocopy(e) != 0 || gen_has_pup(e);
}

bool gen_is_call_plain(const struct ci_chare *c, const struct ci_entry *e)
{
	return (e->params == NULL || (is_marshalled(c, e) && gen_only_values(e))) && !is_seen(e);
}

const char *gen_fits(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e)
{
	if (!gen_packs(c, e) || gen_is_call_plain(c, e))
		return "NULL";
	return gen_takes_reduction(e) ? "CkGen_resultFits" : ci_fmt(ci, "ck_fits_%s_%s", c->name, e->name);
}

bool gen_has_came(const struct ci_chare *c, const struct ci_entry *e)
{
	return gen_packs(c, e) && !e->ctor && !gen_is_call_plain(c, e) && !is_seen(e);
}

/* The message's module may be another one. A [packed] message, of which only the program's unpack can tell, has that form
 * when it comes. */
static void message_fits(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *type = e->params->type.text;

	ci_put(o, "static inline bool ck_fits_%s_%s(const void *ck_m, size_t ck_bytes)\n{\n", c->name, e->name);
	ci_put(o, "\treturn ck_type_%s.fits != NULL && ck_type_%s.fits(ck_m, ck_bytes);\n}\n\n", type, type);
}

/* Print ck_fits_X_f, which checks a payload from another process. The lengths are read before it is known whether
 * the struct is whole, so that comes first. */
static void fits(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static inline bool ck_fits_%s_%s(const void *ck_m, size_t ck_bytes)\n{\n", c->name, e->name);
	if (has_struct(e)) {
		args_pointer(o, c, e);
		ci_put(o, "\n\tif (ck_bytes < sizeof *ck_a)\n\t\treturn false;\n");
		fits_locals(o, e);
	} else {
		ci_put(o, "\t(void)ck_m;\n");
	}
	ci_put(o, "\treturn %s", has_struct(e) ? "ck_a != NULL" : "ck_bytes != SIZE_MAX");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		fits_param(o, c, e, q);
	ci_put(o, ";\n}\n\n");
}

/* Print the trampoline for a call from another process. The compiler makes one function of the look at the lengths and
 * of `call`, so each place is computed once. */
static void came(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	trampoline_head(o, "came", c, e);
	ci_put(o, "\tif (!%s(ck_m, CkGen_bytes(ck_m)))\n\t\tCkGen_misfit(ck_m);\n\tck_call_%s_%s(ck_self, ck_m);\n}\n\n",
	       gen_fits(o->ci, c, e), c->name, e->name);
}

/* ---- nocopypost ------------------------------------------------------------------------------ */

static void nocopy_table(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
			 const char *table, bool only_posted)
{
	ci_put(o, "static const uint32_t %s_%s_%s[] = {\n", table, c->name, e->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_NOCOPY && (q->posted || !only_posted))
			ci_put(o, "\t(uint32_t)offsetof(struct ck_args_%s_%s, %s),\n", c->name,
			       e->name, q->name);
	}
	ci_put(o, "};\n\n");
}

/* Print the table that CkGen_post is given. */
static void post_table(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *x = ci_fmt(o->ci, "%s_%s", c->name, e->name);

	nocopy_table(o, c, e, "ck_postat", true);
	ci_put(o, "static const char *const ck_postnames_%s[] = {", x);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->posted)
			ci_put(o, "\"%s\", ", q->name);
	}
	ci_put(o, "};\nstatic const CkGenPost ck_posts_%s = {\n\tck_post_%s, %d, ck_postat_%s, "
	       "ck_postnames_%s\n};\n\n", x, x, gen_count_posted(e), x, x);
}

/* Print the function that asks the program for the arrays' buffers: it calls X_on_f_post. */
static void post(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static void ck_post_%s_%s(void *ck_self, void *ck_m, CkNcpyBufferPost *ck_p)\n{\n",
	       c->name, e->name);
	args_pointer(o, c, e);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->posted)
			ci_put(o, "\t%s *ck_to_%s = NULL;\n", element(q), q->name);
	}
	ci_put(o, "\n\t(void)ck_a;\n\t%s_on_%s_post((%s *)ck_self", c->name, e->name, c->name);
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		ci_put(o, ",\n\t\t");
		if (q->posted)
			ci_put(o, "&ck_to_%s", q->name);
		else
			unpacked(o, c, e, q);
	}
	ci_put(o, ", ck_p);\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->posted)
			ci_put(o, "\tck_p[%d].ptr = ck_to_%s;\n", posted_before(e, q), q->name);
	}
	ci_put(o, "}\n\n");
	post_table(o, c, e);
}

/* ---- [count] -------------------------------------------------------------------------------- */

/* Print the function that writes a pointer to a call's message. */
static void counted_message(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *type = e->params->type.text;

	trampoline_head(o, "unpack", c, e);
	ci_put(o, "\tck_message_%s((%s *)ck_m);\n\t*(%s **)ck_self = (%s *)ck_m;\n}\n\n", type,
	       type, type, type);
}

/* Print the function that writes a call's parameters to an X_f_call. */
static void counted_values(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static void ck_take_%s_%s(%s_%s_call *ck_to", c->name, e->name, c->name, e->name);
	gen_handler_params(o, e, ", ");
	ci_put(o, ")\n{\n");
	for (const struct ci_param *q = e->params; q != NULL; q = q->next)
		ci_put(o, q == e->round ? "\t(void)%s;\n" : "\tck_to->%s = %s;\n", q->name, q->name);
	ci_put(o, "}\n\n");
	trampoline_head(o, "unpack", c, e);
	call_marshalled(o, c, e);
}

/* Print the function that says how many calls, or channels, a round has. */
static void counted_round(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *number = e->round != NULL ? e->round->name : "ck_number";

	ci_put(o, "static int ck_count_%s_%s(const void *ck_self, int %s)\n{\n", c->name, e->name,
	       number);
	ci_put(o, "\tconst %s *self = (const %s *)ck_self;\n\n", c->name, c->name);
	ci_put(o, "\t(void)self;\n\t%sreturn %s(self, %d, %s(long long)(\n",
	       gen_is_set(e) ? ci_fmt(o->ci, "(void)%s;\n\t", number) : "",
	       gen_is_set(e) ? "CkGen_channelsCount" : "CkGen_count", e->number,
	       gen_is_set(e) ? "" : ci_fmt(o->ci, "%s, ", number));
	ci_put_line(o, e->count.from);
	gen_text(o, &e->count);
	ci_put(o, "));\n");
	ci_put_line_back(o);
	ci_put(o, "}\n\n");
}

/* The type of what a handler gets for each call: "X_f_call", "M *", or NULL. */
static const char *counted_type(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e)
{
	if (gen_takes_message(e))
		return ci_fmt(ci, "%s *", e->params->type.text);
	return gen_has_call_struct(e) ? ci_fmt(ci, "%s_%s_call", c->name, e->name) : NULL;
}

/* Print what runs a round's handler. */
static void counted_run(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *type = counted_type(o->ci, c, e);

	trampoline_head(o, "call", c, e);
	ci_put(o, "\tCkGenRound *ck_r = (CkGenRound *)ck_m;\n");
	if (type != NULL && !gen_takes_message(e))
		ci_put(o, "\t%s *ck_to = (%s *)ck_r->calls;\n\n"
		       "\tfor (void *ck_p = NULL; (ck_p = CkGen_nextCounted(ck_r)) != NULL; ck_to++)\n"
		       "\t\tck_unpack_%s_%s(ck_to, ck_p);\n", type, type, c->name, e->name);
	else
		ci_put(o, "\n");
	ci_put(o, "\t%s_on_%s((%s *)ck_self, ck_r->number, ck_r->n", c->name, e->name, c->name);
	if (type != NULL)
		ci_put(o, ", (%s%s *)ck_r->calls", gen_takes_message(e) ? "" : "const ", type);
	ci_put(o, ");\n}\n\n");
}

/* [arrival]: what runs the handler gets the tag; of a set only n is asked for. */
static void arrival(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *x = ci_fmt(o->ci, "%s_%s", c->name, e->name);

	trampoline_head(o, "call", c, e);
	if (gen_is_set(e))
		ci_put(o, "\t(void)ck_m;\n");
	handler_head(o, c, e);
	ci_put(o, gen_is_set(e) ? ");\n}\n\n" : ", *(const int *)ck_m);\n}\n\n");
	if (!gen_is_set(e))
		return;
	counted_round(o, c, e);
	ci_put(o, "static const CkGenCount ck_counted_%s = { ck_count_%s, 0, NULL, 0, NULL };\n\n", x, x);
}

static void counted(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *x = ci_fmt(o->ci, "%s_%s", c->name, e->name);
	const char *type = counted_type(o->ci, c, e);

	if (gen_takes_message(e))
		counted_message(o, c, e);
	else if (type != NULL)
		counted_values(o, c, e);
	counted_round(o, c, e);
	counted_run(o, c, e);
	ci_put(o, "static const CkGenCount ck_counted_%s = {\n\tck_count_%s, ", x, x);
	if (e->round != NULL)
		ci_put(o, "CKGEN_HEAD + (int)offsetof(struct ck_args_%s, %s), ", x, e->round->name);
	else
		ci_put(o, "CKGEN_REFNUM_AT, ");
	ci_put(o, "%s, %s, CkGen_noCount\n};\n\n",
	       gen_takes_message(e) ? ci_fmt(o->ci, "ck_unpack_%s", x) : "NULL",
	       type == NULL ? "0" :
	       ci_fmt(o->ci, gen_takes_message(e) ? "2 * sizeof(%s)" : "sizeof(%s)", type));
}

/* Print the trampoline, which takes the payload and calls the handler. */
static void call(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	trampoline_head(o, e->attrs & CI_SYNC ? "answer" : "call", c, e);
	if (e->params == NULL) {
		ci_put(o, "\t(void)ck_m;\n");
		handler_head(o, c, e);
		handler_tail(o, e);
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

/* ---- [when] --------------------------------------------------------------------------------- */

static bool condition_names(const struct ci_entry *e, const char *name)
{
	for (const struct ci_tok *t = e->when.from; t != e->when.to; t++) {
		if (strcmp(t->s, name) == 0 && strcmp(t[-1].s, ".") != 0 &&
		    strcmp(t[-1].s, "->") != 0)
			return true;
	}
	return false;
}

/* Declare a variable for each parameter that the condition names. */
static void condition_locals(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	const char *type = gen_takes_message(e) ? e->params->type.text : NULL;
	const char *n = type != NULL ? e->params->name : NULL;

	/* Only one PE at a time evaluates an element's condition, and each time sets the same pointers. */
	if (type != NULL && condition_names(e, n)) {
		ci_put(o, "\t%s *const %s = (%s *)(uintptr_t)ck_m;\n\n\tck_message_%s(%s);\n", type, n,
		       type, type, n);
		return;
	}
	if (type == NULL && has_struct(e))
		args_pointer(o, c, e);
	for (const struct ci_param *q = e->params; type == NULL && q != NULL; q = q->next) {
		if (!condition_names(e, q->name))
			continue;
		if (q->kind == CI_PARAM_VALUE)
			ci_put(o, "\tconst %s %s = ", q->type.text, q->name);
		else
			ci_put(o, "\tconst %s *const %s = ", element(q), q->name);
		unpacked(o, c, e, q);
		ci_put(o, ";\n");
	}
}

static void condition(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static bool ck_when_%s_%s(const void *ck_self, const void *ck_m)\n{\n", c->name,
	       e->name);
	ci_put(o, "\tconst %s *self = (const %s *)ck_self;\n", c->name, c->name);
	condition_locals(o, c, e);
	ci_put(o, "\n\t(void)self;\n\t(void)%s;\n", e->params != NULL && !gen_takes_message(e) &&
	       has_struct(e) ? "ck_a" : "ck_m");
	ci_put_line(o, e->when.from);
	ci_put(o, "\treturn ");
	gen_text(o, &e->when);
	ci_put(o, ";\n");
	ci_put_line_back(o);
	ci_put(o, "}\n\n");
}

/* ---- Structured Dagger -------------------------------------------------------------------------- */

/* Print a function that tells whether a call has the number that ck_n points to. */
static void number(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e)
{
	ci_put(o, "static bool ck_number_%s_%s(const void *ck_n, const void *ck_m)\n{\n", c->name,
	       e->name);
	args_pointer(o, c, e);
	ci_put(o, "\n\treturn (long long)ck_a->%s == *(const int *)ck_n;\n}\n\n", e->params->name);
}

/* ---- [reductiontarget] ---------------------------------------------------------------------- */

/* The runtime has compared type and count with the table, so the code need not check the data. */
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
	if (e->attrs & (CI_LOCAL | CI_WHENIDLE))
		return;
	if (e->attrs & CI_ARRIVAL) {
		arrival(o, c, e);
		return;
	}
	if (is_marshalled(c, e))
		payload_struct(o, c, e);
	if (is_marshalled(c, e) && !gen_is_call_plain(c, e))
		fits(o, c, e);
	if (gen_packs(c, e) && gen_takes_message(e))
		message_fits(o, c, e);
	if (gen_count_nocopy(e) != 0)
		nocopy_table(o, c, e, "ck_ncpy", false);
	if (gen_count_posted(e) != 0)
		post(o, c, e);
	if (gen_is_sdag(e))
		gen_inputs(o, c, e);
	if (gen_counts_calls(e))
		counted(o, c, e);
	else
		call(o, c, e);
	if (gen_has_came(c, e))
		came(o, c, e);
	if (gen_has_number(e))
		number(o, c, e);
	if (e->attrs & CI_WHEN)
		condition(o, c, e);
	if (gen_is_reduced(e))
		reduced(o, c, e);
}
