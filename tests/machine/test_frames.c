/* SPDX-License-Identifier: Apache-2.0 */
/* test_frames.c: whatever becomes of the child that finds the names, the report goes on. */
#include "../../runtime/machine/base/frames.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../runtime/machine/base/die.h"
#include "../../runtime/machine/machine_int.h"

int __wrap_frames_text(const struct frames *f, char *text, int room);

static enum { TELLS, KNOWS_NOTHING, CRASHES, HANGS, EXITS } then;

int __wrap_frames_text(const struct frames *f, char *text, int room)
{
	(void)f;
	if (then == CRASHES)
		raise(SIGSEGV);
	if (then == EXITS)
		syscall(SYS_exit_group, 0);
	while (then == HANGS)
		pause();
	return then == TELLS ? snprintf(text, (size_t)room, "two\nlines\n") : 0;
}

/* A node's back-trace; without a node, just the frames. Returns whether they were told. */
static bool tell(struct cmi *m)
{
	const struct frames f = {.n = 0};
	ucontext_t context; /* as a signal's handler has it */

	if (!m)
		return frames_print(&f);
	assert_int_equal(getcontext(&context), 0);
	die_trace(m, "the line", &context);
	return true;
}

/* What is printed. */
static bool print_of(struct cmi *m, int way, char *text, size_t room)
{
	const int kept = dup(STDERR_FILENO);
	int fd[2];
	bool told;

	then = way;
	assert_int_equal(pipe(fd), 0);
	dup2(fd[1], STDERR_FILENO);
	close(fd[1]);
	told = tell(m);
	dup2(kept, STDERR_FILENO);
	close(kept);
	text[read(fd[0], text, room - 1)] = 0; /* all have closed it */
	close(fd[0]);
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);
	assert_int_equal(errno, ECHILD);
	return told;
}

static bool print(int way, char *text, size_t room)
{
	return print_of(NULL, way, text, room);
}

static void names_are_printed(void **state)
{
	char text[64];

	(void)state;
	assert_true(print(TELLS, text, sizeof text));
	assert_string_equal(text, "two\nlines\n");
}

static void a_child_that_fails_prints_nothing(void **state)
{
	char text[64];

	(void)state;
	for (int way = KNOWS_NOTHING; way <= EXITS; way++) {
		assert_false(print(way, text, sizeof text));
		assert_string_equal(text, "");
	}
}

static volatile sig_atomic_t n_told;

static void on_child(int sig)
{
	(void)sig;
	n_told++;
}

static void the_program_is_not_told_of_the_child(void **state)
{
	char text[64];

	(void)state;
	signal(SIGCHLD, on_child);
	assert_true(print(TELLS, text, sizeof text));
	assert_false(print(CRASHES, text, sizeof text));
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(n_told, 0);
}

/* Two nodes of a host, which share what they have printed. */
static void one_node_prints_frames(void **state)
{
	atomic_int frames = 0;
	struct cmi first = {.frames = &frames}, second = {.frames = &frames};
	char text[64];

	(void)state;
	print_of(&first, TELLS, text, sizeof text);
	assert_string_equal(text, "the line\ntwo\nlines\n");
	print_of(&second, TELLS, text, sizeof text);
	assert_string_equal(text, "the line\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_printed),
		cmocka_unit_test(a_child_that_fails_prints_nothing),
		cmocka_unit_test(the_program_is_not_told_of_the_child),
		cmocka_unit_test(one_node_prints_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
