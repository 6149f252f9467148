/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quiesce.c: quiescence detection. Every PE counts what it has sent and what it has handled,
 * messages and puts alike. PE 0 collects both sums in waves. If a wave counts as many sent as the
 * wave before it counted handled, nothing was under way at a moment between the two (wave.h).
 *
 * Once all elements have called a fence (fence.c), it makes a request like any other.
 *
 * The waves' own messages are not counted. A wave's question waits in the run queue after the work
 * there, so a busy job is not disturbed. PE 0 waits longer between waves each time.
 */
#include "settle.h"
#include "../core/describe.h"
#include "../core/shape.h"
#include "../../image/image.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum qd_kind { QD_START, QD_ASK, QD_SUM };

struct qd_msg {
	struct cmi_msg head;
	uint32_t kind, wave;
	uint64_t sums[WAVE_SUMS];
};

/** QD_START. */
struct qd_request {
	struct cmi_msg head;
	uint32_t kind;            /* first, as in struct qd_msg */
	CkCallback cb;
};

struct qd_waiter {
	CkCallback cb;
	struct qd_waiter *next;
};

struct qd {
	struct wave wave;
	/* PE 0 only. */
	bool running;
	uint64_t before;               /* handled, as counted by the previous wave */
	bool have_before;
	struct wave_pause pause;
	struct qd_waiter *waiters;
	CkCallback *saved;             /* ours: [n_saved], of a restart, until all is there */
	size_t n_saved;
};

enum { QD_CREATED, QD_PROCESSED };  /* indices of `sums` */
enum { H_QD };

/** On a node. */
struct qd_node {
	bool (*waits)(struct pe *pe, const CkCallback *then); /* settle_waits; NULL: never */
};

static struct qd *qd_of(const struct pe *pe) { return ck_state(pe, PART_QUIESCE); }

static void send_qd(struct pe *pe, int dst_pe, struct qd_msg what)
{
	struct qd_msg *q = ck_msg_new(pe, PART_QUIESCE, H_QD, CMI_F_SYSTEM, sizeof *q);

	what.head = q->head;
	*q = what;
	csd_leave_out(pe, dst_pe, sizeof *q);
	csd_send(pe, dst_pe, &q->head);
}

static void qd_start_wave(void *arg)
{
	struct pe *pe = arg;

	send_qd(pe, pe->id, (struct qd_msg){ .kind = QD_ASK, .wave = qd_of(pe)->wave.no + 1 });
}

static void qd_pause_over(void *arg)
{
	csd_chatter_timer(arg, -1);
	qd_start_wave(arg);
}

/* Requests of the runtime come first. A balancing step waits until only messages that it holds back
 * are under way (balance/): until its end there is always one, so others do not count as quiescent.
 * A checkpoint (save/) is taken before the program's own requests make work again. */
static int urgency(const struct qd_waiter *w)
{
	return w->cb.kind == CB_AT_REST ? 2 : w->cb.kind == CB_AT_SAVE;
}

static int most_urgent(const struct qd *qd)
{
	int most = 0;

	for (const struct qd_waiter *w = qd->waiters; w; w = w->next)
		most = urgency(w) > most ? urgency(w) : most;
	return most;
}

void settle_set_waits(struct node *node, bool (*waits)(struct pe *pe, const CkCallback *then))
{
	struct qd_node *own = ck_node_state(node, PART_QUIESCE);

	own->waits = waits;
}

bool settle_waits(struct pe *pe, const CkCallback *then)
{
	const struct qd_node *own = ck_node_state(pe->node, PART_QUIESCE);

	return own->waits && own->waits(pe, then);
}

/* The most urgent requests are answered; the others wait for the next detection. All of the
 * program's do, if a checkpoint comes first. */
static void quiescent(struct pe *pe)
{
	struct qd *qd = qd_of(pe);
	int most = most_urgent(qd);
	struct qd_waiter *w = qd->waiters;

	most += most == 0 && settle_waits(pe, NULL);
	qd->running = false;
	qd->waiters = NULL;
	while (w) {
		struct qd_waiter *next = w->next;

		if (urgency(w) < most) {
			w->next = qd->waiters;
			qd->waiters = w;
		} else {
			callback_fire(pe, &w->cb, CK_NOTYPE, NULL, 0, 0);
			free(w);
		}
		w = next;
	}
	if (!qd->waiters)
		return;
	qd->running = true;
	qd->have_before = false;
	csd_chatter_timer(pe, 1);
	wave_after(&qd->pause, qd_pause_over, pe);
}

