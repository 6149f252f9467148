/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reduce.c: reductions of all kinds over one array, in one sequence: by exchange and by the tree, to
 * all elements, to one of them and to the main chare. They run in shapes of 1 to 9 PEs, some without
 * elements, on nets with seeded random delays. Elements contribute in bursts, without waiting for results,
 * so many reductions are open at a time. Each result must come once and in the order of the reductions. It
 * must have the same bits at every element and in every run of a shape. And on its way up the tree a PE's part is
 * combined with those of its children in their order.
 * The tables are written by hand as ckci would print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "ckgen.h"
#include "../../runtime/chare/reduce/reduce_int.h"

enum { ROUNDS = 60, ELEMENTS_MOST = 30, PES_MOST = 9 };
/* What the k-th reduction is. */
enum kind { BARRIER, SUM, SUMS, LARGE, TO_ONE, TO_MAIN, MAXIMA, N_KINDS };
enum { SUMS_N = 37, LARGE_N = EXCHANGE_MOST_BYTES / sizeof(double) + 3 };

/* Of one job; written before it starts, the results by PE 0 alone. */
static struct job {
	int n_elements;
	bool empty_pes;           /* a map that leaves every third PE without elements */
	uint64_t seed;
	uint64_t bits;            /* of all results, as element 0 got them */
} job;

struct Main {
	CkProxy self, elems;
	int n_in;
	bool over;
};

struct Elem {
	CkProxy main_proxy;
	int at;                   /* reductions contributed to */
	int next;                 /* the result that must come next */
	uint64_t random, bits;
};

static const CkGenChare Main_table, Elem_table;
enum { MAIN_NEW, MAIN_TOTAL, MAIN_QUIET, MAIN_BITS };
enum { ELEM_NEW, ELEM_GO, ELEM_AGAIN, ELEM_SUMS, ELEM_ONE, ELEM_CHECK };

static enum kind kind_of(int k)
{
	/* All pairs of kinds come one after the other somewhere. */
	return (enum kind)((k * k + k / N_KINDS + (k >> 1)) % N_KINDS);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void mix(uint64_t *bits, const void *data, size_t bytes)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < bytes; i++)
		*bits = (*bits ^ p[i]) * 0x100000001b3ull;
}

static int last_target(int k) { return (k * 7) % job.n_elements; }

/* ---- Elem -------------------------------------------------------------------------------- */

/* Sums of these depend on the order in their last bits; and the largest of two zeros is the last
 * one. */
static double value(int e, int k, int i)
{
	if (kind_of(k) == MAXIMA && i == 1)
		return e / 2 % 2 ? 0.0 : -0.0;
	return (e + 1) * (k + 1) + 1.0 / (3 + e + i % 5);
}

static void to_all(void *self, int n, CkReduction op, int k)
{
	static _Thread_local double v[LARGE_N];
	int e = CkGen_thisIndex(self).v[0];

	for (int i = 0; i < n; i++)
		v[i] = value(e, k, i);
	CkContribute(self, v, (size_t)n, op,
		     CkGen_cbAll(&Elem_table, CkGen_thisProxy(self), ELEM_SUMS));
}

static void contribute(void *self, int k)
{
	CkProxy all = CkGen_thisProxy(self);
	int e = CkGen_thisIndex(self).v[0], two[2] = { k + e, 1 };
	CkElement target = { all.id, { { last_target(k), 0, 0 } }, 0 };

	switch (kind_of(k)) {
	case BARRIER:
		CkContributeBarrier(self, CkGen_cbAll(&Elem_table, all, ELEM_AGAIN));
		break;
	case SUM:
		to_all(self, 1, CkReduction_sum_double, k);
		break;
	case SUMS:
		to_all(self, SUMS_N, CkReduction_sum_double, k);
		break;
	case LARGE:
		to_all(self, LARGE_N, CkReduction_sum_double, k);
		break;
	case MAXIMA:
		to_all(self, SUMS_N, CkReduction_max_double, k);
		break;
	case TO_ONE:
		CkContribute(self, two, 2, CkReduction_sum_int,
			     CkGen_cb(&Elem_table, &target, ELEM_ONE));
		break;
	case TO_MAIN:
		CkContribute(self, two, 2, CkReduction_sum_int,
			     CkGen_cbMain(&Main_table, ((struct Elem *)self)->main_proxy,
					  MAIN_TOTAL));
		break;
	case N_KINDS:
		break;
	}
}

