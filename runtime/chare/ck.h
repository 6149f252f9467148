/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck.h: the runtime's interface for programs: PEs, proxies, callbacks, reductions, quiescence,
 * output, exit. ckci generates the stubs of the program's own chares in X.decl.h, which includes
 * this header. Names and meaning are Charm++'s.
 *
 * Unless a comment says otherwise, a program calls these functions from an entry method (or from
 * another function that the scheduler runs), on the PE that the call concerns.
 */
#ifndef CK_H
#define CK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cklb.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- PEs, nodes, the job's end -------------------------------------------------------- */

int CkMyPe(void);             /**< number of this PE, 0 .. CkNumPes() - 1 */
int CkNumPes(void);           /**< PEs of the whole job */
int CkMyNode(void);           /**< number of this node (process) */
int CkNumNodes(void);         /**< nodes of the job */
int CkMyRank(void);           /**< number of this PE within its node */
int CkMyNodeSize(void);       /**< PEs of this node */
int CkNodeOf(int pe);         /**< node of a PE */
int CkRankOf(int pe);         /**< number of a PE within its node */
int CkNodeFirst(int node);    /**< first PE of a node */
int CkNodeSize(int node);     /**< PEs of a node */

double CkWallTimer(void);     /**< seconds since the start of this node, monotonic */

/** End the whole job with exit code `code` once every PE has finished its current entry method.
 * CkExit returns, and the calling entry method runs to its end. If CkExit is called several times,
 * the first non-zero code wins. The runtime shows output that was printed before, and drops
 * messages that are still queued. CkExit() without an argument means CkExit(0), as in Charm++.
 * Calling libc's exit before the job's end is a failure, whatever its code. */
#ifdef __cplusplus
void CkExit(int code = 0);
#else
void CkExit(int code);
#define CkExit(...) CkExit(__VA_ARGS__ + 0) /* adds 0 to the code, or is it */
#endif

/** End the whole job at once, with exit code 1. Prints the message, with the PE and the entry
 * method, in one line, and then a back-trace. Takes its arguments like printf. */
