/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto.c: CK_LB=auto: when a step pays, and by which loads it goes. Whom it asks is in auto_ask.c.
 *
 * When. Each sync says what the next one will take, in two ways (enum forecast), and the sums of
 * the next one show how much of the imbalance that each of them said has come true. The better
 * forecast, times the part of it that comes true, is what a step would save. When that has added up
 * to the cost of a step, one is taken. So loads that drift are followed as often as pays, and
 * noise, of which nothing comes true, moves nothing. A step that has not saved its cost by the time
 * the next one is due makes that one wait.
 *
 * Dealing out. Cuts keep neighbours together, but every load that wanders crosses them. If steps
 * follow each other closely, or time is lost that no forecast sees, elements are dealt out to all
 * PEs, so that each gets its share of whatever comes. Neighbours that are no longer together may
 * cost more than that saves. So it is a trial: if the next syncs do not take less time, the
 * elements are brought together again, and the next trial comes later.
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
 * and this part of all time. */
static const double UNSAID = 16, UNSAID_PART = 0.05;
/* Dealt out once more sooner: neighbours are apart already. */
static const double UNSAID_AGAIN = 2, UNSAID_PART_AGAIN = 0.03;
/* Only where frequent steps remove as much: to deal elements out moves all of them. */
static const double MUCH = 0.14;
/* A trial has helped if syncs take at most this part of what was usual. */
static const double MUST = 0.97;
/* It costs much if they take more than this. */
static const double WORSE = 1.05;
/* A step has paid if this part of its cost was saved since. For a load that drifts steadily it is
 * just the cost. */
static const double PAID = 0.5;
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

static void work_learn(struct work *w, double seconds)
{
	w->n += w->n < USUAL;
	w->mean += (seconds - w->mean) / w->n;
}

static void learn(struct choice *ch, const struct sync_sums *s)
{
	work_learn(&ch->work[ch->apart], s->seconds);
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
	ch->back = !ch->again;
	ch->scattered = ch->again;
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

bool auto_may_deal(const struct choice *ch)
{
	return !ch->trial && !ch->back && ch->looked >= ch->bar;
}

void auto_deals(struct choice *ch, double before)
{
	ch->again = ch->scattered;
	ch->scattered = ch->deal = true;
	ch->trial = 1;
	ch->tried_sum = 0;
	ch->before = before;
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
static bool is_lost(const struct choice *ch, double steps, double part)
{
	const double failed = (double)ch->bar_length / BAR;

	return ch->n_unsaid >= UNSAID_LEAST && ch->unsaid >= steps * (1 + failed) * cost_of(ch) &&
	       ch->unsaid >= part * ch->unsaid_of;
}

static bool is_lost_unsaid(const struct choice *ch)
{
	if (!auto_may_deal(ch) || (ch->tried && ch->n_usual < USUAL_LEAST))
		return false;
	if (ch->scattered)
		return ch->since >= OFTEN && is_lost(ch, UNSAID_AGAIN, UNSAID_PART_AGAIN);
	return is_lost(ch, UNSAID, UNSAID_PART);
}

static bool is_often(const struct choice *ch)
{
	return auto_may_deal(ch) && !ch->scattered && ch->tried && ch->since <= OFTEN &&
	       ch->n_usual >= USUAL_LEAST && ch->before_step > MUCH;
}

/* When the next step is due, the last one is judged: if it has not paid, the next one waits for
 * twice as much. */
static void judge_step(struct choice *ch)
{
	if (ch->before_step > 0) {
		ch->patience = ch->gained >= PAID * cost_of(ch) ? 0 : ch->patience + 1;
		if (ch->patience > PATIENCE_MOST)
			ch->patience = PATIENCE_MOST;
	}
	ch->before_step = 0;
}

/* Whether what was lost has added up to the cost. */
static bool is_due(const struct choice *ch)
{
	return ch->owed >= cost_of(ch) * (1 << ch->patience);
}

/* What the PE with most takes longer than it would after a step. */
static double lost_by(const struct choice *ch, const struct sync_sums *s, enum forecast by)
{
	const struct sync_forecast *f = &s->by[by];

	return f->max - f->work / s->speed * (1 + ch->left);
}

/* Whether the forecast says that a step pays; *tolerated: it says that none is needed. */
static bool pays(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
		 bool *tolerated)
{
	const struct sync_forecast *f = &s->by[ch->by];
	const double imbalance = f->max / (f->work / s->speed) - 1, part = trust_part(ch);
	const double lost = lost_by(ch, s, ch->by), saved = part * lost;

	*tolerated = is_tolerated(b, ch, imbalance);
	ch->gained += ch->before_lost - lost_by(ch, s, AS_LAST);
	ch->settled |= *tolerated;
	ch->owed = *tolerated ? 0 : ch->owed + (saved > 0 ? saved : 0);
	add_unsaid(b, ch, s, !*tolerated && part >= TRUST_BLIND);
	if (*tolerated || part <= TRUST_LEAST || !is_due(ch))
		return false;
	judge_step(ch);
	if (!is_due(ch))
		return false;
	ch->before_step = imbalance;
	ch->before_lost = lost;
	ch->gained = 0;
	return true;
}

static void begin_step(struct choice *ch, bool unsaid)
{
	if (unsaid)
		ch->by = AS_MEAN;
	if (unsaid || is_often(ch))
		auto_deals(ch, ch->usual);
	else if (ch->since > CALM)
		ch->scattered = false;
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
	unsaid = !step && is_lost_unsaid(ch);
	step |= unsaid || ch->back;
	if (step)
		begin_step(ch, unsaid);
	else if (tolerated && pauses)
		begin_pause(ch);
	return step;
}

/* Before the first step elements touched their memory for the first time, which hid their later
 * load, so the second step need not wait. The first one's cost says little, too: PEs communicated
 * for the first time. One that deals all elements out, or brings them together again, moves more
 * than others. */
void auto_took(struct choice *ch, double seconds)
{
	if (!ch->deal && !ch->back)
		ch->cost = ch->step_cost = ch->tried ? seconds : 0;
	ch->deal = ch->back = false;
	ch->tried = true;
}
