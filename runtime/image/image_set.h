/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_set.h: a checkpoint on disk, as its reader sees it: the manifest, and the files that it
 * names, mapped when they are asked for. Each check has its own line.
 */
#ifndef IMAGE_SET_H
#define IMAGE_SET_H

#include "image_in.h"
#include "image_lock.h"
#include "image_manifest.h"

/** What a job needs of the checkpoint from which it starts. */
struct image_expect {
	const char *abi;         /* image_abi() */
	const char *program;
	uint64_t fingerprint;
};

struct image_set {
	char folder[IMAGE_PATH]; /* of the checkpoint */
	struct image_manifest m;
};

/** A file of a checkpoint. */
struct image_map {
	char name[IMAGE_PATH];
	void *base;
	size_t bytes;
	struct image_in in;
};

/** Find the checkpoint: `path` is its folder, or one with `latest` in it. Returns false, without a
 * line, if there is none at all and `why` is NULL; to[0] is 0 then. */
bool image_set_find(char to[IMAGE_PATH], const char *path, struct image_why *why);

/** Read and check the manifest of `path`, as image_set_find finds it. `expect` NULL: any job's. */
bool image_set_open(struct image_set *s, const char *path, const struct image_expect *expect,
		    struct image_why *why);

void image_set_close(struct image_set *s);

/** Map the file of a node, and check its size and its head. It is not read. */
bool image_set_map(const struct image_set *s, uint32_t node, struct image_map *m,
		   struct image_why *why);

void image_unmap(struct image_map *m);

/** Whether the file's sum is that of the manifest. It reads all of it, and says what the disk says. */
bool image_set_check(const struct image_set *s, uint32_t node, struct image_why *why);

#endif
