/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_int.h: the two ends of a channel, and what the files of this folder share.
 *
 * A channel's receiving end (struct direct_channel) is owned by the PE that created it, its
 * sending end (struct direct_sender) by the PE that bound it. They meet in three places only:
 * the receive buffer, the word that tells arrival, and, in checked mode, the control line.
 * Everything else about the other end is in the handle, which travelled in a message.
 *
 * Records of both ends are never given back before the node stops, and carry a generation
 * that changes at destruction: a stale handle finds a record of another generation, never
 * freed memory.
 *
 * With thousands of channels nothing of one is in the caches when its turn comes, and a call costs
 * what its misses cost. So each record is in two parts. What every put or ready touches is small
 * (32 bytes each) and dense, so that 10,000 channels fit a second-level cache; the rest is
 * touched at arrival, where it is known in advance and prefetched, or hardly ever. What never
 * changes is in the front of the handle, which a call reads anyway. This took the misses of a
 * 1 MiB cache from 9.3 to 5.5 per transfer (stencil, 6144 channels, prefetches not counted).
 */
#ifndef DIRECT_INT_H
#define DIRECT_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../scheduler/pe.h"
#include "ahead.h"
#include "bell.h"
#include "ckdirect.h"
#include "copy.h"
#include "pollset.h"

enum {
	DIRECT_DATA_MAX = 128,    /* bytes of a callback's private data */
	/* Ends allocated together, of either kind: 64 control lines are one page. */
	DIRECT_BLOCK = 64,
	/* Arrival functions run per pass of the loop: messages must not starve behind a flood. */
	DIRECT_ARRIVALS_MAX = 64,
	/* Channels that other PEs put into, up to which a PE polls them; with more it is told by
	 * their senders. A round trip through one of N armed channels took 0.20 us polled and 0.28
	 * told for N = 1, 0.30 both ways for N = 32, 0.47 and 0.30 for N = 128; one of a message
	 * beside them 18, 50 and 730 % more for N = 16, 128 and 1000 polled, at most 5 % told
	 * (bench/channels). CK_DIRECT_POLL_MAX overrides it. */
	DIRECT_POLL_MAX = 32,
	/* Polled channels up to which a PE without work looks at what large puts tell (ahead.h). */
	DIRECT_AHEAD_MAX = 8,
	/* Rings from one PE to one other: each is at least twice as large as the last. */
	DIRECT_RINGS_MAX = 27,
};

#define DIRECT_MAGIC 0x43686b31u /* a handle */
#define DIRECT_DEAD 0x43686b30u  /* one whose end was destroyed through it */

enum direct_mode { DIRECT_PATTERN, DIRECT_SEQ };
enum direct_path { DIRECT_UNBOUND, DIRECT_MEMORY, DIRECT_RMA, DIRECT_MESSAGE };

/* ---- the control line -------------------------------------------------------------- */

/** One per channel number, in shared memory, valid for the life of the node.
 *
 * `seq` counts in sequence mode only, `written` for large puts only; those between are kept in checked
 * mode only. */
struct direct_line {
	_Alignas(64) _Atomic uint64_t seq; /* direct_seq() of the last put: the sender's word */
	_Atomic uint64_t marks;            /* direct_marks() */
	_Atomic uint64_t consumed;         /* puts whose function has been called */
	_Atomic uint64_t checksum;         /* of the receive buffer at the last readyMark */
	_Atomic uint64_t generation;       /* of the channel that has the number now */
	_Atomic uint64_t binder;           /* 1 + PE that bound the channel, 0: nobody yet */
	_Atomic uint64_t written;          /* ahead_word() of a large put: the sender's word */
};
_Static_assert(sizeof(struct direct_line) == 64, "one cache line, written by other processes");

