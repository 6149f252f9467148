/* SPDX-License-Identifier: Apache-2.0 */
/*
 * future.c: futures. A future lives on the PE that made it. Threads of that PE wait for the value;
 * any PE sends the value, as a message. Each wait gives a reference to this one message. Slots are
 * reused. The upper half of a future's id counts the uses of the slot, so a value that arrives late
 * for a released future is detected.
 */
#include "../../scheduler/cth.h"
#include "../core/shape.h"
#include "extra.h"

#include <string.h>

#include "../../machine/tools/cmi_hash.h"

/* On the stack of the thread that waits. */
struct waiter {
	CthThread thread;
	const CkGenMessage *type; /* the message type that it waits for; NULL: anything */
	struct ck_env *value;     /* set before the thread goes on */
	struct waiter *next;
};

struct future {
	uint32_t next;            /* free ones (slots.h) */
	uint32_t use;             /* of this slot, from 1 */
	struct ck_env *value;     /* the future holds one reference; NULL: not there yet */
	struct waiter *first, *last;
	bool open;
	/* For reports: the element whose handler made it; type NULL: none did. */
	const CkGenChare *maker;
	uint64_t maker_coll;
	CkIndex maker_index;
	uint32_t maker_entry;
};

/* `value.type` of a value's envelope: one of these, or a number made from its message type's
 * name. */
enum { UNKNOWN_MESSAGE = 0, DATA = 1 };

/* ---- slots ----------------------------------------------------------------------------------- */

enum { H_FUTURE };

static struct slots *futures_of(const struct pe *pe) { return ck_state(pe, PART_FUTURE); }

static void note_maker(const struct pe *pe, struct future *s)
{
	const struct ck_running *now = &ck_of(pe)->now;

	s->maker = now->obj ? now->obj->coll->type : NULL;
	if (!now->obj)
		return;
	s->maker_coll = now->obj->coll->id;
	s->maker_index = now->obj->index;
	s->maker_entry = now->entry;
}

static uint32_t future_open(struct pe *pe)
{
	uint32_t no = slot_take(futures_of(pe), "futures");
	struct future *s = slot_at(futures_of(pe), no);

	s->use++;
	s->open = true;
	note_maker(pe, s);
	return no;
}

static void future_close(struct pe *pe, uint32_t no)
{
	struct future *s = slot_at(futures_of(pe), no);

	if (s->value)
		env_unref(pe, s->value);
	s->value = NULL;
	s->open = false;
	slot_give(futures_of(pe), no);
}

static struct ck_env *reference(struct ck_env *env)
{
	/* Relaxed: the future holds a reference already, so the count cannot reach 0 meanwhile. */
	atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
	return env;
}

/* Suspend the calling thread until the value is there. */
static void suspend(struct future *s, struct waiter *me)
{
	me->thread = CthSelf();
	if (s->first)
		s->last->next = me;
	else
		s->first = me;
	s->last = me;
	/* Other code may awaken this thread before the value is there. The slot may have moved. */
	while (!me->value)
		CthSuspend();
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The number of a message type; never UNKNOWN_MESSAGE or DATA. */
static uint64_t type_number(const CkGenMessage *type)
{
	return cmi_hash(CMI_HASH_START, type->name, strlen(type->name)) | 2;
}

/* The first waiter that knows the type of a packed message unpacks it; no other waiter has it yet.
 * A waiter for another type gets the error later (CkGen_waitFuture). */
static void unpack_value(struct pe *pe, struct future *s, const CkGenMessage *type)
{
	if (type && (s->value->flags & CK_ENV_PACKED) && s->value->value.type == type_number(type)) {
		if (!type->unpack || s->value->more)
			csd_misfit(pe, &s->value->head, "its message is packed and should not be");
		s->value = message_unpack(pe, type, s->value);
	}
	s->value->head.mark = OWNER_PROGRAM;
}

/* All waiters get their value before the first continues, because that one may release the
 * future. */
static void value_came(struct pe *pe, struct future *s, struct ck_env *env)
{
	struct waiter *w = s->first, *next;

	s->first = NULL;
	s->value = env;
	unpack_value(pe, s, w ? w->type : NULL);
	for (struct waiter *i = w; i; i = i->next)
		i->value = reference(s->value);
	for (; w; w = next) {
		next = w->next;
		CthResume(w->thread);
	}
}

static void future_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	uint32_t no = (uint32_t)env->slot, use = (uint32_t)(env->slot >> 32);
	struct future *s = slot_at(futures_of(pe), no);

	if (no >= futures_of(pe)->n || !s->open || s->use != use)
		csd_abort(pe, "PE %d sent a value to future %u of PE %d, which has been released: send one "
			  "value, and release the future when it has come", m->src_pe, no, pe->id);
	if (s->value)
		csd_abort(pe, "PE %d sent a second value to future %u of PE %d; release it and make a new "
			  "one", m->src_pe, no, pe->id);
	value_came(pe, s, env);
}

