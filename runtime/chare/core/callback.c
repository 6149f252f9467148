/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback.c: CkCallback, "do this with the result", as a value. If the target is an entry method,
 * it gets an ordinary call whose payload is a CkReductionMsg. A C function runs on the PE that made
 * the callback; other processes carry its address but never call it.
 */
#include "callback.h"
#include "objects/unset.h"
#include "shape.h"

#include <stdio.h>
#include <string.h>

#include "tables/data.h"
#include "describe.h"
#include "message.h"
#include "register.h"

CkCallback callback_make(enum callback_kind kind)
{
	CkCallback cb;

	memset(&cb, 0, sizeof cb); /* padding too: callbacks are compared as bytes */
	cb.kind = (uint8_t)kind;
	return cb;
}

CkCallback CkCallbackIgnore(void) { return callback_make(CB_IGNORE); }

CkCallback CkCallbackExit(void) { return callback_make(CB_EXIT); }

static bool lies_in_element(struct ck_obj *obj, const void *p)
{
	return (uintptr_t)p - (uintptr_t)self_of(obj) < obj->coll->type->bytes;
}

/* In checked mode: the element whose struct contains the context; it may move before the callback
 * fires. */
static void note_element(const struct pe *pe, CkCallback *cb)
{
	struct ck_obj *obj = ck_of(pe)->now.obj;

	if (!obj || obj->coll->type->kind != CKGEN_ARRAY || !lies_in_element(obj, cb->ctx))
		return;
	cb->id = obj->coll->id;
	cb->index = obj->index;
}

CkCallback CkCallbackFunction(CkCallbackCFn fn, void *ctx)
{
	struct pe *pe = ck_self();
	CkCallback cb = callback_make(CB_FUNCTION);

	cb.pe = pe->id;
	cb.fn = fn;
	cb.ctx = ctx;
	if (pe->node->check)
		note_element(pe, &cb);
	return cb;
}

CkCallback CkCallbackExpect(CkCallback cb, CkDataType type)
{
	struct pe *pe = ck_self();
	const struct ck_callback_kind *k = callback_kind_of(pe, &cb);

	if (!k || k->names != CK_NAMES_PE)
		csd_abort(pe, "CkCallbackExpect: for a C function, a future or a thread; an entry "
			  "method says itself what it takes");
	cb.want = (uint8_t)type;
	return cb;
}

CkCallback callback_of_entry(enum callback_kind kind, const CkGenChare *chare, uint64_t id,
			     CkIndex index, int entry)
{
	CkCallback cb = callback_make(kind);

	cb.id = id;
	cb.index = index;
	cb.entry = (uint16_t)entry;
	cb.want = chare->entries[entry].want;
	cb.pe = chare_number(ck_node_of(ck_self_calls(chare, entry)->node), chare);
	return cb;
}

CkCallback CkGen_cb(const CkGenChare *chare, const CkElement *e, int entry)
{
	return callback_of_entry(chare->kind == CKGEN_NODEGROUP ? CB_NODE : CB_ELEMENT, chare, e->id,
			  e->index, entry);
}

CkCallback CkGen_cbAll(const CkGenChare *chare, CkProxy p, int entry)
{
	return callback_of_entry(chare->kind == CKGEN_NODEGROUP ? CB_NODE_ALL : CB_ALL, chare, p.id,
			  (CkIndex){ { 0, 0, 0 } }, entry);
}

CkCallback CkGen_cbMain(const CkGenChare *chare, CkProxy p, int entry)
{
	return callback_of_entry(CB_MAIN, chare, p.id, (CkIndex){ { 0, 0, 0 } }, entry);
}

const CkGenChare *callback_target(struct pe *pe, const CkCallback *cb)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	if (cb->pe < 0 || cb->pe >= ck->n_chares ||
	    cb->entry >= ck->chares[cb->pe]->n_entries)
		csd_abort(pe, "a callback names entry %d of chare %d: unknown here", cb->entry,
			  cb->pe);
	return ck->chares[cb->pe];
}

static struct csd_thing target_thing(struct pe *pe, const CkCallback *cb)
{
	const struct ck_callback_kind *k = callback_kind_of(pe, cb);

	if (!k)
		return csd_named(NULL, "an unknown kind of callback (%d)", cb->kind);
	return k->describe ? k->describe(pe, cb) : entry_thing(callback_target(pe, cb), cb->entry);
}

