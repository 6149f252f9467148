/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread.c: threads within a PE: their order and priorities, values across switches, many threads at a
 * time, and the end of a job in which some still wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "check_run.h"
#include "check_skip.h"
#include "cth.h"

static int h_start;

/* Runs `fn` in a handler of PE 0, the scheduler being up. */
static void start_arrived(struct pe *pe, struct cmi_msg *m)
{
	CthVoidFn fn = (CthVoidFn)pe->node->program;

	csd_msg_free(pe, m);
	fn(NULL);
}

static int node_start(struct node *node)
{
	h_start = csd_register(node, "start", start_arrived);
	return 0;
}

static void pe_start(struct pe *pe)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

	m->handler = (uint16_t)h_start;
	csd_send(pe, pe->id, m);
}

static const struct csd_layer layer = {
	.name = "test", .node_start = node_start, .pe_start = pe_start,
};

static int run(CthVoidFn fn)
{
	return check_run(&layer, (const void *)fn, 1, 1, 0);
}

/* ---- order ------------------------------------------------------------------------------- */

static char trace[64];
static int n_over;

static void note(char c)
{
	size_t n = strlen(trace);

	if (n + 1 < sizeof trace)
		trace[n] = c;
}

static void yielding(void *arg)
{
	const char *name = arg;

	for (int i = 0; i < 3; i++) {
		note(*name);
		CthYield();
	}
	if (++n_over == 3)
		csd_exit(csd_self(), 0);
}

static void start_three(void *arg)
{
	(void)arg;
	CthAwaken(CthCreate(yielding, (void *)"a", 0));
	CthAwaken(CthCreate(yielding, (void *)"b", 0));
	CthAwaken(CthCreate(yielding, (void *)"c", 64 << 10));
}

static void threads_take_turns(void **state)
{
	(void)state;
	memset(trace, 0, sizeof trace);
	n_over = 0;
	assert_int_equal(run(start_three), 0);
	assert_string_equal(trace, "abcabcabc");
}

static void noting(void *arg)
{
	note(*(const char *)arg);
	if (strlen(trace) == 3)
		csd_exit(csd_self(), 0);
}

static void start_with_priorities(void *arg)
{
	(void)arg;
	CthAwaken(CthCreate(noting, (void *)"b", 0));
	CthAwakenPrio(CthCreate(noting, (void *)"c", 0), 5);
	CthAwakenPrio(CthCreate(noting, (void *)"a", 0), -5);
}

static void priorities_count(void **state)
{
	(void)state;
	memset(trace, 0, sizeof trace);
	assert_int_equal(run(start_with_priorities), 0);
	assert_string_equal(trace, "abc");
}

/* ---- resuming at once --------------------------------------------------------------------- */

static CthThread inner;

static void inner_main(void *arg)
{
	(void)arg;
	note('2');
	assert_ptr_equal(CthSelf(), inner);
	CthSuspend();
	note('5');
}

static void outer_main(void *arg)
{
	CthThread self = CthSelf();

	(void)arg;
	note('1');
	inner = CthCreate(inner_main, NULL, 0);
	CthResume(inner);
	assert_ptr_equal(CthSelf(), self);
	note('3');
	CthSuspend();
	note('6');
}

static void start_nested(void *arg)
{
	CthThread outer = CthCreate(outer_main, NULL, 0);

	(void)arg;
	CthResume(outer);
	note('4');
	CthResume(inner);
	CthResume(outer);
	assert_null(CthSelf());
	csd_exit(csd_self(), 0);
}

static void a_thread_resumes_another(void **state)
{
	(void)state;
	memset(trace, 0, sizeof trace);
	assert_int_equal(run(start_nested), 0);
	assert_string_equal(trace, "123456");
}

/* ---- many, in random order ----------------------------------------------------------------- */

enum { MANY = 2000, ROUNDS = 5 };
static CthThread many[MANY];
static int waiting[MANY], n_waiting, n_ended;
static uint64_t seed;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

/* Values in registers, on the stack and in the floating-point unit live across a switch. */
static void keeps_values(void *arg)
{
	int me = (int)(intptr_t)arg;
	double x = me, y = 1.0 / (me + 1);
	char pad[300];
	long sum = me;

	memset(pad, me & 0x7f, sizeof pad);
	for (int i = 0; i < ROUNDS; i++) {
		waiting[n_waiting++] = me;
		CthSuspend();
		x += y;
		sum += i;
		for (size_t k = 0; k < sizeof pad; k += 37)
			assert_int_equal(pad[k], me & 0x7f);
	}
	double want = me;

	for (int i = 0; i < ROUNDS; i++)
		want += 1.0 / (me + 1);
	assert_true(x == want);
	assert_int_equal(sum, me + ROUNDS * (ROUNDS - 1) / 2);
	n_ended++;
}

