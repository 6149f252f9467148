/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_rest.c: PE 0: a balancing step waits until the job is quiescent, so that all elements move
 * in bulk. Other elements of the program may have much to do, so that this does not happen within
 * CK_SYNC_MS. Then the array opens again, and the step continues without. After such a step some
 * steps do not try.
 */
#include "step_int.h"
#include "../settle/settle.h"

enum { SKIP_MOST = 6 };           /* at most 2^6 - 1 steps do not try */

static void tell_step(struct pe *pe, const struct collection *c, enum step_way way)
{
	struct sync_msg *m = sync_msg_new(pe, c, SYNC_STEP, 0);

	m->wave = way;
	m->n = sync_of(c)->choice.by;
	sync_send(pe, 0, m);
}

static void look_again(void *arg);

static void set_timer(struct collection *c, double ms)
{
	sync_of(c)->timer = true;
	csd_timer(look_again, c, ms);
}

static void no_rest(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);

	s->closing = false;
	s->n_stale++;
	s->restless += s->restless < SKIP_MOST;
	s->skip = (1u << s->restless) - 1;
	tell_step(pe, c, NO_REST);
}

static void look_again(void *arg)
{
	struct collection *c = arg;
	struct sync_coll *s = sync_of(c);
	const uint64_t now = csd_now_ns();

	s->timer = false;
	if (!s->closing)
		return;
	if (now < s->until_ns)
		set_timer(c, (double)(s->until_ns - now) * 1e-6);
	else
		no_rest(csd_self(), c);
}

void step_start(struct pe *pe, struct collection *c, bool alone)
{
	struct sync_coll *s = sync_of(c);
	const int64_t ms = balance_of(pe->node)->sync_ms;
	CkCallback cb = callback_make(CB_AT_REST);

	if (!ms || s->skip || alone) {
		s->skip -= s->skip && !alone;
		tell_step(pe, c, UNDER_WAY);
		return;
	}
	s->closing = true;
	s->until_ns = csd_now_ns() + (uint64_t)ms * 1000000u;
	if (!s->timer)
		set_timer(c, (double)ms);
	sync_tell_all(pe, c, SYNC_CLOSE, 0);
	cb.id = c->id;
	qd_start(pe, &cb);
}

/* Nothing is under way, so all PEs have closed the array. Requests of steps that have continued
 * without quiescence are answered first or together with this step's. */
void step_at_rest(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	struct collection *c = coll_get(pe, cb->id);
	struct sync_coll *s = sync_of(c);

	csd_msg_free(pe, &env->head);
	if (s->n_stale) {
		s->n_stale--;
		return;
	}
	s->closing = false;
	s->restless = 0;
	balance_count(pe, COUNT_AT_REST, 1);
	tell_step(pe, c, AT_REST);
}

struct csd_thing step_describe_rest(struct pe *pe, const CkCallback *cb)
{
	return csd_named(NULL, "load balancing of %s", coll_thing(coll_get(pe, cb->id)).name);
}