/** The shared part of DIRECT_BLOCK channels of consecutive numbers.
 *
 * `tell` is what a put asks: does the receiver look at the word, or must it be told? The receiver
 * writes it when it marks the channel ready, and leaves it until the put has come; the sender
 * reads it in the put. So it needs no order of its own: what makes the program's put come after
 * the ready, a message or other data, has ordered this store before the load, too, exactly as it
 * orders the receiver's last use of the buffer before the put. It hardly ever changes, and 64 of
 * them share a line, so it stays in the sender's cache. */
struct direct_shared {
	struct direct_line line[DIRECT_BLOCK];
	_Atomic uint8_t tell[DIRECT_BLOCK];
};

/** The flag of the channel `number` that has this line. */
static inline _Atomic uint8_t *direct_tell_flag(struct direct_line *line, uint32_t number)
{
	struct direct_shared *all = (struct direct_shared *)(line - number % DIRECT_BLOCK);

	return &all->tell[number % DIRECT_BLOCK];
}

/** What the sequence word holds after put number `iteration`: the generation is in it so that
 * a put through a handle from before the number was reused is told from a fresh one. */
static inline uint64_t direct_seq(uint32_t generation, uint64_t iteration)
{
	return (uint64_t)generation << 40 | iteration;
}

/* ---- the handle -------------------------------------------------------------------- */

/** What is inside a CkDirectHandle.
 *
 *   0       16            30   32             48            64           80       168      256
 *   +-------+-------------+----+--------------+-------------+------------+--------+--------+
 *   | names | sending end |mode| bytes, oob   | src, dst    | addresses  | key of | key of |
 *   |       |             |    |              |             | or strides | buffer | line   |
 *   +-------+-------------+----+--------------+-------------+------------+--------+--------+
 *             by assocLocal                     by assocLocal; the rest by createHandle
 *
 * What assocLocal writes means something on sender_pe only, and is looked at only there. What
 * a put reads is the first 64 bytes, and the strides where there are any; what a ready reads the
 * first 16: nothing behind them. */
struct direct_handle {
	uint32_t magic;
	int32_t receiver;             /* PE */
	uint32_t channel;             /* number on that PE */
	uint32_t generation;
	int32_t sender_pe;            /* -1: the receiver's copy, or not bound yet */
	uint32_t sender;              /* number of the sending end on that PE */
	uint32_t sender_generation;
	bool here;                    /* the receiving end is on the same PE */
	uint8_t mode;                 /* enum direct_mode */
	bool strided;                 /* by assocLocalStrided */
	uint8_t spare;
	uint64_t bytes;
	union {
		uint64_t oob;
		uint64_t seq_addr;    /* sequence mode, by assocLocal: of the word, as mapped here */
	};
	uint64_t src;                 /* send buffer */
	uint64_t dst;                 /* receive buffer as mapped here: memory path */
	union {
		struct {              /* what binding needs */
			uint64_t recv_addr; /* in the receiver's address space, as line_addr */
			uint64_t line_addr;
			struct cmi_key recv_key;
			struct cmi_key line_key; /* empty in a job of one node */
		};
		struct copy_strides strides; /* once bound, if `strided`: src is their base */
	};
} __attribute__((may_alias));     /* lies in the uint64_t array of CkDirectHandle */
_Static_assert(sizeof(struct direct_handle) == sizeof(CkDirectHandle), "wire format");
_Static_assert(offsetof(struct direct_handle, recv_addr) == 64, "a put reads what is before");

static inline struct direct_handle *direct_open(CkDirectHandle *h)
{
	return (struct direct_handle *)h->private_;
}

static inline bool direct_is_bound(const struct direct_handle *h)
{
	return h->sender_pe >= 0;
}

/* ---- the receiving end ------------------------------------------------------------- */

/** Who may touch the buffer, from the receiver's point of view. What is ARMED is in the poll set,
 * or will be told; docs/CHANNELS.md draws the transitions. */
enum channel_state {
	CHANNEL_FREE,     /* the number names no channel */
	CHANNEL_CONSUMED, /* the function has run: the user's */
	CHANNEL_MARKED,   /* readyMark: the sender's, nobody looks */
	CHANNEL_ARMED,    /* readyPollQ: the sender's, an arrival runs the function */
	CHANNEL_FIRED,    /* arrived, the function will run in this pass */
};

