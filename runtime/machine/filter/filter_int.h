/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_int.h: shared by the files of the filters.
 *
 *   filters.c  CK_WIRE, the meeting of the nodes
 *   frame.c    items to frames and back
 *   keys.c     the keys of a pair of PEs
 *   wire_key.c the file of CK_WIRE_KEY
 *   seal.c     libsodium
 *   lz4.c, zstd.c  one squeezer each
 *   pays.c     whether to squeeze
 *   library.c  finds the functions of such a library
 */
#ifndef FILTER_INT_H
#define FILTER_INT_H

#include "../base/cmi_env.h"
#include "cmi.h"
#include "filter.h"
#include "pays.h"
#include "seal.h"
#include "squeezer.h"

enum { WIRE_SEAL = 1, WIRE_LZ4 = 2, WIRE_ZSTD = 4 };

/** A node's. */
struct filters {
	uint8_t words;
	bool aes;                        /* all processors of the job have AES-GCM */
	const struct squeezer *squeezer; /* NULL: none */
	bool has_file;
	uint8_t file_key[SEAL_KEY]; /* of CK_WIRE_KEY */
	uint8_t public_key[SEAL_KEY], secret_key[SEAL_KEY];
	struct filter_name *name; /* [n_nodes], what each has published */
};

/** Between a PE of this node and one of another, in one stream. */
struct pair {
	struct seal *out, *in;  /* NULL without seal */
	uint64_t n_out, n_in;   /* frames so far: the next one's number */
	struct host_pays *host; /* of the other PE; NULL without a squeezer */
	/* The item that arrives: */
	uint64_t all, at; /* its bytes; those that have come, 0: none is under way */
	uint8_t id, header_len;
	unsigned char *into;  /* where they are */
	struct cmi_msg *m;    /* ITEM_MESSAGE: the same; else NULL, and `into` is malloc's */
	struct cmi_msg local; /* of m: its local fields, which the sender's overwrite */
	uint64_t before_ns;   /* when the last poll before its last frame found nothing */
	uint64_t run;         /* bytes that have come since then, but for its first frame */
};

/** A PE's. */
struct filter_pe {
	struct filters *f;
	struct pair **pair;             /* [n_pes * ITEM_STREAMS], NULL until first use */
	struct host_pays *hosts;        /* a list */
	struct squeezer_state *squeeze; /* NULL: none */
	unsigned char *opened;          /* FRAME_PLAIN_MOST bytes: what was sealed, or squeezed */
	unsigned char *room;            /* what has been squeezed: FRAME_PLAIN_MOST bytes */
	unsigned char *item;            /* an item that has come in one frame: FRAME_PLAIN_MOST */
	uint64_t idle_ns;               /* when a poll found nothing */
	unsigned n_gaps;                /* items that could be cut for the sake of pays.c */
	struct cmi_wire_counts counts;
};

/** The seals of a pair: derived from both nodes' keys, the file's, the PEs, the direction and the
 * stream. */
void keys_open(const struct cmi_pe *w, int pe, unsigned stream, struct pair *p);
/** The proof of a public key by the file's key; all 0 without a file. */
void keys_prove(const struct filters *f, const uint8_t public_key[SEAL_KEY], int node,
		uint8_t proof[16]);

/** Find functions in a shared library, each by its name; *function_p receives its address. Ends the
 * process with a line about CK_WIRE if the library or a function is missing. */
struct library_call {
	const char *name;
	void *function_p;
};
void library_load(const char *word, const char *library, const char *package,
		  const struct library_call *calls, size_t n);

#endif
