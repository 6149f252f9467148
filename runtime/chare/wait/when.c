/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when.c: [when(condition)]: a call whose condition is false waits at its element. The PE tests the
 * waiting calls again after everything that may have changed the element: a handler of the element,
 * a stretch of a threaded handler up to where it waits or ends, an inline or local call. Then it
 * runs the oldest call whose condition is true, and tests again, until there is none. So calls of
 * one entry keep their order, except that a call whose condition is true does not wait for an
 * earlier one whose condition is false.
 *
 * In a nodegroup only [exclusive] entries may have conditions. The thread that runs such a handler
 * tests the waiting calls after it (nodegroup.c).
 *
 * While an element of a collection has waiting calls, n_entries is 0, so that all calls of that
 * collection on this PE take the slow path through deliver_to, which tests them. Other collections
 * pay nothing.
 */
#include "extra.h"

#include <stdio.h>

/* ---- what waits ------------------------------------------------------------------------------ */

static bool is_true(struct ck_obj *obj, struct ck_env *env)
{
	return obj->coll->entries[env->entry].when(self_of(obj), payload_of(env));
}

static void count_waiting(struct collection *c, int more)
{
	struct wait_coll *w = coll_state(c, PART_WAIT);

	w->n_waiting += (uint32_t)more;
	c->n_entries = w->n_waiting ? 0 : (uint32_t)c->type->n_entries;
}

static void keep_call(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	struct ck_extra *x = extra_make(pe, obj);

	if (!x->waiting.head)
		count_waiting(obj->coll, 1);
	msg_fifo_push(&x->waiting, &env->head);
}

struct ck_env *when_take_true(struct ck_obj *obj, struct msg_fifo *waiting)
{
	for (struct cmi_msg **p = &waiting->head; *p; p = &(*p)->next) {
		struct cmi_msg *m = *p;

		if (!is_true(obj, (struct ck_env *)m))
			continue;
		*p = m->next;
		if (waiting->tail == &m->next)
			waiting->tail = p;
		return (struct ck_env *)m;
	}
	return NULL;
}

static struct ck_env *take_true(struct ck_extra *x)
{
	struct ck_env *env = when_take_true(x->obj, &x->waiting);

	if (env && !x->waiting.head)
		count_waiting(x->obj->coll, -1);
	return env;
}

void call_drop(struct pe *pe, const struct ck_obj *obj, struct ck_env *env)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];

	if (e->flags & CKGEN_NOCOPY)
		ncpy_done(pe, e, env);
	csd_msg_free(pe, &env->head);
}

void when_drop(struct pe *pe, struct ck_extra *x)
{
	if (x->waiting.head)
		count_waiting(x->obj->coll, -1);
	while (x->waiting.head)
		call_drop(pe, x->obj, (struct ck_env *)msg_fifo_pop(&x->waiting));
}

void when_take(struct ck_extra *x, struct msg_fifo *to)
{
	if (!x->waiting.head)
		return;
	count_waiting(x->obj->coll, -1);
	*to = x->waiting;
	msg_fifo_init(&x->waiting);
}

void when_give(struct pe *pe, struct ck_obj *obj, struct msg_fifo *from)
{
	while (from->head)
		keep_call(pe, obj, (struct ck_env *)msg_fifo_pop(from));
}

static void report_waiting(struct pe *pe, const struct ck_obj *obj, const struct msg_fifo *waiting)
{
	const struct ck_env *first = (const struct ck_env *)waiting->head;
	const size_t n = msg_fifo_count(waiting);
	char name[128];

	describe_entry(obj->coll->type, first->entry, name, sizeof name);
	fprintf(stderr, "chard: PE %d: at exit %s at %s for the condition, the first is %s\n", pe->id,
		csd_plural(n, "call still waits", "calls still wait").text, obj_thing(obj).name, name);
}

void when_leave(struct pe *pe, const struct ck_obj *obj, struct msg_fifo *waiting)
{
	if (waiting->head && pe->node->check)
		report_waiting(pe, obj, waiting);
	while (waiting->head)
		csd_msg_free(pe, msg_fifo_pop(waiting));
}

static size_t count_calls(const struct msg_fifo *waiting, uint32_t entry)
{
	size_t n = 0;

	for (const struct cmi_msg *m = waiting->head; m; m = m->next)
		n += ((const struct ck_env *)m)->entry == entry;
	return n;
}

void when_describe(const struct ck_obj *obj, const struct msg_fifo *waiting, struct csd_told *to)
{
	const CkGenChare *type = obj->coll->type;

	for (int e = 0; e < type->n_entries; e++) {
		const size_t n = type->entries[e].when ? count_calls(waiting, (uint32_t)e) : 0;
		const char *text = type->entries[e].when_text;

		if (n)
			csd_tell(to, NULL, "%zu call%s of %s wait%s at %s until its condition is true: %s",
				 n, n > 1 ? "s" : "", entry_thing(type, (uint32_t)e).name,
				 n > 1 ? "" : "s", obj_thing(obj).name, text ? text : "?");
	}
}

/* ---- testing --------------------------------------------------------------------------------- */

/* Called when no handler runs. A handler may destroy the element; then x->obj is NULL. */
void when_test(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_of(pe, obj);
	struct ck_env *env;

	while (x->obj == obj && !x->end && !(obj->extra & OBJ_LEAVING) && (env = take_true(x)))
		execute(pe, obj, env, false);
	if (x->obj == obj)
		extra_trim(pe, x);
}

/** A message of the PE to itself: test the calls of a record. */
struct when_msg {
	struct cmi_msg head;
	uint32_t no;
};

/* The element has changed while a handler runs: test its calls when no handler runs. */
void when_test_soon(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_of(pe, obj);

	if (!x->waiting.head || x->asked)
		return;
	struct when_msg *m = ck_msg_new(pe, PART_WAIT, H_WHEN, 0, sizeof *m);

	x->asked = true;
	m->no = x->no;
	csd_send(pe, pe->id, &m->head);
}

void when_test_if_true(struct pe *pe, struct ck_obj *obj)
{
	const struct cmi_msg *m = extra_of(pe, obj)->waiting.head;

	while (m && !is_true(obj, (struct ck_env *)(uintptr_t)m))
		m = m->next;
	if (m)
		when_test_soon(pe, obj);
}

void when_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_extra *x = wait_of(pe)->extras[((struct when_msg *)m)->no];

	csd_msg_free(pe, m);
	x->asked = false;
	if (x->obj)
		when_test(pe, x->obj);
	else
		extra_free(pe, x);
}

/* Whether the call has to wait. If so, the element keeps the message, or a copy of a shared one. */
bool when_keeps(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	/* Earlier calls that may run after the change go first. */
	if ((obj->extra & OBJ_EXTRA) && extra_of(pe, obj)->asked)
		when_test(pe, obj);
	if (!(obj->extra & OBJ_LEAVING) && is_true(obj, env))
		return false;
	const struct ck_kind *kind = ck_kind(pe, obj->coll->type);

	if (kind->keep)
		kind->keep(obj, env);
	else
		keep_call(pe, obj, shared ? own_copy(pe, env) : env);
	return true;
}
