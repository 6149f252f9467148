/* SPDX-License-Identifier: Apache-2.0 */
/* test_put_order.c: which flush a put's word waits for. UCX is played here: it completes what the
 * test says, when it says so. */
#include "../../runtime/machine/ucx/ucx_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PUTS = 4, CALLS_MOST = 16, WORD_BYTES = 8 };

/** A call of UCX that is under way, or was complete at once. */
struct call {
	ucp_send_nbx_callback_t cb;
	void *arg;
};

static struct ucx_pe pe;
static struct ucx_ep ep;
static struct ucx_remote remote;
static struct cmi_op op[PUTS];
static char body[100];
static _Atomic uint64_t word[PUTS];
static int n_done[PUTS];
static bool mapped, body_at_once, flush_at_once;

/** What UCX was asked, in this order. */
static struct call flush[CALLS_MOST], put[CALLS_MOST];
static int n_flushes, n_puts;

static ucs_status_ptr_t begin(struct call *list, int *n, const ucp_request_param_t *p, bool at_once)
{
	assert_true(*n < CALLS_MOST);
	list[*n] = (struct call){p->cb.send, p->user_data};
	++*n;
	return at_once ? NULL : &list[*n - 1];
}

static ucs_status_ptr_t fake_flush(ucp_ep_h e, const ucp_request_param_t *param)
{
	(void)e;
	return begin(flush, &n_flushes, param, flush_at_once);
}

/** A word that is not mapped comes here, too. */
static ucs_status_ptr_t fake_put(ucp_ep_h e, const void *src, size_t bytes, uint64_t to,
				 ucp_rkey_h key, const ucp_request_param_t *param)
{
	(void)e;
	(void)key;
	if (bytes == WORD_BYTES) {
		memcpy((void *)(uintptr_t)to, src, bytes);
		return NULL;
	}
	return begin(put, &n_puts, param, body_at_once);
}

static ucs_status_t fake_ptr(ucp_rkey_h key, uint64_t at, void **p)
{
	(void)key;
	*p = (void *)(uintptr_t)at;
	return mapped ? UCS_OK : UCS_ERR_UNREACHABLE;
}

static void fake_free(void *request)
{
	(void)request;
}

static void complete(struct call *c)
{
	c->cb(c, UCS_OK, c->arg);
}

static void note_done(struct cmi_op *o)
{
	n_done[o - op]++;
}

static int setup(void **state)
{
	(void)state;
	memset(&ep, 0, sizeof ep);
	memset(op, 0, sizeof op);
	memset((void *)word, 0, sizeof word);
	memset(n_done, 0, sizeof n_done);
	n_flushes = n_puts = 0;
	mapped = body_at_once = true;
	flush_at_once = false;
	ep.w = &pe;
	remote.e = &ep;
	ucx_calls.ep_flush_nbx = fake_flush;
	ucx_calls.put_nbx = fake_put;
	ucx_calls.rkey_ptr = fake_ptr;
	ucx_calls.request_free = fake_free;
	for (int i = 0; i < PUTS; i++)
		op[i] = (struct cmi_op){.done = note_done, .w = &pe.base, .tail = &remote.base,
					.tail_addr = (uintptr_t)&word[i], .word = (uint64_t)i + 1};
	return 0;
}

static bool put_bytes(int i, size_t bytes)
{
	return ucx_put(&remote.base, (uintptr_t)body, body, bytes, &op[i]);
}

static void begin_put(int i)
{
	assert_false(put_bytes(i, sizeof body));
}

/** Puts `from` to `to` have their words, and are done, and no others. */
static void assert_there(int from, int to)
{
	for (int i = 0; i < PUTS; i++) {
		const bool there = i >= from && i <= to;

		assert_int_equal(word[i], there ? i + 1 : 0);
		assert_int_equal(n_done[i], there);
	}
}

