/* SPDX-License-Identifier: Apache-2.0 */
/* unset.h: the names of readonly variables that the program has not set, for messages. */
#ifndef UNSET_H
#define UNSET_H

struct pe;

/** Abort with `why` and, behind it, the readonlies of types that begin with `type` and that are
 * all zero: they were probably what was used. */
_Noreturn void unset_abort(struct pe *pe, const char *type, const char *why);

#endif