static void send_value(struct pe *pe, int dst_pe, uint64_t id, uint64_t what, struct ck_env *env)
{
	env->slot = id;
	env->value.type = what;
	env->head.route = (struct cmi_msg){ .handler = ck_handler(pe, PART_FUTURE, H_FUTURE),
					    .mark = OWNER_SENT }.route;
	csd_send(pe, dst_pe, &env->head);
}

/* ---- futures --------------------------------------------------------------------------------- */

static struct future *future_of(struct pe *pe, const char *what, CkFuture f)
{
	uint32_t no = (uint32_t)f.id;

	if (!f.id)
		csd_abort(pe, "%s: the future was never created", what);
	if (f.pe != pe->id)
		csd_abort(pe, "%s: the future belongs to PE %d; elsewhere one can only send to it", what,
			  f.pe);
	struct future *s = slot_at(futures_of(pe), no);

	if (no >= futures_of(pe)->n || !s->open || s->use != (uint32_t)(f.id >> 32))
		csd_abort(pe, "%s: the future has been released", what);
	return s;
}

CkFuture CkCreateFutureTyped(CkDataType type)
{
	struct pe *pe = ck_self();
	uint32_t no = future_open(pe);

	const struct future *s = slot_at(futures_of(pe), no);

	return (CkFuture){ (uint64_t)s->use << 32 | no, pe->id, (int32_t)type };
}

CkFuture CkCreateFuture(void)
{
	return CkCreateFutureTyped(CK_NOTYPE);
}

int CkProbeFuture(CkFuture f)
{
	return future_of(ck_self(), "CkProbeFuture", f)->value != NULL;
}

void CkReleaseFuture(CkFuture f)
{
	struct pe *pe = ck_self();

	if (future_of(pe, "CkReleaseFuture", f)->first)
		csd_abort(pe, "CkReleaseFuture: threads wait for the future's value");
	future_close(pe, (uint32_t)f.id);
}

/* Wait for the value. The caller gets a reference of its own. */
static struct ck_env *await_value(struct pe *pe, const char *what, CkFuture f,
				  const CkGenMessage *type)
{
	struct future *s = future_of(pe, what, f);
	struct waiter me = { NULL, type, NULL, NULL };

	if (s->value) {
		unpack_value(pe, s, type);
		return reference(s->value);
	}
	if (!CthSelf())
		csd_abort(pe, "%s: the value has not come, and only a [threaded] entry method can wait "
			  "for it", what);
	suspend(s, &me);
	return me.value;
}

/* Senders of this program send a future with a type nothing else (send_to_future,
 * callback_check_wanted). */
static bool is_of_type(const struct ck_env *env, CkDataType type)
{
	const CkReductionMsg *m = (const CkReductionMsg *)(const void *)(env + 1);

	return type == CK_NOTYPE || (env->value.type == DATA && m->type == type);
}

