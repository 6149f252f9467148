/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_auto.c: CK_LB=auto beside the fixed strategies, on loads that stay, drift, jump, repeat and
 * are noise.
 *
 * Nothing runs: loads are functions of element and sync, and a sync takes what its PE with most
 * takes. A step costs 80 us, 0.1 us an element, and 2 us a move. An element whose neighbours live
 * on another PE takes longer, if the case says so. So each time is the same in every run, and auto
 * must be nearly as good as the best fixed choice, which differs from case to case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../runtime/chare/balance/balance_int.h"

enum { SYNCS = 150,
       PES_MOST = 16,
       ELEMENTS_MOST = 512 };
static const double SYNC = 30e-6, STEP = 80e-6, EACH = 0.1e-6, MOVE = 2e-6, TWITCH = 0.02;

struct load {
	const char *name;
	double (*of)(const struct load *l, int i, int sync, int n); /* relative to the mean */
	double x;
};
struct job {
	const struct load *load;
	int pes, n;
	double mean;      /* seconds of an element */
	double neighbour; /* how much longer an element takes whose two neighbours are elsewhere */
};

/* ---- loads
 * ------------------------------------------------------------------------------------------------
 * */

static double drawn(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9E3779B97F4A7C15u + b * 0xC2B2AE3D27D4EB4Fu + 1;

	x = (x ^ x >> 31) * 0xBF58476D1CE4E5B9u;
	x = (x ^ x >> 29) * 0x94D049BB133111EBu;
	return (double)((x ^ x >> 32) >> 11) / 9007199254740992.0;
}

/* A quarter of the elements, from `begin` on, has five times as much as the others. */
static double quarter(int i, int begin, int n)
{
	return (i + n - begin % n) % n < n / 4 ? 2.5 : 0.5;
}

static double stays(const struct load *l, int i, int sync, int n)
{
	(void)sync;
	return i < n / 2 ? 1 - l->x : 1 + l->x;
}
static double drifts(const struct load *l, int i, int sync, int n)
{
	return quarter(i, (int)(sync * l->x * n), n);
}
static double repeats(const struct load *l, int i, int sync, int n)
{
	return quarter(i, sync % (int)l->x * n / (int)l->x, n);
}
static double jumps(const struct load *l, int i, int sync, int n)
{
	(void)n;
	return drawn((uint64_t)i, (uint64_t)(sync / (int)l->x)) < 0.25 ? 2.5 : 0.5;
}
static double noise(const struct load *l, int i, int sync, int n)
{
	(void)n;
	return 1 - l->x + 2 * l->x * drawn((uint64_t)i, (uint64_t)sync + 1000);
}
/* One element at a time, and never the same. */
static double hops(const struct load *l, int i, int sync, int n)
{
	return i == (int)(drawn(7, (uint64_t)sync) * n) ? l->x : 1;
}
static double grows(const struct load *l, int i, int sync, int n)
{
	return i < n / 8 ? 1 + l->x * sync : 1;
}

static const struct load loads[] = {
	{ "the same", stays, 0 },
	{ "uneven", stays, 0.5 },
	{ "drifts", drifts, 0.005 },
	{ "drifts", drifts, 0.02 },
	{ "drifts", drifts, 0.05 },
	{ "jumps", jumps, 5 },
	{ "jumps", jumps, 20 },
	{ "jumps", jumps, 60 },
	{ "repeats", repeats, 2 },
	{ "repeats", repeats, 3 },
	{ "repeats", repeats, 4 },
	{ "repeats", repeats, 8 },
	{ "noise", noise, 0.2 },
	{ "noise", noise, 0.5 },
	{ "noise", noise, 1 },
	{ "hops", hops, 5 },
	{ "grows", grows, 0.01 },
};
enum { N_LOADS = sizeof loads / sizeof *loads };

/* ---- a job
 * ------------------------------------------------------------------------------------------------
 * */

struct world {
	const struct job *job;
	CkLBElement element[ELEMENTS_MOST];
	struct past past[ELEMENTS_MOST];
	double now[ELEMENTS_MOST];
	bool measured;
};

