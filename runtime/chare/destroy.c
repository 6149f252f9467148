/* SPDX-License-Identifier: Apache-2.0 */
/*
 * destroy.c: the end of a chare, which may be asked for by itself. From CkDestroy on nobody finds
 * it; its memory goes when no handler of it runs any more: at the next turn of the scheduler,
 * or, when it has threads, after the last of them.
 */
#include "ck_int.h"

#include <stdlib.h>

/** Objects whose memory is to go, on one PE. */
struct doomed {
	struct ck_obj **objs;
	size_t n, cap;
	bool asked;               /* a message to look at them is on its way */
};

static struct doomed *doomed_of(struct pe *pe)
{
	if (!pe->ck->doomed)
		pe->ck->doomed = calloc(1, sizeof *pe->ck->doomed);
	if (!pe->ck->doomed)
		csd_abort(pe, "no memory to destroy a chare");
	return pe->ck->doomed;
}

/* Before everything queued, so that memory does not pile up. */
static void ask(struct pe *pe, struct doomed *d)
{
	if (d->asked)
		return;
	d->asked = true;
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

	m->handler = (uint16_t)pe->node->ck->h_doomed;
	m->flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	csd_send(pe, pe->id, m);
}

void destroy_later(struct pe *pe, struct ck_obj *obj)
{
	struct doomed *d = doomed_of(pe);

	if (obj->extra) {
		when_drop(pe, extra_of(pe, obj));
		sdag_drop_calls(pe, extra_of(pe, obj));
	}
	if (d->n == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 64;
		struct ck_obj **objs = realloc(d->objs, cap * sizeof(*objs));

		if (!objs)
			csd_abort(pe, "no memory to destroy a chare");
		d->objs = objs;
		d->cap = cap;
	}
	d->objs[d->n++] = obj;
	ask(pe, d);
}

static void last_thread_over(struct pe *pe, struct ck_obj *obj)
{
	(void)obj;
	ask(pe, doomed_of(pe));
}

/* No handler runs on the PE's own stack now: only threads may still be in a handler. */
void destroy_doomed(struct pe *pe, struct cmi_msg *m)
{
	struct doomed *d = doomed_of(pe);
	size_t kept = 0;

	csd_msg_free(pe, m);
	d->asked = false;
	for (size_t i = 0; i < d->n; i++) {
		if (obj_end_later(pe, d->objs[i], last_thread_over)) {
			d->objs[kept++] = d->objs[i];
			continue;
		}
		obj_forget(pe, d->objs[i]);
		free(d->objs[i]);
	}
	d->n = kept;
}

void CkDestroy(void *self)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);
	const CkGenChare *type = obj->coll->type;

	switch (type->kind) {
	case CKGEN_CHARE:
		single_remove(pe, obj);
		destroy_later(pe, obj);
		return;
	case CKGEN_ARRAY:
		element_destroy(pe, obj);
		return;
	case CKGEN_MAINCHARE:
	case CKGEN_GROUP:
	case CKGEN_NODEGROUP:
		break;
	}
	csd_abort(pe, "CkDestroy: %s is no singleton chare and no array; main chares, groups and nodegroups live "
		  "as long as the job", type->name);
}

void destroy_fini(struct pe *pe)
{
	struct doomed *d = pe->ck->doomed;

	for (size_t i = 0; d && i < d->n; i++)
		free(d->objs[i]);
	if (d)
		free(d->objs);
	free(d);
}