static void go(void *self)
{
	struct Elem *s = self;
	CkElement e = { CkGen_thisProxy(self).id, CkGen_thisIndex(self), 0 };

	for (uint64_t n = next_random(&s->random) % 6; n && s->at < ROUNDS; n--)
		contribute(self, s->at++);
	if (s->at < ROUNDS)
		CkGen_send(&Elem_table, &e, ELEM_GO, CkGen_alloc(0), NULL);
}

static void Elem_new(void *self, void *payload)
{
	struct Elem *s = self;

	s->main_proxy = *(CkProxy *)payload;
	s->random = job.seed * 1000 + (uint64_t)CkGen_thisIndex(self).v[0];
	go(self);
}

static void Elem_go(void *self, void *payload)
{
	(void)payload;
	go(self);
}

/* The k-th reduction must be the next whose result this element gets. */
static int expect(struct Elem *s, int e, bool one)
{
	int k = s->next;

	while (kind_of(k) == TO_MAIN || (kind_of(k) == TO_ONE && last_target(k) != e))
		k++;
	if (k >= ROUNDS || (kind_of(k) == TO_ONE) != one)
		CkAbort("element %d got a result that is not that of reduction %d", e, k);
	s->next = k + 1;
	return k;
}

static void Elem_again(void *self, void *payload)
{
	const CkReductionMsg *m = payload;
	int k = expect(self, CkGen_thisIndex(self).v[0], false);

	if (kind_of(k) != BARRIER || m->count || m->bytes)
		CkAbort("reduction %d is not a barrier", k);
}

static void Elem_sums(void *self, void *payload)
{
	static const int count[N_KINDS] = { [SUM] = 1, [SUMS] = SUMS_N, [LARGE] = LARGE_N,
					    [MAXIMA] = SUMS_N };
	const CkReductionMsg *m = payload;
	const double *v = CkReductionMsg_data(m);
	struct Elem *s = self;
	int k = expect(s, CkGen_thisIndex(self).v[0], false), last = job.n_elements - 1;

	if (m->count != (uint64_t)count[kind_of(k)])
		CkAbort("reduction %d has %d values, not %d", k, (int)m->count,
			count[kind_of(k)]);
	for (int i = 0; i < (int)m->count; i++) {
		double is = v[i], should = value(last, k, i);

		for (int e = 0; kind_of(k) != MAXIMA && e < last; e++)
			should += value(e, k, i);
		if (is - should > 1e-6 || should - is > 1e-6)
			CkAbort("value %d of reduction %d is %.17g, not %.17g", i, k, is, should);
	}
	mix(&s->bits, v, m->bytes);
}

static void Elem_one(void *self, void *payload)
{
	int e = CkGen_thisIndex(self).v[0], k = expect(self, e, true), n = job.n_elements;
	const int *v = CkReductionMsg_data(payload);

	if (v[0] != n * k + n * (n - 1) / 2 || v[1] != n)
		CkAbort("reduction %d to element %d gave %d, %d", k, e, v[0], v[1]);
}

/* After quiescence: all that should come has come, everywhere with the same bits. */
static void Elem_check(void *self, void *payload)
{
	struct Elem *s = self;
	int e = CkGen_thisIndex(self).v[0];
	long bits[3] = { (long)s->bits, (long)~s->bits, 1 };
	CkProxy main_proxy = s->main_proxy;

	(void)payload;
	while (s->next < ROUNDS && (kind_of(s->next) == TO_MAIN ||
				    (kind_of(s->next) == TO_ONE && last_target(s->next) != e)))
		s->next++;
	if (s->at != ROUNDS || s->next != ROUNDS)
		CkAbort("element %d waits for the result of reduction %d of %d", e, s->next, s->at);
	CkContribute(self, bits, 3, CkReduction_max_long,
		     CkGen_cbMain(&Main_table, main_proxy, MAIN_BITS));
}

static const CkGenEntry elem_entries[] = {
	{ .name = "Elem", .call = Elem_new },
	{ .name = "go", .call = Elem_go },
	{ .name = "again", .call = Elem_again, .reduced = Elem_again, .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
	{ .name = "sums", .call = Elem_sums, .reduced = Elem_sums, .flags = CKGEN_REDUCTION | CKGEN_EXPEDITED,
	  .want = CK_DOUBLE, .want_array = 1 },
	{ .name = "one", .call = Elem_one, .reduced = Elem_one, .flags = CKGEN_REDUCTION,
	  .want = CK_INT, .want_count = 2 },
	{ .name = "check", .call = Elem_check },
};
static const CkGenChare Elem_table = {
	.name = "Elem", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Elem),
	.entries = elem_entries, .n_entries = 6
};

