/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckglobal.h: global pointers and split-phase memory operations, after Split-C.
 *
 * A CkGlobal names memory of any PE of the job. A get, a put or a store begins at once and ends
 * later, so the PE computes, or runs other chares, meanwhile:
 *
 *	CkGet(ghost, CkSpreadAt(field, i - 1), sizeof(double));     begin
 *	CkGet(ghost + 1, CkSpreadAt(field, i + 1), sizeof(double));
 *	inner(field);
 *	CkSync();                                                   both have come
 *
 * How they travel. Memory of the PE's own process, and of other processes of its host, is read and
 * written by load and store. To other hosts the operations go as messages, those of one turn of the
 * scheduler to one PE together, or, where the network can read and write by itself, by remote reads
 * and writes. CkGlobalPath tells which. Programs need not know.
 *
 * Waiting. CkSync, CkStoreSync, CkAllStoreSync, CkRead and CkWrite wait: only the calling thread,
 * while the PE runs other chares. So they are for [threaded] entry methods and Cth threads; CkSync
 * and the others that need not wait return at once anywhere, except in checked mode (CK_CHECK=1).
 * Everywhere else the forms with Then fire a callback instead.
 *
 * What others see. An operation on 1, 2, 4 or 8 bytes that are aligned to their size is
 * indivisible. Two operations of one PE may take effect in any order, until CkSync: then all gets
 * and puts of this thread or chare before it have taken effect, and whoever learns of it by a
 * message sees them. Stores have taken effect when a CkStoreSync or CkAllStoreSync of the PE that
 * has the memory says so. Quiescence and fences wait for all of them.
 *
 * Remote procedures: an [inline] entry method of a group at CkGlobalPe(to). Handlers of a PE run
 * one at a time, so such a call is indivisible among calls, but not among loads and stores of other
 * PEs.
 *
 * Elements that move wait for their gets and puts first. An element or a thread that ends while
 * some are under way ends the job with a line.
 *
 * Checkpoints save spreads, and a restart deals them anew to any number of PEs: a CkSpread, and a
 * CkGlobal into one, stay valid. Memory of CkGlobalAlloc is refused by name, as stores are that
 * nobody has waited for.
 *
 * Checked mode (CK_CHECK=1) ends the job with a line for a CkGlobal outside what was allocated, for
 * freed memory, and for stores that nobody has waited for when the job ends. All operations on
 * other PEs are messages then.
 *
 * Where    unless a comment says otherwise, on a PE: in an entry method, a handler, a thread.
 * Errors   end the job with a line: CkGlobalNull, a PE that does not exist, memory outside the
 *          spread, a spread that was freed.
 * Source   Split-C (Culler and others, 1993): read, write, get, put, store, sync, store_sync,
 *          all_store_sync, spread arrays, atomic remote procedures.
 */
#ifndef CKGLOBAL_H
#define CKGLOBAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ck.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** A place in memory of the job. Plain data: it can be a parameter, and part of an array. All zero:
 * it names nothing. */
typedef struct CkGlobal {
	int32_t pe;            /* private, all of them */
	uint32_t of;
	uint64_t at;
} CkGlobal;

/** An array of `n` elements of `bytes` bytes that is spread over all PEs. Plain data, and the same
 * on every PE. */
typedef struct CkSpread {
	uint32_t id;           /* private */
	uint32_t bytes;        /* of one element */
	uint64_t n;
} CkSpread;

/* ---- pointers -------------------------------------------------------------------------- */

static inline CkGlobal CkGlobalNull(void)
{
	CkGlobal none = { 0, 0, 0 };

	return none;
}

static inline bool CkGlobalIsNull(CkGlobal g) { return g.of == 0; }

/** So many bytes further: in memory of CkGlobalAlloc and CkGlobalOf on the same PE; in a spread
 * along its elements, which lie on different PEs. */
static inline CkGlobal CkGlobalAdd(CkGlobal g, int64_t bytes)
{
	g.at += (uint64_t)bytes;
	return g;
}

/** `bytes` bytes of this PE for others to use, aligned to 64 and zeroed; never null: a lack of
 * memory ends the job. The program frees it, on this PE. */
CkGlobal CkGlobalAlloc(size_t bytes);
/** On the PE that made it. CkGlobalNull is allowed. */
void CkGlobalFree(CkGlobal g);

