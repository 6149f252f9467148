/* SPDX-License-Identifier: Apache-2.0 */
/* global_int.h: what the files of this folder share. */
#ifndef CK_GLOBAL_INT_H
#define CK_GLOBAL_INT_H

#include "global.h"
#include "stores.h"
#include "../ckglobal.h"

enum { H_ASK, H_TELL, H_FLUSH, H_SPREAD, H_PHASE, H_LOOK, H_KEY, H_DONE };

/** CkGlobal.of: what `at` is. From GLOBAL_SPREADS on it is the number of a spread, and `at` counts
 * the bytes of its elements. */
enum {
	GLOBAL_NONE,
	GLOBAL_ADDRESS,           /* an address in the process of `pe` */
	GLOBAL_PLACE,             /* a name of memory that the processes of that PE's host share */
	GLOBAL_FOREIGN,           /* an address, of memory that checked mode does not know */
	GLOBAL_SPREADS = 16,
};

/** As in CkSpreadNew; `block` may be 0. */
struct spread_shape {
	uint64_t n, bytes, block;
};

/** A spread on a PE. Constant once it is made, but for `here`. */
struct spread {
	/* Of all that an operation needs, at the beginning. */
	uint64_t all;             /* bytes of the elements; 0: it has been freed */
	uint64_t block_bytes, by_block; /* bytes that lie together; see fast_divide */
	uint64_t n_pes, by_pes;
	uint64_t part;            /* bytes of a PE's part */
	char **here;              /* ours: [n_pes]: their parts; NULL: not for load and store; in checked
				   * mode not this PE's own either, whose checks are not on the fast way */

	char *mine;               /* ours, of heap.c */
	struct spread_shape shape;
	uint64_t block;           /* never 0 */
	int n_in;                 /* children that have answered */
	struct spread_shown *shown; /* ours: parts of the PEs below; NULL: none have come */
	uint32_t n_shown;
	CkCallback done;          /* PE 0 */
};

/** CK_GLOBAL_PATH: how other processes are reached, where that is possible. */
enum global_path { GLOBAL_MEMORY, GLOBAL_RMA, GLOBAL_MESSAGE, GLOBAL_FASTEST };

/** A node's state. */
struct global_node {
	enum global_path path;
};

/** A PE's state. */
struct global_pe {
	struct spread **spreads;  /* ours: [n_spreads], by number; spread_none: there is none */
	uint32_t n_spreads;
	struct far *far;        /* far.c's; NULL: nothing has been sent so far */
	struct sets *sets;        /* sets.c's; NULL: nothing was under way so far */
	struct rma *rma;          /* rma.c's; NULL: not needed so far */
	struct heap *heap;        /* heap.c's; NULL: nothing was allocated so far */
	struct stores stores;
};

static inline struct global_pe *global_of(const struct pe *pe)
{
	return ck_state(pe, PART_GLOBAL);
}

static inline enum global_path global_path(const struct pe *pe)
{
	return ((const struct global_node *)ck_node_state(pe->node, PART_GLOBAL))->path;
}

/** Whether load and store are not for memory of that PE, even where they reach it. In checked mode
 * the PE that has the memory looks at each operation. */
static inline bool is_far(const struct pe *pe, int whose)
{
	return whose != pe->id &&
	       (pe->node->check || (!pe_is_here(pe, whose) && global_path(pe) != GLOBAL_MEMORY &&
				    global_path(pe) != GLOBAL_FASTEST));
}

/* ---- reaching memory ------------------------------------------------------------------------- */

/** x / d, where `by` is fast_divisor(d, most) and x <= most. */
static inline uint64_t fast_divide(uint64_t x, uint64_t d, uint64_t by)
{
	__extension__ typedef unsigned __int128 wide;

	return CSD_LIKELY(by) ? (uint64_t)((wide)x * by >> 64) : x / d;
}

/** 2^64 / d, rounded up: the quotient by a product, exact while x * d < 2^64. 0 where that does not
 * hold for all x up to `most`. */
static inline uint64_t fast_divisor(uint64_t d, uint64_t most)
{
	return d > 1 && most <= UINT64_MAX / d ? UINT64_MAX / d + 1 : 0;
}

/** Where byte `at` of a spread lies: the PE, and the offset in its part. */
static inline uint64_t spread_where(const struct spread *s, uint64_t at, int *pe_p)
{
	const uint64_t block = fast_divide(at, s->block_bytes, s->by_block),
		       turn = fast_divide(block, s->n_pes, s->by_pes);

	*pe_p = (int)(block - turn * s->n_pes);
	return (turn - block) * s->block_bytes + at;
}

/** In place of a spread that does not exist: it has no bytes. */
extern struct spread spread_none;
/** The spread of that number; others end the job. */
const struct spread *spread_of(struct pe *pe, uint32_t id);
_Noreturn void spread_beyond(struct pe *pe, CkGlobal g, size_t bytes);

/** The memory of `g`, `bytes` bytes, for load and store; NULL: it is not reached from here. *pe_p:
 * whose it is. Ends the job if g names no such memory. */
char *reach(struct pe *pe, CkGlobal g, size_t bytes, int *pe_p);

/** The same where g lies in a spread that load and store reach; NULL: ask reach(). It calls
 * nothing, so that its callers need few registers. */
static inline char *reach_fast(const struct pe *pe, CkGlobal g, size_t bytes, int *pe_p)
{
	const struct global_pe *o = global_of(pe);
	const struct spread *s;
	uint64_t at;
	char *part;

	if (CSD_UNLIKELY(g.of >= o->n_spreads))
		return NULL;
	s = o->spreads[g.of];
	if (CSD_UNLIKELY(g.at >= s->all))
		return NULL;
	at = spread_where(s, g.at, pe_p);
	part = s->here[*pe_p];
	return CSD_LIKELY(part && bytes <= s->part - at) ? part + at : NULL;
}

