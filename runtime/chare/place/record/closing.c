/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing.c: detects that inserting is over. Only then may a call of a missing element be reported
 * as an error; until then its insertion may be under way. Each PE counts the inserts that it sent
 * and carried out, and the phases that it began (X_beginInserting, X_ckNewEmpty) and ended
 * (X_doneInserting). PE 0 collects the sums in waves (wave.h). When two successive waves bring
 * equal sums, no PE's counts changed between its two answers, so the sums describe a single moment.
 * Inserting is over if at that moment all inserts had been carried out and no phase was open.
 *
 * A wave starts when a PE ends a phase, or when a call finds no element although inserting was
 * believed to be over.
 */
#include "place_record.h"
#include "../../core/shape.h"
#include "../../../machine/base/cmi_alloc.h"

#include <string.h>

struct closing {
	struct pe *pe;
	uint64_t id;
	uint64_t mine[WAVE_SUMS];  /* by enum closing_what */
	bool open;                /* as far as this PE knows */
	bool asked;               /* this PE asked PE 0, which has not answered yet */
	struct wave wave;
	/* PE 0 only. */
	bool running, again, have_before;
	uint64_t before[WAVE_SUMS];
	struct wave_pause pause;
};

static struct closing *closing_of(struct pe *pe, struct collection *c)
{
	struct closing *x = place_of(c)->closing;

	if (x)
		return x;
	x = place_of(c)->closing = cmi_alloc_zero(1, sizeof *x, "a collection");
	x->pe = pe;
	x->id = c->id;
	return x;
}

void closing_count(struct pe *pe, struct collection *c, enum closing_what what)
{
	closing_of(pe, c)->mine[what]++;
}

struct place_inserts place_inserts_of(const struct collection *c)
{
	const struct closing *x = place_of(c)->closing;

	return (struct place_inserts){ x ? x->mine[INSERTS_SENT] : 0, x ? x->mine[INSERTS_DONE] : 0,
				       place_of(c)->n_makes };
}

void closing_open(struct pe *pe, struct collection *c)
{
	closing_of(pe, c)->open = true;
}

bool closing_is_open(const struct collection *c)
{
	return place_of(c)->closing && place_of(c)->closing->open;
}

uint32_t closing_wave(const struct collection *c)
{
	return place_of(c)->closing ? place_of(c)->closing->wave.no : 0;
}

static bool is_wave(uint32_t kind) { return kind == WHERE_WAVE || kind == WHERE_SUM; }

/* Quiescence does not count these messages. */
static void send_closing(struct pe *pe, int dst_pe, struct where_msg what)
{
	if (is_wave(what.kind))
		csd_leave_out(pe, dst_pe, sizeof what);
	where_send(pe, dst_pe, H_CLOSING, CMI_F_SYSTEM, what);
}

static void closing_check(struct pe *pe, struct collection *c)
{
	struct closing *x = closing_of(pe, c);

	x->asked = true;
	send_closing(pe, 0, (struct where_msg){ .coll = c->id, .kind = WHERE_CHECK });
}

/* A call waits for an element that does not exist. */
void closing_missed(struct pe *pe, struct collection *c)
{
	struct closing *x = closing_of(pe, c);

	if (!x->open && !x->asked)
		closing_check(pe, c);
}

static void closing_start_wave(void *arg)
{
	struct closing *x = arg;

	send_closing(x->pe, 0, (struct where_msg){ .coll = x->id, .kind = WHERE_WAVE,
		     .index = { { (int32_t)(x->wave.no + 1), 0, 0 } } });
}

static void closing_pause_over(void *arg)
{
	csd_chatter_timer(((struct closing *)arg)->pe, -1);
	closing_start_wave(arg);
}

static void verdict(struct closing *x, bool over)
{
	send_closing(x->pe, 0, (struct where_msg){ .coll = x->id, .kind = WHERE_VERDICT,
		     .index = { { (int32_t)x->wave.no, over, 0 } } });
	x->running = false;
	x->have_before = false;
	if (x->again) {
		x->again = false;
		x->running = true;
		closing_start_wave(x);
	}
}

/* PE 0 has the sums of a whole wave. */
static void closing_wave_over(struct closing *x, const uint64_t sum[WAVE_SUMS])
{
	bool same = x->have_before && !memcmp(x->before, sum, sizeof x->before);
	bool settled = sum[INSERTS_SENT] == sum[INSERTS_DONE];

	if (sum[PHASES_DONE] < sum[PHASES_BEGUN]) {
		verdict(x, false);
		return;
	}
	if (same && settled) {
		verdict(x, true);
		return;
	}
	memcpy(x->before, sum, sizeof x->before);
	x->have_before = true;
	if (settled) {
		closing_start_wave(x);
		return;
	}
	csd_chatter_timer(x->pe, 1);
	wave_after(&x->pause, closing_pause_over, x);
}

