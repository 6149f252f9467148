/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit.c: the normal end of a job, over the tree of PE 0 (by force: abort.c):
 *
 *   done   any node -> PE 0     my host program wants no more; when all have said so, the job ends
 *   ask    any PE -> PE 0       somebody wants to end the job
 *   stop   PE 0 -> all          leave the loop after the current handler
 *   ack    leaves -> PE 0       my part of the tree has stopped, and its sends are out
 *   leave  PE 0 -> all          nobody needs you any more
 *
 * Between stop and leave a PE still polls the network and drops arrivals: a sender whose last
 * messages wait for a slot, or whose endpoint is not connected yet, needs that. It may take long if
 * a host program is late to call CkFinalize; then the PE sleeps in between.
 */
#include "loop.h"
#include "../../machine/base/cmi_note.h"

#include <sched.h>

enum exit_kind { EXIT_ASK, EXIT_STOP, EXIT_ACK, EXIT_LEAVE, EXIT_DONE };

struct exit_msg {
	struct cmi_msg head;
	int32_t code;
	int32_t kind;
};

static void note_code(struct node *node, int code)
{
	int none = 0;

	/* Relaxed: read after the threads have been joined. */
	if (code)
		atomic_compare_exchange_strong_explicit(&node->exit_code, &none, code,
							memory_order_relaxed,
							memory_order_relaxed);
}

static void send_exit(struct pe *pe, int dst_pe, int code, enum exit_kind kind)
{
	struct exit_msg *e = (struct exit_msg *)csd_msg_alloc(pe, sizeof *e);

	e->head.handler = EXIT_HANDLER;
	e->head.flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	e->code = code;
	e->kind = kind;
	csd_send_now(pe, dst_pe, &e->head);
}

static void tell_children(struct pe *pe, int code, enum exit_kind kind)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		send_exit(pe, csd_tree_child(pe, 0, i), code, kind);
}

static void stop_loop(struct pe *pe, int code)
{
	if (pe->stop)
		return;
	tell_children(pe, code, EXIT_STOP);
	pe->stop = true;
}

void exit_host_done(struct pe *pe)
{
	if (!pe->stop)
		send_exit(pe, 0, 0, EXIT_DONE);
}

static void exit_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct exit_msg e = *(struct exit_msg *)m;

	csd_msg_free(pe, m);
	switch ((enum exit_kind)e.kind) {
	case EXIT_ASK:
		if (!pe->stop)
			note_code(pe->node, e.code);
		stop_loop(pe, e.code);
		break;
	case EXIT_STOP:
		note_code(pe->node, e.code);
		stop_loop(pe, e.code);
		break;
	case EXIT_ACK:
		pe->exit_acks++;
		break;
	case EXIT_LEAVE:
		tell_children(pe, e.code, EXIT_LEAVE);
		pe->leave = true;
		break;
	case EXIT_DONE:
		if (++pe->hosts_done == pe->node->job->n_nodes && !pe->stop)
			csd_exit(pe, 0);
		break;
	}
}

/* The subtree has stopped: tell the parent. The root tells all PEs to leave. */
static void subtree_stopped(struct pe *pe)
{
	pe->exit_acks = -1;
	for (int i = 0; i < pe->node->n_layers; i++)
		if (pe->node->layers[i]->all_ended && pe->node->layers[i]->all_ended(pe))
			note_code(pe->node, 1);
	if (pe->id != 0) {
		send_exit(pe, csd_tree_parent(pe, 0), 0, EXIT_ACK);
		return;
	}
	tell_children(pe, 0, EXIT_LEAVE);
	pe->leave = true;
}

/* Handlers run no more, but the credit is still given: the sender's exit messages may wait for it.
 * The form is still checked: an acknowledgement whose handler was damaged would leave the job
 * waiting for ever. What its state tells is not, because earlier messages were dropped.
 * Model: flow.pml, receiver */
static void drop_arrived(struct pe *pe, struct cmi_msg *m)
{
	if (m->flags & CMI_F_REMOTE) {
		csd_check_form(pe, m);
		flow_consumed(pe, m->src_pe, m->size);
	}
	csd_msg_free(pe, m);
}

/* Nothing has arrived since *since_ns_p; 0: until now. The naps are short, because nothing wakes
 * this PE. */
static void wait_a_little(struct pe *pe, uint64_t *since_ns_p)
{
	static const uint64_t YIELD_NS = 100 * 1000 * 1000;
	enum { NAP_US = 1000 };
	const uint64_t now = csd_now_ns();

	if (!*since_ns_p)
		*since_ns_p = now;
	if (now - *since_ns_p < YIELD_NS)
		sched_yield();
	else
		cmi_sleep(pe->wire, NAP_US);
}

void exit_drain(struct pe *pe)
{
	struct cmi_msg *m;
	uint64_t quiet_ns = 0;

	cmi_flush(pe->wire);
	while (!pe->leave) {
		if (pe->exit_acks == csd_tree_n_children(pe, 0))
			subtree_stopped(pe);
		if (loop_receive(pe))
			quiet_ns = 0;
		else
			wait_a_little(pe, &quiet_ns);
		while ((m = msgq_pop(&pe->queue))) {
			if (handler_is_own(pe->node, m)) /* a credit may release our own messages */
				loop_dispatch(pe, m);
			else
				drop_arrived(pe, m);
		}
		msg_pool_take_returns(pe);
	}
	cmi_flush(pe->wire);
}

void csd_exit(struct pe *pe, int code)
{
	note_code(pe->node, code);
	cmi_note_end(CMI_NOTE_EXIT, code, NULL);
	for (int i = 0; i < pe->node->n_layers; i++)
		if (pe->node->layers[i]->exiting)
			pe->node->layers[i]->exiting(pe);
	send_exit(pe, 0, code, EXIT_ASK);
}

#define EXIT_ASTRAY "its sender cannot say this about the end of the job now"

/* Each kind arrives once, in its phase. */
static const char *exit_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct cmi_job *job = pe->node->job;
	const int kind = ((const struct exit_msg *)m)->kind;

	if (kind == EXIT_DONE &&
	    (!pe->node->cfg->guest || job->first_pe[job->node_of[m->src_pe]] != m->src_pe))
		return EXIT_ASTRAY;
	return kind != EXIT_LEAVE || pe->stop ? NULL : EXIT_ASTRAY;
}

static const struct csd_shape exit_shape = {
	.least = sizeof(struct exit_msg), .exact = true, .always = CMI_F_SYSTEM | CMI_F_EXPEDITED,
	.kind_at = offsetof(struct exit_msg, kind), .astray = EXIT_ASTRAY, .misfit = exit_misfit,
	.ways = { [EXIT_ASK] = CSD_TO_ROOT, [EXIT_DONE] = CSD_TO_ROOT, [EXIT_STOP] = CSD_DOWN,
		  [EXIT_LEAVE] = CSD_DOWN, [EXIT_ACK] = CSD_UP },
};

void exit_register(struct node *node)
{
	if (csd_register(node, "csd.exit", exit_arrived) != EXIT_HANDLER)
		csd_abort(NULL, "internal: the exit handler must be the second");
	csd_own(node, EXIT_HANDLER);
	csd_expect(node, EXIT_HANDLER, &exit_shape, NULL);
}
