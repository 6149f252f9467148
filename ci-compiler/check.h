/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: what the grammar cannot see: types, lengths, doubled names.
 */
#ifndef CI_CHECK_H
#define CI_CHECK_H

#include "ast.h"

/** Check all modules and fill in the fields of the tree that are marked so. Errors go to
 * ci_error. After errors of the parser a name may be unknown only because its declaration
 * was lost, so unknown names are then not reported. */
void ci_check(struct ci *ci, struct ci_module *modules);

#endif