static void conduct(void *arg)
{
	(void)arg;
	while (n_ended < MANY) {
		while (n_waiting) {
			int k = (int)(next_random() % (uint64_t)n_waiting), who = waiting[k];

			waiting[k] = waiting[--n_waiting];
			CthAwaken(many[who]);
		}
		CthYield();
	}
	csd_exit(csd_self(), 0);
}

static void start_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < MANY; i++) {
		many[i] = CthCreate(keeps_values, (void *)(intptr_t)i, CTH_STACK_MIN);
		CthAwaken(many[i]);
	}
	CthAwaken(CthCreate(conduct, NULL, 0));
}

static void many_threads_in_random_order(void **state)
{
	const char *s = getenv("SEED");

	(void)state;
	seed = s ? strtoull(s, NULL, 0) : 20260101;
	print_message("seed %llu (SEED)\n", (unsigned long long)seed);
	n_waiting = n_ended = 0;
	assert_int_equal(run(start_many), 0);
	assert_int_equal(n_ended, MANY);
}

/* ---- the memory of many -------------------------------------------------------------------------- */

enum { CROWD = 4000, DEEP = 40 << 10 };
static CthThread crowd[CROWD];

static void goes_deep(void *arg)
{
	int me = (int)(intptr_t)arg;
	volatile unsigned char deep[DEEP];

	for (int i = 0; i < DEEP; i += 512)
		deep[i] = (unsigned char)(me + i / 512);
	CthSuspend();
	for (int i = 0; i < DEEP; i += 512)
		assert_int_equal(deep[i], (unsigned char)(me + i / 512));
	n_ended++;
}

static size_t resident(void)
{
	long total, pages;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &total, &pages), 2);
	fclose(f);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* More stacks than are kept whole: the others are used again as well, and give back what they do
 * not need. */
static void crowds(void *arg)
{
	size_t before = resident(), most = 0, left;

	(void)arg;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < CROWD; i++)
			CthResume(crowd[i] = CthCreate(goes_deep, (void *)(intptr_t)i, 0));
		most = resident() - before;
		for (int i = 0; i < CROWD; i++)
			CthResume(crowd[i]);
	}
	left = resident() - before;
	print_message("%zu kB at the most, %zu kB left\n", most >> 10, left >> 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	CHECK_SKIP_PART("memory that is left", "a sanitizer has memory of its own beside each stack");
#else
	assert_true(most >= (size_t)CROWD * DEEP);
	/* 2048 are kept whole, of the rest two pages. */
	assert_true(left < most * 3 / 4);
#endif
	csd_exit(csd_self(), 0);
}

static void a_crowd_leaves_little_memory(void **state)
{
	(void)state;
	n_ended = 0;
	assert_int_equal(run(crowds), 0);
	assert_int_equal(n_ended, 3 * CROWD);
}

/* ---- private variables -------------------------------------------------------------------------- */

struct wide { _Alignas(32) double v[4]; };
CtvExtern(int, number);           /* as in a header of its own */
CtvDeclare(int, number);
CtvStaticDeclare(char, letter);
CtvStaticDeclare(struct wide, wide);
CtvStaticDeclare(double[700], table); /* more than an eighth of a small stack */
CtvStaticDeclare(char *, later);

enum { OWNERS = 300 };
static CthThread owners[OWNERS];

static void own_all(int me)
{
	assert_int_equal((uintptr_t)&CtvAccess(wide) % 32, 0);
	assert_int_equal((uintptr_t)&CtvAccess(table) % _Alignof(double), 0);
	CtvAccess(number) = me;
	CtvAccess(letter) = (char)me;
	for (int i = 0; i < 4; i++)
		CtvAccess(wide).v[i] = me * 4 + i;
	for (int i = 0; i < 700; i++)
		CtvAccess(table)[i] = me - i;
}

static void check_all(int me)
{
	assert_int_equal(CtvAccess(number), me);
	assert_int_equal(CtvAccess(letter), (char)me);
	for (int i = 0; i < 4; i++)
		assert_true(CtvAccess(wide).v[i] == me * 4 + i);
	for (int i = 0; i < 700; i++)
		assert_true(CtvAccess(table)[i] == me - i);
}

