/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c: CkAtSync: when all elements of an array have come, and what follows.
 *
 * Without CK_LB, or on one PE, CkAtSync is a call of resumeFromSync and nothing else.
 *
 * With CK_LB each PE answers one question to its parent in PE 0's tree, once all of its own elements wait and all its
 * children have answered: what they took. PE 0 then knows the largest and the mean load, and decides for all: the sync is
 * over (SYNC_RESUME), or a step begins (step.c), after which it is over.
 *
 *	all PEs --ANSWER--> PE 0 --RESUME--> all PEs             one time up and down the tree
 *
 * Elements may be made, and may move by CkMigrateMe, while others wait already. An insertion or a move counts
 * where it begins (sums.sent) and where it ends (sums.done). If both are equal, none was under way, except those
 * that began behind an answer: an insertion, or an element that calls CkAtSync while it waits to leave (for its channels, or for its
 * home). One of these that is counted only where it ends would make up for another one that is counted only where it began.
 * So where elements come and go, or the program moves some, PE 0 asks again, and compares what the first question counted
 * as done with what the second one counts as sent, as wave.h says. The moves of steps are over when a sync is. PEs answer
 * each question only when all their elements wait.
 *
 * An element takes part in the sync for which its PE has counted it in its last answer. Those that call CkAtSync
 * behind it, because they were made meanwhile, take part in the next one: `stamp` tells them apart.
 */
#include "balance_int.h"
#include "../core/shape.h"
#include "../../machine/cmi_ticks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ------------------------------------------------------------------------------------------ */

struct sync_msg *sync_msg_new(struct pe *pe, const struct collection *c, enum sync_kind kind, size_t bytes)
{
	struct sync_msg *m = (struct sync_msg *)csd_msg_alloc(pe, sizeof *m + bytes);

	m->head.handler = ck_handler(pe, PART_BALANCE, H_SYNC);
	m->coll = c->id;
	m->kind = kind;
	m->round = sync_of(c)->round;
	m->wave = m->n = 0;
	m->sums = (struct sync_sums){ 0 };
	return m;
}

void sync_send(struct pe *pe, int dst_pe, struct sync_msg *m)
{
	csd_send(pe, dst_pe, &m->head);
}

void sync_forward(struct pe *pe, const struct sync_msg *m)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++) {
		struct cmi_msg *copy = csd_msg_copy(pe, &m->head);

		copy->handler = m->head.handler;
		csd_send(pe, csd_tree_child(pe, 0, i), copy);
	}
}

/* To the children, and to this PE, which handles it like any other. */
void sync_tell_all(struct pe *pe, const struct collection *c, enum sync_kind kind, uint32_t wave)
{
	struct sync_msg *m = sync_msg_new(pe, c, kind, 0);

	m->wave = wave;
	sync_send(pe, 0, m);
}

/* Look again when no handler runs. */
static void check_soon(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);

	if (s->asked)
		return;
	s->asked = true;
	sync_send(pe, pe->id, sync_msg_new(pe, c, SYNC_CHECK, 0));
}

/* ---- answers --------------------------------------------------------------------------------------------- */

double sync_background(struct pe *pe, struct collection *c, double *own_p)
{
	const struct meter *m = ck_state(pe, PART_BALANCE);
	const double tick = meter_seconds_per_tick(pe);
	double own = 0, measured = 0, all;
	struct ck_obj *obj;

	for (uint64_t at = 0; (obj = coll_each(c, &at));) {
		own += (double)elem_seconds(elem_of(obj), tick);
		measured += (double)elem_of(obj)->ticks * tick;
	}
	all = (double)(m->busy - sync_of(c)->busy_at) * tick;
	*own_p = own;
	return all > measured ? all - measured : 0;
}

