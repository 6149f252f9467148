/* SPDX-License-Identifier: Apache-2.0 */
/* test_image_keeper.c: a node's questions to a keeper, which is a thread of ours that answers as it
 * is told. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample.h"
#include "../../runtime/image/image_keeper.h"
#include "../../runtime/machine/tools/abstract.h"

/* What the keeper does with one packet. */
struct reply {
	bool hangs_up;
	size_t bytes;             /* of the answer; 0: all */
	struct image_keeper_answer answer;
	int fds[6], n_fds;
};

static char name[64];
static int listener;
static pthread_t keeper;
static struct reply replies[4];
static struct image_keeper_ask asked[4];
static int n_asked, n_replies;

static void answer(int to, const struct reply *r)
{
	union {
		char bytes[CMSG_SPACE(sizeof r->fds)];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec from = { (void *)(uintptr_t)&r->answer, r->bytes ? r->bytes : sizeof r->answer };
	struct msghdr m = { .msg_iov = &from, .msg_iovlen = 1 };
	const size_t bytes = (size_t)r->n_fds * sizeof(int);

	if (bytes) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(bytes);
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), r->fds, bytes);
	}
	if (sendmsg(to, &m, MSG_NOSIGNAL) != (ssize_t)from.iov_len)
		abort();
}

static void *keep(void *arg)
{
	const int node = accept(listener, NULL, NULL);

	for (n_asked = 0; n_asked < n_replies; n_asked++) {
		if (recv(node, &asked[n_asked], sizeof *asked, 0) != sizeof *asked ||
		    replies[n_asked].hangs_up)
			break;
		answer(node, &replies[n_asked]);
	}
	/* READ has no answer. */
	if (n_asked == n_replies && recv(node, &asked[n_asked], sizeof *asked, 0) > 0)
		n_asked++;
	close(node);
	return arg;
}

static struct image_memory memory;

static struct reply with_memory(uint32_t mirrors)
{
	return (struct reply){ .answer = { .ok = 1, .mirrors = mirrors }, .n_fds = 3,
			       .fds = { memory.slot[0], memory.slot[1], memory.page_fd } };
}

/* The keeper is there, and gives these answers. */
static void is_told(int n, const struct reply *r)
{
	memcpy(replies, r, (size_t)n * sizeof *r);
	n_replies = n;
	assert_int_equal(pthread_create(&keeper, NULL, keep, NULL), 0);
}

static void has_ended(void)
{
	assert_int_equal(pthread_join(keeper, NULL), 0);
}

