/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when.c: [when(condition)]: a call whose condition is false waits at its element. What waits
 * is looked at again after everything that may have changed the element: a handler of it, a part
 * of a threaded one up to where it waits or ends, an inline or local call. Then the oldest call
 * whose condition is true is made, and again, until there is none. So calls of one entry keep
 * their order, except that one whose condition is true does not wait for an earlier one whose
 * condition is false.
 *
 * While an element of a collection has waiting calls, all calls of that collection on this PE
 * take the longer way through deliver_to, which looks at them: n_entries is 0. Others pay
 * nothing.
 */
#include "ck_int.h"

/* ---- what waits -------------------------------------------------------------------------------- */

static bool is_true(struct ck_obj *obj, struct ck_env *env)
{
	return obj->coll->entries[env->entry].when(self_of(obj), payload_of(env));
}

static void count(struct collection *c, int more)
{
	c->n_waiting += (uint32_t)more;
	c->n_entries = c->n_waiting ? 0 : (uint32_t)c->type->n_entries;
}

static void keep(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	struct ck_extra *x = extra_make(pe, obj);

	if (!x->waiting.head)
		count(obj->coll, 1);
	msg_fifo_push(&x->waiting, &env->head);
}

/* The oldest that may go now. */
static struct ck_env *take_true(struct ck_extra *x)
{
	for (struct cmi_msg **p = &x->waiting.head; *p; p = &(*p)->next) {
		struct cmi_msg *m = *p;

		if (!is_true(x->obj, (struct ck_env *)m))
			continue;
		*p = m->next;
		if (x->waiting.tail == &m->next)
			x->waiting.tail = p;
		if (!x->waiting.head)
			count(x->obj->coll, -1);
		return (struct ck_env *)m;
	}
	return NULL;
}

void when_drop(struct pe *pe, struct ck_extra *x)
{
	if (x->waiting.head)
		count(x->obj->coll, -1);
	while (x->waiting.head)
		csd_msg_free(pe, msg_fifo_pop(&x->waiting));
}

/* ---- when it is looked at ----------------------------------------------------------------------- */

/* No handler runs. A handler may destroy the element: the record tells. */
void when_test(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_of(pe, obj);
	struct ck_env *env;

	while (x->obj == obj && !x->end && (env = take_true(x)))
		execute(pe, obj, env, false);
	if (x->obj == obj)
		extra_trim(pe, x);
}

/* Something has changed the element while a handler runs: look when none does. */
void when_test_soon(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_of(pe, obj);

	if (!x->waiting.head || x->asked)
		return;
	struct ck_env *env = env_new(pe, pe->node->ck->h_when, 0);

	x->asked = true;
	env->place = x->no;
	csd_send(pe, pe->id, &env->head);
}

void when_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_extra *x = pe->ck->extras[((struct ck_env *)m)->place];

	csd_msg_free(pe, m);
	x->asked = false;
	if (x->obj)
		when_test(pe, x->obj);
	else
		extra_free(pe, x);
}

/* Whether the call has to wait; then it is kept, of a shared message a copy. */
bool when_keeps(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	/* Earlier calls that the change has set free go first. */
	if (obj->extra && extra_of(pe, obj)->asked)
		when_test(pe, obj);
	if (is_true(obj, env))
		return false;
	if (CSD_UNLIKELY(obj->coll->type->kind == CKGEN_NODEGROUP))
		csd_abort(pe, "a [when] condition of a nodegroup is false: calls of nodegroups cannot "
			  "wait, because no PE owns the branch; use a group");
	if (shared) {
		env = (struct ck_env *)csd_msg_copy(pe, &env->head);
		atomic_store_explicit(&env->refs, 1, memory_order_relaxed); /* ours alone */
	}
	keep(pe, obj, env);
	return true;
}
