/* SPDX-License-Identifier: Apache-2.0 */
/* gen_sdag_waits.c: which statements of a body can wait, and for how many calls. */
#include "sdag_int.h"

bool sdag_any_waits(const struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		if (sdag_waits(x))
			return true;
	}
	return false;
}

bool sdag_waits(const struct ci_sdag *x)
{
	return x->kind == CI_SDAG_WHEN || x->kind == CI_SDAG_CASE || sdag_any_waits(x->body) ||
	       sdag_any_waits(x->other);
}

/* Once this branch has begun, it runs to its end without waiting. */
static bool is_plain_part(const struct ci_sdag *x)
{
	return x->kind == CI_SDAG_WHEN ? !sdag_any_waits(x->body) : !sdag_waits(x);
}

/* The branches of x have runs of their own. */
bool sdag_has_parts(const struct ci_sdag *x)
{
	if (x->kind == CI_SDAG_FORALL)
		return sdag_any_waits(x->body);
	if (x->kind != CI_SDAG_OVERLAP)
		return false;
	for (x = x->body; x != NULL; x = x->next) {
		if (!is_plain_part(x))
			return true;
	}
	return false;
}

int sdag_count_calls(const struct ci_sdag *when)
{
	int n = 0;

	for (const struct ci_awaited *a = when->calls; a != NULL; a = a->next)
		n++;
	return n;
}

/* The calls of a when, or of all whens of a case or an overlap. */
int sdag_count_all_calls(const struct ci_sdag *x)
{
	int n = 0;

	if (x->kind == CI_SDAG_WHEN)
		return sdag_count_calls(x);
	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next)
		n += sdag_count_calls(w);
	return n;
}