static int start(void **state)
{
	struct image_why why = { "" };
	struct sockaddr_un at;
	socklen_t n;

	(void)state;
	snprintf(name, sizeof name, "@chard-test-keeper-%d", (int)getpid());
	n = abstract_address(&at, name);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_true(image_memory_make(&memory, &why));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	image_memory_close(&memory);
	close(listener);
	return 0;
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 100; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- hello ----------------------------------------------------------------------------------- */

static void its_memory_is_ours(void **state)
{
	const struct reply r = with_memory(1);
	struct image_keeper k = { 0 };
	struct image_memory mine;
	struct image_why why = { "" };

	(void)state;
	is_told(1, &r);
	assert_true(image_keeper_open(&k, name, 5, &mine, &why));
	assert_true(image_memory_map(&mine, &why));
	assert_true(k.mirrors);
	assert_int_equal(fcntl(mine.slot[1], F_GETFD), FD_CLOEXEC);
	image_memory_commit(&mine, 9, &(struct image_info){ .bytes = 7 });
	assert_int_equal(image_memory_committed(&memory, NULL), 9);
	image_memory_close(&mine);
	image_keeper_close(&k);
	has_ended();
	assert_int_equal(asked[0].version, IMAGE_KEEPER_VERSION);
	assert_int_equal(asked[0].word, IMAGE_KEEPER_HELLO);
	assert_int_equal(asked[0].node, 5);
}

static void nobody_listens(void **state)
{
	static const char *const names[] = {
		"@chard-test-nobody", "@", "", "x",
		("@0123456789012345678901234567890123456789012345678901234567890123456789"
		 "0123456789012345678901234567890123456789"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct image_keeper k = { 0 };
		struct image_memory mine;
		struct image_why why = { "" };

		assert_false(image_keeper_open(&k, names[i], 0, &mine, &why));
		assert_string_equal(why.text, "");
		assert_false(k.is_open);
	}
}

/* Whatever comes, no descriptor stays open. */
static void wrong_answers_are_refused(void **state)
{
	struct reply r[] = {
		{ .answer = { .ok = 0, .why = "no room at the inn" } },
		{ .hangs_up = true },
		{ .answer = { .ok = 1 } },
		with_memory(0), with_memory(0), with_memory(0),
	};
	static const char *const says[] = { "no room", "has ended", "another version", "another version",
					    "another version", "another version" };

	(void)state;
	r[3].n_fds = 2;
	r[4].n_fds = 4;
	r[5].bytes = 12;
	r[4].fds[3] = 0;
	for (size_t i = 0; i < sizeof r / sizeof *r; i++) {
		const int before = open_files();
		struct image_keeper k = { 0 };
		struct image_memory mine;
		struct image_why why = { "" };

		is_told(1, &r[i]);
		assert_false(image_keeper_open(&k, name, 0, &mine, &why));
		has_ended();
		assert_non_null(strstr(why.text, says[i]));
		assert_int_equal(open_files(), before);
	}
}

/* ---- images ---------------------------------------------------------------------------------- */

static void write_image(uint64_t sequence, uint32_t node)
{
	const struct sample s = { .node = node, .n_nodes = 2, .sequence = sequence, .n_elements = 3,
				  .element_bytes = 100 };
	struct image_head *h = sample_head(&s);
	struct image_region r = { 0 };
	struct image_why why = { "" };

	assert_true(image_region_reserve(&memory, &r, sequence, node, h->bytes, &why));
	sample_write(&s, h, r.base);
	image_region_unmap(&r);
	free(h);
}

static void an_image_is_where_the_keeper_says(void **state)
{
	const struct reply r[] = {
		with_memory(0),
		{ .answer = { .ok = 1, .offset = UINT64_C(1) << IMAGE_NODE_SHIFT }, .n_fds = 1,
		  .fds = { memory.slot[0] } },
		{ .answer = { .ok = 1, .offset = 0 }, .n_fds = 1, .fds = { memory.slot[0] } },
	};
	struct image_keeper k = { 0 };
	struct image_memory mine;
	struct image_region region = { 0 };
	struct image_why why = { "" };
	size_t bytes = 0;

	(void)state;
	write_image(4, 1);
	is_told(3, r);
	assert_true(image_keeper_open(&k, name, 0, &mine, &why));
	assert_true(image_keeper_get(&k, &region, 4, 1, &bytes, &why));
	assert_true(bytes > 300);
	assert_memory_equal(region.base, IMAGE_MAGIC, sizeof((struct image_head *)0)->magic);
	image_region_unmap(&region);
	assert_false(image_keeper_get(&k, &region, 4, 1, &bytes, &why)); /* node 0 is there: nothing */
	image_keeper_read(&k);
	has_ended();
	assert_int_equal(asked[1].word, IMAGE_KEEPER_GET);
	assert_int_equal(asked[1].node, 1);
	assert_int_equal(asked[1].sequence, 4);
	assert_int_equal(asked[3].word, IMAGE_KEEPER_READ);
	image_memory_close(&mine);
	image_keeper_close(&k);
}

static void a_mirror_has_the_info_of_node_0(void **state)
{
	const struct reply r[] = { with_memory(1), { .answer = { .ok = 1 } },
				   { .answer = { .ok = 0, .why = "host h3 is lost" } } };
	const struct image_info info = { .bytes = 77, .n_pes = 3 };
	struct image_keeper k = { 0 };
	struct image_memory mine;
	struct image_why why = { "" };

	(void)state;
	is_told(3, r);
	assert_true(image_keeper_open(&k, name, 2, &mine, &why));
	assert_true(image_keeper_mirror(&k, 11, &info, &why));
	assert_false(image_keeper_mirror(&k, 12, NULL, &why));
	assert_string_equal(why.text, "host h3 is lost");
	image_keeper_hang_up(&k);
	has_ended();
	assert_false(image_keeper_mirror(&k, 13, NULL, &why));
	assert_int_equal(asked[1].word, IMAGE_KEEPER_MIRROR);
	assert_int_equal(asked[1].node, 2);
	assert_int_equal(asked[1].sequence, 11);
	assert_int_equal(asked[1].has_info, 1);
	assert_int_equal(asked[1].info.bytes, 77);
	assert_int_equal(asked[2].has_info, 0);
	image_memory_close(&mine);
	image_keeper_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(its_memory_is_ours, start, stop),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test_setup_teardown(wrong_answers_are_refused, start, stop),
		cmocka_unit_test_setup_teardown(an_image_is_where_the_keeper_says, start, stop),
		cmocka_unit_test_setup_teardown(a_mirror_has_the_info_of_node_0, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
