/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_call.c: answers the scheduler's questions about message memory: may the running code
 * wait for space, and which messages fill it (room.c, report.c of the scheduler). Names the call
 * that a program forgot to commit.
 */
#include "call.h"

#include <stdio.h>

/* A constructor may run in the middle of a creation, which must not be interrupted. */
bool ck_may_wait(const struct pe *pe)
{
	const struct ck_running *now = &ck_of(pe)->now;

	return !now->obj || now->entry != 0;
}

/* The message may be in use elsewhere, and its collection unknown here. */
int ck_describe_message(struct pe *pe, const struct cmi_msg *m, char *buf, size_t len)
{
	const struct ck_env *env = (const struct ck_env *)m;
	bool all = m->handler == ck_handler(pe, PART_CALL, H_BCAST);
	char name[128];

	if (aggregate_describe(pe, m, buf, len))
		return -1;
	if (!all && m->handler != ck_handler(pe, PART_CALL, H_ELEMENT))
		return -1;
	struct collection *c = idmap_get(&ck_of(pe)->colls, env->coll);

	if (!c || !c->type) {
		snprintf(buf, len, "calls of a chare");
		return -1;
	}
	snprintf(buf, len, "%s of %s", all ? "broadcasts" : "calls",
		 describe_entry(c->type, env->entry, name, sizeof name));
	return all || (env->flags & CK_ENV_UNPLACED) || env->place >= c->homes.total ?
		       -1 : coll_home(pe, c, env->place);
}

const char *prepared_describe(struct pe *pe, char *buf, size_t len)
{
	const struct ck_env *env = env_of(ck_of(pe)->prepared);
	char name[128];

	snprintf(buf, len, "%s was prepared and has not been committed",
		 describe_entry(coll_get(pe, env->coll)->type, env->entry, name, sizeof name));
	return buf;
}

void prepared_left(struct pe *pe)
{
	char what[192];

	csd_abort(
		pe,
		"%s: write its arrays, then call CkCommit, before anything else is prepared and before the "
		"handler waits",
		prepared_describe(pe, what, sizeof what));
}
