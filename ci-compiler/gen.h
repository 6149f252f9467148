/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen.h: from the checked tree to C text.
 *
 * Both files of a module are described in ckci(1): X.decl.h is included first by everyone,
 * X.def.h last by one file, which has the chares' structs.
 */
#ifndef CI_GEN_H
#define CI_GEN_H

#include "ast.h"
#include "out.h"

void ci_gen_decl(struct ci_out *o, const struct ci_module *m);
void ci_gen_def(struct ci_out *o, const struct ci_module *m);

/* ---- gen_util.c: what both say alike --------------------------------------------------- */

/** The constructor first, then the others: for (e = first_entry(c); e; e = next_entry(c, e)). */
const struct ci_entry *gen_first_entry(const struct ci_chare *c);
const struct ci_entry *gen_next_entry(const struct ci_chare *c, const struct ci_entry *e);

/** "int n, const double *v" with `lead` before it; nothing when there are no parameters. */
void gen_params(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** The same, the names alone. */
void gen_args(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** "T" with const and star as a parameter has it in C. */
void gen_param_type(struct ci_out *o, const struct ci_param *q);

/** Anything among the parameters that only the C compiler can check. */
bool gen_has_user_type(const struct ci_entry *e);

/** The tokens of an expression; a name is cast to long long when `wide`. */
void gen_expr(struct ci_out *o, const struct ci_expr *x, bool wide);

/** Around all code: a parameter may have the name of a global of the program. */
void gen_shadow_begin(struct ci_out *o);
void gen_shadow_end(struct ci_out *o);

/** Only numbers and integer parameters: nothing for the C compiler to complain of. */
bool gen_is_plain(const struct ci_expr *x, const struct ci_entry *e);

/** "size_t n_a, size_t n_idx": the lengths of a message's variable arrays, or "void". */
void gen_message_params(struct ci_out *o, const struct ci_message *x);

/** There is a stub: not for constructors, nor for what only reductions can call. */
bool gen_has_stub(const struct ci_entry *e);

/** A callback may target it. */
bool gen_has_cb(const struct ci_entry *e);

bool gen_takes_message(const struct ci_entry *e);
bool gen_takes_reduction(const struct ci_entry *e);

#endif
