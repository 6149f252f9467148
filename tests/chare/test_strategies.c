/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_strategies.c: what every strategy keeps to, on many statistics made from seeds; and what each one is for, on
 * small ones made by hand. There are no PEs here: strategies are functions.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "check_skip.h"
#include "lb_make.h"
#include "../../runtime/strategies/loads/lb_loads.h"

enum { SEEDS = 96 };

/* dlopen of the strategies goes through here, so that a library can be missing. */
static bool hide;
void *__real_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags)
{
	return hide && strstr(file, "lib") ? NULL : __real_dlopen(file, flags);
}

static bool is_there(const struct lb_strategy *st) { return !st->missing || !st->missing(); }

/* Those that are to balance. */
static bool balances(const struct lb_strategy *st) { return strcmp(st->name, "rotate") && strcmp(st->name, "random"); }

/* Those that may use the tolerance up although the present distribution is better. */
static bool is_cut(const struct lb_strategy *st)
{
	return !strcmp(st->name, "cuts") || !strcmp(st->name, "sfc") || st->wants & CK_LB_EDGES;
}

static void run(const char *name, struct made *m)
{
	const struct lb_strategy *st = lb_strategy_find(NULL, name);
	size_t which = 0;

	assert_non_null(st);
	assert_int_equal(lb_strategy_run(st, &m->s, m->to, &which), 0);
}

static struct lb_quality quality(const struct made *m)
{
	struct lb_quality q;

	lb_quality(&m->s, m->to, &q);
	return q;
}

/* For each strategy that can work here. */
#define EACH(st) \
	for (int i_ = 0; i_ < 32; i_++) \
		for (const struct lb_strategy *st = lb_strategy_at(NULL, i_); st && is_there(st); st = NULL)

/* ---- all of them ------------------------------------------------------------------------------- */

static void check_rules(const struct lb_strategy *st, struct made *m)
{
	struct lb_quality before, after;
	int32_t *again = calloc(m->s.n + 1, sizeof *again);
	size_t which = 0;

	lb_quality(&m->s, NULL, &before);
	assert_int_equal(lb_strategy_run(st, &m->s, m->to, &which), 0);
	assert_int_equal(lb_strategy_run(st, &m->s, again, &which), 0);
	assert_memory_equal(m->to, again, m->s.n * sizeof *again);
	for (size_t i = 0; i < m->s.n; i++) {
		assert_in_range(m->to[i], 0, m->s.n_pes - 1);
		if (m->element[i].pinned)
			assert_int_equal(m->to[i], m->element[i].pe);
	}
	lb_quality(&m->s, m->to, &after);
	assert_true(isfinite(after.max) && after.max * (1 + 1e-9) >= after.fair);
	if (balances(st)) {
		double most = is_cut(st) ? fmax(before.max, after.fair * (1 + m->s.tolerance)) : before.max;

		if (after.max > most * (1 + 1e-9))
			fail_msg("%s: %g s before, %g after, %g would do", st->name, before.max, after.max, after.fair);
	}
	free(again);
}

static void pinned_elements_stay_and_nothing_gets_worse(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct made m = made_random(seed);

		EACH(st)
			check_rules(st, &m);
		made_free(&m);
	}
}

static void no_elements_and_one_pe(void **state)
{
	(void)state;
	EACH(st) {
		struct made none = made_create(5, 2, 0, 0), one = made_grid(1, 1, 9, 9), single = made_create(7, 1, 1, 0);

		check_rules(st, &none);
		check_rules(st, &one);
		check_rules(st, &single);
		made_free(&none);
		made_free(&one);
		made_free(&single);
	}
}

static void where_nothing_was_measured_nothing_moves(void **state)
{
	(void)state;
	EACH(st) {
		struct made m = made_grid(4, 2, 10, 10);

		for (size_t i = 0; i < m.s.n; i++)
			m.element[i].seconds = 0;
		check_rules(st, &m);
		if (balances(st))
			assert_int_equal(quality(&m).n_moved, 0);
		made_free(&m);
	}
}

