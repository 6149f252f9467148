/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c: [sync] calls: the caller's thread waits for the answer. The call's envelope says who
 * waits: the PE in `root`, the slot of a future on it in `head.prio`. The answer is a message to
 * that slot, its payload the bytes of the value, or the message that was returned itself.
 */
#include "../scheduler/cth.h"
#include "ck_int.h"

#include <string.h>


/* ---- the caller ---------------------------------------------------------------------------------- */

/* The slot for the answer; the call knows it from here on. */
static uint32_t ask(struct pe *pe, const CkGenChare *chare, int entry, void *payload)
{
	struct ck_env *env = env_of(payload);
	uint32_t slot;
	char name[128];

	if (!CthSelf())
		csd_abort(pe, "call of %s, which answers: only a [threaded] entry method can wait for "
			  "it; declare the caller so", describe_entry(chare, entry, name, sizeof name));
	slot = answer_slot(pe);
	env->refnum = pe->id;
	env->head.prio = (int32_t)slot;
	return slot;
}

static void wait_for(struct pe *pe, const CkGenEntry *e, uint32_t slot, void *reply)
{
	struct ck_env *env = answer_wait(pe, slot);

	if (e->reply_message) {
		void *msg = payload_of(env);

		if (env->flags & CK_ENV_EMPTY) {
			env_unref(pe, env);
			msg = NULL;
		} else if (env->flags & CK_ENV_PACKED) {
			msg = e->reply->unpack(msg);
		}
		memcpy(reply, &msg, sizeof msg);
		return;
	}
	if (e->reply_bytes)
		memcpy(reply, payload_of(env), e->reply_bytes);
	env_unref(pe, env);
}

void CkGen_sync(const CkGenChare *chare, const CkElement *e, int entry, void *payload, void *reply)
{
	struct pe *pe = ck_self();
	uint32_t slot = ask(pe, chare, entry, payload);

	if (chare->kind == CKGEN_MAINCHARE)
		CkGen_sendMain(chare, (CkProxy){ e->id }, entry, payload, NULL);
	else
		CkGen_send(chare, e, entry, payload, NULL);
	wait_for(pe, &chare->entries[entry], slot, reply);
}

void CkGen_syncChare(const CkGenChare *chare, CkChareID id, int entry, void *payload, void *reply)
{
	struct pe *pe = ck_self();
	uint32_t slot = ask(pe, chare, entry, payload);

	CkGen_sendChare(chare, id, entry, payload, NULL);
	wait_for(pe, &chare->entries[entry], slot, reply);
}

/* ---- the one that is asked ------------------------------------------------------------------------- */

/* The message that the handler returned is ours now; it may be its own parameter. */
static struct ck_env *take_answer(struct pe *pe, const CkGenEntry *e, void *msg, int dst_pe)
{
	if (!msg) {
		struct ck_env *env = env_new(pe, 0, 0);

		env->flags = CK_ENV_EMPTY;
		return env;
	}
	struct ck_env *env = env_of(msg);
	bool packed = e->reply->pack && pe->node->job->node_of[dst_pe] != pe->node->job->node;

	if (env == pe->ck->now.env)
		pe->ck->now.env = NULL;
	if (packed)
		env = env_of(e->reply->pack(msg));
	env->call = 0;
	env->flags = packed ? CK_ENV_PACKED : 0;
	return env;
}

/* Call the handler and send what it gives. */
void sync_answer(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];
	const int dst_pe = env->refnum;
	const uint32_t slot = (uint32_t)env->head.prio;
	struct ck_env *answer;
	void *msg = NULL;

	pe->ck->now = (struct ck_running){ obj, env, env->entry };
	if (e->reply_message) {
		e->answer(self_of(obj), payload_of(env), &msg);
		answer = take_answer(pe, e, msg, dst_pe);
	} else {
		answer = env_new(pe, 0, e->reply_bytes);
		e->answer(self_of(obj), payload_of(env), payload_of(answer));
	}
	pe->ck->now.obj = NULL;
	answer_send(pe, dst_pe, slot, answer);
}
