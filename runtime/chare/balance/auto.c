/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto.c: CK_LB=auto: when a step pays, by which loads it goes, and whom it asks.
 *
 * When. Each sync says what the next one will take, in two ways (enum forecast), and the sums of
 * the next one show how much of the imbalance that each of them said has come true. The better
 * forecast, times the part of it that comes true, is what a step would save. When that has added up
 * to the cost of a step, one is taken. So loads that drift are followed as often as pays, and
 * noise,
 * of which nothing comes true, moves nothing.
 *
 * Whom. Cuts keep neighbours together, but every load that wanders crosses them. If steps follow
 * each other closely, or time is lost that no forecast sees, elements are dealt out to all PEs, so
 * that each gets its share of whatever comes. Neighbours that are no longer together may cost more
 * than that saves. So it is a trial: if the next syncs do not take less time, the elements are
 * brought together again, and the next trial comes later.
 */
#include "balance_int.h"

#include <math.h>

enum {
	/* While PEs are balanced the pauses get longer, up to this many syncs. Then measuring costs a
	 * ninth. A pause is at most a fourth of the syncs since the last step. */
	PAUSE_MOST = 8,
	PAUSE_PART = 4,
	OFTEN = 8,         /* steps that follow each other within so many syncs are too many */
	USUAL = 8,         /* the mean of so many syncs, */
	USUAL_LEAST = 2,   /* and at least of so many, is what is usual */
	/* Syncs of a trial after which it is judged: it may end soon if it costs much; and what seemed to
	 * help may have been chance. */
	TRIAL_SOON = 2,
	TRIAL = 4,
	TRIAL_LATE = 16,
	UNSAID_LEAST = 4,  /* fewer syncs that no forecast saw are chance */
	BAR = 16,          /* syncs after the first trial that failed */
	PATIENCE_MOST = 6, /* a step waits for 2^6 times its cost at most */
	CALM = 64          /* after so many without a step elements need not stay scattered */
};

/* The minimum cost of a step, in seconds, with its consequences: messages for each PE, and elements
 * that are in no cache. */
static const double COST_LEAST = 1e-4;
/* Of what a sync has shown, so much counts in the next one. */
static const double KEPT = 0.85;
/* The square of an imbalance that proves nothing: one percent. */
static const double NOISE = 1e-4;
/* A forecast of which less comes true is none; one of which less than this does is blind. */
static const double TRUST_LEAST = 0.1, TRUST_BLIND = 0.3;
/* Elements are dealt out when so many steps' costs were lost to imbalances that no forecast sees,
 * and
 * this part of all time. */
static const double UNSAID = 16, UNSAID_PART = 0.05;
/* Only where frequent steps remove as much: to deal elements out moves all of them. */
static const double MUCH = 0.14;
/* A trial has helped if syncs take at most this part of what was usual. */
static const double MUST = 0.97;
/* It costs much if they take more than this. */
static const double WORSE = 1.05;
/* No more than this part of the imbalance is left by a step that has helped. */
static const double HELPED = 0.75;
/* What a step could not remove is forgotten by and by. */
static const double LEFT_KEPT = 0.95, LEFT_MORE = 0.01;

static double cost_of(const struct choice *ch)
{
	return ch->cost > COST_LEAST ? ch->cost : COST_LEAST;
}

/* ---- forecasts ------------------------------------------------------------------------------- */

/* The covariance of what was said and what PEs took, and the variance of what was said, relative to
 * the mean, so that long syncs count no more than short ones. */
static void trust_learn(struct trust *t, const struct sync_sums *s, const struct sync_forecast *f)
{
	const double n = (double)s->pes, mean = s->seconds / n, said = f->sum / n;

	t->both = KEPT * t->both + (f->both / n - mean * said) / (mean * mean);
	t->square = KEPT * t->square + (f->square / n - said * said) / (mean * mean);
}

/* The imbalance that it has explained. A step removes what its forecast says, so that says nothing
 * more; if the other one does, it knows better. */
static double trust_explains(const struct trust *t)
{
	return t->both > 0 ? t->both * t->both / (t->square + NOISE) : 0;
}

/* Whether the mean does. */
static bool knows_better(const struct choice *ch)
{
	return trust_explains(&ch->trust[AS_MEAN]) > trust_explains(&ch->trust[AS_LAST]);
}

/* The part of what is said that comes true. Before anything was balanced, all of it: it may be new
 * elements. Afterwards nothing, until a second sync has shown it: other load on the machine makes a
 * PE late once. */
static double trust_part(const struct choice *ch)
{
	const struct trust *t = &ch->trust[ch->by];
	const double part = (t->both + (ch->settled ? 0 : NOISE)) / (t->square + NOISE);

	return part > 1 ? 1 : part;
}

