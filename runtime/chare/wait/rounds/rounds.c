/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.c: [count(n)]: n calls with the same number are a round. Each waits at its element, linked
 * by its message, until the last one has come. Then the handler runs once, with all of them in the
 * order of their arrival. n is evaluated when the first call of the round comes.
 *
 * Rounds do not depend on each other. More than n calls with the same number begin another round of
 * that number.
 *
 * A call that does not complete its round takes no memory but its message. The rounds of an element
 * are a list, in which a call is sought by its number: few are open at a time.
 */
#include "rounds.h"
#include "../extra.h"
#include "../../../machine/base/cmi_alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/** On a PE: memory for the calls of one handler. It is taken out while a handler uses it, which may
 * run a loop that runs other handlers. */
struct rounds_pe {
	char *room; /* ours */
	size_t bytes;
};

int CkGen_count(const void *self, int entry, int number, long long n)
{
	const struct ck_obj *obj = (const struct ck_obj *)self - 1;
	char who[128], name[128];

	if (CSD_LIKELY(n > 0 && n <= INT_MAX))
		return (int)n;
	csd_abort(ck_self(),
		  "the count of %s is %lld at %s, for the round with number %d; it must be known, "
		  "and at least 1, when the first call of the round comes",
		  describe_entry(obj->coll->type, entry, name, sizeof name), n,
		  obj_describe(obj, who, sizeof who), number);
}

/* ---- a round is complete --------------------------------------------------------------------- */

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

/* ---- the calls of a round -------------------------------------------------------------------- */

static inline void write_call(struct pe *pe, const CkGenEntry *e, struct ck_env *env, char *to)
{
	if (CSD_UNLIKELY(env->flags & CK_CALL_LENT))
		ncpy_arrived(pe, e, env);
	if (e->count->take)
		e->count->take(to, payload_of(env));
}

