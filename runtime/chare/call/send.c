/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send.c: sends a call from a stub to the PE that handles it. The stub fills the payload of the
 * message itself, so nothing is copied before a queue of this node.
 */
#include "call_open.h"

#include <stdio.h>
#include <string.h>

/* A message, in checked mode. */
static __attribute__((noinline)) struct ck_env *take_checked(struct pe *pe, const CkGenChare *chare,
							     int entry, void *payload,
							     const CkEntryOptions *o)
{
	struct ck_env *env = env_of(payload);
	const uint8_t flags = env->head.flags;

	owner_check_send(pe, chare, entry, env);
	owner_let_go(env);
	env = options_apply(pe, chare, entry, call_take_plain(pe, payload, entry), flags, o);
	return owner_give_call(pe, chare, entry, env);
}

static inline struct ck_env *take_env(struct pe *pe, const CkGenChare *chare, int entry,
				      void *payload, const CkEntryOptions *o)
{
	uint8_t flags;

	if (CSD_LIKELY(call_is_plain(chare, entry, o)))
		return call_take_plain(pe, payload, entry);
	if (chare->entries[entry].flags & CKGEN_MESSAGE) {
		if (pe->node->check)
			return take_checked(pe, chare, entry, payload, o);
		owner_let_go(env_of(payload));
	}
	flags = env_of(payload)->head.flags;
	return options_apply(pe, chare, entry, call_take_plain(pe, payload, entry), flags, o);
}

struct ck_env *call_take(struct pe *pe, const CkGenChare *chare, int entry, void *payload,
			 const CkEntryOptions *o)
{
	return take_env(pe, chare, entry, payload, o);
}

_Noreturn static void bad_call(struct pe *pe, const struct collection *c, int entry, CkIndex at)
{
	char name[128], what[160];

	snprintf(what, sizeof what, "call of %s",
		 describe_entry(c->type, entry, name, sizeof name));
	index_bad(pe, c, what, at);
}

/* The extents of a group are known before its creation arrives. */
static int place_in_group(struct pe *pe, const CkGenChare *type, CkIndex index,
			  struct ck_env *env)
{
	if (CSD_UNLIKELY((uint32_t)index.v[0] >= (uint32_t)pe->node->job->n_pes)) {
		struct collection shape = { .type = type };

		shape.homes.dims = CkDims1(pe->node->job->n_pes);
		bad_call(pe, &shape, env->entry, index);
	}
	env->place = (uint64_t)index.v[0];
	return index.v[0];
}

void address_by_index(CkIndex index, struct ck_env *env)
{
	env->index = index;
	env->flags |= CK_ENV_UNPLACED;
}

void address_in_array(struct pe *pe, const struct collection *c, CkIndex index, struct ck_env *env)
{
	if (CSD_UNLIKELY(c->sparse)) {
		address_by_index(index, env);
		return;
	}
	uint64_t place = index_place(c, index);

	if (CSD_UNLIKELY(place == UINT64_MAX))
		bad_call(pe, c, env->entry, index);
	env->flags &= (uint8_t)~CK_ENV_UNPLACED;
	env->place = place;
}

void address_later(struct pe *pe, struct collection *c, CkIndex index, struct ck_env *env)
{
	env->head.src_pe = pe->id;
	address_by_index(index, env);
	coll_wait(c, &env->head);
}

/* Address a call of an element. Returns its destination PE; -1: it waits here, for the creation or
 * at a stop. */
static int address_call(struct pe *pe, const CkGenChare *type, const CkElement *e,
			struct ck_env *env)
{
	env->coll = e->id;
	if (type && type->kind == CKGEN_GROUP)
		return place_in_group(pe, type, e->index, env);
	struct collection *c = coll_get(pe, e->id);

	if (CSD_LIKELY(c->type != NULL)) {
		address_in_array(pe, c, e->index, env);
		return call_to(pe, c, env);
	}
	/* The proxy came before the creation did (route_early in create.c). */
	address_later(pe, c, e->index, env);
	return -1;
}

/* As call_send, of a call by place. */
static inline void send_to_place(struct pe *pe, struct collection *c, struct ck_env *env)
{
	if (CSD_LIKELY(!c->route))
		csd_send(pe, coll_home(pe, c, env->place), &env->head);
	else
		call_send(pe, c, env);
}