/* ---- Main ---------------------------------------------------------------------------------- */

static int sparse_map(CkIndex i, CkArrayDims d, int n_pes)
{
	int pe = (i.v[0] * 5 + d.n[0]) % n_pes;

	return n_pes > 1 && pe % 3 == (int)(job.seed % 3) ? (pe + 1) % n_pes : pe;
}

static void register_maps(void) { CkRegisterMap("sparse", sparse_map); }

static void Main_new(void *self, void *payload)
{
	struct Main *m = self;
	CkArrayOptions o = { .dims = CkDims1(job.n_elements),
			     .map = job.empty_pes ? "sparse" : NULL };
	CkProxy *p = CkGen_alloc(sizeof *p);

	(void)payload;
	*p = m->self = CkGen_thisProxy(self);
	m->elems = CkGen_newArray(&Elem_table, &o, p);
	CkStartQD(CkGen_cbMain(&Main_table, m->self, MAIN_QUIET));
}

static void Main_total(void *self, void *payload)
{
	struct Main *m = self;
	const int *v = CkReductionMsg_data(payload);
	int n = job.n_elements, k = (v[0] - n * (n - 1) / 2) / n;

	if (kind_of(k) != TO_MAIN || v[0] != n * k + n * (n - 1) / 2 || v[1] != n)
		CkAbort("a total of %d, %d is none", v[0], v[1]);
	m->n_in++;
}

static void Main_quiet(void *self, void *payload)
{
	struct Main *m = self;
	int n = 0;

	(void)payload;
	for (int k = 0; k < ROUNDS; k++)
		n += kind_of(k) == TO_MAIN;
	if (m->n_in != n)
		CkAbort("%d of %d totals had come when all was quiet", m->n_in, n);
	CkGen_sendAll(&Elem_table, m->elems, ELEM_CHECK, CkGen_alloc(0), NULL);
}

/* The largest of a number and of its complement belong together only if all were equal. */
static void Main_bits(void *self, void *payload)
{
	const long *v = CkReductionMsg_data(payload);

	(void)self;
	job.bits = (uint64_t)v[0];
	CkExit(v[0] == ~v[1] ? 0 : 9);
}

static const CkGenEntry main_entries[] = {
	{ .name = "Main", .call = Main_new },
	{ .name = "total", .call = Main_total, .reduced = Main_total, .flags = CKGEN_REDUCTION,
	  .want = CK_INT, .want_count = 2 },
	{ .name = "quiet", .call = Main_quiet, .reduced = Main_quiet, .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
	{ .name = "bits", .call = Main_bits, .reduced = Main_bits, .flags = CKGEN_REDUCTION,
	  .want = CK_LONG, .want_count = 3 },
};
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main),
	.entries = main_entries, .n_entries = 4
};

static const CkGenChare *const chares[] = { &Main_table, &Elem_table };
static void (*const initnodes[])(void) = { register_maps };
static const CkGenModule module = {
	.name = "reduce", .chares = chares, .n_chares = 2, .initnodes = initnodes, .n_initnodes = 1
};

/* ---- facts ---------------------------------------------------------------------------------- */

static uint64_t run_with(const char *cores, int nodes, int pes, int n_elements, bool empty_pes,
			 uint64_t seed)
{
	print_message("%d nodes of %d PEs on %s cores, %d elements%s, seed %llu\n", nodes, pes, cores,
		      n_elements, empty_pes ? ", empty PEs" : "", (unsigned long long)seed);
	setenv("CK_CORES", cores, 1);
	job = (struct job){ n_elements, empty_pes, seed, 0 };
	assert_int_equal(check_run(&chare_layer, &module, nodes, pes, seed), 0);
	unsetenv("CK_CORES");
	return job.bits;
}

/* Returns the bits of all results. PEs that share cores meet in another way, and get the same
 * bits. */
static uint64_t run(int nodes, int pes, int n_elements, bool empty_pes, uint64_t seed)
{
	const uint64_t bits = run_with("64", nodes, pes, n_elements, empty_pes, seed);

	assert_int_equal(run_with("1", nodes, pes, n_elements, empty_pes, seed), bits);
	return bits;
}

