/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.c: a library for LD_PRELOAD by which a process dies, or gets an error, at its n-th system
 * call that changes a folder (tests/programs/stops.py).
 *
 *	STOP_DIR     the folder; calls for other files are not counted
 *	STOP_RANK    of the process in the job (PMI_RANK)
 *	STOP_AT      n, from 1
 *	STOP_HOW     kill, or an errno; slow: each pwrite takes 0.2 s
 *	STOP_COUNT   a file that gets a letter for each call
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_int n_calls;

static const char *var(const char *name)
{
	const char *text = getenv(name);

	return text ? text : "";
}

/* The node removes the variable when it has read it. */
static bool is_rank;
__attribute__((constructor)) static void begin(void)
{
	is_rank = getenv("PMI_RANK") && !strcmp(var("PMI_RANK"), var("STOP_RANK"));
}

static bool is_meant(const char *path)
{
	const char *dir = var("STOP_DIR");

	return is_rank && *dir && !strncmp(path, dir, strlen(dir));
}

static void count(char letter)
{
	const int fd = NEXT(open)(var("STOP_COUNT"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	if (write(fd, &letter, 1) != 1)
		_exit(1);
	NEXT(close)(fd);
}

/* Whether the call fails; errno is set. */
static bool stops(const char *path, char letter)
{
	const char *how = var("STOP_HOW");

	if (!is_meant(path))
		return false;
	count(letter);
	if (!strcmp(how, "slow")) {
		if (letter == 'w')
			usleep(200000);
		return false;
	}
	if (atomic_fetch_add(&n_calls, 1) + 1 != atoi(var("STOP_AT")))
		return false;
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	errno = atoi(how);
	return true;
}

static bool stops_fd(int fd, char letter)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	return stops(path, letter);
}

PUBLIC int open(const char *path, int flags, ...)
{
	va_list args;

	va_start(args, flags);

	const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;

	va_end(args);
	return (flags & O_CREAT) && stops(path, 'o') ? -1 : NEXT(open)(path, flags, mode);
}

PUBLIC ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return stops_fd(fd, 'w') ? -1 : NEXT(pwrite)(fd, p, n, at);
}

PUBLIC int fdatasync(int fd) { return stops_fd(fd, 'd') ? -1 : NEXT(fdatasync)(fd); }
PUBLIC int fsync(int fd) { return stops_fd(fd, 'f') ? -1 : NEXT(fsync)(fd); }
PUBLIC int mkdir(const char *path, mode_t mode)
{
	return stops(path, 'm') ? -1 : NEXT(mkdir)(path, mode);
}

PUBLIC int rmdir(const char *path) { return stops(path, 'r') ? -1 : NEXT(rmdir)(path); }
PUBLIC int unlink(const char *path) { return stops(path, 'u') ? -1 : NEXT(unlink)(path); }

PUBLIC int rename(const char *from, const char *to)
{
	return stops(to, 'n') ? -1 : NEXT(rename)(from, to);
}

PUBLIC int symlink(const char *to, const char *path)
{
	return stops(path, 's') ? -1 : NEXT(symlink)(to, path);
}

PUBLIC int link(const char *from, const char *to)
{
	return stops(to, 'l') ? -1 : NEXT(link)(from, to);
}
