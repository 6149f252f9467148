/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bcast.c: flow control of broadcasts. Copies of a broadcast multiply down its root's tree, where
 * no PE can wait for space, so the root must know the progress of all PEs. A PE may have
 * CK_FLOW_BYTES bytes of broadcasts under way that some PE has not handled; less if all their
 * copies could take more than a quarter of CK_MESSAGE_MEMORY where that is set. Beyond this budget
 * a thread waits; a handler, which cannot, may go as far as CK_MESSAGE_MEMORY.
 *
 * For each root a PE adds up what it has handled itself, and knows the same of each child's
 * subtree. When the minimum of these has grown by a step, it reports to its parent. All levels of
 * the tree together delay at most a quarter of the budget, so a thread never waits for a report
 * that does not come.
 */
#include "call.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/tools/cmi_plain.h"

#include <stdio.h>
#include <stdlib.h>

/** A PE's view of the broadcasts of one root. */
struct bcast_from {
	struct bcast_count sent;           /* only at the root */
	struct bcast_count here;           /* handled on this PE */
	struct bcast_count told;           /* reported to the parent; at the root: handled everywhere */
	struct bcast_count below[];        /* handled in each child's subtree */
};

static struct bcast_pe *bcast_of(const struct pe *pe) { return ck_state(pe, PART_CALL); }

/* Levels of the tree, at most: nodes, and their PEs below them. */
static unsigned levels(const struct cmi_job *job)
{
	unsigned n = 2;

	for (int nodes = 1; nodes < job->n_nodes; nodes *= CSD_TREE_ARITY)
		n++;
	return n;
}

/* The most messages that one may turn into on a PE, itself included. */
static unsigned copies_most(const struct cmi_job *job)
{
	int nodes = job->n_nodes - 1 < CSD_TREE_ARITY ? job->n_nodes - 1 : CSD_TREE_ARITY, pes = 0;

	for (int i = 0; i < job->n_nodes; i++)
		if (job->first_pe[i + 1] - job->first_pe[i] > pes)
			pes = job->first_pe[i + 1] - job->first_pe[i];
	return (unsigned)(nodes + pes);
}

/* The same on all nodes, therefore without the default of CK_MESSAGE_MEMORY. */
void bcast_pe_start(struct pe *pe)
{
	const struct node *node = pe->node;
	uint64_t least = node->memory.asked / 4 / copies_most(node->job);

	bcast_of(pe)->budget = node->memory.asked && least < node->flow_bytes ? least : node->flow_bytes;
	bcast_of(pe)->step = bcast_of(pe)->budget / 4 / levels(node->job);
}

void bcast_pe_stop(struct pe *pe)
{
	struct bcast_pe *b = bcast_of(pe);

	for (int i = 0; b->from && i < pe->node->job->n_pes; i++)
		free(b->from[i]);
	free(b->from);
}

static __attribute__((noinline, cold)) struct bcast_from *from_new(struct pe *pe, int root)
{
	struct bcast_pe *b = bcast_of(pe);
	size_t n = (size_t)csd_tree_n_children(pe, root);

	if (!b->from)
		b->from = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *b->from,
					 "the counts of broadcasts");
	b->from[root] = cmi_alloc_zero(1, sizeof **b->from + n * sizeof *b->from[root]->below,
				       "the counts of broadcasts");
	return b->from[root];
}

static inline struct bcast_from *from_of(struct pe *pe, int root)
{
	struct bcast_from **from = bcast_of(pe)->from;

	return CSD_LIKELY(from && from[root]) ? from[root] : from_new(pe, root);
}

/* ---- what has been handled ------------------------------------------------------------------ */

static void report_handled(struct pe *pe, int root, struct bcast_count handled)
{
	struct bcast_report *m = ck_msg_new(pe, PART_CALL, H_BCAST_HANDLED, CMI_F_SYSTEM, sizeof *m);

	m->root = root;
	m->handled = handled;
	csd_send(pe, csd_tree_parent(pe, root), &m->head);
}

/* The minimum of this PE and its subtrees. */
static struct bcast_count handled_by_all(struct pe *pe, const struct bcast_from *f, int root)
{
	struct bcast_count least = f->here;

	for (int i = 0; i < csd_tree_n_children(pe, root); i++) {
		if (f->below[i].bytes < least.bytes)
			least.bytes = f->below[i].bytes;
		if (f->below[i].n < least.n)
			least.n = f->below[i].n;
	}
	return least;
}