/** Memory that this process has already: static, of malloc, on a stack that lasts. Others reach it
 * by messages only, unless CkGlobalAlloc or a spread made it; checked mode knows no bounds of
 * it. */
CkGlobal CkGlobalOf(const void *p);

/** The PE whose memory it is. */
int CkGlobalPe(CkGlobal g);
/** A pointer to it, where load and store reach it from here; NULL elsewhere. Whoever uses it beside
 * others uses C's atomics. In checked mode only for memory of this PE. */
void *CkGlobalLocal(CkGlobal g);
/** How operations from here get there: "load and store", "remote access" or "messages". */
const char *CkGlobalPath(CkGlobal g);

/* ---- spreads --------------------------------------------------------------------------- */

/** Make a spread. `block` elements lie together: element i on PE i / block mod CkNumPes(). 1: they
 * are dealt one by one; 0: each PE has one block, of n / CkNumPes() elements rounded up. All
 * elements are zeroed, and begin at addresses that are aligned to 64 if `bytes` is a multiple of
 * that, to 16 if it is one of 16, and so on.
 *
 * CkSpreadAlloc waits in a thread, until all PEs have it. CkSpreadNew fires `done` then; its data
 * are one CkSpread, as CK_BYTE. One PE calls; the others get the CkSpread from it, as a parameter
 * or by a broadcast `done`. */
CkSpread CkSpreadAlloc(uint64_t n, size_t bytes, uint64_t block);
void CkSpreadNew(uint64_t n, size_t bytes, uint64_t block, CkCallback done);
/** Free it on all PEs. One PE calls, when no PE uses it any more. */
void CkSpreadFree(CkSpread s);

/** Element i. */
static inline CkGlobal CkSpreadAt(CkSpread s, uint64_t i)
{
	CkGlobal g = { -1, s.id, i * s.bytes };

	return g;
}

/** This PE's part: the address of its first element, with the others behind it; *n_p is how many.
 * The address stays the same until the spread is freed, or the job restarts. */
void *CkSpreadLocal(CkSpread s, uint64_t *n_p);
/** The number in the spread of this PE's element k; CkSpread.n if it has none. */
uint64_t CkSpreadIndex(CkSpread s, uint64_t k);

/* ---- split phase ----------------------------------------------------------------------- */

/** Begin to copy `bytes` bytes. In a spread they are of one PE: what lies behind `from` or `to` in
 * that PE's part.
 *
 * Owner    dst of a get, and src of a put, belong to the operation until CkSync. src of a store is
 *          the caller's again at once. */
void CkGet(void *dst, CkGlobal from, size_t bytes);
void CkPut(CkGlobal to, const void *src, size_t bytes);
/** One way: nobody tells this PE when it is there, but the PE of `to` knows (CkStoreSync). */
void CkStore(CkGlobal to, const void *src, size_t bytes);

/** All gets, puts and split-phase atomics of this thread before have ended; outside threads: of
 * this chare. A thread that returns waits for its own by itself, and its chare stays where it is;
 * but if one uses the thread's stack, call CkSync before: otherwise the job ends with a line. */
void CkSync(void);
void CkSyncThen(CkCallback cb);

/** So many more bytes have been stored into memory of this PE, since the job began or after those
 * that earlier calls have waited for. */
void CkStoreSync(size_t bytes);
void CkStoreSyncThen(size_t bytes, CkCallback cb);

/** Once on each PE in each phase: all that PEs stored into memory of this PE before they called
 * this is there. A PE does not wait until the memory of others is complete, and begins to store for
 * the next phase at once, even while others wait. */
void CkAllStoreSync(void);
void CkAllStoreSyncThen(CkCallback cb);

/* ---- at once --------------------------------------------------------------------------- */

/** Copy, and wait until it is done. */
void CkReadBytes(void *dst, CkGlobal from, size_t bytes);
void CkWriteBytes(CkGlobal to, const void *src, size_t bytes);

/* ---- atomics --------------------------------------------------------------------------- */

/** What CkAtomic does with the old value v, a and b: v + a, a, or v == a ? b : v. */
enum { CK_ATOMIC_ADD = 1, CK_ATOMIC_SWAP, CK_ATOMIC_COMPARE_SWAP };

