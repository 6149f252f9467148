/* SPDX-License-Identifier: Apache-2.0 */
/*
 * built_in.c: the runtime's own types of messages. All but CkMessage begin with a CkReductionMsg,
 * the message of callbacks, so the same handler serves callbacks and calls.
 */
#include <string.h>

#include "message.h"

static bool created_fits(const void *m, size_t bytes)
{
	return bytes >= sizeof(CkArrayCreatedMsg) && CkGen_resultFits(m, bytes);
}

/* Only the program knows its type. */
static bool any_fits(const void *m, size_t bytes)
{
	(void)m, (void)bytes;
	return true;
}

const CkGenMessage ck_type_CkReductionMsg = { "CkReductionMsg", NULL, NULL, NULL,
					      CkGen_resultFits };
const CkGenMessage ck_type_CkDataMsg = { "CkDataMsg", NULL, NULL, NULL, CkGen_resultFits };
const CkGenMessage ck_type_CkQdMsg = { "CkQdMsg", NULL, NULL, NULL, CkGen_resultFits };
const CkGenMessage ck_type_CkArrayCreatedMsg = { "CkArrayCreatedMsg", NULL, NULL, NULL,
						 created_fits };
const CkGenMessage ck_type_CkMessage = { "CkMessage", NULL, NULL, NULL, any_fits };

CkDataMsg *CkDataMsg_buildNew(size_t bytes, const void *data)
{
	if (bytes > PTRDIFF_MAX / 2)
		csd_abort(ck_self(), "CkDataMsg_buildNew: there are no %zu bytes", bytes);
	CkDataMsg *m = CkGen_allocMsg(sizeof *m + bytes);

	*m = (CkDataMsg){ .bytes = bytes, .count = bytes, .type = bytes ? CK_BYTE : CK_NOTYPE };
	if (bytes && data)
		memcpy(m + 1, data, bytes);
	return m;
}

CkQdMsg *CkQdMsg_alloc(void)
{
	return (CkQdMsg *)CkDataMsg_buildNew(0, NULL);
}

_Static_assert(offsetof(CkArrayCreatedMsg, aid) == sizeof(CkReductionMsg),
	       "the id is the message's data");

CkArrayCreatedMsg *CkArrayCreatedMsg_alloc(CkArrayID aid)
{
	CkDataMsg *m = CkDataMsg_buildNew(sizeof aid, &aid);

	m->count = 1;
	m->type = CK_ARRAYID;
	return (CkArrayCreatedMsg *)m;
}

void *CkGen_copyResult(const CkReductionMsg *m)
{
	if (!m)
		csd_abort(ck_self(), "a call with a CkReductionMsg that is NULL");
	CkReductionMsg *copy = CkGen_alloc(sizeof *m + m->bytes);

	memcpy(copy, m, sizeof *m + m->bytes);
	return copy;
}
