/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_int.h: shared by gen_def.c, gen_pack.c and gen_sdag.c. sdag_int.h is for the files of
 * gen_sdag.c.
 */
#ifndef CI_GEN_INT_H
#define CI_GEN_INT_H

#include "gen.h"

/** There is a function ck_pack_X_f, since the payload is not empty. */
bool gen_packs(const struct ci_chare *c, const struct ci_entry *e);

/** Print the function that makes the payload from the arguments, if gen_packs. */
void gen_pack(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** Print X_f_prepare, if gen_prepares. */
void gen_prepare(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** Print the payload's struct and the trampolines that call the handler. */
void gen_unpack(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** Print the struct that e's trampoline fills. Entry methods with a body, and those that a `when`
 * waits for, have no handler. */
void gen_inputs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);

/** How many members of that struct are pointers into the call; ck_pointers_X_f lists them. */
int gen_count_pointers(const struct ci_entry *e);
bool gen_has_pointers(const struct ci_entry *e);

/** Print the state machine of e's body: its run, its functions, its constants. */
void gen_body(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e);
/** Print the table of the chare's bodies by entry, ck_bodies_X. False: it has none, and there is no
 * table. */
bool gen_bodies(struct ci_out *o, const struct ci_chare *c);

/** A call of e may be plain: no parameter but values, and no attribute that delivery must check. */
bool gen_is_call_plain(const struct ci_chare *c, const struct ci_entry *e);

/** ck_fits_X_f, the function that checks a payload from another process; "NULL": its size is
 * enough. */
const char *gen_fits(struct ci *ci, const struct ci_chare *c, const struct ci_entry *e);

/** There is ck_came_X_f, which does that and calls the handler: no other check is needed. */
bool gen_has_came(const struct ci_chare *c, const struct ci_entry *e);

/** The program packs one of the parameters. */
bool gen_has_pup(const struct ci_entry *e);

/** For the chare's table: the functions that call X_pup and X_on_arrived, or "NULL". */
const char *gen_chare_pup(struct ci *ci, const struct ci_chare *c);
const char *gen_chare_padding(struct ci *ci, const struct ci_chare *c);
const char *gen_chare_arrived(struct ci *ci, const struct ci_chare *c);

/** Print the functions by which the runtime calls those of the program. */
void gen_pups(struct ci_out *o, const struct ci_module *m);

/** Print M_pup, for elements that keep a message. */
void gen_message_pup(struct ci_out *o, const struct ci_message *x);

/** A `when` may choose calls of e by their first parameter: there is ck_number_X_f. */
bool gen_has_number(const struct ci_entry *e);

/** How many nocopy arrays e has; ck_ncpy_X_f lists them. */
int gen_count_nocopy(const struct ci_entry *e);

/** Print a stub's parameters as the arguments that the handler takes. */
void gen_direct_args(struct ci_out *o, const struct ci_entry *e);

/** The array of a reduction target (int n, T v[n]), or NULL. */
const struct ci_param *gen_target_array(const struct ci_entry *e);

#endif
