/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt.h: what the files of the command ckpt share. They use runtime/image/ and nothing else of the
 * runtime. */
#ifndef CKPT_H
#define CKPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../runtime/image/image_set.h"

enum { CKPT_BYTES_TEXT = 32, CKPT_TIME_TEXT = 32, CKPT_NAME_TEXT = 200 };

/** A checkpoint in memory: all files mapped, all records found, none of their sums looked at. */
struct ckpt {
	struct image_set set;
	struct image_map *maps;      /* of each node */
	struct image_walk *walks;    /* of each PE */
	const struct image_record **records; /* of all PEs, in their order */
	size_t n_records, room;
};

/** Load one. If anything in it is damaged: says so, and ends with code 2. */
void ckpt_load(struct ckpt *c, const char *path);

void ckpt_free(struct ckpt *c);

/** The commands. They return the exit code. */
int ckpt_list(const char *dir);
int ckpt_show(const char *path);
int ckpt_verify(const char *path);
int ckpt_diff(const char *a, const char *b);

/** One line on stderr, "ckpt: " before it. */
__attribute__((format(printf, 1, 2)))
void complain(const char *fmt, ...);

/** p, or the end of the command. */
void *need(void *p);

/** "1.2 GB". Returns `to`. */
char *bytes_text(char to[CKPT_BYTES_TEXT], uint64_t bytes);

/** "2026-11-28 02:14:22". Returns `to`. */
char *time_text(char to[CKPT_TIME_TEXT], uint64_t seconds);

#endif