static const int shapes[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 3, 1 }, { 1, 3 }, { 2, 2 },
	{ 5, 1 }, { 1, 5 }, { 3, 2 }, { 2, 3 }, { 7, 1 }, { 4, 2 }, { 3, 3 }, { 9, 1 } };
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static void results_come_in_order_in_every_shape(void **state)
{
	(void)state;
	for (int i = 0; i < N_SHAPES; i++)
		run(shapes[i][0], shapes[i][1], 13, false, (uint64_t)i + 1);
}

static void pes_without_elements_take_part(void **state)
{
	(void)state;
	for (int i = 0; i < N_SHAPES; i++) {
		run(shapes[i][0], shapes[i][1], 1 + i % 4, false, (uint64_t)i + 100);
		run(shapes[i][0], shapes[i][1], 1 + i % 11, true, (uint64_t)i + 200);
	}
}

static void equal_runs_give_equal_bits(void **state)
{
	(void)state;
	for (int i = 2; i < N_SHAPES; i += 3) {
		uint64_t bits = run(shapes[i][0], shapes[i][1], ELEMENTS_MOST, false, 301);

		for (uint64_t seed = 302; seed < 305; seed++)
			assert_int_equal(run(shapes[i][0], shapes[i][1], ELEMENTS_MOST, false, seed),
					 bits);
	}
}

static void the_randomised_queue_changes_no_order(void **state)
{
	(void)state;
	setenv("CK_RANDOM_QUEUE", "11", 1);
	run(1, 3, 7, false, 401);
	run(3, 2, 10, true, 402);
	run(2, 2, 9, false, 403);
	unsetenv("CK_RANDOM_QUEUE");
}

/* ---- the order in the tree ------------------------------------------------------------------- */

/* A list of PEs, and two operations that append one to another: of values and of messages. */
struct list { int n, pe[PES_MOST]; };

static struct tree {
	CkReduction values, messages;
	int children[PES_MOST][PES_MOST], n_children[PES_MOST]; /* each PE writes its own */
	struct list result[2];
	int n_results;
} tree;

struct Root { CkProxy self; };
struct Member { int unused; };

static const CkGenChare Root_table, Member_table;
enum { ROOT_NEW, ROOT_LIST };

static void append(struct list *to, const struct list *from)
{
	for (int i = 0; i < from->n; i++)
		to->pe[to->n++] = from->pe[i];
}

static void append_value(void *acc, const void *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		append((struct list *)acc + i, (const struct list *)in + i);
}

static CkReductionMsg *append_messages(int n, CkReductionMsg **msgs)
{
	for (int i = 1; i < n; i++)
		append((struct list *)(void *)(msgs[0] + 1), CkReductionMsg_data(msgs[i]));
	return msgs[0];
}

/* All nodes write the same numbers, one after the other. */
static void register_reducers(void)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&one_at_a_time);
	tree.values = CkRegisterValueReducer("append", sizeof(struct list), append_value, NULL, false);
	tree.messages = CkRegisterReducer("append messages", append_messages, false);
	pthread_mutex_unlock(&one_at_a_time);
}

static void Member_new(void *self, void *payload)
{
	const struct pe *pe = csd_self();
	const struct list own = { 1, { pe->id } };
	const CkCallback cb = CkGen_cbMain(&Root_table, *(CkProxy *)payload, ROOT_LIST);

	tree.n_children[pe->id] = csd_tree_n_children(pe, 0);
	for (int i = 0; i < tree.n_children[pe->id]; i++)
		tree.children[pe->id][i] = csd_tree_child(pe, 0, i);
	CkContribute(self, &own, 1, tree.values, cb);
	CkContribute(self, &own, sizeof own, tree.messages, cb);
}

static void Root_new(void *self, void *payload)
{
	CkProxy *p = CkGen_alloc(sizeof *p);

	(void)payload;
	*p = CkGen_thisProxy(self);
	CkGen_newGroup(&Member_table, p);
}

static void Root_list(void *self, void *payload)
{
	(void)self;
	memcpy(&tree.result[tree.n_results], CkReductionMsg_data(payload), sizeof tree.result[0]);
	if (++tree.n_results == 2)
		CkExit(0);
}

