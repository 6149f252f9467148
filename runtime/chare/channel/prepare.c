/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.c: calls whose arrays the caller writes in place: X_f_prepare, then CkCommit. A call to
 * an element of this PE is in the queue already, and no handler runs before this one has ended. Any
 * other call leaves when it is committed; a PE has one such call at a time, and nothing may wait
 * meanwhile.
 */
#include "pattern_int.h"
#include "../core/describe.h"

CkPrepared CkGen_preparedAway(CkPrepared call)
{
	struct pe *pe = ck_self();

	if (CSD_UNLIKELY(ck_of(pe)->prepared != NULL))
		prepared_left(pe);
	ck_of(pe)->prepared = call.payload;
	return call;
}

void CkGen_commit(CkPrepared call)
{
	struct pe *pe = ck_self_in("CkCommit");

	if (CSD_UNLIKELY(!call.payload || ck_of(pe)->prepared != call.payload))
		csd_abort(pe, "CkCommit: this call has been committed already, or was prepared on another PE");
	ck_of(pe)->prepared = NULL;
	CkGen_closeChannel((CkGenOpen){ call.payload, call.away });
}

/* A PE that waits runs no handler, so the call will never be committed. */
void prepared_tell(struct pe *pe, struct csd_told *to)
{
	char what[192];

	if (ck_of(pe)->prepared)
		csd_tell(to, NULL, "%s", prepared_describe(pe, what, sizeof what));
}
