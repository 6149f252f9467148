/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.c: a node for the launcher's tests, built on the bootstrap client alone. It does what its arguments
 * say, in order; "@R" before a word means on rank R only:
 *
 *   join            boot_init; without it the program never uses PMI
 *   bare            as join, as a library without the clients of launchers does it
 *   fence           boot_fence, 10 s
 *   late N          boot_fence, N ms, to which not everybody comes
 *   exchange N      every rank puts N bytes, fences, gets and checks everybody's
 *   rules           the corners of put and get
 *   twice           put keys that exchange and rules have put; other launchers take them
 *   finish          boot_finish
 *   abort N         boot_abort(N), then exit(N)
 *   exit N          exit(N)
 *   kill N          send signal N to itself
 *   sleep           forever
 *   env             print the launcher's variables
 *   reader          print our rank and the one that reads for our host, "3:2"
 *   ready FILE      create FILE.RANK, a sign for the test
 *   trap N          on signal N print "got N" and go on; on SIGUSR2 exit(0)
 *   ignore N        ignore signal N
 *   lines N         print N lines of 60 characters, in odd pieces
 *   moan N          print N lines on stderr, each by itself, as a back-trace does
 *   hold            stop ckrun for 0.2 s
 *   child FILE      leave a child that sleeps and holds the pipes; its pid to FILE
 *   leak            whether a child finds an inherited PMI socket or its variable
 *   pid FILE        write our pid to FILE.RANK
 */
#include "../../runtime/machine/boot/boot.h"
#include "../../runtime/machine/boot/launcher.h"
#include "../../runtime/machine/base/cmi_alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void fail(const char *what, int value)
{
	fprintf(stderr, "node: %s: %d\n", what, value);
	_exit(99);
}

/* Instead of fault.c, which belongs to the machine as a whole. */
void cmi_no_memory(size_t bytes, const char *what)
{
	fprintf(stderr, "node: no %zu bytes for %s\n", bytes, what);
	_exit(99);
}

static void require(int rc, const char *what)
{
	if (rc)
		fail(what, rc);
}

static uint8_t pattern(int rank, size_t i)
{
	return (uint8_t)(i * 7 + (size_t)rank * 13 + (i >> 8));
}

static void exchange(struct boot *b, size_t len)
{
	uint8_t *mine = malloc(len + 1), *got = malloc(len + 1);
	size_t got_len;
	for (size_t i = 0; i < len; i++)
		mine[i] = pattern(boot_rank(b), i);
	require(boot_put(b, "addr", mine, len), "put");
	require(boot_fence(b, 10000), "fence");
	for (int r = 0; r < boot_size(b); r++) {
		require(boot_get(b, r, "addr", got, len, &got_len), "get");
		if (got_len != len)
			fail("length", (int)got_len);
		for (size_t i = 0; i < len; i++)
			if (got[i] != pattern(r, i))
				fail("byte", (int)i);
	}
	free(mine);
	free(got);
}

static void rules(struct boot *b)
{
	uint8_t byte = 7, got[8];
	size_t len = 99;
	if (boot_get(b, 0, "never", got, sizeof(got), &len) != -ENOENT)
		fail("a key that nobody put", 0);
	if (boot_put(b, "bad key", &byte, 1) != -EINVAL || boot_put(b, "", &byte, 1) != -EINVAL ||
	    boot_put(b, "abcdefghijabcdefghijabcdefghijabc", &byte, 1) != -EINVAL)
		fail("a key that cannot be", 0);
	if (boot_get(b, boot_size(b), "x", got, 8, &len) != -EINVAL)
		fail("a rank that is not", 0);
	require(boot_put(b, "abcdefghijabcdefghijabcdefghijab", "12345678", 8), "long key");
	require(boot_put(b, "empty", NULL, 0), "empty value");
	require(boot_fence(b, 10000), "fence");
	if (boot_get(b, 0, "abcdefghijabcdefghijabcdefghijab", got, 7, &len) != -EMSGSIZE ||
	    len != 8)
		fail("too little room", (int)len);
	require(boot_get(b, 0, "empty", got, 0, &len), "get empty");
	if (len != 0)
		fail("empty length", (int)len);
	require(boot_put(b, "later", &byte, 1), "put after a get");
	require(boot_fence(b, 10000), "fence");
	require(boot_get(b, boot_size(b) - 1, "later", got, 8, &len), "get after a second fence");
	if (len != 1 || got[0] != 7)
		fail("later value", got[0]);
}

/* ckrun knows the first of many keys as well as the last. */
static void twice(struct boot *b)
{
	if (boot_put(b, "addr", "x", 1) != -EEXIST || boot_put(b, "later", "x", 1) != -EEXIST)
		fail("a key that is there already", 0);
}

static void on_signal(int sig)
{
	if (sig == SIGUSR2)
		_exit(0);
	char text[] = "got 00\n";
	text[4] = (char)('0' + sig / 10);
	text[5] = (char)('0' + sig % 10);
	if (write(STDOUT_FILENO, text, 7) != 7)
		_exit(98);
}

static void touch(const char *file, int rank, long content)
{
	char name[4096], temporary[4110];
	snprintf(name, sizeof(name), "%s.%d", file, rank);
	snprintf(temporary, sizeof(temporary), "%s.tmp", name);
	FILE *f = fopen(temporary, "w");
	if (!f || fprintf(f, "%ld\n", content) < 0 || fclose(f) || rename(temporary, name))
		fail("cannot write", errno);
}

