/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c: the watchdog. It detects that nothing will ever happen again in the job, and ends it
 * with exit code 125 and a report of the waits (tell.h, watch_text.c).
 *
 * PE 0 asks in waves over its tree, as quiescence detection does, with two differences. PE 0 asks
 * only when it has been idle for a while. And a PE answers only when it is about to sleep and only
 * a message could wake it: no timer, no late message of its own, no exit. So a working job sees at
 * most one question per PE, however long it works.
 *
 * An answer has five counts: messages sent, handled, held back (by flow control, a gate, or a new
 * group), handled by the loop, and bytes under way between processes. The last two include what
 * quiescence ignores: an end of a channel that is joined, a credit. When WAVES_SAME waves bring the
 * same counts, all that was sent is handled or held back, and no byte is under way, nothing is: the
 * counts are those of one moment (wave.h of the chare layer has the argument), and no PE has
 * handled anything since.
 *
 * Detections of the runtime that repeat waves (quiescence, the end of inserting) must not hide that
 * nothing else happens. Their messages and timers are chatter, and not counted (csd_chatter).
 *
 * A message that is neither handled nor held back for LOST_NS, while all PEs are idle, is lost.
 * That is certain only where a message cannot be slow, in the memory of one host. Between hosts PE
 * 0 prints after SLOW_NS what is missing, and the job goes on.
 */
#include "watch.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENT, HANDLED, HELD, LOOPED, CHATTER, UNDER_WAY, SUMS };

enum {
	WAVES_SAME = 3,
	/* PE 0 is idle this long before it asks, and between two waves, of which there are three. */
	IDLE_MS = 50,
	/* Between waves that have shown that the job is not quiescent, although all PEs sleep. */
	AGAIN_MS = 250,
	/* Between two calls of csd_layer.look. One for 10,000 channels takes some 0.2 ms. */
	LOOK_MS = 100,
	/* After the request for a report; a PE that has not answered by then is busy or stopped. */
	TELL_MS = 1000,
};
static const uint64_t MS = 1000000, LOST_NS = UINT64_C(2000000000), SLOW_NS = UINT64_C(10000000000);

enum watch_kind { WATCH_ASK, WATCH_SUMS, WATCH_TELL, WATCH_TOLD, WATCH_WANTED };

struct watch_msg {
	struct cmi_msg head;
	uint32_t kind, wave;
	uint64_t sums[SUMS];       /* WATCH_SUMS */
	_Alignas(uint64_t) char records[]; /* WATCH_TOLD */
};

enum watch_why { WATCH_NOTHING, WATCH_REST, WATCH_LOST, WATCH_SLOW, WATCH_LOOK };

struct csd_watch {
	/* The wave that is here. */
	bool asked;                /* this PE has not answered it */
	uint32_t wave;
	int n_in;
	uint64_t in[SUMS];
	uint64_t n_own;            /* our own messages, which the loop has counted */
	bool leaving;              /* this PE has asked for the end of the job */
	uint64_t look_ns;          /* no look before this time */
	/* PE 0. */
	bool near;                 /* all_by_memory */
	bool waits;                /* for the sums of a wave */
	uint64_t next_ns;          /* no wave before this time */
	uint64_t work, work_ns;    /* how much the loop had handled, and since when that has not changed */
	uint64_t before[SUMS];
	int n_same;                /* waves with these counts */
	uint64_t same_ns;          /* since the first of them */
	bool said_slow;            /* for these counts: WATCH_SLOW was printed */
	/* PE 0: a message to itself, for a signal handler that requests a report; NULL: it is under
	 * way. */
	_Atomic(struct cmi_msg *) wanted;
	/* PE 0: the report that is being gathered. */
	enum watch_why why;
	uint32_t round;            /* its number, in `wave` of its messages */
	int n_told;
	struct watch_msg **told;   /* [n_pes] */
	uint64_t order;            /* it is for whoever gave this order (csd_order); 0: for stderr */
};

/* ---- messages -------------------------------------------------------------------------------- */

/* The message that watch_look sends. A signal handler cannot allocate one from the pool. */
static void look_ready(struct pe *pe)
{
	struct watch_msg *m = (struct watch_msg *)csd_msg_alloc(pe, sizeof *m);

	m->head.handler = (uint16_t)pe->node->h_watch;
	m->head.flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	m->head.src_pe = pe->id;
	m->kind = WATCH_WANTED;
	/* Release: pairs with the acquire of whichever thread's handler takes it. */
	m = (struct watch_msg *)atomic_exchange_explicit(&pe->watch->wanted, &m->head,
							 memory_order_release);
	if (m)
		csd_msg_free(pe, &m->head);
}