/** What a put within a PE, a scan and a ready touch. */
struct direct_channel_hot {
	struct poll_item poll;        /* first: the poll set hands items back */
	uint32_t generation;
	uint8_t state, mode;
	bool own : 1;                 /* this thread stores the word: a put of this PE, or by message */
	bool rma : 1;                 /* the network stores it, and cannot tell: always polled */
	bool tell : 1;                /* as in direct_shared: the word is not looked at */
	bool landed : 1;              /* told while MARKED: the put has come */
	bool rung : 1;                /* in direct_pe.rung: not to be reused yet */
	bool running : 1;             /* fn is on the stack: the same */
};
_Static_assert(sizeof(struct direct_channel_hot) == 32, "two on a cache line");

/** What an arrival needs besides: it is prefetched there. */
struct direct_channel {
	_Alignas(64) CkDirectFn fn;
	void *data;                   /* the user's, or the copy in the block */
	uint64_t iteration;           /* puts whose function has been called */
	unsigned char *buf;           /* the user's */
	size_t bytes;
	struct direct_line *line;
	struct direct_channel *next;  /* in the list of free records */
	uint32_t number;
	uint32_t fetched;             /* lines of the put under way, by ahead_fetch */
};
_Static_assert(sizeof(struct direct_channel) == 64, "one cache line");

/** Channels of consecutive numbers. Aligned to the size of `hot`, so that the address of a hot
 * part tells its block and its place there. */
struct direct_channel_block {
	_Alignas(DIRECT_BLOCK * sizeof(struct direct_channel_hot))
		struct direct_channel_hot hot[DIRECT_BLOCK];
	struct direct_channel rest[DIRECT_BLOCK];
	_Alignas(16) unsigned char copy[DIRECT_BLOCK][DIRECT_DATA_MAX]; /* functions' data */
	struct direct_shared *shared; /* cmi_mem_alloc */
	struct cmi_key line_key;
};

static inline struct direct_channel_block *direct_block(const struct direct_channel_hot *hot)
{
	uintptr_t size = DIRECT_BLOCK * sizeof(*hot);

	return (struct direct_channel_block *)((uintptr_t)hot / size * size);
}

static inline struct direct_channel *direct_rest(const struct direct_channel_hot *hot)
{
	struct direct_channel_block *b = direct_block(hot);

	return &b->rest[hot - b->hot];
}

/** readyMarks so far; creation is the first. */
static inline uint64_t direct_marks(const struct direct_channel_hot *hot)
{
	return direct_rest(hot)->iteration + (hot->state != CHANNEL_CONSUMED);
}

/* ---- the sending end --------------------------------------------------------------- */

/** Why a put is not just a copy and a store. */
enum direct_not_plain {
	DIRECT_BUSY = 1,  /* the last put is not yet locally complete */
	DIRECT_FAR = 2,   /* not the memory path */
	DIRECT_CHECK = 4, /* checked mode */
};

/** What every put touches, besides the handle. */
struct direct_sender_hot {
	uint64_t iteration;           /* puts so far */
	uint32_t generation;
	uint32_t not_plain;           /* enum direct_not_plain, or-ed */
	const _Atomic uint8_t *tell;  /* in direct_shared, as mapped here: memory path */
	struct direct_bell *bell;     /* the same, to another PE */
};
_Static_assert(sizeof(struct direct_sender_hot) == 32, "two on a cache line");

struct direct_sender {
	uint32_t number;
	uint8_t path, mode;
	const unsigned char *src;     /* the user's, or staging */
	void *staging;                /* strided, not on the memory path: ours, else NULL */
	size_t body;                  /* bytes that are copied: all, or all but the last word */
	unsigned char *dst;           /* receive buffer as mapped here: memory path */
	_Atomic uint64_t *word;       /* arrival word as mapped here: memory path */
	struct direct_line *line;     /* as mapped here, NULL: it is not; memory path: it is */

