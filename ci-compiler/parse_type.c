/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_type.c: the grammar rules for types, parameter lists and array lengths.
 *
 *   params    := '(' [ 'void' | param { ',' param } ] ')'
 *   param     := [ 'nocopy' | 'nocopypost' ] type [ '&' | '&&' ] [ name ] [ '[' length ']' ]
 *   type      := { 'const' } ( basic words | ('struct'|'union'|'enum') name | name ) { '*' }
 *   length    := operand { binary operand } [ '?' length ':' length ]
 *   operand   := { '+'|'-'|'~'|'!' } ( number | name { '.' name } | '(' length ')' )
 *
 * The rules ignore the precedence of operators, since the tokens go to the C compiler unchanged.
 */
#include "parse_int.h"

#include <ctype.h>
#include <string.h>

enum { MAX_NESTING = 50 };   /* of parentheses, since the rules are recursive */

static bool is_any(const struct parser *p, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (p_is(p, *words))
			return true;
	}
	return false;
}

/* ---- types ------------------------------------------------------------------------------ */

/* How often each word occurs in a basic type. */
struct basic {
	int void_, bool_, char_, short_, int_, long_, float_, double_, signed_, unsigned_;
};

static int *basic_word(struct basic *b, const char *s)
{
	const struct { const char *word; int *count; } table[] = {
		{"void", &b->void_}, {"bool", &b->bool_}, {"_Bool", &b->bool_},
		{"char", &b->char_}, {"short", &b->short_}, {"int", &b->int_},
		{"long", &b->long_}, {"float", &b->float_}, {"double", &b->double_},
		{"signed", &b->signed_}, {"unsigned", &b->unsigned_},
	};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (strcmp(s, table[i].word) == 0)
			return table[i].count;
	}
	return NULL;
}

bool p_is_basic_type(const struct parser *p)
{
	struct basic none;

	return basic_word(&none, p->t->s) != NULL;
}

static bool basic_valid(const struct basic *b)
{
	int sign = b->signed_ + b->unsigned_;
	int size = b->short_ + b->long_;
	int all = b->void_ + b->bool_ + b->char_ + b->int_ + b->float_ + b->double_ + sign + size;

	if (b->void_ + b->bool_ + b->float_ == 1)
		return all == 1;
	if (b->double_ == 1)
		return all == 1 + b->long_ && b->long_ <= 1;
	if (b->char_ == 1)
		return all == 1 + sign && sign <= 1;
	return all == b->int_ + sign + size && b->int_ <= 1 && sign <= 1 &&
	       (size <= 1 || (b->long_ == 2 && b->short_ == 0));
}

static bool basic_type(struct parser *p, struct ci_type *type)
{
	struct basic b = {0};
	int *count;

	type->text = "";
	while ((count = basic_word(&b, p->t->s)) != NULL || p_is(p, "const")) {
		type->const_ |= count == NULL;
		if (count != NULL) {
			++*count;
			type->text = ci_fmt(p->ci, "%s%s%s", type->text,
					    *type->text != '\0' ? " " : "", p->t->s);
		}
		p->t++;
	}
	type->class_ = b.void_ ? CI_VOID : b.float_ || b.double_ ? CI_FLOATING : CI_INTEGER;
	if (basic_valid(&b))
		return true;
	ci_error(p->ci, type->tok->at, NULL, "'%s' is not a C type", type->text);
	return false;
}

/* What a C program uses instead of a well-known C++ type. */
static const char *cpp_advice(const char *s)
{
	if (strstr(s, "string") != NULL)
		return "write 'const char *s' for a string";
	if (strstr(s, "vector") != NULL || strstr(s, "Vec") != NULL || strstr(s, "array") != NULL)
		return "write a length and an array, as in 'int n, double v[n]'";
	if (strstr(s, "complex") != NULL)
		return "write a C struct of two numbers, by value";
	return "write a plain C struct, by value: 'struct Foo x'";
}

/* Refuse `std::vector<int>` and `Foo<int>`. The error gives the qualified name in full. */
static bool cpp_type(struct parser *p, const struct ci_type *type)
{
	const struct ci_tok *t = p->t;
	const char *name = type->tok->s;

	if (p_is(p, "<")) {
		p_cpp(p, type->tok, ci_fmt(p->ci, "the template type '%s<...>'", name),
		      cpp_advice(name));
		return false;
	}
	while (strcmp(t->s, "::") == 0 && t[1].kind == TOK_NAME)
		t += 2;
	p_cpp(p, type->tok, ci_fmt(p->ci, "the type '%.*s'",
				   (int)(t[-1].at + t[-1].len - type->tok->at), type->tok->at),
	      cpp_advice(t[-1].s));
	return false;
}

