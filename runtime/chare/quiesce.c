/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quiesce.c: quiescence detection. Every PE counts what it has sent and what it has handled,
 * messages and puts alike. PE 0 collects both sums in waves over the tree. The counts of a
 * wave are not taken at one moment, so one wave proves nothing; but when everything that
 * was sent up to the end of a wave equals what had been handled already in the wave before
 * it, then nothing was under way in between (Mattern's four counters, 1987).
 *
 * A fence (fence.c) is answered like a request, when all members have come to it.
 *
 * The waves' own messages are not counted. A wave's question waits in the run queue behind
 * the work there, so a busy job is not troubled; between waves PE 0 waits longer each time.
 */
#include "ck_int.h"

#include <stdlib.h>

enum qd_kind { QD_START, QD_ASK, QD_SUM };

struct qd_msg {
	struct cmi_msg head;
	uint32_t kind, wave;
	uint64_t created, processed;
	CkCallback cb;
};

struct qd_waiter {
	CkCallback cb;
	struct qd_waiter *next;
};

struct qd {
	uint32_t wave;                 /* this PE's current one */
	int n_in;                      /* children that have answered it */
	uint64_t created, processed;   /* their sums */
	/* PE 0 only. */
	bool running;
	uint64_t before;               /* handled up to the wave before */
	bool have_before;
	double wait_ms;
	struct qd_waiter *waiters;
};

/* Between two waves: from about a message's round trip, doubling. */
static const double WAIT_MIN_MS = 0.01, WAIT_MAX_MS = 1.0;

void qd_init(struct pe *pe)
{
	pe->ck->qd = calloc(1, sizeof *pe->ck->qd);
	if (!pe->ck->qd)
		csd_abort(pe, "no memory for quiescence detection");
}

void qd_fini(struct pe *pe)
{
	while (pe->ck->qd->waiters) {
		struct qd_waiter *w = pe->ck->qd->waiters;

		pe->ck->qd->waiters = w->next;
		free(w);
	}
	free(pe->ck->qd);
}

static void send_qd(struct pe *pe, int dst_pe, struct qd_msg what)
{
	struct qd_msg *q = (struct qd_msg *)csd_msg_alloc(pe, sizeof *q);

	what.head = q->head;
	*q = what;
	q->head.handler = (uint16_t)pe->node->ck->h_qd;
	q->head.flags = CMI_F_SYSTEM;
	csd_send(pe, dst_pe, &q->head);
}

static void start_wave(void *arg)
{
	struct pe *pe = arg;

	send_qd(pe, pe->id, (struct qd_msg){ .kind = QD_ASK, .wave = pe->ck->qd->wave + 1 });
}

static void quiescent(struct pe *pe)
{
	struct qd *qd = pe->ck->qd;
	struct qd_waiter *w = qd->waiters;

	qd->running = false;
	qd->waiters = NULL;
	while (w) {
		struct qd_waiter *next = w->next;

		callback_fire(pe, &w->cb, CK_NOTYPE, NULL, 0, 0);
		free(w);
		w = next;
	}
}

/* PE 0 has the sums of a whole wave. */
static void wave_over(struct pe *pe, uint64_t created, uint64_t processed)
{
	struct qd *qd = pe->ck->qd;

	if (qd->have_before && created == qd->before) {
		quiescent(pe);
		return;
	}
	qd->before = processed;
	qd->have_before = true;
	if (created == processed) {
		/* Most likely quiet: confirm it at once (an idle job: 1 us instead of 11). */
		start_wave(pe);
		return;
	}
	CcdCallFnAfter(start_wave, pe, qd->wait_ms);
	qd->wait_ms = qd->wait_ms < WAIT_MAX_MS ? qd->wait_ms * 2 : WAIT_MAX_MS;
}

/* All children have answered: add this PE's own counts, now, and pass them on. */
static void maybe_answer(struct pe *pe)
{
	struct qd *qd = pe->ck->qd;

	if (qd->n_in < csd_tree_n_children(pe, 0))
		return;
	/* What is held back becomes messages, which are counted: at this moment nothing is hidden. */
	aggregate_flush(pe);
	uint64_t created = qd->created + pe->n_created;
	uint64_t processed = qd->processed + pe->n_processed;

	if (pe->id == 0)
		wave_over(pe, created, processed);
	else
		send_qd(pe, csd_tree_parent(pe, 0),
			(struct qd_msg){ .kind = QD_SUM, .wave = qd->wave, .created = created,
					 .processed = processed });
}

static void ask(struct pe *pe, uint32_t wave)
{
	struct qd *qd = pe->ck->qd;

	qd->wave = wave;
	qd->n_in = 0;
	qd->created = qd->processed = 0;
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		send_qd(pe, csd_tree_child(pe, 0, i), (struct qd_msg){ .kind = QD_ASK, .wave = wave });
	maybe_answer(pe);
}

/* A request during a detection gets the next: its own messages may be uncounted yet. */
static void start(struct pe *pe, const CkCallback *cb)
{
	struct qd *qd = pe->ck->qd;
	struct qd_waiter *w = malloc(sizeof *w);

	if (!w)
		csd_abort(pe, "no memory for quiescence detection");
	*w = (struct qd_waiter){ *cb, qd->waiters };
	qd->waiters = w;
	qd->have_before = false;
	qd->wait_ms = WAIT_MIN_MS;
	if (!qd->running) {
		qd->running = true;
		start_wave(pe);
	}
}

void qd_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct qd_msg q = *(struct qd_msg *)m;
	struct qd *qd = pe->ck->qd;

	csd_msg_free(pe, m);
	switch ((enum qd_kind)q.kind) {
	case QD_START:
		start(pe, &q.cb);
		break;
	case QD_ASK:
		ask(pe, q.wave);
		break;
	case QD_SUM:
		qd->n_in++;
		qd->created += q.created;
		qd->processed += q.processed;
		maybe_answer(pe);
		break;
	}
}

void qd_start(struct pe *pe, const CkCallback *cb)
{
	send_qd(pe, 0, (struct qd_msg){ .kind = QD_START, .cb = *cb });
}

void CkStartQD(CkCallback cb)
{
	qd_start(ck_self(), &cb);
}
