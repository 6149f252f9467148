/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_limits.c: see cmi_limits.h.
 *
 * /proc/self/cgroup has a line for each control group of the process: "0::/a/b" in version 2,
 * "4:memory:/a/b" in version 1. /proc/self/mountinfo says where they are mounted: a mount shows the
 * tree below its root. In a container the root is often the container's own group, and the names
 * lie above it; then the mount point itself is the group.
 */
#include "cmi_limits.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 1024, LINE = 4096 };

/* A hierarchy of control groups. */
struct tree {
	const char *fs;                    /* its type of file system */
	const char *controller;            /* version 1: memory; version 2: "" */
	const char *file;                  /* that has the limit */
};

static const struct tree trees[] = {
	{ "cgroup2", "", "memory.max" },
	{ "cgroup", "memory", "memory.limit_in_bytes" },
};

/* Whether a comma-separated list has this word; the empty list has the empty word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (true) {
		size_t n = strcspn(list, ",");

		if (n == len && !strncmp(list, word, n))
			return true;
		if (!list[n])
			return false;
		list += n + 1;
	}
}

static FILE *open_in_folder(const char *folder, const char *name)
{
	char path[PATH];

	return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path ?
		       fopen(path, "re") : NULL;
}

/* The process's group in this tree, as a path from the tree's root. */
static bool group_of(const char *proc, const struct tree *t, char path[PATH])
{
	FILE *f = open_in_folder(proc, "cgroup");
	char line[LINE];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f)) {
		char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;

		if (!at)
			continue;
		*at++ = 0;
		at[strcspn(at, "\n")] = 0;
		found = has_word(list + 1, t->controller) && strlen(at) < PATH;
		if (found)
			strcpy(path, at);
	}
	if (f)
		fclose(f);
	return found;
}

/* Where the tree is mounted, and which subtree. A line of mountinfo:
 *
 *	35 31 0:32 ROOT POINT rw,relatime - cgroup cgroup rw,memory */
static bool mount_of(const char *proc, const struct tree *t, char root[PATH], char point[PATH])
{
	FILE *f = open_in_folder(proc, "mountinfo");
	char line[LINE], fs[64], options[PATH];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f)) {
		const char *behind = strstr(line, " - ");

		found = behind && sscanf(line, "%*s %*s %*s %1023s %1023s", root, point) == 2 &&
			sscanf(behind, " - %63s %*s %1023s", fs, options) == 2 && !strcmp(fs, t->fs) &&
			(!*t->controller || has_word(options, t->controller));
	}
	if (f)
		fclose(f);
	return found;
}

/* One number, or the word max. */
static uint64_t read_limit(const char *folder, const char *file)
{
	FILE *f = open_in_folder(folder, file);
	unsigned long long bytes;
	uint64_t limit = UINT64_MAX;

	if (f && fscanf(f, "%llu", &bytes) == 1)
		limit = bytes;
	if (f)
		fclose(f);
	return limit;
}

/* The group's path relative to the mount's root; "" when the group is not below it. */
static const char *path_below(const char *group, const char *root)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;

	return !strncmp(group, root, len) && (group[len] == '/' || !group[len]) ? group + len : "";
}

/* The least limit of the group and of all above it. */
static uint64_t tree_limit(const char *proc, const char *before, const struct tree *t)
{
	char group[PATH], root[PATH], point[PATH], folder[3 * PATH];
	uint64_t least = UINT64_MAX;

	if (!group_of(proc, t, group) || !mount_of(proc, t, root, point))
		return least;
	int top = snprintf(folder, sizeof folder, "%s%s", before, point);

	snprintf(folder + top, sizeof folder - (size_t)top, "%s", path_below(group, root));
	while (true) {
		uint64_t limit = read_limit(folder, t->file);
		char *last = strrchr(folder + top, '/');

		least = limit < least ? limit : least;
		if (!last)
			return least;
		*last = 0;
	}
}

uint64_t cmi_limit_cgroups(const char *proc, const char *root)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
		uint64_t limit = tree_limit(proc, root, &trees[i]);

		least = limit < least ? limit : least;
	}
	return least;
}

uint64_t cmi_limit_shared(void)
{
	uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t group = cmi_limit_cgroups("/proc/self", "");

	return group < host ? group : host;
}

uint64_t cmi_limit_own(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_AS, &l) || l.rlim_cur == RLIM_INFINITY ? UINT64_MAX : l.rlim_cur;
}
