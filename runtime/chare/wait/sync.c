/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c: [sync] calls: the caller's thread waits for the answer. One number in the call's head
 * (`word`) identifies the caller: slot * PEs + PE. So such a call has no priority. The answer is a
 * message to that slot. If the handler returns a message, that is the answer; otherwise the payload
 * is the value's bytes.
 */
#include "../../scheduler/cth.h"
#include "../core/shape.h"
#include "extra.h"

#include <string.h>

struct sync_call {
	uint32_t next;            /* free ones (slots.h) */
	CthThread thread;         /* NULL: the slot is free */
	struct ck_env *answer;    /* set before the thread continues */
	int entry;                /* the called entry, and where: for reports, and to check the answer */
	const CkGenChare *chare;
	CkElement callee;
};

/* ---- slots ----------------------------------------------------------------------------------- */

enum { H_ANSWER };

static struct slots *sync_calls(const struct pe *pe) { return ck_state(pe, PART_SYNC); }

static struct sync_call *call_at(const struct pe *pe, uint32_t no)
{
	return slot_at(sync_calls(pe), no);
}

static uint32_t call_open(struct pe *pe, const CkGenChare *chare, int entry,
			  const CkElement *callee)
{
	uint32_t no = slot_take(sync_calls(pe), "calls that wait for their answers");

	if (no > (UINT32_MAX - (uint32_t)pe->id) / (uint32_t)pe->node->job->n_pes)
		csd_abort(pe, "no room for %u calls that wait for their answers", no);
	*call_at(pe, no) = (struct sync_call){ .thread = CthSelf(), .entry = entry, .chare = chare,
					       .callee = *callee };
	return no;
}

/* ---- the caller ------------------------------------------------------------------------------ */

/* Take a slot for the answer, and write it into the call. */
uint32_t sync_ask(struct pe *pe, const CkGenChare *chare, int entry, const CkElement *callee,
		  void *payload)
{
	struct ck_env *env = env_of(payload);
	char name[128];

	if (!CthSelf())
		csd_abort(pe, "call of %s, which answers: only a [threaded] entry method can wait for "
			  "it; declare the caller so", describe_entry(chare, entry, name, sizeof name));
	uint32_t slot = call_open(pe, chare, entry, callee);

	if (chare->entries[entry].flags & CKGEN_MESSAGE) {
		/* A message may have a priority from its previous send. */
		csd_clear_prio(&env->head);
		env->head.flags &= (uint8_t)~CMI_F_LIFO;
	}
	env->head.word = slot * (uint32_t)pe->node->job->n_pes + (uint32_t)pe->id;
	return slot;
}

static struct ck_env *sync_await(struct pe *pe, uint32_t slot)
{
	struct ck_env *env;

	/* Other code may awaken this thread before the answer is there. */
	while (!(env = call_at(pe, slot)->answer))
		CthSuspend();
	call_at(pe, slot)->thread = NULL;
	slot_give(sync_calls(pe), slot);
	return env;
}

static void *message_of(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	if (env->flags & CK_PART_EMPTY) {
		csd_msg_free(pe, &env->head);
		return NULL;
	}
	if (env->flags & CK_ENV_PACKED)
		env = message_unpack(pe, e->reply, env);
	env->head.mark = OWNER_PROGRAM;
	return payload_of(env);
}

void sync_take_answer(struct pe *pe, const CkGenEntry *e, uint32_t slot, void *reply)
{
	struct ck_env *env = sync_await(pe, slot);

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
	struct pe *pe = ck_self_calls(chare, entry);
	uint32_t slot = sync_ask(pe, chare, entry, e, payload);

	if (chare->kind == CKGEN_MAINCHARE)
		CkGen_sendMain(chare, (CkProxy){ e->id }, entry, payload, NULL);
	else
		CkGen_send(chare, e, entry, payload, NULL);
	sync_take_answer(pe, &chare->entries[entry], slot, reply);
}

/* The answer has everything that the caller reads. */
static bool answer_fits(const CkGenEntry *e, const struct ck_env *env)
{
	const size_t room = env->head.size - sizeof *env;

	if (!e->reply_message)
		return room >= e->reply_bytes;
	if (env->flags & CK_PART_EMPTY)
		return true;
	if (env->flags & CK_ENV_PACKED)
		return e->reply->unpack && !env->more;
	return !e->reply->fits || e->reply->fits(env + 1, room);
}

