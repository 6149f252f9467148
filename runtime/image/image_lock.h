/* SPDX-License-Identifier: Apache-2.0 */
/* image_lock.h: the file DIR/lock, by which two jobs do not write checkpoints into one folder. It is
 * a link to a file that is complete, because a link is made by one alone, on NFS as well. It says who
 * made it: one who is dead is no obstacle. */
#ifndef IMAGE_LOCK_H
#define IMAGE_LOCK_H

#include <stddef.h>

#include "image_why.h"

enum { IMAGE_LOCK_TEXT = 512, IMAGE_PATH = 4096 };

/** Zeroed: not taken. */
struct image_lock {
	char path[IMAGE_PATH];
	char text[IMAGE_LOCK_TEXT];  /* of our file; "": not taken */
};

/** Take the lock of a folder. `job` names the job for others; the lock of a job with the same name,
 * unless that is "", is taken over: a batch system has started it again. Taken already: true. */
bool image_lock_take(struct image_lock *l, const char *dir, const char *job, struct image_why *why);

/** Whether the file is still ours. */
bool image_lock_check(const struct image_lock *l, struct image_why *why);

void image_lock_drop(struct image_lock *l);

#endif