/** On its own PE, for a PE that asks: the memory. Ends the job if there is none; `call` is for the
 * line. */
char *own_memory(struct pe *pe, CkGlobal g, size_t bytes, const char *call, int for_pe);

/* ---- heap.c ---------------------------------------------------------------------------------- */

/** Zeroed memory that the host's others reach, if any do. Ends the job without memory. */
void *heap_new(struct pe *pe, size_t bytes, const char *what);
void heap_end(struct pe *pe, void *p, const char *call);
/** The name of such memory for the other processes of the host; 0: they cannot reach it. */
uint64_t heap_name(const struct pe *pe, const void *p, size_t bytes);
/** Checked mode: whether p lies in such memory, even if it has been freed. */
bool heap_knows(struct pe *pe, const char *p);
/** Checked mode: end the job unless all of it is allocated. */
void heap_check(struct pe *pe, const char *p, size_t bytes, const char *call, int for_pe);
void heap_refuse(struct pe *pe, struct csd_told *to);
void heap_stop(struct pe *pe);

/* ---- spread.c -------------------------------------------------------------------------------- */

void spread_arrived(struct pe *pe, struct cmi_msg *m);
const char *spread_misfit(struct pe *pe, const struct cmi_msg *m);
/** A spread of this number as a checkpoint describes it, with this PE's part; NULL: it does not
 * make sense. */
struct spread *spread_restored(struct pe *pe, uint32_t id, const struct spread_shape *shape);
/** PE 0, after a restart: find out where the parts lie now. */
void spreads_meet(struct pe *pe);
void spreads_stop(struct pe *pe);
/** Of the elements of a job of n_pes PEs: how many lie together; how many PE q has, with that. */
uint64_t spread_block(const struct spread_shape *shape, uint64_t n_pes);
uint64_t spread_count(uint64_t n, uint64_t block, uint64_t n_pes, uint64_t q);

/* spread_save.c */
void spreads_write(struct pe *pe, struct image_out *out);
bool spread_is_mine(struct pe *pe, const struct image_name *name);
const char *spread_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n);

/* ---- sets.c: who waits for which operations -------------------------------------------------- */

/** One operation of the running thread or chare begins, which uses that memory of this PE; returns
 * the number of its set. */
uint32_t set_open(struct pe *pe, const void *memory);
/** The same for an operation that the calling thread waits for by itself (set_wait). */
uint32_t set_alone(struct pe *pe);
/** n operations of the set have ended. */
void set_close(struct pe *pe, uint32_t set, uint32_t n);
/** The thread goes on when all operations of the set have ended. */
void set_wait(struct pe *pe, uint32_t set);
/** Whether so many operations of a set are under way. */
bool set_has(const struct pe *pe, uint32_t set, uint32_t n);
/** Checked mode, and where the caller must wait: end the job outside threads. */
void check_thread(struct pe *pe, const char *call, const char *then);
void sets_destroyed(struct pe *pe, struct ck_obj *obj);
void sets_describe(struct pe *pe, struct csd_told *to);
void sets_stop(struct pe *pe);

/* ---- rma.c: operations that a network does by itself ----------------------------------------- */

/* False: it does not reach the memory, or it is not known yet how; nothing has been done. */
bool rma_get(struct pe *pe, int to, uint32_t set, void *dst, CkGlobal from, size_t bytes);
bool rma_put(struct pe *pe, int to, uint32_t set, CkGlobal at, const void *src, size_t bytes);
bool rma_atomic(struct pe *pe, int to, uint32_t set, void *old, int what, CkGlobal g, size_t bytes,
		uint64_t a, uint64_t b);
bool rma_reaches(struct pe *pe, int to, CkGlobal g);
void key_arrived(struct pe *pe, struct cmi_msg *m);
const char *key_misfit(struct pe *pe, const struct cmi_msg *m);
void done_arrived(struct pe *pe, struct cmi_msg *m);
void rma_stop(struct pe *pe);

/* ---- far.c: operations by messages ----------------------------------------------------------- */

/* `set` counts them already. */
void far_get(struct pe *pe, int to, uint32_t set, void *dst, CkGlobal from, size_t bytes);
void far_put(struct pe *pe, int to, uint32_t set, CkGlobal at, const void *src, size_t bytes);
void far_atomic(struct pe *pe, int to, uint32_t set, void *old, int what, CkGlobal g, size_t bytes,
		 uint64_t a, uint64_t b);
void far_store(struct pe *pe, int to, CkGlobal at, const void *src, size_t bytes, unsigned phase);
/** Send what waits for the end of the turn. */
void far_flush(struct pe *pe);
void far_ask_arrived(struct pe *pe, struct cmi_msg *m);
void far_tell_arrived(struct pe *pe, struct cmi_msg *m);
void far_flush_arrived(struct pe *pe, struct cmi_msg *m);
const char *far_ask_misfit(struct pe *pe, const struct cmi_msg *m);
const char *far_tell_misfit(struct pe *pe, const struct cmi_msg *m);
void far_stop(struct pe *pe);

/* ---- ops.c ----------------------------------------------------------------------------------- */

/** Copy from or to memory that others use at the same time: 1, 2, 4 and 8 aligned bytes at once. */
void shared_load(void *to, const char *from, size_t n);
void shared_store(char *to, const void *from, size_t n);
/** On memory, aligned to `bytes`; returns the value before. */
uint64_t atomic_on(char *p, int what, size_t bytes, uint64_t a, uint64_t b);

#endif