void watch_look(struct pe *pe)
{
	/* Acquire: pairs with the release in look_ready. */
	struct cmi_msg *m = pe->watch ? atomic_exchange_explicit(&pe->watch->wanted, NULL,
								 memory_order_acquire) :
					NULL;

	if (m)
		inbox_push(pe, m);
}

static void send_watch(struct pe *pe, int dst_pe, enum watch_kind kind, uint32_t wave,
		       const uint64_t *sums, const struct csd_told *told)
{
	size_t bytes = told ? told->bytes : 0;
	struct watch_msg *m = (struct watch_msg *)csd_msg_alloc(pe, sizeof *m + bytes);

	m->head.handler = (uint16_t)pe->node->h_watch;
	/* A report does not wait behind a busy job's queue. A question may. */
	m->head.flags = kind == WATCH_ASK || kind == WATCH_SUMS ? CMI_F_SYSTEM :
								  CMI_F_SYSTEM | CMI_F_EXPEDITED;
	m->kind = kind;
	m->wave = wave;
	for (int i = 0; i < SUMS; i++)
		m->sums[i] = sums ? sums[i] : 0;
	if (bytes)
		memcpy(m->records, told->at, bytes);
	csd_leave_out(pe, dst_pe, m->head.size);
	csd_send_now(pe, dst_pe, &m->head);
}

static void watch_tell_children(struct pe *pe, enum watch_kind kind, uint32_t wave,
				const uint64_t *sums)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		send_watch(pe, csd_tree_child(pe, 0, i), kind, wave, sums, NULL);
}

static void watch_report(struct pe *pe, enum watch_why why);

/* ---- waves ----------------------------------------------------------------------------------- */

/* Only a message can wake this PE. The queue is empty: the loop is about to sleep. */
static bool only_messages(const struct pe *pe)
{
	return !pe->stop && !pe->watch->leaving && pe->n_timers == pe->n_chatter_timers;
}

/* What was sent and waits on this PE, and what is under way and does not wait at a gate. False: it
 * cannot be counted now. */
static bool count_held(struct pe *pe, uint64_t *n, uint64_t *under_way)
{
	uint64_t at_gates = 0;

	*n = hold_length(pe) + flow_length(pe);
	if (pe->local == 0 && !node_queue_held(pe, n, &at_gates))
		return false;
	*under_way = flow_under_way(pe) - at_gates;
	for (int i = 0; i < pe->node->n_layers; i++)
		if (pe->node->layers[i]->held)
			*n += pe->node->layers[i]->held(pe);
	return true;
}

static bool all_on_one_host(const struct cmi_job *job)
{
	for (int i = 1; i < job->n_nodes; i++)
		if (job->host_id[i] != job->host_id[0])
			return false;
	return true;
}

/* Whether messages between nodes go through memory only, where none is slow. */
static bool all_by_memory(const struct pe *pe)
{
	return all_on_one_host(pe->node->job) &&
	       (!pe->network || strcmp(cmi_name(pe->node->machine), "ucx"));
}

/* Once; the job may go on. */
static void say_slow(struct pe *pe)
{
	pe->watch->said_slow = true;
	watch_report(pe, WATCH_SLOW);
}

/* Whether a layer was in the way of the rest. */
static bool layers_let_go(struct pe *pe)
{
	const struct node *node = pe->node;

	for (int i = 0; i < node->n_layers; i++)
		if (node->layers[i]->let_go && node->layers[i]->let_go(pe))
			return true;
	return false;
}

/* PE 0 has the sums of a whole wave. */
static void watch_wave_over(struct pe *pe, const uint64_t s[SUMS])
{
	struct csd_watch *w = pe->watch;
	const uint64_t now = csd_now_ns();
	/* If everything is handled, a current detection will succeed, and can act then. */
	const bool detects = s[CHATTER] != w->before[CHATTER] && s[SENT] == s[HANDLED];
	const bool all = s[SENT] - s[HANDLED] == s[HELD] && !s[UNDER_WAY] && !detects;

	w->waits = false;
	if (w->n_same && !memcmp(s, w->before, CHATTER * sizeof *s)) {
		w->n_same++;
	} else {
		w->n_same = 1;
		w->same_ns = now;
		w->said_slow = false;
	}
	memcpy(w->before, s, sizeof w->before);
	w->next_ns = now + (w->n_same < WAVES_SAME ? IDLE_MS * MS : AGAIN_MS * MS);
	if (w->n_same < WAVES_SAME || w->why)
		return;
	if (all && !layers_let_go(pe))
		watch_report(pe, WATCH_REST);
	else if (!all && now - w->same_ns >= LOST_NS && w->near)
		watch_report(pe, WATCH_LOST);
	else if (!all && now - w->same_ns >= SLOW_NS && !w->said_slow)
		say_slow(pe);
}