static void learn(struct choice *ch, const struct sync_sums *s)
{
	for (int k = 0; k < N_FORECASTS; k++)
		trust_learn(&ch->trust[k], s, &s->by[k]);
	ch->by = knows_better(ch) ? AS_MEAN : AS_LAST;
	ch->left *= LEFT_KEPT;
	ch->looked++;
	ch->since++;
}

/* ---- cuts, or scattered ---------------------------------------------------------------------- */

static bool trial_has_failed(const struct choice *ch)
{
	const double took = ch->tried_sum / ch->trial;

	if (ch->trial < TRIAL)
		return ch->trial >= TRIAL_SOON && took > ch->before * WORSE;
	return (ch->trial == TRIAL || ch->trial == TRIAL_LATE) && took > ch->before * MUST;
}

static void trial_fails(struct choice *ch)
{
	ch->trial = 0;
	ch->bar_length = ch->bar_length ? 2 * ch->bar_length : BAR;
	ch->bar = ch->looked + ch->bar_length;
	ch->scattered = false;
	ch->back = true;
}

static void trial_goes_on(struct choice *ch)
{
	if (ch->trial++ < TRIAL_LATE)
		return;
	ch->trial = ch->bar_length = 0;
}

/* max: seconds of the PE with most. */
static void trial_learn(struct choice *ch, double max)
{
	const double took = max + ch->step_cost;

	ch->step_cost = 0;
	if (ch->tried) {
		ch->n_usual++;
		ch->usual += (took - ch->usual) / (ch->n_usual < USUAL ? ch->n_usual : USUAL);
	}
	if (!ch->trial)
		return;
	ch->tried_sum += took;
	(trial_has_failed(ch) ? trial_fails : trial_goes_on)(ch);
}

static bool trial_may_begin(const struct choice *ch)
{
	return !ch->scattered && !ch->trial && !ch->back && ch->looked >= ch->bar;
}

static void trial_begins(struct choice *ch)
{
	ch->scattered = ch->deal = true;
	ch->trial = 1;
	ch->tried_sum = 0;
	ch->before = ch->usual;
	ch->n_usual = 0;
	ch->unsaid = ch->unsaid_of = 0;
	ch->n_unsaid = 0;
}

/* ---- when a step pays ------------------------------------------------------------------------ */

static bool is_tolerated(const struct balance_node *b, const struct choice *ch, double imbalance)
{
	return imbalance <= b->tolerance || imbalance <= ch->left + LEFT_MORE;
}

/* What this sync has lost, if the forecasts did not see that it would. */
static void add_unsaid(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
		       bool seen)
{
	const double level = s->seconds / (double)s->pes, max = s->by[AS_LAST].max;

	ch->unsaid_of += level;
	if (seen || is_tolerated(b, ch, max / level - 1))
		return;
	ch->unsaid += max - level * (1 + ch->left);
	ch->n_unsaid++;
}

/* Each trial that fails doubles what the next one needs. */
static bool is_lost_unsaid(const struct choice *ch)
{
	const double failed = (double)ch->bar_length / BAR;

	return (!ch->tried || ch->n_usual >= USUAL_LEAST) && ch->n_unsaid >= UNSAID_LEAST &&
	       ch->unsaid >= UNSAID * (1 + failed) * cost_of(ch) &&
	       ch->unsaid >= UNSAID_PART * ch->unsaid_of;
}

static bool is_often(const struct choice *ch)
{
	return ch->tried && ch->since <= OFTEN && ch->n_usual >= USUAL_LEAST &&
	       ch->before_step > MUCH;
}

/* Judge the last step by the sync after it: it has left three quarters of the imbalance or less, or
 * no more than is tolerated; or it has not helped, and the next one waits for twice as much. */
static void judge_step(struct choice *ch, double imbalance, bool tolerated)
{
	if (ch->before_step > 0) {
		ch->patience = tolerated || imbalance <= HELPED * ch->before_step ? 0 : ch->patience + 1;
		if (ch->patience > PATIENCE_MOST)
			ch->patience = PATIENCE_MOST;
	}
	ch->before_step = 0;
}

/* Whether the forecast says that a step pays; *tolerated: it says that none is needed. */
static bool pays(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
		 bool *tolerated)
{
	const struct sync_forecast *f = &s->by[ch->by];
	const double level = f->work / s->speed, part = trust_part(ch);
	const double saved = part * (f->max - level * (1 + ch->left)), imbalance = f->max / level - 1;

	*tolerated = is_tolerated(b, ch, imbalance);
	judge_step(ch, imbalance, *tolerated);
	ch->settled |= *tolerated;
	ch->owed = *tolerated ? 0 : ch->owed + (saved > 0 ? saved : 0);
	add_unsaid(b, ch, s, !*tolerated && part >= TRUST_BLIND);
	if (*tolerated || part <= TRUST_LEAST || ch->owed < cost_of(ch) * (1 << ch->patience))
		return false;
	ch->before_step = imbalance;
	return true;
}

