/* SPDX-License-Identifier: Apache-2.0 */
/* queued.c: calls of an element that wait in the PE's queue, because they have a priority. */
#include "place_record.h"

struct wanted {
	const struct pe *pe;
	const struct collection *c;
	CkIndex index;
	uint64_t place;
};

/* Plain calls never come after GO, FLUSH or SWITCH; those with a priority may. */
static bool is_wanted(const struct cmi_msg *m, const void *arg)
{
	const struct wanted *w = arg;
	const struct ck_env *env = (const struct ck_env *)m;

	if (m->handler != ck_handler(w->pe, PART_CALL, H_ELEMENT) ||
	    !(m->flags & (CMI_F_PRIO | CMI_F_LIFO | CMI_F_EXPEDITED)) || env->coll != w->c->id)
		return false;
	return w->c->sparse ? !((env->index.v[0] ^ w->index.v[0]) | (env->index.v[1] ^ w->index.v[1]) |
				(env->index.v[2] ^ w->index.v[2])) : env->place == w->place;
}

static struct wanted calls_wanted(const struct pe *pe, const struct collection *c, CkIndex i)
{
	return (struct wanted){ pe, c, i, c->sparse ? 0 : index_place(c, i) };
}

void travel_take_queued(struct pe *pe, struct travel *t)
{
	const struct wanted w = calls_wanted(pe, coll_get(pe, t->coll), t->index);
	struct msg_fifo queued;

	csd_queue_take(pe, is_wanted, &w, &queued);
	msg_fifo_append(&t->late, &queued);
}

static bool is_wanted_copy(const struct cmi_msg *m, const void *arg)
{
	return is_wanted(m, arg) && is_of_all(((const struct wanted *)arg)->pe, m);
}

void travel_drop_queued(struct pe *pe, const struct travel *t)
{
	const struct wanted w = calls_wanted(pe, coll_get(pe, t->coll), t->index);
	struct msg_fifo queued;

	if (!csd_queue_has(pe, is_wanted_copy, &w)) /* taking sorts the queue */
		return;
	csd_queue_take(pe, is_wanted_copy, &w, &queued);
	fifo_free(pe, &queued);
}

bool has_queued(struct pe *pe, const struct collection *c, CkIndex i)
{
	const struct wanted w = calls_wanted(pe, c, i);

	return csd_queue_has(pe, is_wanted, &w);
}
