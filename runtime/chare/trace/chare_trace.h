/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chare_trace.h: the room trace/: what chares add to the trace of their PE (CK_TRACE).
 *
 * Owns     records of entry methods, of new elements and of contributions; the program's own events
 *          (CkTraceBegin and the like).
 * Called   by programs. It observes (observe.h), watches elements that come and go, and replaces
 *          functions of the kinds of chares. Without CK_TRACE the part is off and costs nothing.
 * Calls    observe/, place/, core/.
 */
#ifndef CK_CHARE_TRACE_H
#define CK_CHARE_TRACE_H

#include "../core/core.h"

enum { PART_TRACE = 28 };
extern const struct ck_part trace_part;

/** The scheduler asks whether a call uses head.word: [sync] and other special calls do. */
bool trace_word_in_use(const struct cmi_msg *m);

#endif
