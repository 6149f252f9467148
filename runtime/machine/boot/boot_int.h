/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_int.h: the interface between boot.c, which knows the published keys, and a wire client,
 * which speaks the launcher's protocol. A wire moves short printable texts. boot.c cuts blobs into
 * such texts and joins them again, so no wire knows about blobs.
 */
#ifndef BOOT_INT_H
#define BOOT_INT_H

#include <stdbool.h>

#include "boot.h"
#include "boot_table.h"

/* The longest text of one put. Slurm announces 1024 for the value, but cuts the whole request line
 * there and then never answers; 768 leaves space for the words around the value. */
enum { BOOT_TEXT_MAX = 768 };

/* The longest key on a wire: 32 characters of the caller's key and ".rank.chunk". MPICH allows
 * 64. */
enum { BOOT_WIRE_KEY_MAX = 63 };

/** A wire client. All but abort run on the main thread. */
struct boot_ops {
	bool comes_back; /* the process may join another job afterwards */
	/** Publish one text; both strings stay the caller's. */
	int (*put)(struct boot *b, const char *key, const char *text);
	int (*fence)(struct boot *b, int timeout_ms);
	/** Copy the text under `key`, which `rank` has put, to `text` (BOOT_TEXT_MAX + 1 bytes).
	 * -ENOENT. */
	int (*get)(struct boot *b, int rank, const char *key, char *text);
	/** As boot_reader. NULL: -1. */
	int (*reader)(struct boot *b);
	/** Async-signal-safe. */
	void (*abort)(struct boot *b, int code);
	/** As boot_forked. NULL: nothing to do. */
	void (*forked)(struct boot *b);
	/** Frees b. */
	void (*finish)(struct boot *b);
};

/** First member of every wire client's own struct. */
struct boot {
	const struct boot_ops *ops;
	int rank, size;
	bool alone;
	struct boot_table table; /* alone: all puts; PMI-1: results of bulk reads */
};

/** Greet the launcher over the socket `fd`, which the client owns from then on if that succeeds,
 * unless it is borrowed from MPI, which does init and finalize. */
int boot_pmi1_init(int fd, int rank, int size, bool borrowed, struct boot **b_p);

/** Greet the launcher that the variables PMIX_* name. Prints why when that fails. */
int boot_pmix_init(struct boot **b_p);

#endif