static void a_balanced_array_stays_as_it_is(void **state)
{
	static const char *const names[] = { "cuts", "diffusion", "hier", "refine" };

	(void)state;
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		struct made m = made_grid(4, 2, 10, 10);

		/* Within the tolerance. */
		for (size_t i = 0; i < m.s.n; i++)
			m.element[i].seconds = m.element[i].pe == 2 ? 1.03F : 1;
		run(names[k], &m);
		assert_int_equal(quality(&m).n_moved, 0);
		made_free(&m);
	}
}

static void bad_numbers_count_as_nothing(void **state)
{
	static const float bad[] = { NAN, INFINITY, -INFINITY, -3, -0.F };

	(void)state;
	EACH(st) {
		struct made m = made_grid(6, 2, 12, 10);

		for (size_t k = 0; k < 5; k++) {
			m.element[7 * k].seconds = bad[k];
			m.element[7 * k + 1].position[k % 3] = bad[k];
			m.element[7 * k + 2].position[0] = bad[k];
			m.background[k] = bad[k];
			m.speed[k] = k ? bad[k] : 0;
		}
		m.s.tolerance = NAN;
		check_rules(st, &m);
		made_free(&m);
	}
}

static void fewer_elements_than_pes(void **state)
{
	(void)state;
	EACH(st) {
		struct made m = made_create(16, 4, 5, 0);

		check_rules(st, &m);
		if (balances(st) && !(st->wants & CK_LB_EDGES)) {
			struct lb_quality q = quality(&m);

			assert_true(q.max < 1.5);
		}
		made_free(&m);
	}
}

static void many_elements(void **state)
{
	(void)state;
	EACH(st) {
		struct made m = made_grid(512, 4, 500, 200);
		uint64_t random = cmi_random_seed(7);

		for (size_t i = 0; i < m.s.n; i++)
			m.element[i].seconds = (float)(made_fraction(&random) * (double)(1 + i * 4 / m.s.n));
		check_rules(st, &m);
		if (balances(st) && quality(&m).max > 1.15 * quality(&m).fair)
			fail_msg("%s: %g s, fair are %g", st->name, quality(&m).max, quality(&m).fair);
		made_free(&m);
	}
}

/* Two busy PEs and a slow one: time is equal, work is not. */
static void background_and_speed_count(void **state)
{
	(void)state;
	EACH(st) {
		struct made m = made_grid(4, 2, 40, 40);
		double work[4] = { 0 };

		m.background[0] = 100;
		m.speed[3] = 0.5F;
		check_rules(st, &m);
		for (size_t i = 0; i < m.s.n; i++)
			work[m.to[i]] += (double)m.element[i].seconds * (double)m.speed[m.element[i].pe];
		/* 1400 of work in all, and 100 of background; 3.5 PEs of speed 1. */
		for (int p = 0; p < 4 && balances(st); p++) {
			double fair = p == 0 ? 1500 / 3.5 - 100 : p == 3 ? 750 / 3.5 : 1500 / 3.5;

			/* Others may use up the tolerance. */
			if (work[p] - fair > 0.055 * 1500 / 3.5 || work[p] - fair < -0.15 * 1500 / 3.5)
				fail_msg("%s: PE %d has work of %g s, %g are fair", st->name, p, work[p], fair);
		}
		made_free(&m);
	}
}

/* ---- each of them ------------------------------------------------------------------------------ */

static void rotate_moves_all_to_the_next_pe(void **state)
{
	struct made m = made_grid(3, 1, 6, 6);

	(void)state;
	run("rotate", &m);
	for (size_t i = 0; i < m.s.n; i++)
		assert_int_equal(m.to[i], (m.element[i].pe + 1) % 3);
	made_free(&m);
}