static uint64_t looped(const struct pe *pe)
{
	return pe->n_dispatched - pe->watch->n_own - pe->n_chatter;
}

/* When all children have answered, add this PE's current counts, and pass the sums on. */
static bool watch_maybe_answer(struct pe *pe)
{
	struct csd_watch *w = pe->watch;
	uint64_t s[SUMS] = { [SENT] = pe->n_created, [HANDLED] = pe->n_processed,
			     [LOOPED] = looped(pe), [CHATTER] = pe->n_chatter };

	if (w->n_in < csd_tree_n_children(pe, 0) || !only_messages(pe) ||
	    !count_held(pe, &s[HELD], &s[UNDER_WAY]))
		return false;
	w->asked = false;
	for (int i = 0; i < SUMS; i++)
		s[i] += w->in[i];
	if (pe->id == 0)
		watch_wave_over(pe, s);
	else
		send_watch(pe, csd_tree_parent(pe, 0), WATCH_SUMS, w->wave, s, NULL);
	return true;
}

static void watch_ask(struct pe *pe, uint32_t wave)
{
	struct csd_watch *w = pe->watch;

	w->asked = true;
	w->wave = wave;
	w->n_in = 0;
	memset(w->in, 0, sizeof w->in);
	watch_tell_children(pe, WATCH_ASK, wave, NULL);
}

static void watch_sums_came(struct pe *pe, const struct watch_msg *m)
{
	struct csd_watch *w = pe->watch;

	w->n_in++;
	for (int i = 0; i < SUMS; i++)
		w->in[i] += m->sums[i];
}

static bool is_due(const struct pe *pe, uint64_t now)
{
	const struct csd_watch *w = pe->watch;

	return !w->waits && !w->why && now >= w->next_ns && now - w->work_ns >= IDLE_MS * MS;
}

/* PE 0: for how long has the loop handled nothing but chatter? */
static void note_work(struct pe *pe, uint64_t now)
{
	struct csd_watch *w = pe->watch;
	const uint64_t work = looped(pe);

	if (!w->work_ns)
		w->near = all_by_memory(pe);
	if (w->work != work || !w->work_ns) {
		w->work = work;
		w->work_ns = now;
	}
}

static void look_at_layers(struct pe *pe, uint64_t now)
{
	const struct node *node = pe->node;

	pe->watch->look_ns = now + LOOK_MS * MS;
	for (int i = 0; i < node->n_layers; i++)
		if (node->layers[i]->look)
			node->layers[i]->look(pe, now);
}

/* Whether it has done something. */
static bool watch_idle(struct pe *pe, uint64_t now)
{
	struct csd_watch *w = pe->watch;

	if (now >= w->look_ns)
		look_at_layers(pe, now);
	if (pe->id == 0)
		note_work(pe, now);
	if (pe->id == 0 && only_messages(pe) && is_due(pe, now)) {
		w->waits = true;
		watch_ask(pe, w->wave + 1);
	}
	return w->asked && watch_maybe_answer(pe);
}

static int64_t watch_sleep_us(const struct pe *pe, uint64_t now)
{
	const struct csd_watch *w = pe->watch;
	uint64_t due = w->work_ns + IDLE_MS * MS;

	if (pe->id != 0 || w->waits || w->why || !only_messages(pe))
		return -1;
	if (due < w->next_ns)
		due = w->next_ns;
	return due <= now ? 0 : (int64_t)((due - now) / 1000 + 1);
}

static int64_t watch_nap(struct pe *pe, uint64_t now)
{
	if (!pe->watch)
		return -1;
	return watch_idle(pe, now) ? 0 : watch_sleep_us(pe, now);
}

static void watch_leaving(struct pe *pe)
{
	if (pe->watch)
		pe->watch->leaving = true;
}

/* ---- the report ------------------------------------------------------------------------------ */

static void told_free(struct pe *pe)
{
	struct csd_watch *w = pe->watch;

	for (int i = 0; w->told && i < pe->node->job->n_pes; i++)
		if (w->told[i])
			csd_msg_free(pe, &w->told[i]->head);
	free(w->told);
	w->told = NULL;
	w->n_told = 0;
	w->why = WATCH_NOTHING;
}

