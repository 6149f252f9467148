/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h: parses tokens into the tree of ast.h.
 */
#ifndef CI_PARSE_H
#define CI_PARSE_H

#include "ast.h"

/** Return the file's modules. Report errors to ci_error, and return what the parser understood. */
struct ci_module *ci_parse(struct ci *ci);

#endif
