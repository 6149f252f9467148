/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.c: [count(n)]: n calls with the same number are a round. Each waits at its element, linked
 * by its message, until the last one has come. Then the handler runs once, with all of them in the
 * order of their arrival. n is evaluated when the first call of the round comes.
 *
 * Rounds do not depend on each other. More than n calls with the same number begin another round of
 * that number.
 *
 * A call that does not complete its round takes no memory but its message. It finds its round in
 * the slot of its number. The code that ckci writes unpacks the calls of a round that takes values,
 * in one loop, just before it calls the handler.
 */
#include "rounds.h"
#include "../extra.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/** On a PE: memory for the calls of one handler. It is taken out while a handler uses it, which may
 * run a loop that runs other handlers. */
struct rounds_pe {
	char *room; /* ours */
	size_t bytes;
};

int CkGen_noCount(const void *self, int entry, int number, long long n)
{
	const struct ck_obj *obj = (const struct ck_obj *)self - 1;
	char who[128], name[128];

	csd_abort(ck_self(),
		  "the count of %s is %lld at %s, for the round with number %d; it must be known, "
		  "and at least 1, when the first call of the round comes",
		  describe_entry(obj->coll->type, entry, name, sizeof name), n,
		  obj_describe(obj, who, sizeof who), number);
}

/* ---- memory for the calls -------------------------------------------------------------------- */

enum { ROOM_ON_STACK = 512 }; /* bytes: enough for the calls of most rounds */

static char *room_take(struct pe *pe, size_t bytes, size_t *has_p)
{
	struct rounds_pe *p = ck_state(pe, PART_ROUNDS);
	char *room = p->room;

	*has_p = p->bytes;
	p->room = NULL;
	p->bytes = 0;
	if (CSD_LIKELY(bytes <= *has_p))
		return room;
	free(room);
	*has_p = 2 * bytes;
	return cmi_alloc(*has_p, "the calls of a round");
}

static void room_give(struct pe *pe, char *room, size_t bytes)
{
	struct rounds_pe *p = ck_state(pe, PART_ROUNDS);

	if (CSD_UNLIKELY(p->bytes >= bytes)) {
		free(room);
		return;
	}
	free(p->room);
	p->room = room;
	p->bytes = bytes;
}

/* ---- a round is complete --------------------------------------------------------------------- */

