/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_int.h: what the files of the checker share.
 */
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

/** A type that is sent or stored by value; sets type->class_. */
bool check_value_type(struct checker *c, struct ci_type *type);

/** A name that ckci knows nothing of: a type of the user's, to be copied as it is. */
bool check_is_foreign(const struct checker *c, const struct ci_type *type);

/** What to write in place of a pointer of this type, where only a value can be; or NULL. */
const char *check_pointer_advice(const struct checker *c, const struct ci_type *type);

/** The message of that name in any module of the file, or NULL. */
const struct ci_message *check_find_message(const struct checker *c, const char *name);

/** The one pointer parameter that may be: *kind_p becomes STRING, MESSAGE, ARGS, REDUCTION. */
bool check_pointer_type(struct checker *c, struct ci_type *type, const char *name,
			enum ci_param_kind *kind_p);

/** A parameter's, member's or readonly's name: no keyword, none of the runtime's. */
bool check_variable_name(struct checker *c, const struct ci_tok *tok, const char *name);

/* ---- check_entry.c --------------------------------------------------------------------- */

void check_entry(struct checker *c, const struct ci_chare *chare, struct ci_entry *e);

/** Only its parameters. False after an error. */
bool check_entry_params(struct checker *c, struct ci_entry *e);

struct ci_param *check_find_param(const struct ci_entry *e, const char *name);
const struct ci_field *check_find_readonly(const struct checker *c, const char *name);

/* ---- check_attr.c ---------------------------------------------------------------------- */

/** The attributes with each other, with the chare and with the parameters; the answer's type.
 * False after an error. */
bool check_attributes(struct checker *c, const struct ci_chare *chare, struct ci_entry *e);

/* ---- check_sdag.c ---------------------------------------------------------------------- */

/** What bodies and whens ask of the chare's entry methods; all of these are checked already. */
void check_sdag(struct checker *c, const struct ci_chare *chare);

/* ---- collide.c ------------------------------------------------------------------------- */

/** The C names that the generators will make are all different. */
void check_collisions(struct checker *c);

#endif
