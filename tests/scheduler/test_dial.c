/* SPDX-License-Identifier: Apache-2.0 */
/* test_dial.c: a PE counts only while somebody looks at its dial. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "check_run.h"
#include "../../runtime/machine/base/cmi_dial.h"
#include "base/base.h"

enum { LIMIT_S = 30, STEP_MS = 10, QUIET_STEPS = 30, CODE = 7 };

static struct course {
	enum { UNSEEN, WANTED, COUNTS, UNWANTED } stage;
	int steps;
	bool unseen_counts, counts_without_hooks, hooks_remain;
	uint64_t idle_ns, handled;
} course;

static bool has_hooks(const struct pe *pe)
{
	return hooks_any(pe, CcdPROCESSOR_BEGIN_IDLE) || hooks_any(pe, CcdPROCESSOR_BEGIN_BUSY);
}

static void want(struct pe *pe, uint64_t until_ns)
{
	atomic_store(&pe->dial->wanted, until_ns);
}

/* Sees at most one change in each step, so none is missed. */
static void step(void *arg)
{
	struct pe *pe = arg;
	const struct cmi_dial *d = pe->dial;
	const bool counts = atomic_load(&d->counts);

	pe->n_processed++;
	pe->n_created++;
	switch (course.stage) {
	case UNSEEN:
		course.unseen_counts |= counts || has_hooks(pe);
		if (++course.steps == QUIET_STEPS) {
			want(pe, UINT64_MAX);
			course.stage = WANTED;
		}
		break;
	case WANTED:
		if (counts) {
			course.counts_without_hooks = !has_hooks(pe);
			course.stage = COUNTS;
		}
		break;
	case COUNTS: /* it is idle between two steps */
		course.idle_ns = atomic_load(&d->idle_ns);
		course.handled = atomic_load(&d->handled);
		if (course.idle_ns && course.handled > QUIET_STEPS) {
			want(pe, csd_now_ns());
			course.stage = UNWANTED;
		}
		break;
	case UNWANTED:
		if (!counts) {
			course.hooks_remain = has_hooks(pe);
			csd_exit(pe, CODE);
			return;
		}
	}
	CcdCallFnAfter(step, pe, STEP_MS);
}

static void begin(struct pe *pe)
{
	if (pe->id == 0)
		step(pe);
}

static const struct csd_layer looked_at = { .name = "looked at", .pe_start = begin };

static void a_pe_counts_while_it_is_looked_at(void **state)
{
	(void)state;
	alarm(LIMIT_S);
	assert_int_equal(check_run(&looked_at, NULL, 1, 1, 0), CODE);
	assert_false(course.unseen_counts);
	assert_false(course.counts_without_hooks);
	assert_true(course.idle_ns > 0);
	assert_false(course.hooks_remain);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_pe_counts_while_it_is_looked_at) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
