/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freeze.c: a checkpoint, from the freeze to the thaw. save.h has the protocol.
 *
 * A frozen PE stays in the handler of SAVE_FREEZE until SAVE_THAW comes. Meanwhile it receives
 * messages and keeps them, except those of this protocol, the scheduler's own and those that may be
 * handled early (csd_wait_for): none of them runs code of the program. Timers do not run, and hooks
 * are not raised (pe->frozen).
 *
 * Why the sums prove rest. After a PE has counted, it handles and sends nothing that is counted. So
 * the sums are those of one moment, the last PE's count: if as many were handled as sent, nothing is
 * under way then or until the thaw.
 */
#include "save_int.h"
#include "../core/print.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- what the parts say ---------------------------------------------------------------------- */

static const struct ck_part *part_at(const struct pe *pe, int i)
{
	return ck_node_of(pe->node)->parts[i];
}

static void collect_refusals(struct pe *pe, struct csd_told *told)
{
	csd_refuse(pe, told);
	for (int i = 0; i < CK_PARTS; i++)
		if (part_at(pe, i) && part_at(pe, i)->save.refuse) {
			csd_tell_part(told);
			part_at(pe, i)->save.refuse(pe, told);
		}
	for (int i = 0; i < pe->node->n_layers; i++)
		if (pe->node->layers[i]->refuse) {
			csd_tell_part(told);
			pe->node->layers[i]->refuse(pe, told);
		}
	csd_tell_end(told);
}

static void forget_notes(struct save_pe *s)
{
	free(s->notes.n);
	s->notes = (struct image_notes){ 0 };
}