/* A parameter is sent as a copy, so it does not matter whether C++ would refer to the copy. */
static void reference(struct parser *p, const struct ci_type *type)
{
	const char *name = p->t[1].kind == TOK_NAME ? p->t[1].s : "x";

	if (!p_is(p, "&") && !p_is(p, "&&"))
		return;
	ci_note(p->ci, p->t->at, "reference", "a reference is read as a value: '%s %s'", type->text,
		name);
	p->t++;
}

/* Types of Charm++ with another name here and the same meaning. */
static const struct { const char *name, *here; } other_names[] = {
	{"CkArrayIndex1D", "int"}, {"CkArrayIndex2D", "CkIndex2D"},
	{"CkArrayIndex3D", "CkIndex3D"}, {"CkArrayIndex4D", "CkIndex4D"},
	{"CkArrayIndex5D", "CkIndex5D"}, {"CkArrayIndex6D", "CkIndex6D"},
	{"CkArrayIndexMax", "CkArrayIndex"}, {"CkFutureID", "CkFuture"},
	{"CkSectionReductionMsg", "CkReductionMsg"}, {"infiDirectUserHandle", "CkDirectHandle"},
	{"CProxy_CompletionDetector", "CkCompletion"},
	{NULL, NULL}
};

/* Read the name of a type. */
static void type_name(struct parser *p, struct ci_type *type, const char *tag)
{
	const char *name = p->t->s;
	int i = 0;

	while (other_names[i].name != NULL && strcmp(other_names[i].name, name) != 0)
		i++;
	if (*tag == '\0' && other_names[i].name != NULL) {
		ci_note(p->ci, p->t->at, "type", "the type %s is read as %s", name, other_names[i].here);
		name = other_names[i].here;
	}
	type->class_ = strcmp(name, "int") == 0 ? CI_INTEGER : CI_USER;
	type->text = ci_fmt(p->ci, "%s%s", tag, name);
	p->t++;
}

static bool named_type(struct parser *p, struct ci_type *type)
{
	static const char *const tags[] = {"struct", "union", "enum", NULL};
	static const char *const foreign[] = {"class", "typename", "template", "auto", NULL};
	const char *tag = "";

	type->class_ = CI_USER;
	if (is_any(p, foreign)) {
		p_cpp(p, p->t, ci_fmt(p->ci, "'%s'", p->t->s), cpp_advice(""));
		return false;
	}
	if (is_any(p, tags)) {
		tag = ci_fmt(p->ci, "%s ", p->t->s);
		p->t++;
	}
	if (p->t->kind != TOK_NAME)
		return p_unexpected(p, "a type", NULL);
	if (ci_is_c_keyword(p->t->s)) {
		ci_error(p->ci, p->t->at, "remove it: what is sent is a copy of the value",
			 "'%s' is not allowed in a type here", p->t->s);
		return false;
	}
	if (*tag == '\0' && (p_is(p, "self") || strncmp(p->t->s, "ck_", 3) == 0)) {
		ci_error(p->ci, p->t->at, "choose another name", "the type '%s' would be hidden in the "
			 "generated code, which has variables named %s", p->t->s,
			 p_is(p, "self") ? "self" : "ck_...");
		return false;
	}
	type_name(p, type, tag);
	return true;
}

/* Read a type up to a & or a name. */
static bool type_or_reference(struct parser *p, struct ci_type *type)
{
	bool ok;

	*type = (struct ci_type){0};
	while (p_accept(p, "const"))
		type->const_ = true;
	type->tok = p->t;
	ok = p_is_basic_type(p) ? basic_type(p, type) : named_type(p, type);
	if (!ok)
		return false;
	if (type->class_ == CI_USER && p_is_basic_type(p)) {
		ci_error(p->ci, type->tok->at, "remove it", "'%s' is not allowed before '%s'",
			 type->text, p->t->s);
		return false;
	}
	if (p_is(p, "::") || (p_is(p, "<") && type->class_ == CI_USER))
		return cpp_type(p, type);
	while (p_is(p, "*") || p_is(p, "const")) {
		type->const_ |= type->stars == 0 && p_is(p, "const");
		type->stars += p_is(p, "*");
		p->t++;
	}
	return true;
}

