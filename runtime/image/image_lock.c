/* SPDX-License-Identifier: Apache-2.0 */
/* image_lock.c: who writes into a folder of checkpoints. */
#include "image_lock.h"
#include "image_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../machine/tools/one_line.h"

struct owner {
	char host[128], boot[64], space[64], job[128];
	int pid;
	unsigned long long start;    /* of the process, in ticks since the host's */
};

/* ---- who one is ----------------------------------------------------------------------------- */

static void read_line(const char *path, char *to, size_t n)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t got = fd >= 0 ? read(fd, to, n - 1) : 0;

	to[got > 0 ? got : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* 0: there is no such process, or it has ended and waits to be reaped; in a container that may take
 * as long as the container lasts. The name in the middle may have blanks and parentheses. */
static unsigned long long start_of(int pid)
{
	char path[64], text[1024];
	unsigned long long start = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	read_line(path, text, sizeof text);

	char *at = strrchr(text, ')');

	if (at && at[1] && strchr("ZX", at[2]))
		return 0;

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%llu", &start) == 1 ? start : 0;
}

static void words_only(char *text)
{
	one_line_mask(text);
	for (char *c = text; *c; c++)
		if (*c == ' ')
			*c = '_';
}

static struct owner me(const char *job)
{
	struct owner o = { .pid = (int)getpid() };
	const ssize_t n = readlink("/proc/self/ns/pid", o.space, sizeof o.space - 1);

	o.space[n > 0 ? n : 0] = '\0';
	gethostname(o.host, sizeof o.host - 1);
	read_line("/proc/sys/kernel/random/boot_id", o.boot, sizeof o.boot);
	snprintf(o.job, sizeof o.job, "%s", job);
	o.start = start_of(o.pid);
	words_only(o.host);
	words_only(o.job);
	return o;
}

static void owner_print(const struct owner *o, char text[IMAGE_LOCK_TEXT])
{
	snprintf(text, IMAGE_LOCK_TEXT, "host %s\nboot %s\nspace %s\npid %d\nstart %llu\njob %s\n", o->host,
		 o->boot, o->space, o->pid, o->start, o->job);
}

static bool owner_parse(struct owner *o, const char *text)
{
	*o = (struct owner){ 0 };
	return sscanf(text, "host %127[^\n]\nboot %63[^\n]\nspace %63[^\n]\npid %d\nstart %llu\njob %127[^\n]",
		      o->host, o->boot, o->space, &o->pid, &o->start, o->job) >= 5;
}

/* Only what is certain counts: another host's processes are not seen from here. */
static bool is_dead(const struct owner *o, const struct owner *self)
{
	if (o->job[0] && strcmp(o->job, self->job) == 0)
		return true;
	if (strcmp(o->boot, self->boot))
		return strcmp(o->host, self->host) == 0; /* it has been started again since */
	return strcmp(o->space, self->space) == 0 && start_of(o->pid) != o->start;
}

/* ---- the file ------------------------------------------------------------------------------- */

static void read_lock(const char *path, char text[IMAGE_LOCK_TEXT])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, IMAGE_LOCK_TEXT - 1) : 0;

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static bool is_taken(const struct image_lock *l, const struct owner *o, struct image_why *why)
{
	if (!o->host[0])
		return image_says(why, "%s: another job may be writing here. It is not the file of a job; "
				  "remove it if none does", l->path);
	return image_says(why, "%s: another job writes its checkpoints here: process %d on %s%s%s. Remove "
			  "the file if that has ended", l->path, o->pid, o->host,
			  o->job[0] ? ", job " : "", o->job);
}

/* Of several that do this at once, one has renamed what it had read; another may have got the file of
 * a new owner, and puts it back. */
static void remove_dead(const struct image_lock *l, const char *text)
{
	char aside[IMAGE_PATH + 32], found[IMAGE_LOCK_TEXT];

	snprintf(aside, sizeof aside, "%s.%d", l->path, (int)getpid());
	if (rename(l->path, aside))
		return;
	read_lock(aside, found);
	if (strcmp(found, text) && link(aside, l->path))
		return; /* whoever owns it now finds that out before it commits */
	unlink(aside);
}

/* Returns 1: ours; 0: somebody's; -1: it cannot be made. */
static int create(struct image_lock *l, const struct owner *self, struct image_why *why)
{
	char text[IMAGE_LOCK_TEXT], own[IMAGE_PATH + 96];

	owner_print(self, text);
	snprintf(own, sizeof own, "%s.%.60s.%d", l->path, self->host, self->pid);
	unlink(own); /* of a dead process with this number */
	if (!image_write_text(own, text, strlen(text), why))
		return -1;

	const int e = link(own, l->path) ? errno : 0;

	unlink(own);
	if (e == EEXIST)
		return 0;
	if (e)
		return image_says(why, "%s: cannot make it: %s", l->path, strerror(e)), -1;
	memcpy(l->text, text, sizeof text);
	return 1;
}

bool image_lock_take(struct image_lock *l, const char *dir, const char *job, struct image_why *why)
{
	enum { TRIES = 3 };
	const struct owner self = me(job);
	struct owner other = { 0 };

	if (l->text[0])
		return true;
	snprintf(l->path, sizeof l->path, "%s/lock", dir);
	for (int i = 0; i < TRIES; i++) {
		char text[IMAGE_LOCK_TEXT];
		const int made = create(l, &self, why);

		if (made)
			return made > 0;
		read_lock(l->path, text);
		if (!owner_parse(&other, text) || !is_dead(&other, &self))
			break;
		remove_dead(l, text);
	}
	return is_taken(l, &other, why);
}

bool image_lock_check(const struct image_lock *l, struct image_why *why)
{
	char text[IMAGE_LOCK_TEXT];

	read_lock(l->path, text);
	return (l->text[0] && strcmp(text, l->text) == 0) ||
	       image_says(why, "%s: another job has taken this folder for its checkpoints", l->path);
}

void image_lock_drop(struct image_lock *l)
{
	struct image_why why;

	if (l->text[0] && image_lock_check(l, &why))
		unlink(l->path);
	l->text[0] = '\0';
}
