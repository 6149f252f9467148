/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_type.c: decides which types can be sent, and advises what to send instead of the others.
 *
 * ckci takes an unknown name for a struct or typedef of the user. If there is no such type, the C
 * compiler says so, and #line makes its message point into the .ci file.
 */
#include "check_int.h"

#include <ctype.h>
#include <string.h>

static bool in_list(const char *s, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (strcmp(s, *words) == 0)
			return true;
	}
	return false;
}

static bool is_integer_name(const char *s)
{
	static const char *const words[] = {
		"size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "int8_t", "int16_t", "int32_t",
		"int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "CmiInt1", "CmiInt2",
		"CmiInt4", "CmiInt8", "CmiUInt1", "CmiUInt2", "CmiUInt4", "CmiUInt8", "CmiBool",
		"CkIndex1D",
		NULL
	};

	return in_list(s, words);
}

static bool is_runtime_name(const char *s)
{
	static const char *const words[] = {
		"CkCallback", "CkIndex", "CkIndex2D", "CkIndex3D", "CkIndex4D", "CkIndex5D",
		"CkIndex6D", "CkProxy", "CkElement", "CkChareID", "CkArrayID", "CkGroupID",
		"CkNodeGroupID", "CkArrayIndex", "CkSection", "CkFuture", "CkArrayDims",
		"CkDataType", "CkReduction", "CkDirectHandle", "CkNcpyBuffer", NULL
	};

	return in_list(s, words);
}

/* Types of Charm++ without a counterpart here, or that cannot be sent as a value. */
static const struct { const char *name, *instead; } foreign_types[] = {
	{"CkArgMsg", "write it as the only parameter of a main chare's constructor: CkArgMsg *m"},
	{"CkReductionMsg", "write it as the only parameter: CkReductionMsg *m"},
	{"CkDataMsg", "write it as the only parameter: CkDataMsg *m"},
	{"CkQdMsg", "write it as the only parameter: CkQdMsg *m"},
	{"CkArrayCreatedMsg", "write it as the only parameter: CkArrayCreatedMsg *m"},
	{"CkMessage", "write it as the only parameter: CkMessage *m"},
	{"CkMigrateMessage", "remove this entry, and write 'pup X;' for the elements that move"},
	{"CProxySection_CompletionDetector", "send CkCompletion, which CkCompletionCreate makes"},
	{"CkEntryOptions", "send its numbers: it may point to a priority"},
	{"CkArrayOptions", "send CkArrayDims and make the options where they are used"},
	{"CkSectionInfo", "send the section: CProxySection_X"},
	{"CkVec", "write a length and an array, as in 'int n, double v[n]'"},
	{NULL, NULL}
};

static const char *foreign_advice(const char *name)
{
	for (int i = 0; foreign_types[i].name != NULL; i++) {
		if (strcmp(foreign_types[i].name, name) == 0)
			return foreign_types[i].instead;
	}
	return NULL;
}

static const struct ci_chare *find_chare(const struct checker *c, const char *name)
{
	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		for (const struct ci_chare *x = m->chares; x != NULL; x = x->next) {
			if (strcmp(x->name, name) == 0)
				return x;
		}
	}
	return NULL;
}

const struct ci_message *check_find_message(const struct checker *c, const char *name)
{
	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		for (const struct ci_message *x = m->messages; x != NULL; x = x->next) {
			if (strcmp(x->name, name) == 0)
				return x;
		}
	}
	return NULL;
}

bool check_is_capitals(const char *name)
{
	while (isupper((unsigned char)*name) || isdigit((unsigned char)*name) || *name == '_')
		name++;
	return *name == '\0';
}

bool check_is_elsewhere(const struct checker *c, const char *name)
{
	for (const struct ci_item *x = c->module->elsewhere; x != NULL; x = x->next) {
		if (strcmp(x->name, name) == 0)
			return true;
	}
	return false;
}

