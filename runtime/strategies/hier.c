/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hier.c: within a process an element moves as a pointer, between processes its data is sent. So
 * first processes are balanced like single PEs, with as few moves as possible (refine); then the
 * PEs of each process among themselves. Each stage may use half of the tolerance.
 */
#include "lb_refine.h"
#include "strategies.h"
#include "../machine/base/cmi_alloc.h"

#include <string.h>

/** A smaller problem, made from the whole one: its PEs are processes, or the PEs of one process. */
struct group {
	CkLBStats s;
	int32_t *node_of;
	float *background, *speed;
	CkLBElement *element;
	int32_t *to;
};

static void group_create(struct group *group, const CkLBStats *s, int n_pes, size_t n)
{
	size_t pes = (size_t)n_pes;

	group->node_of = cmi_alloc_zero(pes, sizeof *group->node_of, "balancing");
	group->background = cmi_alloc_zero(2 * pes, sizeof *group->background, "balancing");
	group->speed = group->background + pes;
	group->element = cmi_alloc(n * sizeof *group->element, "balancing");
	group->to = cmi_alloc(n * sizeof *group->to, "balancing");
	group->s = (CkLBStats){ .n_pes = n_pes,
			       .n_nodes = 1,
			       .node_of = group->node_of,
			       .background = group->background,
			       .speed = group->speed,
			       .n = n,
			       .element = group->element,
			       .tolerance = s->tolerance / 2,
			       .step = s->step };
}

static void group_free(struct group *group)
{
	free(group->node_of);
	free(group->background);
	free(group->element);
	free(group->to);
}

/* Which process each element should live in. */
static int32_t *choose_nodes(const CkLBStats *s, const struct lb_loads *l)
{
	struct group all;

	group_create(&all, s, s->n_nodes, s->n);
	for (int p = 0; p < s->n_pes; p++) {
		all.speed[s->node_of[p]] += (float)l->speed[p];
		all.background[s->node_of[p]] += (float)(l->fixed[p] * l->speed[p]);
	}
	for (int node = 0; node < s->n_nodes; node++)
		all.background[node] /= all.speed[node] > 0 ? all.speed[node] : 1;
	for (size_t i = 0; i < s->n; i++) {
		int32_t node = s->node_of[s->element[i].pe];

		all.element[i] = s->element[i];
		all.element[i].pe = all.to[i] = node;
		all.element[i].seconds = (float)(l->work[i] / (double)all.speed[node]);
	}
	lb_refine(&all.s, all.to, NULL);

	int32_t *node = all.to;

	all.to = NULL;
	group_free(&all);
	return node;
}

/** One process: its PEs, and the elements that should live there. */
struct process {
	int node;
	int n_pes;
	const uint32_t *pe;       /* [n_pes] the job's number of its k-th PE */
	size_t n;
	const uint32_t *element;  /* [n] */
};

static bool comes(const CkLBStats *s, const struct process *proc, size_t k)
{
	return s->node_of[s->element[proc->element[k]].pe] != proc->node;
}

/* Arriving elements count for its first PE until they are distributed. */
static void fill_group(struct group *group, const CkLBStats *s, const struct lb_loads *l,
		      const struct process *proc, const int32_t *local)
{
	group_create(group, s, proc->n_pes, proc->n);
	for (int p = 0; p < proc->n_pes; p++) {
		group->speed[p] = (float)l->speed[proc->pe[p]];
		group->background[p] = s->background[proc->pe[p]];
	}
	for (size_t k = 0; k < proc->n; k++) {
		CkLBElement *e = &group->element[k];

		*e = s->element[proc->element[k]];
		if (comes(s, proc, k)) {
			e->pe = 0;
			e->seconds = (float)(l->work[proc->element[k]] / (double)group->speed[0]);
		} else {
			e->pe = local[e->pe];
		}
		group->to[k] = e->pe;
	}
}

/* Arriving elements go to the PE with least, the largest first. */
static void give_out(struct group *group, struct lb_loads *l, const CkLBStats *s,
		     const struct process *proc)
{
	size_t n = 0;
	uint32_t *order = lb_by_work(&group->s, l, &n);
	struct lb_heap least;

	for (size_t k = 0; k < n; k++)
		if (comes(s, proc, k))
			lb_loads_move(l, k, 0, -1);
	lb_heap_init(&least, l->n_pes, l->load, 1);
	for (size_t j = 0; j < n; j++) {
		uint32_t k = order[j];

		if (!comes(s, proc, k))
			continue;
		group->to[k] = lb_heap_top(&least);
		lb_loads_move(l, k, -1, group->to[k]);
		lb_heap_changed(&least, group->to[k]);
	}
	lb_heap_fini(&least);
	free(order);
}

static void balance_process(const CkLBStats *s, const struct lb_loads *all,
			    const struct process *proc, const int32_t *local, int32_t *to)
{
	struct group group;

	fill_group(&group, s, all, proc, local);

	struct lb_loads *l = lb_loads_create(&group.s, group.to);

	give_out(&group, l, s, proc);
	lb_refine_loads(&group.s, l, group.to);
	for (size_t k = 0; k < proc->n; k++)
		to[proc->element[k]] = (int32_t)proc->pe[group.to[k]];
	free(l);
	group_free(&group);
}

/* Sort by process: first[node] .. first[node + 1] - 1 of the result are those of a process. */
static uint32_t *by_node(size_t n, const int32_t *node_of, int n_nodes, size_t *first)
{
	uint32_t *sorted = cmi_alloc(n * sizeof *sorted, "balancing");

	memset(first, 0, ((size_t)n_nodes + 2) * sizeof *first);
	for (size_t i = 0; i < n; i++)
		first[node_of[i] + 2]++;
	for (int k = 2; k <= n_nodes; k++)
		first[k] += first[k - 1];
	for (size_t i = 0; i < n; i++)
		sorted[first[node_of[i] + 1]++] = (uint32_t)i;
	return sorted;
}

int lb_hier(const CkLBStats *s, int32_t *to, void *arg)
{
	struct lb_loads *l = lb_loads_create(s, to);
	int32_t *node = choose_nodes(s, l),
		*local = cmi_alloc((size_t)s->n_pes * sizeof *local, "balancing");
	size_t *first_pe = cmi_alloc(2 * ((size_t)s->n_nodes + 2) * sizeof *first_pe, "balancing");
	size_t *first = first_pe + s->n_nodes + 2;
	uint32_t *pe = by_node((size_t)s->n_pes, s->node_of, s->n_nodes, first_pe);
	uint32_t *element = by_node(s->n, node, s->n_nodes, first);

	(void)arg;
	for (int k = 0; k < s->n_nodes; k++)
		for (size_t p = first_pe[k]; p < first_pe[k + 1]; p++)
			local[pe[p]] = (int32_t)(p - first_pe[k]);
	for (int k = 0; k < s->n_nodes; k++) {
		struct process proc = { k, (int)(first_pe[k + 1] - first_pe[k]), &pe[first_pe[k]],
			first[k + 1] - first[k], &element[first[k]] };

		if (proc.n)
			balance_process(s, l, &proc, local, to);
	}
	free(element);
	free(pe);
	free(first_pe);
	free(local);
	free(node);
	free(l);
	lb_undo_if_worse(s, to, 0);
	return 0;
}
