/* SPDX-License-Identifier: Apache-2.0 */
/* test_wake_host.c: who can wake a PE of another process, and who cannot. */
#include "../../runtime/machine/shm/wake_host.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "check_skip.h"

enum { NOBODY = 65534 };

/** A door in memory that children share, and its pipe. */
static struct wake_door *door;
static int pipe_fd;

static int setup(void **state)
{
	(void)state;
	door = mmap(NULL, sizeof *door, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pipe_fd = door == MAP_FAILED ? -1 : wake_door_open(door);
	return pipe_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(pipe_fd);
	munmap(door, sizeof *door);
	return 0;
}

static bool woken(void)
{
	struct pollfd p = {.fd = pipe_fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/** Another process, of this user, wakes us `times` times; whether it came to its end. */
static bool other_process_wakes(uid_t user, int times)
{
	const pid_t sleeper = getpid(), other = fork();
	struct wake_keys keys = {0};
	int status = -1;

	if (other == 0) {
		close(pipe_fd);
		if (user && setresuid(user, user, user))
			_exit(1);
		for (int i = 0; i < times; i++)
			wake_host(&keys, 3, sleeper, door);
		wake_keys_close(&keys);
		_exit(0);
	}
	waitpid(other, &status, 0);
	return status == 0;
}

static void a_process_of_the_same_user_wakes(void **state)
{
	(void)state;
	assert_false(woken());
	assert_true(other_process_wakes(0, 1));
	assert_true(woken());
	wake_door_forget(pipe_fd);
	assert_false(woken());
}

static void a_flood_blocks_nobody(void **state)
{
	(void)state;
	assert_true(other_process_wakes(0, 100000));
	assert_true(woken());
	wake_door_forget(pipe_fd);
	assert_false(woken());
}

static void a_stranger_does_not_wake(void **state)
{
	(void)state;
	if (geteuid() != 0)
		CHECK_SKIP("only root can be a stranger");
	assert_true(other_process_wakes(NOBODY, 5));
	assert_false(woken());
}

/* The process has ended, and its numbers are those of something else. */
static void another_file_of_that_number_stays_untouched(void **state)
{
	struct wake_door old;
	struct wake_keys keys = {0};
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	atomic_init(&old.fd, ends[1]);
	atomic_init(&old.inode, atomic_load(&door->inode));
	wake_host(&keys, 0, getpid(), &old);
	assert_int_equal(read(ends[0], &byte, 1), -1);
	wake_keys_close(&keys);
	close(ends[0]);
	close(ends[1]);
}

static void a_process_that_has_gone_is_no_error(void **state)
{
	struct wake_keys keys = {0};
	pid_t gone = fork();

	(void)state;
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	wake_host(&keys, 0, gone, door);
	assert_null(keys.kept[0].door);
	assert_false(woken());
}

/* Its end of the pipe is still open here. */
static void one_who_has_closed_its_pipe_kills_nobody(void **state)
{
	struct wake_keys keys = {0};

	(void)state;
	wake_host(&keys, 0, getpid(), door);
	assert_true(woken());
	close(pipe_fd);
	wake_host(&keys, 0, getpid(), door);
	wake_keys_close(&keys);
	pipe_fd = wake_door_open(door);
	assert_true(pipe_fd >= 0);
}

/* More than are kept open. */
static void many_are_woken_in_turn(void **state)
{
	enum { N = 3 * WAKE_KEPT };
	static struct wake_door doors[N];
	struct wake_keys keys = {0};
	int fds[N];

	(void)state;
	for (int i = 0; i < N; i++)
		assert_true((fds[i] = wake_door_open(&doors[i])) >= 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++)
			wake_host(&keys, i, getpid(), &doors[i]);
		for (int i = 0; i < N; i++) {
			struct pollfd p = {.fd = fds[i], .events = POLLIN};

			assert_int_equal(poll(&p, 1, 0), 1);
			wake_door_forget(fds[i]);
			assert_int_equal(poll(&p, 1, 0), 0);
		}
	}
	wake_keys_close(&keys);
	for (int i = 0; i < N; i++)
		close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_of_the_same_user_wakes),
		cmocka_unit_test(a_flood_blocks_nobody),
		cmocka_unit_test(a_stranger_does_not_wake),
		cmocka_unit_test(another_file_of_that_number_stays_untouched),
		cmocka_unit_test(a_process_that_has_gone_is_no_error),
		cmocka_unit_test(one_who_has_closed_its_pipe_kills_nobody),
		cmocka_unit_test(many_are_woken_in_turn),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
