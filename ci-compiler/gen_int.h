/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_int.h: between gen_def.c and gen_pack.c.
 */
#ifndef CI_GEN_INT_H
#define CI_GEN_INT_H

#include "gen.h"

/** There is a function ck_pack_X_f: the payload is more than empty. */
bool gen_packs(const struct ci_chare *c, const struct ci_entry *e);

/** The function that makes the payload from the arguments, if there is one. */
void gen_pack(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** The payload's struct and the trampolines that call the handler. */
void gen_unpack(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** An entry method that a `when` waits for has no handler: its trampoline fills this struct. */
void gen_awaited(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** The handler that is a body of Structured Dagger: its declaration, its definition. */
void gen_body_declaration(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);
void gen_body(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** Any parameter that the program packs. */
bool gen_has_pup(const struct ci_entry *e);

/** A `when` waits for it and may choose it by its first parameter: there is ck_number_X_f. */
bool gen_has_number(const struct ci_entry *e);

/** How many nocopy arrays it has: ck_ncpy_X_f lists them. */
int gen_count_nocopy(const struct ci_entry *e);

/** The arguments as the handler takes them, given a stub's parameters. */
void gen_direct_args(struct ci_out *o, const struct ci_entry *e);

/** The array of a reduction target (int n, T v[n]), or NULL. */
const struct ci_param *gen_target_array(const struct ci_entry *e);

#endif