static void random_depends_on_the_step_alone(void **state)
{
	struct made m = made_grid(8, 1, 20, 20);
	int32_t first[400];
	int used[8] = { 0 };

	(void)state;
	run("random", &m);
	memcpy(first, m.to, sizeof first);
	for (int i = 0; i < 400; i++)
		used[first[i]]++;
	for (int p = 0; p < 8; p++)
		assert_in_range(used[p], 20, 90);
	m.element[0].seconds = 5;
	run("random", &m);
	assert_memory_equal(first, m.to, sizeof first);
	m.s.step++;
	run("random", &m);
	assert_memory_not_equal(first, m.to, sizeof first);
	made_free(&m);
}

/* Graham's bound, and for equal elements the best there is. */
static void greedy_balances(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct made m = made_random(seed & ~UINT64_C(4));
		struct lb_quality before, q;

		lb_quality(&m.s, NULL, &before);
		run("greedy", &m);
		q = quality(&m);
		assert_true(q.max <= fmax(q.fair + q.largest, q.fair) * (1 + 1e-9) || q.max == before.max);
		made_free(&m);
	}
	struct made m = made_create(7, 7, 70, 0);

	run("greedy", &m);
	assert_true(fabs(quality(&m).max - 10) < 1e-9);
	made_free(&m);
}

/* PE 0 has 16 elements of 1 s, the others 8: the level is 10, so 10.5 are allowed and 6 have to go. */
static void refine_moves_as_few_as_possible(void **state)
{
	struct made m = made_create(4, 4, 40, 0);

	(void)state;
	for (int i = 0; i < 40; i++)
		m.element[i].pe = i < 16 ? 0 : 1 + (i - 16) / 8;
	run("refine", &m);
	assert_int_equal(quality(&m).n_moved, 6);
	assert_true(fabs(quality(&m).max - 10) < 1e-9);
	/* One that is large enough, instead of many. */
	for (int i = 0; i < 40; i++)
		m.element[i].seconds = i < 16 ? 1 : 0.5F;
	m.element[3].seconds = m.element[4].seconds = m.element[5].seconds = 2.5F;
	for (int i = 6; i < 13; i++)
		m.element[i].seconds = 0.01F;
	run("refine", &m);
	assert_int_equal(quality(&m).n_moved, 3);
	assert_true(quality(&m).max <= quality(&m).fair * 1.05 * (1 + 1e-9));
	made_free(&m);
}

/* 13.5 s and 7 s: 2.74 have to go, 3.76 may. The largest that fits is 3.5, but 3 will do. */
static void refine_takes_the_smallest_that_will_do(void **state)
{
	static const float seconds[] = { 6, 3.5F, 3, 1, 7 };
	struct made m = made_create(2, 2, 5, 0);

	(void)state;
	for (int i = 0; i < 5; i++)
		m.element[i].seconds = seconds[i];
	m.element[4].pe = 1;
	run("refine", &m);
	assert_int_equal(quality(&m).n_moved, 1);
	assert_int_equal(m.to[2], 1);
	made_free(&m);
}

/* Nothing fits below the limit: two elements of 4 s and one of 3 on the same PE of two; the best is 7 and 4. */
static void refine_helps_where_elements_are_large(void **state)
{
	struct made m = made_create(2, 2, 3, 0);

	(void)state;
	m.element[0].seconds = m.element[1].seconds = 4;
	m.element[2].seconds = 3;
	run("refine", &m);
	assert_true(fabs(quality(&m).max - 7) < 1e-6);
	assert_int_equal(quality(&m).n_moved, 1);
	made_free(&m);
}