static int elsewhere(const struct world *w, int i)
{
	const int pe = w->element[i].pe;

	return (i && w->element[i - 1].pe != pe) + (i + 1 < w->job->n && w->element[i + 1].pe != pe);
}

/* Returns what the PE with most takes. */
static double work(struct world *w, int sync)
{
	const struct job *j = w->job;
	double pe[PES_MOST] = { 0 }, most = 0;

	for (int i = 0; i < j->n; i++) {
		const double x = j->mean * j->load->of(j->load, i, sync, j->n) *
				 (1 + j->neighbour * elsewhere(w, i) / 2) *
				 (1 + TWITCH * (drawn((uint64_t)i + 3000, (uint64_t)sync) - 0.5));

		w->now[i] += w->measured ? x : 0;
		pe[w->element[i].pe] += x;
		most = pe[w->element[i].pe] > most ? pe[w->element[i].pe] : most;
	}
	return most;
}

static void add_pe(const struct world *w, int pe, struct sync_sums *s)
{
	double said[N_FORECASTS] = { 0 }, says[N_FORECASTS] = { 0 };

	for (int i = 0; i < w->job->n; i++) {
		struct past next = w->past[i];

		if (w->element[i].pe != pe)
			continue;
		past_learn(&next, w->now[i]);
		for (int k = 0; k < N_FORECASTS; k++) {
			said[k] += (double)w->past[i].says[k];
			says[k] += (double)next.says[k];
		}
	}
	s->seconds += says[AS_LAST];
	for (int k = 0; k < N_FORECASTS; k++) {
		struct sync_forecast *f = &s->by[k];

		f->sum += said[k];
		f->square += said[k] * said[k];
		f->both += said[k] * says[AS_LAST];
		f->work += says[k];
		f->max = says[k] > f->max ? says[k] : f->max;
	}
}

static bool step_pays(const struct world *w, const struct balance_node *b, struct choice *ch)
{
	struct sync_sums s = { .pes = (uint64_t)w->job->pes, .speed = w->job->pes };

	for (int pe = 0; pe < w->job->pes; pe++)
		add_pe(w, pe, &s);
	return choose_step(b, ch, &s, true);
}

/* Returns its seconds. `strategy` is NULL for auto. */
static double step(struct world *w, const char *strategy, struct choice *ch)
{
	static const int32_t node_of[PES_MOST] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const float background[PES_MOST];
	const int n = w->job->n, pes = w->job->pes;
	const struct lb_strategy *st;
	int32_t to[ELEMENTS_MOST];
	float speed[PES_MOST];
	CkLBStats s = {
		.n_pes = pes, .n_nodes = pes, .node_of = node_of, .background = background,
		.speed = speed, .n = (size_t)n, .element = w->element, .tolerance = 0.05
	};
	double took = STEP + n * EACH;
	size_t which;

	for (int pe = 0; pe < pes; pe++)
		speed[pe] = 1;
	for (int i = 0; i < n; i++) {
		past_learn(&w->past[i], w->now[i]);
		w->element[i].seconds = w->past[i].says[ch->by];
		to[i] = w->element[i].pe;
	}
	if (strategy)
		assert_int_equal(lb_strategy_run(lb_strategy_find(NULL, strategy), &s, to, &which), 0);
	else
		assert_int_equal(auto_answer(NULL, ch, &s, true, to, &which, &st), 0);
	for (int i = 0; i < n; i++) {
		took += to[i] == w->element[i].pe ? 0 : MOVE;
		w->element[i].pe = to[i];
	}
	auto_took(ch, took);
	return took;
}

static void measure(struct world *w, enum measuring how)
{
	for (int i = 0; i < w->job->n && how != MEASURE_ON; i++) {
		if (how != MEASURE_ANEW)
			past_learn(&w->past[i], w->now[i]);
		w->now[i] = 0;
	}
	w->measured = how != MEASURE_OFF && (w->measured || how != MEASURE_ON);
}

