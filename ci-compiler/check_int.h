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

/** The one pointer parameter that may be: *kind_p becomes STRING, MESSAGE, ARGS, REDUCTION. */
bool check_pointer_type(struct checker *c, struct ci_type *type, const char *name,
			enum ci_param_kind *kind_p);

/** A parameter's, member's or readonly's name: no keyword, none of the runtime's. */
bool check_variable_name(struct checker *c, const struct ci_tok *tok, const char *name);

/* ---- check_entry.c --------------------------------------------------------------------- */

void check_entry(struct checker *c, const struct ci_chare *chare, struct ci_entry *e);

/* ---- collide.c ------------------------------------------------------------------------- */

/** The C names that the generators will make are all different. */
void check_collisions(struct checker *c);

#endif