/* The least time of the longest PE that any cuts give, by trying all of them: best[k] for the first k elements. */
static double best_cuts(const struct made *m)
{
	struct lb_loads *l = lb_loads_create(&m->s, NULL);
	size_t n = m->s.n;
	double *best = calloc(2 * (n + 1), sizeof *best), *next = best + n + 1, result;

	for (size_t k = 1; k <= n; k++)
		best[k] = INFINITY;
	for (int p = 0; p < m->s.n_pes; p++) {
		for (size_t k = 0; k <= n; k++) {
			double own = l->fixed[p];

			next[k] = fmax(best[k], own);
			for (size_t from = k; from-- > 0;) {
				own += l->work[from] / l->speed[p];
				next[k] = fmin(next[k], fmax(best[from], own));
			}
		}
		memcpy(best, next, (n + 1) * sizeof *best);
	}
	result = best[n];
	free(best);
	free(l);
	return result;
}

static void cuts_are_the_best_and_never_fall(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct made m = made_random(seed);
		struct lb_quality before, q;

		m.s.tolerance = 0;
		lb_quality(&m.s, NULL, &before);
		run("cuts", &m);
		q = quality(&m);
		if (before.max > best_cuts(&m) * (1 + 2e-6) && q.max > best_cuts(&m) * (1 + 2e-6))
			fail_msg("seed %llu: %g s, %g is possible", (unsigned long long)seed, q.max, best_cuts(&m));
		for (size_t i = 1; i < m.s.n && q.n_moved && !(seed & 8); i++)
			assert_true(m.to[i] >= m.to[i - 1]);
		made_free(&m);
	}
}

/* PE 1 gets a few percent too much; the cut beside it shifts by just that, the others stay. */
static void cuts_shift_no_further_than_they_must(void **state)
{
	struct made m = made_grid(4, 4, 100, 4);

	(void)state;
	for (int i = 100; i < 200; i++)
		m.element[i].seconds = 1.2F;
	run("cuts", &m);
	assert_true(quality(&m).max <= 1.05 * quality(&m).fair * (1 + 1e-6));
	/* 105 is fair, 110.25 allowed: 8 of PE 1's elements of 1.2 s have to go. */
	assert_true(quality(&m).n_moved >= 8 && quality(&m).n_moved <= 10);
	made_free(&m);
}

/* As many PEs as cells, so PEs follow the curve: each is beside the one before. */
static void sfc_goes_from_neighbour_to_neighbour(void **state)
{
	static const int sides[][3] = { { 16, 16, 1 }, { 8, 8, 8 }, { 1, 32, 32 } };

	(void)state;
	for (int t = 0; t < 3; t++) {
		const int *side = sides[t];
		int n = side[0] * side[1] * side[2];
		struct made m = made_create(n, 1, (size_t)n, 0);
		int *cell_of = calloc((size_t)n, sizeof *cell_of);

		for (int i = 0; i < n; i++) {
			int cell = (int)((int64_t)i * 389 % n); /* indices say nothing about positions */

			m.element[i].position[0] = (float)(cell % side[0]) * 2.5F;
			m.element[i].position[1] = (float)(cell / side[0] % side[1]) * 2.5F;
			m.element[i].position[2] = (float)(cell / side[0] / side[1]) * 2.5F;
		}
		run("sfc", &m);
		assert_true(quality(&m).max < 1.5);
		for (int i = 0; i < n; i++)
			cell_of[m.to[i]] = i;
		for (int p = 1; p < n; p++) {
			const float *a = m.element[cell_of[p - 1]].position, *b = m.element[cell_of[p]].position;

			assert_true(fabsf(a[0] - b[0]) + fabsf(a[1] - b[1]) + fabsf(a[2] - b[2]) == 2.5F);
		}
		free(cell_of);
		made_free(&m);
	}
}

static void hier_stays_in_its_process_if_that_will_do(void **state)
{
	struct made m = made_create(8, 4, 80, 0);

	(void)state;
	/* 40 elements in each process, all on its first PE. */
	for (int i = 0; i < 80; i++)
		m.element[i].pe = i < 40 ? 0 : 4;
	run("hier", &m);
	assert_int_equal(quality(&m).n_moved_far, 0);
	assert_true(quality(&m).max <= 10.5);
	/* 60 and 20: 40 is fair, 2.5 % may stay above, and what leaves is spread over the other's PEs. */
	for (int i = 40; i < 60; i++)
		m.element[i].pe = 0;
	run("hier", &m);
	assert_in_range(quality(&m).n_moved_far, 19, 20);
	assert_true(quality(&m).max <= 11);
	made_free(&m);
}

