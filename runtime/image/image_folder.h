/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_folder.h: the folder of a job's checkpoints on disk, as its writer sees it.
 *
 *	DIR/lock                     who writes here
 *	DIR/latest -> ck-000042
 *	DIR/ck-000042/MANIFEST       node-00000  node-00001 ...
 *	DIR/ck-000043.tmp/           the next one, while it is written
 *
 * One process begins; each process writes its file (image_file.h); when all of them have, the first
 * one commits, or abandons if one could not. Whatever stops that where, `latest` leads to a complete
 * checkpoint, and the next begin removes what was left. All functions may take as long as the disk
 * does: call them in a task (image_task.h).
 */
#ifndef IMAGE_FOLDER_H
#define IMAGE_FOLDER_H

#include "image_lock.h"
#include "image_manifest.h"

struct image_folder {
	const char *dir;         /* the caller's */
	const char *job;         /* for the lock, or "" */
	unsigned keep;           /* so many checkpoints stay; 0 counts as 1 */
	struct image_lock lock;
};

/** The number of the newest checkpoint in `dir`; 0: there is none. The next one gets a larger one. */
uint64_t image_folder_newest(const char *dir);

/** The newest whose number is below the limit; 0: there is none. */
uint64_t image_folder_below(const char *dir, uint64_t limit);

/** "DIR/ck-000042". Returns `to`. */
char *image_folder_path(char to[IMAGE_PATH], const char *dir, uint64_t sequence);

/** "DIR/ck-000042.tmp/node-00003": where node 3 writes. Returns `to`. */
char *image_folder_node(char to[IMAGE_PATH], const char *dir, uint64_t sequence, uint32_t node);

/** Lock DIR, which is made if missing, remove what an earlier job has left half-written, and make the
 * folder of checkpoint `sequence`. */
bool image_folder_begin(struct image_folder *f, uint64_t sequence, struct image_why *why);

/** All files of m->sequence are on the disk, as the manifest says: make it the latest checkpoint, and
 * remove the oldest. On failure it is abandoned. */
bool image_folder_commit(struct image_folder *f, const struct image_manifest *m,
			 struct image_why *why);

/** Remove what has been written of checkpoint `sequence`. */
void image_folder_abandon(struct image_folder *f, uint64_t sequence);

/** At the end of the job. */
void image_folder_close(struct image_folder *f);

#endif