static void bcast_tell(struct pe *pe, struct bcast_from *f, int root)
{
	struct bcast_count least = handled_by_all(pe, f, root);

	if (least.bytes - f->told.bytes < bcast_of(pe)->step)
		return;
	f->told = least;
	if (root == pe->id)
		csd_room_wake(pe);
	else
		report_handled(pe, root, least);
}

void bcast_handled(struct pe *pe, int root, uint64_t bytes)
{
	struct bcast_from *f = from_of(pe, root);

	f->here.bytes += bytes;
	f->here.n++;
	if (CSD_UNLIKELY(f->here.bytes - f->told.bytes >= bcast_of(pe)->step))
		bcast_tell(pe, f, root);
}

/* The number of a PE among the children in a root's tree; -1: it is none. */
static int child_number(struct pe *pe, int root, int other)
{
	int i = csd_tree_n_children(pe, root);

	while (i-- && csd_tree_child(pe, root, i) != other)
		;
	return i;
}

const char *bcast_report_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct bcast_report *r = (const struct bcast_report *)m;

	return r->root != pe->id || r->handled.bytes <= from_of(pe, r->root)->sent.bytes ?
	       NULL : "more was handled than sent";
}

/* Reports of one child may overtake each other (random delays): only increases count. */
void bcast_report_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct bcast_report r = *(const struct bcast_report *)m;
	struct bcast_from *f = from_of(pe, r.root);
	const int child = child_number(pe, r.root, r.head.src_pe);

	csd_msg_free(pe, m);
	if (child >= 0 && f->below[child].bytes < r.handled.bytes)
		f->below[child] = r.handled;
	bcast_tell(pe, f, r.root);
}

/* ---- the root ------------------------------------------------------------------------------- */

void bcast_sent(struct pe *pe, uint64_t bytes)
{
	struct bcast_from *f = from_of(pe, pe->id);

	f->sent.bytes += bytes;
	f->sent.n++;
}

/* As may_send in the scheduler's flow.c. */
static bool in_budget(struct pe *pe, uint64_t bytes)
{
	const struct bcast_from *f = from_of(pe, pe->id);
	uint64_t budget = bcast_of(pe)->budget, under_way = f->sent.bytes - f->told.bytes;

	return under_way + bytes <= budget || under_way <= budget / 4;
}

/* The subtree with the least known progress. */
static void describe_last(struct pe *pe, const struct bcast_from *f, char *buf, size_t len)
{
	uint64_t least = f->here.bytes;

	snprintf(buf, len, "PE %d itself", pe->id);
	for (int i = 0; i < csd_tree_n_children(pe, pe->id); i++)
		if (f->below[i].bytes < least) {
			least = f->below[i].bytes;
			snprintf(buf, len, "PE %d%s", csd_tree_child(pe, pe->id, i),
				 i < csd_tree_n_nodes(pe, pe->id) ? " or one below it in the tree" : "");
		}
}

_Noreturn static void no_room(struct pe *pe, const CkGenChare *chare, int entry, uint64_t bytes)
{
	const struct bcast_from *f = from_of(pe, pe->id);
	char waits[400], name[128], last[64];

	describe_last(pe, f, last, sizeof last);
	cmi_plain_print(
		waits, sizeof waits,
		"%s (%.1f MiB), the last one of %s; furthest behind is %s",
		csd_plural(f->sent.n - f->told.n, "broadcast waits", "broadcasts wait").text,
		(double)(f->sent.bytes - f->told.bytes) / (1 << 20),
		describe_entry(chare, entry, name, sizeof name), last);
	csd_no_room(pe, bytes, waits);
}

static bool may_go(struct pe *pe, const void *bytes)
{
	return in_budget(pe, *(const uint64_t *)bytes);
}

void bcast_room(struct pe *pe, const CkGenChare *chare, int entry, uint64_t bytes)
{
	const struct bcast_from *f;
	uint64_t copies = 1 + (uint64_t)csd_tree_n_children(pe, pe->id);

	if (CSD_LIKELY(in_budget(pe, bytes)) || csd_await_room(pe, may_go, &bytes))
		return;
	f = from_of(pe, pe->id);
	if ((f->sent.bytes - f->told.bytes + bytes) * copies > pe->node->memory.most)
		no_room(pe, chare, entry, bytes);
}
