/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_pup.c: the grammar rules of `pup`.
 *
 *   pup     := 'pup' packed ( { ',' packed } ';' | list [';'] )
 *   packed  := [ 'struct' | 'union' ] name [ '[' 'on_arrived' ']' ]
 *   list    := '{' { field } '}'
 *   field   := 'skip' skipped { ',' skipped } ';'     skipped := name [ '[' [ anything ] ']' ]
 *            | [ 'rdma' | 'direct' ] type named { ',' { '*' } named } ';'
 *   named   := name { '[' length ']' }                without a star: an array in the struct
 *            | name { '[' anything ']' } [ '=' anything ]     with a star: see check_brackets
 */
#include "parse_int.h"

#include <string.h>

/* ---- fields -------------------------------------------------------------------------------------- */

static struct ci_pup_field *field_add(struct parser *p, struct ci_pup *x, const struct ci_tok *name)
{
	struct ci_pup_field **link = &x->fields;

	while (*link != NULL)
		link = &(*link)->next;
	*link = ci_alloc(p->ci, sizeof **link);
	(*link)->tok = name;
	(*link)->name = name->s;
	return *link;
}

/* Read `[...]` with any tokens in it. Report a missing `]` and return false. */
static bool brackets(struct parser *p, struct ci_expr *inside)
{
	const struct ci_tok *open = p->t;

	p_skip_balanced(p);
	inside->from = open + 1;
	inside->to = p->t - 1;
	if (p->t - open >= 2 && strcmp(inside->to->s, "]") == 0)
		return true;
	p->t = open;
	ci_error(p->ci, open->at, NULL, "this '[' is never closed");
	return false;
}

/* `= expression`, to the end of the line at most. */
static bool end_buffer(struct parser *p, struct ci_pup_field *f)
{
	f->buffer.from = p->t;
	while (!p_is(p, ",") && !p_is(p, ";") && !p_is(p, "}") && !p_at_end(p) && !p->t->first) {
		if (p_is(p, "(") || p_is(p, "["))
			p_skip_balanced(p);
		else
			p->t++;
	}
	f->buffer.to = p->t;
	return f->buffer.from != f->buffer.to ||
	       p_unexpected(p, "the buffer of the end", ci_fmt(p->ci, "write an expression over the "
			    "struct's fields, as in %s *%s = self->in", f->type.text, f->name));
}

/* `T *x`, `T *x [a]`, `T *x [a][b]`, `CkChannel *x [a] = b` */
static bool pointed(struct parser *p, struct ci_pup_field *f)
{
	f->kind = CI_PUP_POINTED;
	for (; p_is(p, "["); f->n_groups++) {
		if (p_next_is(p, "]")) {
			ci_error(p->ci, p->t[1].at, ci_fmt(p->ci, "write an expression over the struct's "
				 "fields, as in %s *%s [self->n]", f->type.text, f->name),
				 "the number of values that '%s' points to is missing", f->name);
			return false;
		}
		if (f->n_groups == 2) {
			ci_error(p->ci, p->t->at, "write one number, the product: [self->n * self->m]",
				 "'%s' has more than one row of pointers, or each has more than one row of "
				 "values", f->name);
			return false;
		}
		if (!brackets(p, &f->group[f->n_groups]))
			return false;
	}
	return !p_accept(p, "=") || end_buffer(p, f);
}

/* `T x[3][4]` */
static bool dims(struct parser *p, struct ci_pup_field *f)
{
	struct ci_expr one;

	f->dims.from = p->t;
	while (p_accept(p, "[")) {
		if (p_is(p, "]"))
			return p_unexpected(p, "the array's length", "write a number, as in the struct");
		if (!p_length(p, &one))
			return false;
		p->t++;
	}
	f->dims.to = p->t;
	return true;
}

static bool named(struct parser *p, struct ci_pup *x, const struct ci_type *type,
		  enum ci_pup_memory memory)
{
	const struct ci_tok *name;
	struct ci_pup_field *f;

	if (p_is(p, "("))
		return p_unexpected(p, "the name of the field", "a function has another address "
				    "in another process: skip the pointer, and set it in on_arrived");
	name = p_new_name(p, "field");
	if (name == NULL)
		return false;
	f = field_add(p, x, name);
	f->type = *type;
	f->memory = memory;
	f->bad = !(type->stars != 0 ? pointed(p, f) : dims(p, f));
	if (f->bad || !p_is(p, ":"))
		return !f->bad;
	f->bad = true;
	return p_unexpected(p, "';'", ci_fmt(p->ci, "a bit-field has no address: write %s_pup in C",
					      x->name));
}

