/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.c: starts and stops the chare layer on a node, and lists its parts.
 *
 * The list is rooms.list: rooms from the bottom up, as core/core.h and the other rooms' headers
 * describe them. A new part is a word there. Make turns the list, without the rooms that are left
 * out, into rooms.gen.h.
 *
 * PE 0 runs the main chares' constructors and then sends the readonly variables. Every other PE
 * first waits for these variables, so no entry method ever sees them unset. In a job that starts
 * from a checkpoint no constructor runs: all that they made is read (save/).
 */
#include "chare_layer.h"
#include "../machine/base/cmi_alloc.h"

#include <stdlib.h>

#include "balance/balance.h"
#include "channel/named.h"
#include "core/objects/parts.h"
#include "kinds/kinds.h"
#include "observe/observe.h"
#include "readonly.h"
#include "save/save.h"
#include "rooms.gen.h"
#include "trace/chare_trace.h"

#define DECLARE(part) extern const struct ck_part part##_part;
#define ADDRESS(part) &part##_part,

PART(DECLARE)
extern const struct ck_part readonly_part;
static const struct ck_part *const parts[] = { PART(ADDRESS) ADDRESS(readonly) };

/* Called when the program's tables are known; then NULL, since all of these rooms may be left
 * out. */
#define KNOWN(function) function,
#define RESTARTER(table) &table,
static int (*const program_known[])(struct node *node) = { PROGRAM(KNOWN) NULL };

static int ck_node_start(struct node *node)
{
	int err;

	node->layer[CK_SLOT] = cmi_alloc_zero(1, sizeof(struct ck_node), "the chare layer");
	err = parts_node_start(node, parts, (int)(sizeof parts / sizeof *parts));
	if (!err)
		err = register_program(node);
	for (int i = 0; program_known[i] && !err; i++)
		err = program_known[i](node);
	return err;
}

static void ck_node_stop(struct node *node)
{
	parts_node_stop(node);
	unregister_program(node);
	free(ck_node_of(node));
}

/* Starting from a checkpoint; none, if its room is left out. */
static const struct ck_restarter *const restarters[] = { RESTART(RESTARTER) NULL };

static void ck_know_job(struct node *node)
{
	if (restarters[0] && node->program)
		restarters[0]->open(node);
}

static void run_initprocs(const struct ck_node *ck)
{
	for (int m = 0; m < ck->n_modules; m++)
		for (int i = 0; i < ck->modules[m]->n_initprocs; i++)
			ck->modules[m]->initprocs[i]();
}

/* The command line as a message that programs may keep, and free as they do in Charm++: it has a
 * permanent reference, and its memory is freed with the PE's. */
static CkArgMsg *args_make(struct pe *pe)
{
	enum { HOLDERS = 1 << 30 };
	struct ck_env *env = env_new(pe, 0, sizeof(CkArgMsg));
	CkArgMsg *args = payload_of(env);

	env->head.mark = OWNER_PROGRAM;
	/* Relaxed: no other thread knows the message yet. */
	atomic_store_explicit(&env->refs, HOLDERS, memory_order_relaxed);
	*args = (CkArgMsg){ pe->node->cfg->argc, pe->node->cfg->argv };
	return args;
}

static void run_main_chares(struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	CkArgMsg *args = args_make(pe);

	for (int i = 0; i < ck->n_chares; i++) {
		if (ck->chares[i]->kind != CKGEN_MAINCHARE)
			continue;
		struct collection *c = coll_get(pe, coll_new_id(pe));

		coll_type(pe, c, ck->chares[i], CkDims1(1), NULL);
		coll_construct(pe, c, args);
	}
}

/* With the address sanitizer only the library can make messages: free ones are out of bounds. So
 * stubs see a queue without any. */
static struct msgq *stubs_queue(struct pe *pe)
{
#ifdef __SANITIZE_ADDRESS__
	static CkGenQueue none;

	(void)pe;
	return (struct msgq *)&none;
#else
	return &pe->queue;
#endif
}

/* PE 0 knows the readonly variables first. */
static void begin_program(struct pe *pe, const struct ck_restarter *again)
{
	if (pe->id) {
		readonly_await(pe);
	} else {
		if (again)
			again->read_readonly(pe);
		else
			run_main_chares(pe);
		readonly_send(pe);
	}
	if (again)
		again->read_all(pe);
}

static void ck_pe_start(struct pe *pe)
{
	struct ck_pe *ck = cmi_alloc_zero(1, sizeof *ck, "the chare layer");

	ck->none.id = UINT64_MAX;
	ck->last = &ck->none;
	ck->thread = &pe->thread;
	ck->queue = stubs_queue(pe);
	pe->layer[CK_SLOT] = ck;
	ck_runs_here(ck);
	parts_pe_start(pe);
	if (!pe->node->program)
		return;
	ck->starting = true;
	run_initprocs(ck_node_of(pe->node));
	ck->starting = false;
	begin_program(pe, restarters[0] && restarters[0]->wanted(pe->node) ? restarters[0] : NULL);
}

/* Parts may use elements until all parts have stopped. */
static void ck_pe_stop(struct pe *pe)
{
	print_flush(pe);
	colls_let_go(pe);
	parts_pe_stop(pe);
	colls_free(pe);
	ck_runs_here(NULL);
	free(ck_of(pe));
	pe->layer[CK_SLOT] = NULL;
}

/* No stub finds an element by itself, so all of them call the library, which refuses. */
static void ck_forked(struct pe *pe)
{
	ck_of(pe)->last = &ck_of(pe)->none;
	parts_forked(pe);
}

#define ANSWER(upcall, function) .upcall = function,

const struct csd_layer chare_layer = {
	.name = "chare",
	.node_start = ck_node_start,
	.know_job = ck_know_job,
	.pe_start = ck_pe_start,
	.pe_stop = ck_pe_stop,
	.node_stop = ck_node_stop,
	.describe = ck_describe_waits,
	.forked = ck_forked,
	.obey = parts_obey,
	.let_go = parts_let_go,
	.up = {
		.describe = ck_describe,
		.describe_fully = ck_describe_fully,
		.swap_running = ck_swap_running,
		.may_wait = ck_may_wait,
		.describe_message = ck_describe_message,
		UP(ANSWER)
	},
	.slot = CK_SLOT,
};