static void free_counted(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	if (e->flags & CKGEN_NOCOPY)
		ncpy_done(pe, e, env);
	if (pe->node->check)
		owner_free(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

static __attribute__((noinline)) void free_each(struct pe *pe, const CkGenEntry *e,
						struct cmi_msg *first)
{
	while (first) {
		struct cmi_msg *next = first->next;

		free_counted(pe, e, (struct ck_env *)first);
		first = next;
	}
}

static __attribute__((noinline)) void calls_arrived(struct pe *pe, const CkGenEntry *e,
						    struct cmi_msg *first)
{
	for (struct cmi_msg *m = first; m; m = m->next)
		if (((struct ck_env *)m)->flags & CK_CALL_LENT)
			ncpy_arrived(pe, e, (struct ck_env *)m);
}

/* The calls stay linked while the handler runs. */
static inline void run_values(struct pe *pe, struct ck_obj *obj, const CkGenEntry *e,
			      CkGenRound *now, struct cmi_msg *first)
{
	const bool special = pe->node->check || e->flags & CKGEN_NOCOPY;

	if (CSD_UNLIKELY(e->flags & CKGEN_NOCOPY))
		calls_arrived(pe, e, first);
	now->first = first;
	e->call(self_of(obj), now);
	if (CSD_UNLIKELY(special))
		free_each(pe, e, first);
	else
		csd_msg_free_list(pe, first);
}

/* The handler may send or free a message: then `held` has NULL. It may take one out of its array,
 * to keep it. */
static __attribute__((noinline)) void run_messages(struct pe *pe, struct ck_obj *obj,
						   const CkGenEntry *e, CkGenRound *now,
						   struct cmi_msg *first)
{
	void **messages = now->calls, **held = messages + now->n;
	int i = 0;

	for (struct cmi_msg *m = first, *next; m; m = next, i++) {
		next = m->next;
		e->count->take(&messages[i], payload_of((struct ck_env *)m));
		held[i] = m;
		owner_lend((struct ck_env *)m, &held[i]);
	}
	e->call(self_of(obj), now);
	for (i = 0; i < now->n; i++) {
		struct ck_env *env = held[i];

		if (env && !messages[i])
			env->head.mark = OWNER_PROGRAM;
		else if (env)
			free_counted(pe, e, env);
	}
}

static inline __attribute__((always_inline)) void
run_round(struct pe *pe, struct ck_obj *obj, const CkGenEntry *e, CkGenRound *now,
	  struct cmi_msg *first)
{
	ck_of(pe)->now = (struct ck_running){ obj, NULL, ((struct ck_env *)first)->entry };
	if (CSD_UNLIKELY(e->flags & CKGEN_MESSAGE))
		run_messages(pe, obj, e, now, first);
	else
		run_values(pe, obj, e, now, first);
	ck_of(pe)->now.obj = NULL;
	if (CSD_UNLIKELY(ck_of(pe)->unpacked != NULL))
		pup_forget(pe);
}

static __attribute__((noinline)) void run_large(struct pe *pe, struct ck_obj *obj,
						const CkGenEntry *e, CkGenRound *now,
						struct cmi_msg *first, size_t bytes)
{
	size_t has;

	now->calls = room_take(pe, bytes, &has);
	char *room = now->calls;

	run_round(pe, obj, e, now, first);
	room_give(pe, room, has);
}

/* The round is over before its handler begins, which may run a loop that completes others, and end
 * the element. */
static __attribute__((noinline)) void round_run(struct pe *pe, struct ck_obj *obj,
						const CkGenEntry *e, struct cmi_msg *first,
						int number, uint32_t n)
{
	const size_t bytes = n * e->count->bytes;
	struct ck_extra *x = extra_of(pe, obj);
	_Alignas(16) char room[ROOM_ON_STACK];
	CkGenRound now = { number, (int)n, room, NULL };

	if (CSD_LIKELY(bytes <= sizeof room))
		run_round(pe, obj, e, &now, first);
	else
		run_large(pe, obj, e, &now, first, bytes);
	if (CSD_UNLIKELY(x->waiting.head != NULL) && x->obj == obj)
		obj_calls_test(pe, obj);
}

/* ---- a call has come ------------------------------------------------------------------------- */

static inline int32_t number_of_call(const CkGenEntry *e, const struct ck_env *env)
{
	int32_t number;

	memcpy(&number, (const char *)env + e->count->number_at, sizeof number);
	return number;
}

/* A call of a round that is not in its slot, or one that needs a look. */
static __attribute__((noinline)) void round_takes_other(struct pe *pe, struct ck_obj *obj,
							struct ck_env *env, const CkGenEntry *e)
{
	const int32_t number = number_of_call(e, env);
	const uint32_t call = env->entry | CKGEN_SEEN;
	struct rounds *s = rounds_make(pe, obj);
	struct round *r = rounds_find(s, call, number);

	if (!r)
		r = rounds_begin(pe, s, call, number,
				 (uint32_t)e->count->count(self_of(obj), number));
	msg_fifo_push(&r->calls, &env->head);
	if (--r->left)
		return;
	struct cmi_msg *first = r->calls.head;
	const uint32_t n = r->n;

	rounds_end(pe, s, r);
	round_run(pe, obj, e, first, number, n);
}

/* The first call of a round, mostly. Sets the round's members as they are after rounds_begin and
 * the push, in one go. */
static __attribute__((noinline)) void round_begins(struct pe *pe, struct ck_obj *obj,
						   struct ck_env *env, const CkGenEntry *e,
						   int32_t number, struct round *r)
{
	uint32_t n;

	if (CSD_UNLIKELY(r->call || extra_of(pe, obj)->rounds->more) ||
	    (n = (uint32_t)e->count->count(self_of(obj), number)) == 1) {
		round_takes_other(pe, obj, env, e);
		return;
	}
	env->head.next = NULL;
	*r = (struct round){ { &env->head, &env->head.next }, env->call, number, n, n - 1 };
}

/* A call that is not shared, and whose flags say nothing but that its entry has an attribute. */
static void round_arrives(struct pe *pe, struct ck_obj *obj, struct ck_env *env,
			  const CkGenEntry *e)
{
	if (CSD_UNLIKELY(!(obj->extra & OBJ_EXTRA)) || CSD_UNLIKELY(!extra_of(pe, obj)->rounds)) {
		round_takes_other(pe, obj, env, e);
		return;
	}
	const int32_t number = number_of_call(e, env);
	struct round *r = rounds_slot(extra_of(pe, obj)->rounds, number);

	if (CSD_UNLIKELY(r->number != number || r->call != env->call)) {
		round_begins(pe, obj, env, e, number, r);
		return;
	}
	msg_fifo_push(&r->calls, &env->head);
	if (--r->left)
		return;
	r->call = 0;
	round_run(pe, obj, e, r->calls.head, number, r->n);
}

static bool round_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	if (env->flags & CK_CALL_REDUCED)
		checked_callback(pe, obj->coll, env);
	round_takes_other(pe, obj, shared ? own_copy(pe, env) : env,
			  &obj->coll->entries[env->entry]);
	return true;
}

/* ---- the part -------------------------------------------------------------------------------- */

static void rounds_describe(struct pe *pe, struct csd_told *to)
{
	const struct wait_pe *w = wait_of(pe);

	for (uint32_t i = 1; i < w->n; i++) {
		const struct ck_extra *x = w->extras[i];

		if (!x->obj || !x->rounds)
			continue;
		for (struct round *r = NULL; (r = rounds_next(x->rounds, r));)
			csd_tell(to, NULL, "%s waits for %u more of %s of %s, number %d",
				 obj_thing(x->obj).name, r->left,
				 csd_plural(r->n, "call", "calls").text,
				 entry_thing(x->obj->coll->type, round_entry(r)).name, r->number);
	}
}

static int rounds_node_start(struct node *node)
{
	call_node_of(node)->takers[CKGEN_TAKER_COUNT] = round_arrives;
	return 0;
}

static void rounds_pe_stop(struct pe *pe)
{
	struct rounds_pe *p = ck_state(pe, PART_ROUNDS);

	free(p->room);
}

static const struct ck_attribute attributes[] = { { CKGEN_COUNT, CK_TAKES_CALL, round_takes } };

const struct ck_part rounds_part = {
	.name = "rounds",
	.number = PART_ROUNDS,
	.pe_bytes = sizeof(struct rounds_pe),
	.attributes = CK_LIST(attributes),
	.node_start = rounds_node_start,
	.pe_stop = rounds_pe_stop,
	.describe = rounds_describe,
};