/* The records, one part after another. Returns the bytes of the block. */
static size_t write_records(struct pe *pe, char *to, size_t room)
{
	struct image_notes *notes = &save_of(pe)->notes;
	struct image_out out = { .add = image_add, .copy = image_copy, .to = to, .room = room,
				 .notes = notes };

	notes->taken = 0;
	if (!to)
		notes->count = 0;

	for (int i = 0; i < CK_PARTS; i++)
		if (part_at(pe, i) && part_at(pe, i)->save.write)
			part_at(pe, i)->save.write(pe, &out);
	return image_added(&out);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void await_answers(struct save_pe *s)
{
	s->n_in = 0;
	memset(&s->in, 0, sizeof s->in);
}

static void take_answer(struct save_pe *s, const struct save_sums *m)
{
	s->n_in++;
	s->in.created += m->created;
	s->in.processed += m->processed;
	s->in.bytes += m->bytes;
	s->in.refusers += m->refusers;
	s->in.failed += m->failed;
}

static void root_has(struct pe *pe, enum save_kind kind);

/* This PE's own answer is among the sums, too: it counts as one more child. */
static void maybe_answer(struct pe *pe, enum save_kind kind)
{
	struct save_pe *s = save_of(pe);
	struct save_msg *m;

	if (s->n_in <= csd_tree_n_children(pe, 0))
		return;
	if (pe->id == 0) {
		root_has(pe, kind);
		return;
	}
	m = save_msg_new(pe, kind, s->no, 0);
	m->sums = s->in;
	csd_send_now(pe, csd_tree_parent(pe, 0), &m->head);
}

/* ---- each PE --------------------------------------------------------------------------------- */

/* Returns whether it has sent any. */
static bool send_refusals(struct pe *pe)
{
	struct csd_told told = { 0 };
	struct save_msg *m;
	const bool any = (collect_refusals(pe, &told), told.n_lines > 0);

	if (any) {
		m = save_msg_new(pe, SAVE_REFUSED, save_of(pe)->no, told.bytes);
		memcpy(m->more, told.at, told.bytes);
		csd_send_now(pe, 0, &m->head);
	}
	free(told.at);
	return any;
}

static void answer_frozen(struct pe *pe)
{
	struct save_pe *s = save_of(pe);
	struct save_sums own = { .created = pe->n_created, .processed = pe->n_processed };

	own.refusers = send_refusals(pe);
	if (!own.refusers) {
		s->bytes = write_records(pe, NULL, 0);
		store_measured(pe, s->bytes);
		own.bytes = s->bytes;
	}
	take_answer(s, &own);
	maybe_answer(pe, SAVE_FROZEN);
}

static void freeze(struct pe *pe, uint32_t no)
{
	struct save_pe *s = save_of(pe);

	save_tell_children(pe, SAVE_FREEZE, no);
	s->no = no;
	s->frozen = pe->frozen = true;
	figures_frozen(pe);
	await_answers(s);
	print_flush(pe);
	answer_frozen(pe);
	while (s->frozen && csd_wait_for(pe, ck_handler(pe, PART_SAVE, H_SAVE)))
		;
	pe->frozen = false;
	figures_thawed(pe);
}

static bool write_it(struct pe *pe, uint64_t sequence, uint64_t job)
{
	struct save_pe *s = save_of(pe);
	struct image_why why = { "" };
	char *to = store_block(pe, sequence, job, &why);

	if (!to) {
		fprintf(stderr, "chard: no checkpoint: node %d: %s\n", pe->node->job->node, why.text);
		return false;
	}
	if (write_records(pe, to, s->bytes) != s->bytes)
		csd_abort(pe, "internal: a checkpoint's block is shorter than it was measured");
	forget_notes(s);
	store_written(pe);
	return true;
}

static void write_block(struct pe *pe, uint64_t sequence, uint64_t job)
{
	struct save_pe *s = save_of(pe);
	struct save_sums own = { .failed = 0 };

	for (int i = 0; i < csd_tree_n_children(pe, 0); i++) {
		struct save_msg *m = save_msg_new(pe, SAVE_WRITE, s->no, 0);

		m->sequence = sequence;
		m->job = job;
		csd_send_now(pe, csd_tree_child(pe, 0, i), &m->head);
	}
	await_answers(s);
	own.failed = !write_it(pe, sequence, job);
	take_answer(s, &own);
	maybe_answer(pe, SAVE_WRITTEN);
}

static void thaw(struct pe *pe)
{
	save_tell_children(pe, SAVE_THAW, save_of(pe)->no);
	save_of(pe)->frozen = false;
	forget_notes(save_of(pe));
	store_over(pe);
}

/* ---- PE 0 ------------------------------------------------------------------------------------ */

static void refusals_free(struct pe *pe)
{
	struct save_pe *s = save_of(pe);

	for (int i = 0; s->refused && i < pe->node->job->n_pes; i++)
		if (s->refused[i])
			csd_msg_free(pe, &s->refused[i]->head);
	free(s->refused);
	s->refused = NULL;
	s->n_refusers = 0;
}

static struct csd_told told_in(struct save_msg *m)
{
	return (struct csd_told){ .at = m->more, .bytes = m->head.size - sizeof *m };
}

/* At most this many lines, and how many there are besides. */
static void print_refusals(struct pe *pe)
{
	enum { LINES = 10 };
	struct save_pe *s = save_of(pe);
	int n = 0;

	for (int i = 0; i < pe->node->job->n_pes; i++) {
		const struct csd_told told = s->refused[i] ? told_in(s->refused[i]) :
							     (struct csd_told){ 0 };

		for (const struct csd_record *r = NULL; (r = csd_told_next(&told, r));) {
			if (!csd_record_text(r)[0] || n++ >= LINES)
				continue;
			if (n == 1)
				signal_why(pe, csd_record_text(r));
			fprintf(stderr, "chard: no checkpoint: PE %d: ", i);
			csd_record_print(stderr, r);
		}
	}
	if (n > LINES)
		fprintf(stderr, "chard: no checkpoint: and %s\n",
			csd_plural((uint64_t)(n - LINES), "more reason", "more reasons").text);
}

/* It tells the files of one job's checkpoint from those of another's. */
static uint64_t job_number(struct pe *pe)
{
	struct save_node *n = save_node_of(pe->node);
	struct timespec now;

	if (!n->job) {
		clock_gettime(CLOCK_REALTIME, &now);
		n->job = ((uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec << 16 ^ (uint64_t)getpid()) | 1;
	}
	return n->job;
}

static void all_frozen(struct pe *pe)
{
	struct save_pe *s = save_of(pe);

	if (s->in.created != s->in.processed) {
		refusals_free(pe);
		thaw(pe);
		save_await_rest(pe);
		return;
	}
	if (s->in.refusers) {
		print_refusals(pe);
		refusals_free(pe);
		thaw(pe);
		save_give_up(pe, CK_CHECKPOINT_REFUSED);
		return;
	}
	s->stage = SAVE_WRITES;
	s->all_bytes = s->in.bytes;
	write_block(pe, save_is_on_disk(pe) ? disk_sequence(pe) : s->sequence + 1, job_number(pe));
}

static void all_written(struct pe *pe)
{
	struct save_pe *s = save_of(pe);
	const bool disk = save_is_on_disk(pe);

	if (s->in.failed) {
		thaw(pe);
		save_give_up(pe, CK_CHECKPOINT_FAILURE);
		return;
	}
	s->sequence = disk ? disk_sequence(pe) : s->sequence + 1;
	store_commit(pe, s->sequence, s->all_bytes);
	if (!disk && signal_stays(pe))
		return;
	thaw(pe);
	when_thawed(pe);
	if (disk || store_mirrors(pe->node)) {
		s->stage = SAVE_STORES;
		disk_write(pe);
	} else {
		save_over(pe, CK_CHECKPOINT_SUCCESS);
	}
}

/* FROZEN: the records of refusals may still be on their way. */
static void root_has(struct pe *pe, enum save_kind kind)
{
	struct save_pe *s = save_of(pe);

	if (kind == SAVE_WRITTEN)
		all_written(pe);
	else if (s->n_refusers == s->in.refusers)
		all_frozen(pe);
}

/* Takes the message. */
static void refused(struct pe *pe, struct save_msg *m)
{
	struct save_pe *s = save_of(pe);

	if (!s->refused)
		s->refused = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *s->refused,
					    "a checkpoint");
	s->refused[m->head.src_pe] = m;
	s->n_refusers++;
	maybe_answer(pe, SAVE_FROZEN);
}

/* ---- the handler ----------------------------------------------------------------------------- */

void freeze_arrived(struct pe *pe, struct cmi_msg *head)
{
	struct save_msg *m = (struct save_msg *)head;
	const uint32_t no = m->no;
	const enum save_kind kind = m->kind;

	switch (kind) {
	case SAVE_ASK:
		save_asked(pe, m);
		break;
	case SAVE_SIGNAL:
		signal_arrived(pe, m);
		break;
	case SAVE_REFUSED:
		refused(pe, m);
		return;
	case SAVE_FROZEN:
	case SAVE_WRITTEN:
		take_answer(save_of(pe), &m->sums);
		maybe_answer(pe, kind);
		break;
	case SAVE_FREEZE:
		csd_msg_free(pe, head);
		freeze(pe, no);
		return;
	case SAVE_WRITE:
		write_block(pe, m->sequence, m->job);
		break;
	case SAVE_THAW:
		thaw(pe);
		break;
	}
	csd_msg_free(pe, head);
}

#define ASTRAY "it does not belong to a checkpoint that is being taken"

static const char *ask_misfit(struct pe *pe, const struct save_msg *m)
{
	const struct save_ask *a = (const struct save_ask *)(const void *)m->more;
	const size_t more = m->head.size - sizeof *m;

	return more <= sizeof *a || !memchr(a->dir, 0, more - sizeof *a) ? "it is not a request" :
	       shape_callback(pe, &a->done);
}

const char *freeze_misfit(struct pe *pe, const struct cmi_msg *head)
{
	const struct save_msg *m = (const struct save_msg *)head;
	const struct save_pe *s = save_of(pe);
	struct csd_told told;

	if ((m->kind == SAVE_ASK) != !(head->flags & CMI_F_SYSTEM))
		return "its flags are wrong for such a message";
	if (m->kind == SAVE_ASK)
		return ask_misfit(pe, m);
	if (m->kind == SAVE_SIGNAL)
		return head->size == sizeof *m ? NULL : "it is too long";
	if (m->kind == SAVE_FREEZE)
		return s->frozen ? ASTRAY : NULL;
	if (!s->frozen || m->no != s->no)
		return ASTRAY;
	told = told_in((struct save_msg *)(uintptr_t)m);
	if (m->kind == SAVE_REFUSED)
		return csd_told_fits(&told) && !(s->refused && s->refused[head->src_pe]) ? NULL : ASTRAY;
	return head->size == sizeof *m ? NULL : "it is too long";
}