void send_about(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env,
		int handler)
{
	env->head.handler = (uint16_t)handler;
	int to = address_call(pe, type, e, env);

	if (to >= 0)
		csd_send(pe, to, &env->head);
}

/* It does not go through this PE's own queue to the element's home here: when the element comes
 * back, no earlier message to it may wait there, because later ones reach it at once. */
void call_element(struct pe *pe, struct collection *c, CkIndex index, struct ck_env *env)
{
	env->coll = c->id;
	env->head.handler = ck_handler(pe, PART_CALL, H_ELEMENT);
	address_in_array(pe, c, index, env);
	if (call_home(pe, c, env) != pe->id) {
		call_send(pe, c, env);
		return;
	}
	env->head.src_pe = pe->id;
	ck_kind(pe, c->type)->missing(pe, c, env);
}

void send_element(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env)
{
	const struct ck_kind *kind = ck_kind(pe, type);

	if (kind->send)
		kind->send(pe, type, e, env);
	else
		send_about(pe, type, e, env, ck_handler(pe, PART_CALL, H_ELEMENT));
}

/* The children's copies leave now; this PE's message goes through the queue like any call. */
static void send_all_now(struct pe *pe, struct collection *c, struct ck_env *env)
{
	(void)c;
	bcast_sent(pe, env->head.size);
	bcast_forward(pe, env);
	csd_send(pe, pe->id, &env->head);
}

void send_all(struct pe *pe, uint64_t id, struct ck_env *env)
{
	struct collection *c = coll_get(pe, id);

	env->coll = id;
	env->place = ++call_coll_of(c)->n_begun; /* its number */
	env->root = pe->id;
	env->head.handler = ck_handler(pe, PART_CALL, H_BCAST);
	if (CSD_UNLIKELY(call_is_closed(c)))
		call_hold(pe, c, env, send_all_now);
	else
		send_all_now(pe, c, env);
}

void send_main(struct pe *pe, uint64_t id, struct ck_env *env)
{
	if (!id)
		coll_get_slow(pe, id); /* aborts and says why the id is not valid */
	env->coll = id;
	env->place = 0;
	env->head.handler = ck_handler(pe, PART_CALL, H_ELEMENT);
	csd_send(pe, (int)(id >> 32), &env->head);
}

static __attribute__((noinline)) void send_any(const CkGenChare *chare, const CkElement *e,
					       int entry, void *payload, const CkEntryOptions *o)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct ck_env *env = take_env(pe, chare, entry, payload, o);
	struct collection *c = coll_get(pe, e->id);

	/* While the collection is unknown here, code that forwards the message would not know its entries;
	 * so the message is packed now. */
	if (CSD_UNLIKELY((env->head.flags & CMI_F_HERE) && !c->type) && !ck_kind(pe, chare)->send)
		env = env_for_others(pe, &chare->entries[entry], env);
	uint64_t place = coll_linear(c, e->index);

	if (CSD_UNLIKELY(place == UINT64_MAX)) {
		send_element(pe, chare, e, env);
		return;
	}
	env->coll = e->id;
	env->place = place;
	if (CSD_LIKELY(place - c->first < c->n_here))
		csd_send(pe, pe->id, &env->head);
	else
		send_to_place(pe, c, env);
}

/* Whether a message object needs nothing of options_apply but the note that it was given away: its
 * entry, its program and its previous send demand no more. */
static inline bool is_plain_message(const struct pe *pe, const CkGenEntry *e,
				    const struct ck_env *env)
{
	return (e->flags & CALL_NOT_PLAIN) == CKGEN_MESSAGE && !e->message->pack && !pe->node->check &&
	       !(env->head.flags & (CMI_F_PRIO | CMI_F_WIDE | CMI_F_LIFO));
}

/* The calls that are too rare for CkGen_send's fast path: mostly message objects. One forwarded to
 * another PE takes 58 of 204 instructions less than through send_any (bench/pingpong, handover, on
 * 2 threads). */
