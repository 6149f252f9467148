/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c: a balancing step, between the last CkAtSync of an array and its first resumeFromSync.
 *
 *	PE 0 --CLOSE--> all PEs          they hold back what they send to the array; PE 0 waits until nothing is under way
 *	PE 0 --STEP---> all PEs
 *	all PEs --STATS--> PE 0          what elements took, up PE 0's tree; PE 0 asks the strategy
 *	PE 0 --MOVES--> all PEs          the elements move
 *	all PEs --DONE---> PE 0 --RESUME-> all PEs
 *
 * At rest all elements move together (place_bulk). If the strategy keeps the order of an array with extents, its map becomes
 * a table of cuts, and its elements are found as if they had never moved.
 *
 * The other elements of the program may have much to do, so that the job does not come to rest within CK_SYNC_MS.
 * Then CLOSE is taken back, and elements move one by one as with CkMigrateMe. Each PE knows from the list how many come to it.
 * An element that cannot leave after all, or is destroyed meanwhile, is taken off the list by a word to the PE that
 * waits for it (SYNC_CANCEL). After a step without rest some steps do not try.
 */
#include "balance_int.h"
#include "strategies/lb_dump.h"
#include "../core/index.h"
#include "../settle/settle.h"
#include "../../machine/cmi_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What PEs and elements took, as it travels. */
struct pe_record {
	int32_t pe;
	float background;
};

struct elem_record {
	CkIndex index;
	int32_t pe;
	float seconds;
	float position[3];
	uint32_t pinned, has_position;
};

/* In front of the records of SYNC_STATS and SYNC_MOVES. */
enum { REST_BYTES = (sizeof(struct place_rest) + 15) / 16 * 16 };

struct step {
	enum step_way way;
	struct place_rest rest;   /* at rest: of this PE and all below it */
	struct pe_record *pes;    /* ours */
	struct elem_record *elems;/* ours */
	struct edge_record *edges;/* ours */
	size_t n_pes, n, n_edges, cap_pes, cap, cap_edges;
	int n_in, n_done;         /* children that have sent their statistics / whose PEs have all their elements */
	int64_t expected;         /* elements that are still to come */
	bool known;               /* the list of moves has come */
};

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

static void step_room(struct step *p, size_t pes, size_t elems, size_t edges)
{
	if (p->n_edges + edges > p->cap_edges) {
		p->cap_edges = p->n_edges ? 2 * (p->n_edges + edges) : edges;
		p->edges = cmi_realloc(p->edges, p->cap_edges, sizeof(*p->edges), "load balancing");
	}
	if (p->n_pes + pes > p->cap_pes) {
		p->cap_pes = 2 * (p->n_pes + pes);
		p->pes = cmi_realloc(p->pes, p->cap_pes, sizeof(*p->pes), "load balancing");
	}
	if (p->n + elems > p->cap) {
		p->cap = p->n ? 2 * (p->n + elems) : elems;
		p->elems = cmi_realloc(p->elems, p->cap, sizeof(*p->elems), "load balancing");
	}
}

/* ---- PE 0: until the job is at rest ---------------------------------------------------------------- */

enum { SKIP_MOST = 6 };           /* at most 2^6 - 1 steps do not try */

static void look_again(void *arg);

static void set_timer(struct collection *c, double ms)
{
	sync_of(c)->timer = true;
	CcdCallFnAfter(look_again, c, ms);
}

static void no_rest(struct pe *pe, struct collection *c)
{
	struct sync_coll *s = sync_of(c);

	s->closing = false;
	s->n_stale++;
	s->restless += s->restless < SKIP_MOST;
	s->skip = (1u << s->restless) - 1;
	sync_tell_all(pe, c, SYNC_STEP, NO_REST);
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
		sync_tell_all(pe, c, SYNC_STEP, UNDER_WAY);
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

/* Nothing is under way, so all PEs have closed the array. Requests of steps that have gone on without rest are answered
 * first or together with this step's. */
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
	sync_count(pe, COUNT_AT_REST, 1);
	sync_tell_all(pe, c, SYNC_STEP, AT_REST);
}

void step_describe_rest(struct pe *pe, const CkCallback *cb, char *buf, size_t len)
{
	char what[160];

	snprintf(buf, len, "load balancing of %s", coll_describe(coll_get(pe, cb->id), what, sizeof what));
}

