/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.h: from tokens to the tree of ast.h.
 */
#ifndef CI_PARSE_H
#define CI_PARSE_H

#include "ast.h"

/** The file's modules; errors go to ci_error, and what could be understood is returned. */
struct ci_module *ci_parse(struct ci *ci);

#endif