/* PE 0 has the sums of a whole wave. Model: quiesce.pml, qd_wave_over */
static void qd_wave_over(struct pe *pe, uint64_t created, uint64_t processed)
{
	struct qd *qd = qd_of(pe);

	if (qd->have_before && created == qd->before) {
		quiescent(pe);
		return;
	}
	qd->before = processed;
	qd->have_before = true;
	if (created == processed) {
		/* The job is most likely quiet: confirm it at once (an idle job: 1 us instead of
		 * 11). */
		qd_start_wave(pe);
		return;
	}
	csd_chatter_timer(pe, 1);
	wave_after(&qd->pause, qd_pause_over, pe);
}

/* When all children have answered, add this PE's current counts, and send the sums up. */
static void qd_maybe_answer(struct pe *pe)
{
	struct qd *qd = qd_of(pe);

	if (!wave_is_in(pe, &qd->wave, 0))
		return;
	/* Calls held back for aggregation become messages, which are counted, so nothing is
	 * hidden now. */
	aggregate_flush(pe);
	uint64_t sums[WAVE_SUMS] = { [QD_CREATED] = pe->n_created, [QD_PROCESSED] = pe->n_processed };

	wave_add(&qd->wave, sums);
	if (pe->id == 0)
		qd_wave_over(pe, sums[QD_CREATED], sums[QD_PROCESSED]);
	else
		send_qd(pe, csd_tree_parent(pe, 0),
			(struct qd_msg){ .kind = QD_SUM, .wave = qd->wave.no,
					 .sums = { sums[QD_CREATED], sums[QD_PROCESSED] } });
}

static void qd_ask(struct pe *pe, uint32_t wave)
{
	wave_open(&qd_of(pe)->wave, wave);
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		send_qd(pe, csd_tree_child(pe, 0, i), (struct qd_msg){ .kind = QD_ASK, .wave = wave });
	qd_maybe_answer(pe);
}

/* A request that comes during a detection restarts the detection: messages sent before the
 * request may not have been counted yet. */
static void qd_begin(struct pe *pe, const CkCallback *cb)
{
	struct qd *qd = qd_of(pe);
	struct qd_waiter *w = cmi_alloc(sizeof *w, "quiescence detection");

	*w = (struct qd_waiter){ *cb, qd->waiters };
	qd->waiters = w;
	qd->have_before = false;
	wave_soon(&qd->pause);
	if (!qd->running) {
		qd->running = true;
		qd_start_wave(pe);
	}
}

static void qd_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct qd_msg *q = (const struct qd_msg *)m;

	switch ((enum qd_kind)q->kind) {
	case QD_START:
		qd_begin(pe, &((const struct qd_request *)m)->cb);
		break;
	case QD_ASK:
		csd_chatter(pe, m);
		qd_ask(pe, q->wave);
		break;
	case QD_SUM:
		csd_chatter(pe, m);
		wave_take(&qd_of(pe)->wave, q->sums);
		qd_maybe_answer(pe);
		break;
	}
	csd_msg_free(pe, m);
}

void qd_start(struct pe *pe, const CkCallback *cb)
{
	struct qd_request *q = ck_msg_new(pe, PART_QUIESCE, H_QD, CMI_F_SYSTEM, sizeof *q);

	q->kind = QD_START;
	q->cb = *cb;
	csd_send(pe, 0, &q->head);
}

void CkStartQD(CkCallback cb)
{
	qd_start(ck_self(), &cb);
}