bool p_type(struct parser *p, struct ci_type *type)
{
	if (!type_or_reference(p, type))
		return false;
	if (!p_is(p, "&") && !p_is(p, "&&"))
		return true;
	p_cpp(p, p->t, ci_fmt(p->ci, "a reference ('%s &')", type->text), "write the value itself");
	return false;
}

/* ---- lengths ---------------------------------------------------------------------------- */

static bool length(struct parser *p, int nesting);

/* s is a decimal, octal or hexadecimal number with C's suffixes. */
static bool integer_number(const char *s)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	const char *e = s + (hex ? 2 : 0);

	while (hex ? isxdigit((unsigned char)*e) : isdigit((unsigned char)*e))
		e++;
	return e > s && e[strspn(e, "uUlL")] == '\0';
}

static bool name_operand(struct parser *p)
{
	if (ci_is_c_keyword(p->t->s))
		return p_unexpected(p, "a name or a number", NULL);
	p->t++;
	while (p_accept(p, ".")) {
		if (p->t->kind != TOK_NAME)
			return p_unexpected(p, "a member's name", NULL);
		p->t++;
	}
	if (p_is(p, "(") || p_is(p, "[") || p_is(p, "->")) {
		ci_error(p->ci, p->t->at,
			 "it may use the integer parameters, numbers and operators; compute "
			 "anything else before the call and pass it",
			 "a length or size cannot %s",
			 p_is(p, "(") ? "call a function" : p_is(p, "[") ?
			 "index an array" : "follow a pointer");
		return false;
	}
	return true;
}

static bool operand(struct parser *p, int nesting)
{
	static const char *const unary[] = {"+", "-", "~", "!", NULL};

	while (is_any(p, unary))
		p->t++;
	if (p_is(p, "(")) {
		if (nesting == MAX_NESTING) {
			ci_error(p->ci, p->t->at, NULL, "too many parentheses");
			return false;
		}
		p->t++;
		return length(p, nesting + 1) && p_expect(p, ")");
	}
	if (p->t->kind == TOK_NUMBER) {
		if (!integer_number(p->t->s)) {
			ci_error(p->ci, p->t->at, NULL, "'%.40s' is not a whole number", p->t->s);
			return false;
		}
		p->t++;
		return true;
	}
	if (p->t->kind == TOK_NAME)
		return name_operand(p);
	return p_unexpected(p, "a name or a number", NULL);
}

static bool length(struct parser *p, int nesting)
{
	static const char *const binary[] = {
		"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "<", ">", "<=",
		">=", "==", "!=", NULL
	};

	if (!operand(p, nesting))
		return false;
	while (is_any(p, binary)) {
		p->t++;
		if (!operand(p, nesting))
			return false;
	}
	if (!p_is(p, "?"))
		return true;
	if (nesting == MAX_NESTING)
		return p_unexpected(p, "a simpler length", NULL);
	p->t++;
	return length(p, nesting + 1) && p_expect(p, ":") && length(p, nesting + 1);
}

bool p_expression(struct parser *p, struct ci_expr *e)
{
	e->from = p->t;
	if (!length(p, 0))
		return false;
	e->to = p->t;
	return true;
}

bool p_length(struct parser *p, struct ci_expr *e)
{
	return p_expression(p, e) && (p_is(p, "]") || p_unexpected(p, "']'", NULL));
}

/* ---- parameters ------------------------------------------------------------------------- */

/* Read the [length] after a parameter's name. */
static bool array_part(struct parser *p, struct ci_param *param)
{
	p->t++;
	if (param->kind == CI_PARAM_VALUE)
		param->kind = CI_PARAM_ARRAY;
	if (p_is(p, "]")) {
		ci_error(p->ci, p->t->at,
			 ci_fmt(p->ci, "write its length from integer parameters, as in "
				"'int n, %s %s[n]'", param->type.text, param->name),
			 "array parameter '%s' has no length", param->name);
		return false;
	}
	if (!p_length(p, &param->length))
		return false;
	p->t++;
	if (p_is(p, "[")) {
		ci_error(p->ci, p->t->at,
			 ci_fmt(p->ci, "write one length, the product: %s[n * m]", param->name),
			 "array parameter '%s' has more than one dimension", param->name);
		return false;
	}
	return true;
}

