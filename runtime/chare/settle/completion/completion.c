/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.c: completion detection (Charm++'s CompletionDetector). It covers one activity among
 * others in a job, and ends when all producers of the activity are done and everything that they
 * produced has been consumed. Quiescence covers everything that the job does.
 *
 * Every PE counts, per detector, what its calls have reported: produced, consumed, producers done.
 * The counts only grow, from the detector's creation on and across detections, so there is no reset
 * that a call could overtake. The detector's root is the PE that made it; it adds the counts up in
 * waves over its tree (wave.h). The detection ends when two successive waves show this: in the
 * first, all producers were done; and the second counts as many produced as the first counted
 * consumed. Then nothing was under way at a moment between the two, no producer is left, and no
 * consumer can produce more.
 *
 * While nothing changes, nothing is sent. A PE that has answered a wave tells its parent once when
 * its answer no longer holds. The root then asks again, less and less often. It asks at once only
 * if the sums look complete.
 */
#include "../settle.h"
#include "../../core/shape.h"
#include "../../../image/image.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum completion_kind { COMPLETION_ASK, COMPLETION_SUM, COMPLETION_CHANGED, COMPLETION_START };

/** The counts. `of` is the array that the waves add up. */
struct sums {
	union {
		struct {
			uint64_t produced, consumed, done;
		};
		uint64_t of[WAVE_SUMS];
	};
};

struct completion_msg {
	struct cmi_msg head;
	uint64_t id;
	uint16_t kind, changed;
	int32_t prio;              /* ASK, START: the priority of the detection's messages */
	uint32_t seal;             /* between processes, because head.word may be a priority */
	struct sums sums;
};

struct completion_start {
	struct completion_msg m;   /* sums.done: producers */
	CkCallback started, all_produced, finished;
};

enum root_state { ROOT_RESTS, ROOT_TIMED, ROOT_ASKS };

/** State that only the root has. */
struct root {
	struct pe *pe;
	struct completion *c;
	enum root_state state;     /* RESTS: until a PE reports a change */
	bool running, said_produced;
	bool have_before;          /* `before` is of a wave in which all producers were done */
	struct sums before;
	uint64_t producers;        /* of all detections so far */
	struct wave_pause pause;
	uint64_t asked_ns;
	struct sums last;          /* of the last wave */
	CkCallback all_produced, finished;
};

/** One PE's state of a detector. */
struct completion {
	uint64_t id;
	struct sums own;           /* since the creation */
	bool asked;                /* a wave is here and not answered yet */
	bool changed;              /* a PE in this subtree changed its counts after this wave had read
				    * them */
	bool holds;                /* no change was reported since the answer to the last wave */
	struct wave wave;
	int32_t prio;
	struct root *root;
	struct completion *next;
};

/** All detectors of one PE, the last used first. */
struct completions {
	struct completion *first;
	uint32_t n_made;
};

/* ---- detectors ------------------------------------------------------------------------------ */

enum { H_COMPLETION };

static struct completions *completions_of(const struct pe *pe)
{
	return ck_state(pe, PART_COMPLETION);
}

static void completion_pe_stop(struct pe *pe)
{
	struct completions *all = completions_of(pe);

	while (all->first) {
		struct completion *c = all->first;

		all->first = c->next;
		free(c->root);
		free(c);
	}
}

/* The PE that made it, or the one that has taken its place in a job that was restarted. */
static int root_of_id(const struct pe *pe, uint64_t id)
{
	return (int)((id >> 32) % (uint64_t)pe->node->job->n_pes);
}

static struct completion *completion_add(struct pe *pe, uint64_t id)
{
	struct completion *c = cmi_alloc_zero(1, sizeof *c, "a completion detector");

	if (!(uint32_t)id || !csd_can_make(pe->node, id >> 32))
		csd_abort(pe, "a CkCompletion was used that CkCompletionCreate has not made");
	c->id = id;
	if (root_of_id(pe, id) == pe->id) {
		c->root = cmi_alloc_zero(1, sizeof *c->root, "a completion detector");
		*c->root = (struct root){ .pe = pe, .c = c };
	}
	c->next = completions_of(pe)->first;
	return completions_of(pe)->first = c;
}

static __attribute__((noinline)) struct completion *completion_find_slow(struct pe *pe, uint64_t id)
{
	struct completions *all = completions_of(pe);
	struct completion **p = &all->first, *c;

	while ((c = *p) && c->id != id)
		p = &c->next;
	if (!c)
		return completion_add(pe, id);
	*p = c->next;
	c->next = all->first;
	return all->first = c;
}

static inline struct completion *completion_find(struct pe *pe, uint64_t id)
{
	struct completion *c = completions_of(pe)->first;

	return CSD_LIKELY(c && c->id == id) ? c : completion_find_slow(pe, id);
}

CkCompletion CkCompletionCreate(void)
{
	struct pe *pe = ck_self();

	return (CkCompletion){ (uint64_t)pe->id << 32 | ++completions_of(pe)->n_made };
}

/* ---- messages -------------------------------------------------------------------------------- */

/* These messages count for quiescence, so that quiescence waits for the callbacks that they lead
 * to. */
static struct completion_msg *message(struct pe *pe, const struct completion *c,
				      enum completion_kind kind, size_t size)
{
	struct completion_msg *m = ck_msg_new(pe, PART_COMPLETION, H_COMPLETION, 0, size);

	if (c->prio) {
		m->head.flags = CMI_F_PRIO;
		m->head.prio = c->prio;
	}
	m->id = c->id;
	m->kind = (uint16_t)kind;
	m->changed = 0;
	m->prio = c->prio;
	m->sums = (struct sums){ 0 };
	return m;
}

/* ---- the root -------------------------------------------------------------------------------- */

static void completion_ask_all(struct root *r)
{
	struct completion_msg *m = message(r->pe, r->c, COMPLETION_ASK, sizeof *m);

	r->state = ROOT_ASKS;
	csd_send(r->pe, r->pe->id, &m->head);
}

/* Quiescence counts an armed timer as work under way. */
static void time_over(void *arg)
{
	struct root *r = arg;

	r->pe->n_processed++;
	completion_ask_all(r);
}

static void ask_later(struct root *r)
{
	r->state = ROOT_TIMED;
	r->pe->n_created++;
	wave_after(&r->pause, time_over, r);
}

/* After a pause the next wave may be the last, so it starts soon. */
static void root_changed(struct root *r)
{
	if (!r->running || r->state != ROOT_RESTS)
		return;
	if ((double)(csd_now_ns() - r->asked_ns) > WAVE_LONGEST_US * 2e3)
		wave_soon(&r->pause);
	ask_later(r);
}

static void fire_callback(struct root *r, const CkCallback *cb)
{
	callback_fire(r->pe, cb, CK_NOTYPE, NULL, 0, 0);
}

/* Abort if the sums can never become equal: two equal waves show that nothing is under way. */
static void check_sums(const struct root *r, const struct sums *s)
{
	if (s->done > r->producers)
		csd_abort(r->pe, "CkCompletionDone: %llu producers are done; CkCompletionStart was "
			  "told of %llu", (unsigned long long)s->done,
			  (unsigned long long)r->producers);
	if (s->consumed > s->produced && r->have_before &&
	    s->produced == r->before.produced && s->consumed == r->before.consumed)
		csd_abort(r->pe, "CkCompletionConsume: all producers are done and have produced "
			  "%llu; %llu was consumed", (unsigned long long)s->produced,
			  (unsigned long long)s->consumed);
}

/* The root has the sums of a whole wave. */
static void completion_wave_over(struct root *r, const struct sums *s, bool changed)
{
	bool all = s->done == r->producers;

	r->state = ROOT_RESTS;
	r->last = *s;
	check_sums(r, s);
	if (all && !r->said_produced) {
		r->said_produced = true;
		fire_callback(r, &r->all_produced);
	}
	if (r->have_before && s->produced == r->before.consumed) {
		r->running = false;
		fire_callback(r, &r->finished);
		return;
	}
	r->have_before = all;
	r->before = *s;
	if (all && s->consumed >= s->produced)
		completion_ask_all(r);
	else if (changed)
		ask_later(r);
}

/* ---- waves ----------------------------------------------------------------------------------- */

static void tell_parent(struct pe *pe, struct completion *c)
{
	if (c->root) {
		root_changed(c->root);
		return;
	}
	csd_send(pe, csd_tree_parent(pe, root_of_id(pe, c->id)),
		 &message(pe, c, COMPLETION_CHANGED, sizeof(struct completion_msg))->head);
}

/* The answer to the root is no longer valid. */
static void no_longer(struct pe *pe, struct completion *c)
{
	if (!c->holds)
		return;
	c->holds = false;
	tell_parent(pe, c);
}

/* When all children have answered, add this PE's current counts, and send the sums up. */
static void completion_maybe_answer(struct pe *pe, struct completion *c)
{
	if (!wave_is_in(pe, &c->wave, root_of_id(pe, c->id)))
		return;
	struct sums s = c->own;

	wave_add(&c->wave, s.of);
	c->asked = false;
	c->holds = !c->changed;
	if (c->root) {
		completion_wave_over(c->root, &s, c->changed);
		return;
	}
	struct completion_msg *m = message(pe, c, COMPLETION_SUM, sizeof *m);

	m->sums = s;
	m->changed = c->changed;
	csd_send(pe, csd_tree_parent(pe, root_of_id(pe, c->id)), &m->head);
}

static void completion_ask(struct pe *pe, struct completion *c, int32_t prio)
{
	int root = root_of_id(pe, c->id);

	c->prio = prio;
	c->asked = true;
	c->changed = false;
	wave_open(&c->wave, 0);
	if (c->root)
		c->root->asked_ns = csd_now_ns();
	for (int i = 0; i < csd_tree_n_children(pe, root); i++)
		csd_send(pe, csd_tree_child(pe, root, i),
			 &message(pe, c, COMPLETION_ASK, sizeof(struct completion_msg))->head);
	completion_maybe_answer(pe, c);
}

static void sum_arrived(struct pe *pe, struct completion *c, const struct completion_msg *m)
{
	wave_take(&c->wave, m->sums.of);
	c->changed = c->changed || m->changed;
	completion_maybe_answer(pe, c);
}

/* A child's answer is no longer valid. If ours is still to come, it will include that. */
static void child_changed(struct pe *pe, struct completion *c)
{
	if (c->asked)
		c->changed = true;
	else
		no_longer(pe, c);
}

static void completion_begin(struct pe *pe, struct completion *c, const struct completion_start *s)
{
	struct root *r = c->root;

	if (r->running)
		csd_abort(pe, "CkCompletionStart: a detection is running on this detector already; "
			  "start the next when the callback `finished` has come, or on another one");
	r->running = true;
	r->said_produced = r->have_before = false;
	r->producers += s->m.sums.done;
	wave_soon(&r->pause);
	r->all_produced = s->all_produced;
	r->finished = s->finished;
	c->prio = s->m.prio;
	fire_callback(r, &s->started);
	completion_ask_all(r);
}

static void completion_arrived(struct pe *pe, struct cmi_msg *head)
{
	const struct completion_msg *m = (const struct completion_msg *)head;
	struct completion *c = completion_find(pe, m->id);

	switch ((enum completion_kind)m->kind) {
	case COMPLETION_ASK:
		completion_ask(pe, c, m->prio);
		break;
	case COMPLETION_SUM:
		sum_arrived(pe, c, m);
		break;
	case COMPLETION_CHANGED:
		child_changed(pe, c);
		break;
	case COMPLETION_START:
		completion_begin(pe, c, (const struct completion_start *)head);
		break;
	}
	csd_msg_free(pe, head);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void check_number(struct pe *pe, const char *what, long n)
{
	if (CSD_UNLIKELY(n < 0))
		csd_abort(pe, "%s: %ld is not a count", what, n);
}

void CkCompletionStart(CkCompletion c, long n_producers, CkCallback started,
		       CkCallback all_produced, CkCallback finished, int prio)
{
	struct pe *pe = ck_self();

	check_number(pe, "CkCompletionStart", n_producers);
	struct completion *d = completion_find(pe, c.id);
	struct completion_start *s = (struct completion_start *)
		message(pe, d, COMPLETION_START, sizeof *s);

	s->m.head.flags = 0;
	s->m.prio = prio;
	s->m.sums.done = (uint64_t)n_producers;
	s->started = started;
	s->all_produced = all_produced;
	s->finished = finished;
	csd_send(pe, root_of_id(pe, d->id), &s->m.head);
}

void CkCompletionProduce(CkCompletion c, long n)
{
	struct pe *pe = ck_self();
	struct completion *d = completion_find(pe, c.id);

	check_number(pe, "CkCompletionProduce", n);
	d->own.produced += (uint64_t)n;
	no_longer(pe, d);
}

void CkCompletionConsume(CkCompletion c, long n)
{
	struct pe *pe = ck_self();
	struct completion *d = completion_find(pe, c.id);

	check_number(pe, "CkCompletionConsume", n);
	d->own.consumed += (uint64_t)n;
	no_longer(pe, d);
}

void CkCompletionDone(CkCompletion c)
{
	struct pe *pe = ck_self();
	struct completion *d = completion_find(pe, c.id);

	d->own.done++;
	no_longer(pe, d);
}

/* ---- for the watchdog ------------------------------------------------------------------------ */

static void completion_describe(struct pe *pe, struct csd_told *to)
{
	for (const struct completion *c = completions_of(pe)->first; c; c = c->next) {
		const struct root *r = c->root;

		if (!r || !r->running)
			continue;
		csd_tell(to, &(struct csd_wait){ .who = callback_thing(pe, &r->finished) },
			 "waits for completion detector %u of PE %d: of %llu producers %llu are done; "
			 "%llu produced, %llu consumed", (unsigned)c->id, (int)(c->id >> 32),
			 (unsigned long long)r->producers, (unsigned long long)r->last.done,
			 (unsigned long long)r->last.produced, (unsigned long long)r->last.consumed);
	}
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/** What a PE has counted; it belongs to the sum over all PEs, whatever their number is. */
struct completion_image {
	struct sums own;
	uint64_t producers;        /* of the root's PE, else 0 */
	uint64_t unused;
};
_Static_assert(sizeof(struct completion_image) % 16 == 0, "records are aligned");

/* The newest of a PE may not have been used yet. Its record keeps its number, and those of all
 * before it, from being given again. */
static void completion_write(struct pe *pe, struct image_out *out)
{
	const struct completions *all = completions_of(pe);

	if (all->n_made)
		completion_find(pe, (uint64_t)pe->id << 32 | all->n_made);
	for (const struct completion *c = all->first; c; c = c->next) {
		const struct image_name name = { IMAGE_DETECTOR, (uint32_t)pe->id, c->id, { 0, 0, 0 }, 0 };
		struct completion_image *to = out->add(out, &name, sizeof *to);

		if (to)
			*to = (struct completion_image){ .own = c->own,
							 .producers = c->root ? c->root->producers : 0 };
	}
}

/* The root of this job has all. */
static bool completion_is_mine(struct pe *pe, const struct image_name *name)
{
	if (name->coll >> 32 == (uint64_t)pe->id && (uint32_t)name->coll > completions_of(pe)->n_made)
		completions_of(pe)->n_made = (uint32_t)name->coll;
	return root_of_id(pe, name->coll) == pe->id;
}

static const char *completion_read(struct pe *pe, const struct image_name *name, const void *bytes,
				   size_t n)
{
	struct completion_image in;
	struct completion *c;

	if (n != sizeof in || !(uint32_t)name->coll || !csd_can_make(pe->node, name->coll >> 32))
		return "it is no detector's";
	memcpy(&in, bytes, sizeof in);
	c = completion_find(pe, name->coll);
	for (int i = 0; i < WAVE_SUMS; i++)
		c->own.of[i] += in.own.of[i];
	c->root->producers += in.producers;
	return NULL;
}

/* ---- the part -------------------------------------------------------------------------------- */

#define NO_DETECTOR "it names a detector that nobody can have made"

static const char *completion_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct completion_msg *c = (const struct completion_msg *)m;
	const struct completion_start *s = (const struct completion_start *)m;
	const int root = root_of_id(pe, c->id);
	bool fits = false, known = false;

	for (const struct completion *d = completions_of(pe)->first; d; d = d->next)
		known = known || d->id == c->id;
	if (c->id >> 32 == (uint64_t)pe->id && (uint32_t)c->id > completions_of(pe)->n_made)
		return NO_DETECTOR;
	switch ((enum completion_kind)c->kind) {
	case COMPLETION_ASK:
		fits = csd_tree_parent(pe, root) == m->src_pe;
		break;
	case COMPLETION_SUM:
	case COMPLETION_CHANGED:
		fits = known && csd_tree_parent_of(pe, m->src_pe, root) == pe->id;
		break;
	case COMPLETION_START:
		fits = pe->id == root && m->size >= sizeof *s && !shape_callback(pe, &s->started) &&
		       !shape_callback(pe, &s->all_produced) && !shape_callback(pe, &s->finished);
		break;
	}
	return fits ? NULL : "its sender cannot have sent it";
}

static const struct ck_handler handlers[] = {
	[H_COMPLETION] = { "ck.completion", completion_arrived, true,
			   .shape = { .least = sizeof(struct completion_msg), .may = CSD_F_QUEUEING,
				      .seal_at = offsetof(struct completion_msg, seal),
				      .id_at = offsetof(struct completion_msg, id), .nobody = NO_DETECTOR,
				      .misfit = completion_misfit } },
};

const struct ck_part completion_part = {
	.name = "completion",
	.number = PART_COMPLETION,
	.pe_bytes = sizeof(struct completions),
	.handlers = CK_LIST(handlers),
	.pe_stop = completion_pe_stop,
	.describe = completion_describe,
	.save = { .refuse = completion_describe, .write = completion_write,
		  .kinds = UINT32_C(1) << IMAGE_DETECTOR, .mine = completion_is_mine,
		  .read = completion_read },
};
