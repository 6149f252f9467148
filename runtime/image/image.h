/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h: the state of a job as bytes: records, each with a name. The same bytes are a checkpoint
 * in memory and one on disk. The writer and the reader know no PE and no chare; image_kind says
 * what the records of each kind are.
 *
 *	the image of a process
 *	+--------------+------------------------+------------------------+-----
 *	| struct head  | block of its first PE  | block of its second PE | ...
 *	+--------------+------------------------+------------------------+-----
 *
 *	the block of a PE: 16-aligned records
 *	| struct image_record | bytes, padded to 16 | struct image_record | bytes ...
 *
 * Each PE writes its block, in two passes with the same calls: the first only measures.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <stddef.h>
#include <stdint.h>

/** What a record is, and what its name has. The numbers are part of the format. `coll` is 0 and the
 * index is 0 where a line does not say what they are. */
enum image_kind {
	IMAGE_NONE,
	IMAGE_READONLY,       /* the readonly variables; of PE 0 */
	IMAGE_COLLECTION,     /* what all PEs must know of a collection [coll]; of PE 0 */
	IMAGE_COUNTS,         /* singletons that a PE [index] made on others, and others on it */
	IMAGE_BRANCH,         /* a group's branch [coll; index: its PE] */
	IMAGE_NODEGROUP,      /* a nodegroup's branch [coll; index: its node] */
	IMAGE_MAIN,           /* a main chare [coll] */
	IMAGE_SINGLE,         /* a singleton chare [coll: its id; index: its PE] */
	IMAGE_ELEMENT,        /* an element of an array [coll; index] */
	IMAGE_MISSING,        /* calls that wait for an element that does not exist [coll; index] */
	IMAGE_SECTION,        /* a section [coll: its id]; of its root */
	IMAGE_CLOSING,        /* the sums of an insertion phase that is open [coll] */
	IMAGE_DETECTOR,       /* a completion detector [coll: its id] */
	IMAGE_QUIESCENCE,     /* callbacks of the program that wait for quiescence; of PE 0 */
	IMAGE_ASKED,          /* callbacks of those who asked for the checkpoint; of PE 0 */
	IMAGE_IDLE,           /* a [whenidle] entry that an object asked for [coll; index; flags: entry] */
	IMAGE_SPREAD,         /* a PE's part of a spread [coll: its number] */
	IMAGE_KINDS
};

/** The name of a record. */
struct image_name {
	uint32_t kind;        /* enum image_kind */
	uint32_t pe;          /* of the PE that wrote it */
	uint64_t coll;
	int32_t index[3];
	uint32_t flags;       /* its kind's own */
};

/** Before the bytes of each record. */
struct image_record {
	struct image_name name;
	uint64_t bytes;       /* without padding */
	uint64_t sum;         /* XXH3 of the name, `bytes` and the bytes */
	uint64_t head_sum;    /* XXH3 of all before: names are believed before any bytes are read */
	uint64_t more;        /* 0 */
};

/** Numbers that the measuring pass has found and the writing one needs again, in the same order:
 * what has been measured once is not measured again. `n` is of malloc. */
struct image_notes {
	uint32_t *n;          /* [count]; UINT32_MAX: it was larger */
	size_t count, room, taken;
};

/** A block that is being written. Its owner sets `add`, to image_add. (A pointer, so that rooms may
 * write records where no image has been built.) `copy` is image_copy then. */
struct image_out {
	/** Begin a record of this many bytes. Measuring: returns NULL. Writing: returns where the caller
	 * must write them, 16-aligned, before its next call; the padding is cleared. */
	void *(*add)(struct image_out *out, const struct image_name *name, size_t bytes);
	/** Writing: copy a large block to `to` in the open record, which is complete before it. The block
	 * is summed while it is in a cache, and the copy goes round the caches. */
	void (*copy)(struct image_out *out, char *to, const char *from, size_t bytes);
	char *to;             /* NULL: measuring. Else the block's memory, 16-aligned, not ours */
	size_t room;          /* of `to` */
	size_t used;          /* by the records so far */
	struct image_record *open; /* writing: the last one, whose sum is made by the next call */
	const char *summed;   /* of the open one, all before is in `sum`; NULL: it has not begun */
	void *sum;            /* ours, for image_added to free; NULL: none was needed */
	struct image_notes *notes; /* not ours */
};

/** As image_out.add. A record that does not fit ends the process: the two passes differ. */
void *image_add(struct image_out *out, const struct image_name *name, size_t bytes);
/* From so many bytes on it pays. */
enum { IMAGE_COPY_MIN = 64 << 10 };
void image_copy(struct image_out *out, char *to, const char *from, size_t bytes);
/** The last record is complete. Returns the bytes of the block. */
size_t image_added(struct image_out *out);

#endif
