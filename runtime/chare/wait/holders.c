/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holders.c: for the watchdog, and for elements that move: who has the name of a future, and could
 * send its value. The runtime does not know where a program keeps names, so this searches for the
 * bytes of a CkFuture, or of a callback made from one: in the fields of elements, in the calls that
 * threads handle, and in calls that wait for their condition. Names elsewhere are not found: on
 * stacks, in memory that fields point to, in global variables. Bytes that look like a name are
 * printed only if a thread waits for that future.
 *
 * The element that made the future is left out: it mostly waits.
 */
#include <string.h>

#include "extra.h"

enum {
	FOUND_MOST = 8,           /* in one object */
	NAME_BYTES = 16,          /* of a CkFuture, and of the bytes of a callback that identify it */
};

/** A search. */
struct search {
	struct pe *pe;
	struct csd_told *to;
	/* The object that is searched. */
	const struct ck_obj *obj;
	const char *where;
	CkFuture found[FOUND_MOST];
	int n_found;
};

static bool was_found(const struct search *s, CkFuture f)
{
	for (int i = 0; i < s->n_found; i++)
		if (s->found[i].id == f.id && s->found[i].pe == f.pe)
			return true;
	return false;
}

static void say_holder(struct search *s, CkFuture f)
{
	if (s->n_found == FOUND_MOST || was_found(s, f) || !future_may_come_from(s->pe, f, s->obj))
		return;
	s->found[s->n_found++] = f;
	const struct csd_wait w = { .who.key = future_thing(f).key, .on = obj_thing(s->obj),
				    .how = CSD_MAY_WAIT };

	csd_tell(s->to, &w, "%s has the name of %s in %s", w.on.name, future_thing(f).name, s->where);
}

/* A number of a slot and how often it was used, both from 1, and a PE. */
static bool is_name(const struct pe *pe, CkFuture f)
{
	return f.id >> 32 && (uint32_t)f.id && f.pe >= 0 && f.pe < pe->node->job->n_pes &&
	       f.type >= CK_NOTYPE && f.type <= CK_ARRAYID;
}

static CkFuture future_in_callback(const void *at)
{
	CkCallback cb = { 0 };

	memcpy(&cb, at, NAME_BYTES);
	if (cb.kind != CB_FUTURE && cb.kind != CB_THREAD)
		return (CkFuture){ 0 };
	return (CkFuture){ cb.id, cb.pe, cb.want };
}

static CkFuture future_at(const struct pe *pe, const void *at)
{
	CkFuture f;

	memcpy(&f, at, sizeof f);
	return is_name(pe, f) ? f : future_in_callback(at);
}

static void search_bytes(struct search *s, const void *from, size_t bytes)
{
	for (size_t i = 0; i + NAME_BYTES <= bytes; i += sizeof(uint64_t)) {
		const CkFuture f = future_at(s->pe, (const char *)from + i);

		if (is_name(s->pe, f))
			say_holder(s, f);
	}
}

bool future_of_element(struct pe *pe, const struct ck_obj *obj, const void *at, size_t bytes,
		       CkFuture *f_p)
{
	for (size_t i = 0; i + NAME_BYTES <= bytes; i += sizeof(uint64_t)) {
		*f_p = future_at(pe, (const char *)at + i);
		if (is_name(pe, *f_p) && future_is_made_by(pe, *f_p, obj))
			return true;
	}
	return false;
}

static void open_place(struct search *s, const struct ck_obj *obj, const char *where)
{
	s->obj = obj;
	s->where = where;
	s->n_found = 0;
}

static void search_call(struct search *s, const struct ck_obj *obj, const struct ck_env *env,
			const char *where)
{
	open_place(s, obj, where);
	search_bytes(s, env + 1, env->head.size - sizeof *env);
}

static void search_elements(struct search *s)
{
	const struct idmap_slot *slot;

	for (size_t i = 0; (slot = idmap_each(&ck_of(s->pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)slot->value;

		/* Other PEs of the node may be running code of a nodegroup's branch. */
		if (!c->constructed || (c->type->kind == CKGEN_NODEGROUP && !csd_at_rest(s->pe)))
			continue;
		struct ck_obj *obj;

		for (uint64_t at = 0; (obj = coll_each(c, &at));) {
			open_place(s, obj, "its fields");
			search_bytes(s, self_of(obj), c->type->bytes);
		}
	}
}

static void search_thread(struct pe *pe, const uint64_t words[CSD_RUNNING_WORDS], void *arg)
{
	struct ck_running now;

	(void)pe;
	memcpy(&now, words, sizeof now);
	if (now.obj && now.env)
		search_call(arg, now.obj, now.env, "the call that a thread of it handles");
}

static void search_waiting(struct search *s)
{
	const struct wait_pe *w = wait_of(s->pe);

	for (uint32_t i = 1; i < w->n; i++) {
		const struct ck_extra *x = w->extras[i];

		for (const struct cmi_msg *m = x->obj ? x->waiting.head : NULL; m; m = m->next)
			search_call(s, x->obj, (const struct ck_env *)m, "a call that waits for its condition");
	}
}

void holders_describe(struct pe *pe, struct csd_told *to)
{
	struct search s = { .pe = pe, .to = to };

	search_waiting(&s);
	csd_each_thread(pe, search_thread, &s);
	search_elements(&s);
}