static void diffusion_balances_a_power_of_two(void **state)
{
	struct made m = made_create(16, 4, 1600, 0);

	(void)state;
	run("diffusion", &m);
	assert_true(quality(&m).max <= 105);
	made_free(&m);
}

/* Cells dealt out like cards: nearly all edges are cut. Good parts of 24 x 24 on 4 PEs cut some 50 edges, both ways. */
static void graphs_are_cut_where_few_bytes_cross(void **state)
{
	static const char *const names[] = { "metis", "scotch" };

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct made m = made_grid(4, 2, 24, 24);
		const char *missing = lb_strategy_find(NULL, names[k])->missing();

		for (size_t i = 0; i < m.s.n; i++)
			m.element[i].pe = (int32_t)(i % 4);
		if (missing) {
			CHECK_SKIP_PART(names[k], missing);
		} else {
			run(names[k], &m);
			assert_true(quality(&m).max <= 1.05 * quality(&m).fair);
			assert_in_range(quality(&m).bytes_cut, 2 * 8000 * 40, 2 * 8000 * 75);
			/* The same parts on other PEs: next to nothing moves, as parts are named after where they are. */
			for (size_t i = 0; i < m.s.n; i++)
				m.element[i].pe = (m.to[i] + 1) % 4;
			run(names[k], &m);
			assert_true(quality(&m).n_moved <= m.s.n / 20);
		}
		made_free(&m);
	}
}

/* METIS draws by rand(), and so may a program. */
static void random_numbers_of_the_program_go_on(void **state)
{
	enum { DRAWS = 5 };
	static const char *const names[] = { "metis", "scotch", "random" };
	int expected[2 * DRAWS];

	(void)state;
	srand(4711);
	for (int i = 0; i < 2 * DRAWS; i++)
		expected[i] = rand();
	for (int k = 0; k < 3; k++) {
		const struct lb_strategy *st = lb_strategy_find(NULL, names[k]);
		const char *missing = st->missing ? st->missing() : NULL;
		struct made m = made_grid(4, 2, 24, 24);

		if (missing) {
			CHECK_SKIP_PART(names[k], missing);
		} else {
			srand(4711);
			for (int i = 0; i < 2 * DRAWS; i++) {
				if (i == DRAWS)
					run(names[k], &m);
				assert_int_equal(rand(), expected[i]);
			}
		}
		made_free(&m);
	}
}

/* Two cliques whose only pinned members live on PEs 1 and 0: SCOTCH lets the others come to them. */
static void scotch_knows_pinned_elements(void **state)
{
	enum { N = 20 };
	struct made m = made_create(2, 1, N, N * N);
	const char *missing = lb_scotch_missing();

	(void)state;
	if (missing)
		CHECK_SKIP(missing);
	m.s.n_edges = 0;
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = 0; k < N; k++)
			if (i != k && i / (N / 2) == k / (N / 2))
				m.edge[m.s.n_edges++] = (CkLBEdge){ i, k, 10, 1000 };
	for (int i = 0; i < N; i++)
		m.element[i].pe = i % 2;
	m.element[1].pinned = m.element[N / 2].pinned = 1; /* on PE 1 and PE 0 */
	run("scotch", &m);
	assert_int_equal(quality(&m).bytes_cut, 0);
	assert_int_equal(m.to[0], 1);
	assert_int_equal(m.to[N - 1], 0);
	made_free(&m);
}

