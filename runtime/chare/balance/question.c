/* SPDX-License-Identifier: Apache-2.0 */
/* question.c: PE 0: the input of the strategy about an array, and its result. */
#include "step_int.h"
#include "../../strategies/loads/lb_dump.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the order of elements ------------------------------------------------------------------- */

/* Records in index order. When moves are not in bulk, an element that the program moves meanwhile
 * may be named by two PEs, or by none: it counts once. If it is not where the step expects it, it
 * is removed from the list. */
struct ordered {
	CkIndex key;              /* first, for index_compare */
	uint32_t at;              /* in step.elems */
};

static uint32_t *order_sparse(const struct collection *c, const struct step *p, size_t *n_p)
{
	struct ordered *all = cmi_alloc_zero(p->n + 1, sizeof *all, "load balancing");
	uint32_t *order = cmi_alloc_zero(p->n + 1, sizeof *order, "load balancing");

	for (size_t i = 0; i < p->n; i++)
		all[i] = (struct ordered){ index_key(c->type, p->elems[i].index), (uint32_t)i };
	qsort(all, p->n, sizeof *all, index_compare);
	*n_p = 0;
	for (size_t i = 0; i < p->n; i++)
		if (!i || index_compare(&all[i - 1], &all[i]))
			order[(*n_p)++] = all[i].at;
	free(all);
	return order;
}

/* Places are in index order. */
static uint32_t *order_dense(const struct collection *c, const struct step *p, size_t *n_p)
{
	uint32_t *at = cmi_alloc_zero(c->homes.total + 1, sizeof *at, "load balancing");
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		at[index_place(c, p->elems[i].index)] = (uint32_t)i + 1;
	for (uint64_t place = 0; place < c->homes.total; place++)
		if (at[place])
			at[n++] = at[place] - 1;
	*n_p = n;
	return at;
}

static CkLBElement question_element(const struct collection *c, const struct elem_record *r)
{
	const int nd = c->type->nd ? c->type->nd : 3;
	CkLBElement e = {
		.pe = r->pe, .pinned = r->pinned, .seconds = r->seconds, .bytes = c->type->bytes
	};

	for (int d = 0; d < nd; d++)
		e.index[d] = nd > 3 ? CkIndexShort(r->index, d) : r->index.v[d];
	for (int d = 0; d < 3; d++)
		e.position[d] = r->has_position ? r->position[d] : (float)e.index[d];
	return e;
}

/* ---- the input ------------------------------------------------------------------------------- */

void question_free(struct question *q)
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

static const float AS_FAST = 0.95f;

/* Nearly equal speeds are made equal, so that elements do not move because of noise. */
static void question_pes(const struct step *p, struct question *q, size_t n_pes)
{
	float fastest = 0;

	for (size_t i = 0; i < p->n_pes; i++) {
		q->background[p->pes[i].pe] = p->pes[i].background;
		q->speed[p->pes[i].pe] = p->pes[i].speed;
		fastest = p->pes[i].speed > fastest ? p->pes[i].speed : fastest;
	}
	for (size_t i = 0; i < n_pes; i++)
		if (q->speed[i] > fastest * AS_FAST)
			q->speed[i] = fastest;
}

static void question_make(struct pe *pe, struct collection *c, const struct step *p,
			  struct question *q)
{
	const struct cmi_job *job = pe->node->job;
	const size_t n_pes = (size_t)job->n_pes;
	size_t n;

	q->background = cmi_alloc_zero(n_pes, sizeof(*q->background), "load balancing");
	q->speed = cmi_alloc_zero(n_pes, sizeof(*q->speed), "load balancing");
	q->element = cmi_alloc_zero(p->n + 1, sizeof(*q->element), "load balancing");
	q->to = cmi_alloc_zero(p->n + 1, sizeof(*q->to), "load balancing");
	q->order = c->sparse ? order_sparse(c, p, &n) : order_dense(c, p, &n);
	question_pes(p, q, n_pes);
	for (size_t i = 0; i < n; i++) {
		q->element[i] = question_element(c, &p->elems[q->order[i]]);
		q->to[i] = q->element[i].pe;
	}
	q->s = (CkLBStats){
		.n_pes = job->n_pes,
		.n_nodes = job->n_nodes,
		.node_of = job->node_of,
		.background = q->background,
		.speed = q->speed,
		.n = n,
		.element = q->element,
		.tolerance = balance_of(pe->node)->tolerance,
		.step = sync_of(c)->n_steps,
	};
	q->edge = NULL;
	if (p->n_edges)
		question_edges(p, q);
}

/* ---- the result ------------------------------------------------------------------------------ */

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
	int err = choose_answer(pe->node, &sync_of(c)->choice, &q->s, !c->sparse, q->to, &which,
			    &st);

	if (err == LB_NO_PE)
		csd_abort(pe, "CK_LB=%s moves %s to a PE that does not exist; the job has PEs 0-%d", st->name,
			  element_describe(c->type, index_pack(c->type->nd, q->element[which].index), name, sizeof name),
			  q->s.n_pes - 1);
	if (!err || sync_of(c)->told)
		return;
	sync_of(c)->told = true;
	fprintf(stderr,
		"chard: CK_LB=%s has no answer (%d) for array %s in step %llu; nothing moves\n",
		st->name, err, c->type->name, (unsigned long long)q->s.step);
}

void question_ask(struct pe *pe, struct collection *c, const struct step *p, struct question *q)
{
	question_make(pe, c, p, q);
	dump(pe, c, &q->s);
	ask_strategy(pe, c, q);
	keep_within_process(pe, c, q);
}
