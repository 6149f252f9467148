/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c: the chare layer's place in the life of a node, and what a program asks about the
 * machine it runs on.
 *
 * A PE starts by waiting for the readonly variables, so no entry method ever sees them
 * unset; PE 0 runs the main chares' constructors first and then sends them.
 */
#include "chare_layer.h"
#include "ck_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int ck_node_start(struct node *node)
{
	struct ck_node *ck = node->ck = calloc(1, sizeof *ck);

	if (!ck)
		return -ENOMEM;
	pthread_mutex_init(&ck->print_lock, NULL);
	pthread_mutex_init(&ck->nodegroup_lock, NULL);
	ck->seed_neighbor = seed_policy_neighbor();
	ck->h_element = csd_register(node, "ck.element", element_arrived);
	ck->h_bcast = csd_register(node, "ck.bcast", bcast_arrived);
	ck->h_create = csd_register(node, "ck.create", create_arrived);
	ck->h_readonly = csd_register(node, "ck.readonly", readonly_arrived);
	ck->h_reduce = csd_register(node, "ck.reduce", reduce_arrived);
	ck->h_exchange = csd_register(node, "ck.exchange", exchange_arrived);
	ck->h_result = csd_register(node, "ck.result", result_arrived);
	ck->h_due = csd_register(node, "ck.due", result_due);
	ck->h_section = csd_register(node, "ck.section", section_arrived);
	ck->h_section_ctl = csd_register(node, "ck.section.ctl", section_ctl_arrived);
	ck->h_scan = csd_register(node, "ck.scan", scan_arrived);
	ck->h_batch = csd_register(node, "ck.batch", batch_arrived);
	ck->h_flush = csd_register(node, "ck.flush", flush_arrived);
	ck->h_call = csd_register(node, "ck.call", call_arrived);
	ck->h_when = csd_register(node, "ck.when", when_arrived);
	ck->h_future = csd_register(node, "ck.future", future_arrived);
	ck->h_answer = csd_register(node, "ck.answer", answer_arrived);
	ck->h_insert = csd_register(node, "ck.insert", insert_arrived);
	ck->h_make = csd_register(node, "ck.make", make_arrived);
	ck->h_destroy = csd_register(node, "ck.destroy", destroy_arrived);
	ck->h_where = csd_register(node, "ck.where", where_arrived);
	ck->h_start = csd_register(node, "ck.start", start_arrived);
	ck->h_qd = csd_register(node, "ck.qd", qd_arrived);
	ck->h_completion = csd_register(node, "ck.completion", completion_arrived);
	ck->h_fence = csd_register(node, "ck.fence", fence_arrived);
	ck->h_chare_new = csd_register(node, "ck.chare.new", single_new_arrived);
	ck->h_chare_call = csd_register(node, "ck.chare.call", single_call_arrived);
	ck->h_doomed = csd_register(node, "ck.doomed", destroy_doomed);
	ck->h_seed_load = csd_register(node, "ck.seed.load", seed_load_arrived);
	ck->h_node_create = csd_register(node, "ck.node.create", nodegroup_create_arrived);
	ck->h_node_call = csd_register(node, "ck.node.call", nodegroup_call_arrived);
	ck->h_node_bcast = csd_register(node, "ck.node.bcast", nodegroup_bcast_arrived);
	ck->h_node_immediate = csd_register(node, "ck.node.immediate", nodegroup_immediate_arrived);
	ck->h_node_contribute = csd_register(node, "ck.node.contribute",
					     nodegroup_contribution_arrived);
	/* What goes down a tree or belongs to a reduction overtakes calls, and is overtaken. */
	const int apart[] = { ck->h_bcast, ck->h_create, ck->h_reduce, ck->h_exchange,
			      ck->h_result, ck->h_call, ck->h_qd, ck->h_completion, ck->h_fence };

	for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
		csd_order_apart(node, apart[i]);
	return register_program(node);
}

static void ck_node_stop(struct node *node)
{
	readonly_check(node);
	unregister_program(node);
	nodegroup_node_fini(node);
	pthread_mutex_destroy(&node->ck->nodegroup_lock);
	pthread_mutex_destroy(&node->ck->print_lock);
	free(node->ck);
}

static void run_initprocs(const struct ck_node *ck)
{
	for (int m = 0; m < ck->n_modules; m++)
		for (int i = 0; i < ck->modules[m]->n_initprocs; i++)
			ck->modules[m]->initprocs[i]();
}

