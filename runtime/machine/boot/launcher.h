/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.h: the interface between boot.c, which knows the published keys, and a wire client,
 * which speaks the launcher's protocol. A wire moves short printable texts. boot.c cuts blobs into
 * such texts and joins them again, so no wire knows about blobs.
 *
 * The clients of launchers (pmi1/, pmix/) stand in a table that comes from rooms.list, so each can
 * be left out.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

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

struct launcher {
	const char *word; /* of CK_BOOT; also the client's folder */
	/** Main thread. Join the job that the environment names. Returns 0, or a negative errno after
	 * printing the reason. */
	int (*join)(struct boot **b_p);
};

extern const struct launcher pmi1_launcher, pmix_launcher;

/* What clients ask (boot.c). */

/** A launcher's variable as a number; `absent` when it is not set, -1 when it is no number. */
int launcher_number(const char *name, int absent);
/** Whether PMI_FD is the number of an open socket. Wrappers close it, and other jobs leave it
 * behind. */
bool pmi1_is_alive(void);
/** Whether PMIx has the variables that it needs. */
bool pmix_is_named(void);
/** Whether MPI is initialised in this process. Then a connection to the launcher is MPI's. */
bool mpi_is_up(void);
/** Print the two texts, and what starts a program; returns -ENOTCONN. */
int launcher_refuse(const char *reason, const char *detail);

#endif
