/* SPDX-License-Identifier: Apache-2.0 */
/* counted_file.c: writes the file that CK_STATS names, complete or not at all. */
#include "counted_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MOST = 4096 };

static void beside(char *name, size_t len, const char *file)
{
	snprintf(name, len, "%s.%ld.tmp", file, (long)getpid());
}

static FILE *open_beside(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

static char *absolute(const char *file)
{
	char folder[PATH_MOST], *path;

	if (*file == '/' || !getcwd(folder, sizeof folder))
		*folder = 0;
	if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", file) < 0)
		cmi_no_memory(strlen(file), "statistics");
	return path;
}

/* 0, or why a file of this name cannot be made, or replace the existing one. */
static int cannot_write(const char *path)
{
	char name[PATH_MOST];
	FILE *f;
	int fd;

	beside(name, sizeof name, path);
	f = open_beside(name);
	if (!f)
		return errno;
	fclose(f);
	unlink(name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	close(fd);
	return 0;
}

/* At the start, so that a run of hours is not lost because of a name. */
void counts_check_file(struct csd_counting *k)
{
	char why[256];
	int err;

	k->path = absolute(k->file);
	err = cannot_write(k->path);
	if (!err)
		return;
	snprintf(why, sizeof why, "the name of a file that can be written (%s)", strerror(err));
	cmi_env_refuse("CK_STATS", k->file, why);
}

/* Complete or not at all: under another name first. */
int counts_write(struct pe *pe)
{
	const char *file = pe->node->counting->path;
	char name[PATH_MOST];
	bool good = false;

	beside(name, sizeof name, file);
	FILE *f = open_beside(name);

	if (f) {
		counts_write_json(f, pe);
		good = !ferror(f) && !fflush(f);
		good = !fclose(f) && good && !rename(name, file);
	}
	if (good)
		return 0;
	int err = errno;

	fprintf(stderr, "chard: cannot write the statistics to %s: %s\n", file, strerror(err));
	unlink(name);
	return -err;
}
