/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_entry.c: checks the parameters of one entry method, one by one and together.
 */
#include "check_int.h"

#include <string.h>
#include <strings.h>

struct ci_param *check_find_param(const struct ci_entry *e, const char *name)
{
	for (struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (strcmp(q->name, name) == 0)
			return q;
	}
	return NULL;
}

/* ---- lengths ------------------------------------------------------------------------------ */

const struct ci_field *check_find_readonly(const struct checker *c, const char *name)
{
	for (const struct ci_field *r = c->module->readonlies; r != NULL; r = r->next) {
		if (strcmp(r->name, name) == 0)
			return r;
	}
	return NULL;
}

/* The name may be that of a macro or enum constant, which the C compiler knows. It is none if it
 * differs from a parameter only by its capitals. */
static bool looks_constant(const struct ci_entry *e, const char *s)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (strcasecmp(q->name, s) == 0)
			return false;
	}
	return check_is_capitals(s);
}

static const char *usable_params(struct checker *c, const struct ci_entry *e)
{
	const char *list = "";

	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->kind == CI_PARAM_VALUE && q->type.class_ == CI_INTEGER)
			list = ci_fmt(c->ci, "%s%s%s", list, *list != '\0' ? ", " : "", q->name);
	}
	return *list != '\0' ? ci_fmt(c->ci, "the integer parameters here: %s", list) :
	       "add an integer parameter that says how many values are sent, as in 'int n'";
}

static bool length_error(struct checker *c, const struct ci_entry *e, const struct ci_tok *t,
			 const char *why)
{
	ci_error(c->ci, t->at, usable_params(c, e), "a length cannot use '%s': %s", t->s, why);
	return false;
}

static bool check_length_name(struct checker *c, const struct ci_entry *e, const struct ci_tok *t)
{
	const struct ci_param *q = check_find_param(e, t->s);
	const struct ci_field *r = check_find_readonly(c, t->s);
	bool member = strcmp(t[1].s, ".") == 0;

	if (q != NULL && q->bad)
		return true;
	if (q != NULL && q->kind != CI_PARAM_VALUE)
		return length_error(c, e, t, q->kind == CI_PARAM_ARRAY ||
				    q->kind == CI_PARAM_NOCOPY ?
				    "it is an array parameter itself" : "it is not a number");
	if (q == NULL && r == NULL)
		return looks_constant(e, t->s) ||
		       length_error(c, e, t, "it is not a parameter of this entry method");
	if (q == NULL && r->dims.from != r->dims.to)
		return length_error(c, e, t, "this readonly is an array");
	switch ((q != NULL ? &q->type : &r->type)->class_) {
	case CI_FLOATING:
		return length_error(c, e, t, "it is not an integer");
	case CI_RUNTIME:
	case CI_PUP:
		return member || length_error(c, e, t, "it is not a number");
	default:
		return true;    /* CI_USER may be a typedef of an integer */
	}
}

static bool check_length(struct checker *c, const struct ci_entry *e, struct ci_param *q)
{
	for (const struct ci_tok *t = q->length.from; t != q->length.to; t++) {
		if (t->kind == TOK_NAME && strcmp(t[-1].s, ".") != 0 &&
		    !check_length_name(c, e, t))
			return false;
	}
	return true;
}

/* If a parameter had the name of a type, `sizeof(T)` would be the size of the parameter. */
static bool names_a_type(const struct ci_entry *e, const char *name)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (q->type.text != NULL && strcmp(q->type.text, name) == 0)
			return true;
	}
	return false;
}

/* ---- one parameter -------------------------------------------------------------------------- */

static bool check_param_name(struct checker *c, const struct ci_entry *e, const struct ci_param *q)
{
	if (strcmp(q->name, "self") == 0) {
		ci_error(c->ci, q->tok->at, "choose another name",
			 "'self' is the handler's first parameter: the chare");
		return false;
	}
	if (check_find_param(e, q->name) != q) {
		ci_error(c->ci, q->tok->at, "choose another name",
			 "two parameters are named '%s'", q->name);
		return false;
	}
	if (names_a_type(e, q->name)) {
		ci_error(c->ci, q->tok->at, ci_fmt(c->ci, "write %s_, for example", q->name),
			 "parameter '%s' has the name of a type", q->name);
		return false;
	}
	return check_variable_name(c, q->tok, q->name);
}

/* A [local] call happens on one PE, so an address is valid. */
static bool is_local_pointer(const struct ci_entry *e, const struct ci_param *q)
{
	bool string = q->type.const_ && q->type.stars == 1 && strcmp(q->type.text, "char") == 0;

	return (e->attrs & CI_LOCAL) && q->kind == CI_PARAM_VALUE && q->type.stars != 0 && !string;
}