static void closing_maybe_answer(struct pe *pe, struct closing *x)
{
	struct where_msg w = { .coll = x->id, .kind = WHERE_SUM };

	if (!wave_is_in(pe, &x->wave, 0))
		return;
	memcpy(w.count, x->mine, sizeof w.count);
	wave_add(&x->wave, w.count);
	if (pe->id == 0)
		closing_wave_over(x, w.count);
	else
		send_closing(pe, csd_tree_parent(pe, 0), w);
}

static void closing_tell_children(struct pe *pe, const struct where_msg *w)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		send_closing(pe, csd_tree_child(pe, 0, i), *w);
}

/* Inserting is over: a call that was already waiting before that wave waits in vain. */

_Noreturn static void overdue(struct pe *pe, const struct away *a)
{
	const struct cmi_msg *m = a->waiting.head;
	char name[128];

	describe_waiting(pe, a->coll, m, name, sizeof name);
	csd_abort(pe, "PE %d called %s on %s, which does not exist, and inserting is over; insert it, or "
		  "call %s_beginInserting before", m->src_pe, name,
		  element_thing(a->coll->type, a->coll->id, a->index).name, a->coll->type->name);
}

static void check_overdue(struct pe *pe, struct collection *c, uint32_t wave)
{
	const struct idmap *away = &dynamic_get(c)->away;
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(away, &i)); i++) {
		const struct away *a = (const struct away *)s->value;

		if (a->pe >= 0 || !a->waiting.head)
			continue;
		if ((int32_t)(a->since - wave) < 0)
			overdue(pe, a);
		closing_missed(pe, c);
	}
}

static void closing_act(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	struct closing *x = closing_of(pe, c);

	if (is_wave(w->kind))
		csd_chatter(pe, &w->head);
	switch (w->kind) {
	case WHERE_CHECK:
		wave_soon(&x->pause);
		x->again = x->running;
		if (!x->running) {
			x->running = true;
			closing_start_wave(x);
		}
		break;
	case WHERE_WAVE:
		wave_open(&x->wave, (uint32_t)w->index.v[0]);
		closing_tell_children(pe, w);
		closing_maybe_answer(pe, x);
		break;
	case WHERE_SUM:
		wave_take(&x->wave, w->count);
		closing_maybe_answer(pe, x);
		break;
	case WHERE_VERDICT:
		closing_tell_children(pe, w);
		x->open = !w->index.v[1];
		x->asked = false;
		/* Two waves agreed; the previous one was the first of the two. */
		if (!x->open && c->constructed)
			check_overdue(pe, c, (uint32_t)w->index.v[0] - 1);
		break;
	}
}

void closing_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct where_msg w = *(const struct where_msg *)m;

	csd_msg_free(pe, m);
	closing_act(pe, coll_get(pe, w.coll), &w);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static bool any_of(const uint64_t sums[WAVE_SUMS])
{
	uint64_t any = 0;

	for (int i = 0; i < WAVE_SUMS; i++)
		any |= sums[i];
	return any;
}

/* All PEs', also of one that has only carried out what another has asked for:
 * else the sums of the job that starts again would never agree. */
bool closing_sums(const struct collection *c, uint64_t sums[WAVE_SUMS])
{
	const struct closing *x = place_of(c)->closing;

	if (x)
		memcpy(sums, x->mine, sizeof x->mine);
	return x && (x->open || any_of(x->mine));
}

void closing_add(struct pe *pe, struct collection *c, const uint64_t sums[WAVE_SUMS])
{
	for (int i = 0; i < WAVE_SUMS; i++)
		closing_of(pe, c)->mine[i] += sums[i];
}

/* Where inserting was about to be over, a wave was under way. */
void closing_goes_on(struct pe *pe, struct collection *c)
{
	const struct closing *x = place_of(c)->closing;

	if (pe->id == 0 && x && x->open && x->mine[PHASES_DONE] >= x->mine[PHASES_BEGUN])
		closing_check(pe, c);
}

/* ---- for programs ---------------------------------------------------------------------------- */

void CkGen_beginInserting(CkProxy p)
{
	struct pe *pe = ck_self();
	struct collection *c = coll_get(pe, p.id);

	closing_count(pe, c, PHASES_BEGUN);
	closing_open(pe, c);
}

void CkGen_doneInserting(CkProxy p)
{
	struct pe *pe = ck_self();
	struct collection *c = coll_get(pe, p.id);

	closing_count(pe, c, PHASES_DONE);
	closing_check(pe, c);
}