/* A fence describes the callback after it, with its number. */
struct csd_thing callback_thing(struct pe *pe, const CkCallback *cb)
{
	const struct csd_thing t = target_thing(pe, cb);

	if (!callback_refnum(cb) || cb->kind & CB_MARKED)
		return t;
	return csd_named(&t.key, "%s with reference number %d", t.name, callback_refnum(cb));
}

void callback_describe(struct pe *pe, const CkCallback *cb, char *buf, size_t len)
{
	snprintf(buf, len, "%s", callback_thing(pe, cb).name);
}

static size_t payload_size(uint64_t bytes)
{
	return sizeof(CkReductionMsg) + CkGen_align(bytes) + sizeof(CkCallback);
}

struct ck_env *callback_msg(struct pe *pe, CkDataType type, uint64_t count, uint64_t bytes)
{
	struct ck_env *env = env_new(pe, 0, payload_size(bytes));
	CkReductionMsg *m = payload_of(env);

	*m = (CkReductionMsg){ .bytes = bytes, .count = count, .type = type };
	return env;
}

/* For targets other than entry methods. */
void callback_check_wanted(struct pe *pe, const CkCallback *cb, CkReductionMsg *m)
{
	if (cb->want == CK_NOTYPE || data_as(m, (CkDataType)cb->want))
		return;
	csd_abort(pe, "%s takes %s; the callback brought %llu of %s", callback_thing(pe, cb).name,
		  data_type_name((CkDataType)cb->want), (unsigned long long)m->count,
		  data_type_name((CkDataType)m->type));
}

_Noreturn static void wrong_data(struct pe *pe, const CkGenChare *type, int entry,
				 const CkReductionMsg *m)
{
	const CkGenEntry *e = &type->entries[entry];
	char name[128];

	describe_entry(type, entry, name, sizeof name);
	if (e->want_array)
		csd_abort(pe, "%s takes an array of %s; the callback brought %llu of %s", name,
			  data_type_name(e->want), (unsigned long long)m->count,
			  data_type_name((CkDataType)m->type));
	csd_abort(pe, "%s takes %u of %s; the callback brought %llu of %s", name, e->want_count,
		  data_type_name(e->want), (unsigned long long)m->count,
		  data_type_name((CkDataType)m->type));
}

void callback_check_data(struct pe *pe, const CkGenChare *type, int entry, CkReductionMsg *m)
{
	const CkGenEntry *e = &type->entries[entry];
	char name[128];

	if (!e->reduced && e->message)
		csd_abort(pe, "%s takes a message %s: %s_sendToCallback fires its callback; values, and "
			  "results of reductions, need a [reductiontarget]",
			  describe_entry(type, entry, name, sizeof name), e->message->name,
			  e->message->name);
	if (!e->reduced)
		csd_abort(pe, "%s cannot be called by a callback: declare it [reductiontarget]",
			  describe_entry(type, entry, name, sizeof name));
	if (e->want == CK_NOTYPE)
		return;
	if (!data_as(m, (CkDataType)e->want) || (!e->want_array && m->count != e->want_count))
		wrong_data(pe, type, entry, m);
}

/* Here the program's own functions are still on the stack. The target checks again what comes from
 * another process. */
const CkGenChare *callback_call(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	const CkGenChare *chare = callback_target(pe, cb);

	callback_check_data(pe, chare, cb->entry, payload_of(env));
	env->entry = cb->entry;
	env->flags = CK_CALL_REDUCED;
	if (chare->entries[cb->entry].flags & CKGEN_EXPEDITED)
		env->head.flags |= CMI_F_EXPEDITED;
	return chare;
}

void callback_send(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	const struct ck_callback_kind *k = callback_kind_of(pe, cb);

	if (!k)
		csd_abort(pe, "a callback was fired that was never set (kind %d)", cb->kind);
	callback_stamp(cb, env);
	k->send(pe, cb, env);
}

void callback_fire(struct pe *pe, const CkCallback *cb, CkDataType type, const void *data,
		   uint64_t count, uint64_t bytes)
{
	struct ck_env *env = callback_msg(pe, type, count, bytes);

	if (bytes)
		memcpy((CkReductionMsg *)payload_of(env) + 1, data, bytes);
	callback_send(pe, cb, env);
}