static bool param_rest(struct parser *p, struct ci_param *param, int n)
{
	if (p->t->kind == TOK_NAME || p->t->kind == TOK_NUMBER || p->t->kind == TOK_BAD) {
		const struct ci_tok *name = p_new_name(p, "parameter");

		if (name == NULL)
			return false;
		param->tok = name;
		param->name = name->s;
	} else {
		param->name = ci_fmt(p->ci, "arg%d", n);
	}
	if (p_is(p, "[")) {
		if (!array_part(p, param))
			return false;
	} else if (param->kind == CI_PARAM_NOCOPY) {
		const char *len = strcmp(param->name, "n") == 0 ? "len" : "n";
		const char *word = param->posted ? "nocopypost" : "nocopy";

		ci_error(p->ci, param->tok->at,
			 ci_fmt(p->ci, "remove it, or write an array: 'int %s, %s %s %s[%s]'",
				len, word, param->type.text, param->name, len),
			 "%s is for arrays, and '%s' is not one", word, param->name);
		return false;
	}
	if (p_is(p, "=")) {
		p_cpp(p, p->t, "a default argument", "pass the value in every call");
		return false;
	}
	if (p_is(p, "(")) {
		ci_error(p->ci, p->t->at,
			 "a function's address means nothing on another node: send a CkCallback "
			 "or a number", "a function pointer cannot be sent");
		return false;
	}
	return true;
}

/* Read `nocopy` or `nocopypost`, and refuse the related words of Charm++. */
static bool param_attribute(struct parser *p, struct ci_param *param)
{
	static const char *const refused[] = {"nocopydevice", "conditional", NULL};

	if (p->t[1].kind != TOK_NAME)
		return true;    /* no attribute, but a type of that name */
	param->posted = p_is(p, "nocopypost");
	if (p_accept(p, "nocopy") || p_accept(p, "nocopypost"))
		param->kind = CI_PARAM_NOCOPY;
	if (!is_any(p, refused))
		return true;
	p_later(p, p->t, ci_fmt(p->ci, "the parameter attribute '%s'", p->t->s),
		p_is(p, "conditional") ? "send an array of length 0 or 1" :
		"write nocopy: the handler gets the address of the data");
	return false;
}

static bool param(struct parser *p, struct ci_param *param, int n)
{
	param->tok = p->t;
	param->name = ci_fmt(p->ci, "arg%d", n);
	if (p_is(p, "...")) {
		ci_error(p->ci, p->t->at, "send an array: 'int n, double v[n]'",
			 "a variable number of arguments cannot be sent");
		return false;
	}
	if (!param_attribute(p, param) || !type_or_reference(p, &param->type))
		return false;
	reference(p, &param->type);
	param->tok = param->type.tok;
	return param_rest(p, param, n);
}

/* Skip a parameter with an error, up to the `,` or `)` after it. Outside of other brackets, `<` and `>`
 * count as brackets of a template; inside of them, they compare. */
static void skip_param(struct parser *p, const struct ci_tok *start)
{
	int depth = 0;
	int angle = 0;

	for (p->t = start; p->t->kind != TOK_END; p->t++) {
		if (p_is(p, ";") || p_is(p, "{") || p_is(p, "}") ||
		    (p->t->first && (p_is(p, "entry") || p_is_section_word(p))))
			return;
		if (depth == 0 && (p_is(p, ")") || (angle == 0 && p_is(p, ","))))
			return;
		if (depth == 0 && (p_is(p, "<") || p_is(p, ">")))
			angle += p_is(p, "<") ? 1 : angle > 0 ? -1 : 0;
		depth += p_is(p, "(") || p_is(p, "[");
		depth -= p_is(p, ")") || p_is(p, "]");
	}
}

bool p_params(struct parser *p, struct ci_param **list)
{
	bool good = true;
	int n = 0;

	if (!p_expect(p, "("))
		return false;
	if (p_is(p, "void") && p_next_is(p, ")"))
		p->t++;
	if (p_accept(p, ")"))
		return true;
	do {
		struct ci_param *one = ci_alloc(p->ci, sizeof *one);
		const struct ci_tok *start = p->t;

		*list = one;
		list = &one->next;
		one->bad = !param(p, one, ++n);
		good = !one->bad;
		if (!good)
			skip_param(p, start);
	} while (p_accept(p, ","));
	if (p_accept(p, ")"))
		return true;
	return good && p_missing(p, "',' or ')'", NULL);
}
