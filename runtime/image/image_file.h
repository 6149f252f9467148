/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_file.h: writes files of a checkpoint so that they are whole or an error is said. No file is
 * appended to, locked, or mapped for writing: NFS does without.
 */
#ifndef IMAGE_FILE_H
#define IMAGE_FILE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "image_why.h"

/** An order to write the image of a process: arguments, and what has become of it. */
struct image_write {
	const char *path;        /* the file, which is not there yet */
	const char *image;       /* sealed; only read, and not changed meanwhile by others */
	bool zstd;               /* compress blocks that get smaller */
	_Atomic uint64_t written; /* so far, for whoever waits */
	uint64_t bytes;          /* of the file, when it is whole */
	uint64_t sum;            /* XXH3 of the file */
};

/** Write it, in pieces of 8 MB, until the disk has it. On failure no file is left. It has the form of
 * a task (image_task.h), whose argument is a struct image_write. */
bool image_write_file(void *order, struct image_why *why);

/** Write a short text as a file, until the disk has it. On failure no file is left. */
bool image_write_text(const char *path, const char *text, size_t bytes, struct image_why *why);

/** Until the disk has what has changed in the folder. */
bool image_sync_folder(const char *path, struct image_why *why);

#endif
