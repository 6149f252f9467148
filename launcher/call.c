/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c: ckrun --resize N JOB: the other end of the job's socket (control.c). JOB is the process
 * id of the job's ckrun, the job's folder, or the socket.
 */
#include "launch.h"
#include "reach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** Read the answer until the job hangs up. Returns its length. */
static size_t read_answer(int fd, char *to, size_t cap)
{
	size_t n = 0;

	while (n + 1 < cap) {
		ssize_t got = read(fd, to + n, cap - 1 - n);
		if (got <= 0 && !(got < 0 && errno == EINTR))
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	to[n] = '\0';
	to[strcspn(to, "\n")] = '\0';
	return n;
}

int launch_call(const struct launch_options *o)
{
	char text[600];
	int fd = reach_job(o->argv[0]);

	if (fd < 0) {
		fprintf(stderr, "ckrun: no job '%s' listens here: %s\n", o->argv[0], strerror(errno));
		return 1;
	}
	snprintf(text, sizeof(text), "chard 1 resize %d\n", o->resize);
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL);
	const bool any = read_answer(fd, text, sizeof(text)) > 3;
	const bool ok = any && !strncmp(text, "ok ", 3);
	close(fd);
	fprintf(ok ? stdout : stderr, "ckrun: %s\n",
		any ? text + 3 : "the job has ended without an answer");
	return !ok;
}