static bool typed(struct parser *p, struct ci_pup *x)
{
	enum ci_pup_memory memory = p->t[1].kind != TOK_NAME ? CI_PUP_MALLOC :
		p_accept(p, "rdma") ? CI_PUP_RDMA : p_accept(p, "direct") ? CI_PUP_DIRECT : CI_PUP_MALLOC;
	struct ci_type type;

	if (!p_type(p, &type))
		return false;
	do {
		while (p_accept(p, "*"))
			type.stars++;
		if (!named(p, x, &type, memory))
			return false;
		type.stars = 0;
	} while (p_accept(p, ","));
	return p_expect(p, ";");
}

static bool skipped(struct parser *p, struct ci_pup *x)
{
	do {
		const struct ci_tok *name = p_new_name(p, "field");
		struct ci_pup_field *f;

		if (name == NULL)
			return false;
		f = field_add(p, x, name);
		f->kind = CI_PUP_SKIP;
		f->dims.from = p->t;
		while (p_is(p, "[")) {
			if (!brackets(p, &f->group[0]))
				return false;
		}
		f->dims.to = p->t;
	} while (p_accept(p, ","));
	return p_expect(p, ";");
}

static void list(struct parser *p, struct ci_pup *x)
{
	p->t++;
	while (!p_is(p, "}")) {
		const struct ci_tok *start = p->t;

		if (p_at_end(p) || (p->t->first && p_is_section_word(p)) || p_is(p, "entry")) {
			if (!p->cut)
				ci_error(p->ci, x->open->at, NULL, "this '{' of 'pup %s' is never closed",
					 x->name);
			return;
		}
		if (p->t->kind == TOK_DIRECTIVE) {
			p_unexpected(p, "", NULL);
			p->t++;
		} else if (!p_accept(p, ";") && !(p_accept(p, "skip") ? skipped(p, x) : typed(p, x)) &&
			   (p->t == start || !p->t->first)) {
			p_skip_statement(p); /* if only a ; is missing, the next line is a field again */
		}
	}
	p->t++;
	p_accept(p, ";");
}

/* ---- what is packed ------------------------------------------------------------------------------- */

/* `pup X, X;` is harmless, as long as only one of them says more than the name. */
static struct ci_pup *pup_add(struct parser *p, const struct ci_tok *tok)
{
	struct ci_pup **link = &p->module->pups;

	while (*link != NULL && strcmp((*link)->name, tok->s) != 0)
		link = &(*link)->next;
	if (*link == NULL) {
		*link = ci_alloc(p->ci, sizeof **link);
		(*link)->tok = tok;
		(*link)->name = tok->s;
	}
	return *link;
}

static bool attribute(struct parser *p, struct ci_pup *x)
{
	if (!p_accept(p, "["))
		return true;
	x->on_arrived = p->t;
	if (!p_accept(p, "on_arrived"))
		return p_unexpected(p, "'on_arrived'", ci_fmt(p->ci, "pup %s [on_arrived]; calls "
				    "%s_on_arrived when it has been unpacked", x->name, x->name));
	return p_expect(p, "]");
}

static struct ci_pup *packed(struct parser *p)
{
	const char *tag = p_is(p, "struct") ? "struct " : p_is(p, "union") ? "union " : "";
	const struct ci_tok *name;
	struct ci_pup *x;

	p->t += *tag != '\0';
	if (p_is_basic_type(p) || p_is(p, "enum")) {
		ci_error(p->ci, p->t->at, "remove it",
			 "'%s' needs no packing: it is copied as it is", p->t->s);
		return NULL;
	}
	name = p_new_name(p, "type");
	if (name == NULL)
		return NULL;
	x = pup_add(p, name);
	x->text = ci_fmt(p->ci, "%s%s", tag, name->s);
	return attribute(p, x) ? x : NULL;
}

static bool packed_by_list(struct parser *p, struct ci_pup *x)
{
	if (x->open != NULL) {
		ci_error(p->ci, p->t->at, "remove one of them", "'pup %s' has a second list; the first is on "
			 "line %d", x->name, x->open->line);
		return false;
	}
	x->open = p->t;
	list(p, x);
	return true;
}

bool p_pup(struct parser *p)
{
	do {
		struct ci_pup *x = packed(p);

		if (x == NULL)
			return false;
		if (p_is(p, "{"))
			return packed_by_list(p, x);
	} while (p_accept(p, ","));
	return p_expect(p, ";");
}
