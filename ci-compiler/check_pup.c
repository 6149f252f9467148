/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_pup.c: checks what functions of the program pack: its own plain types, and chares of all
 * kinds.
 */
#include "check_int.h"

#include <string.h>

static const struct ci_chare *chare_of(const struct ci_module *m, const char *name)
{
	for (const struct ci_chare *x = m->chares; x != NULL; x = x->next) {
		if (strcmp(x->name, name) == 0)
			return x;
	}
	return NULL;
}

void check_link_pups(struct checker *c)
{
	for (struct ci_module *m = c->modules; m != NULL; m = m->next) {
		for (struct ci_pup *x = m->pups; x != NULL; x = x->next)
			x->chare = chare_of(m, x->name);
	}
}

/* The name of a chare that another module declares is reported, and true returned. */
static bool is_elsewhere(struct checker *c, const struct ci_pup *x)
{
	const char *home = NULL;

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		if (chare_of(m, x->name) != NULL)
			home = m->name;
	}
	if (home == NULL && !check_is_elsewhere(c, x->name))
		return false;
	ci_error(c->ci, x->tok->at,
		 ci_fmt(c->ci, "write 'pup %s;' in %s", x->name, home == NULL ?
			"the module that declares it" : ci_fmt(c->ci, "module '%s'", home)),
		 "another module declares '%s', and only that one can have it packed", x->name);
	return true;
}

static void check_type_pup(struct checker *c, const struct ci_pup *x)
{
	if (is_elsewhere(c, x))
		return;
	if (check_find_message(c, x->name) != NULL)
		ci_error(c->ci, x->tok->at,
			 ci_fmt(c->ci, "write 'message [packed] %s;', %s_pack and %s_unpack", x->name,
				x->name, x->name),
			 "message '%s' has packing functions of its own", x->name);
	else if (strncmp(x->name, "Ck", 2) == 0 || strncmp(x->name, "CProxy", 6) == 0)
		ci_error(c->ci, x->tok->at, "remove it", "'%s' is copied as it is", x->name);
	else if (x->on_arrived != NULL)
		ci_error(c->ci, x->on_arrived->at, "remove it; unpacking can derive the rest",
			 "only chares arrive, and '%s' is a type", x->name);
}

/* ---- the list of fields --------------------------------------------------------------------------- */

static bool is(const struct ci_tok *t, const char *word)
{
	return strcmp(t->s, word) == 0;
}

static const struct ci_pup_field *find_field(const struct ci_pup *x, const char *name)
{
	const struct ci_pup_field *f = x->fields;

	while (f != NULL && strcmp(f->name, name) != 0)
		f = f->next;
	return f;
}

static bool is_message(const struct checker *c, const char *name)
{
	return check_find_message(c, name) != NULL || ci_is_built_in(name) || strcmp(name, "CkReductionMsg") == 0;
}

/* A value of this type would be meaningless in another process, or can be written better. */
static bool is_no_value(struct checker *c, const struct ci_pup_field *f)
{
	static const struct { const char *name, *help; } bound[] = {
		{"CkDirectHandle", "destroy the channel before the element moves, and skip the field"},
		{"CkNcpyBuffer", "skip the field, and make a new buffer in on_arrived"},
		{"CkChannel", "write a star: X_f_from and X_f_to return pointers"},
		{"CkReducing", "write a star: X_f_reduced returns a pointer"},
	};
	const char *name = f->type.text;

	for (size_t i = 0; i < sizeof bound / sizeof bound[0]; i++) {
		if (strcmp(name, bound[i].name) == 0) {
			ci_error(c->ci, f->type.tok->at, bound[i].help,
				 "'%s' belongs to the process where it was made: a %s is not packed", f->name,
				 name);
			return true;
		}
	}
	if (!is_message(c, name))
		return false;
	ci_error(c->ci, f->type.tok->at, ci_fmt(c->ci, "write '%s *%s': a message that the element keeps", name,
		 f->name), "'%s' cannot be a message itself", f->name);
	return true;
}

/* T x; T x[3]; */
static void check_value(struct checker *c, struct ci_pup_field *f)
{
	if (f->memory != CI_PUP_MALLOC)
		ci_error(c->ci, f->type.tok->at, "remove the word",
			 "'rdma' and 'direct' are for memory that a field points to, and '%s' is not a pointer",
			 f->name);
	else if (f->type.const_)
		ci_error(c->ci, f->type.tok->at, ci_fmt(c->ci, "remove 'const', or skip '%s'", f->name),
			 "'%s' cannot be unpacked: it is constant", f->name);
	else if (!is_no_value(c, f) && check_value_type(c, &f->type))
		f->kind = f->type.class_ == CI_PUP ? CI_PUP_OBJECTS :
			strcmp(f->type.text, "CkCallback") == 0 ? CI_PUP_CALLBACKS : CI_PUP_BYTES;
}