static __attribute__((noinline)) void send_message(const CkGenChare *chare, const CkElement *e,
						   int entry, void *payload)
{
	struct pe *pe = ck_self();
	struct collection *c = ck_of(pe)->last;
	struct ck_env *env = env_of(payload);
	uint64_t place = c->id == e->id ? coll_linear(c, e->index) : UINT64_MAX;

	if (CSD_UNLIKELY(place == UINT64_MAX || !is_plain_message(pe, &chare->entries[entry], env))) {
		send_any(chare, e, entry, payload, NULL);
		return;
	}
	owner_let_go(env);
	call_take_plain(pe, payload, entry);
	env->head.mark = OWNER_SENT;
	env->coll = e->id;
	env->place = place;
	send_to_place(pe, c, env);
}

/* Nearly all such calls are plain, of the same collection as the last call, and of an element of
 * this PE: they take 19 instructions less than through send_any (bench/instructions.sh: array, 2d).
 * The function tests for options first, before it keeps anything on the stack. */
void CkGen_send(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
		const CkEntryOptions *o)
{
	if (o) {
		send_any(chare, e, entry, payload, o);
		return;
	}
	struct pe *pe = ck_self_calls(chare, entry);
	const struct collection *c = ck_of(pe)->last;
	uint64_t place;

	if (CSD_UNLIKELY(c->id != e->id || !call_is_plain(chare, entry, NULL) ||
			 (place = coll_linear(c, e->index)) == UINT64_MAX)) {
		send_message(chare, e, entry, payload);
		return;
	}
	struct ck_env *env = call_take_plain(pe, payload, entry);

	env->coll = e->id;
	env->place = place;
	if (CSD_LIKELY(place - c->first < c->n_here))
		csd_send_here(pe, &env->head);
	else
		send_to_place(pe, ck_of(pe)->last, env);
}

/* ---- a call of constant size ------------------------------------------------------------- */

/* One function makes, addresses and queues the message; the stub fills it afterwards. That is safe
 * for a message that stays on this PE, because no handler runs before the stub's caller has ended.
 * One function instead of a chain of eight took a call from 165 instructions to 55, with the stub:
 * it keeps nothing on the stack and calls no other function. */

static __attribute__((noinline)) CkGenOpen open_empty_pool(const CkGenChare *chare, uint64_t id,
							   int x, int entry, size_t size,
							   size_t cls)
{
	struct pe *pe = ck_self_calls(chare, entry);

	csd_msg_room_slow(pe, size);
	return CkGen_openClass(chare, id, x, entry, size, cls);
}

/* Complete a call that goes to PE `to`. If it leaves this PE, the stub must say when the message is
 * complete. A message that waits here (to < 0) may be filled later, too: no handler runs before the
 * stub's caller has ended. Forced inline: each call to another PE comes here. */
static inline __attribute__((always_inline)) CkGenOpen open_to(struct pe *pe, int to,
							       struct ck_env *env)
{
	if (to >= 0 && to != pe->id)
		return (CkGenOpen){ payload_of(env), to + 1 };
	if (to >= 0)
		csd_send(pe, to, &env->head);
	return (CkGenOpen){ payload_of(env), 0 };
}

static __attribute__((noinline)) CkGenOpen open_routed(struct pe *pe, struct collection *c,
						       struct ck_env *env)
{
	return open_to(pe, c->route->stop->address(pe, c, c->route, env), env);
}

/* Of a collection whose extents are not known here, or of an index that it does not have; or a
 * group. */
static __attribute__((noinline)) CkGenOpen
open_unplaced(const CkGenChare *chare, const CkElement *e, struct pe *pe, struct ck_env *env)
{
	return open_to(pe, address_call(pe, chare, e, env), env);
}

static CkGenOpen open_away(const CkGenChare *chare, uint64_t id, int x, struct pe *pe,
			   struct ck_env *env);

/* Of another collection than last time, or as open_unplaced. */
static __attribute__((noinline)) CkGenOpen open_rare(const CkGenChare *chare, uint64_t id, int x,
						     struct pe *pe, struct ck_env *env)
{
	const struct collection *c = coll_get(pe, id);

	if (CSD_LIKELY((uint32_t)x < c->homes.total))
		return open_away(chare, id, x, pe, env);
	return open_unplaced(chare, &(CkElement){ id, { { x, 0, 0 } }, 0 }, pe, env);
}

/* For a call to another PE, or in another collection than last time. While the extents are unknown
 * here, total is 0. The rare cases are separate functions, to which it jumps, so that it keeps
 * little on the stack. */
