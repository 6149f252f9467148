/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chare_trace.h: the room trace/: what chares add to the trace of their PE (CK_TRACE).
 *
 * Owns     records of entry methods, of new elements and of contributions; the program's own events
 *          (CkTraceBegin and the like).
 * Called   by programs. The rest calls nobody: functions in the tables of the program's types and of the kinds
 *          of chares are replaced when the job starts with CK_TRACE. Without it the part is off and costs
 *          nothing.
 * Calls    core/.
 */
#ifndef CK_CHARE_TRACE_H
#define CK_CHARE_TRACE_H

#include "../core/core.h"

enum { PART_TRACE = 26 };
extern const struct ck_part trace_part;

/** When the program's types are known: make the tables with which they are traced. 0, or a negative
 * errno. */
int trace_program(struct node *node);

/** The scheduler's upcall: [sync] calls and others that need more than delivery use the word. */
bool trace_word_in_use(const struct cmi_msg *m);

#endif
