/* SPDX-License-Identifier: Apache-2.0 */
/* save_int.h: what the files of this folder share. */
#ifndef CK_SAVE_INT_H
#define CK_SAVE_INT_H

#include "save.h"
#include "../core/callback.h"
#include "../../image/image.h"
#include "../../image/image_memory.h"
#include "../../image/image_set.h"

enum { H_SAVE, H_STORE };

enum save_kind {
	SAVE_ASK,             /* any PE -> PE 0: somebody wants a checkpoint */
	SAVE_FREEZE, SAVE_WRITE, SAVE_THAW, /* PE 0 -> all */
	SAVE_FROZEN, SAVE_WRITTEN,          /* all -> PE 0 */
	SAVE_REFUSED,         /* a PE -> PE 0: records of what it cannot save, before its FROZEN */
	SAVE_SIGNAL,          /* a node's first PE -> itself, and -> PE 0: it has got a signal */
};

/** Of the PEs below one in PE 0's tree, and of that one. */
struct save_sums {
	uint64_t created, processed; /* SAVE_FROZEN */
	uint64_t bytes;       /* SAVE_FROZEN: of all blocks */
	uint32_t refusers;    /* SAVE_FROZEN: PEs that have sent SAVE_REFUSED */
	uint32_t failed;      /* SAVE_WRITTEN: PEs that could not, and have said why */
};

struct save_msg {
	struct cmi_msg head;
	uint32_t kind;
	uint32_t no;          /* number of the attempt */
	struct save_sums sums; /* of the sender and the PEs below it */
	uint64_t sequence;    /* SAVE_WRITE: of the checkpoint */
	uint64_t job;         /* SAVE_WRITE: a number that no other job has */
	_Alignas(uint64_t) char more[]; /* SAVE_ASK: struct save_ask; SAVE_REFUSED: records (tell.h) */
};

/** Of disk.c. */
struct store_msg {
	struct cmi_msg head;
	uint32_t kind;
	union {
		uint32_t hurries;  /* WRITE: the job ends with this checkpoint */
		uint32_t failed;   /* WRITTEN */
	};
	uint64_t sequence;
	uint64_t bytes, sum;       /* WRITTEN: of the file */
	char dir[];                /* WRITE; "": mirror */
};

/** A request. */
struct save_ask {
	CkCallback done;
	char dir[];           /* "": in memory; ends with 0 */
};

/** What follows a checkpoint that somebody outside the program wants; cleared: nothing. */
struct save_then {
	bool leaves;          /* the job ends */
	uint64_t asked;       /* the launcher gets an answer (image_talk.h); 0: it does not wait for one */
	uint64_t order;       /* so does whoever gave this order (csd_order) */
};

/** A request that waits for its checkpoint, on PE 0. */
struct save_wish {
	struct save_wish *next;
	struct save_then then;
	struct save_ask ask;  /* last */
};

/** On PE 0: the stage of the checkpoint under way. */
enum save_stage { SAVE_NONE, SAVE_PREPARES, SAVE_AWAITS_REST, SAVE_FREEZES, SAVE_WRITES, SAVE_STORES };

/** A PE's state. */
struct save_pe {
	bool frozen;
	uint32_t no;          /* of the attempt in which it is frozen */
	int n_in;             /* children in PE 0's tree that have answered */
	struct save_sums in;  /* the sums of their answers */
	size_t bytes;         /* of its block */
	struct image_notes notes; /* ours: from its first pass for the second */
	uint64_t froze_ticks; /* figures.c's: when it froze last */
	struct disk *disk;    /* of a node's first PE; NULL: it has written nothing yet */

	/* PE 0. */
	uint64_t all_bytes;   /* of the checkpoint */
	enum save_stage stage;
	uint32_t attempt;     /* the last one's number */
	uint64_t until_ns;    /* the job must come to rest before */
	struct save_wish *wishes, **last; /* those of the checkpoint under way first */
	int n_served;         /* how many of them it serves */
	uint32_t n_refusers;  /* whose records have come */
	struct save_msg **refused; /* [n_pes], ours: their records */
	uint64_t sequence;    /* of the last checkpoint */
	uint64_t rest_ns;     /* when the job came to rest for it */
	uint64_t told_ns;     /* the last SIGUSR2; 0: none */
	int status;           /* of the one that is given up */
	char why[IMAGE_ANSWER]; /* why the checkpoint under way comes to nothing; "": not known here */
	CkCallback *asked;    /* ours: [n_asked]; who asked for the checkpoint that the job starts from */
	size_t n_asked;
	CkCallback *thens;    /* ours: fired when the PEs have thawed */
	size_t n_thens, thens_room;
	bool quiescence_waited; /* requests for quiescence have waited for a checkpoint */
};