/** Begin an atomic operation on 4 or 8 bytes, aligned to their size. *old, of as many bytes, gets
 * the value before, and belongs to the operation until CkSync; NULL: nobody wants it. Atomics of
 * all PEs on one place are indivisible to each other, and C's atomics through CkGlobalLocal to
 * them. */
void CkAtomicGet(void *old, int what, CkGlobal g, size_t bytes, uint64_t a, uint64_t b);
/** The same, and wait. Returns the value before. */
uint64_t CkAtomic(int what, CkGlobal g, size_t bytes, uint64_t a, uint64_t b);

/* ---- typed forms ----------------------------------------------------------------------- */

#ifndef __cplusplus
/** CkRead(&x, from): as much as x has. */
#define CkRead(dst, from) CkReadBytes((dst), (from), sizeof *(dst))

/* One function for each type that _Generic chooses among. */
#define CKGLOBAL_TYPES(X) \
	X(char, char) X(signed char, schar) X(unsigned char, uchar) X(short, short) \
	X(unsigned short, ushort) X(int, int) X(unsigned, uint) X(long, long) \
	X(unsigned long, ulong) X(long long, llong) X(unsigned long long, ullong) \
	X(float, float) X(double, double) X(CkGlobal, global)
#define CKGLOBAL_ATOMICS(X) \
	X(int, int) X(unsigned, uint) X(long, long) X(unsigned long, ulong) X(long long, llong) \
	X(unsigned long long, ullong)

#define CKGLOBAL_VALUES(type, name) \
	static inline void CkWrite_##name(CkGlobal to, type v) { CkWriteBytes(to, &v, sizeof v); } \
	static inline void CkStore_##name(CkGlobal to, type v) { CkStore(to, &v, sizeof v); }
CKGLOBAL_TYPES(CKGLOBAL_VALUES)
#undef CKGLOBAL_VALUES

#define CKGLOBAL_ATOMIC(type, name) \
	static inline type CkFetchAdd_##name(CkGlobal g, type v) \
	{ \
		return (type)CkAtomic(CK_ATOMIC_ADD, g, sizeof v, (uint64_t)v, 0); \
	} \
	static inline type CkSwap_##name(CkGlobal g, type v) \
	{ \
		return (type)CkAtomic(CK_ATOMIC_SWAP, g, sizeof v, (uint64_t)v, 0); \
	} \
	static inline type CkCompareSwap_##name(CkGlobal g, type expected, type v) \
	{ \
		return (type)CkAtomic(CK_ATOMIC_COMPARE_SWAP, g, sizeof v, (uint64_t)expected, \
				      (uint64_t)v); \
	}
CKGLOBAL_ATOMICS(CKGLOBAL_ATOMIC)
#undef CKGLOBAL_ATOMIC

#define CKGLOBAL_CHOOSE(v, f) \
	_Generic((v), char: f##char, signed char: f##schar, unsigned char: f##uchar, \
		 short: f##short, unsigned short: f##ushort, int: f##int, unsigned: f##uint, \
		 long: f##long, unsigned long: f##ulong, long long: f##llong, \
		 unsigned long long: f##ullong, float: f##float, double: f##double, \
		 CkGlobal: f##global)
#define CKGLOBAL_CHOOSE_INTEGER(v, f) \
	_Generic((v), int: f##int, unsigned: f##uint, long: f##long, unsigned long: f##ulong, \
		 long long: f##llong, unsigned long long: f##ullong)

/** Write or store a value of the type that it has. */
#define CkWrite(to, v) CKGLOBAL_CHOOSE(v, CkWrite_)((to), (v))
#define CkStoreValue(to, v) CKGLOBAL_CHOOSE(v, CkStore_)((to), (v))
/** Atomics on an integer of the type of v; they wait, and return the value before. */
#define CkFetchAdd(g, v) CKGLOBAL_CHOOSE_INTEGER(v, CkFetchAdd_)((g), (v))
#define CkSwap(g, v) CKGLOBAL_CHOOSE_INTEGER(v, CkSwap_)((g), (v))
#define CkCompareSwap(g, expected, v) \
	CKGLOBAL_CHOOSE_INTEGER(v, CkCompareSwap_)((g), (expected), (v))
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
