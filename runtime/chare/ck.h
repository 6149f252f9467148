/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck.h: what a Chard program sees of the runtime: PEs, proxies, callbacks, reductions,
 * quiescence, output, exit. Stubs for the program's own chares come from ckci, in
 * X.decl.h, which includes this header. Names and meaning are Charm++'s.
 *
 * Unless a comment says otherwise a function is called from an entry method (or another
 * function that the scheduler runs) on the PE that it concerns.
 */
#ifndef CK_H
#define CK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- the machine as the program sees it ------------------------------------------- */

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

/** End the whole job with `code` once every PE has finished its current entry method. The
 * caller goes on to its end. Called several times: the first non-zero code wins. Output
 * printed before is shown; messages still queued are dropped. */
void CkExit(int code);

/** End the whole job at once, with exit code 1: one line naming PE and entry method, and a
 * back-trace. printf-style. */
__attribute__((noreturn)) void CkAbort(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** printf to the job's standard output (CkError: error output), in whole lines: text of
 * two PEs is never mixed within a line. A line without its newline waits for it. */
void CkPrintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void CkError(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- proxies ------------------------------------------------------------------------ */

/** An index in a collection, 12 bytes: up to three int32; with four to six dimensions int16 in
 * order, as in Charm++; or a user's index type, padded with zeros. A group's element is its PE,
 * a nodegroup's its node. */
typedef struct CkIndex {
	int32_t v[3];
} CkIndex;
typedef struct CkIndex2D { int x, y; } CkIndex2D;
typedef struct CkIndex3D { int x, y, z; } CkIndex3D;
typedef struct CkIndex4D { int16_t w, x, y, z; } CkIndex4D;
typedef struct CkIndex5D { int16_t v, w, x, y, z; } CkIndex5D;
typedef struct CkIndex6D { int16_t x1, y1, z1, x2, y2, z2; } CkIndex6D;

static inline CkIndex CkIndexShorts(int a, int b, int c, int d, int e, int f)
{
	const int16_t s[6] = {(int16_t)a, (int16_t)b, (int16_t)c, (int16_t)d, (int16_t)e, (int16_t)f};
	CkIndex i;

	memcpy(&i, s, sizeof i);
	return i;
}
static inline int CkIndexShort(CkIndex i, int d)
{
	int16_t s[6];

	memcpy(s, &i, sizeof s);
	return s[d];
}

/** A collection (array, group) or a main chare. POD; travels as a parameter. The typed forms
 * CProxy_X that ckci makes hold just this. */
typedef struct CkProxy {
	uint64_t id;
} CkProxy;

/** One element of a collection. CProxyElement_X holds just this. */
typedef struct CkElement {
	uint64_t id;
	CkIndex index;
	int32_t pad;
} CkElement;

/** A singleton chare: its name and the PE it lives on. CProxy_X of a `chare` holds just this. */
typedef struct CkChareID {
	uint64_t id;
	int32_t pe;
	int32_t pad;
} CkChareID;

/** Some elements of a collection, or of several of one type; then `coll` is one of them.
 * CProxySection_X holds just this; POD, travels as a parameter. */
typedef struct CkSection {
	uint64_t coll;
	uint64_t id;
} CkSection;

/** What a thread can wait for; made by CkCreateFuture. POD, travels as a parameter. */
typedef struct CkFuture {
	uint64_t id;           /* private, all of them */
	int32_t pe;
	int32_t type;
} CkFuture;

/** Charm++'s names for numbers of a given size. */
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

/** Where to create: the runtime chooses. A chare: by the seed balancer (CK_SEED=random or
 * neighbor); an inserted element: its home PE. */
#define CK_PE_ANY (-1)

/** Extents of a new array: n[0 .. nd - 1]; the others are 1. nd 0: empty, for insertion. */
typedef struct CkArrayDims {
	int32_t nd;
	int32_t n[6];
} CkArrayDims;

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
/** CkDims(8), CkDims(8, 8), CkDims(4, 4, 2), ... up to six. */
#define CkDims(...) \
	CK_DIMS_PICK(__VA_ARGS__, CK_DIMS_6, CK_DIMS_5, CK_DIMS_4, CK_DIMS_3, CK_DIMS_2, CK_DIMS_1, 0) \
	(__VA_ARGS__)
static inline CkArrayDims CkDims1(int x) { return CK_DIMS_1(x); }
static inline CkArrayDims CkDims2(int x, int y) { return CK_DIMS_2(x, y); }
static inline CkArrayDims CkDims3(int x, int y, int z) { return CK_DIMS_3(x, y, z); }

/** Where an element lives: a PE in 0 .. npes - 1, the same on every PE, for ever. */
typedef int (*CkMapFn)(CkIndex index, CkArrayDims dims, int npes);

/** Make a map known under `name` to CkArrayOptions. Called in an `initnode` function of the
 * .ci file, on every node. `name` must stay valid. */
void CkRegisterMap(const char *name, CkMapFn fn);

/** How to create an array. map NULL: the default block map (row-major order of the index,
 * cut into npes pieces that differ by at most one element; arrays without extents: a hash).
 * With start, end or step not all zero, elements are start, start + step, ... below end, per
 * dimension (step 0 counts as 1); else 0 .. dims - 1. ready: fired when all elements that the
 * creation makes are constructed; NULL: nothing. Charm++'s CkArrayOptions. */
typedef struct CkArrayOptions {
	CkArrayDims dims;
	const char *map;
	int32_t start[6], end[6], step[6];
	const struct CkCallback *ready;
} CkArrayOptions;

/** Options of one call. Zeroed: default priority (0), first in first out, reference number 0.
 *
 * Order    lower priorities are served first on each PE; of equal ones the first in, or with a
 *          LIFO strategy the last. Priorities above 0 come after all calls without one, those
 *          below 0 before. Bit vectors are compared bit by bit, a shorter one before those that
 *          begin with it; one that begins with 1 comes after calls without a priority, with 0
 *          before. A number counts as the vector of its 64 bits with the highest inverted.
 * Scope    a PE's queue. Messages under way are not overtaken by those with a better priority.
 * Owner    prio_bits is read during the call.
 * Messages keep priority and reference number when a handler sends them on without options.
 * Errors   a strategy or vector that is none aborts naming the call.
 * Source   Charm++'s CkEntryOptions, CkSetQueueing, CkPriorityPtr, CkSetRefNum. */
typedef struct CkEntryOptions {
	int32_t prio;      /**< lower is served first; 0 is what unprioritised calls have */
	int queueing;      /**< CK_QUEUEING_*: order among equals, and which priority counts */
	int64_t prio_long; /**< with CK_QUEUEING_LFIFO, LLIFO */
	const unsigned *prio_bits; /**< with CK_QUEUEING_BFIFO, BLIFO: first bit is the highest of [0] */
	int n_prio_bits;
	int32_t refnum;    /**< what CkGetRefNum gives in the handler */
} CkEntryOptions;
enum {
	CK_QUEUEING_FIFO = 0, CK_QUEUEING_LIFO = 1,
	CK_QUEUEING_IFIFO = 2, CK_QUEUEING_ILIFO = 3, /**< integer priority `prio`, like the two above */
	CK_QUEUEING_BFIFO = 4, CK_QUEUEING_BLIFO = 5, /**< bit-vector priority */
	CK_QUEUEING_LFIFO = 6, CK_QUEUEING_LLIFO = 7  /**< 64-bit priority */
};

/** A reference number of a message that the program owns, or of the one that is being delivered
 * (CkGetRefNum(NULL): also in an entry with parameters or reduction results; 0 when the handler
 * has none, or has given it away). 32 bits, 0 by default; travels with the message. */
void CkSetRefNum(void *msg, int n);
int CkGetRefNum(const void *msg);

/** Integer priority and order among equals (CK_QUEUEING_FIFO or _LIFO) of a message from X_alloc,
 * for all its journeys; options of a call win. */
void CkSetPrio(void *msg, int prio);
void CkSetQueueing(void *msg, int queueing);

/** The same with 64 bits, or with a vector of n bits, read during the call. They stand behind the
 * message, which must have room for them: CkReservePrio says how many bits the next message from
 * X_alloc on this PE can have (for 64-bit priorities: 64). Without room the job aborts and says so.
 * Kept by packing and by sending on. Charm++'s priobits argument of new, and CkPriorityPtr. */
void CkReservePrio(int n_bits);
void CkSetPrioLong(void *msg, int64_t prio);
void CkSetPrioBits(void *msg, const unsigned *bits, int n_bits);

/* ---- packing: PUP ------------------------------------------------------------------------ */

/** One routine sizes, packs and unpacks an object: `pup T;` in the .ci file says that
 * `void T_pup(pup_er p, T *x)` does so for T. Names are those of Charm++'s C binding (pup_c.h). */
typedef struct CkPupEr *pup_er;

int pup_isSizing(const pup_er p);
int pup_isPacking(const pup_er p);
int pup_isUnpacking(const pup_er p);

void pup_bytes(pup_er p, void *v, size_t n);
typedef void (*CkPupFn)(pup_er p, void *obj);
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

/** Memory for a part of the object: unpacking, `bytes` new zeroed bytes, 16-byte aligned, that
 * live as long as the object and are never freed by the program; else `old`. So
 * x->v = pup_alloc(p, x->v, x->n * sizeof *x->v); pup_doubles(p, x->v, x->n); does for a vector. */
void *pup_alloc(pup_er p, void *old, size_t bytes);

/** The same function for a program's own purposes: the bytes that `obj` takes packed; packing it
 * to `to`; making it anew from the `n` bytes at `from`, of which the bytes used are returned.
 * `bytes` is sizeof the object. Here pup_alloc is calloc, and the program frees. */
size_t CkPupSize(CkPupFn pup, const void *obj, size_t bytes);
void CkPupPack(CkPupFn pup, const void *obj, size_t bytes, void *to);
size_t CkPupUnpack(CkPupFn pup, void *obj, size_t bytes, const void *from, size_t n);

/* ---- messages ------------------------------------------------------------------------ */

/** What the main chare's constructor gets: the arguments without the runtime's own. Owned by
 * the runtime, valid until the job ends. */
typedef struct CkArgMsg {
	int argc;
	char **argv;
} CkArgMsg;

/** Keep the message that is being delivered: its array, string and struct parameters stay
 * valid after the handler returns, until CkFreeMsg of the returned pointer, which may
 * be called on any PE of this node. Only inside an entry method, at most once per call, and not
 * of an entry with nocopy or pup parameters, which are valid in the handler only. In a `when` of
 * Structured Dagger it is the message of its last call. */
void *CkKeepMsg(void);

/** For a message that the program packs itself (`message M;` in the .ci file): memory of `bytes`
 * bytes for the other form of `msg`, with its reference number. M_pack makes a buffer from a message, M_unpack a message from
 * a buffer; both free what they were given with CkFreeMsg, or return it when nothing changes.
 * Charm++'s function of that name. */
void *CkAllocBuffer(void *msg, size_t bytes);

/** Free a kept message, a message from X_alloc that was never sent, or a message parameter
 * that was kept. NULL is allowed. In checked mode (CK_CHECK=1) freeing twice, freeing or using
 * what was sent or belongs to a handler that has returned, sending twice and writing after the
 * free end the job with a line that says so. */
void CkFreeMsg(void *msg);

/* ---- the end of a chare ---------------------------------------------------------------- */

/** End a singleton chare or an array element, itself perhaps: `self` is its struct.
 *
 * Called   on its PE, from a handler of it or of anybody else, once.
 * Then     nobody reaches it any more. A handler of it that runs, and its threads, go on to their
 *          end; then its memory is freed (what it points to is the program's to free).
 * Errors   a call of a singleton chare that arrives later aborts the job, naming the caller: so
 *          does CkDestroy of a main chare, a group or a nodegroup.
 * Source   Charm++ delete this, ckDestroy. */
void CkDestroy(void *self);

/* ---- callbacks ------------------------------------------------------------------------ */

/** What is handed over by a reduction or by CkCallbackSend: `count` values of `type` (a
 * CkDataType, CK_BYTE for plain bytes). Belongs to the runtime. */
typedef struct CkReductionMsg {
	uint64_t bytes;
	uint64_t count;
	uint32_t type;
	uint32_t no;           /* private */
	uint64_t reserved;
	/* data follows, 16-byte aligned */
} CkReductionMsg;
static inline const void *CkReductionMsg_data(const CkReductionMsg *m) { return m + 1; }

typedef enum CkDataType {
	CK_NOTYPE = 0, CK_INT, CK_LONG, CK_FLOAT, CK_DOUBLE, CK_BYTE,
	CK_CHAR, CK_SHORT, CK_LONGLONG, CK_UCHAR, CK_USHORT, CK_UINT, CK_ULONG, CK_ULONGLONG, CK_BOOL,
	CK_STATISTICS, CK_SET, CK_TUPLE /**< what reductions of these names give */
} CkDataType;

typedef void (*CkCallbackCFn)(void *ctx, const CkReductionMsg *m);

/** Something to do later, as a value of 64 bytes: may be stored, copied, sent. ckci makes
 * X_cb_entry(element) and X_cb_entry_all(collection) for entries that can be one. */
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

/** For a `nocopy` array: the caller's memory, which must not change until `done` has fired. It is
 * read where it lies, valid until the handler returns, when one element of the same process gets it;
 * or one of another process of the host, if it is memory of CkRdmaAlloc or in a message, 1 kB at
 * least (and CK_SHARE is not 0): `done` fires behind the handler, or when the call is dropped with
 * its chare. Else (calls of all and of sections, creations, nodegroups, other hosts) it is copied
 * into the message and `done` fires at once. Charm++'s CkSendBuffer. */
typedef struct CkNcpyBuffer {
	const void *ptr;
	CkCallback done;
} CkNcpyBuffer;

CkNcpyBuffer CkSendBuffer(const void *ptr);                     /**< nobody is told */
CkNcpyBuffer CkSendBufferCb(const void *ptr, CkCallback done);

/** Memory that the other processes of the host can read where it lies, as nocopy arrays: not zeroed,
 * 64-byte aligned. Freed on any PE of its process, when nothing of it is lent any more. Freed memory
 * is kept for other allocations of its size class. Charm++'s names. */
void *CkRdmaAlloc(size_t bytes);
void CkRdmaFree(void *p);

CkCallback CkCallbackIgnore(void);                        /**< nothing happens */
/** The reference number of the message that the callback will be: Charm++'s setRefnum. */
void CkCallbackSetRefNum(CkCallback *cb, int n);
CkCallback CkCallbackExit(void);                          /**< CkExit(0) */
/** fn(ctx, m) on the PE that made the callback, wherever it is sent from. */
CkCallback CkCallbackFunction(CkCallbackCFn fn, void *ctx);

/** The same callback, for `type` only: fired with data of another type it aborts, where it is fired,
 * naming both. Of a C function, a future or a thread; entry methods declare what they take. */
CkCallback CkCallbackExpect(CkCallback cb, CkDataType type);

/** Fire a callback, with `bytes` bytes at `data` (NULL: none), copied. A [reductiontarget]
 * entry finds them as its parameters; a mismatch of type or count aborts with both names. */
void CkCallbackSend(CkCallback cb, const void *data, size_t bytes);
/** The same with `count` values of a known type, which is checked. */
void CkCallbackSendTyped(CkCallback cb, CkDataType type, const void *data, size_t count);
/** Fires the CkCallback that `cb` points to, without data: a CkDirectFn. */
void CkCallbackFn(void *cb);

/* ---- waiting: threads, calls that answer, futures ---------------------------------------- */

/*
 * Only a [threaded] entry method may wait. It runs on a stack of its own; while it waits its PE goes
 * on with other messages, also of the same element: what its fields hold may have changed
 * afterwards. Its message, and so its parameters, live until it ends. cth.h has CthSelf,
 * CthSuspend, CthAwaken, CthYield.
 *
 * X_f_sync(...) of a [sync] entry method sends the call and waits for what its handler returns.
 */

/** A value that will be there. Made for the PE that calls; its threads wait for it, any PE sends
 * it, once. CkReleaseFuture when it is not needed any more. Charm++'s names and meaning. */
CkFuture CkCreateFuture(void);
/** One that takes values of `type` only; others abort where they are sent, naming both. */
CkFuture CkCreateFutureTyped(CkDataType type);

/** Wait until the value is there and give it: the message that was sent, or a CkReductionMsg if
 * data or a callback's result was.
 *
 * Called   on the future's PE; by a [threaded] entry method unless the value is there already.
 *          Any number of times, by any number of threads, before and after the value comes.
 * Owner    the caller's, until CkFreeMsg. Several who wait share one message: they may not
 *          change it or send it on. Who waited alone may, after CkReleaseFuture.
 * Errors   a future that was released, or of another PE, aborts.
 * Source   Charm++. M_waitFuture(f) is the same for a message M: it checks the type, and sets the
 *          pointers to its arrays when it comes from another process. */
void *CkWaitFuture(CkFuture f);
/** The same, and release the future. */
void *CkWaitReleaseFuture(CkFuture f);
/** Whether the value is there: then CkWaitFuture does not wait. On the future's PE. */
int CkProbeFuture(CkFuture f);
/** Give the future back. A value that comes later aborts. Nobody may be waiting. */
void CkReleaseFuture(CkFuture f);

/** Send a message for the value; takes it. From any PE. M_sendToFuture(f, m) for a message M that
 * has arrays or is packed by the program. */
void CkSendToFuture(CkFuture f, void *msg);
/** Send `count` values, copied; CK_NOTYPE, NULL, 0: just that something has happened. */
void CkSendToFutureTyped(CkFuture f, CkDataType type, const void *data, size_t count);

/** What M_sendToFuture and M_waitFuture call. */
struct CkGenMessage;
void CkGen_sendToFuture(CkFuture f, void *msg, const struct CkGenMessage *type);
void *CkGen_waitFuture(CkFuture f, const struct CkGenMessage *type);

/** A callback that sends its data to the future. */
CkCallback CkCallbackFuture(CkFuture f);
/** A callback that this PE's threads can wait for: Charm++'s CkCallback(CkCallback::resumeThread).
 * To be waited for once, with CkCallbackThreadDelay. */
CkCallback CkCallbackResumeThread(void);
/** Wait until it is fired: Charm++'s cb.thread_delay(). The CkReductionMsg is the caller's:
 * CkFreeMsg. */
void *CkCallbackThreadDelay(CkCallback cb);

/* ---- reductions ------------------------------------------------------------------------ */

/** What combines contributions. Those of a number type work value by value; whole numbers wrap.
 * logical_* give 0 or 1 as soon as two values meet. Numbers above CkReduction_N are the program's
 * own (CkRegisterReducer). Names are Charm++'s, with _ for ::. */
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

	CkReduction_statistics,    /**< of CkReductionStatistics */
	CkReduction_set,           /**< bytes of any length; the result is a list of them */
	CkReduction_concat,        /**< bytes of any length, one after the other in index order */
	CkReduction_random,        /**< bytes of any length; one element's, chosen at random */
	CkReduction_tuple,         /**< several reductions in one: count CkTupleElements */
	CkReduction_N,
	CkReduction_most = 0xffff  /**< the largest number of a registered one */
} CkReduction;

/** Contribute `count` values to the next reduction over self's collection.
 *
 * Called   once per element and reduction; the k-th call of every element belongs to the k-th
 *          reduction. All must agree in op, count and callback; a difference aborts naming
 *          both, and who said so.
 * Shape    count values of the op's type at data; 0 and NULL for CkReduction_nop (a barrier).
 *          Set, concat, random and reducers over messages: count bytes, as many as each
 *          element likes. Tuple: count CkTupleElements.
 * Owner    data is copied.
 * Order    values combine in an order that depends on the number of PEs and how they are
 *          spread over nodes, not on time: equal runs give equal bits, and all elements get
 *          the same. (Streamable reducers: in any order.) Results for elements of the own
 *          collection reach each in the order of the reductions; other messages may overtake
 *          them and be overtaken.
 * Done     the callback gets the result on its PE. A [reductiontarget] entry that takes
 *          another type or number of values aborts, naming both.
 * Cost     one message of the partial result per PE, up a tree or, for up to 32 kB that all
 *          elements get, log2(PEs) exchanged. Set, concat and random and reducers over messages
 *          go up the tree, and what grows with the number of elements arrives at PE 0 whole.
 * Source   Charm++ contribute(). `self` is an array element or a group member. */
void CkContribute(void *self, const void *data, size_t count, CkReduction op, CkCallback cb);
static inline void CkContributeBarrier(void *self, CkCallback cb)
{
	CkContribute(self, NULL, 0, CkReduction_nop, cb);
}

/** Number, mean and sum of squared differences from it: contribute CkStatistics(x) for each x,
 * with CkReduction_statistics; the result has those of all. */
typedef struct CkReductionStatistics {
	int64_t count;
	double mean, m2;
} CkReductionStatistics;

static inline CkReductionStatistics CkStatistics(double x)
{
	CkReductionStatistics s = {1, x, 0};

	return s;
}
/** Of the sample, as in Charm++: m2 / (count - 1); 0 for a single value. */
static inline double CkReductionStatistics_variance(CkReductionStatistics s)
{
	return s.count > 1 ? s.m2 / (double)(s.count - 1) : 0;
}

/** One contribution in the result of CkReduction_set: `bytes` bytes, and whose. */
typedef struct CkReductionSetElement {
	uint64_t bytes;
	CkIndex index;         /**< of the contributor; a group's: its PE. In a section over several
				 * arrays two may have the same */
	int32_t pe;            /**< where it contributed */
	uint64_t reserved;     /* private */
	/* data follows, 16-byte aligned */
} CkReductionSetElement;

static inline const void *CkReductionSetElement_data(const CkReductionSetElement *e)
{
	return e + 1;
}
/** Walk through a set, in the order of the contributors' indices: NULL gives the first; NULL
 * comes after the last. m->count tells how many there are. */
static inline const CkReductionSetElement *CkReductionSet_next(const CkReductionMsg *m,
							       const CkReductionSetElement *e)
{
	const char *next = (const char *)(m + 1);

	if (e)
		next = (const char *)(e + 1) + ((e->bytes + 15) & ~(uint64_t)15);
	return next < (const char *)(m + 1) + m->bytes ? (const CkReductionSetElement *)next : NULL;
}

/** One of several reductions that go together: what CkContribute takes. */
typedef struct CkTupleElement {
	CkReduction op;        /**< any but CkReduction_tuple */
	size_t count;
	const void *data;
} CkTupleElement;

/** Contribute to n reductions at a time, which take one way and give one result. All elements
 * must agree in n and in each op, and in each count that has to be the same without a tuple.
 * The result is for an entry method that takes a CkReductionMsg. Charm++'s
 * CkReductionMsg::buildFromTuple and contribute. */
static inline void CkContributeTuple(void *self, const CkTupleElement *elems, int n, CkCallback cb)
{
	CkContribute(self, elems, (size_t)n, CkReduction_tuple, cb);
}

/** The i-th result of a tuple (m->count of them), which belongs to m. Charm++'s toTuple. */
static inline const CkReductionMsg *CkReductionTuple_at(const CkReductionMsg *m, int i)
{
	const CkReductionMsg *at = m + 1;

	while (i--)
		at = (const CkReductionMsg *)((const char *)(at + 1) +
					      ((at->bytes + 15) & ~(uint64_t)15));
	return at;
}

/** Reducers of the program's own. Registered in an `initnode` function of the .ci file, in the same
 * order on every node; another build or order is found at start. `name` must stay valid.
 * The result is the op to contribute with; CkReducer gives it by name later.
 *
 * CkRegisterReducer: fn combines n messages into one, which it returns: a new one from
 * CkReductionMsg_buildNew, or one of those it was given, changed in place but not longer. The
 * runtime frees the others. It is called with the contributions of a PE and the results of those
 * below it, in a fixed order: index order on a PE. It must be associative and commutative; with
 * one message it is not called. streamable: it is called with two messages as soon as the second is
 * there, so that a PE never holds more than one result and one contribution; their order is that
 * of arrival. Contributions are of any length: count means bytes. Charm++'s addReducer.
 *
 * CkRegisterValueReducer: fn does acc[i] = acc[i] op in[i] for n values of `bytes` bytes,
 * associative, and commutative except for scans.
 * Contributions have equal counts, and travel like those of built-in reducers. identity: the value
 * that changes nothing, for exclusive scans; NULL: zero bytes. streamable: the order of
 * combining does not matter, so contributions need not wait for their turn. */
typedef CkReductionMsg *(*CkReducerFn)(int n, CkReductionMsg **msgs);
typedef void (*CkValueReducerFn)(void *acc, const void *in, size_t n);
CkReduction CkRegisterReducer(const char *name, CkReducerFn fn, bool streamable);
CkReduction CkRegisterValueReducer(const char *name, size_t bytes, CkValueReducerFn fn,
				   const void *identity, bool streamable);

/** The reducer of this name, registered or built-in ("sum_int"). Aborts if there is none. */
CkReduction CkReducer(const char *name);

/** For a reducer: a new message of `bytes` bytes, copied from data unless that is NULL. */
CkReductionMsg *CkReductionMsg_buildNew(size_t bytes, const void *data);

/* ---- prefix scans ------------------------------------------------------------------------- */

enum { CK_SCAN_INCLUSIVE = 0, CK_SCAN_EXCLUSIVE = 1 };

/** Contribute `count` values to the next scan over self's collection: each element's callback gets
 * the combination of the values of all elements that come before it in index order, and of its
 * own if the scan is inclusive.
 *
 * Called   once per element and scan, like CkContribute; scans and reductions are numbered apart.
 *          All must agree in op, count and kind (CK_SCAN_*); several may be under way.
 * Shape    op works value by value: sums, products, maxima, minima, logical, bitvec, statistics,
 *          value reducers.
 * Order    index order; row-major in arrays of several dimensions, PE order in groups. Equal runs
 *          give equal bits. Results come in the order of the scans.
 * Done     cb, which each element chooses for itself, mostly X_cb_f(X_thisElement(self)), gets
 *          count values. Exclusive, the first element gets the op's identity: 0 for a sum, the
 *          least value for a maximum.
 * Cost     with the default map, and in groups, two combinations per element and log2(PEs)
 *          messages per PE. With other maps PE 0 gets the sum of each run of neighbouring elements
 *          that share a PE, and sends back what comes before it.
 * Misuse   arrays whose elements are inserted one by one or were destroyed have no scans: aborts.
 * Source   Charm++ has none; MPI_Scan and MPI_Exscan. */
void CkScan(void *self, const void *data, size_t count, CkReduction op, int kind, CkCallback cb);

/* ---- sections ------------------------------------------------------------------------------ */

/* Some elements of an array, or members of a group. ckci makes X_ckSection(proxy, list, n), which
 * copies the list, X_f_section(section, ...) for each entry, and X_cb_f_section. An element that is
 * listed twice is a member once; an empty list and elements that cannot be are refused. A
 * section may be used at once, and anywhere that it is sent to. It is best made where it is
 * called from: other PEs' multicasts take the way over the PE that made it.
 *
 * X_ckSectionOf(elements, n) takes elements (CProxyElement_X) of any arrays of type X, or of any
 * groups, in any order; Charm++'s cross-array sections. An element of another type aborts. Where the
 * order of contributions shows, those of one PE are taken array by array, in the order of the arrays'
 * creation if one PE made them, and of indices in each; so is the result of CkReduction_set.
 *
 * Order: multicasts of one PE to one section reach each member in order. They are not ordered
 * against calls of single elements or of all. */

/** Contribute to the next reduction over a section that `self` is a member of: as CkContribute,
 * except that the k-th call is counted for each section by itself. `section` is the `ck` of a
 * CProxySection_X. Several sections may have members in common. The callbacks of one section are
 * fired in the order of its reductions. An element that is no member aborts. What an
 * element contributes that was inserted on another PE than its home (X_insert with a PE) travels to
 * its home. */
void CkContributeSection(void *self, CkSection section, const void *data, size_t count,
			 CkReduction op, CkCallback cb);

/** Forget the section on all PEs, when the multicasts that this PE has sent to it, and those that
 * have reached the PE that made it, have been handled. Any PE, once. Later use aborts, and so does
 * a reduction that is under way. */
void CkSectionDestroy(CkSection section);

/** Sections by ranges: elements lo, lo + step, ... up to hi (included), per dimension. For
 * CProxySection_X: CProxySection_X s = {CkSectionRange1D(proxy.ck, 0, 9, 2)}. Charm++'s
 * CProxySection_X::ckNew. */
typedef struct CkRange { int lo, hi, step; } CkRange;
CkSection CkSectionRange3D(CkProxy p, CkRange x, CkRange y, CkRange z);
static inline CkSection CkSectionRange2D(CkProxy p, CkRange x, CkRange y)
{
	CkRange one = {0, 0, 1};

	return CkSectionRange3D(p, x, y, one);
}
static inline CkSection CkSectionRange1D(CkProxy p, int lo, int hi, int step)
{
	CkRange x = {lo, hi, step}, one = {0, 0, 1};

	return CkSectionRange3D(p, x, one, one);
}

/* ---- aggregation --------------------------------------------------------------------------- */

/* Calls of one element by an [aggregate] entry of an array or group, without options, are held
 * back and travel together, to each PE by itself. They leave when there are enough of them, when
 * the PE has nothing else to do, and by CkFlush. Calls of one pair of PEs keep their order among
 * [aggregate] entries. Other calls do not wait for them and may overtake them; they do not
 * overtake other calls. Calls of all, of sections and by callbacks are not held back. */

/** Send what this PE holds back. */
void CkFlush(void);

/** How many calls (1 to 65535), and bytes (512 to 1 MiB), this PE lets travel together from now on.
 * The environment's CK_AGGREGATE=count[,bytes] says so for the whole job. */
void CkSetAggregation(int count, size_t bytes);

/** Fire `cb` when no message is queued or in flight anywhere, no entry method runs and every
 * put has been noticed. One detection at a time; later requests share the next. */
void CkStartQD(CkCallback cb);
/** Wait for that, in a [threaded] entry method. A thread that waits is no work, and neither is a call
 * that waits for its [when(...)]. */
void CkWaitQD(void);

/* ---- completion of a part of the job ---------------------------------------------------- */

/** A completion detector: finds out when one process among several in the job is over, where
 * quiescence would wait for all. A value: may be a parameter, a readonly, a struct member. */
typedef struct CkCompletion {
	uint64_t id;
} CkCompletion;

/** A new detector. It may be used at once, on every PE, also where a message with it arrives
 * before anything else was heard of it. It lives as long as the job. */
CkCompletion CkCompletionCreate(void);

/** Begin a detection with `n_producers` producers.
 *
 * Called   anywhere, once per detection; the next one on the same detector when `finished` has
 *          come. Other detectors may run at the same time.
 * Done     `started`: producers may begin (they may have begun before: counts are kept).
 *          `all_produced`: every producer has called CkCompletionDone. `finished`: in addition,
 *          all that was produced has been consumed. CkCallbackIgnore() for what is not wanted.
 * Cost     while no count changes, nothing is sent. While counts change: two small messages per
 *          PE and wave, at most one wave per millisecond in the long run, of priority `prio`
 *          (0: the usual; behind endless work of a better one they wait for ever).
 * Misuse   a second start while one runs, more producers done than were told of, more consumed
 *          than produced, a CkCompletion that was not created: aborts.
 * Source   Charm++'s CompletionDetector::start_detection; Mattern, 1987. */
void CkCompletionStart(CkCompletion c, long n_producers, CkCallback started,
		       CkCallback all_produced, CkCallback finished, int prio);

/** n things are about to be sent; before they are. From a producer that is not done, or from a
 * handler that has not yet consumed what it handles. */
void CkCompletionProduce(CkCompletion c, long n);
/** n things have been received and dealt with. */
void CkCompletionConsume(CkCompletion c, long n);
/** One producer is done: it will produce no more, except in answer to what it consumes. */
void CkCompletionDone(CkCompletion c);

/* ---- fences ------------------------------------------------------------------------------ */

/** A fence over self's collection: `cb` fires, once, when all its elements have come to the
 * fence and all communication has settled, while everybody goes on serving calls.
 *
 * Called   once by each element per fence, all with the same callback, mostly X_cb_f_all(proxy).
 *          It returns at once, and does not stop the element from being called. A fence counts
 *          among the element's reductions: all elements come to both in the same order.
 * Done     at a moment after the last arrival at which no message was queued or under way
 *          anywhere in the job and no entry method ran: so every call, result and put that any
 *          element made before its arrival has been handled, and also all that was sent, by
 *          whomever, while these were handled, to any depth.
 * Not      what elements do once the callback has reached them: it belongs to the next fence. Such
 *          a call may reach an element that has not been told yet.
 * Scope    the whole job, as ARMI's: somebody outside the collection who sends without an end
 *          holds the fence up. For a part of the job, use CkCompletion.
 * Unlike   CkStartQD it waits for elements that are still to come (woken by a timer, say), and
 *          a fence that some have not reached does not hold up others, or CkStartQD.
 * Source   Saunders, ARMI's rmi_fence, 2003. */
void CkFence(void *self, CkCallback cb);

/** The same for a thread: returns when the fence is over. Only in a thread of an element
 * ([threaded], CthCreate); other threads and handlers of the PE run meanwhile. All elements of
 * the collection must come by CkFenceWait. */
void CkFenceWait(void *self);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