/* Of WATCH_TOLD; valid as long as the message. */
static struct csd_told told_in(struct watch_msg *m)
{
	return (struct csd_told){ .at = m->records, .bytes = m->head.size - sizeof *m };
}

/* The first line: what has happened. */
static void say_why(const struct csd_watch *w, char *buf, size_t len)
{
	const uint64_t *s = w->before;
	const int64_t missing = (int64_t)(s[SENT] - s[HANDLED] - s[HELD]);
	const char *what = missing ? missing < 0 ? "too many were handled" : "are lost" :
			   s[UNDER_WAY] ? "are missing, but messages of the runtime itself are" :
			   "are missing, but what the runtime detects never comes to its end";

	switch (w->why) {
	case WATCH_LOST:
		snprintf(buf, len, "no PE has anything to do, but of %" PRIu64 " messages and puts %" PRIu64
			 " were handled and %" PRIu64 " wait: %" PRId64 " %s. Damaged memory or a broken "
			 "transport does that, or a put that broke a rule (CK_CHECK=1). The job ends with exit "
			 "code 125", s[SENT], s[HANDLED], s[HELD], missing < 0 ? -missing : missing, what);
		break;
	case WATCH_SLOW:
		snprintf(buf, len,
			 "for %d s no PE has had anything to do, but of %" PRIu64
			 " messages and puts %" PRIu64 " were handled and %" PRIu64
			 " wait: %" PRId64 " %s. The job waits for them, as messages "
			 "between hosts may be slow",
			 (int)(SLOW_NS / (1000 * MS)), s[SENT], s[HANDLED], s[HELD],
			 missing < 0 ? -missing : missing,
			 missing > 0 ? "are lost or still under way" : what);
		break;
	case WATCH_LOOK:
		snprintf(buf, len, "asked what the job does, or waits for:");
		break;
	default:
		snprintf(buf, len, "the job waits and nothing will ever happen again: all %" PRIu64 " messages "
			 "and puts were handled%s, and no timer is set. It ends with exit code 125 "
			 "(CK_WATCHDOG=0 lets it wait)", s[SENT], s[HELD] ? ", except those that are held back" : "");
	}
}

static void print_report(struct pe *pe)
{
	struct csd_watch *w = pe->watch;
	struct csd_told *told = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *told, WATCH_REPORT);
	char why[512], *text;

	for (int i = 0; i < pe->node->job->n_pes; i++)
		if (w->told[i])
			told[i] = told_in(w->told[i]);
	say_why(w, why, sizeof why);
	text = watch_text(pe, why, told, pe->node->job->n_pes);
	free(told);
	if (w->order) {
		csd_answer(pe, w->order, true, "%s", text);
	} else {
		fflush(stdout);
		fputs(text, stderr);
		fflush(stderr);
	}
	w->order = 0;
	free(text);
}

static void report_is_in(struct pe *pe)
{
	struct csd_watch *w = pe->watch;
	const enum watch_why why = w->why;
	const bool whole = w->n_told == pe->node->job->n_pes;

	print_report(pe);
	told_free(pe);
	if (why == WATCH_LOOK)
		look_ready(pe);
	if (why == WATCH_LOOK || why == WATCH_SLOW)
		return;
	/* Normally, so that the program's output is flushed, if all PEs can take part. */
	if (why == WATCH_REST && whole)
		csd_exit(pe, WATCH_EXIT_CODE);
	else
		cmi_abort(pe->node->machine, WATCH_EXIT_CODE, false, "chard: the watchdog has ended the job");
}

static void tell_over(void *arg)
{
	struct pe *pe = arg;

	if (pe->watch->why)
		report_is_in(pe);
}

/* PE 0. */
static void watch_report(struct pe *pe, enum watch_why why)
{
	struct csd_watch *w = pe->watch;

	w->why = why;
	w->told = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *w->told, WATCH_REPORT);
	csd_timer(tell_over, pe, TELL_MS);
	send_watch(pe, pe->id, WATCH_TELL, ++w->round,
		   (const uint64_t[SUMS]){ why == WATCH_REST || why == WATCH_LOST }, NULL);
}

/* A busy PE is silent in it. */
static bool watch_obey(struct pe *pe, const struct csd_order *o)
{
	if (strcmp(o->word, "report"))
		return false;
	if (!pe->watch) {
		csd_answer(pe, o->id, false, "the watchdog is off (CK_WATCHDOG=0)");
	} else if (pe->watch->why) {
		csd_answer(pe, o->id, false, "a report is being made just now; try again");
	} else {
		pe->watch->order = o->id;
		watch_report(pe, WATCH_LOOK);
	}
	return true;
}

