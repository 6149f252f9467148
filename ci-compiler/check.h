/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: checks what the grammar cannot: types, lengths, doubled names.
 */
#ifndef CI_CHECK_H
#define CI_CHECK_H

#include "ast.h"

/** Check all modules and fill in the fields that ast.h marks "check". Report errors to ci_error.
 * After a parser error, unknown names are not reported: the parser may have lost their declarations. */
void ci_check(struct ci *ci, struct ci_module *modules);

#endif
