/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback.c: CkCallback, "do this with the result", as a value. Entry targets get an
 * ordinary entry message whose payload is a CkReductionMsg; a C function runs on the PE that
 * made the callback, so its address never leaves its process except as a token.
 */
#include "reduce_int.h"

#include <stdio.h>
#include <string.h>

static CkCallback make(enum callback_kind kind)
{
	CkCallback cb;

	memset(&cb, 0, sizeof cb); /* padding too: callbacks are compared as bytes */
	cb.kind = (uint8_t)kind;
	return cb;
}

CkCallback CkCallbackIgnore(void) { return make(CB_IGNORE); }

CkCallback CkCallbackExit(void) { return make(CB_EXIT); }

CkCallback CkCallbackFunction(CkCallbackCFn fn, void *ctx)
{
	CkCallback cb = make(CB_FUNCTION);

	cb.pe = ck_self()->id;
	cb.fn = fn;
	cb.ctx = ctx;
	return cb;
}

CkCallback callback_of_future(enum callback_kind kind, CkFuture f)
{
	CkCallback cb = make(kind);

	cb.pe = f.pe;
	cb.id = f.id;
	cb.want = (uint8_t)f.type;
	return cb;
}

CkCallback CkCallbackExpect(CkCallback cb, CkDataType type)
{
	if (cb.kind != CB_FUNCTION && cb.kind != CB_FUTURE && cb.kind != CB_THREAD)
		csd_abort(ck_self(), "CkCallbackExpect: for a C function, a future or a thread; an entry "
			  "method says itself what it takes");
	cb.want = (uint8_t)type;
	return cb;
}

/* The chare travels as its number, so that any node can name it. */
static CkCallback make_entry(enum callback_kind kind, const CkGenChare *chare, uint64_t id,
			     CkIndex index, int entry)
{
	CkCallback cb = make(kind);

	cb.id = id;
	cb.index = index;
	cb.entry = (uint16_t)entry;
	cb.want = chare->entries[entry].want;
	cb.pe = chare_number(ck_self()->node->ck, chare);
	return cb;
}

CkCallback CkGen_cb(const CkGenChare *chare, const CkElement *e, int entry)
{
	return make_entry(chare->kind == CKGEN_NODEGROUP ? CB_NODE : CB_ELEMENT, chare, e->id,
			  e->index, entry);
}

CkCallback CkGen_cbAll(const CkGenChare *chare, CkProxy p, int entry)
{
	return make_entry(chare->kind == CKGEN_NODEGROUP ? CB_NODE_ALL : CB_ALL, chare, p.id,
			  (CkIndex){ { 0, 0, 0 } }, entry);
}

CkCallback CkGen_cbChare(const CkGenChare *chare, CkChareID id, int entry)
{
	return make_entry(CB_CHARE, chare, id.id, (CkIndex){ { id.pe, 0, 0 } }, entry);
}

/* The section's number goes behind what the others need. */
CkCallback CkGen_cbSection(const CkGenChare *chare, const CkSection *s, int entry)
{
	CkCallback cb = make_entry(CB_SECTION, chare, s->coll, (CkIndex){ { 0, 0, 0 } }, entry);

	cb.reserved[0] = s->id;
	return cb;
}

CkCallback CkGen_cbMain(const CkGenChare *chare, CkProxy p, int entry)
{
	return make_entry(CB_MAIN, chare, p.id, (CkIndex){ { 0, 0, 0 } }, entry);
}

static const CkGenChare *target_type(struct pe *pe, const CkCallback *cb)
{
	const struct ck_node *ck = pe->node->ck;

	if (cb->pe < 0 || cb->pe >= ck->n_chares ||
	    cb->entry >= ck->chares[cb->pe]->n_entries)
		csd_abort(pe, "a callback names entry %d of chare %d: unknown here", cb->entry,
			  cb->pe);
	return ck->chares[cb->pe];
}

void callback_describe(struct pe *pe, const CkCallback *cb, char *buf, size_t len)
{
	if (cb->kind & CB_FENCE) {
		fence_describe(pe, cb, buf, len);
		return;
	}
	switch ((enum callback_kind)cb->kind) {
	case CB_NONE:
		snprintf(buf, len, "a callback that was never set");
		return;
	case CB_IGNORE:
		snprintf(buf, len, "CkCallbackIgnore");
		return;
	case CB_EXIT:
		snprintf(buf, len, "CkCallbackExit");
		return;
	case CB_FUNCTION:
		snprintf(buf, len, "a C function on PE %d", cb->pe);
		return;
	case CB_FUTURE:
		snprintf(buf, len, "a future of PE %d", cb->pe);
		return;
	case CB_THREAD:
		snprintf(buf, len, "a thread of PE %d", cb->pe);
		return;
	case CB_ELEMENT:
	case CB_ALL:
	case CB_MAIN:
	case CB_SECTION:
	case CB_CHARE:
	case CB_NODE:
	case CB_NODE_ALL:
		describe_entry(target_type(pe, cb), cb->entry, buf, len);
		return;
	case CB_FENCE_WAIT:
	case CB_FENCE:
		break;
	}
	snprintf(buf, len, "an unknown kind of callback (%d)", cb->kind);
}

_Noreturn static void wrong_reduction(struct pe *pe, const CkCallback *cb,
				      const struct reducer *how, uint64_t count,
				      const CkGenChare *from)
{
	const CkGenEntry *e = &target_type(pe, cb)->entries[cb->entry];
	char name[128], takes[64];

	describe_entry(target_type(pe, cb), cb->entry, name, sizeof name);
	if (e->want_array)
		snprintf(takes, sizeof takes, "an array of %s", data_type_name(e->want));
	else
		snprintf(takes, sizeof takes, "%u of %s", e->want_count, data_type_name(e->want));
	if (how->merge || how->type == CK_NOTYPE)
		csd_abort(pe, "elements of %s contribute to %s, which gives %s, for %s, which takes "
			  "%s", from->name, how->name, data_type_name(how->type), name, takes);
	csd_abort(pe, "elements of %s contribute %llu of %s (%s) to %s, which takes %s", from->name,
		  (unsigned long long)count, data_type_name(how->type), how->name, name, takes);
}