static void tell_pe0(struct pe *pe, uint32_t round, const uint64_t *at_rest)
{
	struct csd_told told = { 0 };

	if (pe->stop)
		return; /* nothing after the acknowledgement would be received */
	watch_tell_children(pe, WATCH_TELL, round, at_rest);
	pe->at_rest = *at_rest;
	watch_tell(pe, &told);
	send_watch(pe, 0, WATCH_TOLD, round, NULL, &told);
	free(told.at);
}

/* Takes the message. */
static void told_came(struct pe *pe, struct watch_msg *m)
{
	struct csd_watch *w = pe->watch;
	const int from = m->head.src_pe;

	if (!w->why || m->wave != w->round || w->told[from]) {
		csd_msg_free(pe, &m->head);
		return;
	}
	w->told[from] = m;
	if (++w->n_told == pe->node->job->n_pes)
		report_is_in(pe);
}

static void watch_arrived(struct pe *pe, struct cmi_msg *head)
{
	struct watch_msg *m = (struct watch_msg *)head;

	if (!pe->watch) { /* CK_WATCHDOG is not the same on all nodes */
		csd_msg_free(pe, head);
		return;
	}
	pe->watch->n_own++;
	csd_leave_out(pe, head->src_pe, -(uint64_t)head->size);
	switch ((enum watch_kind)m->kind) {
	case WATCH_ASK:
		watch_ask(pe, m->wave);
		break;
	case WATCH_SUMS:
		watch_sums_came(pe, m);
		break;
	case WATCH_TELL:
		tell_pe0(pe, m->wave, m->sums);
		break;
	case WATCH_TOLD:
		told_came(pe, m);
		return;
	case WATCH_WANTED:
		if (!pe->watch->why)
			watch_report(pe, WATCH_LOOK);
		break;
	}
	csd_msg_free(pe, head);
}

#define WATCH_ASTRAY "its sender cannot say this about quiescence"

static const char *watch_misfit(struct pe *pe, const struct cmi_msg *head)
{
	struct watch_msg *m = (struct watch_msg *)(uintptr_t)head;
	struct csd_told told = told_in(m);

	(void)pe;
	return m->kind != WATCH_TOLD || csd_told_fits(&told) ? NULL : WATCH_ASTRAY;
}

static const struct csd_shape watch_shape = {
	.least = sizeof(struct watch_msg), .always = CMI_F_SYSTEM, .may = CMI_F_EXPEDITED,
	.kind_at = offsetof(struct watch_msg, kind), .astray = WATCH_ASTRAY, .misfit = watch_misfit,
	.ways = { [WATCH_ASK] = CSD_DOWN, [WATCH_TELL] = CSD_DOWN, [WATCH_SUMS] = CSD_UP,
		  [WATCH_TOLD] = CSD_TO_ROOT },
};

/* ---- start and stop -------------------------------------------------------------------------- */

static int watch_register(struct node *node)
{
	node->watchdog = cmi_env_number("CK_WATCHDOG", -1, 0, 1000000);
	node->h_watch = csd_register(node, "csd.watch", watch_arrived);
	csd_own(node, node->h_watch);
	csd_expect(node, node->h_watch, &watch_shape, NULL);
	return 0;
}

static void watch_pe_start(struct pe *pe)
{
	if (!pe->node->watchdog)
		return;
	pe->watch = cmi_alloc_zero(1, sizeof *pe->watch, "the watchdog");
	if (pe->id == 0)
		look_ready(pe);
	if (uses_signals(pe->node))
		signals_pe_start(pe);
}

static void watch_pe_stop(struct pe *pe)
{
	if (!pe->watch)
		return;
	struct cmi_msg *m = atomic_exchange_explicit(&pe->watch->wanted, NULL, memory_order_acquire);

	if (m)
		csd_msg_free(pe, m);
	told_free(pe);
	if (signals_of(pe))
		signals_pe_stop(pe);
}

/* Signal handlers of other threads may have used it until now. */
static void watch_node_stop(struct node *node)
{
	signals_stop(node);
	for (int i = 0; i < node->job->my_n_pes; i++) {
		free(node->pes[i]->watch);
		free(signals_of(node->pes[i]));
	}
}

const struct csd_layer watch_layer = {
	.name = "the watchdog",
	.node_start = watch_register,
	.ready = signals_start,
	.pe_start = watch_pe_start,
	.pe_stop = watch_pe_stop,
	.node_stop = watch_node_stop,
	.nap = watch_nap,
	.exiting = watch_leaving,
	.obey = watch_obey,
};
