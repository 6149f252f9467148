/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_open.h: how a stub begins a call of an element in any number of dimensions: it allocates and
 * addresses the message, and the stub then fills it. Inline, because one function does all of it
 * (send.c). Two rooms have such functions for stubs: call/, and channel/ for calls that repeat.
 */
#ifndef CK_CALL_OPEN_H
#define CK_CALL_OPEN_H

#include "call.h"

/** Continue a call that leaves this PE, or whose collection differs from the last one's. Takes the
 * message. */
CkGenOpen call_open_away(const CkGenChare *chare, const CkElement *e, struct pe *pe,
			 struct ck_env *env);

static inline struct ck_env *open_env(struct pe *pe, struct cmi_msg *m, int entry, size_t size)
{
	struct ck_env *env = env_fresh(m, size);

	env->head.route = ck_of(pe)->route;
	env->call = (uint32_t)entry;
	return env;
}

typedef CkGenOpen open_fn(const CkGenChare *chare, const CkElement *e, int entry, size_t size,
			  size_t cls);
typedef CkGenOpen away_fn(const CkGenChare *chare, const CkElement *e, struct pe *pe,
			  struct ck_env *env);

static __attribute__((noinline)) CkGenOpen element_empty_pool(const CkGenChare *chare,
							      const CkElement *e, int entry,
							      size_t size, size_t cls,
							      open_fn *again)
{
	struct pe *pe = ck_self_calls(chare, entry);

	csd_msg_room_slow(pe, size);
	return again(chare, e, entry, size, cls);
}

/* In more than one dimension, and with arrays and strings for parameters. A call that leaves this
 * PE continues in `away`. `again` is the caller. */
static inline __attribute__((always_inline))
CkGenOpen open_element(const CkGenChare *chare, const CkElement *e, int entry, size_t size,
		       size_t cls, away_fn *away, open_fn *again)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct cmi_msg *m = pe->pool.free[cls];

	if (CSD_UNLIKELY(!m))
		return element_empty_pool(chare, e, entry, size, cls, again);
	pe->pool.free[cls] = m->next;
	struct ck_env *env = open_env(pe, m, entry, size);
	const struct collection *c = ck_of(pe)->last;
	const uint64_t place = coll_linear(c, e->index);

	if (CSD_UNLIKELY(c->id != e->id || place - c->first >= c->n_here))
		return away(chare, e, pe, env);
	env->coll = e->id;
	env->place = place;
	csd_send_here(pe, m);
	return (CkGenOpen){ payload_of(env), 0 };
}

#endif