static void a_missing_library_is_named(void **state)
{
	struct made m = made_grid(4, 2, 6, 6);
	size_t which = 0;

	(void)state;
	hide = true;
	assert_string_equal(lb_metis_missing(), "libmetis.so.5 (Debian: libmetis5)");
	assert_string_equal(lb_scotch_missing(), "libscotch-7.0.so (Debian: libscotch-7.0)");
	assert_int_equal(lb_strategy_run(lb_strategy_find(NULL, "metis"), &m.s, m.to, &which), -ENOENT);
	assert_int_equal(lb_strategy_run(lb_strategy_find(NULL, "scotch"), &m.s, m.to, &which), -ENOENT);
	assert_int_equal(quality(&m).n_moved, 0);
	hide = false;
	made_free(&m);
}

/* ---- the table --------------------------------------------------------------------------------- */

static int wild(const CkLBStats *s, int32_t *to, void *arg)
{
	for (size_t i = 0; i < s->n; i++)
		to[i] = s->element[i].pinned ? 99 : 1;
	to[5] = *(int *)arg;
	return *(int *)arg == 77 ? 77 : 0;
}

static void own_strategies_are_found_by_name(void **state)
{
	struct made m = made_create(2, 1, 8, 0);
	struct lb_table t = { .n = 0 };
	char names[200], name[LB_OWN_MOST][12];
	size_t which = 0;
	int answer = 1;

	(void)state;
	assert_int_equal(lb_table_add(&t, "wild", wild, CK_LB_EDGES, &answer), 0);
	assert_null(lb_strategy_find(NULL, "wild"));
	assert_int_equal(lb_strategy_find(&t, "wild")->wants, CK_LB_EDGES);
	m.element[0].pinned = 1;
	assert_int_equal(lb_strategy_run(lb_strategy_find(&t, "wild"), &m.s, m.to, &which), 0);
	assert_int_equal(m.to[0], 0); /* pinned, whatever it says */
	assert_int_equal(m.to[1], 1);
	/* A PE that is none; it cannot say anything. */
	answer = 2;
	assert_int_equal(lb_strategy_run(lb_strategy_find(&t, "wild"), &m.s, m.to, &which), LB_NO_PE);
	assert_int_equal(which, 5);
	assert_int_equal(m.to[1], 0);
	answer = 77;
	assert_int_equal(lb_strategy_run(lb_strategy_find(&t, "wild"), &m.s, m.to, &which), 77);
	assert_int_equal(m.to[1], 0);

	assert_int_equal(lb_table_add(&t, "wild", wild, 0, NULL), -EEXIST);
	assert_int_equal(lb_table_add(&t, "cuts", wild, 0, NULL), -EEXIST);
	assert_int_equal(lb_table_add(&t, "", wild, 0, NULL), -EINVAL);
	assert_int_equal(lb_table_add(&t, NULL, wild, 0, NULL), -EINVAL);
	assert_int_equal(lb_table_add(&t, "x", NULL, 0, NULL), -EINVAL);
	assert_int_equal(lb_table_add(&t, "x", wild, 2, NULL), -EINVAL);
	assert_int_equal(lb_table_add(&t, "auto", wild, 0, NULL), -EINVAL);
	assert_int_equal(lb_table_add(&t, "off", wild, 0, NULL), -EINVAL);
	lb_strategy_names(&t, names, sizeof names);
	assert_string_equal(names, "cuts, diffusion, greedy, hier, metis, random, refine, rotate, scotch, sfc, wild");
	lb_strategy_names(&t, names, 8);
	assert_string_equal(names, "cuts, d");
	for (int i = 1; i < LB_OWN_MOST; i++) {
		snprintf(name[i], sizeof name[i], "%d", i);
		assert_int_equal(lb_table_add(&t, name[i], wild, 0, NULL), 0);
	}
	assert_int_equal(lb_table_add(&t, "more", wild, 0, NULL), -ENOSPC);
	made_free(&m);
}

/* ---- what a distribution is worth -------------------------------------------------------------- */