static void a_word_waits_for_the_flush(void **state)
{
	(void)state;
	begin_put(0);
	assert_there(0, -1);
	complete(&flush[0]);
	assert_there(0, 0);
}

static void a_word_that_is_not_mapped_does_so_too(void **state)
{
	mapped = false;
	a_word_waits_for_the_flush(state);
}

static void a_flush_that_is_over_at_once_completes_the_put(void **state)
{
	(void)state;
	flush_at_once = true;
	assert_true(put_bytes(0, sizeof body));
	assert_int_equal(word[0], 1);
	assert_int_equal(n_done[0], 0); /* the caller has been told */
}

static void a_flush_begins_after_the_body(void **state)
{
	(void)state;
	body_at_once = false;
	begin_put(0);
	assert_int_equal(n_flushes, 0);
	complete(&put[0]);
	assert_int_equal(n_flushes, 1);
	complete(&flush[0]);
	assert_there(0, 0);
}

static void a_flush_does_not_cover_bodies_written_later(void **state)
{
	(void)state;
	begin_put(0);
	begin_put(1);
	begin_put(2);
	complete(&flush[0]);
	assert_there(0, 0);
}

static void the_next_flush_serves_all_of_them(void **state)
{
	(void)state;
	for (int i = 0; i < PUTS; i++)
		begin_put(i);
	assert_int_equal(n_flushes, 1);
	complete(&flush[0]);
	assert_int_equal(n_flushes, 2);
	complete(&flush[1]);
	assert_there(0, PUTS - 1);
	assert_int_equal(n_flushes, 2);
}

static void a_next_flush_may_be_over_at_once(void **state)
{
	(void)state;
	begin_put(0);
	begin_put(1);
	flush_at_once = true;
	complete(&flush[0]);
	assert_there(0, 1);
}

static void a_put_after_all_flushes_begins_one(void **state)
{
	(void)state;
	begin_put(0);
	complete(&flush[0]);
	begin_put(1);
	assert_int_equal(n_flushes, 2);
	complete(&flush[1]);
	assert_there(0, 1);
}

static void a_put_of_a_word_needs_no_flush(void **state)
{
	(void)state;
	begin_put(0);
	assert_true(put_bytes(1, 0));
	assert_int_equal(word[1], 2);
	assert_int_equal(word[0], 0);
	assert_int_equal(n_flushes, 1);
}

/** A program may put again as soon as the last put is complete. */
static void put_again(struct cmi_op *o)
{
	if (++n_done[o - op] == 1)
		begin_put((int)(o - op));
}

static void a_put_that_is_done_may_be_made_again_at_once(void **state)
{
	(void)state;
	op[1].done = op[2].done = put_again;
	for (int i = 0; i < 3; i++)
		begin_put(i);
	complete(&flush[0]);
	complete(&flush[1]); /* 1 and 2 put again, behind a new flush */
	assert_int_equal(n_flushes, 3);
	complete(&flush[2]);
	complete(&flush[3]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(n_done[i], i ? 2 : 1);
	assert_int_equal(n_flushes, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_word_waits_for_the_flush, setup),
		cmocka_unit_test_setup(a_word_that_is_not_mapped_does_so_too, setup),
		cmocka_unit_test_setup(a_flush_that_is_over_at_once_completes_the_put, setup),
		cmocka_unit_test_setup(a_flush_begins_after_the_body, setup),
		cmocka_unit_test_setup(a_flush_does_not_cover_bodies_written_later, setup),
		cmocka_unit_test_setup(the_next_flush_serves_all_of_them, setup),
		cmocka_unit_test_setup(a_next_flush_may_be_over_at_once, setup),
		cmocka_unit_test_setup(a_put_after_all_flushes_begins_one, setup),
		cmocka_unit_test_setup(a_put_of_a_word_needs_no_flush, setup),
		cmocka_unit_test_setup(a_put_that_is_done_may_be_made_again_at_once, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
