/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h: the head of every chare message.
 */
#ifndef CK_ENV_H
#define CK_ENV_H

#include "../../../scheduler/pe.h"
#include "../../ckgen.h"

/** The machine's 32 bytes and ours, one cache line; the payload follows on the next.
 *
 *   0            32     40          52    54    55    56    60    64
 *   +------------+------+-----------+-----+-----+-----+-----+-----+------------
 *   | cmi_msg    | coll | index     |entry|flags| view| refs|refnum payload ...
 *   +------------+------+-------+---+-----+-----+-----+-----+-----+------------
 *                       | place |root      call       |
 *                       +-------+---+-----------------+
 *
 * Bytes 40 to 56 identify the message's subject; each kind of message has its own view of them.
 * `flags` has the same offset in all views, because the functions that copy, free and forward a
 * message do not know its kind.
 *
 * A call of an element carries the element's `place`, its linear number in the array, because the
 * sender has to compute it anyway. It carries the `index` instead while it waits at the sender for
 * the array's extents, and if the array is sparse. `root` is the root of a broadcast's tree, and
 * `place` its number there: the root numbers its broadcasts to the collection from 1
 * (newborn.c). A creation needs no root, because the collection's id contains the PE that made
 * it. `call` is entry, flags and the last byte as one word: a value below the number of entries
 * means a plain call of an existing entry (deliver.c).
 */
struct ck_env {
	struct cmi_msg head;
	union {
		uint64_t coll;            /* id of the collection, chare or section; contains its creator */
		uint64_t slot;            /* an answer, a future's value: the slot that waits for it */
		void **holder;            /* OWNER_WHEN: the pointer to this message (owner_lend) */
	};
	union {
		/* A call by index; common to all kinds. */
		struct {
			CkIndex index;
			uint16_t entry;
			uint8_t flags;    /* CK_ENV_* */
			uint8_t more;     /* CK_MORE_*; 0 in a plain call, see `call` */
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
			uint8_t seed;     /* 1: the creator lets the runtime choose the PE */
		} single;
		/* A partial result of a reduction or a scan. */
		struct {
			uint32_t no;      /* the reduction's number in its collection */
			uint32_t count;   /* of values */
			uint32_t op;
			uint16_t entry;   /* scan: exclusive? */
			uint8_t flags;
			uint8_t stage;    /* scan: its round */
		} part;
		/* A partial result that PEs exchange: it has few values, and the callback's other fields replace
		 * them. */
		struct {
			uint32_t no;
			int32_t refnum;   /* of the callback */
			uint16_t count;
			uint16_t op;
			uint16_t entry;   /* the entry that gets the result */
			uint8_t flags;
			uint8_t stage;    /* its round */
		} swap;
		/* A multicast, and a message about a section. */
		struct {
			uint64_t number;  /* the section's; in a message of its end: the number of earlier multicasts */
			uint32_t no;      /* a multicast's own, among those that the root has begun; 0: another PE's */
			uint16_t entry;
			uint8_t flags;
			uint8_t kind;     /* enum section_kind; in a multicast 0 or CK_MORE_NUMBERED */
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
			_Atomic uint32_t refs;   /* references; 1 while the message has one owner */
			union {
				int32_t refnum;  /* the program's: CkGetRefNum */
				int32_t to_pe;   /* an insertion: where the element is to live */
			};
		};
		uint64_t refs_and_refnum;        /* both in one store: 1 means one reference, number 0 */
	};
};
_Static_assert(sizeof(struct ck_env) == CKGEN_HEAD, "payload starts on the second cache line");
_Static_assert(offsetof(struct ck_env, head.size) == CKGEN_SIZE_AT, "ckci's code reads it");
_Static_assert(offsetof(struct ck_env, refnum) == CKGEN_REFNUM_AT, "ckci's tables name it");
_Static_assert(offsetof(struct ck_env, refs_and_refnum) == sizeof(struct cmi_msg) + CMI_USUAL_AT,
	       "one owner and no number, CMI_USUAL, need not cross");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "entry is the low end of call");
_Static_assert(offsetof(struct ck_env, refs) % 8 == 0, "one holder is the low end of the word");
_Static_assert(offsetof(struct ck_env, create.flags) == offsetof(struct ck_env, flags) &&
	       offsetof(struct ck_env, single.flags) == offsetof(struct ck_env, flags) &&
	       offsetof(struct ck_env, part.flags) == offsetof(struct ck_env, flags) &&
	       offsetof(struct ck_env, swap.flags) == offsetof(struct ck_env, flags) &&
	       offsetof(struct ck_env, section.flags) == offsetof(struct ck_env, flags),
	       "flags are where those look who do not know the kind");

