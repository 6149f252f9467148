/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c: [sync] calls: the caller's thread waits for the answer. Who waits is one number in the
 * call's envelope, slot * PEs + PE, in the place of its priority, which such a call has not. The
 * answer is a message to that slot: its payload the value's bytes, or what the handler returned,
 * if that is a message.
 */
#include "../scheduler/cth.h"
#include "ck_int.h"

#include <stdlib.h>
#include <string.h>

struct ck_call {
	CthThread thread;
	struct ck_env *answer;    /* set before the thread goes on */
	uint32_t next;            /* free ones; 0: none */
};

/* ---- slots ------------------------------------------------------------------------------------------ */

/* Number 0 is nobody's. */
static void grow(struct pe *pe)
{
	struct ck_pe *ck = pe->ck;
	uint32_t n = ck->n_calls ? ck->n_calls * 2 : 64;
	struct ck_call *calls = realloc(ck->calls, n * sizeof *calls);

	if (!calls || n > UINT32_MAX / (uint32_t)pe->node->job->n_pes)
		csd_abort(pe, "no room for %u calls that wait for their answers", n);
	memset(calls + ck->n_calls, 0, (n - ck->n_calls) * sizeof *calls);
	for (uint32_t i = n - 1; i >= ck->n_calls && i > 0; i--) {
		calls[i].next = ck->free_call;
		ck->free_call = i;
	}
	ck->calls = calls;
	ck->n_calls = n;
}

static uint32_t call_open(struct pe *pe)
{
	if (CSD_UNLIKELY(!pe->ck->free_call))
		grow(pe);
	uint32_t no = pe->ck->free_call;

	pe->ck->free_call = pe->ck->calls[no].next;
	pe->ck->calls[no] = (struct ck_call){ CthSelf(), NULL, 0 };
	return no;
}

/* Calls of threads that the job's end has dropped. */
void calls_fini(struct pe *pe)
{
	free(pe->ck->calls);
}

/* ---- the caller ---------------------------------------------------------------------------------- */

/* The slot for the answer, which the call knows from here on. */
static uint32_t ask(struct pe *pe, const CkGenChare *chare, int entry, void *payload)
{
	struct ck_env *env = env_of(payload);
	char name[128];

	if (!CthSelf())
		csd_abort(pe, "call of %s, which answers: only a [threaded] entry method can wait for "
			  "it; declare the caller so", describe_entry(chare, entry, name, sizeof name));
	uint32_t slot = call_open(pe);

	if (chare->entries[entry].flags & CKGEN_MESSAGE) {
		/* A message may bring a priority along. */
		csd_clear_prio(&env->head);
		env->head.flags &= (uint8_t)~CMI_F_LIFO;
	}
	env->head.prio = (int32_t)(slot * (uint32_t)pe->node->job->n_pes + (uint32_t)pe->id);
	return slot;
}

static struct ck_env *wait_for(struct pe *pe, uint32_t slot)
{
	struct ck_env *env;

	/* Somebody else may awaken this thread; then it is not yet time. */
	while (!(env = pe->ck->calls[slot].answer))
		CthSuspend();
	pe->ck->calls[slot].next = pe->ck->free_call;
	pe->ck->free_call = slot;
	return env;
}

static void *message_of(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	if (env->flags & CK_ENV_EMPTY) {
		csd_msg_free(pe, &env->head);
		return NULL;
	}
	if (env->flags & CK_ENV_PACKED)
		env = message_unpack(pe, e->reply, env);
	env->head.mark = OWNER_PROGRAM;
	return payload_of(env);
}

static void take_answer(struct pe *pe, const CkGenEntry *e, uint32_t slot, void *reply)
{
	struct ck_env *env = wait_for(pe, slot);

	if (e->reply_message) {
		void *msg = message_of(pe, e, env);

		memcpy(reply, &msg, sizeof msg);
		return;
	}
	if (e->reply_bytes)
		memcpy(reply, payload_of(env), e->reply_bytes);
	csd_msg_free(pe, &env->head);
}

void CkGen_sync(const CkGenChare *chare, const CkElement *e, int entry, void *payload, void *reply)
{
	struct pe *pe = ck_self();
	uint32_t slot = ask(pe, chare, entry, payload);

	if (chare->kind == CKGEN_MAINCHARE)
		CkGen_sendMain(chare, (CkProxy){ e->id }, entry, payload, NULL);
	else
		CkGen_send(chare, e, entry, payload, NULL);
	take_answer(pe, &chare->entries[entry], slot, reply);
}

void CkGen_syncChare(const CkGenChare *chare, CkChareID id, int entry, void *payload, void *reply)
{
	struct pe *pe = ck_self();
	uint32_t slot = ask(pe, chare, entry, payload);

	CkGen_sendChare(chare, id, entry, payload, NULL);
	take_answer(pe, &chare->entries[entry], slot, reply);
}

void answer_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct ck_call *call = &pe->ck->calls[env->coll];

	call->answer = env;
	CthResume(call->thread);
}

/* ---- the one that is asked ------------------------------------------------------------------------- */

/* The message that the handler returned is ours now; it may be its own parameter. */
static struct ck_env *given(struct pe *pe, const CkGenEntry *e, void *msg, int dst_pe)
{
	struct ck_env *env;

	if (!msg) {
		env = env_new(pe, 0, 0);
		env->flags = CK_ENV_EMPTY;
		return env;
	}
	env = env_of(msg);
	if (pe->node->check)
		owner_check_use(pe, env, "the answer of a [sync] entry method");
	if (env == pe->ck->now.env)
		pe->ck->now.env = NULL;
	env->call = 0;
	if (e->reply->pack && pe->node->job->node_of[dst_pe] != pe->node->job->node)
		env = message_pack(pe, e->reply, env);
	return env;
}

/* Call the handler and send what it gives. */
void sync_answer(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];
	const uint32_t who = (uint32_t)env->head.prio, n_pes = (uint32_t)pe->node->job->n_pes;
	const int dst_pe = (int)(who % n_pes);
	struct ck_env *answer;
	void *msg = NULL;

	pe->ck->now = (struct ck_running){ obj, env, env->entry };
	if (e->reply_message) {
		e->answer(self_of(obj), payload_of(env), &msg);
		answer = given(pe, e, msg, dst_pe);
	} else {
		answer = env_new(pe, 0, e->reply_bytes);
		e->answer(self_of(obj), payload_of(env), payload_of(answer));
	}
	pe->ck->now.obj = NULL;
	answer->coll = who / n_pes;
	answer->head.route = (struct cmi_msg){ .handler = (uint16_t)pe->node->ck->h_answer,
					       .mark = OWNER_SENT }.route;
	csd_send(pe, dst_pe, &answer->head);
}
