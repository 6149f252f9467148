/* SPDX-License-Identifier: Apache-2.0 */
/*
 * destroy.c: the end of a chare. A chare may destroy itself. From CkDestroy on it cannot be found.
 * Its memory is freed once none of its handlers runs: at the next turn of the scheduler, or, if it
 * has threads, after the last of them ends.
 */
#include "create_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/** Objects that this PE has to free. */
struct doomed {
	struct ck_obj **objs;
	size_t n, cap;
	bool asked;               /* a message to look at them is on its way */
};

enum { H_DOOMED };

static struct doomed *doomed_of(const struct pe *pe) { return ck_state(pe, PART_DESTROY); }

/* The message goes before everything queued, so that memory does not pile up. */
static void ask_for_end(struct pe *pe, struct doomed *d)
{
	if (d->asked)
		return;
	d->asked = true;
	struct cmi_msg *m =
		ck_msg_new(pe, PART_DESTROY, H_DOOMED, CMI_F_SYSTEM | CMI_F_EXPEDITED, sizeof *m);

	csd_send(pe, pe->id, m);
}

void destroy_later(struct pe *pe, struct ck_obj *obj)
{
	struct doomed *d = doomed_of(pe);

	obj_drop_calls(pe, obj);
	CMI_ONE_MORE(d->objs, d->n, d->cap, "chares that are destroyed");
	d->objs[d->n++] = obj;
	ask_for_end(pe, d);
}

static void last_thread_over(struct pe *pe, struct ck_obj *obj)
{
	(void)obj;
	ask_for_end(pe, doomed_of(pe));
}

/* At this point no handler runs on the PE's own stack; only threads may still be in one. */
static void destroy_doomed(struct pe *pe, struct cmi_msg *m)
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

	if (!ck_kind(pe, type)->destroy && type->kind == CKGEN_ARRAY)
		csd_abort(pe, "CkDestroy: the end of an element of %s needs the room chare/place, which this "
			  "library has been built without", type->name);
	if (!ck_kind(pe, type)->destroy)
		csd_abort(pe, "CkDestroy: %s is neither a singleton chare nor an array; main chares, groups and "
			  "nodegroups live as long as the job", type->name);
	ck_kind(pe, type)->destroy(pe, obj);
}

static void destroy_pe_free(struct pe *pe)
{
	struct doomed *d = doomed_of(pe);

	for (size_t i = 0; i < d->n; i++)
		free(d->objs[i]);
	free(d->objs);
}

static const struct ck_handler handlers[] = { [H_DOOMED] = { "ck.doomed", destroy_doomed,
							     .apart = false } };

const struct ck_part destroy_part = {
	.name = "destroy",
	.number = PART_DESTROY,
	.pe_bytes = sizeof(struct doomed),
	.handlers = CK_LIST(handlers),
	.pe_free = destroy_pe_free,
};