	/* The channel at the other end. */
	int32_t receiver;
	uint32_t channel, channel_generation;
	uint64_t recv_addr, word_addr;
	size_t bytes;

	/* One put in flight, on the other paths. */
	struct pe *pe;
	struct cmi_remote *recv_mem, *line_mem;
	struct cmi_put_head head;
	struct cmi_op op;

	/* What to call at local completion; fn is NULL after a plain put. */
	CkDirectFn fn;
	struct direct_sender *next;   /* in the list of completions, or of free records */
	_Alignas(16) unsigned char copy[DIRECT_DATA_MAX];
};

/* ---- bells (bells.c) --------------------------------------------------------------- */

/** From this PE to one other. */
struct direct_bell {
	struct bell_writer ring;
	uint32_t n_bound;             /* channels bound here that may ring it */
	uint32_t n_made;
	struct bell *made[DIRECT_RINGS_MAX]; /* [n_made], cmi_mem_alloc; ring writes the last */
};

/** From one other PE to this one. */
struct direct_bell_in {
	struct bell_reader ring;
	struct cmi_remote *mem;       /* NULL: of this process */
	int sender;                   /* PE */
};

/* ---- per PE and per node ----------------------------------------------------------- */

/** Channels of whose arrival this PE was told, in that order; each at most once. */
struct direct_rung {
	struct direct_channel_hot **item; /* [cap]; item[head % cap] is the first */
	uint32_t head, tail;              /* they only grow, and wrap */
	uint32_t cap;                     /* 0, or a power of 2 >= all channels */
};

/** A PE's channels. Only this PE touches it. */
struct direct_pe {
	/* A pass that finds nothing reads these, one line, and the bells. */
	_Alignas(64) struct direct_sender *done; /* locally complete, function not run yet */
	struct direct_bell_in *bells; /* [n_bells] */
	uint32_t n_bells;
	uint32_t n_bell;              /* armed channels of which a bell will tell */
	struct direct_rung rung;
	struct pollset set;           /* the armed channels that nobody tells about */

	struct direct_channel_block **channel_blocks; /* number / DIRECT_BLOCK */
	uint32_t n_channels;          /* records so far, free ones too */
	uint32_t n_sender_blocks;
	struct direct_sender_hot *senders;      /* by number; moves when a block is added */
	struct direct_sender **sender_blocks;   /* number / DIRECT_BLOCK */

	uint32_t n_open;              /* channels that are neither `own` nor `rma`, in any state */
	uint32_t n_rma;               /* ones that are `rma` */
	uint32_t n_large;             /* channels of CMI_COPY_MIN bytes and more */
	uint32_t poll_max;            /* constant */
	uint32_t next_bell;           /* the one that is looked at first */
	struct direct_bell **bell_to; /* [PEs of the job] or NULL: by receiver */
	struct copy_way copy_way;
	struct direct_sender **done_tail;

	/* Records to reuse first. */
	struct direct_channel *free_channels;
	struct direct_sender *free_senders;
};

static inline struct direct_sender_hot *direct_hot(const struct direct_sender *s)
{
	return &s->pe->direct->senders[s->number];
}

struct direct_node {
	int handler;                  /* of direct_control_arrived */
	uint32_t poll_max;            /* CK_DIRECT_POLL_MAX, or DIRECT_POLL_MAX */
	enum direct_path force;       /* CK_DIRECT_PATH; DIRECT_UNBOUND: choose */
};

/* ---- broken rules (rules.c) -------------------------------------------------------- */

/** What every message about a broken rule names. */
struct direct_id {
	uint32_t channel;
	int32_t receiver;
	int32_t sender;               /* -1: not known here */
	uint64_t iteration;           /* the put it is about */
};