static bool check_param_type(struct checker *c, const struct ci_entry *e, struct ci_param *q)
{
	struct ci_type *type = &q->type;

	if (is_local_pointer(e, q)) {
		q->kind = CI_PARAM_POINTER;
		return true;
	}
	if (q->kind != CI_PARAM_VALUE && (type->stars != 0 || strcmp(type->text, "string") == 0)) {
		ci_error(c->ci, type->tok->at,
			 "send one string per call, or all of them in one array: "
			 "'int n, char text[n]'", "an array of pointers cannot be sent");
		return false;
	}
	if (type->stars != 0)
		return check_pointer_type(c, type, q->name, &q->kind);
	if (q->kind == CI_PARAM_VALUE && strcmp(type->text, "string") == 0) {
		q->kind = CI_PARAM_STRING;
		return true;
	}
	if (!check_value_type(c, type))
		return false;
	if (q->kind == CI_PARAM_NOCOPY && type->class_ == CI_PUP) {
		ci_error(c->ci, q->tok->at,
			 q->posted ? "remove 'nocopypost'" : "remove 'nocopy'",
			 "'%s' is packed by a function, so it is copied", q->name);
		return false;
	}
	return true;
}

/* A message is the whole payload, so it must be the only parameter. */
static bool check_alone(struct checker *c, const struct ci_entry *e, const struct ci_param *q)
{
	if (q->kind < CI_PARAM_MESSAGE || (e->params == q && q->next == NULL))
		return true;
	ci_error(c->ci, q->tok->at, q->kind == CI_PARAM_MESSAGE ?
		 "move the other parameters into the message, or the message's members into the "
		 "parameters" : "remove the other parameters",
		 "'%s *%s' must be the only parameter", q->type.text, q->name);
	return false;
}

static bool check_param(struct checker *c, const struct ci_entry *e, struct ci_param *q)
{
	return check_param_name(c, e, q) && check_param_type(c, e, q) && check_alone(c, e, q);
}

/* ---- reduction targets ---------------------------------------------------------------------- */

static const char *data_type(struct checker *c, const struct ci_type *type)
{
	static const struct { const char *type, *data; } table[] = {
		{"char", "CK_CHAR"}, {"signed char", "CK_CHAR"}, {"int8_t", "CK_CHAR"},
		{"CmiInt1", "CK_CHAR"}, {"unsigned char", "CK_UCHAR"}, {"uint8_t", "CK_UCHAR"},
		{"CmiUInt1", "CK_UCHAR"}, {"short", "CK_SHORT"}, {"short int", "CK_SHORT"},
		{"int16_t", "CK_SHORT"}, {"CmiInt2", "CK_SHORT"}, {"unsigned short", "CK_USHORT"},
		{"unsigned short int", "CK_USHORT"}, {"uint16_t", "CK_USHORT"},
		{"CmiUInt2", "CK_USHORT"}, {"int", "CK_INT"}, {"signed", "CK_INT"},
		{"signed int", "CK_INT"}, {"int32_t", "CK_INT"}, {"CmiInt4", "CK_INT"},
		{"unsigned", "CK_UINT"}, {"unsigned int", "CK_UINT"}, {"uint32_t", "CK_UINT"},
		{"CmiUInt4", "CK_UINT"}, {"long", "CK_LONG"}, {"long int", "CK_LONG"},
		{"signed long", "CK_LONG"}, {"int64_t", "CK_LONG"}, {"CmiInt8", "CK_LONG"},
		{"ptrdiff_t", "CK_LONG"}, {"intptr_t", "CK_LONG"}, {"unsigned long", "CK_ULONG"},
		{"unsigned long int", "CK_ULONG"}, {"uint64_t", "CK_ULONG"},
		{"CmiUInt8", "CK_ULONG"}, {"size_t", "CK_ULONG"}, {"uintptr_t", "CK_ULONG"},
		{"long long", "CK_LONGLONG"}, {"long long int", "CK_LONGLONG"},
		{"unsigned long long", "CK_ULONGLONG"},
		{"unsigned long long int", "CK_ULONGLONG"}, {"float", "CK_FLOAT"},
		{"CmiFloat4", "CK_FLOAT"}, {"double", "CK_DOUBLE"}, {"CmiFloat8", "CK_DOUBLE"},
		{"bool", "CK_BOOL"}, {"_Bool", "CK_BOOL"}, {"CmiBool", "CK_BOOL"}, {NULL, NULL}
	};

	for (int i = 0; table[i].type != NULL; i++) {
		if (strcmp(table[i].type, type->text) == 0)
			return table[i].data;
	}
	/* Perhaps a typedef of a number: the C compiler knows. */
	return type->class_ == CI_USER && strchr(type->text, ' ') == NULL ? ci_fmt(c->ci, "CKGEN_DATATYPE(%s)", type->text) : NULL;
}

/* (int n, T v[n]) in either order. */
static bool is_counted_array(const struct ci_param *n, const struct ci_param *v)
{
	return n->kind == CI_PARAM_VALUE && n->type.class_ == CI_INTEGER &&
	       v->kind == CI_PARAM_ARRAY && v->length.to == v->length.from + 1 &&
	       strcmp(v->length.from->s, n->name) == 0;
}