/* Elements that came from another PE have brought what they took there, so that the background may seem less. */
static struct sync_sums own_sums(struct pe *pe, struct collection *c)
{
	const struct sync_coll *s = sync_of(c);
	const struct place_inserts in = place_inserts_of(c);
	struct sync_sums sums = {
		.sent = in.sent + in.makes + s->n_left, .done = in.done + s->n_made + s->n_came,
		.n = s->n_live, .dynamic = c->sparse || c->dynamic || s->roams,
	};
	struct ck_obj *obj;
	double own;

	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		sums.alone += place_moves_alone(pe, obj);
	sums.sum = sync_background(pe, c, &own);
	sums.sum += own;
	sums.max = sums.sum;
	return sums;
}

static void sums_join(struct sync_sums *all, const struct sync_sums *one)
{
	all->sent += one->sent;
	all->done += one->done;
	all->n += one->n;
	all->dynamic += one->dynamic;
	all->alone += one->alone;
	all->sum += one->sum;
	if (one->max > all->max)
		all->max = one->max;
}

static void open_wave(struct sync_coll *s, uint32_t wave)
{
	s->wave = wave;
	s->open = true;
	s->n_in = 0;
	s->in = (struct sync_sums){ 0 };
}

/* ---- CK_STATS -------------------------------------------------------------------------------------------- */

void sync_count(struct pe *pe, int what, uint64_t n)
{
	if (pe->counts)
		pe->counts->numbers[balance_of(pe->node)->counts + what] += n;
}

static void name_counts(struct node *node)
{
	static const char group[] = "load balancing";

	if (!csd_counting(node))
		return;
	balance_of(node)->counts = csd_count_number(node, group, "syncs", COUNT_TIMES);
	csd_count_number(node, group, "steps", COUNT_TIMES);
	csd_count_number(node, group, "of these at rest", COUNT_TIMES);
	csd_count_number(node, group, "elements moved", COUNT_TIMES);
	csd_count_number(node, group, "steps took", COUNT_TICKS);
}

static void step_begins(struct pe *pe, struct sync_coll *s)
{
	s->began = cmi_ticks(balance_of(pe->node)->counter);
	sync_count(pe, COUNT_STEPS, 1);
}

static void sync_ends(struct pe *pe, struct sync_coll *s)
{
	uint64_t ticks;

	sync_count(pe, COUNT_SYNCS, 1);
	if (!s->began)
		return;
	ticks = cmi_ticks(balance_of(pe->node)->counter) - s->began;
	sync_count(pe, COUNT_TIME, ticks);
	choose_took(&s->choice, (double)ticks * meter_seconds_per_tick(pe));
	s->began = 0;
}

/* ---- PE 0 ------------------------------------------------------------------------------------------------ */

static void ask_now(void *arg)
{
	struct collection *c = arg;
	struct pe *pe = csd_self();

	csd_chatter_timer(pe, -1);
	sync_tell_all(pe, c, SYNC_ASK, sync_of(c)->wave + 1);
}

/* What is under way may take its time: an insertion waits until the element before it has been destroyed. */
static void ask_again(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);

	if (s->wave < 2) {
		wave_soon(&s->pause);
		sync_tell_all(pe, c, SYNC_ASK, s->wave + 1);
		return;
	}
	csd_chatter_timer(pe, 1);
	wave_after(&s->pause, ask_now, c);
}

/* An array without elements syncs when it has some. */
static void nobody_there(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);

	s->idle = !s->poked;
	if (s->poked)
		ask_again(pe, c);
	s->poked = false;
}

static void poked(struct pe *pe, struct collection *c, uint32_t round)
{
	struct sync_coll *s = sync_of(c);

	if (round != s->round)
		return;
	s->poked = true;
	if (s->idle)
		nobody_there(pe, c);
}

static void all_there(struct pe *pe, struct collection *c, const struct sync_sums *all)
{
	const struct balance_node *b = balance_of(pe->node);
	const bool looks = choose_looks(b, sync_of(c)->round);

	if (looks && choose_step(b, &sync_of(c)->choice, all, pe->node->job->n_pes)) {
		step_begins(pe, sync_of(c));
		step_start(pe, c, all->alone);
	} else {
		sync_tell_all(pe, c, SYNC_RESUME, looks);
	}
}

