/* SPDX-License-Identifier: Apache-2.0 */
/* image_folder.c: begins, commits and removes checkpoints. The order of its system calls is what
 * makes a checkpoint whole or absent, whichever of them is the last. */
#include "image_folder.h"
#include "image_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HALF ".tmp"

enum { DIR_MODE = 0777, NAME = 300 };

/* ---- names ---------------------------------------------------------------------------------- */

char *image_folder_path(char to[IMAGE_PATH], const char *dir, uint64_t sequence)
{
	snprintf(to, IMAGE_PATH, "%s/ck-%06" PRIu64, dir, sequence);
	return to;
}

static char *half_path(char to[IMAGE_PATH], const char *dir, uint64_t sequence)
{
	snprintf(to, IMAGE_PATH, "%s/ck-%06" PRIu64 HALF, dir, sequence);
	return to;
}

char *image_folder_node(char to[IMAGE_PATH], const char *dir, uint64_t sequence, uint32_t node)
{
	snprintf(to, IMAGE_PATH, "%s/ck-%06" PRIu64 HALF "/node-%05" PRIu32, dir, sequence, node);
	return to;
}

/* The number in ck-000042 or ck-000042.tmp; 0: another name. */
static uint64_t number_of(const char *name, bool *half)
{
	char *end;

	if (strncmp(name, "ck-", 3) || name[3] < '0' || name[3] > '9')
		return 0;

	const uint64_t n = strtoull(name + 3, &end, 10);

	*half = strcmp(end, HALF) == 0;
	return *end && !*half ? 0 : n;
}

/* ---- what is there -------------------------------------------------------------------------- */

uint64_t image_folder_below(const char *dir, uint64_t limit)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	uint64_t newest = 0;

	while (d && (e = readdir(d))) {
		bool half = false;
		const uint64_t n = number_of(e->d_name, &half);

		if (!half && n > newest && n < limit)
			newest = n;
	}
	if (d)
		closedir(d);
	return newest;
}

uint64_t image_folder_newest(const char *dir)
{
	return image_folder_below(dir, UINT64_MAX);
}

/* Of a checkpoint: it has no folders in it. */
static void remove_folder(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	char file[IMAGE_PATH + NAME_MAX];

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			snprintf(file, sizeof file, "%s/%s", path, e->d_name);
			unlink(file);
		}
	if (d)
		closedir(d);
	rmdir(path);
}

/* First by name, so that what is half removed looks like what is half written. */
static void remove_whole(const char *dir, uint64_t sequence)
{
	char path[IMAGE_PATH], half[IMAGE_PATH];

	if (rename(image_folder_path(path, dir, sequence), half_path(half, dir, sequence)) == 0)
		remove_folder(half);
}

/* We have the lock, so nobody writes these any more. A job that just now tries to get the lock loses
 * its file, and would be refused anyway. */
static void remove_half_written(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	char path[IMAGE_PATH];

	while (d && (e = readdir(d))) {
		bool half = false;
		const uint64_t n = number_of(e->d_name, &half);

		if (n && half)
			remove_folder(half_path(path, dir, n));
		if (strncmp(e->d_name, "lock.", 5) == 0) {
			snprintf(path, sizeof path, "%.3800s/%s", dir, e->d_name);
			unlink(path);
		}
	}
	if (d)
		closedir(d);
}

static void remove_older(const struct image_folder *f, uint64_t sequence)
{
	uint64_t n = sequence;

	for (unsigned i = 1; n && i < f->keep; i++)
		n = image_folder_below(f->dir, n);
	while (n && (n = image_folder_below(f->dir, n)))
		remove_whole(f->dir, n);
}

/* ---- one checkpoint ------------------------------------------------------------------------- */

static bool cannot(struct image_why *why, const char *path, const char *what)
{
	return image_says(why, "%s: cannot %s: %s", path, what, strerror(errno));
}

static bool make_folder(const char *path, bool may_be_there, struct image_why *why)
{
	if (mkdir(path, DIR_MODE) == 0 || (may_be_there && errno == EEXIST))
		return true;
	return cannot(why, path, "make the folder");
}

bool image_folder_begin(struct image_folder *f, uint64_t sequence, struct image_why *why)
{
	char path[IMAGE_PATH];

	if (strlen(f->dir) > IMAGE_PATH - NAME)
		return image_says(why, "%.100s...: the name of the folder is too long", f->dir);
	if (!make_folder(f->dir, true, why) || !image_lock_take(&f->lock, f->dir, f->job, why))
		return false;
	if (access(image_folder_path(path, f->dir, sequence), F_OK) == 0)
		return image_says(why, "%s is there already", path);
	remove_half_written(f->dir);
	return make_folder(half_path(path, f->dir, sequence), false, why);
}

static bool write_manifest(const char *half, const struct image_manifest *m, struct image_why *why)
{
	char path[IMAGE_PATH + NAME];
	size_t bytes;
	char *text = image_manifest_text(m, &bytes);

	if (!text)
		return image_says(why, "%s: no memory for the manifest", half);
	snprintf(path, sizeof path, "%s/MANIFEST", half);

	const bool ok = image_write_text(path, text, bytes, why);

	free(text);
	return ok;
}

static bool point_latest(const char *dir, uint64_t sequence, struct image_why *why)
{
	char half[IMAGE_PATH], latest[IMAGE_PATH], target[NAME];

	snprintf(target, sizeof target, "ck-%06" PRIu64, sequence);
	snprintf(half, sizeof half, "%s/latest" HALF, dir);
	snprintf(latest, sizeof latest, "%s/latest", dir);
	unlink(half); /* of an earlier trial */
	if (symlink(target, half) == 0 && rename(half, latest) == 0)
		return image_sync_folder(dir, why);
	cannot(why, latest, "make the link");
	unlink(half);
	return false;
}

/* The files are on the disk before the folder names them, the folder before it gets its name, and
 * the name before `latest` leads to it; only then the oldest goes. */
static bool publish(struct image_folder *f, const struct image_manifest *m, struct image_why *why)
{
	char half[IMAGE_PATH], whole[IMAGE_PATH];

	half_path(half, f->dir, m->sequence);
	image_folder_path(whole, f->dir, m->sequence);
	if (!image_lock_check(&f->lock, why) || !write_manifest(half, m, why) ||
	    !image_sync_folder(half, why))
		return false;
	if (rename(half, whole))
		return cannot(why, whole, "give the checkpoint its name");
	if (image_sync_folder(f->dir, why) && point_latest(f->dir, m->sequence, why))
		return true;
	if (rename(whole, half))
		return false; /* it stays, complete, and nothing leads to it */
	return false;
}

bool image_folder_commit(struct image_folder *f, const struct image_manifest *m,
			 struct image_why *why)
{
	if (publish(f, m, why)) {
		remove_older(f, m->sequence);
		return true;
	}
	image_folder_abandon(f, m->sequence);
	return false;
}

void image_folder_abandon(struct image_folder *f, uint64_t sequence)
{
	char path[IMAGE_PATH];
	struct image_why why;

	/* What another job writes under this name is not ours. */
	if (image_lock_check(&f->lock, &why))
		remove_folder(half_path(path, f->dir, sequence));
}

void image_folder_close(struct image_folder *f)
{
	image_lock_drop(&f->lock);
}
