/* SPDX-License-Identifier: Apache-2.0 */
/*
 * future.c: a value that will be there. A future lives on the PE that made it; threads of that
 * PE wait for it, any PE sends the value, as a message. Each wait gives a reference to the one
 * message. Slots are used again: the upper half of a future's id counts the uses, so that what
 * comes late for a released future is found out.
 */
#include "../scheduler/cth.h"
#include "ck_int.h"

#include <stdlib.h>
#include <string.h>

/* On the stack of the thread that waits. */
struct waiter {
	CthThread thread;
	const CkGenMessage *type; /* what it waits for; NULL: anything */
	struct ck_env *value;     /* set before the thread goes on */
	struct waiter *next;
};

struct ck_slot {
	struct ck_env *value;     /* ours: one reference; NULL: not there yet */
	struct waiter *first, *last;
	uint32_t use;             /* of this slot, from 1 */
	uint32_t next;            /* free ones; 0: none */
	bool open;
};

/* What a value's envelope has for `place`: this, or a number made of its message type's name. */
enum { UNKNOWN_MESSAGE = 0, DATA = 1 };

/* ---- slots ----------------------------------------------------------------------------------------- */

static void grow(struct pe *pe)
{
	struct ck_pe *ck = pe->ck;
	uint32_t n = ck->n_slots ? ck->n_slots * 2 : 64;
	struct ck_slot *slots = realloc(ck->slots, n * sizeof *slots);

	if (!slots)
		csd_abort(pe, "no memory for %u futures", n);
	memset(slots + ck->n_slots, 0, (n - ck->n_slots) * sizeof *slots);
	/* Number 0 is nobody's. */
	for (uint32_t i = n - 1; i >= ck->n_slots && i > 0; i--) {
		slots[i].next = ck->free_slot;
		ck->free_slot = i;
	}
	ck->slots = slots;
	ck->n_slots = n;
}

static uint32_t slot_open(struct pe *pe)
{
	struct ck_pe *ck = pe->ck;

	if (CSD_UNLIKELY(!ck->free_slot))
		grow(pe);
	uint32_t no = ck->free_slot;
	struct ck_slot *s = &ck->slots[no];

	ck->free_slot = s->next;
	s->use++;
	s->open = true;
	return no;
}

static void slot_close(struct pe *pe, uint32_t no)
{
	struct ck_slot *s = &pe->ck->slots[no];

	if (s->value)
		env_unref(pe, s->value);
	s->value = NULL;
	s->open = false;
	s->next = pe->ck->free_slot;
	pe->ck->free_slot = no;
}

void slots_fini(struct pe *pe)
{
	for (uint32_t i = 0; i < pe->ck->n_slots; i++)
		if (pe->ck->slots[i].value)
			env_unref(pe, pe->ck->slots[i].value);
	free(pe->ck->slots);
}

static struct ck_env *reference(struct ck_env *env)
{
	/* Relaxed: the future holds one already, so it cannot reach 0 meanwhile. */
	atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
	return env;
}

/* Until the value is there. */
static void suspend(struct ck_slot *s, struct waiter *me)
{
	me->thread = CthSelf();
	if (s->first)
		s->last->next = me;
	else
		s->first = me;
	s->last = me;
	/* Somebody else may awaken this thread; then it is not yet time. The slot may have moved. */
	while (!me->value)
		CthSuspend();
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* A message that came packed is unpacked for the first who knows its type: nobody has it yet. */
static void unpack(struct pe *pe, struct ck_slot *s, const CkGenMessage *type)
{
	if (type && (s->value->flags & CK_ENV_PACKED))
		s->value = message_unpack(pe, type, s->value);
	s->value->head.mark = OWNER_PROGRAM;
}

/* All get theirs before the first goes on: it may release the future. */
static void value_came(struct pe *pe, struct ck_slot *s, struct ck_env *env)
{
	struct waiter *w = s->first, *next;

	s->first = NULL;
	s->value = env;
	unpack(pe, s, w ? w->type : NULL);
	for (struct waiter *i = w; i; i = i->next)
		i->value = reference(s->value);
	for (; w; w = next) {
		next = w->next;
		CthResume(w->thread);
	}
}

void future_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	uint32_t no = (uint32_t)env->coll, use = (uint32_t)(env->coll >> 32);
	struct ck_slot *s = &pe->ck->slots[no];

	if (no >= pe->ck->n_slots || !s->open || s->use != use)
		csd_abort(pe, "PE %d sent a value to a future that has been released", m->src_pe);
	if (s->value)
		csd_abort(pe, "PE %d sent a second value to a future; release it and make a new one",
			  m->src_pe);
	value_came(pe, s, env);
}