static void decide(struct pe *pe, struct collection *c, const struct sync_sums *all)
{
	struct sync_coll *s = sync_of(c);
	const bool settled = s->have_before ? s->done_before == all->sent : !all->dynamic && all->sent == all->done;

	s->have_before = true;
	s->done_before = all->done;
	if (!all->n)
		nobody_there(pe, c);
	else if (settled)
		all_there(pe, c, all);
	else
		ask_again(pe, c);
}

/* ---- all have come ------------------------------------------------------------------------------------------ */

static void maybe_answer(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);
	struct sync_sums all;
	struct sync_msg *m;

	if (!s->open || !c->constructed || s->n_waiting != s->n_live || s->n_in < csd_tree_n_children(pe, 0))
		return;
	s->open = false;
	s->stamp++;
	all = own_sums(pe, c);
	sums_join(&all, &s->in);
	if (pe->id == 0) {
		decide(pe, c, &all);
		return;
	}
	m = sync_msg_new(pe, c, SYNC_ANSWER, 0);
	m->wave = s->wave;
	m->sums = all;
	sync_send(pe, csd_tree_parent(pe, 0), m);
}

static void answer_came(struct pe *pe, struct collection *c, const struct sync_msg *m)
{
	struct sync_coll *s = sync_of(c);

	if (!s->open || m->round != s->round || m->wave != s->wave || s->n_in >= csd_tree_n_children(pe, 0))
		csd_misfit(pe, &m->head, "nobody has asked for it");
	s->n_in++;
	sums_join(&s->in, &m->sums);
	maybe_answer(pe, c);
}

/* ---- resumeFromSync ------------------------------------------------------------------------------------------- */

static struct ck_env *resume_call(struct pe *pe, const struct collection *c)
{
	struct ck_env *env = call_take(pe, c->type, c->type->resume, CkGen_alloc(0), NULL);

	env->coll = c->id;
	env->head.src_pe = pe->id;
	return env;
}

static void become_due(struct sync_coll *s, struct lb_elem *e)
{
	e->waits = false;
	e->due = true;
	s->n_waiting--;
	s->n_due++;
}

static void deliver(struct pe *pe, struct collection *c, struct ck_obj *obj, struct ck_env *env)
{
	elem_of(obj)->due = false;
	sync_of(c)->n_due--;
	if (obj_takes_calls(obj))
		deliver_to(pe, obj, env, true);
	else
		call_element(pe, c, obj->index, own_copy(pe, env));
}

/* A handler may insert elements, and destroy some; where elements of other PEs close gaps in their list, the loop may
 * miss one, so it begins again. */
static void deliver_due(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);
	struct ck_env *env;
	struct ck_obj *obj;

	if (!s->n_due)
		return;
	env = resume_call(pe, c);
	c->walks++;
	while (s->n_due)
		for (uint64_t at = 0; (obj = coll_each(c, &at));)
			if (elem_of(obj)->due)
				deliver(pe, c, obj, env);
	c->walks--;
	env_unref(pe, env);
}

/* Behind the last answer: an element that has called CkAtSync since then takes part in the next sync. */
static bool takes_part(const struct sync_coll *s, struct lb_elem *e)
{
	if (!e->waits || (int32_t)(e->round - s->round) > 0)
		return false;
	if ((int32_t)(e->stamp - s->stamp) < 0)
		return true;
	e->round = s->round + 1;
	return false;
}

static void measure_anew(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);
	const struct meter *m = ck_state(pe, PART_BALANCE);

	meter_look(pe);
	edges_begin(pe, c);
	s->busy_at = m->busy;
}

/* Elements may be more than the caches hold, so each is looked at once. */
static void sync_over(struct sync_coll *s, struct lb_elem *e, bool anew)
{
	if (anew) {
		e->ticks = 0;
		e->has_load = false;
	}
	if (takes_part(s, e))
		become_due(s, e);
}