/* What the result will be is known before anything is combined: an error at the contribution names
 * more than one at the target. Plain bytes fit by size, which deliver.c checks. */
void callback_check(struct pe *pe, const CkCallback *cb, const struct reducer *how, uint64_t count,
		    const CkGenChare *from)
{
	if (CSD_LIKELY(cb->want == CK_NOTYPE) || how->type == CK_BYTE)
		return;
	if (cb->kind == CB_FUNCTION || cb->kind == CB_FUTURE || cb->kind == CB_THREAD)
		return; /* no entry method: check_wanted looks when it is fired */
	const CkGenEntry *e = &target_type(pe, cb)->entries[cb->entry];

	if (how->type != e->want || (!e->want_array && count != e->want_count))
		wrong_reduction(pe, cb, how, count, from);
}

struct ck_env *callback_msg(struct pe *pe, CkDataType type, uint64_t count, uint64_t bytes)
{
	struct ck_env *env = env_new(pe, 0, sizeof(CkReductionMsg) + CkGen_align(bytes) +
						    sizeof(CkCallback));
	CkReductionMsg *m = payload_of(env);

	*m = (CkReductionMsg){ .bytes = bytes, .count = count, .type = type };
	return env;
}

/* Data for whoever is no entry method, whose own data is checked where it is delivered. */
static void check_wanted(struct pe *pe, const CkCallback *cb, CkReductionMsg *m)
{
	char name[128];

	if (cb->want == CK_NOTYPE || data_as(m, (CkDataType)cb->want))
		return;
	callback_describe(pe, cb, name, sizeof name);
	csd_abort(pe, "%s takes %s; the callback brought %llu of %s", name,
		  data_type_name((CkDataType)cb->want), (unsigned long long)m->count,
		  data_type_name((CkDataType)m->type));
}

static void send_function(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	*callback_at(env) = *cb;
	env->head.handler = (uint16_t)pe->node->ck->h_call;
	csd_send(pe, cb->pe, &env->head);
}

void call_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkCallback *cb = callback_at(env);

	cb->fn(cb->ctx, payload_of(env));
	env_unref(pe, env);
}

static void send_entry(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	const CkGenChare *chare = target_type(pe, cb);
	CkElement e = { cb->id, cb->index, 0 };

	env->entry = cb->entry;
	env->flags = CK_ENV_REDUCED;
	env->refnum = (int32_t)(uint32_t)cb->reserved[0];
	if (chare->entries[cb->entry].flags & CKGEN_EXPEDITED)
		env->head.flags |= CMI_F_EXPEDITED;
	if (cb->kind == CB_ELEMENT || cb->kind == CB_NODE)
		send_element(pe, chare, &e, env);
	else if (cb->kind == CB_ALL)
		send_all(pe, cb->id, env);
	else if (cb->kind == CB_SECTION)
		section_send(pe, &(CkSection){ cb->id, cb->reserved[0] }, env);
	else if (cb->kind == CB_NODE_ALL)
		nodegroup_send_all(pe, chare, cb->id, env);
	else if (cb->kind == CB_CHARE)
		single_send(pe, chare, (CkChareID){ cb->id, cb->index.v[0], 0 }, env);
	else
		send_main(pe, cb->id, env);
}

void callback_send(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	if (CSD_UNLIKELY(cb->kind & CB_FENCE)) {
		fence_all_there(pe, cb, env);
		return;
	}
	switch ((enum callback_kind)cb->kind) {
	case CB_IGNORE:
		csd_msg_free(pe, &env->head);
		return;
	case CB_EXIT:
		csd_msg_free(pe, &env->head);
		csd_exit(pe, 0);
		return;
	case CB_FUNCTION:
		check_wanted(pe, cb, payload_of(env));
		send_function(pe, cb, env);
		return;
	case CB_FUTURE:
	case CB_THREAD:
		check_wanted(pe, cb, payload_of(env));
		future_fire(pe, cb, env);
		return;
	case CB_ELEMENT:
	case CB_ALL:
	case CB_MAIN:
	case CB_SECTION:
	case CB_CHARE:
	case CB_NODE:
	case CB_NODE_ALL:
		send_entry(pe, cb, env);
		return;
	case CB_FENCE_WAIT:
		fence_awaken(pe, cb, env);
		return;
	case CB_FENCE:
	case CB_NONE:
		break;
	}
	csd_abort(pe, "a callback was fired that was never set (kind %d)", cb->kind);
}

void callback_fire(struct pe *pe, const CkCallback *cb, CkDataType type, const void *data,
		   uint64_t count, uint64_t bytes)
{
	struct ck_env *env = callback_msg(pe, type, count, bytes);

	if (bytes)
		memcpy((CkReductionMsg *)payload_of(env) + 1, data, bytes);
	callback_send(pe, cb, env);
}

void CkCallbackSend(CkCallback cb, const void *data, size_t bytes)
{
	callback_fire(ck_self(), &cb, bytes ? CK_BYTE : CK_NOTYPE, data, bytes, bytes);
}

void CkCallbackSendTyped(CkCallback cb, CkDataType type, const void *data, size_t count)
{
	callback_fire(ck_self(), &cb, type, data, count, count * data_type_bytes(type));
}

void CkCallbackFn(void *cb)
{
	callback_fire(ck_self(), cb, CK_NOTYPE, NULL, 0, 0);
}