void *CkWaitFuture(CkFuture f)
{
	struct pe *pe = ck_self();
	struct ck_env *env = await_value(pe, "CkWaitFuture", f, NULL);

	if (!is_of_type(env, (CkDataType)f.type))
		csd_misfit(pe, &env->head, "it is not a value of the type that a thread waits for");
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

/* Take the caller's message, of this type; NULL: of any whose bytes are sent as they are. Aborts if
 * the message has another holder. */
static struct ck_env *take_message(struct pe *pe, void *msg, const CkGenMessage *type)
{
	if (!msg)
		csd_abort(pe, "CkSendToFuture: the message is NULL; CkSendToFutureTyped(f, CK_NOTYPE, "
			  "NULL, 0) says that something has happened");
	struct ck_env *env = env_of(msg);

	if (pe->node->check)
		owner_check_use(pe, env, "CkSendToFuture");
	owner_let_go(env);
	if (env == ck_of(pe)->now.env)
		ck_of(pe)->now.env = NULL;
	/* Acquire: as in env_unref, the other holders' reads of the message are over. */
	if (atomic_load_explicit(&env->refs, memory_order_acquire) != 1)
		csd_abort(pe, "CkSendToFuture: others hold the message, too; send a copy");
	env->call = 0;
	if (pe->node->check && !(type && type->pack))
		env = owner_give(pe, env, "CkSendToFuture");
	return env;
}

static void check_open(struct pe *pe, const char *what, CkFuture f)
{
	if (!f.id)
		csd_abort(pe, "%s: the future was never created", what);
	if (f.pe < 0 || f.pe >= pe->node->job->n_pes)
		csd_abort(pe, "%s: the future has been damaged: it is of PE %d, and the job has PEs 0-%d", what,
			  f.pe, pe->node->job->n_pes - 1);
	if (f.pe == pe->id)
		future_of(pe, what, f);
}

static void send_to_future(struct pe *pe, CkFuture f, struct ck_env *env, uint64_t what)
{
	check_open(pe, "CkSendToFuture", f);
	if (f.type != CK_NOTYPE)
		csd_abort(pe, "%s takes %s; a message was sent to it", future_thing(f).name,
			  data_type_name((CkDataType)f.type));
	send_value(pe, f.pe, f.id, what, env);
}

void CkSendToFuture(CkFuture f, void *msg)
{
	struct pe *pe = ck_self();

	send_to_future(pe, f, take_message(pe, msg, NULL), UNKNOWN_MESSAGE);
}

void CkSendToFutureTyped(CkFuture f, CkDataType type, const void *data, size_t count)
{
	CkCallbackSendTyped(CkCallbackFuture(f), type, data, count);
}

/* ---- messages of a type that is known -------------------------------------------------------- */

void CkGen_sendToFuture(CkFuture f, void *msg, const CkGenMessage *type)
{
	struct pe *pe = ck_self();
	struct ck_env *env = take_message(pe, msg, type);

	check_open(pe, "CkSendToFuture", f);
	if (type->pack && pe->node->job->node_of[f.pe] != pe->node->job->node)
		env = message_pack(pe, type, env);
	send_to_future(pe, f, env, type_number(type));
}

void *CkGen_waitFuture(CkFuture f, const CkGenMessage *type)
{
	struct pe *pe = ck_self();
	struct ck_env *env = await_value(pe, "CkWaitFuture", f, type);
	const CkReductionMsg *m = payload_of(env);

	if (env->value.type == DATA)
		csd_abort(pe, "a thread waits for a message %s; its future got %llu of %s", type->name,
			  (unsigned long long)m->count, data_type_name((CkDataType)m->type));
	if (env->value.type != UNKNOWN_MESSAGE && env->value.type != type_number(type))
		csd_abort(pe, "a thread waits for a message %s; its future got one of another type",
			  type->name);
	if (type->fits && !type->fits(payload_of(env), env->head.size - sizeof *env))
		csd_misfit(pe, &env->head, "it is not a message of the type that a thread waits for");
	if (type->fix)
		type->fix(payload_of(env));
	return payload_of(env);
}

/* ---- as callbacks ---------------------------------------------------------------------------- */

static CkCallback callback_of_future(enum callback_kind kind, CkFuture f)
{
	CkCallback cb = callback_make(kind);

	cb.pe = f.pe;
	cb.id = f.id;
	cb.want = (uint8_t)f.type;
	return cb;
}

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

static void fire_future(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	callback_check_wanted(pe, cb, payload_of(env));
	send_value(pe, cb->pe, cb->id, DATA, env);
}

struct csd_thing future_thing(CkFuture f)
{
	return csd_named(&(struct csd_key){ THING_FUTURE, { f.pe }, f.id }, "future %u of PE %d",
			 (uint32_t)f.id, f.pe);
}

static struct csd_thing describe_future(struct pe *pe, const CkCallback *cb)
{
	const struct csd_thing f = future_thing((CkFuture){ cb->id, cb->pe, cb->want });

	(void)pe;
	return cb->kind == CB_FUTURE ? f : csd_named(&f.key, "the thread that waits for %s", f.name);
}

/* ---- for the watchdog ----------------------------------------------------------------------- */

/* The open future of this PE with this name, or NULL. */
static const struct future *open_future(const struct pe *pe, CkFuture f)
{
	const struct slots *t = futures_of(pe);
	const struct future *s =
		f.pe == pe->id && (uint32_t)f.id < t->n ? slot_at(t, (uint32_t)f.id) : NULL;

	return s && s->open && s->use == (uint32_t)(f.id >> 32) ? s : NULL;
}

bool future_is_made_by(const struct pe *pe, CkFuture f, const struct ck_obj *obj)
{
	const struct future *s = open_future(pe, f);

	return s && s->maker == obj->coll->type && s->maker_coll == obj->coll->id &&
	       !memcmp(&s->maker_index, &obj->index, sizeof obj->index);
}

bool future_may_come_from(const struct pe *pe, CkFuture f, const struct ck_obj *obj)
{
	return f.pe != pe->id || (open_future(pe, f) && !future_is_made_by(pe, f, obj));
}

static void describe_wait(struct pe *pe, uint32_t no, const struct waiter *w, struct csd_told *to)
{
	const struct future *f = slot_at(futures_of(pe), no);
	const CkFuture name = { (uint64_t)f->use << 32 | no, pe->id, 0 };
	const struct csd_wait wait = { .who = thread_thing(w->thread), .on = future_thing(name) };

	if (f->maker)
		csd_tell(to, &wait, "waits for the value of %s, which %s made in %s; nobody has sent it",
			 wait.on.name, element_thing(f->maker, f->maker_coll, f->maker_index).name,
			 entry_thing(f->maker, f->maker_entry).name);
	else
		csd_tell(to, &wait, "waits for the value of %s; nobody has sent it", wait.on.name);
}

static void future_describe(struct pe *pe, struct csd_told *to)
{
	for (uint32_t i = 1; i < futures_of(pe)->n; i++) {
		const struct future *f = slot_at(futures_of(pe), i);

		for (const struct waiter *w = f->open ? f->first : NULL; w; w = w->next)
			describe_wait(pe, i, w, to);
	}
	holders_describe(pe, to);
}

/* A future is of its PE, and so are the threads and callbacks that know it. */
static void future_refuse(struct pe *pe, struct csd_told *to)
{
	for (uint32_t i = 1; i < futures_of(pe)->n; i++) {
		const struct future *f = slot_at(futures_of(pe), i);
		const CkFuture name = { (uint64_t)f->use << 32 | i, pe->id, 0 };

		if (!f->open)
			continue;
		if (f->maker)
			csd_tell(to, NULL, "%s is open, which %s made in %s (CkReleaseFuture)", future_thing(name).name,
				 element_thing(f->maker, f->maker_coll, f->maker_index).name,
				 entry_thing(f->maker, f->maker_entry).name);
		else
			csd_tell(to, NULL, "%s is open (CkReleaseFuture)", future_thing(name).name);
	}
}

/* ---- the part -------------------------------------------------------------------------------- */

static void future_pe_start(struct pe *pe)
{
	futures_of(pe)->bytes = sizeof(struct future);
}

static void future_pe_stop(struct pe *pe)
{
	struct slots *t = futures_of(pe);

	for (uint32_t i = 1; i < t->n; i++) {
		struct future *f = slot_at(t, i);

		if (f->value)
			env_unref(pe, f->value);
	}
	slots_free(t);
}

static const char *future_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	(void)pe;
	if (env->flags & CK_ENV_PACKED && (env->value.type == DATA || env->value.type == UNKNOWN_MESSAGE))
		return "it is packed, and no message of a type";
	return env->value.type == DATA ? shape_values(env) : NULL;
}

static const struct ck_handler handlers[] = {
	[H_FUTURE] = { "ck.future", future_arrived, .shape = { CK_SHAPE_CALL, .misfit = future_misfit } },
};
static void give_future(const CkGenChare *chare, const CkCallback *cb, void *msg,
			const CkGenMessage *type)
{
	(void)chare;
	CkGen_sendToFuture((CkFuture){ cb->id, cb->pe, cb->want }, msg, type);
}

static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_FUTURE, .names = CK_NAMES_PE, .send = fire_future, .describe = describe_future,
	  .give = give_future },
	{ .kind = CB_THREAD, .names = CK_NAMES_PE, .send = fire_future, .describe = describe_future,
	  .instead = "takes values and no message; make a future (CkCallbackFuture)" },
};

const struct ck_part future_part = {
	.name = "future",
	.number = PART_FUTURE,
	.pe_bytes = sizeof(struct slots),
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.pe_start = future_pe_start,
	.describe = future_describe,
	.save.refuse = future_refuse,
	.pe_stop = future_pe_stop,
};