/** The name of a singleton chare, in `coll`: creator << CK_NAME_BITS | number, from 1 on: enough
 * for 10^13 chares per pair of PEs and for 10^6 PEs. */
enum { CK_NAME_BITS = 44 };
static inline uint64_t ck_name_number(uint64_t id)
{
	return id & ((UINT64_C(1) << CK_NAME_BITS) - 1);
}
static inline uint64_t ck_name_creator(uint64_t id) { return id >> CK_NAME_BITS; }

/** Bits of `flags`. The first four may be in any message; the others belong to one kind. */
enum {
	CK_ENV_FORWARDED = 0x02,  /* goes down a tree, and this PE's children have their copies */
	CK_ENV_UNPLACED = 0x08,   /* has an index instead of a place, because the extents are not known
				   * or the array is sparse */
	CK_ENV_SPECIAL = 0x10,    /* the entry has attributes that delivery must check */
	CK_ENV_PACKED = 0x20,     /* a user's message in its packed form (pack.c) */
	/* A call. */
	CK_CALL_REDUCED = 0x01,   /* payload is a CkReductionMsg, for entry->reduced */
	CK_CALL_LENT = 0x04,      /* nocopy arrays lie in another process's memory (ncpy.c) */
	CK_CALL_POSTED = 0x40,    /* has waited, or still waits, for the buffers of its nocopypost arrays;
				   * its handler has not begun (post.c) */
	/* A creation. */
	CK_CREATE_SHAPED = 0x40,  /* ends in a struct ck_shape */
	/* A partial result of a reduction, an answer. */
	CK_PART_EMPTY = 0x04,     /* part: no values, as no element contributed yet; answer: no message */
};

/** Bits of `more`, in a call of one element, or in a message about one. */
enum {
	CK_MORE_NUMBERED =
		0x08, /* a multicast of another PE than the root: ends in a struct ck_of_all, which says whose and
				   * which. Or a copy of any: that stands behind the CkSection (section/section_newborn.c) */
	CK_MORE_HEARD = 0x10, /* a message about an element: its sender's earlier puts have been handled
				   * (place/insert.c) */
	CK_MORE_OF_ALL =
		0x20, /* a copy of a message to all; dropped if its element is gone (arrive.c); ends in a
				   * struct ck_of_all */
	CK_MORE_WAITED = 0x40, /* waited for its collection: delivery checks its parameters then */
	CK_MORE_SECTION =
		0x80, /* copied from a multicast; ends in the CkSection (env_add_section) */
};

/** The broadcast or multicast of a copy. */
struct ck_of_all {
	uint64_t no;              /* its number; 0: a result, or a multicast without one */
	int64_t root;             /* the PE that began it */
};
/** The end of a copy of a multicast that has a number. */
struct ck_of_section {
	CkSection section;
	struct ck_of_all which;
};

/** The owner of a user's message: head.mark, while no other node has the message. Checked mode
 * reads it (owner.c). */
enum owner {
	OWNER_UNKNOWN = 0,
	OWNER_PROGRAM = 0xf1,     /* from X_alloc or CkKeepMsg */
	OWNER_SENT,               /* the program has given it away */
	OWNER_HANDLER,            /* the runtime owns it and lends it to a handler */
	OWNER_NOBODY,             /* freed */
	OWNER_WHEN,               /* a `when` has it while other code runs (sdag.c); also unchecked */
	OWNER_COPY,               /* the runtime's copy of one that was sent; no program knows it */
};

/* Attributes of entries whose calls get CK_ENV_SPECIAL. The flag makes `call` larger than any
 * entry's number, so that element_arrived takes the slow path. */
enum {
	CKGEN_SPECIAL = CKGEN_NOCOPY | CKGEN_PUP | CKGEN_THREADED | CKGEN_SYNC | CKGEN_WHEN |
			CKGEN_AWAITED | CKGEN_BODY | CKGEN_COUNT
};

_Static_assert((uint32_t)CKGEN_SEEN == (uint32_t)CK_ENV_SPECIAL << 16,
	       "the same bit, beside the entry in `call`");

/** Whether work remains after the handler. In checked mode that includes results, because their
 * owner is recorded like that of users' messages. */
static inline bool env_is_special(const struct pe *pe, const struct ck_env *env)
{
	return env->flags & CK_ENV_SPECIAL || (pe->node->check && (env->flags & CK_CALL_REDUCED));
}

static inline struct ck_env *env_of(void *payload) { return (struct ck_env *)payload - 1; }
static inline void *payload_of(struct ck_env *env) { return env + 1; }

#endif