static void run_main_chares(struct pe *pe)
{
	const struct ck_node *ck = pe->node->ck;
	CkArgMsg args = { pe->node->cfg->argc, pe->node->cfg->argv };

	for (int i = 0; i < ck->n_chares; i++) {
		if (ck->chares[i]->kind != CKGEN_MAINCHARE)
			continue;
		struct collection *c = coll_get(pe, coll_new_id(pe));

		coll_type(pe, c, ck->chares[i], CkDims1(1), NULL);
		coll_construct(pe, c, &args);
	}
}

static void ck_pe_start(struct pe *pe)
{
	pe->ck = calloc(1, sizeof *pe->ck);
	if (!pe->ck)
		csd_abort(pe, "no memory for the chare layer");
	pe->ck->none.id = UINT64_MAX;
	pe->ck->last = &pe->ck->none;
	pe->ck->route = (struct cmi_msg){ .handler = (uint16_t)pe->node->ck->h_element,
					  .src_pe = pe->id }.route;
	pe->ck->freed.tail = &pe->ck->freed.head;
	qd_init(pe);
	completion_init(pe);
	exchange_init(pe);
	seed_init(pe);
	aggregate_init(pe);
	if (!pe->node->program)
		return;
	run_initprocs(pe->node->ck);
	if (pe->id == 0) {
		run_main_chares(pe);
		readonly_send(pe);
	} else {
		csd_wait_for(pe, pe->node->ck->h_readonly);
	}
}

static void ck_pe_stop(struct pe *pe)
{
	print_flush(pe);
	print_fini(pe);
	qd_fini(pe);
	completion_fini(pe);
	aggregate_fini(pe);
	sections_fini(pe);
	threads_drop(pe);
	extras_fini(pe);
	owner_fini(pe);
	single_fini(pe);
	destroy_fini(pe);
	nodegroup_pe_fini(pe);
	seed_fini(pe);
	coll_fini(pe);
	slots_fini(pe);
	calls_fini(pe);
	reduce_pe_fini(pe);
	scan_pe_fini(pe);
	free(pe->ck);
	pe->ck = NULL;
}

const struct csd_layer chare_layer = {
	.name = "chare",
	.node_start = ck_node_start,
	.pe_start = ck_pe_start,
	.pe_stop = ck_pe_stop,
	.node_stop = ck_node_stop,
	.up = {
		.describe = ck_describe,
		.swap_running = ck_swap_running,
		.leaving = ck_leaving,
		.gate_of = nodegroup_gate,
	},
	.slot = 2,
};

/* ---- the machine as the program sees it --------------------------------------------------- */

int CkMyPe(void) { return ck_self()->id; }
int CkNumPes(void) { return ck_self()->node->job->n_pes; }
int CkMyNode(void) { return ck_self()->node->job->node; }
int CkNumNodes(void) { return ck_self()->node->job->n_nodes; }
int CkMyRank(void) { return ck_self()->local; }
int CkMyNodeSize(void) { return ck_self()->node->job->my_n_pes; }

static int checked(const char *what, int i, int n)
{
	if (i < 0 || i >= n)
		csd_abort(ck_self(), "%s(%d): the job has 0-%d", what, i, n - 1);
	return i;
}

int CkNodeOf(int pe)
{
	return ck_self()->node->job->node_of[checked("CkNodeOf", pe, CkNumPes())];
}

int CkNodeFirst(int node)
{
	return ck_self()->node->job->first_pe[checked("CkNodeFirst", node, CkNumNodes())];
}

int CkRankOf(int pe)
{
	return pe - CkNodeFirst(CkNodeOf(pe));
}

int CkNodeSize(int node)
{
	const int *first = ck_self()->node->job->first_pe;

	checked("CkNodeSize", node, CkNumNodes());
	return first[node + 1] - first[node];
}

double CkWallTimer(void)
{
	return (double)(csd_now_ns() - ck_self()->node->start_ns) * 1e-9;
}

void CkExit(int code)
{
	struct pe *pe = ck_self();

	print_flush(pe);
	aggregate_flush(pe);
	csd_exit(pe, code);
}

void CkAbort(const char *fmt, ...)
{
	struct pe *pe = ck_self();
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	print_flush(pe);
	csd_abort(pe, "%s", why);
}