/* ---- what this PE has measured ---------------------------------------------------------------------- */

static struct elem_record record_of(struct pe *pe, struct ck_obj *obj, enum step_way way, double tick)
{
	const struct lb_elem *e = elem_of(obj);
	struct elem_record r = {
		.index = obj->index, .pe = pe->id, .seconds = elem_seconds(e, tick), .has_position = e->has_position,
		.pinned = e->pinned || !e->waits || !obj_takes_calls(obj) || place_pinned(pe, obj) ||
			  (way == AT_REST && place_moves_alone(pe, obj)),
	};

	memcpy(r.position, e->position, sizeof r.position);
	return r;
}

static void add_edges(struct step *p, const struct edge_record *e, size_t n)
{
	if (n)
		memcpy(p->edges + p->n_edges, e, n * sizeof *e);
	p->n_edges += n;
}

static void add_own(struct pe *pe, struct collection *c, struct step *p)
{
	const struct edges *edges = &sync_of(c)->edges;
	const double tick = meter_seconds_per_tick(pe);
	struct ck_obj *obj;
	double own;

	edges_add_puts(pe, c);
	step_room(p, 1, sync_of(c)->n_live, edges->n);
	add_edges(p, edges->list, edges->n);
	p->pes[p->n_pes++] = (struct pe_record){ pe->id, (float)sync_background(pe, c, &own) };
	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		p->elems[p->n++] = record_of(pe, obj, p->way, tick);
}

/* Returns what is behind it. */
static char *rest_put(struct sync_msg *m, const struct place_rest *rest)
{
	char *at = (char *)(m + 1);

	memset(at, 0, REST_BYTES);
	memcpy(at, rest, sizeof *rest);
	return at + REST_BYTES;
}

static const char *rest_get(const struct sync_msg *m, struct place_rest *rest)
{
	memcpy(rest, m + 1, sizeof *rest);
	return (const char *)(m + 1) + REST_BYTES;
}

static void send_statistics(struct pe *pe, struct collection *c, const struct step *p)
{
	const size_t pes = p->n_pes * sizeof *p->pes, elems = p->n * sizeof *p->elems;
	const size_t edges = p->n_edges * sizeof *p->edges;
	struct sync_msg *m = sync_msg_new(pe, c, SYNC_STATS, REST_BYTES + pes + elems + edges);
	char *at = rest_put(m, &p->rest);

	m->wave = (uint32_t)p->n_pes;
	m->n = (uint32_t)p->n;
	m->sums.n = p->n_edges;
	memcpy(at, p->pes, pes);
	if (elems)
		memcpy(at + pes, p->elems, elems);
	if (edges)
		memcpy(at + pes + elems, p->edges, edges);
	sync_send(pe, csd_tree_parent(pe, 0), m);
}

static void take_statistics(struct step *p, const struct sync_msg *m)
{
	const size_t pes = m->wave * sizeof *p->pes, elems = m->n * sizeof *p->elems;
	struct place_rest rest;
	const char *at = rest_get(m, &rest);

	place_rest_join(&p->rest, &rest);
	step_room(p, m->wave, m->n, m->sums.n);
	memcpy(p->pes + p->n_pes, at, pes);
	if (elems)
		memcpy(p->elems + p->n, at + pes, elems);
	add_edges(p, (const struct edge_record *)(const void *)(at + pes + elems), m->sums.n);
	p->n_pes += m->wave;
	p->n += m->n;
	p->n_in++;
}

/* ---- PE 0: the strategy ---------------------------------------------------------------------------------- */

/* Records in index order. Not at rest, an element that the program moves meanwhile may be named by two PEs, or by none: it counts
 * once. If it is not where the step says, it is taken off the list. */
struct ordered {
	CkIndex key;
	uint32_t at;              /* in step.elems */
};

static int compare_ordered(const void *a_, const void *b_)
{
	const struct ordered *a = a_, *b = b_;

	for (int i = 0; i < 3; i++)
		if (a->key.v[i] != b->key.v[i])
			return a->key.v[i] < b->key.v[i] ? -1 : 1;
	return 0;
}