static const CkGenEntry root_entries[] = {
	{ .name = "Root", .call = Root_new },
	{ .name = "list", .call = Root_list, .reduced = Root_list, .flags = CKGEN_REDUCTION, .want = CK_BYTE,
	  .want_array = 1 },
};
static const CkGenChare Root_table = {
	.name = "Root", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Root), .entries = root_entries, .n_entries = 2
};
static const CkGenEntry member_entries[] = { { .name = "Member", .call = Member_new } };
static const CkGenChare Member_table = {
	.name = "Member", .kind = CKGEN_GROUP, .bytes = sizeof(struct Member), .entries = member_entries, .n_entries = 1
};
static const CkGenChare *const tree_chares[] = { &Root_table, &Member_table };
static void (*const tree_initnodes[])(void) = { register_reducers };
static const CkGenModule tree_module = {
	.name = "tree", .chares = tree_chares, .n_chares = 2, .initnodes = tree_initnodes, .n_initnodes = 1
};

static void walk_tree(struct list *to, int pe)
{
	to->pe[to->n++] = pe;
	for (int i = 0; i < tree.n_children[pe]; i++)
		walk_tree(to, tree.children[pe][i]);
}

static void children_are_combined_in_their_order(void **state)
{
	(void)state;
	for (int i = 0; i < N_SHAPES; i++) {
		struct list wanted = { 0, { 0 } };

		tree = (struct tree){ .n_results = 0 };
		assert_int_equal(check_run(&chare_layer, &tree_module, shapes[i][0], shapes[i][1], (uint64_t)i + 501), 0);
		walk_tree(&wanted, 0);
		assert_int_equal(wanted.n, shapes[i][0] * shapes[i][1]);
		assert_memory_equal(&tree.result[0], &wanted, sizeof wanted);
		assert_memory_equal(&tree.result[1], &wanted, sizeof wanted);
	}
}

/* ---- contributions after the first ---------------------------------------------------------- */

static void callbacks_are_told_apart_by_what_their_kind_uses(void **state)
{
	static const enum callback_kind kinds[] = { CB_FUNCTION, CB_ELEMENT, CB_ALL,
						     CB_MAIN, CB_SECTION, CB_FUTURE };
	/* The kind, the entry, the collection or the number; the reference number. */
	static const size_t all[] = { 0, 1, 2, 4, 8, 15, 48, 51 };
	/* The index; fn, ctx, and the section's number are left out. */
	static const size_t index[] = { 16, 20, 24 };

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		const CkCallback cb = callback_make(kinds[k]);
		CkCallback other = cb;

		assert_true(callback_same_soon(&cb, &other));
		for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
			((unsigned char *)&other)[all[i]] ^= 0x40;
			assert_false(callback_same_soon(&cb, &other));
			other = cb;
		}
		for (size_t i = 0; kinds[k] != CB_ALL && i < sizeof index / sizeof index[0]; i++) {
			((unsigned char *)&other)[index[i]] ^= 0x40;
			assert_false(callback_same_soon(&cb, &other));
			other = cb;
		}
		for (size_t i = 32; kinds[k] != CB_ALL && kinds[k] != CB_ELEMENT && i < sizeof cb; i++) {
			((unsigned char *)&other)[i] ^= 0x40;
			assert_false(callback_same_soon(&cb, &other));
			other = cb;
		}
	}
}

/* Both ways of adding a value give the same bits, in all operations that have them. */
static void one_value_is_added_as_several_are(void **state)
{
	_Alignas(16) unsigned char values[2][64], by_one[64], by_loop[64];
	uint64_t random = 5;
	int n = 0;

	(void)state;
	for (uint32_t op = 0; op < CkReduction_N; op++) {
		const struct reducer *how = reducer_find(NULL, op);

		if (!how->combine)
			continue;
		assert_non_null(how->one);
		for (int turn = 0; turn < 50; turn++, n++) {
			/* Small numbers in each byte: valid as bool, and neither NaN nor infinite. */
			for (int i = 0; i < 128; i++)
				values[i / 64][i % 64] = next_random(&random) & 1;
			memcpy(by_one, values[0], 64);
			memcpy(by_loop, values[0], 64);
			how->one(by_one, values[1], 1, false);
			how->combine(by_loop, values[1], 1, false);
			assert_memory_equal(by_one, by_loop, sizeof by_one);
		}
	}
	assert_true(n > 50 * 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callbacks_are_told_apart_by_what_their_kind_uses),
		cmocka_unit_test(one_value_is_added_as_several_are),
		cmocka_unit_test(results_come_in_order_in_every_shape),
		cmocka_unit_test(pes_without_elements_take_part),
		cmocka_unit_test(equal_runs_give_equal_bits),
		cmocka_unit_test(the_randomised_queue_changes_no_order),
		cmocka_unit_test(children_are_combined_in_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
