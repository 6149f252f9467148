/* SPDX-License-Identifier: Apache-2.0 */
/*
 * at_sync.c: CkAtSync: the barrier of an array's elements, and what follows (Charm++'s AtSync).
 *
 * Without CK_LB, or on one PE, CkAtSync is only a call of resumeFromSync.
 *
 * With CK_LB each PE answers one question to its parent in PE 0's tree, once all of its own
 * elements wait and all its children have answered: the measured loads. PE 0 then knows the largest
 * and the mean load, and decides for all: the sync is over (SYNC_RESUME), or a step begins
 * (step.c), after which it is over.
 *
 *	all PEs --ANSWER--> PE 0 --RESUME--> all PEs             once up and down the tree
 *
 * Elements may be made, and may move by CkMigrateMe, while others wait already. An insertion or a
 * move counts where it begins (sums.sent) and where it ends (sums.done). If both are equal, none
 * was under way, except those that began after an answer: an insertion, or an element that calls
 * CkAtSync while it waits to leave (for its channels, or for its home). One of these that is
 * counted only where it ends would compensate for another one that is counted only where it began.
 * So where elements come and go, or the program moves some, PE 0 asks again, and compares the first
 * question's `done` with the second one's `sent`, as wave.h says. The moves of steps are over when
 * a sync is. PEs answer each question only when all their elements wait.
 *
 * An element takes part in the sync for which its PE has counted it in its last answer. Those that
 * call CkAtSync later, because they were made meanwhile, take part in the next one: `stamp`
 * distinguishes them.
 */
#include "balance_int.h"
#include "../settle/settle.h"
#include "../../machine/tools/cmi_ticks.h"

void sync_check_soon(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);

	if (s->asked)
		return;
	s->asked = true;
	sync_send(pe, pe->id, sync_msg_new(pe, c, SYNC_CHECK, 0));
}

/* ---- answers --------------------------------------------------------------------------------- */

static void add_past(struct sync_sums *sums, const struct past *p, double now)
{
	struct past next = *p;

	past_learn(&next, now);
	sums->seconds += now;
	for (int k = 0; k < N_FORECASTS; k++) {
		sums->by[k].sum += (double)p->says[k];
		sums->by[k].max += (double)next.says[k];
	}
}

static void add_loads(struct pe *pe, struct collection *c, struct sync_sums *sums)
{
	const struct pace pace = sync_pace(pe, c);
	double measured = 0;
	struct ck_obj *obj;

	for (uint64_t at = 0; (obj = coll_each(c, &at));) {
		const struct lb_elem *e = elem_of(obj);

		measured += (double)e->ticks * pace.tick;
		sums->alone += place_moves_alone(pe, obj);
		add_past(sums, &e->past, elem_seconds_now(e, &pace));
	}
	add_past(sums, &sync_of(c)->background, sync_background(sync_busy(pe, c, &pace), measured));
	sums->speed = pace.speed;
	sums->pes = 1;
	for (int k = 0; k < N_FORECASTS; k++) {
		struct sync_forecast *f = &sums->by[k];

		f->square = f->sum * f->sum;
		f->both = f->sum * sums->seconds;
		f->work = f->max * pace.speed;
	}
}

/* In a pause loads are not measured. */
static struct sync_sums own_sums(struct pe *pe, struct collection *c)
{
	const struct sync_coll *s = sync_of(c);
	const struct place_inserts in = place_inserts_of(c);
	struct sync_sums sums = {
		.sent = in.sent + in.makes + s->n_left, .done = in.done + s->n_made + s->n_came,
		.n = s->n_live, .dynamic = c->sparse || c->dynamic || s->roams,
	};

	if (!s->unmeasured)
		add_loads(pe, c, &sums);
	return sums;
}

static void forecasts_join(struct sync_forecast *all, const struct sync_forecast *one)
{
	all->sum += one->sum;
	all->square += one->square;
	all->both += one->both;
	all->work += one->work;
	if (one->max > all->max)
		all->max = one->max;
}

static void sums_join(struct sync_sums *all, const struct sync_sums *one)
{
	all->sent += one->sent;
	all->done += one->done;
	all->n += one->n;
	all->dynamic += one->dynamic;
	all->alone += one->alone;
	all->pes += one->pes;
	all->seconds += one->seconds;
	all->speed += one->speed;
	for (int k = 0; k < N_FORECASTS; k++)
		forecasts_join(&all->by[k], &one->by[k]);
}

static void open_wave(struct sync_coll *s, uint32_t wave)
{
	s->wave = wave;
	s->open = true;
	s->n_in = 0;
	s->in = (struct sync_sums){ 0 };
}

/* ---- PE 0 ------------------------------------------------------------------------------------ */

static void step_begins(struct pe *pe, struct sync_coll *s)
{
	s->began = cmi_ticks(balance_of(pe->node)->counter);
	balance_count(pe, COUNT_STEPS, 1);
}