/* Indices of four dimensions and more have two numbers in a word. */
static CkIndex key_of(const CkGenChare *type, CkIndex i)
{
	CkIndex key = i;

	for (int w = 0; type->nd > 3 && w < 3; w++)
		key.v[w] = (int32_t)((uint32_t)(uint16_t)CkIndexShort(i, 2 * w) << 16 |
				     ((uint32_t)(uint16_t)CkIndexShort(i, 2 * w + 1) ^ 0x8000));
	return key;
}

static uint32_t *order_sparse(const struct collection *c, const struct step *p, size_t *n_p)
{
	struct ordered *all = cmi_alloc_zero(p->n + 1, sizeof *all, "load balancing");
	uint32_t *order = cmi_alloc_zero(p->n + 1, sizeof *order, "load balancing");

	for (size_t i = 0; i < p->n; i++)
		all[i] = (struct ordered){ key_of(c->type, p->elems[i].index), (uint32_t)i };
	qsort(all, p->n, sizeof *all, compare_ordered);
	*n_p = 0;
	for (size_t i = 0; i < p->n; i++)
		if (!i || compare_ordered(&all[i - 1], &all[i]))
			order[(*n_p)++] = all[i].at;
	free(all);
	return order;
}

/* Places are in index order. */
static uint32_t *order_dense(const struct collection *c, const struct step *p, size_t *n_p)
{
	uint32_t *at = cmi_alloc_zero(c->total + 1, sizeof *at, "load balancing");
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		at[index_place(c, p->elems[i].index)] = (uint32_t)i + 1;
	for (uint64_t place = 0; place < c->total; place++)
		if (at[place])
			at[n++] = at[place] - 1;
	*n_p = n;
	return at;
}

static CkLBElement element_of(const struct collection *c, const struct elem_record *r)
{
	const int nd = c->type->nd ? c->type->nd : 3;
	CkLBElement e = { .pe = r->pe, .pinned = r->pinned, .seconds = r->seconds, .bytes = c->type->bytes };

	for (int d = 0; d < nd; d++)
		e.index[d] = nd > 3 ? CkIndexShort(r->index, d) : r->index.v[d];
	for (int d = 0; d < 3; d++)
		e.position[d] = r->has_position ? r->position[d] : (float)e.index[d];
	return e;
}

/** Everything that the strategy sees and says, in blocks of their own. */
struct question {
	CkLBStats s;
	float *background, *speed;
	CkLBElement *element;
	CkLBEdge *edge;
	uint32_t *order;          /* the record of element i */
	int32_t *to;
};

static void question_free(struct question *q)
{
	free(q->background);
	free(q->speed);
	free(q->element);
	free(q->edge);
	free(q->order);
	free(q->to);
}

static void question_edges(const struct step *p, struct question *q)
{
	CkIndex *index = cmi_alloc_zero(p->n + 1, sizeof *index, "load balancing");

	for (size_t i = 0; i < q->s.n; i++)
		index[i] = p->elems[q->order[i]].index;
	q->edge = edges_number(p->edges, p->n_edges, index, q->s.n, &q->s.n_edges);
	q->s.edge = q->edge;
	free(index);
}

static void question_make(struct pe *pe, struct collection *c, const struct step *p, struct question *q)
{
	const struct cmi_job *job = pe->node->job;
	const size_t n_pes = (size_t)job->n_pes;
	size_t n;

	q->background = cmi_alloc_zero(n_pes, sizeof(*q->background), "load balancing");
	q->speed = cmi_alloc_zero(n_pes, sizeof(*q->speed), "load balancing");
	q->element = cmi_alloc_zero(p->n + 1, sizeof(*q->element), "load balancing");
	q->to = cmi_alloc_zero(p->n + 1, sizeof(*q->to), "load balancing");
	q->order = c->sparse ? order_sparse(c, p, &n) : order_dense(c, p, &n);
	for (size_t i = 0; i < p->n_pes; i++)
		q->background[p->pes[i].pe] = p->pes[i].background;
	for (size_t i = 0; i < n_pes; i++)
		q->speed[i] = 1;
	for (size_t i = 0; i < n; i++) {
		q->element[i] = element_of(c, &p->elems[q->order[i]]);
		q->to[i] = q->element[i].pe;
	}
	q->s = (CkLBStats){
		.n_pes = job->n_pes, .n_nodes = job->n_nodes, .node_of = job->node_of, .background = q->background,
		.speed = q->speed, .n = n, .element = q->element,
		.tolerance = balance_of(pe->node)->tolerance, .step = sync_of(c)->n_steps,
	};
	q->edge = NULL;
	if (p->n_edges)
		question_edges(p, q);
}