static void send_value(struct pe *pe, int dst_pe, uint64_t id, uint64_t what, struct ck_env *env)
{
	env->coll = id;
	env->place = what;
	env->head.route = (struct cmi_msg){ .handler = (uint16_t)pe->node->ck->h_future,
					    .mark = OWNER_SENT }.route;
	csd_send(pe, dst_pe, &env->head);
}

/* ---- futures -------------------------------------------------------------------------------------------- */

static struct ck_slot *slot_of(struct pe *pe, const char *what, CkFuture f)
{
	uint32_t no = (uint32_t)f.id;

	if (!f.id)
		csd_abort(pe, "%s: the future was never created", what);
	if (f.pe != pe->id)
		csd_abort(pe, "%s: the future belongs to PE %d; elsewhere one can only send to it", what,
			  f.pe);
	if (no >= pe->ck->n_slots || !pe->ck->slots[no].open ||
	    pe->ck->slots[no].use != (uint32_t)(f.id >> 32))
		csd_abort(pe, "%s: the future has been released", what);
	return &pe->ck->slots[no];
}

CkFuture CkCreateFutureTyped(CkDataType type)
{
	struct pe *pe = ck_self();
	uint32_t no = slot_open(pe);

	return (CkFuture){ (uint64_t)pe->ck->slots[no].use << 32 | no, pe->id, (int32_t)type };
}

CkFuture CkCreateFuture(void)
{
	return CkCreateFutureTyped(CK_NOTYPE);
}

int CkProbeFuture(CkFuture f)
{
	return slot_of(ck_self(), "CkProbeFuture", f)->value != NULL;
}

void CkReleaseFuture(CkFuture f)
{
	struct pe *pe = ck_self();

	if (slot_of(pe, "CkReleaseFuture", f)->first)
		csd_abort(pe, "CkReleaseFuture: threads wait for the future's value");
	slot_close(pe, (uint32_t)f.id);
}

/* The value, a reference of the caller's own. */
static struct ck_env *wait_for(struct pe *pe, const char *what, CkFuture f, const CkGenMessage *type)
{
	struct ck_slot *s = slot_of(pe, what, f);
	struct waiter me = { NULL, type, NULL, NULL };

	if (s->value) {
		unpack(pe, s, type);
		return reference(s->value);
	}
	if (!CthSelf())
		csd_abort(pe, "%s: the value is not there, and only a [threaded] entry method can wait "
			  "for it", what);
	suspend(s, &me);
	return me.value;
}

void *CkWaitFuture(CkFuture f)
{
	struct pe *pe = ck_self();
	struct ck_env *env = wait_for(pe, "CkWaitFuture", f, NULL);

	if (env->flags & CK_ENV_PACKED)
		csd_abort(pe, "CkWaitFuture: the value is a packed message; wait with M_waitFuture, for "
			  "its type M");
	return payload_of(env);
}

void *CkWaitReleaseFuture(CkFuture f)
{
	void *msg = CkWaitFuture(f);

	CkReleaseFuture(f);
	return msg;
}

/* The caller's message, which nobody else may hold. */
static struct ck_env *give(struct pe *pe, void *msg)
{
	if (!msg)
		csd_abort(pe, "CkSendToFuture: the message is NULL; CkSendToFutureTyped(f, CK_NOTYPE, "
			  "NULL, 0) says that something has happened");
	struct ck_env *env = env_of(msg);

