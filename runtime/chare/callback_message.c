/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback_message.c: callbacks that carry a message of the program's. A callback to an entry becomes the
 * call that its stub would make, so the message is packed, checked and given away as in any call. It stands
 * above the rooms because it sends to what all of them own.
 */
#include <stdio.h>

#include "call/call.h"
#include "ckgen.h"

_Noreturn static void cannot(struct pe *pe, const CkCallback *cb, const CkGenMessage *type, const char *why)
{
	char name[128];

	callback_describe(pe, cb, name, sizeof name);
	csd_abort(pe, "%s_sendToCallback: %s %s", type->name, name, why);
}

/* What an entry without parameters, or nobody, does with a message. */
static void send_without(const CkCallback *cb, void *msg)
{
	CkFreeMsg(msg);
	CkCallbackSend(*cb, NULL, 0);
}

static void check_takes(struct pe *pe, const CkCallback *cb, const CkGenEntry *e, const CkGenMessage *type)
{
	char why[192];

	/* A CkMessage may be any message, but nobody could unpack it there. */
	if (CSD_LIKELY(e->message == type) || (e->message == &ck_type_CkMessage && !type->pack))
		return;
	if (e->message)
		snprintf(why, sizeof why, "takes a message %s", e->message->name);
	else
		snprintf(why, sizeof why, "takes no message; CkCallbackSendTyped brings it values");
	cannot(pe, cb, type, why);
}

static void send_to_entry(struct pe *pe, const CkCallback *cb, void *msg, const CkGenMessage *type)
{
	const CkGenChare *chare = callback_target(pe, cb);
	const CkGenEntry *e = &chare->entries[cb->entry];

	if (e->flags & CKGEN_NOARGS) {
		send_without(cb, msg);
		return;
	}
	check_takes(pe, cb, e, type);
	switch ((enum callback_kind)cb->kind) {
	case CB_ELEMENT:
	case CB_NODE:
		CkGen_send(chare, &(CkElement){ cb->id, cb->index, 0 }, cb->entry, msg, NULL);
		return;
	case CB_ALL:
	case CB_NODE_ALL:
		CkGen_sendAll(chare, (CkProxy){ cb->id }, cb->entry, msg, NULL);
		return;
	case CB_MAIN:
		CkGen_sendMain(chare, (CkProxy){ cb->id }, cb->entry, msg, NULL);
		return;
	case CB_CHARE:
		CkGen_sendChare(chare, (CkChareID){ cb->id, cb->index.v[0], 0 }, cb->entry, msg, NULL);
		return;
	default:
		CkGen_sendSection(chare, &(CkSection){ cb->id, cb->reserved[1] }, cb->entry, msg, NULL);
	}
}

void CkGen_sendToCallback(CkCallback cb, void *msg, const CkGenMessage *type)
{
	struct pe *pe = ck_self();

	if (!msg)
		csd_abort(pe, "%s_sendToCallback: the message is NULL; CkCallbackSend(cb, NULL, 0) sends none",
			  type->name);
	if (callback_refnum(&cb))
		CkSetRefNum(msg, callback_refnum(&cb));
	switch ((enum callback_kind)cb.kind) {
	case CB_IGNORE:
	case CB_EXIT:
		send_without(&cb, msg);
		return;
	case CB_FUTURE:
		CkGen_sendToFuture((CkFuture){ cb.id, cb.pe, cb.want }, msg, type);
		return;
	case CB_ELEMENT: case CB_ALL: case CB_MAIN: case CB_SECTION:
	case CB_CHARE: case CB_NODE: case CB_NODE_ALL:
		send_to_entry(pe, &cb, msg, type);
		return;
	case CB_FUNCTION:
		cannot(pe, &cb, type, "takes values and no message; make the callback one to an entry method");
	case CB_THREAD:
		cannot(pe, &cb, type, "takes values and no message; make a future (CkCallbackFuture)");
	default:
		csd_abort(pe, "%s_sendToCallback: the callback was never set (kind %d)", type->name, cb.kind);
	}
}