/* The program's own call; those of the runtime do not wait for memory. */
static struct pe *self_with_memory(uint64_t bytes)
{
	struct pe *pe = ck_self_in("CkCallbackSend");

	csd_msg_room(pe, sizeof(struct ck_env) + payload_size(bytes));
	return pe;
}

void CkCallbackSend(CkCallback cb, const void *data, size_t bytes)
{
	callback_fire(self_with_memory(bytes), &cb, bytes ? CK_BYTE : CK_NOTYPE, data, bytes, bytes);
}

void CkCallbackSendTyped(CkCallback cb, CkDataType type, const void *data, size_t count)
{
	uint64_t bytes = count * data_type_bytes(type);

	callback_fire(self_with_memory(bytes), &cb, type, data, count, bytes);
}

void CkCallbackFn(void *cb)
{
	callback_fire(ck_self(), cb, CK_NOTYPE, NULL, 0, 0);
}

/* ---- kinds that need no other room ----------------------------------------------------------- */

static struct csd_thing describe_target(struct pe *pe, const CkCallback *cb)
{
	(void)pe;
	if (cb->kind == CB_FUNCTION)
		return csd_named(NULL, "a C function on PE %d", cb->pe);
	return csd_named(NULL, cb->kind == CB_NONE ? "a callback that was never set" :
			       cb->kind == CB_EXIT ? "CkCallbackExit" : "CkCallbackIgnore");
}

_Noreturn static void send_none(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	(void)env, (void)cb;
	unset_abort(pe, "CkCallback ", "a callback was fired that was never set");
}

static void send_ignore(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	(void)cb;
	csd_msg_free(pe, &env->head);
}

static void fire_exit(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	(void)cb;
	csd_msg_free(pe, &env->head);
	csd_exit(pe, 0);
}

enum { H_CALL };

static void send_function(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	callback_check_wanted(pe, cb, payload_of(env));
	*callback_at(env) = *cb;
	env->head.handler = ck_handler(pe, PART_CALLBACK, H_CALL);
	csd_send(pe, cb->pe, &env->head);
}

/* The element that note_element recorded must be here, at the same address. */
static void check_context(struct pe *pe, const CkCallback *cb)
{
	const struct collection *c = coll_get(pe, cb->id);
	const CkElement e = { .id = cb->id, .index = cb->index };
	struct ck_obj *obj = c->type ? ck_kind(pe, c->type)->local(pe, c->type, &e) : NULL;
	char name[128];

	if (!obj || !lies_in_element(obj, cb->ctx))
		csd_abort(
			pe,
			"a callback brings its result to a C function whose context (%p) lay in %s, which %s: fire it "
			"before the element moves, or use a callback to an entry method",
			cb->ctx,
			c->type ? element_describe(c->type, cb->index, name, sizeof name) :
				  "an element",
			obj ? "has moved meanwhile" : "is not on this PE any more");
}

static void call_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkCallback *cb = callback_at(env);

	if (cb->id)
		check_context(pe, cb);
	cb->fn(cb->ctx, payload_of(env));
	env_unref(pe, env);
}

static const char *call_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const char *why = shape_result(env, sizeof(CkCallback));
	const CkCallback *cb = why ? NULL : callback_at((struct ck_env *)(uintptr_t)env);

	return why ? why :
	       cb->kind != CB_FUNCTION || cb->pe != pe->id || !cb->fn ?
		     "its function is not one of this PE" :
	       cb->id ? shape_id(pe, cb->id) :
			NULL;
}

static const struct ck_handler handlers[] = {
	[H_CALL] = { "ck.call", call_arrived, true, .shape = { CK_SHAPE_CALL, .misfit = call_misfit } },
};
static const struct ck_callback_kind kinds[] = {
	{ .kind = CB_NONE, .names = CK_NAMES_UNSENT, .send = send_none, .describe = describe_target },
	{ .kind = CB_IGNORE, .names = CK_NAMES_NOTHING, .send = send_ignore, .describe = describe_target },
	{ .kind = CB_EXIT, .names = CK_NAMES_NOTHING, .send = fire_exit, .describe = describe_target },
	{ .kind = CB_FUNCTION, .names = CK_NAMES_PE, .send = send_function, .describe = describe_target,
	  .instead = "takes values and no message; make the callback one to an entry method" },
};

const struct ck_part callback_part = {
	.name = "callback",
	.number = PART_CALLBACK,
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(kinds),
};
