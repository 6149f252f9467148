/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen.h: prints the checked tree as C text.
 *
 * ckci(1) describes both files of a module. Every user of the module includes X.decl.h first. One file,
 * which defines the chares' structs, includes X.def.h last.
 */
#ifndef CI_GEN_H
#define CI_GEN_H

#include "ast.h"
#include "out.h"

void ci_gen_decl(struct ci_out *o, const struct ci_module *m);
void ci_gen_def(struct ci_out *o, const struct ci_module *m);

/* ---- gen_pup.c: what functions of the program pack ------------------------------------- */

/** Print the declarations of the functions that the program writes. */
/** Whether the lists of its pups have ends of channels. */
bool gen_has_ends(const struct ci_module *m);
void gen_pup_declarations(struct ci_out *o, const struct ci_module *m);

/* ---- gen_util.c: for both files ------------------------------------------------------ */

/** The constructor first, then the others: for (e = first_entry(c); e; e = next_entry(c, e)). */
const struct ci_entry *gen_first_entry(const struct ci_chare *c);
const struct ci_entry *gen_next_entry(const struct ci_chare *c, const struct ci_entry *e);

/** One form of call: the proxy's type, the stub's suffix, the runtime's functions. */
struct gen_form {
	const char *proxy, *suffix;
	const char *send, *cb;
	const char *target;         /* how the stub passes its proxy ck_to to them */
};

/** The forms of calls of c's entry methods; the last element has no proxy and ends the list. */
const struct gen_form *gen_forms(const struct ci_chare *c);

/** The chare is one object: a main chare or a singleton chare. */
bool gen_is_single(const struct ci_chare *c);

/** Print the parameters of e's stub, or of the stub that creates if e is the constructor:
 * "int n, const double *v" with `lead` before it. Print nothing when there are no parameters. */
void gen_params(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** Print the parameters as the handler gets them: a nocopy array is a pointer there. */
void gen_handler_params(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** How many nocopypost arrays e has. If there are any, the program writes X_on_f_post, too. */
int gen_count_posted(const struct ci_entry *e);

/** Print the head of X_on_f_post: the handler's parameters, with the address of the pointer for a
 * nocopypost array. */
void gen_post_handler(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** A parameter's type as it stands before the name: "int ", "const double *". */
const char *gen_param_type(struct ci *ci, const struct ci_param *q, bool handler);

/** e has a body, or a `when` waits for it: the program writes no handler for it. */
bool gen_is_sdag(const struct ci_entry *e);

/** What a stub adds to e's number: " | CKGEN_SEEN" if delivery keeps its calls, or hands them to a
 * body. */
const char *gen_seen(const struct ci_entry *e);

/** A callback with data calls ck_reduced_X_f, not ck_call_X_f. */
bool gen_is_reduced(const struct ci_entry *e);

/** [count]: the calls have parameters besides the round's number, so there is a struct X_f_call. */
bool gen_has_call_struct(const struct ci_entry *e);
/** Print the head of its handler. */
void gen_counted_handler(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** The handler's return type as it stands before a name: "void ", "Block *". */
const char *gen_answer(struct ci *ci, const struct ci_entry *e);

bool gen_returns(const struct ci_entry *e);

/** [arrival, count(n)]: called once for n channels. */
bool gen_is_set(const struct ci_entry *e);
/** [count(n)]: called once for n calls. */
bool gen_counts_calls(const struct ci_entry *e);

/** [arrival]: print the head of the function that makes a receiving end, or a sending one. */
void gen_channel_from(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, bool oob);
void gen_channel_reduced(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);
/** The head of the function that makes all receiving ends of a set ready. */
void gen_channel_ready(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);
void gen_channel_to(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, bool strided);
/** The same for a buffer in a device's memory. */
void gen_channel_from_device(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);
void gen_channel_to_device(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** Print the parameters' names only, as arguments. */
void gen_args(struct ci_out *o, const struct ci_entry *e, const char *lead);

/** A parameter or the answer has a type that only the C compiler can check. */
bool gen_has_user_type(const struct ci_entry *e);

/** Print an expression over e's parameters, or over constants if e is NULL. `wide` casts each name to
 * long long. */
void gen_expr(struct ci_out *o, const struct ci_expr *x, const struct ci_entry *e, bool wide);

/** Print the tokens as they stand in the file. */
void gen_text(struct ci_out *o, const struct ci_expr *x);

/** Around all code, to silence -Wshadow: a parameter may have the name of a global of the
 * program. */
void gen_shadow_begin(struct ci_out *o);
void gen_shadow_end(struct ci_out *o);

/** x has only numbers and integer parameters, so the C compiler finds no fault in it. */
bool gen_is_plain(const struct ci_expr *x, const struct ci_entry *e);

/** Print the lengths of a message's variable arrays as parameters, "size_t n_a, size_t n_idx", or
 * "void". */
void gen_message_params(struct ci_out *o, const struct ci_message *x);

/** e has stubs that send. Constructors have none; [sync] and [local] entries have a different
 * stub. */
bool gen_has_stub(const struct ci_entry *e);

/** All parameters are values that an assignment copies. */
bool gen_only_values(const struct ci_entry *e);

/** The index of an element is one number. */
bool gen_is_line(const struct ci_chare *c);

/** The stub that calls one element makes the message in the queue (CkGen_open): the parameters are
 * values, the index is one number, and no attribute but [reductiontarget] or [aggregate] is set. */
bool gen_opens(const struct ci_chare *c, const struct ci_entry *e);

/** The same for elements of arrays with any index, and for arrays and strings as parameters: the
 * stub with options does so when it gets none. */
bool gen_opens_element(const struct ci_chare *c, const struct ci_entry *e);
/** And so does a stub of its own, whose fast path is inline (CkGen_openHere): the index is one
 * number, there are arrays, no strings, and the call is not [inline]: such a call seldom stays on
 * its PE. */
bool gen_sends_line(const struct ci_chare *c, const struct ci_entry *e);
/** The suffix of the functions that open and close such a call. */
static inline const char *gen_open_kind(const struct ci_entry *e) { return e->attrs & CI_CHANNEL ? "Channel" : "Element"; }
static inline const char *gen_close_kind(const struct ci_entry *e) { return e->attrs & CI_CHANNEL ? "Channel" : ""; }

/** There is X_f_prepare: a [channel] entry has arrays, which the caller may write in place. */
bool gen_prepares(const struct ci_chare *c, const struct ci_entry *e);
/** Print its head, without the end of the line. */
void gen_prepare_head(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** A callback with data may target e. */
bool gen_has_cb(const struct ci_entry *e);
/** A callback with data, or with a message, may target e. */
bool gen_is_target(const struct ci_entry *e);

bool gen_takes_message(const struct ci_entry *e);
bool gen_takes_reduction(const struct ci_entry *e);

/** The message is one of the runtime's own types, so callbacks can call e, too. */
bool gen_takes_built_in(const struct ci_entry *e);

#endif
