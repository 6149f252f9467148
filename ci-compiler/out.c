/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.c: keeps generated text in memory, and writes files completely or not at all.
 *
 * After an interrupted make or on a full disk, there must not be half a header that is newer than its
 * .ci file.
 */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ci_out ci_out_open(struct ci *ci, const char *path)
{
	return (struct ci_out){
		.ci = ci, .path = path, .line = 1,
		.tmp_path = ci_fmt(ci, "%s.tmp%ld", path, (long)getpid()),
	};
}

static void append(struct ci_out *o, const char *s)
{
	size_t n = strlen(s);

	if (o->len + n + 1 > o->room) {
		size_t room = 2 * o->room + n + 4096;
		char *text = ci_alloc(o->ci, room);

		if (o->len != 0)
			memcpy(text, o->text, o->len);
		o->text = text;
		o->room = room;
	}
	memcpy(o->text + o->len, s, n + 1);
	o->len += n;
	for (; *s != '\0'; s++)
		o->line += *s == '\n';
}

void ci_put(struct ci_out *o, const char *fmt, ...)
{
	char small[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if ((size_t)n < sizeof small) {
		append(o, small);
		return;
	}
	char *big = ci_alloc(o->ci, (size_t)n + 1);

	va_start(ap, fmt);
	vsnprintf(big, (size_t)n + 1, fmt, ap);
	va_end(ap);
	append(o, big);
}

static void put_line(struct ci_out *o, int line, const char *path)
{
	ci_put(o, "#line %d \"", line);
	for (; *path != '\0'; path++)
		ci_put(o, *path == '"' || *path == '\\' ? "\\%c" : "%c", *path);
	ci_put(o, "\"\n");
}

void ci_put_line(struct ci_out *o, const struct ci_tok *tok)
{
	put_line(o, tok->line, tok->path);
}

void ci_put_line_back(struct ci_out *o)
{
	put_line(o, o->line + 1, o->path);
}

static bool write_all(int fd, const char *s, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, s, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		s += done;
		n -= (size_t)done;
	}
	return true;
}

static bool write_tmp(const struct ci_out *o)
{
	int fd = open(o->tmp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool ok = fd >= 0 && write_all(fd, o->text, o->len);
	int reason = errno;

	if (fd >= 0 && close(fd) != 0 && ok) {
		ok = false;
		reason = errno;
	}
	if (!ok)
		ci_complain("cannot write %s: %s", o->path, strerror(reason));
	return ok;
}

bool ci_out_write(struct ci_out *const *files, int n)
{
	int written = 0;
	int renamed = 0;

	while (written < n && write_tmp(files[written]))
		written++;
	if (written == n) {
		while (renamed < n && rename(files[renamed]->tmp_path, files[renamed]->path) == 0)
			renamed++;
		if (renamed < n)
			ci_complain("cannot write %s: %s", files[renamed]->path, strerror(errno));
	}
	/* Also remove the file whose writing failed: a part of it may exist. */
	for (int i = renamed; i < n && i <= written; i++)
		unlink(files[i]->tmp_path);
	return renamed == n;
}
