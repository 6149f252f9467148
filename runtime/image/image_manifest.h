/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_manifest.h: the text MANIFEST of a checkpoint on disk. Without it a folder is no checkpoint,
 * so it comes last. Each line is "key value"; the last one has the sum of all before.
 */
#ifndef IMAGE_MANIFEST_H
#define IMAGE_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "image_why.h"

enum { IMAGE_TEXT = 256 };

/** The file of a node. */
struct image_file {
	uint32_t node, first_pe, n_pes;
	uint64_t bytes;
	uint64_t sum;            /* XXH3 of the file */
};

/** What is written in a manifest. Texts are cut, and in one line. */
struct image_manifest {
	char version[IMAGE_TEXT];    /* of Chard */
	char abi[IMAGE_TEXT];        /* image_abi() */
	char program[IMAGE_TEXT];    /* the name of the file, without its folder */
	char args[IMAGE_TEXT];       /* for people */
	uint64_t fingerprint;        /* of the program's tables */
	uint64_t job;                /* as in the heads */
	uint64_t sequence;           /* from 1 */
	uint64_t epoch;              /* how often the job has been started from a checkpoint */
	uint64_t time;               /* when, in seconds since 1970 */
	uint64_t wall;               /* seconds that the job had run, in all epochs */
	uint32_t n_pes, n_nodes;
	uint32_t most_pes;           /* that the job has ever had: ids name them */
	struct image_file *files;    /* of all nodes, in order */
};

/** "little, long 8, pointer 8, index 12": what the bytes of elements depend on. */
const char *image_abi(char text[IMAGE_TEXT], size_t index_bytes);

/** The text; the caller frees it. NULL: no memory. */
char *image_manifest_text(const struct image_manifest *m, size_t *bytes);

/** From a text that may be damaged, of the file `name`. Allocates `files`. */
bool image_manifest_parse(struct image_manifest *m, const char *name, const char *text,
			  size_t bytes, struct image_why *why);

void image_manifest_free(struct image_manifest *m);

#endif