static const char *answer_misfit(const struct pe *pe, const struct ck_env *env)
{
	const uint32_t n = sync_calls(pe)->n;
	const struct sync_call *call =
		env->slot && env->slot < n ? call_at(pe, (uint32_t)env->slot) : NULL;

	if (!call || !call->thread || call->answer)
		return "nobody waits for it";
	return answer_fits(&call->chare->entries[call->entry], env) ?
		       NULL :
		       "it is not the answer that the call expects";
}

/* An answer of this process is checked, too: its caller was named by a call of another process. */
static void answer_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const char *why = answer_misfit(pe, env);

	if (why)
		csd_misfit(pe, m, why);
	struct sync_call *call = call_at(pe, (uint32_t)env->slot);

	call->answer = env;
	CthResume(call->thread);
}

/* ---- the callee ------------------------------------------------------------------------------ */

/* Take the message that the handler returned; it may be the handler's own parameter. */
static struct ck_env *given(struct pe *pe, const CkGenEntry *e, void *msg, int dst_pe)
{
	struct ck_env *env;

	if (!msg) {
		env = env_new(pe, 0, 0);
		env->flags = CK_PART_EMPTY;
		return env;
	}
	env = env_of(msg);
	if (pe->node->check)
		owner_check_use(pe, env, "the answer of a [sync] entry method");
	if (env == ck_of(pe)->now.env)
		ck_of(pe)->now.env = NULL;
	env->call = 0;
	if (e->reply->pack && pe->node->job->node_of[dst_pe] != pe->node->job->node)
		env = message_pack(pe, e->reply, env);
	return env;
}

/* Call the handler and send its answer. */
static bool sync_answer(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];
	const uint32_t who = env->head.word, n_pes = (uint32_t)pe->node->job->n_pes;
	const int dst_pe = (int)(who % n_pes);
	struct ck_env *answer;
	void *msg = NULL;

	(void)shared;
	ck_of(pe)->now = (struct ck_running){ obj, env, env->entry };
	if (e->reply_message) {
		e->answer(self_of(obj), payload_of(env), &msg);
		answer = given(pe, e, msg, dst_pe);
	} else {
		answer = env_new(pe, 0, e->reply_bytes);
		e->answer(self_of(obj), payload_of(env), payload_of(answer));
	}
	ck_of(pe)->now.obj = NULL;
	answer->slot = who / n_pes;
	answer->head.route = (struct cmi_msg){ .handler = ck_handler(pe, PART_SYNC, H_ANSWER),
					       .mark = OWNER_SENT }.route;
	csd_send(pe, dst_pe, &answer->head);
	return true;
}

/* ---- the part -------------------------------------------------------------------------------- */

static void sync_pe_start(struct pe *pe)
{
	sync_calls(pe)->bytes = sizeof(struct sync_call);
}

static void sync_describe(struct pe *pe, struct csd_told *to)
{
	for (uint32_t i = 1; i < sync_calls(pe)->n; i++) {
		const struct sync_call *c = call_at(pe, i);

		if (!c->thread || c->answer)
			continue;
		const struct csd_wait w = { .who = thread_thing(c->thread),
					    .on = element_thing(c->chare, c->callee.id, c->callee.index) };

		csd_tell(to, &w, "waits for the answer of %s, which it called at %s",
			 entry_thing(c->chare, (uint32_t)c->entry).name, w.on.name);
	}
}

/* Free the slots; calls of threads that the end of the job has dropped may still be in them. */
static void sync_pe_stop(struct pe *pe)
{
	slots_free(sync_calls(pe));
}

static const struct ck_handler handlers[] = {
	[H_ANSWER] = { "ck.answer", answer_arrived, .shape = { CK_SHAPE_CALL } },
};
static const struct ck_attribute attributes[] = { { CKGEN_SYNC, CK_RUNS, sync_answer } };

const struct ck_part sync_part = {
	.name = "sync",
	.number = PART_SYNC,
	.pe_bytes = sizeof(struct slots),
	.handlers = CK_LIST(handlers),
	.attributes = CK_LIST(attributes),
	.pe_start = sync_pe_start,
	.describe = sync_describe,
	.save.refuse = sync_describe,
	.pe_stop = sync_pe_stop,
};
