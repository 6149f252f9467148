/* SPDX-License-Identifier: Apache-2.0 */
/* test_window.c: which connections get a bound for their window, when, and what the kernel makes of it. */
#include "../../runtime/machine/ucx/window.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEGMENT = 1448, TURNS_UNTIL_LOOK = 256 };

/** Two ends of a TCP connection with Ethernet's segments, as between hosts. */
struct pair {
	int near, far;
};

/* The kernel does not change what somebody has set. */
enum { AS_IT_COMES, BUFFER = 200000 };

/** As UCX has it: an epoll in an epoll, among other things. */
static int outer, inner, other[2];
static struct windows windows;

static struct pair connect_with_buffer(int buffer)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	const int listener = socket(AF_INET, SOCK_STREAM, 0), segment = SEGMENT, yes = 1;
	struct pair p = {.far = socket(AF_INET, SOCK_STREAM, 0)};

	assert_int_equal(setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment), 0);
	if (buffer)
		assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	assert_int_equal(connect(p.far, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(setsockopt(p.far, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), 0);
	p.near = accept(listener, NULL, NULL);
	assert_true(p.near >= 0);
	close(listener);
	return p;
}

static struct pair connect_pair(void)
{
	return connect_with_buffer(AS_IT_COMES);
}

static void disconnect(struct pair p)
{
	close(p.near);
	close(p.far);
}

static void watch(int epoll_fd, int fd)
{
	struct epoll_event e = {.events = EPOLLIN};

	assert_int_equal(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e), 0);
}

static int setup(void **state)
{
	(void)state;
	outer = epoll_create1(0);
	inner = epoll_create1(0);
	assert_int_equal(pipe(other), 0);
	watch(outer, other[0]);
	watch(outer, inner);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	windows_free(&windows);
	close(outer);
	close(inner);
	close(other[0]);
	close(other[1]);
	return 0;
}

static int window_of(int fd)
{
	int value = -1;
	socklen_t size = sizeof value;

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &value, &size), 0);
	return value;
}

static void turns(int n)
{
	for (int i = 0; i < n; i++)
		windows_turn(&windows, outer, false);
}

static void a_watched_connection_gets_a_bound_below_its_buffer(void **state)
{
	struct pair p = connect_pair();
	const int before = window_of(p.near), far = window_of(p.far);
	int buffer = 0;
	socklen_t size = sizeof buffer;

	(void)state;
	watch(inner, p.near);
	turns(1);
	assert_int_equal(getsockopt(p.near, SOL_SOCKET, SO_RCVBUF, &buffer, &size), 0);
	assert_true(buffer > 2 * WINDOW_ROOM);
	assert_int_equal(window_of(p.near), (int)((int64_t)before * (buffer - WINDOW_ROOM) / buffer));
	assert_int_equal(window_of(p.far), far); /* nobody watches it */
	disconnect(p);
}

static void the_outer_epoll_may_watch_it_itself(void **state)
{
	struct pair p = connect_pair();
	const int before = window_of(p.near);

	(void)state;
	watch(outer, p.near);
	turns(1);
	assert_true(window_of(p.near) < before);
	disconnect(p);
}

