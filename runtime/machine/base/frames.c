/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c: has a child find the names, and waits for it.
 *
 * The child is made by clone, without the functions that fork would call: no lock of the program
 * is taken. It is a copy of this process, so what it looks up in itself is true of its parent.
 * If a lock was held, by another thread or by malloc as it found the heap damaged, it sleeps for
 * ever, and the parent kills it.
 */
#include "frames.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmi_env.h"
#include "die.h"

enum {
	STACK_BYTES = 1 << 20,
	TEXT_BYTES = 32 << 10,
	/* A program with hundreds of megabytes of debug information takes half a second, and a machine
	 * may be loaded. */
	MOST_MS = 5000,
	/* It computes and reads files. If it is found asleep so often in a row, it waits for a lock. */
	LOOK_MS = 50,
	ASLEEP_MOST = 8,
};

struct task {
	const struct frames *frames;
	int done;                 /* a byte: the names are found, and are about to be written */
};

/* ---- the child ------------------------------------------------------------------------------- */

/* A fault ends it without a word, and it ends with its parent. No file is fetched from a server
 * of debug information. */
static void stand_alone(void)
{
	const struct rlimit no_core = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	setrlimit(RLIMIT_CORE, &no_core);
	unsetenv("DEBUGINFOD_URLS");
}

/* Not by _exit, at which a sanitizer looks for what the child, a copy, has not done. */
static int child(void *arg)
{
	const struct task *t = arg;
	char text[TEXT_BYTES];

	stand_alone();
	if (frames_text(t->frames, text, sizeof text) > 0 && write(t->done, "", 1) == 1)
		die_write(text);
	return (int)syscall(SYS_exit_group, 0);
}

/* ---- its parent ------------------------------------------------------------------------------ */

static int now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int)(t.tv_sec % 1000000 * 1000 + t.tv_nsec / 1000000);
}

/* Whether the child sleeps, and not for a disk. False where that cannot be seen. */
static bool is_asleep(pid_t pid)
{
	char path[32], text[64];
	const char *state;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof text - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	state = strrchr(text, ')'); /* behind its name */
	return state && strncmp(state, ") S", 3) == 0;
}

/* Whether the byte comes in time. Signals interrupt poll, such as the watchdog's. */
static bool comes(int fd, pid_t child)
{
	const int begin = now_ms();
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int asleep = 0;
	char byte;

	while (now_ms() - begin < MOST_MS && asleep < ASLEEP_MOST) {
		const int n = poll(&p, 1, LOOK_MS);

		if (n > 0)
			return read(fd, &byte, 1) == 1;
		if (n == 0)
			asleep = is_asleep(child) ? asleep + 1 : 0;
	}
	return false;
}

/* No signal tells the parent of its end, which a handler of the program would see. */
static bool run_child(const struct frames *f, char *stack_end)
{
	struct task t = {.frames = f};
	bool told;
	pid_t pid;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return false;
	t.done = fd[1];
	pid = clone(child, stack_end, 0, &t);
	close(fd[1]);
	told = pid > 0 && comes(fd[0], pid);
	close(fd[0]);
	if (pid > 0) {
		if (!told)
			kill(pid, SIGKILL);
		while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	return told;
}

static const char *const wishes[] = {
	[FRAMES_OF_PROGRAM] = "program", [FRAMES_ALL] = "all", [FRAMES_PLAIN] = "plain"
};
enum { N_WISHES = sizeof wishes / sizeof *wishes };

void frames_check_wish(void)
{
	(void)cmi_env_word("CK_BACKTRACE", wishes, N_WISHES, FRAMES_OF_PROGRAM);
}

enum frames_wanted frames_wish(void)
{
	const char *text = cmi_env_text("CK_BACKTRACE");

	for (int i = 0; text && i < N_WISHES; i++)
		if (strcmp(text, wishes[i]) == 0)
			return (enum frames_wanted)i;
	return FRAMES_OF_PROGRAM;
}

bool frames_print(const struct frames *f)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	bool told;

	if (stack == MAP_FAILED)
		return false;
	told = run_child(f, stack + STACK_BYTES);
	munmap(stack, STACK_BYTES);
	return told;
}