static void check_none(void)
{
	assert_int_equal(CtvAccess(number), 0);
	assert_int_equal(CtvAccess(letter), 0);
	for (int i = 0; i < 4; i++)
		assert_true(CtvAccess(wide).v[i] == 0);
	for (int i = 0; i < 700; i++)
		assert_true(CtvAccess(table)[i] == 0);
}

static void owns(void *arg)
{
	int me = (int)(intptr_t)arg, *where = &CtvAccess(number);
	char stack[6000]; /* used to their ends, which the next owner must not see */

	check_none();
	own_all(me);
	for (int r = 0; r < 3; r++) {
		memset(stack, me, sizeof stack);
		__asm__ volatile("" : : "r"(stack) : "memory");
		CthSuspend();
		check_all(me);
		assert_ptr_equal(where, &CtvAccess(number));
	}
	n_ended++;
}

static void initialize(void)
{
	CtvInitialize(int, number);
	CtvInitialize(char, letter);
	CtvInitialize(struct wide, wide);
	CtvInitialize(double[700], table);
}

static void own_privately(void *arg)
{
	(void)arg;
	initialize();
	initialize();
	check_none();
	own_all(-7);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < OWNERS; i++)
			owners[i] = CthCreate(owns, (void *)(intptr_t)(i + 1),
					      i % 2 ? CTH_STACK_MIN : 0);
		for (int r = 0; r < 4; r++)
			for (int k = OWNERS, i; k-- > 0;) {
				CthThread t = owners[i = (int)(next_random() % (uint64_t)(k + 1))];

				owners[i] = owners[k];
				owners[k] = t;
				CthResume(t);
				check_all(-7);
			}
	}
	/* The PE's own grow with what is initialised later; those in use stay. */
	CtvInitialize(char *, later);
	assert_null(CtvAccess(later));
	check_all(-7);
	csd_exit(csd_self(), 0);
}

static void each_thread_has_its_own_variables(void **state)
{
	const char *s = getenv("SEED");

	(void)state;
	seed = s ? strtoull(s, NULL, 0) : 20260101;
	/* Each job begins anew. */
	for (int job = 0; job < 2; job++) {
		n_ended = 0;
		assert_int_equal(run(own_privately), 0);
		assert_int_equal(n_ended, 2 * OWNERS);
	}
}

/* ---- what outlasts a thread --------------------------------------------------------------- */

static int elsewhere;

static void pays(void *thread)
{
	note('3');
	csd_thread_paid(thread);
	note('4');
}

/* What it has begun a second time does not count any more. */
static void owes(void *arg)
{
	int here = 0;

	csd_thread_owes(CthSelf(), &here);
	csd_thread_paid(CthSelf());
	csd_thread_owes(CthSelf(), &elsewhere);
	note('1');
	CthAwaken(CthCreate(pays, CthSelf(), 0));
	csd_thread_settle(csd_self());
	note('5');
	csd_exit(csd_self(), *(int *)arg);
}

static void start_owing(void *arg)
{
	static int code = 4;

	(void)arg;
	CthResume(CthCreate(owes, &code, 0));
	note('2');
}

static void a_thread_ends_when_what_it_began_has_ended(void **state)
{
	(void)state;
	memset(trace, 0, sizeof trace);
	assert_int_equal(run(start_owing), 4);
	assert_string_equal(trace, "12345");
}

/* ---- the end --------------------------------------------------------------------------------- */

static void waits_for_ever(void *arg)
{
	(void)arg;
	CthSuspend();
	fail();
}

static void start_and_leave(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		CthAwaken(CthCreate(waits_for_ever, NULL, 0));
	CthCreate(waits_for_ever, NULL, 0);
	csd_exit(csd_self(), 3);
}

static void a_job_ends_while_threads_wait(void **state)
{
	(void)state;
	assert_int_equal(run(start_and_leave), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_take_turns),
		cmocka_unit_test(priorities_count),
		cmocka_unit_test(a_thread_resumes_another),
		cmocka_unit_test(many_threads_in_random_order),
		cmocka_unit_test(a_crowd_leaves_little_memory),
		cmocka_unit_test(each_thread_has_its_own_variables),
		cmocka_unit_test(a_thread_ends_when_what_it_began_has_ended),
		cmocka_unit_test(a_job_ends_while_threads_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