static void dump(struct pe *pe, const struct collection *c, const CkLBStats *s)
{
	const char *name = balance_of(pe->node)->dump;
	FILE *f;
	int err;

	if (!name)
		return;
	f = fopen(name, "a");
	err = f ? lb_dump_write(f, c->type->name, s) : -errno;
	if (f && fclose(f) && !err)
		err = -errno;
	if (err)
		csd_abort(pe, "CK_LB_DUMP: cannot write %s: %s", name, strerror(-err));
}

/* A chare type without pup cannot leave its process. */
static void keep_within_process(struct pe *pe, const struct collection *c, struct question *q)
{
	const int32_t *node_of = pe->node->job->node_of;

	if (element_has_pup(c->type))
		return;
	for (size_t i = 0; i < q->s.n; i++)
		if (node_of[q->to[i]] != node_of[q->element[i].pe])
			q->to[i] = q->element[i].pe;
}

static void ask_strategy(struct pe *pe, struct collection *c, struct question *q)
{
	const struct lb_strategy *st;
	size_t which = 0;
	char name[128];
	int err = choose_answer(pe->node, &q->s, !c->sparse, q->to, &which, &st);

	if (err == LB_NO_PE)
		csd_abort(pe, "CK_LB=%s moves %s to a PE that does not exist; the job has PEs 0-%d", st->name,
			  element_describe(c->type, index_pack(c->type->nd, q->element[which].index), name, sizeof name),
			  q->s.n_pes - 1);
	if (!err || sync_of(c)->told)
		return;
	sync_of(c)->told = true;
	fprintf(stderr, "chard: CK_LB=%s has no answer (%d) for array %s in step %llu; nothing moves\n", st->name, err,
		c->type->name, (unsigned long long)q->s.step);
}

/* An array with extents whose elements keep their order: the map can be a table of cuts. */
static bool is_cut(const struct collection *c, const struct step *p, const struct question *q)
{
	size_t i = 1;

	while (i < q->s.n && q->to[i - 1] <= q->to[i])
		i++;
	return p->way == AT_REST && !c->sparse && i >= q->s.n;
}

static void write_cuts(const struct collection *c, const struct step *p, const struct question *q, uint64_t *cuts)
{
	int32_t pe = 0;

	cuts[0] = 0;
	for (size_t i = 0; i < q->s.n; i++)
		while (pe < q->to[i])
			cuts[++pe] = index_place(c, p->elems[q->order[i]].index);
	while (pe < q->s.n_pes)
		cuts[++pe] = c->total;
}

static void write_moves(const struct step *p, const struct question *q, struct place_move *moves)
{
	for (size_t i = 0; i < q->s.n; i++)
		if (q->to[i] != q->element[i].pe)
			*moves++ = (struct place_move){ p->elems[q->order[i]].index, q->element[i].pe, q->to[i] };
}

/* Cuts also where nothing moves, if elements live elsewhere than the map says. */
static void send_moves(struct pe *pe, struct collection *c, const struct step *p, const struct question *q)
{
	const bool cut = is_cut(c, p, q);
	const size_t n_cuts = (size_t)q->s.n_pes + 1;
	struct sync_msg *m;
	uint32_t n = 0;
	char *at;

	for (size_t i = 0; i < q->s.n; i++)
		n += q->to[i] != q->element[i].pe;
	sync_count(pe, COUNT_MOVED, n);
	if (!n && !(cut && p->rest.away)) {
		sync_tell_all(pe, c, SYNC_RESUME, 1);
		return;
	}
	m = sync_msg_new(pe, c, SYNC_MOVES, REST_BYTES + (cut ? n_cuts * sizeof(uint64_t) : n * sizeof(struct place_move)));
	m->wave = cut;
	m->n = cut ? (uint32_t)n_cuts : n;
	at = rest_put(m, &p->rest);
	if (cut)
		write_cuts(c, p, q, (uint64_t *)(void *)at);
	else
		write_moves(p, q, (struct place_move *)(void *)at);
	sync_send(pe, 0, m);
}