static void sync_ends(struct pe *pe, const struct collection *c, struct sync_coll *s)
{
	double seconds;
	uint64_t ticks;

	balance_count(pe, COUNT_SYNCS, 1);
	if (!s->began)
		return;
	ticks = cmi_ticks(balance_of(pe->node)->counter) - s->began;
	balance_count(pe, COUNT_TIME, ticks);
	seconds = (double)ticks * meter_seconds_per_tick(pe);
	auto_took(&s->choice, seconds);
	order_step_over(pe, c, seconds);
	s->began = 0;
}

static void ask_now(void *arg)
{
	struct collection *c = arg;
	struct pe *pe = csd_self();

	csd_chatter_timer(pe, -1);
	sync_tell_all(pe, c, SYNC_ASK, sync_of(c)->wave + 1);
}

/* Operations under way may take long: an insertion waits until the previous element has been
 * destroyed. */
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

static void go_on(struct pe *pe, struct collection *c, const struct sync_sums *all)
{
	const struct balance_node *b = balance_of(pe->node);
	const struct meter *m = ck_state(pe, PART_BALANCE);
	/* A job of one PE only meets, in case it is to be saved, or to grow. */
	const bool balances = b->name && pe->node->job->n_pes > 1;
	/* Elements are where a map has put them, on PEs that were not there: a strategy is not asked
	 * whether that is good enough. CK_LB=auto sees what a step would gain. */
	const bool anew = sync_of(c)->anew && balances && !b->automatic;
	const bool asked = balances && order_wants_step(pe, &sync_of(c)->choice);
	const bool looks = balances && choose_looks(b, &sync_of(c)->choice, sync_of(c)->round);

	sync_of(c)->anew = false;
	if (anew || asked || (looks && choose_step(b, &sync_of(c)->choice, all, m->n_arrays == 1))) {
		step_begins(pe, sync_of(c));
		step_start(pe, c, all->alone);
	} else {
		sync_tell_all(pe, c, SYNC_RESUME, balances ? choose_measuring(&sync_of(c)->choice, looks) :
					  MEASURE_OFF);
	}
}

/* A checkpoint that is due is taken while all elements wait. */
static void all_there(struct pe *pe, struct collection *c, const struct sync_sums *all)
{
	CkCallback then = callback_make(CB_SYNC);

	then.id = c->id;
	sync_of(c)->all = *all;
	if (!settle_waits(pe, &then))
		go_on(pe, c, all);
}

void sync_goes_on(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	struct collection *c = coll_get(pe, cb->id);

	csd_msg_free(pe, &env->head);
	go_on(pe, c, &sync_of(c)->all);
}

static void decide(struct pe *pe, struct collection *c, const struct sync_sums *all)
{
	struct sync_coll *s = sync_of(c);
	const bool settled = s->have_before ? s->done_before == all->sent :
					      !all->dynamic && all->sent == all->done;

	s->have_before = true;
	s->done_before = all->done;
	if (!settled) /* also where no PE has any: they may all be under way, and those that wait already
		       * do not poke again */
		ask_again(pe, c);
	else if (!all->n)
		nobody_there(pe, c);
	else
		all_there(pe, c, all);
}

/* ---- all have called ------------------------------------------------------------------------- */

static void maybe_answer(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);
	struct sync_sums all;
	struct sync_msg *m;

	if (!s->open || !c->constructed || s->n_waiting != s->n_live ||
	    s->n_in < csd_tree_n_children(pe, 0))
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

	if (!s->open || m->round != s->round || m->wave != s->wave ||
	    s->n_in >= csd_tree_n_children(pe, 0))
		csd_misfit(pe, &m->head, "nobody has asked for it");
	s->n_in++;
	sums_join(&s->in, &m->sums);
	maybe_answer(pe, c);
}

/* ---- resumeFromSync -------------------------------------------------------------------------- */

static struct ck_env *resume_call(struct pe *pe, const struct collection *c)
{
	struct ck_env *env = call_take(pe, c->type, c->type->resume, CkGen_alloc(0), NULL);

	env->coll = c->id;
	env->head.src_pe = pe->id;
	return env;
}

void sync_become_due(struct sync_coll *s, struct lb_elem *e)
{
	e->waits = false;
	e->due = true;
	s->n_waiting--;
	s->n_due++;
}

/* call: as deliver_simply says. */
static inline void deliver(struct pe *pe, struct collection *c, struct ck_obj *obj,
			   struct ck_env *env, CkGenCall call)
{
	elem_of(obj)->due = false;
	sync_of(c)->n_due--;
	if (CSD_UNLIKELY(!obj_takes_calls(obj)))
		call_element(pe, c, obj->index, own_copy(pe, env));
	else if (CSD_LIKELY(call != NULL))
		deliver_next(pe, obj, env, call);
	else
		deliver_to(pe, obj, env, true);
}