/** CK_CHECKPOINT, CK_CHECKPOINT_EXIT and CK_CHECKPOINT_WAIT. */
struct save_when {
	int64_t wait_s;       /* how long the job may take to come to rest */
	char *where;          /* ours: a directory, or "memory"; NULL: it is not set */
	uint64_t every_ns;
	unsigned keep;        /* checkpoints on disk */
	const char *exit_dir; /* SIGUSR2 saves here and ends the job; NULL: it does not */
	bool zstd;
	uint64_t last_ns;     /* PE 0: when the last one was begun */
};

/** A node's state. */
struct save_node {
	struct store *store;
	struct save_when when;
	struct source *source; /* NULL: the job was not started from a checkpoint */
	uint64_t sequence;    /* of the checkpoint from which it was; else 0 */
	uint64_t epoch;       /* how often it has been started so; 0: never */
	uint64_t restarts;    /* of these, those that the page of the job's memory counts */
	double seconds;       /* that the job had run when that was taken; 0 */
	uint64_t job;         /* a number that no other job has; 0: not known yet */
	int counts;           /* of figures.c: the first of its numbers */
};

static inline struct save_pe *save_of(const struct pe *pe) { return ck_state(pe, PART_SAVE); }
static inline struct save_node *save_node_of(const struct node *node)
{
	return ck_node_state(node, PART_SAVE);
}

/* when.c */
void when_read(struct node *node);
/** PE 0: "60s" and the like. False: it is none of these. */
bool when_set_every(struct save_when *w, const char *text);
void when_free(struct node *node);
/** settle_waits. */
bool when_waits(struct pe *pe, const CkCallback *then);
/** PE 0: the checkpoint under way no longer holds the program back. */
void when_thawed(struct pe *pe);
/** PE 0: one of CK_CHECKPOINT's, now. */
void when_save_now(struct pe *pe);

/* ask.c */
/** PE 0: somebody wants a checkpoint. */
void save_wish(struct pe *pe, const char *dir, const CkCallback *done, struct save_then then);
/** A message for a handler of this room, `bytes` long and cleared behind its head, and `more`. */
void *save_msg_zeroed(struct pe *pe, int handler, size_t bytes, size_t more);
struct save_msg *save_msg_new(struct pe *pe, enum save_kind kind, uint32_t no, size_t more);
void save_tell_children(struct pe *pe, enum save_kind kind, uint32_t no);
/** PE 0: a request has come. */
void save_asked(struct pe *pe, const struct save_msg *m);
/** PE 0: the job is quiescent, or was when the callback was sent. */
void save_at_rest(struct pe *pe, const CkCallback *cb, struct ck_env *env);
struct csd_thing save_describe_rest(struct pe *pe, const CkCallback *cb);
void save_describe(struct pe *pe, struct csd_told *to);
/** PE 0: freeze when the job is quiescent; again, if a message was under way when the PEs froze. */
void save_await_rest(struct pe *pe);
/** PE 0: the folder of the checkpoint is there. */
void save_prepared(struct pe *pe);
/** PE 0: it came to nothing: tell those who asked. */
void save_give_up(struct pe *pe, int status);
/** PE 0: whether the checkpoint under way goes to disk. */
bool save_is_on_disk(const struct pe *pe);
/** PE 0: tell those who asked, and begin with those who have asked since. */
void save_over(struct pe *pe, int status);
void save_wishes_free(struct pe *pe);
/* IMAGE_ASKED: the callbacks of those who have asked for a checkpoint. They fire at a restart. */
void asked_write(struct pe *pe, struct image_out *out);
bool asked_is_mine(struct pe *pe, const struct image_name *name);
const char *asked_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n);
void asked_read_all(struct pe *pe);

/* signal.c */
/** What PE 0 and the launcher share; NULL: nothing. */
struct image_talk *save_talk(const struct node *node);
void signal_pe_start(struct pe *pe);
void signal_pe_stop(struct pe *pe);
void signal_arrived(struct pe *pe, const struct save_msg *m);
/* PE 0: */
/** The job has been started from a checkpoint. */
void signal_epoch(struct pe *pe);
/** SIGUSR2 has come somewhere. */
void signal_told(struct pe *pe);
/** Why the checkpoint under way comes to nothing. */
void signal_why(struct pe *pe, const char *why);
void signal_answer(struct pe *pe, uint64_t asked, int status);
/** The checkpoint is complete in memory. Whether all PEs stay frozen now. */
bool signal_stays(struct pe *pe);
/** The wish has been served. */
void signal_served(struct pe *pe, const struct save_wish *w, int status);

