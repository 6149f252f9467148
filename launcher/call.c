/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c: ckrun --resize N JOB: the other end of the job's socket (control.c). JOB is the process
 * id of the job's ckrun, the job's folder, or the socket.
 */
#include "launch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/** Connect to "FOLDER/control", or to the path itself if it is no folder. -1: nobody listens. */
static int connect_to(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;
	const char *tail = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "/control" : "";

	if (snprintf(at.sun_path, sizeof(at.sun_path), "%s%s", path, tail) >= (int)sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/** The folder is named after ckrun's process id (folder.c). */
static int find_in(const char *place, const char *pid)
{
	const size_t len = strlen(pid);
	DIR *d = place ? opendir(place) : NULL;
	int fd = -1;

	if (!d)
		return -1;
	for (struct dirent *e; fd < 0 && (e = readdir(d));) {
		char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

		if (strncmp(e->d_name, "ckrun.", 6) || strncmp(e->d_name + 6, pid, len) ||
		    e->d_name[6 + len] != '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", place, e->d_name) < (int)sizeof(path))
			fd = connect_to(path);
	}
	closedir(d);
	return fd;
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static int find_job(const char *job)
{
	int fd = -1;

	if (!is_number(job))
		return connect_to(job);
	for (int i = 0; fd < 0 && i < LAUNCH_PLACES; i++)
		fd = find_in(launch_folder_place(i), job);
	errno = ENOENT;
	return fd;
}

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
	int fd = find_job(o->argv[0]);

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
