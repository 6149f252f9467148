/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h: the state of a keeper, shared by its files. A keeper is a process of ckrun on each host
 * of a job. It owns the host's images in memory (image_memory.h), which outlive the nodes.
 *
 *   keeper_words.h   what ckrun and keepers say to each other
 *   keeper_net.c     their connections
 *   keeper_seal.c    and what seals these
 *   keeper_images.c  which images are here, and which are no longer needed
 *   keeper_nodes.c   the nodes of this host
 *   keeper_peers.c   copies of images, from and to other keepers
 *   keeper.c         the process; what ckrun asks for
 *   keeper_choose.c  in ckrun: from which checkpoint the job goes on
 *
 * A thread for each connection, which waits as it likes. One lock covers the state; nobody holds it
 * while he waits for another host.
 */
#ifndef KEEPER_H
#define KEEPER_H

#include <pthread.h>

#include "keeper_words.h"

struct keeper;

/** A connection, with a thread of its own. */
struct keeper_line {
	struct keeper *k;
	struct keeper_line *next;
	struct keeper_link link;
	/* of a node */
	int process;             /* a descriptor of it; -1: there is none */
	bool has_spoken;         /* so it is a node */
	bool has_node, has_read; /* it has said HELLO; and READ */
	uint32_t node;
	int peer;                /* the connection to another keeper that it waits for; -1: none */
	/* of a keeper */
	unsigned run;            /* since when it is connected */
};

/** An image that has been copied from another host, for this start. */
struct keeper_copy {
	struct keeper_copy *next;
	uint32_t node;
	bool is_there, failed;   /* neither: it is being copied */
	int fd;
	struct image_why why;
};

struct keeper {
	/* never change */
	char name[IMAGE_KEEPER_NAME]; /* without the @ */
	struct keeper_secret secret;
	struct keeper_hello hello;
	struct keeper_link ckrun;
	int nodes_fd, notes_fd, peers_fd;
	struct image_memory own, mirror;
	pthread_mutex_t say_lock; /* held while a word to ckrun is sent */
	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool runs;               /* between START and STOP */
	unsigned run;            /* counts them */
	struct keeper_start start;
	struct sockaddr_storage *peers;
	struct keeper_place *places;
	struct keeper_line *nodes, *callers; /* connections of nodes; of keepers */
	struct keeper_copy *copies;
	struct keeper_info mirrored[IMAGE_SLOTS]; /* of the mirrors, [sequence % 2] */
	bool *here;              /* nodes of this run, [n_here] */
	uint32_t n_here;
	int32_t deaf;            /* the neighbour that has been said not to answer; -1: none */
	bool warned;             /* that something does not open, since the last START */
	uint64_t tidied_own, tidied_mirror; /* up to these checkpoints */
};

/** The process. Returns its exit code. */
int keeper_main(void);
/** A word to ckrun. */
void keeper_tell(struct keeper *k, enum keeper_word word, uint32_t start, const char *text);
/** If what `sender` ("that on host h1") has sent does not open, tell ckrun, once a start. */
void keeper_warn(struct keeper *k, const struct keeper_link *l, const char *sender);

/* ---- keeper_images.c ----------------------------------------------------------------------- */

/** The head of an image; false: there is none that is complete. */
bool keeper_head(const struct image_memory *m, uint64_t sequence, uint32_t node,
		 struct image_head *h);
/** The node of the first image from this one on in the slot; -1: there is none. */
int64_t keeper_next(const struct image_memory *m, int slot, uint32_t from);
/** All complete images, appended to a list of n that the caller frees. */
struct keeper_image *keeper_list(const struct image_memory *m, bool mirrored,
				 struct keeper_image *list, uint32_t *n);
/** It is no image from now on; its memory stays for the next, or is given back. */
void keeper_clear(const struct image_memory *m, int slot, uint32_t node);
void keeper_drop(const struct image_memory *m, int slot, uint32_t node);
/** With the lock, at a start from checkpoint `sequence`: no later image counts, and of nodes that
 * are not here no other one does. */
void keeper_tidy_start(struct keeper *k, uint64_t sequence);
/** With the lock: checkpoint `sequence` is being mirrored, so those before its predecessor are no
 * longer needed. */
void keeper_tidy_own(struct keeper *k, uint64_t sequence);
void keeper_tidy_mirror(struct keeper *k, uint64_t sequence);

/* ---- keeper_nodes.c ------------------------------------------------------------------------ */

/** Listen for nodes. False with errno. */
bool keeper_nodes_listen(struct keeper *k);
void *keeper_nodes_serve(void *keeper);
void *keeper_notes_serve(void *keeper);
/** Kill them, and wait until all have said what they had to say. Returns how many are left. */
uint32_t keeper_nodes_kill(struct keeper *k);

/* ---- keeper_peers.c ------------------------------------------------------------------------ */

void *keeper_peers_serve(void *keeper);
/** End their connections, and wait until nobody writes into a mirror. */
void keeper_peers_end(struct keeper *k);
/** The copy of an image that another keeper has. `line` waits for it. */
bool keeper_fetch(struct keeper_line *line, uint32_t node, int *fd, struct image_why *why);
/** With the lock: forget all copies. */
void keeper_copies_drop(struct keeper *k);
/** Have the neighbour hold our node's image. `info`: NULL, or of that checkpoint. */
bool keeper_mirror(struct keeper_line *line, uint64_t sequence, const struct image_info *info,
		   struct image_why *why);

/* ---- keeper.c ------------------------------------------------------------------------------ */

/** With the lock: a thread that serves this connection, which is in a list. False: none; then the
 * connection is closed. */
bool keeper_line_start(struct keeper_line **list, struct keeper *k, int fd,
		       void *(*serve)(void *line));
/** The end of that thread. */
void keeper_line_end(struct keeper_line **list, struct keeper_line *line);
/** With the lock: wait for a change, or until so long has passed. */
void keeper_wait(struct keeper *k, int ms);

#endif
