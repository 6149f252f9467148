/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.c: --restart, --restart-if-any and --restart-older. The nodes read the checkpoint
 * (CK_RESTART); ckrun says early that there is none. For --restart-older it reads all of it: nodes
 * that find damage have begun already.
 */
#include "launch.h"
#include "../runtime/image/image_folder.h"
#include "../runtime/image/image_set.h"

#include "../runtime/machine/tools/one_line.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Nothing was found in the folder. Whether that is so because nothing is there; else it cannot be
 * read. */
static bool is_unused(const char *dir)
{
	return access(dir, R_OK | X_OK) == 0 || errno == ENOENT;
}

static bool is_whole(const char *folder, struct image_why *why)
{
	struct image_set s;
	bool ok;

	if (!image_set_open(&s, folder, NULL, why))
		return false;
	ok = true;
	for (uint32_t i = 0; ok && i < s.m.n_nodes; i++)
		ok = image_set_check(&s, i, why);
	image_set_close(&s);
	return ok;
}

__attribute__((format(printf, 1, 2))) static void say_older(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	one_line_print("ckrun: ", fmt, args);
	va_end(args);
}

/** The newest checkpoint in the folder that is whole, or in `folder` the one that was found. */
static int find_whole(const char *dir, char folder[IMAGE_PATH])
{
	uint64_t at = image_folder_newest(dir);
	struct image_why why;

	while (!is_whole(folder, &why)) {
		at = at ? image_folder_below(dir, at) : 0;
		if (!at)
			return launch_wrong(LAUNCH_RESTART_OLDER " %s; there is no older one in %s", why.text, dir);
		say_older("%s; starting from the older %s", why.text, image_folder_path(folder, dir, at));
	}
	return -1;
}

/** All nodes get the name of the checkpoint itself. A link may lead to another one by the time that
 * the last of them follows it. */
static void set_restart(const char *folder, const char *given)
{
	char path[PATH_MAX];

	if (setenv("CK_RESTART", realpath(folder, path) ? path : given, true))
		launch_must_have(NULL, "the nodes' environment");
}

bool launch_restart_checkpoints(char *dir, size_t cap)
{
	const char *text = getenv("CK_CHECKPOINT");
	const int n = text ? (int)strcspn(text, ",") : 0;

	if (!n || (n == 6 && !strncmp(text, "memory", 6)))
		return false;
	return snprintf(dir, cap, "%.*s", n, text) < (int)cap;
}

const char *launch_restart_from(const struct launch_job *job, uint64_t saved, char *text,
				size_t cap)
{
	if (saved)
		snprintf(text, cap, "checkpoint %llu", (unsigned long long)saved);
	else
		snprintf(text, cap, "%s", job->first_restart ? job->first_restart : "the beginning");
	return text;
}

int launch_restart(const struct launch_options *o)
{
	struct image_why why = { "" };
	char folder[IMAGE_PATH];

	if (!o->restart)
		return -1;
	if (!image_set_find(folder, o->restart, NULL)) {
		if (!strcmp(o->restart_option, LAUNCH_RESTART_IF_ANY) && is_unused(o->restart))
			return unsetenv("CK_RESTART") ? 1 : -1;
		image_set_find(folder, o->restart, &why);
		return launch_wrong("%s %s", o->restart_option, why.text);
	}
	if (!strcmp(o->restart_option, LAUNCH_RESTART_OLDER)) {
		const int wrong = find_whole(o->restart, folder);

		if (wrong >= 0)
			return wrong;
	}
	set_restart(folder, o->restart);
	return -1;
}
