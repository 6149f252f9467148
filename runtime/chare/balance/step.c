/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c: a balancing step, between the last CkAtSync of an array and its first resumeFromSync.
 *
 *	PE 0 --CLOSE--> all PEs          they hold back what they send to the array; PE 0 waits until
 *	                                 nothing is under way
 *	PE 0 --STEP---> all PEs
 *	all PEs --STATS--> PE 0          what elements took (statistics.c); PE 0 asks (question.c)
 *	PE 0 --MOVES--> all PEs          the elements move
 *	all PEs --DONE---> PE 0 --RESUME-> all PEs
 *
 * In a quiescent array all elements move in bulk (place_bulk). If the strategy keeps the order of
 * an array with extents, its map becomes a table of cuts, and its elements are found as if they had
 * never moved.
 *
 * If the job does not become quiescent in time (step_rest.c), CLOSE is taken back, and elements
 * move one by one as with CkMigrateMe. Each PE knows from the list how many to expect. An element
 * that cannot leave after all, or is destroyed meanwhile, is removed from the list by a message to
 * the PE that waits for it (SYNC_CANCEL).
 */
#include "step_int.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

void step_free(struct sync_coll *s)
{
	if (!s->step)
		return;
	free(s->step->pes);
	free(s->step->elems);
	free(s->step->edges);
	free(s->step);
	s->step = NULL;
}

/* ---- PE 0: the strategy has answered --------------------------------------------------------- */

/* An array with extents whose elements keep their order: the map can be a table of cuts. */
static bool is_cut(const struct collection *c, const struct step *p, const struct question *q)
{
	size_t i = 1;

	while (i < q->s.n && q->to[i - 1] <= q->to[i])
		i++;
	return p->way == AT_REST && !c->sparse && i >= q->s.n;
}

static void write_cuts(const struct collection *c, const struct step *p, const struct question *q,
		       uint64_t *cuts)
{
	int32_t pe = 0;

	cuts[0] = 0;
	for (size_t i = 0; i < q->s.n; i++)
		while (pe < q->to[i])
			cuts[++pe] = index_place(c, p->elems[q->order[i]].index);
	while (pe < q->s.n_pes)
		cuts[++pe] = c->homes.total;
}

static void write_moves(const struct step *p, const struct question *q, struct place_move *moves)
{
	for (size_t i = 0; i < q->s.n; i++)
		if (q->to[i] != q->element[i].pe)
			*moves++ = (struct place_move){ p->elems[q->order[i]].index, q->element[i].pe, q->to[i] };
}

/* Cuts even if nothing moves, if elements live elsewhere than the map says. */
static void send_moves(struct pe *pe, struct collection *c, const struct step *p,
		       const struct question *q)
{
	const bool cut = is_cut(c, p, q);
	const size_t n_cuts = (size_t)q->s.n_pes + 1;
	struct sync_msg *m;
	uint32_t n = 0;
	char *at;

	for (size_t i = 0; i < q->s.n; i++)
		n += q->to[i] != q->element[i].pe;
	balance_count(pe, COUNT_MOVED, n);
	if (!n && !(cut && p->still.away)) {
		sync_tell_all(pe, c, SYNC_RESUME, MEASURE_ANEW);
		return;
	}
	m = sync_msg_new(pe, c, SYNC_MOVES,
			 STILL_BYTES +
				 (cut ? n_cuts * sizeof(uint64_t) : n * sizeof(struct place_move)));
	m->wave = cut;
	m->n = cut ? (uint32_t)n_cuts : n;
	at = still_put(m, &p->still);
	if (cut)
		write_cuts(c, p, q, (uint64_t *)(void *)at);
	else
		write_moves(p, q, (struct place_move *)(void *)at);
	sync_send(pe, 0, m);
}

static void decide_moves(struct pe *pe, struct collection *c, struct step *p)
{
	struct question q;

	question_ask(pe, c, p, &q);
	sync_of(c)->n_steps++;
	send_moves(pe, c, p, &q);
	question_free(&q);
}

static void maybe_all_told(struct pe *pe, struct collection *c)
{
	struct step *p = sync_of(c)->step;

	if (p->n_in < csd_tree_n_children(pe, 0))
		return;
	if (pe->id)
		statistics_send(pe, c, p);
	else
		decide_moves(pe, c, p);
}

void step_begin(struct pe *pe, struct collection *c, enum step_way way, enum forecast by)
{
	struct sync_coll *s = sync_of(c);

	if (way == NO_REST)
		place_open(pe, c);
	s->step = cmi_alloc_zero(1, sizeof(*s->step), "load balancing");
	s->step->way = way;
	if (way == AT_REST)
		s->step->still = place_still_of(pe, c);
	statistics_own(pe, c, s->step, by);
	maybe_all_told(pe, c);
}

/* ---- the elements move ----------------------------------------------------------------------- */

static void maybe_done(struct pe *pe, struct collection *c)
{
	struct step *p = sync_of(c)->step;
	struct sync_msg *m;

	if (!p->known || p->expected || p->n_done < csd_tree_n_children(pe, 0))
		return;
	p->known = false; /* once */
	m = sync_msg_new(pe, c, pe->id ? SYNC_DONE : SYNC_RESUME, 0);
	m->wave = pe->id ? 0 : MEASURE_ANEW;
	sync_send(pe, pe->id ? csd_tree_parent(pe, 0) : 0, m);
}