/* A handler may insert elements, and destroy some; where elements of other PEs close gaps in their
 * list, the loop may miss one, so it starts again. */
static void deliver_due(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);
	struct ck_env *env;
	struct ck_obj *obj;
	CkGenCall call;

	if (!s->n_due)
		return;
	env = resume_call(pe, c);
	call = deliver_simply(pe, c, env);
	call_coll_of(c)->walks++;
	while (s->n_due)
		for (uint64_t at = 0; (obj = coll_each(c, &at));)
			if (elem_of(obj)->due)
				deliver(pe, c, obj, env, call);
	call_coll_of(c)->walks--;
	env_unref(pe, env);
}

/* After the last answer: an element that has called CkAtSync since then takes part in the next
 * sync. */
static bool takes_part(const struct sync_coll *s, struct lb_elem *e)
{
	if (!e->waits || (int32_t)(e->round - s->round) > 0)
		return false;
	if ((int32_t)(e->stamp - s->stamp) < 0)
		return true;
	e->round = s->round + 1;
	return false;
}

static void measure_next(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);
	const struct meter *m = ck_state(pe, PART_BALANCE);

	s->busy_at = meter_busy(m);
	s->share_at = m->share.all;
}

static void measure_anew(struct pe *pe, struct collection *c)
{
	observe_coll(pe, c);
	meter_look(pe);
	edges_begin(pe, c);
	measure_next(pe, c);
}

/* What a PE has measured until now. */
struct measured {
	struct pace pace;
	double busy, elements;    /* seconds of the PE; of its elements */
};

static struct measured measured_now(struct pe *pe, struct collection *c)
{
	struct measured m = { .elements = 0 };

	meter_look(pe);
	m.pace = sync_pace(pe, c);
	m.busy = sync_busy(pe, c, &m.pace);
	return m;
}

static void load_next(struct lb_elem *e, enum measuring how, struct measured *m)
{
	if (how == MEASURE_ON)
		return;
	if (how != MEASURE_ANEW) {
		m->elements += (double)e->ticks * m->pace.tick;
		past_learn(&e->past, elem_seconds_now(e, &m->pace));
	}
	e->ticks = 0;
	e->has_load = false;
}

/* Elements may exceed the caches, so each is visited once. */
static void sync_over(struct sync_coll *s, struct lb_elem *e, enum measuring how,
		      struct measured *m)
{
	load_next(e, how, m);
	if (takes_part(s, e))
		sync_become_due(s, e);
}

static void resume_all(struct pe *pe, struct collection *c, enum measuring how)
{
	struct sync_coll *s = sync_of(c);
	const bool learns = how == MEASURE_LEARN || how == MEASURE_OFF;
	struct measured m = { .elements = 0 };
	struct ck_obj *obj;

	step_free(s);
	if (place_is_closed(c))
		place_open(pe, c);
	if (learns)
		m = measured_now(pe, c);
	if (how == MEASURE_ANEW || how == MEASURE_LEARN)
		measure_anew(pe, c);
	else if (how == MEASURE_OFF)
		observe_coll_not(pe, c);
	s->unmeasured = how == MEASURE_OFF || (s->unmeasured && how == MEASURE_ON);
	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		sync_over(s, elem_of(obj), how, &m);
	if (learns)
		past_learn(&s->background, sync_background(m.busy, m.elements));
	s->round++;
	if (pe->id == 0)
		sync_ends(pe, c, s);
	s->have_before = s->idle = s->poked = false;
	open_wave(s, 0);
	meter_skip(pe);
	deliver_due(pe, c);
	maybe_answer(pe, c);
}

/* ---- messages -------------------------------------------------------------------------------- */

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
		resume_all(pe, c, (enum measuring)m->wave);
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
		step_begin(pe, c, (enum step_way)m->wave, (enum forecast)m->n);
		break;
	default:
		step_arrived(pe, c, m);
		break;
	}
}

/* A PE that names the collection to this PE may know it before this PE does. Only answers can
 * arrive so early. */
void sync_arrived(struct pe *pe, struct cmi_msg *head)
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

/* ---- the first sync -------------------------------------------------------------------------- */

/* The PE's earlier work is no load, like constructors: the main chare may have read files. */
static void first_known(struct pe *pe, struct collection *c)
{
	struct meter *m = ck_state(pe, PART_BALANCE);

	m->n_arrays++;
	sync_of(c)->known = true;
	measure_anew(pe, c);
}

void sync_constructed(struct pe *pe, struct collection *c)
{
	const bool balances = balance_is_on(pe);

	if (balances)
		observe_coll(pe, c);
	if (!coll_syncs(c))
		return;
	sync_of(c)->unmeasured |= !balances;
	if (balances && !sync_of(c)->known)
		first_known(pe, c);
	if (balances && balance_of(pe->node)->strategy->wants & CK_LB_EDGES)
		edges_want(c);
	open_wave(sync_of(c), 0);
	sync_check_soon(pe, c);
}