__attribute__((noreturn)) void CkAbort(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Abort, like CkAbort, if `expr` is 0. The line has the file, its line and the expression, besides
 * the PE and the entry method.
 *
 * Off      where the program is compiled with NDEBUG, or with CMK_OPTIMIZE not 0, the expression is
 *          not evaluated. (Charm++ knows CMK_OPTIMIZE only; its production builds set it.) */
#if defined(NDEBUG) || (defined(CMK_OPTIMIZE) && CMK_OPTIMIZE + 0)
#define CkAssert(expr) ((void)0)
#else
#define CkAssert(expr) \
	((expr) ? (void)0 : CkAbort("%s:%d: CkAssert(%s) failed", __FILE__, __LINE__, #expr))
#endif

/** printf to the job's standard output (CkError: to its standard error). The runtime writes whole
 * lines, so text of two PEs never mixes within a line. It holds back a line that has no newline
 * yet, at most until the PE ends. */
void CkPrintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void CkError(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- proxies ------------------------------------------------------------------------ */

/** An index in a collection, 12 bytes. One to three dimensions are int32; four to six are int16, in
 * order, as in Charm++. An index type of the user's is padded with zeros. The index of a group's
 * member is its PE; that of a nodegroup's is its node. */
typedef struct CkIndex {
	int32_t v[3];
} CkIndex;
/** The same by number of dimensions: what X_thisIndex gives in arrays of two to six dimensions. */
typedef int CkIndex1D;
typedef struct CkIndex2D { int x, y; } CkIndex2D;
typedef struct CkIndex3D { int x, y, z; } CkIndex3D;
typedef struct CkIndex4D { int16_t w, x, y, z; } CkIndex4D;
typedef struct CkIndex5D { int16_t v, w, x, y, z; } CkIndex5D;
typedef struct CkIndex6D { int16_t x1, y1, z1, x2, y2, z2; } CkIndex6D;

/** An index of four to six dimensions; unused dimensions are 0. Each value must fit an int16. */
static inline CkIndex CkIndexShorts(int a, int b, int c, int d, int e, int f)
{
	const int16_t s[6] = {(int16_t)a, (int16_t)b, (int16_t)c, (int16_t)d, (int16_t)e, (int16_t)f};
	CkIndex i;

	memcpy(&i, s, sizeof i);
	return i;
}
/** Dimension `d`, 0 .. 5, of such an index. */
static inline int CkIndexShort(CkIndex i, int d)
{
	int16_t s[6];

	memcpy(s, &i, sizeof s);
	return s[d];
}

/** A collection (array, group). Plain data, so it can be a parameter of a call. The
 * typed forms CProxy_X that ckci makes contain nothing else. */
typedef struct CkProxy {
	uint64_t id;
} CkProxy;

/** One element of a collection. CProxyElement_X contains nothing else. */
typedef struct CkElement {
	uint64_t id;
	CkIndex index;
	int32_t pad;
} CkElement;

/** A singleton chare or a main chare: its id and the PE it lives on. CProxy_X of a `chare` or a
 * `mainchare` contains nothing else, so {id} makes one of an id. */
typedef struct CkChareID {
	uint64_t id;
	int32_t pe;
	int32_t pad;
} CkChareID;

/** Some elements of one collection, or of several collections of one type; then `coll` is one of
 * these collections. Plain data, so it can be a parameter of a call. CProxySection_X holds nothing
 * else. */
typedef struct CkSection {
	uint64_t coll;
	uint64_t id;
} CkSection;

/** A value that a thread can wait for; CkCreateFuture makes it. Plain data, so it can be a
 * parameter of a call. */
typedef struct CkFuture {
	uint64_t id;           /* private, all of them */
	int32_t pe;
	int32_t type;
} CkFuture;

/** Charm++'s names for numbers of a fixed size. */
typedef int8_t CmiInt1;
typedef int16_t CmiInt2;
typedef int32_t CmiInt4;
typedef int64_t CmiInt8;
typedef uint8_t CmiUInt1;
typedef uint16_t CmiUInt2;
typedef uint32_t CmiUInt4;
typedef uint64_t CmiUInt8;
typedef float CmiFloat4;
typedef double CmiFloat8;
typedef bool CmiBool;

typedef CkProxy CkArrayID;      /**< the untyped forms, by their Charm++ names */
typedef CkProxy CkGroupID;
typedef CkProxy CkNodeGroupID;
typedef CkIndex CkArrayIndex;

/** As the PE of a new chare or element: the runtime chooses the PE. The seed balancer
 * (CK_SEED=random or neighbor) places a chare; an inserted element goes to its home PE. */
#define CK_PE_ANY (-1)

/** Extents of a new array: n[0 .. nd - 1] elements per dimension; the rest of n is 1. With nd 0 the
 * array starts empty, and the program inserts its elements. */
typedef struct CkArrayDims {
	int32_t nd;
	int32_t n[6];
} CkArrayDims;

/** Extents of nd dimensions. CkDims is shorter. */
static inline CkArrayDims CkDimsN(int nd, int a, int b, int c, int d, int e, int f)
{
	CkArrayDims r = {nd, {a, b, c, d, e, f}};

	return r;
}
#define CK_DIMS_1(a) CkDimsN(1, a, 1, 1, 1, 1, 1)
#define CK_DIMS_2(a, b) CkDimsN(2, a, b, 1, 1, 1, 1)
#define CK_DIMS_3(a, b, c) CkDimsN(3, a, b, c, 1, 1, 1)
#define CK_DIMS_4(a, b, c, d) CkDimsN(4, a, b, c, d, 1, 1)
#define CK_DIMS_5(a, b, c, d, e) CkDimsN(5, a, b, c, d, e, 1)
#define CK_DIMS_6(a, b, c, d, e, f) CkDimsN(6, a, b, c, d, e, f)
#define CK_DIMS_PICK(a, b, c, d, e, f, fn, ...) fn
/** Extents of an array: CkDims(8), CkDims(8, 8), CkDims(4, 4, 2), ... up to six dimensions. */
#define CkDims(...) \
	CK_DIMS_PICK(__VA_ARGS__, CK_DIMS_6, CK_DIMS_5, CK_DIMS_4, CK_DIMS_3, CK_DIMS_2, CK_DIMS_1, 0) \
	(__VA_ARGS__)
/** The same as functions, for one to three dimensions. */
static inline CkArrayDims CkDims1(int x) { return CK_DIMS_1(x); }
static inline CkArrayDims CkDims2(int x, int y) { return CK_DIMS_2(x, y); }
static inline CkArrayDims CkDims3(int x, int y, int z) { return CK_DIMS_3(x, y, z); }

/** A map: returns the PE, 0 .. npes - 1, on which the element with this index lives. It must always
 * give the same answer, on every PE. */
typedef int (*CkMapFn)(CkIndex index, CkArrayDims dims, int npes);

/** Give a map the name by which CkArrayOptions finds it. Called in an `initnode` function of the
 * .ci file, on every node. `name` must stay valid. */
void CkRegisterMap(const char *name, CkMapFn fn);

/** How to create an array.
 *
 * map      NULL for the default block map: the elements in row-major order of their indices, cut
 *          into npes pieces whose sizes differ by at most one. Arrays without extents use a hash.
 * Range    if start, end or step is not all zero, the elements are start, start + step, ... below
 *          end, per dimension (step 0 counts as 1). Otherwise they are 0 .. dims - 1.
 * ready    fires when all elements that the creation makes are constructed. Brings the array's id
 *          (CkArrayCreatedMsg). May be NULL.
 * Source   Charm++'s CkArrayOptions. */
typedef struct CkArrayOptions {
	CkArrayDims dims;
	const char *map;
	int32_t start[6], end[6], step[6];
	const struct CkCallback *ready;
} CkArrayOptions;

/** The extents of an array, from its proxy (the `ck` of a CProxy_X). With start, end and step they
 * are the numbers of indices per dimension. nd is 0 if the array was created empty, or has an index
 * type of the program's.
 *
 * Called   on any PE that knows the array: the one that made it, one on which an element's handler
 *          has run, and all PEs once `ready` (CkArrayOptions) has fired. A proxy may reach a PE
 *          before the array's creation does; CkKnowsArray says whether the creation has come. Calls
 *          wait for it, this function does not.
 * Errors   aborts on a PE that does not know the array yet, and for groups and nodegroups. */
CkArrayDims CkGetArrayDims(CkArrayID array);
bool CkKnowsArray(CkArrayID array);

/** Options of one call. Zeroed, they mean default priority (0), first in first out, reference
 * number 0.
 *
 * Order    each PE serves lower priorities first. Among equal priorities it serves the first in, or
 *          the last in with a LIFO strategy. Calls with a priority below 0 come before all calls
 *          without a priority, those above 0 after them. Bit vectors are compared bit by bit; a
 *          vector comes before longer ones that begin with it. A vector that begins with 0 comes
 *          before calls without a priority, one that begins with 1 after them. A number counts as
 *          the vector of its 64 bits with the highest bit inverted.
 * Scope    the calls that are in one PE's queue at the same time. A PE does not wait for a better
 *          call that has not arrived yet. The order among equals is promised for calls of one PE.
 * Owner    the runtime reads prio_bits during the call.
 * Sent on  a message keeps its priority and reference number when a handler forwards it without
 *          options.
 * Groups   group_dep is for programs that come from Charm++, and has no effect: a call finds the
 *          local branches of all groups that its caller knows in any case.
 * Errors   an unknown strategy, an invalid bit vector, or a group_dep that no X_ckNew returned
 *          aborts and names the call.
 * Source   Charm++'s CkEntryOptions, CkSetQueueing, CkPriorityPtr, CkSetRefNum, setGroupDepID. */
typedef struct CkEntryOptions {
	int32_t prio;      /**< lower is served first; calls without a priority have 0 */
	int queueing;      /**< CK_QUEUEING_*: order among equals, and which priority counts */
	int64_t prio_long; /**< used with CK_QUEUEING_LFIFO, LLIFO */
	const unsigned *prio_bits; /**< used with CK_QUEUEING_BFIFO, BLIFO; the top bit of [0] is first */
	int n_prio_bits;   /**< length of prio_bits, in bits */
	int32_t refnum;    /**< what CkGetRefNum returns in the handler */
	CkProxy group_dep; /**< handle the call only where this group or nodegroup exists; 0: none */
} CkEntryOptions;
/** Values of `queueing`: FIFO serves the first in among equal priorities, LIFO the last in. */
enum {
	CK_QUEUEING_FIFO = 0,
	CK_QUEUEING_LIFO = 1,
	CK_QUEUEING_IFIFO = 2,
	CK_QUEUEING_ILIFO = 3, /**< integer priority `prio`; the same as FIFO, LIFO */
	CK_QUEUEING_BFIFO = 4,
	CK_QUEUEING_BLIFO = 5, /**< bit-vector priority */
	CK_QUEUEING_LFIFO = 6,
	CK_QUEUEING_LLIFO = 7 /**< 64-bit priority */
};

/** Set or get the reference number of a message: 32 bits, 0 by default; it travels with the
 * message. The message is one that the program owns, or the running handler's. CkGetRefNum(NULL)
 * means the latter, also in an entry with parameters or reduction results; it returns 0 when the
 * handler has no message or has given it away. */
void CkSetRefNum(void *msg, int n);
int CkGetRefNum(const void *msg);

/** Set a message's integer priority, or its order among equals (CK_QUEUEING_FIFO or _LIFO). The
 * message is one from X_alloc. The setting holds each time that the message is sent, unless the
 * call has options. */
void CkSetPrio(void *msg, int prio);
void CkSetQueueing(void *msg, int queueing);

/** Set a 64-bit priority, or a priority of n bits.
 *
 * Room     the runtime stores these priorities after the message. Before X_alloc, call
 *          CkReservePrio with the number of bits (64 for CkSetPrioLong); it reserves space in the
 *          next message that X_alloc makes on this PE.
 * Owner    CkSetPrioBits copies the bits.
 * Sent on  the message keeps the priority when it is packed or forwarded.
 * Errors   a message without enough space aborts.
 * Source   Charm++'s priobits argument of new, and CkPriorityPtr. */
void CkReservePrio(int n_bits);
void CkSetPrioLong(void *msg, int64_t prio);
void CkSetPrioBits(void *msg, const unsigned *bits, int n_bits);

/* ---- packing: PUP ------------------------------------------------------------------------ */

/** One function sizes, packs, unpacks and frees an object. `pup T;` in the .ci file says that
 * `void T_pup(pup_er p, T *x)` does so for T: a type of parameters, or an array, whose elements can
 * then leave their process. `pup T { ... }` lets ckci generate that function from a list of the
 * fields; see ckci(1).
 *
 * Rule     all four modes call the same pup functions with the same counts, in the same order.
 *          Exactly the packed bytes are unpacked; otherwise the job ends and names the element.
 * Source   Charm++'s C binding (pup_c.h) and, for what that lacks, its PUP::er. */
typedef struct CkPupEr *pup_er;

/** The current mode: exactly one of the four is true. Parameters are never deleted like this. */
int pup_isSizing(const pup_er p);
int pup_isPacking(const pup_er p);
int pup_isUnpacking(const pup_er p);
int pup_isDeleting(const pup_er p);

/** Size, pack or unpack n bytes at v; nothing when deleting. Unpacking more bytes than were packed
 * aborts. */
void pup_bytes(pup_er p, void *v, size_t n);
/** A pup function, with a pointer to the object. */
typedef void (*CkPupFn)(pup_er p, void *obj);
/** The same for one value, or for n values, of the type in the name. */
static inline void pup_bool(pup_er p, bool *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_uchar(pup_er p, unsigned char *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_ushort(pup_er p, unsigned short *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_uint(pup_er p, unsigned *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_ulong(pup_er p, unsigned long *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_int8(pup_er p, int8_t *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_int16(pup_er p, int16_t *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_int32(pup_er p, int32_t *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_int64(pup_er p, int64_t *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_char(pup_er p, char *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_short(pup_er p, short *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_int(pup_er p, int *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_long(pup_er p, long *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_size_t(pup_er p, size_t *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_float(pup_er p, float *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_double(pup_er p, double *v) { pup_bytes(p, v, sizeof *v); }
static inline void pup_chars(pup_er p, char *v, size_t n) { pup_bytes(p, v, n); }
static inline void pup_ints(pup_er p, int *v, size_t n) { pup_bytes(p, v, n * sizeof *v); }
static inline void pup_longs(pup_er p, long *v, size_t n) { pup_bytes(p, v, n * sizeof *v); }
static inline void pup_floats(pup_er p, float *v, size_t n) { pup_bytes(p, v, n * sizeof *v); }
static inline void pup_doubles(pup_er p, double *v, size_t n) { pup_bytes(p, v, n * sizeof *v); }

static inline void pup_shorts(pup_er p, short *v, size_t n) { pup_bytes(p, v, n * sizeof *v); }
static inline void pup_uchars(pup_er p, unsigned char *v, size_t n)
{
	pup_bytes(p, v, n * sizeof *v);
}
static inline void pup_ushorts(pup_er p, unsigned short *v, size_t n)
{
	pup_bytes(p, v, n * sizeof *v);
}
static inline void pup_uints(pup_er p, unsigned *v, size_t n) { pup_bytes(p, v, n * sizeof *v); }
static inline void pup_ulongs(pup_er p, unsigned long *v, size_t n)
{
	pup_bytes(p, v, n * sizeof *v);
}
/** A proxy of any type: pup_proxy(p, &x->cells). */
#define pup_proxy(p, proxy) pup_bytes(p, proxy, sizeof *(proxy))

/** Memory of the object. While unpacking, it returns `bytes` new zeroed bytes, 16-byte aligned.
 * While sizing or packing, it returns `old`. A vector takes two lines:
 * x->v = pup_alloc(p, x->v, x->n * sizeof *x->v); pup_doubles(p, x->v, x->n);
 *
 * Owner    of an element: the program, as of memory from malloc, which it may also come from. While
 *          deleting, pup_alloc returns `old`, and `old` is freed when the pup function has
 *          returned. NULL is allowed. Of a parameter: the runtime; the memory lives as long as the
 *          parameter.
 * Errors   bytes that are packed or unpacked at NULL abort. In checked mode these do, too: the same
 *          memory in two fields, other sizes in unpacking than in packing, fewer bytes than are
 *          packed from there, and contents that are not restored. */
void *pup_alloc(pup_er p, void *old, size_t bytes);
/** The same for an element's memory from CkRdmaAlloc or CkDirect_alloc. The element's channels and
 * buffers no longer use it. */
void *pup_alloc_rdma(pup_er p, void *old, size_t bytes);
void *pup_alloc_direct(pup_er p, void *old, size_t bytes);

/** State that n bytes at `at`, in the element or in its memory, need not be restored: on_arrived or
 * the next handler sets them. Packs nothing. Checked mode reports all other bytes that are not
 * restored as forgotten. Lists do so for `skip x;`. */
void pup_skip(pup_er p, const void *at, size_t n);

/** A string of malloc, or NULL. */
void pup_string(pup_er p, char **s);

/** A callback that an element keeps. Packing aborts if its target is a C function, a future or a
 * thread, which stay on their PE. (pup_bytes packs any: it still fires on its own PE.) */
void pup_callback(pup_er p, struct CkCallback *cb);

/** A message that an element keeps, or NULL. For a message type M of the .ci file call M_pup(p,
 * &x->m), which ckci makes. Write x->m = pup_message(p, x->m) for the runtime's own types, and for
 * what CkKeepMsg returned in an entry with parameters: its bytes stay the same, but pointers into
 * it are wrong after a move, so keep offsets.
 *
 * Shape    the message's priority, reference number and section move along. A message with pack
 *          functions is converted by M_pack and M_unpack, also to be sized and packed.
 * Owner    as before: the element's, until CkFreeMsg or a send. Deleting frees it. */
void *pup_message(pup_er p, void *msg);
/** Use a pup function for the program's own purposes, on any PE. CkPupSize returns the bytes that
 * `obj` takes packed. CkPupPack packs it to `to`. CkPupUnpack makes it anew from the `n` bytes at
 * `from` and returns how many of them it used. `bytes` is the sizeof of the object. Here pup_alloc
 * is calloc: the program frees that memory, or has CkPupDelete do so, which deletes what `obj`
 * points to. */
size_t CkPupSize(CkPupFn pup, const void *obj, size_t bytes);
void CkPupPack(CkPupFn pup, const void *obj, size_t bytes, void *to);
size_t CkPupUnpack(CkPupFn pup, void *obj, size_t bytes, const void *from, size_t n);
void CkPupDelete(CkPupFn pup, void *obj);

/** Try out how a chare is packed, as checked mode does before each move: pack it, unpack it into a
 * copy whose numbers are a pattern and whose pointers are NULL, pack that again, compare
 * the bytes, compare the copy's struct and memory of pup_alloc with the chare's, and delete the
 * copy; once more with another copy if something differs. The chare stays as it is.
 *
 * Called   with the chare's struct, on its PE; of a nodegroup while no other PE changes the branch.
 * Errors   aborts with the error of X_pup: bytes that it forgets and that are not 0, no padding,
 *          and not skipped (pup_skip); and if the .ci file has no `pup X;`. */
void CkPupCheck(void *self);

/* ---- messages ------------------------------------------------------------------------ */

/** The argument of the main chare's constructor: the command line without the runtime's own
 * arguments. The runtime owns it; it is valid until the job ends. CkFreeMsg may be called with it,
 * as in Charm++, and has no effect. */
typedef struct CkArgMsg {
	int argc;
	char **argv;
} CkArgMsg;

/** Keep the running handler's message: its array, string and struct parameters stay valid after the
 * handler returns, until CkFreeMsg frees the returned pointer.
 *
 * Called   inside an entry method, at most once per call. CkFreeMsg may be called on any PE of this
 *          node. In a `when` of Structured Dagger it keeps the message of the last call.
 * Errors   an entry with nocopy or pup parameters aborts: they are valid in the handler only. */
void *CkKeepMsg(void);

/** A call of a [channel] entry whose arrays are being written where they will be handled. ckci
 * makes CkPrepared X_f_prepare(element, parameters): an array parameter `T v[n]` is a `T **v`,
 * which it points to n elements with any contents. Write them, then call CkCommit: the array is not
 * copied any more.
 *
 * Called   where the call itself may be made. Between the two only the arrays are written: no call,
 *          no wait.
 * Owner    the arrays are the runtime's; they may be written until CkCommit.
 * Errors   a handler that prepares a call, or waits, before it has committed the last one aborts,
 *          unless that one was for an element of its own PE.
 * Source   GASNet-EX, active messages with negotiated payload (gex_AM_Prepare...,
 *          gex_AM_Commit...). */
typedef struct CkPrepared {
	void *payload;         /* private, both of them */
	int64_t away;
} CkPrepared;
void CkGen_commit(CkPrepared call);
/** Send the call that X_f_prepare has returned. */
static inline void CkCommit(CkPrepared call)
{
	if (call.away) /* else it is in the queue */
		CkGen_commit(call);
}

/** Memory for M_pack and M_unpack, which convert a message that the program packs itself
 * (`message [packed] M;` in the .ci file).
 *
 * Shape    `bytes` bytes for the other form of `msg`; it takes over msg's reference number.
 * Owner    M_pack makes a buffer from a message, M_unpack a message from a buffer. Each frees its
 *          argument with CkFreeMsg, or returns it when nothing changes.
 * Source   Charm++ CkAllocBuffer. */
void *CkAllocBuffer(void *msg, size_t bytes);

/** Free a message that the program owns: one that it kept, one from X_alloc that it never sent, or
 * a message parameter. NULL is allowed.
 *
 * Misuse   checked mode (CK_CHECK=1) ends the job, with a line that says why, when a program frees
 *          a message twice, writes to it after freeing it, sends it twice, or uses or frees one
 *          that it has sent or whose handler has returned. */
void CkFreeMsg(void *msg);

/* ---- the end of a chare ---------------------------------------------------------------- */

/** End a singleton chare or an array element; `self` is its struct.
 *
 * Called   once, on the object's PE, from one of its own handlers or from another object's.
 * Done     at once, no call reaches the object any more. Its running handlers and threads go on to
 *          their end; then the runtime frees the struct. The program frees what the struct points
 *          to.
 * Errors   a later call of a singleton chare aborts and names the caller. CkDestroy of a main
 *          chare, a group or a nodegroup aborts.
 * Source   Charm++ delete this, ckDestroy. */
void CkDestroy(void *self);

/* ---- elements that move ------------------------------------------------------------------ */

/** Let an array element live on another PE from now on; `self` is its struct.
 *
 * Called   on the element's PE, from one of its own handlers, its constructor included, or from
 *          another object's. The last call before it leaves decides. Its own PE: it stays.
 * Done     after the running handler, and before the next call of the element. If threads of the
 *          element run ([threaded]), after the last of them; until then calls are delivered as
 *          always.
 * Shape    calls continue as before. It gets every call once, and the calls of one PE and one
 *          priority in order. Reductions, broadcasts, sections and scans are not affected.
 * Owner    within its process the element keeps its memory, and nothing is packed. To another
 *          process it is packed by X_pup, and its struct here is freed.
 * Errors   aborts if there is no such PE, if it is no element of an array, and if PE is in another
 *          process and the .ci file has no `pup X;`.
 * Source   Charm++ migrateMe. */
void CkMigrateMe(void *self, int pe);

/* ---- load balancing ---------------------------------------------------------------------- */

/** This element has reached a point at which elements of its array may be moved, to balance the
 * load of all PEs. CK_LB chooses the strategy; CK_LB unset or off: nothing moves, and no element
 * waits.
 *
 * Called   on the element's PE, mostly by all elements of the array, after an iteration for
 *          example. The k-th call of each element belongs to the k-th sync of the array; elements
 *          that are inserted between two syncs take part from the next one on.
 * Done     the runtime calls the array's `entry void resumeFromSync();` for this element: with
 *          CK_LB when all elements have called CkAtSync and have moved, else soon. A `when
 *          resumeFromSync()` takes the call, too. Until then the element gets calls as always.
 *          Syncing is no barrier: without CK_LB elements go on one by one.
 * Misuse   calling it again before resumeFromSync has come aborts with CK_LB.
 * Errors   aborts if `self` is no element of an array, and if the .ci file has no resumeFromSync.
 * Source   Charm++ AtSync, ResumeFromSync. There usesAtSync must be set; here calling is enough. */
void CkAtSync(void *self);

/** The element's load until the next sync, in seconds of a PE that has its core for itself;
 * overrides the measured load. It holds for one sync. No effect without CK_LB. Source: Charm++
 * setObjTime. */
void CkSetLoad(void *self, double seconds);

/** Pin the element: strategies do not move it; at first they may. CkMigrateMe still moves it.
 * Source: Charm++ setMigratable, with the opposite meaning. */
void CkPin(void *self, bool on);

/** The element's position in space, n coordinates (1 to 3), for strategies that keep neighbours
 * together. It holds until the next call; at first the index is the position. No effect without
 * CK_LB. */
void CkSetPosition(void *self, const double *xyz, int n);

/* ---- callbacks ------------------------------------------------------------------------ */

/** The message of a reduction or CkCallbackSend: `count` values of `type` (a CkDataType; CK_BYTE
 * for plain bytes), `bytes` bytes in all. The runtime owns it, unless a comment says otherwise. */
typedef struct CkReductionMsg {
	uint64_t bytes;
	uint64_t count;
	uint32_t type;
	uint32_t no;           /* private */
	uint64_t reserved;
	/* data follows, 16-byte aligned */
} CkReductionMsg;
/** The values. They live as long as the message. */
static inline const void *CkReductionMsg_data(const CkReductionMsg *m) { return m + 1; }
/** The values and their bytes, by Charm++'s names. */
static inline const void *CkReductionMsg_getData(const CkReductionMsg *m) { return m + 1; }
static inline size_t CkReductionMsg_getSize(const CkReductionMsg *m) { return m->bytes; }

/** The type of values that a reduction, a callback or a future carries. */
typedef enum CkDataType {
	CK_NOTYPE = 0, CK_INT, CK_LONG, CK_FLOAT, CK_DOUBLE, CK_BYTE,
	CK_CHAR, CK_SHORT, CK_LONGLONG, CK_UCHAR, CK_USHORT, CK_UINT, CK_ULONG, CK_ULONGLONG, CK_BOOL,
	CK_STATISTICS, CK_SET, CK_TUPLE, /**< results of the reductions with these names */
	CK_ARRAYID /**< what the callback of an array's creation brings */
} CkDataType;

/** A C function as a callback. `m` is valid until the function returns. */
typedef void (*CkCallbackCFn)(void *ctx, const CkReductionMsg *m);

/** Something to do later, as a value of 64 bytes that a program may store, copy and send. ckci
 * makes X_cb_entry(element) and X_cb_entry_all(collection) for each entry that a callback can
 * target. */
typedef struct CkCallback {
	uint8_t kind;          /* private, all of them */
	uint8_t want;
	uint16_t entry;
	int32_t pe;
	uint64_t id;
	CkIndex index;
	int32_t pad;
	void (*fn)(void *ctx, const CkReductionMsg *m);
	void *ctx;
	uint64_t reserved[2];
} CkCallback;
#ifndef __cplusplus
_Static_assert(sizeof(CkCallback) == 64, "travels in messages");
#endif

/** Memory of the program that the runtime reads or writes: an argument for a `nocopy` or
 * `nocopypost` array (CkSendBuffer), or one end of a transfer (CkNcpyBufferInit). Plain bytes: it
 * may be copied, stored, and sent as a parameter or a member of a message.
 *
 * As the argument of a call:
 * Owner    the caller must not change the memory until `done` has fired. The receiver may read it
 *          until its handler returns.
 * In place the handler reads the caller's memory in place, if the call is of one element in the
 *          same process. The same holds for one element in another process of the host, if the
 *          memory is from CkRdmaAlloc or in a message, is at least 1 kB, and CK_SHARE is not 0.
 *          Then `done` fires after the handler, or when the runtime drops the call together with
 *          its chare.
 * Copied   in all other cases (calls of all elements and of sections, creations, nodegroups, other
 *          hosts) the message gets a copy, and `done` fires at once.
 * Posted   a nocopypost array is copied to the receiver's buffer. `done` fires after that copy, and
 *          in the cases of "Copied" before it.
 * Done     `done` brings the buffer as its data: CkReductionMsg_data(m) points to a CkNcpyBuffer
 *          with the caller's `ptr`.
 * Source   Charm++'s CkNcpyBuffer, CkSendBuffer. */
typedef struct CkNcpyBuffer {
	const void *ptr;
	CkCallback done;
	size_t bytes;          /* of CkNcpyBufferInit; CkSendBuffer leaves it 0, `done` of a call has it */
	const void *ref;       /* the program's own: set it after CkNcpyBufferInit, and read it in the
				* callback. Charm++'s setRef, getRef */
	/* private */
	int32_t pe;
	uint32_t state;
	uint64_t shared, number;
} CkNcpyBuffer;

/** Make such an argument; without a callback there is no signal that the memory may change. */
CkNcpyBuffer CkSendBuffer(const void *ptr);
CkNcpyBuffer CkSendBufferCb(const void *ptr, CkCallback done);

/** Make *b name `bytes` bytes of this process at `ptr`, for transfers from or into them.
 *
 * Called   on any PE; *b belongs to that PE's process. One buffer serves any number of transfers,
 *          one after the other, as their source or as their destination.
 * Done     each transfer fires `done` of both buffers once. The source's says that its memory may
 *          change, the destination's that the data are there. The data of `done` is a copy of its
 *          own buffer: CkReductionMsg_data(m) points to a CkNcpyBuffer.
 * Owner    the program keeps the memory, and leaves it alone from CkNcpyGet or CkNcpyPut to `done`.
 * Source   Charm++'s CkNcpyBuffer b(ptr, bytes, cb) and b.init. There is no mode: memory of
 *          CkRdmaAlloc is always registered (PREREG), and other memory needs no registration. */
void CkNcpyBufferInit(CkNcpyBuffer *b, const void *ptr, size_t bytes, CkCallback done);

/** End the buffer: CkNcpyBufferInit begins a new one. Free the memory, or let it be, after this.
 *
 * Called   on any PE of the buffer's process, when no transfer uses the buffer.
 * Errors   a transfer with *b aborts. One with another copy of the buffer aborts in checked mode.
 * Source   Charm++'s b.deregisterMem. */
void CkNcpyBufferDeregister(CkNcpyBuffer *b);

/** Copy src->bytes bytes from `src`, which some PE has sent here, to `dst`. Never blocks.
 *
 * Called   on a PE of dst's process, from a handler. Both buffers are read before it returns.
 * Returns  true: the data are there. Both callbacks fire in either case.
 * Path     one copy within a process, and within a host if one of the two memories is from
 *          CkRdmaAlloc or in a message (and CK_SHARE is not 0). Otherwise the data travel in
 *          messages: two copies, in pieces, so that large buffers need little memory.
 * Errors   a source that is larger than the destination, a buffer that was never made or has ended,
 *          or a destination of another process aborts and names both ends. Checked mode also finds
 *          copies of ended buffers, and memory that was given to CkRdmaFree.
 * Source   Charm++'s dst.get(src). */
bool CkNcpyGet(const CkNcpyBuffer *dst, const CkNcpyBuffer *src);

/** The same from the other side: copy `src`, which is of this process, to `dst`, which some PE has
 * sent here.
 *
 * Source   Charm++'s src.put(dst). A CkDirect channel is the faster way to put again and again into
 *          the same memory (ckdirect.h). */
bool CkNcpyPut(const CkNcpyBuffer *src, const CkNcpyBuffer *dst);

/** The argument of a handler X_on_f_post for each nocopypost array of its entry, in order. It sets
 * the pointer passed for the array, or calls CkMatchBuffer. */
typedef struct CkNcpyBufferPost {
	size_t bytes;          /* the array's size; the handler may lower it, and get that many from the
			        * front */
	/* private */
	void *ptr;
	uint64_t tag;
	uint32_t match, left;
} CkNcpyBufferPost;

/** In X_on_f_post: array number i goes into the buffer that CkPostBuffer posts with the same tag,
 * before or after this. Until all arrays of the call have their buffers, X_on_f waits. A [threaded]
 * handler and a `when` wait on their thread.
 *
 * Tags     are the program's. PE tags belong to a PE, node tags to a process. A tag is in use until
 *          both sides have named it once; naming it twice on one side before that aborts.
 * Called   on one PE, both sides. Node tags: on any PE of the process, as a nodegroup's calls need
 *          it.
 * Errors   a buffer that is too small aborts. Calls that may not wait ([sync] without [threaded],
 *          [exclusive], [immediate]) abort unless the buffer has been posted. If the chare ends,
 *          its waiting calls are dropped, and their callers get their memory back.
 * Source   Charm++'s names; CkPostBuffer takes bytes here. */
void CkMatchBuffer(CkNcpyBufferPost *post, int i, int tag);
void CkMatchNodeBuffer(CkNcpyBufferPost *post, int i, int tag);
void CkPostBuffer(void *ptr, size_t bytes, int tag);
void CkPostNodeBuffer(void *ptr, size_t bytes, int tag);

/** Memory that other processes of the host can read and write in place, as nocopy arrays and in
 * transfers.
 *
 * Shape    `bytes` bytes, not zeroed, 64-byte aligned.
 * Owner    the program, until CkRdmaFree, on any PE of the same process. No call may use the memory
 *          any more: `done` of every call that it was given to has fired. NULL is allowed. The
 *          runtime keeps freed memory for later allocations of the same size class.
 * Source   Charm++'s names. */
void *CkRdmaAlloc(size_t bytes);
void CkRdmaFree(void *p);

/** A callback that does nothing. */
CkCallback CkCallbackIgnore(void);
/** Set the reference number of the callback's message, for CkGetRefNum and `when f[n]`. 0, as in a
 * new callback, means none: a message of the program keeps its own. All contributions to a
 * reduction have the same. Charm++'s setRefnum. */
void CkCallbackSetRefNum(CkCallback *cb, int n);
/** A callback that calls CkExit(0). */
CkCallback CkCallbackExit(void);
/** A callback that calls fn(ctx, m) on the PE that made it, whichever PE fires it. */
CkCallback CkCallbackFunction(CkCallbackCFn fn, void *ctx);

/** The same callback, for data of `type` only. Firing it with another type aborts on the PE that
 * fires it, naming both types. `cb` is a C function, a future or a thread; entry methods declare
 * their own types. */
CkCallback CkCallbackExpect(CkCallback cb, CkDataType type);

/** Fire a callback with a copy of the `bytes` bytes at `data` (NULL: no data), from any PE. A
 * [reductiontarget] entry gets them as its parameters. A mismatch of type or count aborts and names
 * both. */
void CkCallbackSend(CkCallback cb, const void *data, size_t bytes);
/** The same with `count` values of a known type, which the runtime checks. */
void CkCallbackSendTyped(CkCallback cb, CkDataType type, const void *data, size_t count);
/** Fire a callback with a message of the program's: ckci makes M_sendToCallback(cb, m) for each
 * message M.
 *
 * Target   an entry method that takes an M, by X_cb_f, X_cb_f_all or X_cb_f_section, or a
 *          CkMessage; a future (CkCallbackFuture), for M_waitFuture. An entry without parameters,
 *          CkCallbackIgnore and CkCallbackExit free the message.
 * Owner    the runtime takes the message, as in a call. A reference number of the callback replaces
 *          the message's.
 * Errors   a target that takes another message, or values, aborts and names both; so do C
 *          functions, and threads (CkCallbackResumeThread). CkCallbackSend and reductions to an
 *          entry that takes a program's message abort, too.
 * Source   Charm++'s CkCallback::send(msg). */
struct CkGenMessage;
void CkGen_sendToCallback(CkCallback cb, void *msg, const struct CkGenMessage *type);
/** Fire the CkCallback that `cb` points to, without data. It has the type of a CkDirectFn, so a
 * channel can call it. */
void CkCallbackFn(void *cb);

/* ---- messages of the runtime's own types ------------------------------------------------- */

/*
 * An entry method may take one of these types as its only parameter: `entry void f(CkDataMsg *m);`.
 * A callback can call such an entry (X_cb_f), whatever data it brings, and so can a stub (X_f).
 *
 * Owner    as with any message: a stub takes it, and the handler's is freed after it, unless the
 *          handler sends it on, keeps it (CkKeepMsg) or frees it. Each element that a callback
 *          calls has its own.
 * Result   the results of a reduction are CkReductionMsg. A handler that takes `CkReductionMsg *`
 *          gets a constant one, which the elements of a PE share; the stub of such an entry sends a
 *          copy.
 * Answer   [sync] entry methods may return all of these types.
 * Source   Charm++'s message types of the same names.
 */

/** Data of any type: the result of a reduction, or of CkCallbackSend. */
typedef CkReductionMsg CkDataMsg;
static inline void *CkDataMsg_getData(CkDataMsg *m) { return m + 1; }
static inline size_t CkDataMsg_getSize(const CkDataMsg *m) { return m->bytes; }
/** Make one of `bytes` bytes, copied from `data` unless it is NULL. */
CkDataMsg *CkDataMsg_buildNew(size_t bytes, const void *data);

/** The message of CkStartQD's callback; it has no data. */
typedef struct CkQdMsg {
	CkReductionMsg head;   /* private */
} CkQdMsg;
CkQdMsg *CkQdMsg_alloc(void);

/** The message of the `ready` callback of CkArrayOptions: the array. An entry method that takes it
 * cannot be the target of other callbacks: they abort, naming the entry. CProxy_X p = {m->aid} is
 * the array. */
typedef struct CkArrayCreatedMsg {
	CkReductionMsg head;   /* private */
	CkArrayID aid;
} CkArrayCreatedMsg;
CkArrayCreatedMsg *CkArrayCreatedMsg_alloc(CkArrayID aid);

/** Any message. M_toMessage(m) makes one of a message M, and M_fromMessage(m) makes it an M again;
 * only the program knows which M it was. For a `message [packed] M;` there are no such functions:
 * it cannot be packed without its type. A callback's CkMessage is a CkDataMsg, to be cast. */
typedef struct CkMessage CkMessage;

/* ---- waiting: threads, calls that answer, futures ---------------------------------------- */

/*
 * Only a [threaded] entry method may wait. It runs on a stack of its own. While it waits, its PE
 * goes on with other messages, also with those of the same element, so the element's fields may
 * have changed after the wait. Its message, and so its parameters, live until it ends. cth.h has
 * CthSelf, CthSuspend, CthAwaken, CthYield.
 *
 * X_f_sync(...) of a [sync] entry method sends the call and waits for what the handler returns.
 */

/** Make a future: one value that arrives later. It belongs to the calling PE. Threads of that PE
 * wait for the value; any PE sends it, once. Call CkReleaseFuture when the future is not needed any
 * more. Charm++'s names and meaning. */
CkFuture CkCreateFuture(void);
/** A future for values of `type` only. Sending another type aborts on the sending PE, naming
 * both. */
CkFuture CkCreateFutureTyped(CkDataType type);

/** Wait until the value is there, and return it: the message that was sent, or a CkReductionMsg if
 * data or a callback's result was sent.
 *
 * Called   on the future's PE, in a [threaded] entry method; elsewhere only when the value is there
 *          already. Any number of threads may wait, any number of times, before and after the value
 *          comes.
 * Owner    the caller owns the message until CkFreeMsg. Several callers share one message, and may
 *          not change it or send it on. A single caller may do so after CkReleaseFuture.
 * Errors   a released future, or one of another PE, aborts.
 * Source   Charm++. M_waitFuture(f) does the same for a message M: it checks the type, and sets the
 *          pointers to the arrays when the message comes from another process. */
void *CkWaitFuture(CkFuture f);
/** The same; then release the future. */
void *CkWaitReleaseFuture(CkFuture f);
/** Whether the value is there, so that CkWaitFuture would not wait. On the future's PE. */
int CkProbeFuture(CkFuture f);
/** Give the future back, on its PE. No thread may be waiting. Sending a value later aborts. */
void CkReleaseFuture(CkFuture f);

/** Send a message as the future's value, from any PE. The runtime takes the message. For a message
 * M that has arrays or that the program packs, use M_sendToFuture(f, m). CkSendToFuture(f, data,
 * bytes) sends a copy of plain bytes, for CkReductionMsg_data of what CkWaitFuture gives. */
void CkSendToFuture(CkFuture f, void *msg);
/** Send a copy of `count` values at `data`, from any PE. CK_NOTYPE, NULL, 0 sends no data: it says
 * only that something has happened. */
void CkSendToFutureTyped(CkFuture f, CkDataType type, const void *data, size_t count);

/** For ckci's code only: M_sendToFuture and M_waitFuture call these. */
void CkGen_sendToFuture(CkFuture f, void *msg, const struct CkGenMessage *type);
void *CkGen_waitFuture(CkFuture f, const struct CkGenMessage *type);

/** A callback that sends its data to the future. */
CkCallback CkCallbackFuture(CkFuture f);

/* CkSendToFuture with three arguments. */
#ifdef __cplusplus
extern "C++" {
static inline void CkSendToFuture(CkFuture f, const void *data, size_t bytes)
{
	CkCallbackSend(CkCallbackFuture(f), data, bytes);
}
}
#else
static inline void CkGen_sendBytesToFuture(CkFuture f, const void *data, size_t bytes)
{
	CkCallbackSend(CkCallbackFuture(f), data, bytes);
}
#define CkGen_sendToFutureBy(a, b, name, ...) name
#define CkSendToFuture(f, ...)                                                                     \
	CkGen_sendToFutureBy(__VA_ARGS__, CkGen_sendBytesToFuture, CkSendToFuture, )(f, __VA_ARGS__)
#endif
/** A callback that a thread of this PE waits for, once, with CkCallbackThreadDelay. Charm++'s
 * CkCallback(CkCallback::resumeThread). */
CkCallback CkCallbackResumeThread(void);
/** Wait, in a [threaded] entry method, until `cb` has been fired, and return its CkReductionMsg.
 * The caller owns the message and frees it with CkFreeMsg. Charm++'s cb.thread_delay(). */
void *CkCallbackThreadDelay(CkCallback cb);

/* ---- reductions ------------------------------------------------------------------------ */

/** The operations that combine contributions. Those of a number type work value by value; whole
 * numbers wrap. logical_* turn values into 0 or 1 when they combine two; a single value stays as it
 * is. Numbers above CkReduction_N are the program's own (CkRegisterReducer). Names are Charm++'s,
 * with _ for ::. */
typedef enum CkReduction {
	CkReduction_nop = 0,
	CkReduction_sum_int, CkReduction_sum_long, CkReduction_sum_float, CkReduction_sum_double,
	CkReduction_product_int, CkReduction_product_long, CkReduction_product_float,
	CkReduction_product_double,
	CkReduction_max_int, CkReduction_max_long, CkReduction_max_float, CkReduction_max_double,
	CkReduction_min_int, CkReduction_min_long, CkReduction_min_float, CkReduction_min_double,
	CkReduction_logical_and_int, CkReduction_logical_or_int,
	CkReduction_bitvec_and_int, CkReduction_bitvec_or_int,

	CkReduction_sum_char, CkReduction_sum_short, CkReduction_sum_long_long,
	CkReduction_sum_uchar, CkReduction_sum_ushort, CkReduction_sum_uint,
	CkReduction_sum_ulong, CkReduction_sum_ulong_long,
	CkReduction_product_char, CkReduction_product_short, CkReduction_product_long_long,
	CkReduction_product_uchar, CkReduction_product_ushort, CkReduction_product_uint,
	CkReduction_product_ulong, CkReduction_product_ulong_long,
	CkReduction_max_char, CkReduction_max_short, CkReduction_max_long_long,
	CkReduction_max_uchar, CkReduction_max_ushort, CkReduction_max_uint,
	CkReduction_max_ulong, CkReduction_max_ulong_long,
	CkReduction_min_char, CkReduction_min_short, CkReduction_min_long_long,
	CkReduction_min_uchar, CkReduction_min_ushort, CkReduction_min_uint,
	CkReduction_min_ulong, CkReduction_min_ulong_long,
	CkReduction_logical_xor_int, CkReduction_logical_and_bool, CkReduction_logical_or_bool,
	CkReduction_logical_xor_bool,
	CkReduction_bitvec_xor_int, CkReduction_bitvec_and_bool, CkReduction_bitvec_or_bool,
	CkReduction_bitvec_xor_bool,

	CkReduction_statistics,    /**< combines values of CkReductionStatistics */
	CkReduction_set,           /**< bytes of any length; the result is a list of them */
	CkReduction_concat,        /**< bytes of any length, one after the other in index order */
	CkReduction_random,        /**< bytes of any length; the result is one element's, at random */
	CkReduction_tuple,         /**< several reductions in one: count CkTupleElements */
	CkReduction_N,
	CkReduction_most = 0xffff  /**< the largest number that a registered reducer can have */
} CkReduction;

/** Contribute `count` values to the next reduction over self's collection.
 *
 * Called   once per element and reduction, by an array element or a group member; `self` is its
 *          struct. The k-th call of every element belongs to the k-th reduction. All elements must
 *          agree in op, count and callback. A difference aborts, naming both and the elements.
 * Shape    count values of the op's type at data; 0 and NULL for CkReduction_nop (a barrier). For
 *          set, concat, random and reducers over messages count is in bytes, and each element
 *          chooses its own. For a tuple data is count CkTupleElements.
 * Owner    data is copied.
 * Order    the order in which values combine depends on the number of PEs and on their distribution
 *          over nodes, not on time. So equal runs give equal bits, and all elements get the same
 *          result. Streamable reducers combine in any order. An element of the same collection gets
 *          results in the order of the reductions; other messages may overtake the results and be
 *          overtaken by them.
 * Done     the callback gets the result on its PE. A [reductiontarget] entry that takes another
 *          type or number of values aborts, naming both.
 * Cost     each PE sends one partial result up a tree. A result of up to 32 kB for all elements
 *          takes log2(PEs) exchanges instead. Set, concat, random and reducers over messages use
 *          the tree; a result that grows with the number of elements arrives at PE 0 in full size.
 * Source   Charm++ contribute(). */
void CkContribute(void *self, const void *data, size_t count, CkReduction op, CkCallback cb);
/** A barrier: `cb` fires, without data, when all elements have called this. Also a macro, which
 * evaluates its arguments once. */
static inline void CkContributeBarrier(void *self, CkCallback cb)
{
	CkContribute(self, NULL, 0, CkReduction_nop, cb);
}

/* Private: what the macro looks at. may_alias, because the runtime uses other types for them. */
typedef struct __attribute__((may_alias)) CkGenSum {
	const void *next;
	uint32_t no, op;
	bool barrier;              /* op is CkReduction_nop, and all elements get the result */
	uint64_t n_missing;
	uint64_t cb[8];
} CkGenSum;
typedef struct __attribute__((may_alias)) CkGenSummand {
	const struct CkGenSummed *coll; /* NULL: no PE runs yet */
	CkIndex index;
	uint32_t ordinal, n_contributed, extra;
} CkGenSummand;
struct __attribute__((may_alias)) CkGenSummed {
	uint64_t other[8];
	CkGenSum *latest;          /* the reduction of the contribution before; NULL: look it up */
};
#define CKGEN_AWAY (UINT32_C(5) << 29)
void CkGen_barrier(void *self, const CkCallback *cb);

/* The usual contribution to a barrier: the one before was for the same, and others have yet
 * to come. Inline, with a pointer to the callback: to pass its 64 bytes by value, and the call,
 * took 28 of the 96 instructions of a contribution with its result (docs/decisions/0096). */
static inline __attribute__((always_inline)) void CkGen_barrierSoon(void *self,
								    const uint64_t *tail)
{
	typedef uint64_t __attribute__((may_alias)) word;
	const word *cb = (const word *)tail - offsetof(CkCallback, reserved) / sizeof *tail;
	CkGenSummand *obj = (CkGenSummand *)self - 1;
	CkGenSum *sum = obj->coll ? obj->coll->latest : NULL;

	if (__builtin_expect(sum && sum->no == obj->n_contributed && sum->barrier &&
			     sum->n_missing != 1 && !(obj->extra & CKGEN_AWAY) &&
			     sum->cb[0] == cb[0] && sum->cb[1] == cb[1] && sum->cb[6] == cb[6], 1)) {
		obj->n_contributed++;
		sum->n_missing--;
		return;
	}
	CkGen_barrier(self, (const CkCallback *)(const void *)cb);
}
/* An array in a struct is not copied, be the struct in memory or the result of a function. */
#define CkContributeBarrier(self, cb) CkGen_barrierSoon(self, (cb).reserved)

/** Count, mean, and sum of the squared differences from the mean (m2). Contribute CkStatistics(x)
 * for each x with CkReduction_statistics; the result covers all of them. */
typedef struct CkReductionStatistics {
	int64_t count;
	double mean, m2;
} CkReductionStatistics;

/** The statistics of one value. */
static inline CkReductionStatistics CkStatistics(double x)
{
	CkReductionStatistics s = {1, x, 0};

	return s;
}
/** The variance of the sample, as in Charm++: m2 / (count - 1); 0 for a single value. */
static inline double CkReductionStatistics_variance(CkReductionStatistics s)
{
	return s.count > 1 ? s.m2 / (double)(s.count - 1) : 0;
}

/** One contribution in the result of CkReduction_set: `bytes` bytes, and who contributed them. */
typedef struct CkReductionSetElement {
	uint64_t bytes;
	CkIndex index;         /**< of the contributor; in a group, its PE. In a section over several
				 * arrays two contributors may have the same index */
	int32_t pe;            /**< on which it contributed */
	uint64_t reserved;     /* private */
	/* data follows, 16-byte aligned */
} CkReductionSetElement;

/** The bytes of one contribution. They live as long as the result. */
static inline const void *CkReductionSetElement_data(const CkReductionSetElement *e)
{
	return e + 1;
}
/** The contribution after `e` in the order of the contributors' indices. Begin with e = NULL; NULL
 * comes after the last. m->count says how many there are. */
static inline const CkReductionSetElement *CkReductionSet_next(const CkReductionMsg *m,
							       const CkReductionSetElement *e)
{
	const char *next = (const char *)(m + 1);

	if (e)
		next = (const char *)(e + 1) + ((e->bytes + 15) & ~(uint64_t)15);
	return next < (const char *)(m + 1) + m->bytes ? (const CkReductionSetElement *)next : NULL;
}

/** One of several reductions that go together; the members are CkContribute's arguments. */
typedef struct CkTupleElement {
	CkReduction op;        /**< any but CkReduction_tuple */
	size_t count;
	const void *data;
} CkTupleElement;

/** Contribute to n reductions at once; they are sent together and give one result, for an entry
 * method that takes a CkReductionMsg. All elements must agree in n, in each op, and in each count
 * that the op alone would require to be equal. Charm++'s CkReductionMsg::buildFromTuple and
 * contribute. */
static inline void CkContributeTuple(void *self, const CkTupleElement *elems, int n, CkCallback cb)
{
	CkContribute(self, elems, (size_t)n, CkReduction_tuple, cb);
}

/** The i-th of the m->count results of a tuple. It lies within m. Charm++'s toTuple. */
static inline const CkReductionMsg *CkReductionTuple_at(const CkReductionMsg *m, int i)
{
	const CkReductionMsg *at = m + 1;

	while (i--)
		at = (const CkReductionMsg *)((const char *)(at + 1) +
					      ((at->bytes + 15) & ~(uint64_t)15));
	return at;
}

/** Register a reducer of the program's own; returns the op to contribute with.
 *
 * Called   in an `initnode` function of the .ci file, in the same order on every node; the runtime
 *          checks this at the start. `name` must stay valid. CkReducer finds the op by name later.
 *
 * CkRegisterReducer: fn combines n messages into one and returns it. That is a new one from
 * CkReductionMsg_buildNew, or one of those that it was given, changed in place but not longer; the
 * runtime frees the others. fn gets the contributions of a PE and the results of the PEs below it
 * in the tree, in a fixed order: index order on one PE. It must be associative and commutative. The
 * runtime does not call it for a single message. With `streamable` it calls fn with two messages as
 * soon as the second is there, in order of arrival, so a PE never holds more than one result and
 * one contribution. Contributions may have any length: count is in bytes. Charm++'s addReducer.
 *
 * CkRegisterValueReducer: fn does acc[i] = acc[i] op in[i] for n values of `bytes` bytes. It must
 * be associative, and, except for scans, commutative. All contributions have the same count, and
 * travel like those of built-in reducers. `identity` is the value that changes nothing, for
 * exclusive scans; NULL means zero bytes. `streamable` says that the order of combining does not
 * matter, so contributions need not wait for their turn. */
typedef CkReductionMsg *(*CkReducerFn)(int n, CkReductionMsg **msgs);
typedef void (*CkValueReducerFn)(void *acc, const void *in, size_t n);
CkReduction CkRegisterReducer(const char *name, CkReducerFn fn, bool streamable);
CkReduction CkRegisterValueReducer(const char *name, size_t bytes, CkValueReducerFn fn,
				   const void *identity, bool streamable);

/** The reducer of this name, registered or built-in ("sum_int"). Aborts if there is none. */
CkReduction CkReducer(const char *name);

/** Make a new message of `bytes` bytes, copied from data unless data is NULL: in a reducer, or as
 * the answer of a [sync] entry method. */
CkReductionMsg *CkReductionMsg_buildNew(size_t bytes, const void *data);

/* ---- prefix scans ------------------------------------------------------------------------- */

/** Whether an element's own values are included in its result. */
enum { CK_SCAN_INCLUSIVE = 0, CK_SCAN_EXCLUSIVE = 1 };

/** Contribute `count` values to the next scan over self's collection. Each element's callback gets
 * the combined values of all elements before it in index order; in an inclusive scan its own values
 * are included.
 *
 * Called   once per element and scan, like CkContribute; scans are counted apart from reductions.
 *          All elements must agree in op, count and kind (CK_SCAN_*). Several scans may be under
 *          way.
 * Shape    op works value by value: sums, products, maxima, minima, logical, bitvec, statistics,
 *          value reducers.
 * Owner    data is copied.
 * Order    index order: row-major in arrays of several dimensions, PE order in groups. Equal runs
 *          give equal bits. Results come in the order of the scans.
 * Done     cb gets count values. Each element chooses its own cb, mostly
 *          X_cb_f(X_thisElement(self)). In an exclusive scan the first element gets the op's
 *          identity: 0 for a sum, the least value for a maximum.
 * Cost     with the default map, and in groups, two combinations per element and log2(PEs)
 *          messages per PE. With other maps each run of neighbouring elements on one PE sends its
 *          sum to PE 0, which sends back the sum of all that comes before the run.
 * Misuse   an array whose elements are inserted one by one, or were destroyed, aborts.
 * Source   Charm++ has none; MPI_Scan and MPI_Exscan. */
void CkScan(void *self, const void *data, size_t count, CkReduction op, int kind, CkCallback cb);

/* ---- sections ------------------------------------------------------------------------------ */

/* A section is some elements of an array, or some members of a group. ckci makes
 * X_ckSection(proxy, list, n), which copies the list, X_f_section(section, ...) for each entry, and
 * X_cb_f_section. An element that is listed twice is a member once. An empty list, or an element
 * that cannot exist, aborts. A program may use a section at once, on every PE that it sends the
 * section to. Make the section on the PE that calls it most: multicasts of other PEs go through
 * that PE.
 *
 * X_ckSectionOf(elements, n) takes elements (CProxyElement_X) of any arrays of type X, or of any
 * groups, in any order (Charm++'s cross-array sections). An element of another type aborts. Where
 * the order of contributions matters, as in the result of CkReduction_set, those of one PE are
 * taken array by array and in index order within each. If one PE made the arrays, they come in the
 * order of their creation.
 *
 * Order: multicasts of one PE to one section reach each member in order. They are not ordered
 * against calls of single elements or of all. */

/** Contribute to the next reduction over a section that `self` is a member of.
 *
 * Called   like CkContribute, except that the k-th call is counted for each section separately.
 *          `section` is the `ck` of a CProxySection_X. Sections may have members in common.
 * Order    the callbacks of one section fire in the order of its reductions.
 * Cost     an element that was inserted on another PE than its home (X_insert with a PE) sends its
 *          contribution to its home.
 * Errors   an element that is not a member aborts. */
void CkContributeSection(void *self, CkSection section, const void *data, size_t count,
			 CkReduction op, CkCallback cb);

/** The section whose multicast the running handler was called by; `id` is 0 if it was called
 * otherwise. So a member can contribute to a section without having its value:
 * CkContributeSection(self, CkGetSectionInfo(NULL), ...).
 *
 * Called   in an entry method. `msg` is the message that the handler was given; NULL means that of
 *          the running handler, whatever its parameters are. After the handler has kept, sent or
 *          freed its message NULL gives 0; a message that it has kept still tells its section.
 *          Constructors and [inline] or [local] calls come from no multicast.
 * Source   Charm++'s CkGetSectionInfo(cookie, msg). */
CkSection CkGetSectionInfo(const void *msg);

/** Forget the section on all PEs.
 *
 * Called   on any PE, once.
 * Done     when the members have handled the multicasts that this PE has sent to the section, and
 *          those that have reached the PE that made the section.
 * Errors   later use of the section aborts, and so does a reduction that is under way. */
void CkSectionDestroy(CkSection section);

/** A range in one dimension: lo, lo + step, ... up to and including hi. */
typedef struct CkRange { int lo, hi, step; } CkRange;
/** The section of the elements in these ranges, one per dimension. A CProxySection_X contains it:
 * CProxySection_X s = {CkSectionRange1D(proxy.ck, 0, 9, 2)}. Charm++'s CProxySection_X::ckNew. */
CkSection CkSectionRange3D(CkProxy p, CkRange x, CkRange y, CkRange z);
/** The same for arrays of two dimensions. */
static inline CkSection CkSectionRange2D(CkProxy p, CkRange x, CkRange y)
{
	CkRange one = {0, 0, 1};

	return CkSectionRange3D(p, x, y, one);
}
/** The same for arrays of one dimension. */
static inline CkSection CkSectionRange1D(CkProxy p, int lo, int hi, int step)
{
	CkRange x = {lo, hi, step}, one = {0, 0, 1};

	return CkSectionRange3D(p, x, one, one);
}

/* ---- aggregation --------------------------------------------------------------------------- */

/* The runtime holds back calls of [aggregate] entries of arrays and groups, and sends all calls for
 * one PE together. It does so for calls of one element without options; calls of all elements, of
 * sections and by callbacks leave at once. Calls that are held back leave when there are enough of
 * them, when the PE has nothing else to do, and on CkFlush. Between two PEs, calls of [aggregate]
 * entries keep their order. Other calls do not wait for them and may overtake them; calls of
 * [aggregate] entries do not overtake other calls. */

/** Send the calls that this PE holds back. */
void CkFlush(void);

/** Set how many calls (1 to 65535) and how many bytes (512 to 1 MiB) this PE sends together from
 * now on. The environment variable CK_AGGREGATE=count[,bytes] sets the same for the whole job. */
void CkSetAggregation(int count, size_t bytes);

/* ---- quiescence ------------------------------------------------------------------------------ */

/** Fire `cb` at quiescence: when no message is queued or in flight anywhere, no entry method runs,
 * and the receivers have noticed every put. Called on any PE. Only one detection runs at a time;
 * requests that come while it runs share the next one. */
void CkStartQD(CkCallback cb);
/** Wait for quiescence in a [threaded] entry method. Neither a waiting thread nor a call that waits
 * for its [when(...)] prevents quiescence. */
void CkWaitQD(void);

/* ---- checkpoints ----------------------------------------------------------------------------- */

/** What the callback of a checkpoint gets, as one int. */
enum CkCheckpointStatus {
	CK_CHECKPOINT_SUCCESS = 0,
	CK_CHECKPOINT_FAILURE = 1,   /**< an error, which was printed; the last checkpoint is still there */
	CK_CHECKPOINT_REFUSED = 2,   /**< something cannot be saved; lines on stderr name it */
	CK_CHECKPOINT_RESTARTED = 3, /**< the job was started from this checkpoint */
};

/** Take a checkpoint of the job in memory, when it is next quiescent.
 *
 * Where    any PE, in entry methods. Requests of several PEs are served together.
 * `done`   gets an int, enum CkCheckpointStatus, once the checkpoint is complete, and again in a job
 *          that is started from it. An entry without parameters may be its target, too.
 * Saved    elements of arrays, groups, nodegroups, chares and main chares, whose types have
 *          `pup X;` in the .ci file, and readonly variables. What cannot be saved is named in a line
 *          on stderr before anything is written, and the job goes on.
 * Errors   never fatal; see `done`.
 * Source   Charm++: CkStartMemCheckpoint. */
void CkStartMemCheckpoint(CkCallback done);

/** Take a checkpoint on disk: the same, and then each node writes a file in DIR/ck-N, while the
 * program continues. `done` fires when all are complete. DIR is made if it does not exist; all nodes
 * must see it. The last two checkpoints stay. A job that is started with CK_RESTART=DIR continues
 * from the newest one, with any number of PEs and nodes.
 * Source   Charm++: CkStartCheckpoint. */
void CkStartCheckpoint(const char *dir, CkCallback done);

/** The checkpoint from which the job was started. */
typedef struct CkRestart {
	int pes, nodes;            /**< of the job that wrote it */
	uint64_t sequence;         /**< its number */
	uint64_t epoch;            /**< how often the job has been started from a checkpoint */
	double seconds;            /**< that the job had run when it was taken, with all earlier epochs */
} CkRestart;

/** Whether the job was started from a checkpoint, and from which; r may be NULL. On any PE, and in
 * initnode functions it is false. */
bool CkRestartedFrom(CkRestart *r);

/* ---- completion of an activity -------------------------------------------------------- */

/** A completion detector: it detects when one activity in the job is over, while others go on;
 * quiescence would wait for all of them. A plain value: it may be a parameter, a readonly variable
 * or a struct member. */
typedef struct CkCompletion {
	uint64_t id;
} CkCompletion;

/** Make a detector, on any PE. Every PE may use it as soon as the value reaches it. It lives as
 * long as the job. */
CkCompletion CkCompletionCreate(void);

/** Begin a detection with `n_producers` producers.
 *
 * Called   on any PE, once per detection. The same detector can start again after `finished` has
 *          fired. Other detectors may run at the same time.
 * Done     `started` fires when producers may begin; counts of earlier ones are kept.
 *          `all_produced` fires when every producer has called CkCompletionDone, `finished` when in
 *          addition all that was produced has been consumed. Pass CkCallbackIgnore() for a callback
 *          you do not want.
 * Cost     the detector sends nothing while no count changes. While counts change it sends two
 *          small messages per PE and wave, in the long run at most one wave per millisecond. The
 *          messages have priority `prio` (0 is the default); endless work of a better priority
 *          starves them.
 * Misuse   aborts: a second start during a detection, more producers done than n_producers, more
 *          consumed than produced, a CkCompletion that CkCompletionCreate did not make.
 * Source   Charm++'s CompletionDetector::start_detection; Mattern, 1987. */
void CkCompletionStart(CkCompletion c, long n_producers, CkCallback started,
		       CkCallback all_produced, CkCallback finished, int prio);

/** Announce that the caller is about to send n things. Call it before sending them, from a producer
 * that is not done, or from a handler that has not yet consumed its message. On any PE. */
void CkCompletionProduce(CkCompletion c, long n);
/** Report that n things have been received and handled. On any PE. */
void CkCompletionConsume(CkCompletion c, long n);
/** Report that one producer is done: it produces no more, except in answer to what it consumes. */
void CkCompletionDone(CkCompletion c);

/* ---- fences ------------------------------------------------------------------------------ */

/** Come to a fence over self's collection. `cb` fires, once, when all elements have come to the
 * fence and all communication has settled. Meanwhile all elements go on serving calls.
 *
 * Called   once per fence by each element, all with the same callback, mostly X_cb_f_all(proxy).
 *          It returns at once, and the element can still be called. A fence counts among the
 *          element's reductions: all elements must call fences and reductions in the same order.
 * Done     at a moment after the last arrival when no message was queued or under way anywhere in
 *          the job and no entry method ran. So every call, result and put that an element made
 *          before it came has been handled, and so has everything that was sent while these were
 *          handled, to any depth.
 * Not      what elements do after the callback has reached them: that belongs to the next fence. A
 *          call of such an element may reach one that the callback has not reached yet.
 * Scope    the whole job, as in ARMI: endless sending outside the collection delays the fence
 *          without end. For one activity, use CkCompletion.
 * Unlike   CkStartQD, a fence waits for elements that come later (woken by a timer, say). A fence
 *          that some elements have not reached delays neither other fences nor CkStartQD.
 * Source   Saunders, ARMI's rmi_fence, 2003. */
void CkFence(void *self, CkCallback cb);

/** The same for a thread of an element ([threaded] or CthCreate): returns when the fence is over.
 * Other threads and handlers of the PE run meanwhile. All elements of the collection must use
 * CkFenceWait for this fence. */
void CkFenceWait(void *self);

/* ---- traces -------------------------------------------------------------------------------- */

/** Add events of the program to the trace of this PE. Without CK_TRACE, and while the trace is off,
 * these calls do nothing.
 *
 * Called   on a PE: in an entry method, a handler, a timer's function, a thread.
 * Names    must stay as they are to the end of the job: string constants. One PE's trace has space
 *          for about a thousand.
 * Source   Charm++'s traceUserEvent, traceBeginUserBracketEvent, traceUserStat, traceBegin,
 *          traceEnd. There events have numbers, which must be registered. */

/** A span of time from here to the matching CkTraceEnd. Spans lie one inside the other, and end in
 * the entry method, or in the thread, in which they began. */
void CkTraceBegin(const char *name);
void CkTraceEnd(void);
/** A moment. */
void CkTraceMark(const char *name);
/** The value that a quantity of this PE has from here on. */
void CkTraceCounter(const char *name, double value);

/** Set the program's text in the line that `ckrun --progress` shows while the job runs, as printf
 * would print it: its progress, say.
 *
 * Called   on any PE, at any time; the text that was set last, on whichever PE, is shown. "" takes
 *          it away.
 * Text     at most 159 bytes. Only what fits the terminal is shown; other characters than printable
 *          ASCII are shown as question marks.
 * Cost     without `ckrun --progress` nothing happens, not even formatting.
 * Source   there is none in Charm++. */
void CkProgressLine(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Record again, or no more, on this PE only. A job begins with all of them on. Messages that are
 * sent or handled while their PE's trace is off have no arrow. */
void CkTraceOn(void);
void CkTraceOff(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