struct direct_id direct_id_of_handle(const struct direct_handle *h);
struct direct_id direct_id_of_channel(const struct pe *pe, const struct direct_channel_hot *hot);
struct direct_id direct_id_of_sender(const struct direct_sender *s);

/** End the job: `call` broke the rule told by fmt; `fix` says what to do about it. */
_Noreturn void direct_broken(struct pe *pe, const char *call, struct direct_id id,
			     const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 5, 6), cold));

/** Note in the line that `binder` has bound channel `id`; a second binding ends the job. */
void direct_claim(struct pe *pe, struct direct_id id, struct direct_line *line, int binder);

_Noreturn void direct_no_pe(const char *call) __attribute__((cold));

/** The running PE; a thread that is none cannot use channels. */
static inline struct pe *direct_self(const char *call)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		direct_no_pe(call);
	return pe;
}

/** End the job saying why `h` does not name a receiving end of this PE. */
_Noreturn void direct_not_a_receiver(struct pe *pe, const char *call,
				     const struct direct_handle *h) __attribute__((cold));

/** End the job saying why `h` does not name a sending end of this PE. */
_Noreturn void direct_not_a_sender(struct pe *pe, const char *call,
				   const struct direct_handle *h) __attribute__((cold));

/** A checksum of a receive buffer. */
uint64_t direct_checksum(const unsigned char *p, size_t n);

/** Checked mode, just before put id.iteration writes: the channel is of this generation and
 * marked ready for that put, and the buffer is as readyMark left it. `line` and `buf` are
 * addresses of this process. */
void direct_check_put(struct pe *pe, const char *call, struct direct_id id,
		      const struct direct_line *line, uint32_t generation,
		      const unsigned char *buf, size_t bytes);

/* ---- receiving (channel.c) --------------------------------------------------------- */

static inline struct direct_channel_hot *direct_channel_at(const struct direct_pe *d,
							   uint32_t number)
{
	return &d->channel_blocks[number / DIRECT_BLOCK]->hot[number % DIRECT_BLOCK];
}

/** The live channel with this number and generation on `pe`, or NULL. */
static inline struct direct_channel_hot *direct_channel_find(const struct pe *pe, uint32_t number,
							     uint32_t generation)
{
	struct direct_channel_hot *hot;

	if (CSD_UNLIKELY(number >= pe->direct->n_channels))
		return NULL;
	hot = direct_channel_at(pe->direct, number);
	/* Destroying a channel changes the record's generation to one that no handle has. */
	return CSD_LIKELY(hot->generation == generation) ? hot : NULL;
}

/** The receiving end that `h` names, which must live on this PE. */
static inline struct direct_channel_hot *direct_receiver(struct pe *pe, const char *call,
							 const struct direct_handle *h)
{
	struct direct_channel_hot *hot = NULL;

	if (CSD_LIKELY(h->magic == DIRECT_MAGIC && h->receiver == pe->id))
		hot = direct_channel_find(pe, h->channel, h->generation);
	if (CSD_UNLIKELY(!hot))
		direct_not_a_receiver(pe, call, h);
	return hot;
}

/** It has arrived: its function runs in this pass or the next. */
static inline void direct_ring(struct direct_pe *d, struct direct_channel_hot *hot)
{
	hot->state = CHANNEL_FIRED;
	hot->rung = true;
	d->rung.item[d->rung.tail++ & (d->rung.cap - 1)] = hot;
}

/** We are told that a put has arrived in `hot`. */
static inline void direct_landed(struct direct_pe *d, struct direct_channel_hot *hot)
{
	if (hot->state == CHANNEL_ARMED)
		direct_ring(d, hot);
	else
		hot->landed = hot->state == CHANNEL_MARKED;
}

/** A put of this PE has landed in a channel of this PE. */
static inline void direct_landed_here(struct direct_pe *d, uint32_t number, uint32_t generation)
{
	struct direct_channel_hot *hot = direct_channel_at(d, number);

	if (CSD_LIKELY(hot->generation == generation))
		direct_landed(d, hot);
	/* else: destroyed, nobody's any more */
}

