/* SPDX-License-Identifier: Apache-2.0 */
/* restart.c: --restart and --restart-if-any. The nodes read the checkpoint (CK_RESTART); ckrun only
 * says early that there is none. */
#include "launch.h"
#include "../runtime/image/image_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Nothing was found in the folder. Whether that is so because nothing is there; else it cannot be
 * read. */
static bool is_unused(const char *dir)
{
	return access(dir, R_OK | X_OK) == 0 || errno == ENOENT;
}

int launch_restart(const struct launch_options *o)
{
	struct image_why why = { "" };
	char folder[IMAGE_PATH];

	if (!o->restart)
		return -1;
	if (!image_set_find(folder, o->restart, NULL)) {
		if (o->restart_if_any && is_unused(o->restart))
			return unsetenv("CK_RESTART") ? 1 : -1;
		image_set_find(folder, o->restart, &why);
		return launch_wrong("--restart%s %s", o->restart_if_any ? "-if-any" : "", why.text);
	}
	if (setenv("CK_RESTART", o->restart, true))
		launch_must_have(NULL, "the nodes' environment");
	return -1;
}