void sync_resume(struct pe *pe, struct collection *c, bool anew)
{
	struct sync_coll *s = sync_of(c);
	struct ck_obj *obj;

	step_free(s);
	if (place_is_closed(c))
		place_open(pe, c);
	if (anew)
		measure_anew(pe, c);
	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		sync_over(s, elem_of(obj), anew);
	s->round++;
	if (pe->id == 0)
		sync_ends(pe, s);
	s->have_before = s->idle = s->poked = false;
	open_wave(s, 0);
	meter_skip(pe);
	deliver_due(pe, c);
	maybe_answer(pe, c);
}

/* ---- what comes ------------------------------------------------------------------------------------------------ */

static void come(struct pe *pe, struct collection *c, const struct sync_msg *m)
{
	struct sync_coll *s = sync_of(c);

	switch ((enum sync_kind)m->kind) {
	case SYNC_CHECK:
		s->asked = false;
		deliver_due(pe, c);
		maybe_answer(pe, c);
		break;
	case SYNC_ANSWER:
		answer_came(pe, c, m);
		break;
	case SYNC_ASK:
		sync_forward(pe, m);
		open_wave(s, m->wave);
		s->poked = false;
		maybe_answer(pe, c);
		break;
	case SYNC_POKE:
		poked(pe, c, m->round);
		break;
	case SYNC_RESUME:
		sync_forward(pe, m);
		sync_resume(pe, c, m->wave);
		break;
	case SYNC_CLOSE:
		if (place_is_closed(c))
			csd_misfit(pe, &m->head, "the array is closed already");
		sync_forward(pe, m);
		place_close(pe, c);
		break;
	case SYNC_STEP:
		if (s->step)
			csd_misfit(pe, &m->head, "a step is under way");
		sync_forward(pe, m);
		step_begin(pe, c, (enum step_way)m->wave);
		break;
	default:
		step_arrived(pe, c, m);
		break;
	}
}

/* Whoever speaks of the collection to this PE may know it before this PE does. Only answers can come so early. */
static void sync_arrived(struct pe *pe, struct cmi_msg *head)
{
	struct sync_msg *m = (struct sync_msg *)head;
	struct collection *c = coll_get(pe, m->coll);

	if (!c->constructed && !sync_of(c)->step) { /* during a step at rest it is made anew */
		call_wait(pe, c, head);
		return;
	}
	if (!coll_syncs(c))
		csd_misfit(pe, head, "its elements do not sync");
	come(pe, c, m);
	csd_msg_free(pe, head);
}

/* ---- elements come and go ------------------------------------------------------------------------------------------ */

static void constructed(struct pe *pe, struct collection *c)
{
	if (!balance_is_on(pe))
		return;
	measure_coll(pe, c);
	if (!coll_syncs(c))
		return;
	if (balance_of(pe->node)->strategy->wants & CK_LB_EDGES)
		edges_want(c);
	open_wave(sync_of(c), 0);
	check_soon(pe, c);
}

static void created(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;

	if (balance_is_on(pe))
		measure_coll(pe, c);
	if (!coll_syncs(c))
		return;
	sync_of(c)->n_live++;
	sync_of(c)->n_made += c->constructed;
}

/* It is counted where it comes to, as long as its sync goes on there. */
static void arrived(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct sync_coll *s = sync_of(c);
	struct lb_elem *e;

	measure_coll(pe, c);
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
			become_due(s, e);
		else
			e->round = s->round;
	}
	if (e->moves)
		step_element_came(pe, obj);
	check_soon(pe, c);
}

static void leaving(struct pe *pe, struct ck_obj *obj)
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
	check_soon(pe, obj->coll);
}

static void stayed(struct pe *pe, struct ck_obj *obj)
{
	if (coll_syncs(obj->coll) && elem_of(obj)->moves)
		step_element_stays(pe, obj);
}

static void destroyed(struct pe *pe, struct ck_obj *obj)
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
	check_soon(pe, obj->coll);
}

/* ---- what programs call --------------------------------------------------------------------------------------------- */

static struct ck_obj *check_self(struct pe *pe, void *self, const char *what)
{
	struct ck_obj *obj = obj_of(self);