/* save_orders.c */
/** As ck_part.obey. */
bool save_obey(struct pe *pe, const struct csd_order *o);
/** As ck_part.let_go. */
bool save_let_go(struct pe *pe);
/** PE 0: an order's checkpoint is over. */
void order_answer(struct pe *pe, const struct save_wish *w, int status);

/* freeze.c */
void freeze_arrived(struct pe *pe, struct cmi_msg *m);
const char *freeze_misfit(struct pe *pe, const struct cmi_msg *m);

/* identity.c */
/** The program, for checkpoints: its name, and a number that changes when the program's chares do. */
const char *save_program_name(const struct node *node);
uint64_t save_fingerprint(const struct ck_node *ck);
/** The most PEs that the job has ever had. */
int save_most_pes(const struct node *node);

/* figures.c: CK_STATS, and what ckrun --replace has lost */
void figures_name(struct node *node);
void figures_pe_start(struct pe *pe);
/** PE 0: the program goes on, or has begun. */
void figures_up(struct pe *pe);
/** The PE freezes, and thaws. */
void figures_frozen(struct pe *pe);
void figures_thawed(struct pe *pe);
/** PE 0: a checkpoint is over; `bytes` in all. */
void figures_saved(struct pe *pe, int status, uint64_t bytes);

/* source.c */
#define CANNOT_START "cannot start from the checkpoint: "
void source_open(struct node *node);
void source_close(struct node *node);
bool source_is_there(const struct node *node);
/** This PE has read all images. When all of the node have, copies are given back. */
void source_read(struct pe *pe);
/** The image of node i of the job that wrote it. Ends the job if it cannot be read. */
const struct image_in *source_image(const struct node *node, int i);

/* store.c */
int store_node_start(struct node *node);
/** The job's memory, if whoever started the nodes keeps it; NULL: it does not. */
const struct image_memory *store_kept(const struct node *node);
void store_node_stop(struct node *node);
/** A PE has frozen: how long its block will be. */
void store_measured(struct pe *pe, size_t bytes);
/** Where this PE writes its block; NULL: `why` says why not. */
char *store_block(struct pe *pe, uint64_t sequence, uint64_t job, struct image_why *why);
/** The checkpoint that follows `sequence` in memory may have this number, or one that is larger by
 * an even number: the other slot keeps `sequence` until then. */
static inline bool store_may_follow(uint64_t sequence, uint64_t next)
{
	return next > sequence && (next - sequence) % IMAGE_SLOTS == 1;
}
/** This PE's block is complete. */
void store_written(struct pe *pe);
/** The PE thaws: the checkpoint is complete, or was given up. */
void store_over(struct pe *pe);
/** The node's image of this checkpoint, complete; NULL: there is none. */
const char *store_image(const struct node *node, uint64_t sequence);
/** PE 0: all nodes have written theirs, `bytes` in all. */
void store_commit(struct pe *pe, uint64_t sequence, uint64_t bytes);
/** Map the image of node `of` of checkpoint `sequence` in the job's memory, on whichever host. */
bool store_read(const struct node *node, struct image_region *r, uint64_t sequence, uint32_t of,
		size_t *bytes, struct image_why *why);
/** Whether what was mapped may be a copy for this start, to be given back: store_all_read, when it
 * is unmapped. */
bool store_copies(const struct node *node);
void store_all_read(const struct node *node);
/** Whether another host gets a copy of each image. */
bool store_mirrors(const struct node *node);
/** Wait until it has ours of checkpoint `sequence`. Any thread, one at a time. */
bool store_mirror(const struct node *node, uint64_t sequence, struct image_why *why);
/** The job ends: this fails at once. */
void store_mirror_no_more(const struct node *node);

/* disk.c; all but disk_stop, disk_arrived and disk_misfit on PE 0 */
void disk_prepare(struct pe *pe, const char *dir, uint64_t sequence);
/** Of the folder that is there. */
uint64_t disk_sequence(struct pe *pe);
/** All nodes have their images in memory: they write files, or have other hosts copy them. */
void disk_write(struct pe *pe);
/** The next checkpoint is due while this one is written: say so, once. */
void disk_is_late(struct pe *pe);
/** Remove the folder, then save_over(pe, status). */
void disk_abandon(struct pe *pe, int status);
void disk_arrived(struct pe *pe, struct cmi_msg *m);
const char *disk_misfit(struct pe *pe, const struct cmi_msg *m);
void disk_stop(struct pe *pe);

#endif