static void check_target_values(struct checker *c, struct ci_entry *e)
{
	for (const struct ci_param *q = e->params; q != NULL; q = q->next) {
		const char *want = q->kind == CI_PARAM_VALUE ? data_type(c, &q->type) : NULL;

		if (q->kind == CI_PARAM_ARRAY && data_type(c, &q->type) != NULL) {
			ci_error(c->ci, q->tok->at,
				 ci_fmt(c->ci, "write just (int n, %s %s[n])", q->type.text,
					q->name),
				 "a reduction delivers an array with its number of values, so '%s' "
				 "needs that parameter alone as its length", q->name);
			e->bad = true;
			return;
		}
		if (want == NULL || (e->want != NULL && strcmp(e->want, want) != 0)) {
			ci_error(c->ci, q->tok->at,
				 "write values of one number type of C; or 'int n, T v[n]' for any "
				 "number of them; or CkReductionMsg *m",
				 want == NULL ? "a reduction cannot deliver parameter '%s'" :
				 "parameter '%s' differs in type from the one before", q->name);
			e->bad = true;
			return;
		}
		e->want = want;
	}
}

/* The data of a callback that calls an entry with a message of the runtime's: any, but for one type. */
static void set_wanted(struct ci_entry *e)
{
	if (strcmp(e->params->type.text, "CkArrayCreatedMsg") == 0)
		e->want = "CK_ARRAYID";
}

static void check_target(struct checker *c, struct ci_entry *e)
{
	const struct ci_param *a = e->params;
	const struct ci_param *b = a != NULL ? a->next : NULL;
	const struct ci_param *v = NULL;

	if (a != NULL && a->kind == CI_PARAM_MESSAGE && ci_is_built_in(a->type.text)) {
		set_wanted(e);
		return;
	}
	if (!(e->attrs & CI_REDUCTION_TARGET) || a == NULL || a->kind == CI_PARAM_REDUCTION)
		return;
	if (b != NULL && b->next == NULL)
		v = is_counted_array(a, b) ? b : is_counted_array(b, a) ? a : NULL;
	if (v != NULL)
		e->want = data_type(c, &v->type);
	if (e->want == NULL)
		check_target_values(c, e);
}

/* ---- the whole entry ------------------------------------------------------------------------ */

/* The runtime calls it after CkAtSync. */
static bool is_resume(const struct ci_chare *chare, const struct ci_entry *e)
{
	return chare->kind == CI_ARRAY && !e->ctor && strcmp(e->name, "resumeFromSync") == 0;
}

static void check_special(struct checker *c, const struct ci_chare *chare, struct ci_entry *e)
{
	const struct ci_param *q = e->params;
	bool main_ctor = e->ctor && chare->kind == CI_MAINCHARE;

	if (e->ctor && (e->attrs & ~CI_NOTRACE) != 0)
		ci_error(c->ci, e->tok->at, "remove the attribute",
			 "the constructor of '%s' cannot have attributes", chare->name);
	else if (main_ctor && q != NULL && q->kind != CI_PARAM_ARGS)
		ci_error(c->ci, q->tok->at,
			 ci_fmt(c->ci, "write 'entry %s(CkArgMsg *m)' or 'entry %s()'", chare->name,
				chare->name),
			 "a main chare's constructor gets only the command line");
	else if (!main_ctor && q != NULL && q->kind == CI_PARAM_ARGS)
		ci_error(c->ci, q->tok->at,
			 "send what it needs as parameters: 'int n', 'const char *name'",
			 "CkArgMsg is for the constructor of a main chare only");
	else if (e->ctor && q != NULL && q->kind == CI_PARAM_REDUCTION)
		ci_error(c->ci, q->tok->at, "write an entry method for the reduction's result",
			 "a constructor cannot be the target of a reduction");
	else if (is_resume(chare, e) && (q != NULL || (e->attrs & CI_OWN_CALL) != 0))
		ci_error(c->ci, e->tok->at, "write 'entry void resumeFromSync();'",
			 "'resumeFromSync' is what the runtime calls after CkAtSync: it has no parameters, and no "
			 "attribute that needs a caller");
	else
		return;
	e->bad = true;
}

bool check_entry_params(struct checker *c, struct ci_entry *e)
{
	for (struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (!q->bad)
			q->bad = !check_param(c, e, q);
		e->bad |= q->bad;
	}
	for (struct ci_param *q = e->params; q != NULL; q = q->next) {
		if (!q->bad && (q->kind == CI_PARAM_ARRAY || q->kind == CI_PARAM_NOCOPY))
			q->bad = !check_length(c, e, q);
		e->bad |= q->bad;
	}
	return !e->bad;
}

void check_entry(struct checker *c, const struct ci_chare *chare, struct ci_entry *e)
{
	if (check_entry_params(c, e))
		check_special(c, chare, e);
	if (!e->bad)
		e->bad = !check_attributes(c, chare, e);
	if (!e->bad)
		check_target(c, e);
}
