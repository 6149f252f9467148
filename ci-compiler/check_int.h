/* SPDX-License-Identifier: Apache-2.0 */
/* check_int.h: shared by the files of the checker. */
#ifndef CI_CHECK_INT_H
#define CI_CHECK_INT_H

#include "ast.h"

struct checker {
	struct ci *ci;
	struct ci_module *modules;
	struct ci_module *module;       /* the one being checked */
	bool parse_failed;
};

/* ---- check_type.c ---------------------------------------------------------------------- */

/** Check a type that is sent or stored by value, and set type->class_. False after an error. */
bool check_value_type(struct checker *c, struct ci_type *type);

/** ckci knows nothing of this name: it is a type of the user's and copied as it is. */
bool check_is_foreign(const struct checker *c, const struct ci_type *type);

/** What to write instead of a pointer of this type where only a value may stand; or NULL. */
const char *check_pointer_advice(const struct checker *c, const struct ci_type *type);

/** The message of that name in any module of the file, or NULL. */
const struct ci_message *check_find_message(const struct checker *c, const char *name);

/** The name is in capitals, as macros and enum constants are. */
bool check_is_capitals(const char *name);

/** `extern message M;` or the like says that another file declares this name. */
bool check_is_elsewhere(const struct checker *c, const char *name);

/** Check a pointer parameter: *kind_p becomes STRING, MESSAGE, ARGS or REDUCTION. False after an
 * error: no other pointer can be sent. */
bool check_pointer_type(struct checker *c, struct ci_type *type, const char *name,
			enum ci_param_kind *kind_p);

/** Check the name of a parameter, member or readonly: no keyword, no name of the runtime's. False
 * after an error. */
bool check_variable_name(struct checker *c, const struct ci_tok *tok, const char *name);

/* ---- check.c ---------------------------------------------------------------------------- */

/** Report a global or a type with the name of the handler's first parameter, which would hide it. */
void check_not_self(struct checker *c, const struct ci_tok *name);

/* ---- check_pup.c ------------------------------------------------------------------------ */

/** Find the chares that `pup X;` names, in all modules, before anything else is checked. */
void check_link_pups(struct checker *c);

void check_pup(struct checker *c, const struct ci_pup *x);

/* ---- check_entry.c --------------------------------------------------------------------- */

void check_entry(struct checker *c, const struct ci_chare *chare, struct ci_entry *e);

/** Check only the parameters. False after an error. */
bool check_entry_params(struct checker *c, struct ci_entry *e);

struct ci_param *check_find_param(const struct ci_entry *e, const char *name);
const struct ci_field *check_find_readonly(const struct checker *c, const char *name);

/* ---- check_attr.c ---------------------------------------------------------------------- */

/** Check the attributes against each other, the chare and the parameters, and the answer's type.
 * False after an error. */
bool check_attributes(struct checker *c, const struct ci_chare *chare, struct ci_entry *e);

/* ---- check_sdag.c ---------------------------------------------------------------------- */

/** Check the chare's bodies and whens. The caller has checked all entry methods before. */
void check_sdag(struct checker *c, const struct ci_chare *chare);

/* ---- collide.c ------------------------------------------------------------------------- */

/** Report modules of the same name. */
void check_modules(struct checker *c);

/** Report C names that two declarations would make. */
void check_collisions(struct checker *c);

#endif