/* A PE that is busy beyond what the others will have gets nothing and counts for nothing. */
static void a_busy_pe_is_left_out(void **state)
{
	(void)state;
	EACH(st) {
		struct made m = made_grid(3, 1, 30, 10);
		struct lb_loads *l;

		m.background[1] = 1000;
		l = lb_loads_create(&m.s, NULL);
		assert_true(fabs(l->level - 150) < 1e-9);
		free(l);
		check_rules(st, &m);
		for (size_t i = 0; i < m.s.n && balances(st) && strcmp(st->name, "diffusion"); i++)
			if (m.to[i] == 1)
				fail_msg("%s: element %zu goes to the busy PE", st->name, i);
		made_free(&m);
	}
}

static void a_distribution_is_judged(void **state)
{
	struct made m = made_create(4, 2, 4, 3);
	struct lb_quality q;

	(void)state;
	m.speed[3] = 0.5F;
	m.background[0] = 9;
	m.element[0].pinned = 1;
	m.element[1].seconds = 3;
	m.edge[0] = (CkLBEdge){ 0, 1, 2, 20 };
	m.edge[1] = (CkLBEdge){ 1, 2, 3, 30 };
	m.edge[2] = (CkLBEdge){ 2, 3, 4, 40 };
	m.to[0] = 0;
	m.to[1] = 1;
	m.to[2] = 3;
	m.to[3] = 3;
	lb_quality(&m.s, m.to, &q);
	/* PE 0: 9 and the pinned one; PE 1: 3; PE 3: 2 s of work at half the speed. */
	assert_true(q.max == 10 && q.fair == 10 && q.largest == 3);
	assert_int_equal(q.n_moved, 3);
	assert_int_equal(q.n_moved_far, 2);
	assert_int_equal(q.bytes_moved, 200);
	assert_int_equal(q.bytes_cut, 50);
	assert_int_equal(q.messages_cut, 5);
	assert_int_equal(q.bytes_cut_far, 30);
	m.background[0] = 0;
	lb_quality(&m.s, m.to, &q);
	/* 5 of work that moves and 1 that does not, on PEs of 3.5 together. */
	assert_true(q.max == 4 && fabs(q.fair - 6 / 3.5) < 1e-12);
	lb_quality(&m.s, NULL, &q);
	assert_true(q.max == 6 && q.n_moved == 0 && q.bytes_cut == 0);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pinned_elements_stay_and_nothing_gets_worse),
		cmocka_unit_test(no_elements_and_one_pe),
		cmocka_unit_test(where_nothing_was_measured_nothing_moves),
		cmocka_unit_test(a_balanced_array_stays_as_it_is),
		cmocka_unit_test(bad_numbers_count_as_nothing),
		cmocka_unit_test(fewer_elements_than_pes),
		cmocka_unit_test(many_elements),
		cmocka_unit_test(background_and_speed_count),
		cmocka_unit_test(rotate_moves_all_to_the_next_pe),
		cmocka_unit_test(random_depends_on_the_step_alone),
		cmocka_unit_test(greedy_balances),
		cmocka_unit_test(refine_moves_as_few_as_possible),
		cmocka_unit_test(refine_takes_the_smallest_that_will_do),
		cmocka_unit_test(refine_helps_where_elements_are_large),
		cmocka_unit_test(cuts_are_the_best_and_never_fall),
		cmocka_unit_test(cuts_shift_no_further_than_they_must),
		cmocka_unit_test(sfc_goes_from_neighbour_to_neighbour),
		cmocka_unit_test(hier_stays_in_its_process_if_that_will_do),
		cmocka_unit_test(diffusion_balances_a_power_of_two),
		cmocka_unit_test(graphs_are_cut_where_few_bytes_cross),
		cmocka_unit_test(random_numbers_of_the_program_go_on),
		cmocka_unit_test(scotch_knows_pinned_elements),
		cmocka_unit_test(a_missing_library_is_named),
		cmocka_unit_test(own_strategies_are_found_by_name),
		cmocka_unit_test(a_busy_pe_is_left_out),
		cmocka_unit_test(a_distribution_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