static void cancel(struct pe *pe, const struct collection *c, int to)
{
	sync_send(pe, to, sync_msg_new(pe, c, SYNC_CANCEL, 0));
}

static void came(struct pe *pe, struct collection *c)
{
	sync_of(c)->step->expected--;
	maybe_done(pe, c);
}

void step_element_came(struct pe *pe, struct ck_obj *obj)
{
	struct lb_elem *e = elem_of(obj);

	e->moves = false;
	if (e->to == pe->id)
		came(pe, obj->coll);
	else /* the program has sent it elsewhere meanwhile */
		cancel(pe, obj->coll, e->to);
}

void step_element_stays(struct pe *pe, struct ck_obj *obj)
{
	struct lb_elem *e = elem_of(obj);

	e->moves = false;
	cancel(pe, obj->coll, e->to);
}

static void move(struct pe *pe, struct collection *c, const struct place_move *r)
{
	struct ck_obj *obj = coll_local(c, r->index);
	struct lb_elem *e = obj ? elem_of(obj) : NULL;

	if (!obj || !e->waits || e->pinned || place_pinned(pe, obj)) {
		cancel(pe, c, r->to);
		return;
	}
	e->moves = true;
	e->to = r->to;
	CkMigrateMe(self_of(obj), r->to);
}

/* Under way. */
static void move_singly(struct pe *pe, struct collection *c, const struct place_move *r, uint32_t n)
{
	struct step *p = sync_of(c)->step;

	p->known = true;
	for (uint32_t i = 0; i < n; i++) {
		p->expected += r[i].to == pe->id;
		if (r[i].from == pe->id)
			move(pe, c, &r[i]);
	}
	maybe_done(pe, c);
}

static void all_moved(struct pe *pe, struct collection *c, void *arg)
{
	(void)arg;
	sync_of(c)->step->known = true;
	maybe_done(pe, c);
}

static void moves_came(struct pe *pe, struct collection *c, const struct sync_msg *m)
{
	struct place_plan plan = { 0 };
	const void *at = still_get(m, &plan.still);

	if (sync_of(c)->step->way != AT_REST) {
		move_singly(pe, c, at, m->n);
		return;
	}
	plan.cuts = m->wave ? at : NULL;
	plan.moves = m->wave ? NULL : at;
	plan.n_moves = m->wave ? 0 : m->n;
	place_bulk(pe, c, &plan, all_moved, NULL);
}

void step_describe(struct collection *c, struct csd_thing what, struct csd_told *to)
{
	const struct step *p = sync_of(c)->step;

	csd_tell(to, &(struct csd_wait){ .who = what },
		 "moves elements: %lld are still to come to this PE%s", (long long)p->expected,
		 p->known ? "" : ", or the list of moves is");
}

/* Each child answers once. */
static void check_asked(struct pe *pe, const struct sync_msg *m, int n)
{
	if (n >= csd_tree_n_children(pe, 0))
		csd_misfit(pe, &m->head, "nobody has asked for it");
}

void step_arrived(struct pe *pe, struct collection *c, const struct sync_msg *m)
{
	struct step *p = sync_of(c)->step;

	if (!p)
		csd_misfit(pe, &m->head, "no step is under way");
	switch ((enum sync_kind)m->kind) {
	case SYNC_STATS:
		check_asked(pe, m, p->n_in);
		statistics_take(p, m);
		maybe_all_told(pe, c);
		break;
	case SYNC_MOVES:
		sync_forward(pe, m);
		moves_came(pe, c, m);
		break;
	case SYNC_CANCEL:
		if (p->known && p->expected <= 0)
			csd_misfit(pe, &m->head, "no element is to come");
		came(pe, c);
		break;
	default: /* SYNC_DONE */
		check_asked(pe, m, p->n_done);
		p->n_done++;
		maybe_done(pe, c);
		break;
	}
}

/* ---- checks of messages from other processes ------------------------------------------------- */

static const char *moves_misfit(const struct pe *pe, const struct sync_msg *m, const void *at)
{
	const struct place_move *r = at;
	const size_t each = m->wave ? sizeof(uint64_t) : sizeof *r;

	if (m->head.size != sizeof *m + STILL_BYTES + m->n * each ||
	    (m->wave && m->n != (uint32_t)pe->node->job->n_pes + 1))
		return "its records do not lie within it";
	for (uint32_t i = 0; i < m->n && !m->wave; i++)
		if (!is_pe(pe, r[i].from) || !is_pe(pe, r[i].to))
			return "it names a PE that does not exist";
	return NULL; /* place_bulk looks at cuts */
}

const char *step_misfit(struct pe *pe, const struct sync_msg *m)
{
	const char *at = (const char *)(m + 1) + STILL_BYTES;

	if (m->head.size < sizeof *m + STILL_BYTES)
		return "its records do not lie within it";
	return m->kind == SYNC_STATS ? statistics_misfit(pe, m, at) : moves_misfit(pe, m, at);
}
