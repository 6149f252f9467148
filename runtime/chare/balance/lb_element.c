/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lb_element.c: an element of an array that syncs: it comes and goes, waits, and states its load
 * and position. Its PE counts how many live here and how many wait; at_sync.c uses these numbers.
 */
#include "balance_int.h"

#include <string.h>

/* ---- elements come and go -------------------------------------------------------------------- */

void elem_created(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;

	if (balance_is_on(pe) && !sync_of(c)->unmeasured)
		observe_coll(pe, c);
	if (!coll_syncs(c))
		return;
	sync_of(c)->n_live++;
	sync_of(c)->n_made += c->constructed;
}

/* It is counted on its new PE, where its sync continues. */
void elem_arrived(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct sync_coll *s = sync_of(c);
	struct lb_elem *e;

	if (!s->unmeasured)
		observe_coll(pe, c);
	if (!coll_syncs(c))
		return;
	e = elem_of(obj);
	s->n_live++;
	s->n_came++;
	s->n_due += e->due;
	s->n_waiting += e->waits;
	e->stamp = e->counted ? s->stamp - 1 : s->stamp;
	if (e->waits && (int32_t)(e->round - s->round) < 0) {
		if (e->counted)
			sync_become_due(s, e);
		else
			e->round = s->round;
	}
	if (e->moves)
		step_element_came(pe, obj);
	sync_check_soon(pe, c);
}

void elem_leaving(struct pe *pe, struct ck_obj *obj)
{
	struct sync_coll *s = sync_of(obj->coll);
	struct lb_elem *e;

	(void)pe;
	if (!coll_syncs(obj->coll))
		return;
	e = elem_of(obj);
	e->counted = s->open || (int32_t)(e->stamp - s->stamp) < 0;
	s->n_live--;
	s->n_left++;
	s->roams |= !e->moves;
	s->n_due -= e->due;
	s->n_waiting -= e->waits;
	sync_check_soon(pe, obj->coll);
}

void elem_stayed(struct pe *pe, struct ck_obj *obj)
{
	if (coll_syncs(obj->coll) && elem_of(obj)->moves)
		step_element_stays(pe, obj);
}

void elem_destroyed(struct pe *pe, struct ck_obj *obj)
{
	struct sync_coll *s = sync_of(obj->coll);
	struct lb_elem *e;

	if (!coll_syncs(obj->coll) || obj_is_stub(obj))
		return;
	e = elem_of(obj);
	if (e->moves)
		step_element_stays(pe, obj);
	s->n_live--;
	s->n_due -= e->due;
	s->n_waiting -= e->waits;
	sync_check_soon(pe, obj->coll);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

void syncs_still(struct pe *pe, struct collection *c, struct place_still *still)
{
	(void)pe;
	still->syncs = sync_of(c)->round;
}

/* Its ticks are of this machine; a sync measures anew. */
bool elem_save(void *more)
{
	struct lb_elem *e = more;

	e->ticks = 0;
	e->round = e->stamp = 0;
	e->to = 0;
	e->counted = e->due = e->moves = 0;
	return e->waits;
}

void syncs_remade(struct pe *pe, struct collection *c, const struct place_still *saved)
{
	struct sync_coll *s = sync_of(c);
	struct ck_obj *obj;

	s->round = saved->syncs;
	s->anew = ck_node_of(pe->node)->restart.n_pes != pe->node->job->n_pes;
	if (!coll_syncs(c))
		return;
	for (uint64_t at = 0; (obj = coll_each(c, &at));) {
		struct lb_elem *e = elem_of(obj);

		e->round = s->round;
		e->stamp = s->stamp;
		s->n_waiting += e->waits;
	}
}

/* ---- for programs ---------------------------------------------------------------------------- */

static struct ck_obj *check_self(struct pe *pe, void *self, const char *what)
{
	struct ck_obj *obj = obj_of(self);

	if (obj->coll->type->kind != CKGEN_ARRAY)
		csd_abort(pe, "%s: %s is not an array; only elements of arrays can move", what,
			  obj->coll->type->name);
	return obj;
}

/* As if the program called it. */
static void resume_at_once(struct pe *pe, struct ck_obj *obj)
{
	const struct collection *c = obj->coll;
	const CkElement e = { c->id, obj->index, 0 };

	send_element(pe, c->type, &e, call_take(pe, c->type, c->type->resume, CkGen_alloc(0), NULL));
}

static void wait_for_others(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct sync_coll *s = sync_of(c);
	struct lb_elem *e = elem_of(obj);
	char name[128];

	if (e->waits)
		csd_abort(pe, "CkAtSync of %s: it has called it before, and resumeFromSync has not been called "
			"since",
			  obj_describe(obj, name, sizeof name));
	e->waits = true;
	e->round = s->round;
	e->stamp = s->stamp;
	s->n_waiting++;
	if (s->open) {
		if (s->n_waiting == s->n_live)
			sync_check_soon(pe, c);
	} else if (!s->poked && !s->step) {
		s->poked = true;
		sync_send(pe, 0, sync_msg_new(pe, c, SYNC_POKE, 0));
	}
}

void CkAtSync(void *self)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = check_self(pe, self, "CkAtSync");
	char name[128];

	if (!obj->coll->type->resume)
		csd_abort(
			pe,
			"CkAtSync of %s: %s has no entry method to continue with: declare 'entry void "
			"resumeFromSync();' "
			"in the .ci file",
			obj_describe(obj, name, sizeof name), obj->coll->type->name);
	if (coll_syncs(obj->coll))
		wait_for_others(pe, obj);
	else
		resume_at_once(pe, obj);
}

void CkSetLoad(void *self, double seconds)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = check_self(pe, self, "CkSetLoad");
	char name[128];

	if (!(seconds >= 0 && seconds <= 1e30))
		csd_abort(pe, "CkSetLoad of %s: %g seconds", obj_describe(obj, name, sizeof name), seconds);
	if (!coll_syncs(obj->coll))
		return;
	elem_of(obj)->seconds = (float)seconds;
	elem_of(obj)->has_load = true;
}

void CkPin(void *self, bool on)
{
	struct ck_obj *obj = check_self(ck_self(), self, "CkPin");

	if (coll_syncs(obj->coll))
		elem_of(obj)->pinned = on;
}

void CkSetPosition(void *self, const double *xyz, int n)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = check_self(pe, self, "CkSetPosition");
	char name[128];

	if (n < 1 || n > 3)
		csd_abort(pe, "CkSetPosition of %s: %d coordinates; there may be 1 to 3",
			  obj_describe(obj, name, sizeof name), n);
	if (!coll_syncs(obj->coll))
		return;
	memset(elem_of(obj)->position, 0, sizeof elem_of(obj)->position);
	for (int d = 0; d < n; d++)
		elem_of(obj)->position[d] = (float)xyz[d];
	elem_of(obj)->has_position = true;
}