static bool may_be_message(const struct checker *c, const struct ci_type *type)
{
	return is_message(c, type->text) ||
	       (check_is_foreign(c, type) && (c->module->externs != NULL || check_is_elsewhere(c, type->text)));
}

/* T *x; without a count */
static void check_one(struct checker *c, const struct ci_pup *x, struct ci_pup_field *f)
{
	struct ci_type one = f->type;
	enum ci_param_kind kind;

	one.stars = 1; /* of a row, too */
	if (strcmp(f->type.text, "char") == 0 && f->memory == CI_PUP_MALLOC) {
		f->kind = CI_PUP_STRING;
	} else if (f->memory != CI_PUP_MALLOC && is_message(c, f->type.text)) {
		ci_error(c->ci, f->type.tok->at, "remove the word",
			 "'rdma' and 'direct' are for memory of values, and '%s' is a message", f->name);
	} else if (!may_be_message(c, &f->type) || f->memory != CI_PUP_MALLOC) {
		ci_error(c->ci, f->tok->at, ci_fmt(c->ci, "write '%s *%s [1]' if it is one; if it is not the "
			 "element's own, write 'skip %s' and set it in on_arrived", f->type.text, f->name, f->name),
			 "the number of values that '%s' points to is missing", f->name);
	} else if (x->chare == NULL) {
		ci_error(c->ci, f->tok->at, "keep the message in the chare's struct, or write the packing in C",
			 "only an element keeps a message: '%s' is in the list of the type '%s'", f->name,
			 x->name);
	} else if (check_pointer_type(c, &one, f->name, &kind)) {
		f->kind = CI_PUP_MESSAGE;
	}
}

/* Fields without a star are unpacked first, then pointers in their order, then ends. So a count may
 * use the first ones and earlier pointers, and a buffer all of them. An array in the struct is
 * memory for an end, even if it is skipped. */
static bool check_used(struct checker *c, const struct ci_pup *x, const struct ci_pup_field *f,
		       const struct ci_tok *name)
{
	const struct ci_pup_field *used = find_field(x, name->s);
	const bool end = f->kind == CI_PUP_END;
	const char *what = ci_fmt(c->ci, end ? "the buffer of '%s'" :
				  "how many values '%s' points to", f->name);
	bool before = false;

	for (const struct ci_pup_field *y = x->fields; y != f; y = y->next)
		before |= y == used;
	if (used == NULL)
		ci_error(c->ci, name->at, NULL, "'%s' is not in the list, and %s depends on it", name->s, what);
	else if (used->kind == CI_PUP_SKIP && !(end && used->dims.from != used->dims.to))
		ci_error(c->ci, name->at, "pack it, too", "'%s' is skipped, and %s depends on it", name->s,
			 what);
	else if (used->type.stars != 0 && !before && !end)
		ci_error(c->ci, name->at, "use fields without a star, or pointers before it",
			 "'%s' is unpacked after '%s', and %s depends on it", name->s, f->name, what);
	else
		return true;
	return false;
}

static bool check_names(struct checker *c, const struct ci_pup *x, const struct ci_pup_field *f,
			const struct ci_expr *e)
{
	for (const struct ci_tok *t = e->from; t != e->to; t++) {
		if (is(t, "self") && t + 1 != e->to && t + 2 != e->to && is(t + 1, "->") &&
		    t[2].kind == TOK_NAME && !check_used(c, x, f, t + 2))
			return false;
	}
	return true;
}

/* T *x [count]; */
static void check_pointed(struct checker *c, struct ci_pup_field *f)
{
	if (f->type.class_ == CI_VOID)
		ci_error(c->ci, f->type.tok->at, ci_fmt(c->ci, "write 'char *%s [bytes]'", f->name),
			 "there are no values of type void");
	else if (!is_no_value(c, f))
		check_value_type(c, &f->type);
}

/* ---- ends of channels ------------------------------------------------------------------------ */

static bool is_end(const struct ci_type *type)
{
	return strcmp(type->text, "CkChannel") == 0 || strcmp(type->text, "CkReducing") == 0;
}

