/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_save.c: what of a PE's waits a checkpoint cannot save: handlers on stacks, open futures
 * (future.c), answers that threads wait for (sync.c), and arrays that callers have lent. Calls and
 * bodies that wait are saved with their object (wait/along/saved.c), [whenidle] calls by
 * when_idle.c.
 */
#include "extra.h"

bool call_is_lent(const CkGenChare *type, struct ck_env *env)
{
	const CkGenEntry *e = &type->entries[env->entry];

	if (env->flags & CK_CALL_REDUCED)
		return false;
	for (int i = 0; i < e->n_ncpy; i++) {
		const CkGenNcpy *d = ncpy_at(env, e->ncpy[i]);

		if (d->bytes && !d->at)
			return true;
	}
	return false;
}

static void refuse_lent(const struct ck_obj *obj, struct ck_env *env, struct csd_told *to)
{
	if (env && call_is_lent(obj->coll->type, env))
		csd_tell(to, NULL, "a call of %s waits at %s with a nocopy array, which is its caller's memory",
			 entry_thing(obj->coll->type, env->entry).name, obj_thing(obj).name);
}

static void refuse_all_lent(const struct ck_obj *obj, const struct msg_fifo *f, struct csd_told *to)
{
	for (struct cmi_msg *m = f->head; m; m = m->next)
		refuse_lent(obj, (struct ck_env *)m, to);
}

/* The calls that a run has taken. */
static void refuse_lent_of(const struct ck_obj *obj, CkGenRun *run, struct csd_told *to)
{
	struct kept_running r;

	memcpy(&r, run->running, sizeof r);
	refuse_lent(obj, r.now.env, to);
	refuse_lent(obj, run->env, to);
	for (int i = 0; i < run->body->n_slots; i++)
		refuse_lent(obj, slots_of(run)[i].env, to);
}

static void refuse_calls(const struct ck_extra *x, struct csd_told *to)
{
	refuse_all_lent(x->obj, &x->waiting, to);
	for (int e = 0; x->sdag && e < x->sdag->n_entries; e++)
		refuse_all_lent(x->obj, &x->sdag->kept[e], to);
	for (CkGenRun *run = x->sdag ? x->sdag->runs : NULL; run; run = run->next)
		refuse_lent_of(x->obj, run, to);
	for (struct round *r = NULL; x->rounds && (r = rounds_next(x->rounds, r));)
		refuse_all_lent(x->obj, &r->calls, to);
}

static void refuse_extra(const struct ck_extra *x, struct csd_told *to)
{
	if (x->n_threads)
		csd_tell(to, NULL, "%s at %s, with a stack ([threaded])",
			 csd_plural(x->n_threads, "handler has not ended", "handlers have not ended").text,
			 obj_thing(x->obj).name);
	if (x->n_held)
		csd_tell(to, NULL, "%s at %s for buffers or answers",
			 csd_plural(x->n_held, "call waits", "calls wait").text, obj_thing(x->obj).name);
	refuse_calls(x, to);
}

void wait_refuse(struct pe *pe, struct csd_told *to)
{
	const struct wait_pe *w = wait_of(pe);

	for (uint32_t i = 1; i < w->n; i++)
		if (w->extras[i]->obj)
			refuse_extra(w->extras[i], to);
	threads_refuse(pe, to);
}