	if (obj->coll->type->kind != CKGEN_ARRAY)
		csd_abort(pe, "%s: %s is no array; only elements of arrays can move", what, obj->coll->type->name);
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
		csd_abort(pe, "CkAtSync of %s: it called it before, and resumeFromSync has not come yet",
			  obj_describe(obj, name, sizeof name));
	meter_look(pe);
	e->waits = true;
	e->round = s->round;
	e->stamp = s->stamp;
	s->n_waiting++;
	if (s->open) {
		if (s->n_waiting == s->n_live)
			check_soon(pe, c);
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
		csd_abort(pe, "CkAtSync of %s: %s has no entry method to go on with: declare 'entry void resumeFromSync();' "
			  "in the .ci file", obj_describe(obj, name, sizeof name), obj->coll->type->name);
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

/* ---- the part ------------------------------------------------------------------------------------------------------------ */

int balance_program(struct node *node)
{
	if (!ck_node_of(node)->parts[PART_BALANCE] || !node->program)
		return 0;
	choose_strategy(node);
	measure_program(node);
	name_counts(node);
	return 0;
}

static int balance_node_start(struct node *node)
{
	if (!choose_read(balance_of(node)))
		return CK_PART_OFF;
	measure_node_start(node);
	return 0;
}

static void balance_coll_fini(struct pe *pe, struct collection *c)
{
	(void)pe;
	step_free(sync_of(c));
	edges_free(&sync_of(c)->edges);
}

static const char *sync_misfit(struct pe *pe, const struct cmi_msg *head)
{
	const struct sync_msg *m = (const struct sync_msg *)head;
	const bool up = m->kind == SYNC_ANSWER || m->kind == SYNC_STATS || m->kind == SYNC_DONE;
	const bool down = m->kind == SYNC_ASK || m->kind == SYNC_RESUME || m->kind == SYNC_CLOSE ||
			  m->kind == SYNC_STEP || m->kind == SYNC_MOVES;
	const char *why = shape_id(pe, m->coll);

	if (why)
		return why;
	if (m->kind >= SYNC_KINDS || m->kind == SYNC_CHECK)
		return "it is of no kind";
	if ((up && csd_tree_parent_of(pe, head->src_pe, 0) != pe->id) || (down && csd_tree_parent(pe, 0) != head->src_pe))
		return "it did not come by PE 0's tree";
	if (m->kind == SYNC_POKE && pe->id)
		return "it is for PE 0";
	if (m->kind == SYNC_STATS || m->kind == SYNC_MOVES)
		return step_misfit(pe, m);
	if (m->kind == SYNC_STEP && m->wave > NO_REST)
		return "it is of no kind";
	return head->size == sizeof *m ? NULL : "it is too long";
}

static const struct ck_handler handlers[] = {
	[H_SYNC] = { "ck.sync.step", sync_arrived,
		     .shape = { .least = sizeof(struct sync_msg), .misfit = sync_misfit } },
};

static const struct ck_callback_kind callbacks[] = { { CB_AT_REST, step_at_rest, step_describe_rest } };

const struct ck_part balance_part = {
	.name = "balance",
	.number = PART_BALANCE,
	.node_bytes = sizeof(struct balance_node),
	.pe_bytes = sizeof(struct meter),
	.coll_bytes = sizeof(struct sync_coll),
	.elem_bytes = sizeof(struct lb_elem),
	.handlers = handlers,
	.n_handlers = sizeof handlers / sizeof *handlers,
	.callbacks = callbacks,
	.n_callbacks = sizeof callbacks / sizeof *callbacks,
	.watch = { .created = created, .arrived = arrived, .leaving = leaving, .stayed = stayed, .destroyed = destroyed,
		   .constructed = constructed, .fini = balance_coll_fini },
	.called = edges_called,
	.arrivals = balance_entries,
	.describe = syncs_describe,
	.node_start = balance_node_start,
	.pe_start = measure_pe_start,
	.node_stop = measure_node_stop,
};
