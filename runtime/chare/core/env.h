/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h: the head of every chare message.
 */
#ifndef CK_ENV_H
#define CK_ENV_H

#include "../../scheduler/pe.h"
#include "../ckgen.h"

/** The machine's 32 bytes and ours, one cache line; the payload follows on the next.
 *
 *   0            32     40          52    54    55    56    60    64
 *   +------------+------+-----------+-----+-----+-----+-----+-----+------------
 *   | cmi_msg    | coll | index     |entry|flags| view| refs|refnum payload ...
 *   +------------+------+-------+---+-----+-----+-----+-----+-----+------------
 *                       | place |root      call       |
 *                       +-------+---+-----------------+
 *
 * Bytes 40 to 56 say what the message is about; each kind of message has its own view of them.
 * `flags` stands at the same place in all views, because a message is copied, freed and passed on by
 * functions that do not know its kind.
 *
 * A call of an element travels with the element's place in the array, because the sender has to
 * compute it anyway. `index` holds what waits at the sender for the array's extents, and what goes to a
 * sparse array. `root` is that of a broadcast's tree; a creation needs none, because the PE
 * that made the collection is in its id. `call` is entry, flags and the last byte as one word: below
 * the number of entries it is a plain call of one that exists (deliver.c).
 */
struct ck_env {
	struct cmi_msg head;
	union {
		uint64_t coll;            /* collection, chare or section; its creator is in it */
		uint64_t slot;            /* an answer, a future's value: who waits for it */
		void **holder;            /* OWNER_WHEN: the place that has the pointer to it (owner.h) */
	};
	union {
		/* A call by index, and what all kinds have. */
		struct {
			CkIndex index;
			uint16_t entry;
			uint8_t flags;    /* CK_ENV_* */
			uint8_t zero;     /* in a call; see `call` */
		};
		/* A call by place, a broadcast. */
		struct {
			uint64_t place;   /* in row-major order; of a group: the PE */
			int32_t root;     /* of a broadcast's tree; see env_root */
			uint32_t call;
		};
		/* A creation of an array or a group. */
		struct {
			int32_t extents[3];
			uint16_t chare;   /* its number, as in all creations */
			uint8_t flags;
			uint8_t map;      /* its number; 0: the block map */
		} create;
		/* A creation of a singleton chare. */
		struct {
			CkIndex unused;
			uint16_t chare;
			uint8_t flags;
			bool seed;        /* the creator left the PE open */
		} single;
		/* A part of a reduction or a scan. */
		struct {
			uint32_t no;      /* of the reduction, in its collection */
			uint32_t count;   /* of values */
			uint32_t op;
			uint16_t entry;   /* exchange: whom the result is for; scan: inclusive? */
			uint8_t flags;
			uint8_t stage;    /* exchange, scan: which round it belongs to */
		} part;
		/* A part that waits at a PE for its turn. */
		struct {
			uint64_t place;
			int32_t child;    /* of this PE, that it came from */
			uint32_t call;
		} kept;
		/* A multicast, and a message about a section. */
		struct {
			uint64_t number;  /* the section's; of its end: multicasts before it */
			int32_t unused;
			uint16_t entry;
			uint8_t flags;
			uint8_t kind;     /* enum section_kind; 0 in a multicast */
		} section;
		/* A future's value. */
		struct {
			uint64_t type;    /* see future.c */
			int32_t unused;
			uint32_t call;
		} value;
	};
	union {
		struct {
			_Atomic uint32_t refs;   /* holders; 1 while the message has one owner */
			union {
				int32_t refnum;  /* the program's: CkGetRefNum */
				int32_t to_pe;   /* an insertion: where the element is to live */
			};
		};
		uint64_t refs_and_refnum;        /* in one store: 1 is one holder, number 0 */
	};
};
_Static_assert(sizeof(struct ck_env) == CKGEN_HEAD, "payload starts on the second cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "entry is the low end of call");
_Static_assert(offsetof(struct ck_env, refs) % 8 == 0, "one holder is the low end of the word");
_Static_assert(offsetof(struct ck_env, create.flags) == offsetof(struct ck_env, flags) &&
	       offsetof(struct ck_env, single.flags) == offsetof(struct ck_env, flags) &&
	       offsetof(struct ck_env, part.flags) == offsetof(struct ck_env, flags) &&
	       offsetof(struct ck_env, section.flags) == offsetof(struct ck_env, flags),
	       "flags are where those look who do not know the kind");

/** What `flags` says. The first four may stand in any message; the others belong to one kind. */
enum {
	CK_ENV_FORWARDED = 0x02,  /* goes down a tree: this PE's children have theirs */
	CK_ENV_UNPLACED = 0x08,   /* has an index instead of a place: the extents are not known, or
				   * the array is sparse */
	CK_ENV_SPECIAL = 0x10,    /* the entry has attributes that delivery must see */
	CK_ENV_PACKED = 0x20,     /* a user's message in its packed form (pack.c) */
	/* A call. */
	CK_CALL_REDUCED = 0x01,   /* payload is a CkReductionMsg, for entry->reduced */
	CK_CALL_LENT = 0x04,      /* nocopy arrays lie in another process's memory (ncpy.c) */
	CK_CALL_BACK = 0x80,      /* came back to the home PE: its element was gone (insert.c) */
	/* A creation. */
	CK_CREATE_SHAPED = 0x40,  /* ends in a struct ck_shape */
	/* A part of a reduction, an answer. */
	CK_PART_EMPTY = 0x04,     /* no values, because no element contributed yet; no message */
};

/** Whose a user's message is: head.mark, while no other node has it. Written by owner.c, looked at in
 * checked mode. */
enum owner {
	OWNER_UNKNOWN = 0,
	OWNER_PROGRAM = 0xf1,     /* from X_alloc or CkKeepMsg */
	OWNER_SENT,               /* given away */
	OWNER_HANDLER,            /* the runtime's; lent to a handler */
	OWNER_NOBODY,             /* freed */
	OWNER_WHEN,               /* also unchecked: a `when` has it, and others within (sdag.c) */
};

/* Attributes that make a call's `call` word no number of an entry, so that element_arrived looks
 * closer. */
enum {
	CKGEN_SPECIAL = CKGEN_NOCOPY | CKGEN_PUP | CKGEN_THREADED | CKGEN_SYNC | CKGEN_WHEN |
			CKGEN_AWAITED
};

/** Whether something is to be done behind the handler; in checked mode whose a result is, is
 * written down, as for users' messages. */
static inline bool env_is_special(const struct pe *pe, const struct ck_env *env)
{
	return env->flags & CK_ENV_SPECIAL || (pe->node->check && (env->flags & CK_CALL_REDUCED));
}

static inline struct ck_env *env_of(void *payload) { return (struct ck_env *)payload - 1; }
static inline void *payload_of(struct ck_env *env) { return env + 1; }

#endif
