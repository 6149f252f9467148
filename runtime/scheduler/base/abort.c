/* SPDX-License-Identifier: Apache-2.0 */
/* abort.c: the PE of a thread; the end of a job by force, and what a PE was doing then. */
#include "base.h"
#include "../../machine/tools/cmi_plain.h"

#include <stdarg.h>
#include <stdio.h>

_Thread_local struct pe *csd_self_;
_Thread_local struct pe *csd_early_;

/* snprintf of numbers and short strings is async-signal-safe in practice. */
void pe_describe(const struct pe *pe, char *buf, size_t len)
{
	const struct node *node = pe->node;
	char at[160] = "";

	if (node->up.describe)
		node->up.describe(pe, at, sizeof at);
	snprintf(buf, len, "PE %d (node %d)%s%s", pe->id, node->job ? node->job->node : 0,
		 at[0] ? " in " : "", at);
}

_Noreturn void csd_abort(struct pe *pe, const char *fmt, ...)
{
	char why[1024], what[512], where[256];
	locale_t before = cmi_plain_begin();
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	cmi_plain_end(before);
	if (pe) {
		pe_describe(pe, where, sizeof where);
		snprintf(why, sizeof why, "chard: %s: %s", where, what);
	} else {
		snprintf(why, sizeof why, "chard: %s%s",
			 cmi_in_child() ? "in a child of fork, which is not part of the job: " : "",
			 what);
	}
	cmi_abort(pe ? pe->node->machine : NULL, 1, pe != NULL, why);
}

_Noreturn void csd_no_pe(const char *what)
{
	if (csd_early_)
		csd_abort(
			csd_early_,
			"%s: no chare exists yet, and no PE runs; do this in the main chare's constructor, or later",
			what);
	csd_abort(NULL, "%s was called on a thread that is not a PE", what);
}

_Noreturn void abort_no_handler(struct pe *pe, const struct cmi_msg *m)
{
	csd_abort(pe, "message from PE %d names handler %d; there are %d", m->src_pe, m->handler,
		  pe->node->n_handlers);
}