/* The module that says `pup T;` of a type: this one if it does, else another one of the file, or NULL. */
static const struct ci_module *find_pup(const struct checker *c, const char *name)
{
	const struct ci_module *found = NULL;

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		for (const struct ci_pup *x = m->pups; x != NULL; x = x->next) {
			if (x->chare == NULL && strcmp(x->name, name) == 0 && (found == NULL || m == c->module))
				found = m;
		}
	}
	return found;
}

/* To use a name of another module of this file, a module needs `extern module`, which includes that
 * module's decl.h. */
static bool check_visible(struct checker *c, const struct ci_tok *at, const char *name,
			  const struct ci_module *home)
{
	if (home == c->module)
		return true;
	for (const struct ci_item *x = c->module->externs; x != NULL; x = x->next) {
		if (strcmp(x->name, home->name) == 0)
			return true;
	}
	ci_error(c->ci, at->at,
		 ci_fmt(c->ci, "write 'extern module %s;' at the top of module '%s'", home->name,
			c->module->name),
		 "'%s' is declared in module '%s'", name, home->name);
	return false;
}

static const char *message_guess(const struct checker *c, const char *name)
{
	const char *guess = NULL;

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		for (const struct ci_message *x = m->messages; x != NULL && guess == NULL;
		     x = x->next)
			guess = ci_nearest(name, (const char *const[]){x->name, NULL});
	}
	return guess;
}

static const char *chare_guess(const struct checker *c, const char *name)
{
	const char *guess = NULL;

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next) {
		for (const struct ci_chare *x = m->chares; x != NULL && guess == NULL; x = x->next)
			guess = ci_nearest(name, (const char *const[]){x->name, NULL});
	}
	return guess;
}

static bool check_proxy(struct checker *c, struct ci_type *type, const char *name, bool part)
{
	const struct ci_chare *chare = find_chare(c, name);
	const char *guess;

	if (chare == NULL && foreign_advice(type->text) != NULL) {
		ci_error(c->ci, type->tok->at, foreign_advice(type->text), "'%s' is not available", type->text);
		return false;
	}
	if (chare == NULL && (c->parse_failed || c->module->externs != NULL ||
			      c->module->includes != NULL || check_is_elsewhere(c, name)))
		return true;    /* perhaps of another file: the C compiler checks it */
	if (chare == NULL) {
		guess = chare_guess(c, name);
		ci_error(c->ci, type->tok->at, guess != NULL ?
			 ci_fmt(c->ci, "did you mean '%s'?", guess) :
			 "if another file declares it, write 'extern module' with that file's "
			 "module",
			 "there is no chare '%s' for '%s'", name, type->text);
		return false;
	}
	if (!check_visible(c, type->tok, type->text, chare->module))
		return false;
	if (part && (chare->kind == CI_MAINCHARE || chare->kind == CI_CHARE)) {
		ci_error(c->ci, type->tok->at, ci_fmt(c->ci, "write CProxy_%s", name),
			 "%s '%s' is one object: it has no elements and sections",
			 chare->kind == CI_MAINCHARE ? "main chare" : "chare", name);
		return false;
	}
	if (chare->kind == CI_NODEGROUP && strncmp(type->text, "CProxySection_", 14) == 0) {
		ci_error(c->ci, type->tok->at,
			 ci_fmt(c->ci, "send a list of nodes, and call %s_at(p, node) for each; or a "
				"section of a group", name),
			 "'%s' is a nodegroup: only arrays and groups have sections", name);
		return false;
	}
	type->class_ = CI_RUNTIME;
	return true;
}

/* The name without `struct `. */
static const char *plain_name(const struct ci_type *type)
{
	return strncmp(type->text, "struct ", 7) == 0 ? type->text + 7 : type->text;
}