/** 60 characters and a newline, written in pieces that never end where a line ends. */
static void lines(int rank, long n)
{
	enum { LINE = 61, PIECE = 997 };
	char *all = malloc((size_t)n * LINE), line[LINE + 40];
	for (long i = 0; i < n; i++) {
		sprintf(line, "%06ld-%03d-%049d\n", i, rank, 7);
		memcpy(all + i * LINE, line, LINE);
	}
	for (size_t at = 0, total = (size_t)n * LINE; at < total;) {
		size_t len = total - at < PIECE ? total - at : PIECE;
		ssize_t w = write(STDOUT_FILENO, all + at, len);
		if (w < 0)
			fail("write", errno);
		at += (size_t)w;
	}
	free(all);
}

/* What we write meanwhile, and what we tell ckrun, it finds at once. */
static void hold_ckrun(void)
{
	const pid_t ckrun = getppid();

	kill(ckrun, SIGSTOP);
	if (fork() == 0) {
		usleep(200000);
		kill(ckrun, SIGCONT);
		_exit(0);
	}
}

static void leave_child(const char *file, int rank)
{
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	touch(file, rank, pid);
}

/* As the scheduler's room steer does. */
static void close_control(void)
{
	int fd;

	if (sscanf(getenv("CK_CONTROL") ? getenv("CK_CONTROL") : "", "fd:%d", &fd) == 1)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void leak(void)
{
	int n = 0;
	struct stat st;
	close_control();
	for (int fd = 3; fd < 256; fd++)
		if (!fstat(fd, &st) && S_ISSOCK(st.st_mode) && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			n++;
	printf("leaked sockets %d variable %s\n", n, getenv("PMI_FD") || getenv("PMIX_RANK") ? "yes" : "no");
}

static const char *value(const char *name)
{
	const char *v = getenv(name);
	return v ? v : "-";
}

static void print_env(void)
{
	printf("rank=%s size=%s pes=%s bind=%s verbose=%s pmix=%s id=%s\n",
	       value("PMI_RANK"), value("PMI_SIZE"), value("CK_PES"), value("CK_BIND"),
	       value("CK_VERBOSE"), value("PMIX_RANK"), value("PMI_ID"));
	fflush(stdout);
}

static const struct launcher *const clients[] = { &pmi1_launcher, &pmix_launcher, NULL };

/** The words without an argument. */
static int plain_word(struct boot **b, const char *w)
{
	if (!strcmp(w, "join")) {
		if (boot_init(clients, b))
			exit(77);
	} else if (!strcmp(w, "bare")) {
		if (boot_init(clients + 2, b))
			exit(77);
	} else if (!strcmp(w, "fence")) {
		require(boot_fence(*b, 10000), "fence");
	} else if (!strcmp(w, "rules")) {
		rules(*b);
	} else if (!strcmp(w, "twice")) {
		twice(*b);
	} else if (!strcmp(w, "finish")) {
		boot_finish(*b);
		*b = NULL;
	} else if (!strcmp(w, "hold")) {
		hold_ckrun();
	} else if (!strcmp(w, "sleep")) {
		for (;;)
			pause();
	} else if (!strcmp(w, "env")) {
		print_env();
	} else if (!strcmp(w, "reader")) {
		printf("%d:%d\n", boot_rank(*b), boot_reader(*b));
		fflush(stdout);
	} else if (!strcmp(w, "leak")) {
		leak();
	} else {
		return 0;
	}
	return 1;
}

static void word_with(struct boot *b, int rank, const char *w, const char *arg)
{
	if (!strcmp(w, "exchange")) {
		exchange(b, (size_t)atol(arg));
	} else if (!strcmp(w, "late")) {
		if (boot_fence(b, atoi(arg)) != -ETIMEDOUT || boot_fence(b, 1) != -EPIPE)
			fail("a fence that cannot be", 0);
	} else if (!strcmp(w, "abort")) {
		boot_abort(b, atoi(arg));
		_exit(atoi(arg));
	} else if (!strcmp(w, "exit")) {
		exit(atoi(arg));
	} else if (!strcmp(w, "kill")) {
		kill(getpid(), atoi(arg));
		pause();
	} else if (!strcmp(w, "ready") || !strcmp(w, "pid")) {
		touch(arg, rank, getpid());
	} else if (!strcmp(w, "trap")) {
		signal(atoi(arg), on_signal);
		signal(SIGUSR2, on_signal);
	} else if (!strcmp(w, "ignore")) {
		signal(atoi(arg), SIG_IGN);
	} else if (!strcmp(w, "lines")) {
		lines(rank, atol(arg));
	} else if (!strcmp(w, "moan")) {
		for (int i = 0; i < atoi(arg); i++)
			dprintf(STDERR_FILENO, "node: line %d\n", i);
	} else if (!strcmp(w, "child")) {
		leave_child(arg, rank);
	} else {
		fail(w, 0);
	}
}

int main(int argc, char **argv)
{
	struct boot *b = NULL;
	int rank = atoi(value(getenv("PMI_RANK") ? "PMI_RANK" : "PMIX_RANK")); /* 0 without a launcher */
	for (int i = 1; i < argc; i++) {
		bool skip = false;
		if (argv[i][0] == '@')
			skip = atoi(argv[i++] + 1) != rank;
		static const char *const plain[] = { "join", "bare", "fence", "rules", "finish", "hold", "sleep",
						     "env", "leak", "twice", "reader" };
		bool has_arg = true;
		for (size_t k = 0; k < sizeof(plain) / sizeof(plain[0]); k++)
			has_arg &= strcmp(argv[i], plain[k]) != 0;
		const char *w = argv[i];
		i += has_arg;
		if (!skip && !plain_word(&b, w))
			word_with(b, rank, w, argv[i]);
	}
	return 0;
}