/* CkChannel *x = buffer; */
static void check_channel_end(struct checker *c, const struct ci_pup *x, struct ci_pup_field *f)
{
	const char *t = f->type.text, *n = f->name;

	f->kind = CI_PUP_END;
	if (x->chare != NULL && x->chare->kind != CI_ARRAY)
		ci_error(c->ci, f->type.tok->at, "remove it",
			 "only elements of arrays have the ends of channels, and '%s' is no array", x->name);
	else if (f->memory != CI_PUP_MALLOC)
		ci_error(c->ci, f->type.tok->at, "write the word before the end's buffer",
			 "'rdma' and 'direct' are for memory, and '%s' is the end of a channel", n);
	else if (f->type.const_)
		ci_error(c->ci, f->type.tok->at, "remove 'const'", "'%s' cannot be unpacked: it is constant", n);
	else if (f->buffer.from == f->buffer.to)
		ci_error(c->ci, f->tok->at, f->n_groups == 0 ?
			 ci_fmt(c->ci, "write '%s *%s = self->buffer'", t, n) :
			 ci_fmt(c->ci, "write '%s *%s [4] = self->buffers[i]': i is the place in '%s'", t, n, n),
			 "the buffer of '%s' is missing: an end is unpacked for its buffer's new address", n);
}

/* ---- pointers -------------------------------------------------------------------------------- */

/* A pointer to an end or to a message is to one. Others have their count in the last brackets. What
 * remains is for a row of pointers: the array's length, or with a second star their number. */
static bool check_brackets(struct checker *c, struct ci_pup_field *f)
{
	const bool one = is_end(&f->type) || is_message(c, f->type.text);
	const int rows = f->n_groups - (!one && f->n_groups > 0);
	const struct ci_expr *first = &f->group[0];
	const char *t = f->type.text, *n = f->name;

	if (!one && f->n_groups > 0)
		f->count = f->group[f->n_groups - 1];
	if (f->type.stars > 2 || rows > 1)
		ci_error(c->ci, f->type.tok->at, "write the packing in C, or keep one row of pointers",
			 "'%s' has more than one row of pointers", n);
	else if (f->type.stars == 2 && rows == 0)
		ci_error(c->ci, f->type.tok->at, one ? ci_fmt(c->ci, "write '%s **%s [self->n]'", t, n) :
			 ci_fmt(c->ci, "write '%s **%s [self->n][values of each]'", t, n),
			 "'%s' is a pointer to pointers, and how many there are is missing", n);
	else if (f->type.stars == 2)
		f->row = *first;
	else if (rows == 1)
		f->dims = (struct ci_expr){first->from - 1, first->to + 1};
	return f->type.stars <= 2 && rows <= 1 && (f->type.stars == 1 || rows == 1);
}

static void check_pointer(struct checker *c, const struct ci_pup *x, struct ci_pup_field *f)
{
	if (!check_brackets(c, f))
		return;
	if (is_end(&f->type)) {
		check_channel_end(c, x, f);
	} else if (f->buffer.from != f->buffer.to) {
		ci_error(c->ci, f->buffer.from->at, "remove it",
			 "only the end of a channel has a buffer: '%s' is none", f->name);
		return;
	}
	if (!check_names(c, x, f, &f->row) || !check_names(c, x, f, &f->count) ||
	    !check_names(c, x, f, &f->buffer) || f->kind == CI_PUP_END)
		return;
	if (f->count.from != f->count.to)
		check_pointed(c, f);
	else
		check_one(c, x, f);
}

static void check_field(struct checker *c, const struct ci_pup *x, struct ci_pup_field *f)
{
	const struct ci_pup_field *first = find_field(x, f->name);

	if (first != f) {
		ci_error(c->ci, f->tok->at, "remove one of them", "'%s' is listed twice, first on line %d",
			 f->name, first->tok->line);
		return;
	}
	if (f->bad || f->kind == CI_PUP_SKIP)
		return;
	if (f->type.stars == 0)
		check_value(c, f);
	else
		check_pointer(c, x, f);
}

/* A group, a nodegroup or a single chare may be made anew without anything of its old state. An
 * element also moves while the program counts on its state. */
static bool may_be_empty(const struct ci_pup *x)
{
	return x->chare != NULL && x->chare->kind != CI_ARRAY;
}

static void check_list(struct checker *c, const struct ci_pup *x)
{
	if (x->fields == NULL && !may_be_empty(x) && !c->parse_failed)
		ci_error(c->ci, x->open->at, ci_fmt(c->ci, "list the fields of '%s' in their order", x->name),
			 "'pup %s' has no fields", x->name);
	for (struct ci_pup_field *f = x->fields; f != NULL && !ci_gave_up(c->ci); f = f->next)
		check_field(c, x, f);
}

void check_pup(struct checker *c, const struct ci_pup *x)
{
	check_not_self(c, x->tok);
	if (x->chare == NULL)
		check_type_pup(c, x);
	if (x->open != NULL)
		check_list(c, x);
}