static __attribute__((noinline)) CkGenOpen open_away(const CkGenChare *chare, uint64_t id, int x,
						     struct pe *pe, struct ck_env *env)
{
	struct collection *c = ck_of(pe)->last;

	if (CSD_UNLIKELY(c->id != id || (uint32_t)x >= c->homes.total))
		return open_rare(chare, id, x, pe, env);
	env->coll = id;
	env->place = (uint32_t)x;
	if (CSD_UNLIKELY(c->route != NULL))
		return open_routed(pe, c, env);
	/* As coll_home, except that most of these elements are elsewhere. */
	return open_to(pe, CSD_UNLIKELY(!c->homes.map && (uint32_t)x - c->first < c->n_local) ? pe->id :
		       c->homes.home(pe, c, (uint32_t)x), env);
}

__attribute__((noinline)) CkGenOpen call_open_away(const CkGenChare *chare, const CkElement *e,
						   struct pe *pe, struct ck_env *env)
{
	struct collection *c = coll_get(pe, e->id);
	const uint64_t place = coll_linear(c, e->index);

	if (CSD_UNLIKELY(place == UINT64_MAX))
		return open_unplaced(chare, e, pe, env);
	env->coll = e->id;
	env->place = place;
	if (CSD_UNLIKELY(c->route != NULL))
		return open_routed(pe, c, env);
	return open_to(pe, coll_home(pe, c, place), env);
}

CkGenOpen CkGen_openClass(const CkGenChare *chare, uint64_t id, int x, int entry, size_t size,
			  size_t cls)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct cmi_msg **list = &pe->pool.free[cls], *m = *list;

	if (CSD_UNLIKELY(!m))
		return open_empty_pool(chare, id, x, entry, size, cls);
	*list = m->next;
	struct ck_env *env = open_env(pe, m, entry, size);
	const struct collection *c = ck_of(pe)->last;

	/* In one dimension the place is the index. */
	if (CSD_UNLIKELY(c->id != id || (uint32_t)x - c->first >= c->n_line))
		return open_away(chare, id, x, pe, env);
	env->coll = id;
	env->place = (uint32_t)x;
	csd_send_here(pe, m);
	return (CkGenOpen){ payload_of(env), 0 };
}

CkGenOpen CkGen_openAwayClass(const CkGenChare *chare, uint64_t id, int x, int entry, size_t size,
			      size_t cls)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct cmi_msg *m = pe->pool.free[cls];

	if (CSD_UNLIKELY(!m))
		return open_empty_pool(chare, id, x, entry, size, cls);
	pe->pool.free[cls] = m->next;
	return open_away(chare, id, x, pe, open_env(pe, m, entry, size));
}

CkGenOpen CkGen_openElementClass(const CkGenChare *chare, const CkElement *e, int entry,
				 size_t size, size_t cls)
{
	return open_element(chare, e, entry, size, cls, call_open_away, CkGen_openElementClass);
}

void CkGen_close(CkGenOpen call)
{
	csd_send(ck_self(), (int)call.away - 1, &env_of(call.payload)->head);
}

void CkGen_sendAll(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		   const CkEntryOptions *o)
{
	struct pe *pe = ck_self_calls(chare, entry);

	bcast_room(pe, chare, entry, env_of(payload)->head.size);

	struct ck_env *env = take_env(pe, chare, entry, payload, o);

	if (CSD_UNLIKELY(env->head.flags & CMI_F_HERE))
		env = env_for_others(pe, &chare->entries[entry], env);
	if (ck_kind(pe, chare)->send_all) {
		ck_kind(pe, chare)->send_all(pe, chare, p.id, env);
		return;
	}
	coll_get(pe, p.id);
	send_all(pe, p.id, env);
}

void CkGen_sendMain(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		    const CkEntryOptions *o)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct ck_env *env = take_env(pe, chare, entry, payload, o);

	if (CSD_UNLIKELY(env->head.flags & CMI_F_HERE) && !pe_is_here(pe, (int)(p.id >> 32)))
		env = env_for_pe(pe, (int)(p.id >> 32), &chare->entries[entry], env);
	send_main(pe, p.id, env);
}

void CkGen_badLength(const CkGenChare *chare, int entry, const char *param, long long n)
{
	char name[128];

	describe_entry(chare, entry, name, sizeof name);
	csd_abort(ck_self(), "call of %s: the length of %s is %lld", name, param, n);
}