	if (pe->node->check)
		owner_check_use(pe, env, "CkSendToFuture");
	sdag_let_go(env);
	if (env == pe->ck->now.env)
		pe->ck->now.env = NULL;
	/* Acquire: as in env_unref, the others' reads of it are over. */
	if (atomic_load_explicit(&env->refs, memory_order_acquire) != 1)
		csd_abort(pe, "CkSendToFuture: others hold the message, too; send a copy");
	env->call = 0;
	return env;
}

static void check_open(struct pe *pe, const char *what, CkFuture f)
{
	if (!f.id)
		csd_abort(pe, "%s: the future was never created", what);
	if (f.pe == pe->id)
		slot_of(pe, what, f);
}

static void send_message(struct pe *pe, CkFuture f, struct ck_env *env, uint64_t what)
{
	check_open(pe, "CkSendToFuture", f);
	if (f.type != CK_NOTYPE)
		csd_abort(pe, "a future of PE %d takes %s; a message was sent to it", f.pe,
			  data_type_name((CkDataType)f.type));
	send_value(pe, f.pe, f.id, what, env);
}

void CkSendToFuture(CkFuture f, void *msg)
{
	struct pe *pe = ck_self();

	send_message(pe, f, give(pe, msg), UNKNOWN_MESSAGE);
}

void CkSendToFutureTyped(CkFuture f, CkDataType type, const void *data, size_t count)
{
	CkCallbackSendTyped(CkCallbackFuture(f), type, data, count);
}

/* ---- messages of a type that is known ------------------------------------------------------------------- */

/* Never UNKNOWN_MESSAGE or DATA: FNV-1a, and one bit. */
static uint64_t type_number(const CkGenMessage *type)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (const char *c = type->name; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x100000001b3ull;
	return h | 2;
}

void CkGen_sendToFuture(CkFuture f, void *msg, const CkGenMessage *type)
{
	struct pe *pe = ck_self();
	struct ck_env *env = give(pe, msg);

	if (type->pack && pe->node->job->node_of[f.pe] != pe->node->job->node)
		env = message_pack(pe, type, env);
	send_message(pe, f, env, type_number(type));
}

void *CkGen_waitFuture(CkFuture f, const CkGenMessage *type)
{
	struct pe *pe = ck_self();
	struct ck_env *env = wait_for(pe, "CkWaitFuture", f, type);
	const CkReductionMsg *m = payload_of(env);

	if (env->place == DATA)
		csd_abort(pe, "a thread waits for a message %s; its future got %llu of %s", type->name,
			  (unsigned long long)m->count, data_type_name((CkDataType)m->type));
	if (env->place != UNKNOWN_MESSAGE && env->place != type_number(type))
		csd_abort(pe, "a thread waits for a message %s; its future got one of another type",
			  type->name);
	if (type->fix)
		type->fix(payload_of(env));
	return payload_of(env);
}

/* ---- as callbacks ------------------------------------------------------------------------------------------ */

CkCallback CkCallbackFuture(CkFuture f)
{
	check_open(ck_self(), "CkCallbackFuture", f);
	return callback_of_future(CB_FUTURE, f);
}

CkCallback CkCallbackResumeThread(void)
{
	return callback_of_future(CB_THREAD, CkCreateFuture());
}

void *CkCallbackThreadDelay(CkCallback cb)
{
	if (cb.kind != CB_THREAD)
		csd_abort(ck_self(), "CkCallbackThreadDelay: only a callback that "
			  "CkCallbackResumeThread made can be waited for");
	return CkWaitReleaseFuture((CkFuture){ cb.id, cb.pe, cb.want });
}

void future_fire(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	send_value(pe, cb->pe, cb->id, DATA, env);
}

void CkWaitQD(void)
{
	CkCallback cb = CkCallbackResumeThread();

	CkStartQD(cb);
	CkFreeMsg(CkCallbackThreadDelay(cb));
}