static inline void free_counted(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	if (e->flags & CKGEN_NOCOPY)
		ncpy_done(pe, e, env);
	if (CSD_UNLIKELY(pe->node->check))
		owner_free(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

static inline void round_call(struct ck_obj *obj, const CkGenEntry *e, CkGenRound *now)
{
	e->call(self_of(obj), now);
}

/* The calls stay linked while the handler runs. */
static inline void run_values(struct pe *pe, struct ck_obj *obj, const CkGenEntry *e,
			      struct cmi_msg *first, CkGenRound *now)
{
	char *to = now->calls;

	for (struct cmi_msg *m = first; m; m = m->next, to += e->count->bytes)
		write_call(pe, e, (struct ck_env *)m, to);
	round_call(obj, e, now);
	while (first) {
		struct cmi_msg *next = first->next;

		free_counted(pe, e, (struct ck_env *)first);
		first = next;
	}
}

/* The handler may send or free a message: then `held` has NULL. It may take one out of its array,
 * to keep it. */
static __attribute__((noinline)) void run_messages(struct pe *pe, struct ck_obj *obj,
						   const CkGenEntry *e, struct cmi_msg *first,
						   CkGenRound *now)
{
	void **messages = now->calls, **held = messages + now->n;
	int i = 0;

	for (struct cmi_msg *m = first, *next; m; m = next, i++) {
		next = m->next;
		write_call(pe, e, (struct ck_env *)m, (char *)&messages[i]);
		held[i] = m;
		owner_lend((struct ck_env *)m, &held[i]);
	}
	round_call(obj, e, now);
	for (i = 0; i < now->n; i++) {
		struct ck_env *env = held[i];

		if (env && !messages[i])
			env->head.mark = OWNER_PROGRAM;
		else if (env)
			free_counted(pe, e, env);
	}
}

static __attribute__((noinline)) void round_run(struct pe *pe, struct ck_obj *obj, struct round *r)
{
	const CkGenEntry *e = &obj->coll->entries[r->entry];
	const bool messages = e->flags & CKGEN_MESSAGE;
	struct cmi_msg *first = r->calls.head;
	size_t has;
	char *room =
		room_take(pe, r->n * (e->count->bytes + (messages ? sizeof(void *) : 0)), &has);
	CkGenRound now = { r->number, (int)r->n, room };

	ck_of(pe)->now = (struct ck_running){ obj, NULL, r->entry };
	round_free(pe, r);
	if (CSD_UNLIKELY(messages))
		run_messages(pe, obj, e, first, &now);
	else
		run_values(pe, obj, e, first, &now);
	ck_of(pe)->now.obj = NULL;
	if (CSD_UNLIKELY(ck_of(pe)->unpacked != NULL))
		pup_forget(pe);
	room_give(pe, room, has);
}

/* ---- a call has come ------------------------------------------------------------------------- */

/* The round is out of the list: its handler may run a loop that completes others. */
static __attribute__((noinline)) bool round_complete(struct pe *pe, struct ck_obj *obj,
						     struct round *r)
{
	struct ck_extra *x = extra_of(pe, obj);

	round_run(pe, obj, r);
	if (CSD_UNLIKELY(x->waiting.head != NULL) && x->obj == obj)
		obj_calls_test(pe, obj);
	return true;
}

static inline bool round_adds(struct pe *pe, struct ck_obj *obj, struct round **p,
			      struct ck_env *env)
{
	struct round *r = *p;

	msg_fifo_push(&r->calls, &env->head);
	if (--r->left)
		return true;
	*p = r->next;
	return round_complete(pe, obj, r);
}

static inline int32_t number_of_call(const CkGenCount *k, struct ck_env *env)
{
	int32_t number;

	memcpy(&number, (const char *)env + k->number_at, sizeof number);
	return number;
}

/* The first call of a round, one of a round that is not the oldest, or one that needs a look. */
static __attribute__((noinline)) bool round_takes_other(struct pe *pe, struct ck_obj *obj,
							struct ck_env *env, bool shared)
{
	const CkGenCount *k = obj->coll->entries[env->entry].count;
	const int32_t number = number_of_call(k, env);
	struct round **p = &extra_make(pe, obj)->rounds;

	if (CSD_UNLIKELY(env->flags & CK_CALL_REDUCED))
		checked_callback(pe, obj->coll, env);
	while (*p && ((*p)->number != number || (*p)->entry != env->entry))
		p = &(*p)->next;
	if (!*p)
		*p = round_new(pe, env->entry, number, (uint32_t)k->count(self_of(obj), number));
	return round_adds(pe, obj, p, shared ? own_copy(pe, env) : env);
}

static bool round_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	if (CSD_UNLIKELY(!(obj->extra & OBJ_EXTRA) || shared || env->flags & CK_CALL_REDUCED))
		return round_takes_other(pe, obj, env, shared);
	struct round **p = &extra_of(pe, obj)->rounds;

	if (CSD_LIKELY(*p != NULL) && (*p)->entry == env->entry &&
	    (*p)->number == number_of_call(obj->coll->entries[env->entry].count, env))
		return round_adds(pe, obj, p, env);
	return round_takes_other(pe, obj, env, shared);
}

/* ---- the part -------------------------------------------------------------------------------- */

static void rounds_describe(struct pe *pe, struct csd_told *to)
{
	const struct wait_pe *w = wait_of(pe);

	for (uint32_t i = 1; i < w->n; i++)
		for (const struct round *r = w->extras[i]->obj ? w->extras[i]->rounds : NULL; r;
		     r = r->next)
			csd_tell(to, NULL, "%s waits for %u more of %s of %s, number %d",
				 obj_thing(w->extras[i]->obj).name, r->left,
				 csd_plural(r->n, "call", "calls").text,
				 entry_thing(w->extras[i]->obj->coll->type, r->entry).name,
				 r->number);
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
	.pe_stop = rounds_pe_stop,
	.describe = rounds_describe,
};