static void a_small_buffer_keeps_half_of_it(void **state)
{
	struct pair p = connect_pair();
	const int before = window_of(p.near), small = 20000;

	(void)state;
	assert_int_equal(setsockopt(p.near, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
	watch(inner, p.near);
	turns(1);
	assert_int_equal(window_of(p.near), before / 2);
	disconnect(p);
}

static void what_is_bounded_is_left_alone(void **state)
{
	struct pair p = connect_pair();
	int bound;

	(void)state;
	watch(inner, p.near);
	turns(1);
	bound = window_of(p.near);
	turns(2 * TURNS_UNTIL_LOOK);
	assert_int_equal(window_of(p.near), bound);
	disconnect(p);
}

static void a_stream_gets_its_whole_window_back(void **state)
{
	struct pair p = connect_pair();
	const int whole = window_of(p.near);
	int bound;

	(void)state;
	watch(inner, p.near);
	turns(1);
	bound = window_of(p.near);
	for (int i = 0; i < 3; i++) {
		windows_turn(&windows, outer, true);
		assert_int_equal(window_of(p.near), whole);
	}
	turns(1);
	assert_int_equal(window_of(p.near), bound);
	disconnect(p);
}

/* Each has its turn, also where no look comes. */
static void a_bound_that_the_kernel_forgot_is_set_again(void **state)
{
	enum { N = 20 };
	struct pair p[N];
	const int large = 1 << 20;

	(void)state;
	for (int i = 0; i < N; i++) {
		p[i] = connect_pair();
		watch(inner, p[i].near);
	}
	turns(128);
	for (int i = 0; i < N; i++)
		assert_int_equal(setsockopt(p[i].near, IPPROTO_TCP, TCP_WINDOW_CLAMP, &large, sizeof large), 0);
	turns(N);
	for (int i = 0; i < N; i++)
		assert_true(window_of(p[i].near) < large);
	for (int i = 0; i < N; i++)
		disconnect(p[i]);
}

static void a_later_connection_is_found(void **state)
{
	struct pair first = connect_pair(), later;
	int before;

	(void)state;
	watch(inner, first.near);
	turns(TURNS_UNTIL_LOOK + 1);
	later = connect_pair();
	before = window_of(later.near);
	watch(inner, later.near);
	turns(TURNS_UNTIL_LOOK);
	assert_true(window_of(later.near) < before);
	disconnect(first);
	disconnect(later);
}

/* A connection of the program's own has got the number of one that was closed. */
static void a_number_that_is_used_again_is_forgotten(void **state)
{
	struct pair old = connect_pair(), new = connect_pair();
	int before;

	(void)state;
	watch(inner, old.near);
	turns(TURNS_UNTIL_LOOK);
	assert_int_equal(dup2(new.near, old.near), old.near);
	close(new.near);
	turns(TURNS_UNTIL_LOOK); /* one look */
	before = 1 << 20;
	assert_int_equal(setsockopt(old.near, IPPROTO_TCP, TCP_WINDOW_CLAMP, &before, sizeof before), 0);
	turns(2 * TURNS_UNTIL_LOOK);
	assert_int_equal(window_of(old.near), before);
	disconnect(old);
	close(new.far);
}

static void turns_become_rare(void **state)
{
	int arrivals = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		arrivals += windows_turn(&windows, outer, false);
	assert_true(arrivals > 1000);
}

static void what_is_no_epoll_has_no_connections(void **state)
{
	(void)state;
	assert_true(windows_turn(&windows, other[0], false) > 0);
	assert_true(windows_turn(&windows, -1, false) > 0);
	assert_int_equal(windows.n, 0);
}

/* ---- what the kernel makes of it ------------------------------------------------------------------ */

static char data[100000];

static void pass_on(int from, int to, size_t bytes)
{
	assert_int_equal(send(from, data, bytes, 0), bytes);
	for (size_t n = 0; n < bytes;) {
		ssize_t got = recv(to, data, bytes - n, 0);

		assert_true(got > 0);
		n += (size_t)got;
	}
}

/** As in any job: messages of several sizes, with answers, until the window has grown. */
static void talk(struct pair p)
{
	for (int i = 0; i < 100; i++)
		pass_on(p.far, p.near, sizeof data);
	for (int i = 0; i < 5000; i++) {
		pass_on(p.far, p.near, 2000);
		pass_on(p.near, p.far, 2000);
	}
}

/** How many of n messages are acknowledged before anybody has read them. A message over loopback has come in when `send`
 * returns, but where the kernel is busy some may not. */
static int acknowledged_unread(struct pair p, int n)
{
	enum { BYTES = 20000 };

	int unread = 0;

	for (int i = 0; i < n; i++) {
		struct tcp_info info = {0};
		socklen_t size = sizeof info;

		assert_int_equal(send(p.far, data, BYTES, 0), BYTES);
		assert_int_equal(getsockopt(p.far, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
		unread += info.tcpi_unacked == 0;
		for (size_t left = BYTES; left;)
			left -= (size_t)recv(p.near, data, left, 0);
		pass_on(p.near, p.far, BYTES);
	}
	return unread;
}

static void messages_are_acknowledged_while_they_come_in(void **state)
{
	enum { N = 200 };
	struct pair p = connect_with_buffer(BUFFER);
	int before, after;

	(void)state;
	watch(inner, p.near);
	talk(p);
	before = acknowledged_unread(p, N);
	for (int i = 0; i < N; i++) {
		turns(1);
		acknowledged_unread(p, 1);
	}
	after = acknowledged_unread(p, N);
	printf("acknowledged before they are read: %d of %d messages, with a bound %d\n", before, N, after);
	assert_true(after > N / 2);
	disconnect(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_watched_connection_gets_a_bound_below_its_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(the_outer_epoll_may_watch_it_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(a_small_buffer_keeps_half_of_it, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_bounded_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stream_gets_its_whole_window_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_bound_that_the_kernel_forgot_is_set_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_later_connection_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(a_number_that_is_used_again_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(turns_become_rare, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_epoll_has_no_connections, setup, teardown),
		cmocka_unit_test_setup_teardown(messages_are_acknowledged_while_they_come_in, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