/* The mean seconds of a sync. */
static double run(const struct job *j, const char *strategy)
{
	const struct balance_node b = { .automatic = !strategy, .tolerance = 0.05, .period = 1 };
	const bool off = strategy && strcmp(strategy, "off") == 0;
	struct choice ch = { 0 };
	struct world *w = calloc(1, sizeof *w);
	double took = 0;

	assert_non_null(w);
	w->job = j;
	w->measured = true;
	for (int i = 0; i < j->n; i++)
		w->element[i] = (CkLBElement){ .index = { i },
					       .position = { (float)i },
					       .pe = i * j->pes / j->n };
	for (int sync = 0; sync < SYNCS; sync++) {
		enum measuring how = MEASURE_ANEW;
		bool looks;

		took += work(w, sync) + SYNC;
		looks = !off && choose_looks(&b, &ch, (uint32_t)sync);
		if (looks && step_pays(w, &b, &ch))
			took += step(w, strategy, &ch);
		else
			how = choose_measuring(&ch, looks);
		measure(w, how);
	}
	free(w);
	return took / SYNCS;
}

/* Of auto, over the best fixed choice. */
static double ratio(const struct job *j)
{
	static const char *const fixed[] = { "off", "cuts", "refine", "greedy" };
	double best = run(j, fixed[0]);

	for (int k = 1; k < 4; k++) {
		const double t = run(j, fixed[k]);

		best = t < best ? t : best;
	}
	return run(j, NULL) / best;
}

/* ---- what is promised
 * ------------------------------------------------------------------------------------- */

/* Returns the mean ratio; each must be at most `most`. */
static double all_loads(int pes, int n, double mean, double neighbour, double most)
{
	double sum = 0;

	for (int k = 0; k < N_LOADS; k++) {
		const struct job j = { &loads[k], pes, n, mean, neighbour };
		const double r = ratio(&j);

		if (r > most)
			fail_msg("%s (%g), %d PEs, %d elements of %g us, neighbours %g: %.3f of the best",
				 j.load->name, j.load->x, pes, n, mean * 1e6, neighbour, r);
		sum += r;
	}
	return sum / N_LOADS;
}

static void nearly_as_good_as_the_best(void **state)
{
	(void)state;
	assert_true(all_loads(2, 64, 200e-6, 0, 1.035) < 1.01);
	assert_true(all_loads(2, 512, 50e-6, 0, 1.04) < 1.02);
	assert_true(all_loads(16, 512, 50e-6, 0, 1.045) < 0.98);
}

/* A step costs 4 % of a sync, so learning what repeats does not pay for itself as soon. */
static void also_where_steps_are_dear(void **state)
{
	(void)state;
	assert_true(all_loads(2, 64, 50e-6, 0, 1.065) < 1.02);
}

/* Elements whose neighbours are elsewhere take longer: dealing all out does not pay, or not as
 * much. */
static void also_where_neighbours_count(void **state)
{
	(void)state;
	assert_true(all_loads(2, 64, 200e-6, 0.2, 1.035) < 1.01);
	assert_true(all_loads(16, 512, 50e-6, 0.2, 1.045) < 1);
}

/* Eight elements of a PE cannot be cut evenly, but greedy puts all neighbours apart. */
static void also_where_few_neighbours_count(void **state)
{
	(void)state;
	assert_true(all_loads(8, 64, 400e-6, 0.3, 1.14) < 1.01);
}

/* A step takes longer than a sync, so that each one that does not pay is a hundredth of the job. */
static void also_where_a_sync_is_shorter_than_a_step(void **state)
{
	(void)state;
	assert_true(all_loads(16, 64, 10e-6, 0, 1.16) < 0.88);
	assert_true(all_loads(16, 512, 5e-6, 0, 1.12) < 0.9);
	assert_true(all_loads(16, 512, 1.25e-6, 0, 1.115) < 0.92);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearly_as_good_as_the_best),
		cmocka_unit_test(also_where_steps_are_dear),
		cmocka_unit_test(also_where_neighbours_count),
		cmocka_unit_test(also_where_few_neighbours_count),
		cmocka_unit_test(also_where_a_sync_is_shorter_than_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
