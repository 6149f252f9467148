/* SPDX-License-Identifier: Apache-2.0 */
/* list.c: ckpt ls: the checkpoints of a folder, by their manifests. */
#include "ckpt.h"
#include "../runtime/image/image_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(const struct image_manifest *m)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->n_nodes; i++)
		bytes += m->files[i].bytes;
	return bytes;
}

static uint64_t latest_of(const char *dir)
{
	char path[IMAGE_PATH];
	struct image_why why;
	struct image_set s;

	snprintf(path, sizeof path, "%.4000s/latest", dir);
	if (!image_set_open(&s, path, NULL, &why))
		return 0;

	const uint64_t sequence = s.m.sequence;

	image_set_close(&s);
	return sequence;
}

static bool list_one(const char *dir, uint64_t sequence, uint64_t latest)
{
	char path[IMAGE_PATH], bytes[CKPT_BYTES_TEXT], time[CKPT_TIME_TEXT];
	struct image_why why;
	struct image_set s;

	if (!image_set_open(&s, image_folder_path(path, dir, sequence), NULL, &why)) {
		complain("%s", why.text);
		return false;
	}
	printf("%-10s  %-19s  %5" PRIu32 " PEs  %4" PRIu32 " nodes  %8s  %s%s\n", strrchr(path, '/') + 1,
	       time_text(time, s.m.time), s.m.n_pes, s.m.n_nodes, bytes_text(bytes, bytes_of(&s.m)),
	       s.m.program, sequence == latest ? "  (latest)" : "");
	image_set_close(&s);
	return true;
}

/* The oldest first. */
static bool list_all(const char *dir, uint64_t latest)
{
	size_t n = 0, room = 0;
	uint64_t *all = NULL;
	bool ok = true;

	for (uint64_t s = UINT64_MAX; (s = image_folder_below(dir, s)); all[n++] = s)
		if (n == room)
			all = need(realloc(all, (room = 2 * room + 16) * sizeof *all));
	while (n > 0)
		ok = list_one(dir, all[--n], latest) && ok;
	free(all);
	return ok;
}

int ckpt_list(const char *dir)
{
	char found[IMAGE_PATH];
	struct image_why why;

	if (image_folder_newest(dir))
		return list_all(dir, latest_of(dir)) ? 0 : 1;
	if (image_set_find(found, dir, &why))
		complain("%s is a checkpoint; ckpt ls wants the folder that it is in", dir);
	else
		complain("%s", why.text);
	return 1;
}