static bool check_named(struct checker *c, struct ci_type *type)
{
	const char *name = plain_name(type);
	const char *advice = foreign_advice(name);

	if (advice != NULL)
		ci_error(c->ci, type->tok->at, advice, "'%s' cannot be sent as a value", name);
	else if (strcmp(name, "string") == 0)
		ci_error(c->ci, type->tok->at, "write a fixed array: char name[64]",
			 "a string can only be a parameter");
	else if (check_find_message(c, name) != NULL)
		ci_error(c->ci, type->tok->at,
			 ci_fmt(c->ci, "write '%s *m', as the only parameter of an entry method or as "
				"a readonly", name),
			 "message '%s' cannot be sent as a value", name);
	else if (find_chare(c, name) != NULL)
		ci_error(c->ci, type->tok->at,
			 ci_fmt(c->ci, "send its proxy: CProxy_%s%s", name,
				find_chare(c, name)->kind == CI_MAINCHARE ||
				find_chare(c, name)->kind == CI_CHARE ? "" :
				ci_fmt(c->ci, " for all, CProxyElement_%s for one", name)),
			 "chare '%s' cannot be sent", name);
	else
		return true;
	return false;
}

/* ckci generates the functions that call T_pup per module, so each module that uses T says `pup
 * T;`. */
static bool check_pup_type(struct checker *c, struct ci_type *type, const struct ci_module *home)
{
	const char *name = plain_name(type);

	if (home != c->module) {
		ci_error(c->ci, type->tok->at,
			 ci_fmt(c->ci, "write 'pup %s;' in module '%s', too", type->text,
				c->module->name),
			 "'%s' is packed by %s_pup in module '%s', but copied as it is in this one",
			 name, name, home->name);
		return false;
	}
	type->class_ = CI_PUP;
	return true;
}

bool check_is_foreign(const struct checker *c, const struct ci_type *type)
{
	const char *name = plain_name(type);

	return type->class_ == CI_USER && strncmp(name, "Ck", 2) != 0 &&
	       strncmp(name, "CProxy", 6) != 0 && strncmp(name, "CmiFloat", 8) != 0 &&
	       strcmp(name, "string") != 0 && check_find_message(c, name) == NULL &&
	       find_chare(c, name) == NULL && find_pup(c, name) == NULL;
}

const char *check_pointer_advice(const struct checker *c, const struct ci_type *type)
{
	const char *name = plain_name(type);

	if (type->class_ == CI_USER && foreign_advice(name) != NULL)
		return foreign_advice(name);
	if (find_chare(c, name) != NULL)
		return ci_fmt(c->ci, "write its proxy: CProxy_%s", name);
	if (check_find_message(c, name) != NULL)
		return ci_fmt(c->ci, "write one message: %s *m", name);
	return NULL;
}

bool check_value_type(struct checker *c, struct ci_type *type)
{
	const char *s = type->text;

	if (type->class_ == CI_VOID) {
		ci_error(c->ci, type->tok->at, NULL, "there are no values of type void");
		return false;
	}
	if (type->class_ != CI_USER)
		return true;
	if (is_integer_name(s) || strcmp(s, "CmiFloat4") == 0 || strcmp(s, "CmiFloat8") == 0) {
		type->class_ = is_integer_name(s) ? CI_INTEGER : CI_FLOATING;
		return true;
	}
	if (strcmp(s, "CkDirectHandle") == 0)
		c->module->uses_direct = true;
	if (is_runtime_name(s)) {
		type->class_ = CI_RUNTIME;
		return true;
	}
	if (strncmp(s, "CProxy_", 7) == 0)
		return check_proxy(c, type, s + 7, false);
	if (strncmp(s, "CProxyElement_", 14) == 0 || strncmp(s, "CProxySection_", 14) == 0)
		return check_proxy(c, type, s + 14, true);
	if (find_pup(c, plain_name(type)) != NULL)
		return check_pup_type(c, type, find_pup(c, plain_name(type)));
	return check_named(c, type);
}