static void begin_step(struct choice *ch, bool unsaid)
{
	if (unsaid)
		ch->by = AS_MEAN;
	if (trial_may_begin(ch) && (unsaid || is_often(ch)))
		trial_begins(ch);
	else if (ch->since > CALM)
		ch->scattered = false;
	ch->back = false;
	ch->owed = 0;
	ch->since = 0;
}

static void begin_pause(struct choice *ch)
{
	ch->pause = ch->pause ? 2 * ch->pause : 1;
	if (ch->pause > PAUSE_MOST)
		ch->pause = PAUSE_MOST;
	if (ch->pause > ch->since / PAUSE_PART && ch->tried)
		ch->pause = ch->since / PAUSE_PART;
	ch->rest = ch->pause;
}

bool auto_step(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
	       bool pauses)
{
	bool tolerated, step, unsaid;

	ch->worked += s->by[AS_LAST].max;
	if (ch->worked < COST_LEAST || s->seconds <= 0)
		return false; /* nothing was done yet, or in this sync */
	learn(ch, s);
	trial_learn(ch, s->by[AS_LAST].max);
	step = pays(b, ch, s, &tolerated);
	unsaid = !step && trial_may_begin(ch) && is_lost_unsaid(ch);
	step |= unsaid || ch->back;
	if (step)
		begin_step(ch, unsaid);
	else if (tolerated && pauses)
		begin_pause(ch);
	return step;
}

/* Before the first step elements touched their memory for the first time, which hid their later
 * load, so the second step need not wait. The first one's cost says little, too: PEs communicated
 * for the first time. One that deals all elements out is not repeated. */
void auto_took(struct choice *ch, double seconds)
{
	if (!ch->deal) {
		ch->cost = ch->tried ? seconds : 0;
		ch->step_cost = seconds;
	}
	ch->deal = false;
	ch->tried = true;
}

/* ---- who is asked ---------------------------------------------------------------------------- */

/* From the cheapest on: cuts cost nothing later, refine moves least, greedy balances best. Where
 * elements are scattered cuts would bring them together. */
static const char *const candidates[] = { "cuts", "refine", "greedy" };
enum { REFINE = 1, GREEDY, N_CANDIDATES };
static const double AS_GOOD = 1.02;
/* Strategies may use up the tolerance to move less. With half of it, the other half is left for
 * changes until the next step. */
static const double FINER = 0.5;

/* The acceptable time of the longest PE: what is tolerated, or nearly the optimum. */
static double enough(const CkLBStats *s, double best)
{
	struct lb_quality now;
	double tolerated;

	lb_quality(s, NULL, &now);
	tolerated = now.fair * (1 + s->tolerance);
	return tolerated > best * AS_GOOD ? tolerated : best * AS_GOOD;
}

static int first_candidate(const struct choice *ch, bool extents)
{
	if (ch->deal)
		return GREEDY;
	return ch->scattered || !extents ? REFINE : 0;
}

static void see_what_is_left(struct choice *ch, const CkLBStats *s, const int32_t *to)
{
	struct lb_quality q;

	lb_quality(s, to, &q);
	ch->left = q.fair > 0 ? q.max / q.fair - 1 : 0;
}

int auto_answer(const struct lb_table *t, struct choice *ch, const CkLBStats *s, bool extents,
		int32_t *to, size_t *which_p, const struct lb_strategy **st_p)
{
	const int first = first_candidate(ch, extents);
	double max[N_CANDIDATES], best = HUGE_VAL;
	CkLBStats finer = *s;
	struct lb_quality q;
	int i = first, err;

	finer.tolerance *= FINER;
	for (int k = first; k < N_CANDIDATES; k++) {
		max[k] = HUGE_VAL;
		if (lb_strategy_run(lb_strategy_find(t, candidates[k]), &finer, to, which_p))
			continue;
		lb_quality(s, to, &q);
		max[k] = q.max;
		best = q.max < best ? q.max : best;
	}
	while (i < N_CANDIDATES - 1 && max[i] > enough(s, best))
		i++;
	*st_p = lb_strategy_find(t, candidates[i]);
	err = lb_strategy_run(*st_p, &finer, to, which_p);
	if (!err)
		see_what_is_left(ch, s, to);
	return err;
}
