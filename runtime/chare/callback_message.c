/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback_message.c: callbacks that carry a message of the program. A callback to an entry becomes
 * the call that its stub would make, so the message is packed, checked and given away as in any
 * call. The room that owns the target makes it (ck_callback_kind.give).
 */
#include <stdio.h>

#include "call/call.h"
#include "core/objects/unset.h"
#include "ckgen.h"

_Noreturn static void cannot(struct pe *pe, const CkCallback *cb, const CkGenMessage *type,
			     const char *why)
{
	char name[128];

	callback_describe(pe, cb, name, sizeof name);
	csd_abort(pe, "%s_sendToCallback: %s %s", type->name, name, why);
}

/* For an entry without parameters, or no target: frees the message. */
static void send_without(const CkCallback *cb, void *msg)
{
	CkFreeMsg(msg);
	CkCallbackSend(*cb, NULL, 0);
}

static void check_takes(struct pe *pe, const CkCallback *cb, const CkGenEntry *e,
			const CkGenMessage *type)
{
	char why[192];

	/* A CkMessage may be any message, but cannot be unpacked there. */
	if (CSD_LIKELY(e->message == type) || (e->message == &ck_type_CkMessage && !type->pack))
		return;
	if (e->message)
		snprintf(why, sizeof why, "takes a message %s", e->message->name);
	else
		snprintf(why, sizeof why, "takes no message; CkCallbackSendTyped brings it values");
	cannot(pe, cb, type, why);
}

void CkGen_sendToCallback(CkCallback cb, void *msg, const CkGenMessage *type)
{
	struct pe *pe = ck_self();
	const struct ck_callback_kind *k = callback_kind_of(pe, &cb);
	const CkGenChare *chare = NULL;

	if (!msg)
		csd_abort(pe, "%s_sendToCallback: the message is NULL; CkCallbackSend(cb, NULL, 0) sends none",
			  type->name);
	if (callback_refnum(&cb))
		CkSetRefNum(msg, callback_refnum(&cb));
	if (k && k->names == CK_NAMES_UNSENT)
		unset_abort(pe, "CkCallback ", "a message was sent to a callback that was never set");
	if (!k)
		csd_abort(pe, "%s_sendToCallback: the callback was never set (kind %d)", type->name, cb.kind);
	if (k->instead)
		cannot(pe, &cb, type, k->instead);
	if (k->names == CK_NAMES_ENTRY)
		chare = callback_target(pe, &cb);
	if (k->names == CK_NAMES_NOTHING || (chare && chare->entries[cb.entry].flags & CKGEN_NOARGS)) {
		send_without(&cb, msg);
		return;
	}
	if (chare)
		check_takes(pe, &cb, &chare->entries[cb.entry], type);
	k->give(chare, &cb, msg, type);
}