/* Report a pointer to something that is no message, and say what C programs send instead. */
static bool check_other_pointer(struct checker *c, const struct ci_type *type, const char *name)
{
	const char *t = type->text;
	const char *length = strcmp(name, "n") == 0 ? "len" : "n";
	const char *advice = foreign_advice(plain_name(type));
	bool known = type->class_ != CI_USER || is_integer_name(t) || is_runtime_name(t) ||
		     strncmp(t, "CProxy", 6) == 0;

	if (advice != NULL) {
		ci_error(c->ci, type->tok->at, advice, "'%s *' cannot be a parameter", t);
	} else if (type->class_ == CI_VOID) {
		ci_error(c->ci, type->tok->at, "write 'int n, char data[n]' for n bytes",
			 "an address means nothing to another chare: '%s' cannot be sent", name);
	} else if (find_pup(c, plain_name(type)) != NULL) {
		ci_error(c->ci, type->tok->at,
			 ci_fmt(c->ci, "write '%s %s': the handler gets 'const %s *'", t, name, t),
			 "'%s' is packed by %s_pup: say so without the '*'", name,
			 plain_name(type));
	} else if (known) {
		ci_error(c->ci, type->tok->at,
			 ci_fmt(c->ci, "write 'int %s, %s %s[%s]' for an array, '%s %s' for one "
				"value", length, t, name, length, t, name),
			 "an address means nothing to another chare: '%s' cannot be sent", name);
	} else if (!c->parse_failed) {
		const char *guess = message_guess(c, plain_name(type));

		ci_error(c->ci, type->tok->at, guess != NULL ?
			 ci_fmt(c->ci, "did you mean '%s'?", guess) :
			 ci_fmt(c->ci, "declare 'message %s { ... };'; or write '%s %s' for one "
				"struct by value, 'int %s, %s %s[%s]' for several",
				plain_name(type), t, name, length, t, name, length),
			 "'%s' is not a message, so '%s *%s' cannot be sent", t, t, name);
	}
	return false;
}

bool check_pointer_type(struct checker *c, struct ci_type *type, const char *name,
			enum ci_param_kind *kind_p)
{
	const char *t = plain_name(type);
	const struct ci_message *m = check_find_message(c, t);

	if (type->stars > 1) {
		ci_error(c->ci, type->tok->at, "write one array: 'int n, double v[n]'",
			 "pointers to pointers cannot be sent");
		return false;
	}
	if (strcmp(type->text, "char") == 0)
		*kind_p = CI_PARAM_STRING;
	else if (strcmp(t, "CkArgMsg") == 0)
		*kind_p = CI_PARAM_ARGS;
	else if (strcmp(t, "CkReductionMsg") == 0)
		*kind_p = CI_PARAM_REDUCTION;
	else if (ci_is_built_in(t))
		*kind_p = CI_PARAM_MESSAGE;
	else if (m != NULL && !check_visible(c, type->tok, t, m->module))
		return false;
	else if (m != NULL || (type->class_ == CI_USER &&
			       (c->module->externs != NULL || check_is_elsewhere(c, t)) &&
			       strncmp(type->text, "Ck", 2) != 0 &&
			       strncmp(type->text, "CProxy", 6) != 0 &&
			       !is_integer_name(type->text) && find_chare(c, t) == NULL &&
			       find_pup(c, t) == NULL))
		*kind_p = CI_PARAM_MESSAGE;     /* perhaps of an extern module */
	else if (find_chare(c, t) != NULL)
		return check_named(c, type);
	else
		return check_other_pointer(c, type, name);
	type->text = t;
	if (*kind_p != CI_PARAM_MESSAGE || m != NULL || ci_is_built_in(t))
		type->class_ = CI_RUNTIME;
	return true;
}

bool check_variable_name(struct checker *c, const struct ci_tok *tok, const char *name)
{
	static const char *const macros[] = {
		"linux", "unix", "i386", "NULL", "errno", "EOF", "stdin", "stdout", "stderr",
		"NAN", "INFINITY", "I", NULL
	};

	if (ci_is_cpp_keyword(name))
		ci_error(c->ci, tok->at, ci_fmt(c->ci, "write %s_, for example", name),
			 "'%s' is a keyword of C++, which may read the generated header too", name);
	else if (in_list(name, macros))
		ci_error(c->ci, tok->at, ci_fmt(c->ci, "write %s_, for example", name),
			 "'%s' is a macro of the compiler or the C library", name);
	else if (strncmp(name, "ck_", 3) == 0)
		ci_error(c->ci, tok->at, "choose another name",
			 "'%s': names that begin with ck_ belong to the generated code", name);
	else
		return true;
	return false;
}