void CkWaitQD(void)
{
	CkCallback cb = CkCallbackResumeThread();

	CkStartQD(cb);
	CkFreeMsg(CkCallbackThreadDelay(cb));
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* A fence's threads are refused themselves. */
static bool waiter_is_lost(const struct pe *pe, const struct qd_waiter *w)
{
	const struct ck_callback_kind *k = callback_kind_of(pe, &w->cb);

	return k->names == CK_NAMES_PE;
}

static void qd_refuse(struct pe *pe, struct csd_told *to)
{
	for (const struct qd_waiter *w = qd_of(pe)->waiters; w; w = w->next)
		if (waiter_is_lost(pe, w))
			csd_tell(to, NULL, "%s waits for quiescence, and cannot be called in another process: only "
				 "an entry method can", callback_thing(pe, &w->cb).name);
}

/* PE 0 has them. */
static void qd_write(struct pe *pe, struct image_out *out)
{
	const struct image_name name = { .kind = IMAGE_QUIESCENCE };
	CkCallback *to;
	size_t n = 0;

	for (const struct qd_waiter *w = qd_of(pe)->waiters; w; w = w->next)
		n++;
	if (!n)
		return;
	to = out->add(out, &name, n * sizeof *to);
	for (const struct qd_waiter *w = qd_of(pe)->waiters; to && w; w = w->next)
		*to++ = w->cb;
}

static bool qd_is_mine(struct pe *pe, const struct image_name *name)
{
	(void)name;
	return !pe->id;
}

static const char *qd_read(struct pe *pe, const struct image_name *name, const void *bytes,
			   size_t n)
{
	struct qd *qd = qd_of(pe);

	(void)name;
	if (n % sizeof *qd->saved || qd->saved)
		return "it is not a list of callbacks, or there are two";
	qd->saved = cmi_alloc(n + 1, "quiescence detection");
	qd->n_saved = n / sizeof *qd->saved;
	memcpy(qd->saved, bytes, n);
	for (size_t i = 0; i < qd->n_saved; i++)
		if (shape_callback(pe, &qd->saved[i]))
			return shape_callback(pe, &qd->saved[i]);
	return NULL;
}

/* The first wave waits in the queue until all that this PE reads is there. */
static void qd_read_all(struct pe *pe)
{
	struct qd *qd = qd_of(pe);

	while (qd->n_saved)
		qd_begin(pe, &qd->saved[--qd->n_saved]);
	free(qd->saved);
	qd->saved = NULL;
}

/* ---- the part -------------------------------------------------------------------------------- */

static void qd_pe_stop(struct pe *pe)
{
	struct qd_waiter *w;

	while ((w = qd_of(pe)->waiters)) {
		qd_of(pe)->waiters = w->next;
		free(w);
	}
}

static const char *qd_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct qd_msg *q = (const struct qd_msg *)m;
	const uint32_t no = qd_of(pe)->wave.no;

	switch ((enum qd_kind)q->kind) {
	case QD_START:
		return m->size != sizeof(struct qd_request) || pe->id ? "it is not a request" :
		       shape_callback(pe, &((const struct qd_request *)m)->cb);
	case QD_ASK:
		return m->size == sizeof *q && csd_tree_parent(pe, 0) == m->src_pe && q->wave == no + 1 ? NULL :
		       "it asks for a wave whose turn it is not";
	case QD_SUM:
		return m->size == sizeof *q && csd_tree_parent_of(pe, m->src_pe, 0) == pe->id && q->wave == no ?
		       NULL : "it answers a wave whose turn it is not";
	}
	return "its kind is unknown";
}

static void qd_describe(struct pe *pe, struct csd_told *to)
{
	for (const struct qd_waiter *w = qd_of(pe)->waiters; w; w = w->next)
		csd_tell(to, &(struct csd_wait){ .who = callback_thing(pe, &w->cb) }, "waits for quiescence");
}

static const struct ck_handler handlers[] = { 
	[H_QD] = { "ck.qd", qd_arrived, true,
		   .shape = { .least = sizeof(struct cmi_msg) + sizeof(uint64_t), .always = CMI_F_SYSTEM,
			      .misfit = qd_misfit } },
};

const struct ck_part quiesce_part = {
	.name = "quiesce",
	.number = PART_QUIESCE,
	.node_bytes = sizeof(struct qd_node),
	.pe_bytes = sizeof(struct qd),
	.handlers = CK_LIST(handlers),
	.pe_stop = qd_pe_stop,
	.describe = qd_describe,
	.save = { .refuse = qd_refuse, .write = qd_write, .kinds = UINT32_C(1) << IMAGE_QUIESCENCE,
		  .mine = qd_is_mine, .read = qd_read, .read_all = qd_read_all },
};