/** Idle sleeps are bounded while somebody may put without waking us. */
static inline void direct_count_armed(struct pe *pe)
{
	pe->armed = pe->direct->set.n + pe->direct->n_bell;
}

/** The sender of `hot` is this PE, or puts by message: we know of an arrival by ourselves. */
void direct_make_own(struct pe *pe, struct direct_channel_hot *hot);

/** The network puts into `hot`: it cannot ring. */
void direct_make_rma(struct pe *pe, struct direct_channel_hot *hot);

/** Run the functions of what we have been told of, or what a scan finds: at most
 * DIRECT_ARRIVALS_MAX. Return how many. */
int direct_run_rung(struct pe *pe);
int direct_run_polled(struct pe *pe);

/** The upcall put_arrived. */
void direct_put_arrived(struct pe *pe, int src_pe, const struct cmi_put_head *h,
			const void *body, size_t bytes);

void direct_channel_destroy(struct pe *pe, const struct direct_handle *h);

/* ---- sending (sender.c) ------------------------------------------------------------ */

/** Run the functions of puts that are locally complete; returns how many. */
int direct_run_completions(struct pe *pe);

/** Path 2 in checked mode: the receiver allows the put in flight. */
void direct_sender_go(struct direct_sender *s);

void direct_sender_destroy(struct pe *pe, const struct direct_handle *h);

/** The loop has ended: let go of other nodes' memory. */
void direct_senders_stop(struct pe *pe);

/* ---- telling (bells.c) ------------------------------------------------------------- */

/** A channel to PE `receiver` has been bound: its bell, with room for one more put under way. */
struct direct_bell *direct_bell_open(struct pe *pe, int receiver);

static inline void direct_bell_close(struct direct_bell *b)
{
	b->n_bound--;
}

_Noreturn void direct_bell_full(struct pe *pe, const char *call, const struct direct_handle *h)
	__attribute__((cold));

/** A put through `h` is in place: tell its receiver, another PE of this host. */
static inline void direct_tell(struct pe *pe, const char *call, const struct direct_handle *h,
			       struct direct_bell *b)
{
	if (CSD_UNLIKELY(!bell_ring(&b->ring, h->channel | (uint64_t)h->generation << 32)))
		direct_bell_full(pe, call, h);
}

/** PE `sender` has made a ring of n_slots at `addr`: look at it from now on. */
void direct_bell_attach(struct pe *pe, int sender, const struct cmi_key *key, uint64_t addr,
			uint32_t n_slots);

/** Whether a bell has rung. */
static inline bool direct_bells_ring(const struct direct_pe *d)
{
	const struct direct_bell_in *in = d->bells, *end = in + d->n_bells;

	while (in < end && !bell_rings(&in->ring))
		in++;
	return in < end;
}

/** Hear all bells, at most `most` words, beginning where the last call has ended: the functions of
 * what has arrived run from direct_run_rung. */
void direct_bells_take(struct pe *pe, uint32_t most);

/** The loop has ended: let go of other nodes' memory. */
void direct_bells_stop(struct pe *pe);

/** Give all memory back. */
void direct_bells_free(struct node *node, struct direct_pe *d);

/** Nothing moves any more: give the records back. */
void direct_senders_free(struct direct_pe *d);

/* ---- words between the two ends (control.c) ---------------------------------------- */

/** Claim the receiver's channel where its line cannot be written from here, and say how its puts
 * will come. */
void direct_send_bound(struct pe *pe, const struct direct_sender *s);

/** Tell PE `receiver` where to hear our bell. */
void direct_send_bell(struct pe *pe, int receiver, struct bell *bell, uint32_t n_slots);

/** Path 2 in checked mode: ask the receiver whether the put in flight may be written now. */
void direct_send_ask(struct pe *pe, const struct direct_sender *s);

/** The handler of both, and of the receiver's answer. */
void direct_control_arrived(struct pe *pe, struct cmi_msg *m);

#endif
