/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback.h: callbacks inside the layer. The part that knows a kind's target has a table of
 * functions for this kind (ck_callback_kind).
 */
#ifndef CK_CALLBACK_H
#define CK_CALLBACK_H

#include "objects/state.h"

enum { PART_CALLBACK = 0 };
extern const struct ck_part callback_part;

/** Numbers on the wire, below CK_CALLBACK_KINDS. */
enum callback_kind {
	CB_NONE, CB_IGNORE, CB_EXIT, CB_FUNCTION,                      /* callback.c */
	CB_ELEMENT, CB_ALL, CB_MAIN,                                   /* call/ */
	CB_SECTION,                                                    /* kinds/ */
	CB_FUTURE, CB_THREAD,                                          /* wait/ */
	CB_CHARE, CB_NODE, CB_NODE_ALL,                                /* kinds/ */
	CB_FENCE_WAIT,                                                 /* settle/: a fence's threads */
	CB_FENCE,                 /* settle/: CB_MARKED is converted to it */
	CB_AT_REST,               /* balance/: only calls that are held back are under way */
	CB_AT_SAVE,               /* save/: as the program's own, but before them */
	CB_SYNC,                  /* balance/: a sync goes on after a checkpoint */
	CB_MARKED = 0x80,         /* added to another kind: fires when the fence is over */
};

/** Make a message for a callback; the caller fills in the values:
 *
 *	| struct ck_env | CkReductionMsg | values, padded to 16 | CkCallback |
 *
 * Code that forwards the message before the callback fires stores the callback at the end. */
struct ck_env *callback_msg(struct pe *pe, CkDataType type, uint64_t count, uint64_t bytes);
static inline CkCallback *callback_at(struct ck_env *env)
{
	CkReductionMsg *m = payload_of(env);

	return (CkCallback *)(void *)((char *)(m + 1) + CkGen_align(m->bytes));
}

CkCallback callback_make(enum callback_kind kind);
/** Make a callback to an entry method. It contains the chare's number, which is the same on every
 * node. */
CkCallback callback_of_entry(enum callback_kind kind, const CkGenChare *chare, uint64_t id,
			     CkIndex index, int entry);
/** The number that CkCallbackSetRefNum set, or 0. */
static inline int32_t callback_refnum(const CkCallback *cb)
{
	return (int32_t)(uint32_t)cb->reserved[0];
}
/** Give a result its callback's reference number. Results leave by callback_send, or go to elements
 * of their own collection (reduce/result.c); both call this first. */
static inline void callback_stamp(const CkCallback *cb, struct ck_env *env)
{
	env->refnum = callback_refnum(cb);
}
/** Fire a callback with a message from callback_msg. Takes the message. */
void callback_send(struct pe *pe, const CkCallback *cb, struct ck_env *env);
/** Fire a callback with a copy of the data. */
void callback_fire(struct pe *pe, const CkCallback *cb, CkDataType type, const void *data,
		   uint64_t count, uint64_t bytes);
/** Make the message a call of the callback's entry: fill in all but the target. Returns the
 * chare. */
const CkGenChare *callback_call(struct pe *pe, const CkCallback *cb, struct ck_env *env);
/** The chare that the callback's entry belongs to. */
const CkGenChare *callback_target(struct pe *pe, const CkCallback *cb);
/** Abort if the callback wants another type of data. For targets other than entry methods. */
void callback_check_wanted(struct pe *pe, const CkCallback *cb, CkReductionMsg *m);
/** Abort unless a callback's data match the declaration of the entry. */
void callback_check_data(struct pe *pe, const CkGenChare *type, int entry, CkReductionMsg *m);
void callback_describe(struct pe *pe, const CkCallback *cb, char *buf, size_t len);

/** The table of its kind; NULL: an unknown kind. A marked one is a fence's. */
static inline const struct ck_callback_kind *callback_kind_of(const struct pe *pe,
							      const CkCallback *cb)
{
	const unsigned kind = cb->kind & CB_MARKED ? CB_FENCE : cb->kind;

	return kind < CK_CALLBACK_KINDS ? ck_node_of(pe->node)->callbacks[kind] : NULL;
}
/** The same for the callback that fires when the fence is over. */
static inline const struct ck_callback_kind *callback_kind_behind(const struct pe *pe,
								  const CkCallback *cb)
{
	const unsigned kind = cb->kind & (uint8_t)~CB_MARKED;

	return kind < CK_CALLBACK_KINDS ? ck_node_of(pe->node)->callbacks[kind] : NULL;
}

static inline bool callback_is_all(const CkCallback *cb, uint64_t id) /* id: the collection's */
{
	return cb->kind == CB_ALL && cb->id == id;
}
static inline bool callback_is_element(const CkCallback *cb, uint64_t id)
{
	return cb->kind == CB_ELEMENT && cb->id == id;
}
static inline bool callback_same(const CkCallback *a, const CkCallback *b)
{
	/* Sixteen bytes at a time: memcmp of 64 bytes is a function call. */
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	const pair *x = (const pair *)(const void *)a, *y = (const pair *)(const void *)b;
	pair differ = ((x[0] ^ y[0]) | (x[1] ^ y[1])) | ((x[2] ^ y[2]) | (x[3] ^ y[3]));

	/* In the vector register, so that only one other is needed. */
	differ |= (pair){ differ[1], differ[0] };
	return !differ[0];
}
/** The same, with fewer loads for callbacks to all elements of a collection or to one element. What
 * they do not use is 0 in all of them (callback_make). */
static inline bool callback_same_soon(const CkCallback *a, const CkCallback *b)
{
	typedef uint64_t word __attribute__((may_alias));
	const word *x = (const word *)(const void *)a, *y = (const word *)(const void *)b;

	_Static_assert(offsetof(CkCallback, index) == 16 && offsetof(CkCallback, fn) == 32 &&
		       offsetof(CkCallback, reserved) == 48, "words 0, 1: kind, entry, id; 2, 3: index");
	if (x[0] != y[0] || x[1] != y[1] || x[6] != y[6])
		return false;
	if (a->kind == CB_ALL)
		return true;
	return a->kind == CB_ELEMENT ? x[2] == y[2] && x[3] == y[3] : callback_same(a, b);
}

#endif