static void decide_moves(struct pe *pe, struct collection *c, struct step *p)
{
	struct question q;

	question_make(pe, c, p, &q);
	dump(pe, c, &q.s);
	ask_strategy(pe, c, &q);
	keep_within_process(pe, c, &q);
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
		send_statistics(pe, c, p);
	else
		decide_moves(pe, c, p);
}

void step_begin(struct pe *pe, struct collection *c, enum step_way way)
{
	struct sync_coll *s = sync_of(c);

	if (way == NO_REST)
		place_open(pe, c);
	s->step = cmi_alloc_zero(1, sizeof(*s->step), "load balancing");
	s->step->way = way;
	if (way == AT_REST)
		s->step->rest = place_rest_of(pe, c);
	add_own(pe, c, s->step);
	maybe_all_told(pe, c);
}

/* ---- the elements move ----------------------------------------------------------------------------------------- */

static void maybe_done(struct pe *pe, struct collection *c)
{
	struct step *p = sync_of(c)->step;
	struct sync_msg *m;

	if (!p->known || p->expected || p->n_done < csd_tree_n_children(pe, 0))
		return;
	p->known = false; /* once */
	m = sync_msg_new(pe, c, pe->id ? SYNC_DONE : SYNC_RESUME, 0);
	m->wave = !pe->id;
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
	const void *at = rest_get(m, &plan.rest);

	if (sync_of(c)->step->way != AT_REST) {
		move_singly(pe, c, at, m->n);
		return;
	}
	plan.cuts = m->wave ? at : NULL;
	plan.moves = m->wave ? NULL : at;
	plan.n_moves = m->wave ? 0 : m->n;
	place_bulk(pe, c, &plan, all_moved, NULL);
}

void step_describe(struct collection *c, const char *what, csd_line_fn line, void *arg)
{
	const struct sync_coll *s = sync_of(c);

	say_line(line, arg, "sync %u of %s moves elements: %lld are still to come to this PE%s", s->round, what,
		 (long long)s->step->expected, s->step->known ? "" : ", or the list of moves is");
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
		take_statistics(p, m);
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

/* ---- what may come from other processes ------------------------------------------------------------------------ */

static bool is_pe(const struct pe *pe, int32_t n) { return n >= 0 && n < pe->node->job->n_pes; }

static const char *stats_misfit(struct pe *pe, const struct sync_msg *m, const void *at)
{
	const struct collection *c = coll_get(pe, m->coll);
	const struct pe_record *pes = at;
	const struct elem_record *elems = (const struct elem_record *)(pes + m->wave);

	if (m->wave > (uint32_t)pe->node->job->n_pes ||
	    m->sums.n > m->head.size ||
	    m->head.size != sizeof *m + REST_BYTES + m->wave * sizeof *pes + m->n * sizeof *elems +
	    m->sums.n * sizeof(struct edge_record))
		return "its records do not lie within it";
	for (uint32_t i = 0; i < m->wave; i++)
		if (!is_pe(pe, pes[i].pe))
			return "it names a PE that does not exist";
	for (uint32_t i = 0; i < m->n; i++) {
		if (!is_pe(pe, elems[i].pe))
			return "it names a PE that does not exist";
		if (!c->sparse && index_place(c, elems[i].index) == UINT64_MAX)
			return "it names an element that does not exist";
	}
	return NULL;
}

static const char *moves_misfit(const struct pe *pe, const struct sync_msg *m, const void *at)
{
	const struct place_move *r = at;
	const size_t each = m->wave ? sizeof(uint64_t) : sizeof *r;

	if (m->head.size != sizeof *m + REST_BYTES + m->n * each ||
	    (m->wave && m->n != (uint32_t)pe->node->job->n_pes + 1))
		return "its records do not lie within it";
	for (uint32_t i = 0; i < m->n && !m->wave; i++)
		if (!is_pe(pe, r[i].from) || !is_pe(pe, r[i].to))
			return "it names a PE that does not exist";
	return NULL; /* place_bulk looks at cuts */
}

const char *step_misfit(struct pe *pe, const struct sync_msg *m)
{
	const char *at = (const char *)(m + 1) + REST_BYTES;

	if (m->head.size < sizeof *m + REST_BYTES)
		return "its records do not lie within it";
	return m->kind == SYNC_STATS ? stats_misfit(pe, m, at) : moves_misfit(pe, m, at);
}
