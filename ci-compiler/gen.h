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

/** What a call can be made to: the proxy's type, the stub's ending, the runtime's functions. */
struct gen_form {
	const char *proxy, *suffix;
	const char *send, *cb;
	const char *target;         /* how they are given the proxy ck_to */
};

/** The forms that calls of c's entry methods have, ended by one without a proxy. */
const struct gen_form *gen_forms(const struct ci_chare *c);

/** One object: a main chare or a singleton chare. */
bool gen_is_single(const struct ci_chare *c);

/** The constructor's parameters of a stub that creates, or of a stub that calls:
 * "int n, const double *v" with `lead` before it; nothing when there are no parameters. */
void gen_params(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** The same as the handler gets them: a nocopy array is a pointer there. */
void gen_handler_params(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** A parameter's type with what stands between it and the name: "int ", "const double *". */
const char *gen_param_type(struct ci *ci, const struct ci_param *q, bool handler);

/** It has a body, or a `when` waits for it: the program has no handler of it. */
bool gen_is_sdag(const struct ci_entry *e);

/** What the handler returns, with a space where a name follows: "void ", "Block *". */
const char *gen_answer(struct ci *ci, const struct ci_entry *e);

bool gen_returns(const struct ci_entry *e);

/** The same, the names alone. */
void gen_args(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** Anything among the parameters that only the C compiler can check. */
bool gen_has_user_type(const struct ci_entry *e);

/** The tokens of an expression over e's parameters (NULL: constants); a name is cast to long
 * long when `wide`. */
void gen_expr(struct ci_out *o, const struct ci_expr *x, const struct ci_entry *e, bool wide);

/** The tokens as they stand in the file. */
void gen_text(struct ci_out *o, const struct ci_expr *x);

/** Around all code: a parameter may have the name of a global of the program. */
void gen_shadow_begin(struct ci_out *o);
void gen_shadow_end(struct ci_out *o);

/** Only numbers and integer parameters: nothing for the C compiler to complain of. */
bool gen_is_plain(const struct ci_expr *x, const struct ci_entry *e);

/** "size_t n_a, size_t n_idx": the lengths of a message's variable arrays, or "void". */
void gen_message_params(struct ci_out *o, const struct ci_message *x);

/** There are stubs that send: not for constructors, nor for what only reductions can call, nor
 * for [sync] and [local], which have a stub of their own. */
bool gen_has_stub(const struct ci_entry *e);

/** All parameters are values that an assignment copies. */
bool gen_only_values(const struct ci_entry *e);

/** Its stub of one element makes the message where it is queued (CkGen_open): the size of the
 * parameters is constant, the index is one number, and the entry has no attributes. */
bool gen_opens(const struct ci_chare *c, const struct ci_entry *e);

/** A callback may target it. */
bool gen_has_cb(const struct ci_entry *e);

bool gen_takes_message(const struct ci_entry *e);
bool gen_takes_reduction(const struct ci_entry *e);

#endif
